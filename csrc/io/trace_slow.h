// SPDX-License-Identifier: Apache-2.0
// Reading an event key by key: what no layout knows, what is damaged and may be repaired. What is sound is
// learned, so that the next event like it is read along a layout.
#ifndef RGM_IO_TRACE_SLOW_H
#define RGM_IO_TRACE_SLOW_H

#include "io/trace_parse.h"

typedef enum {
    RGM_READ_OK,
    RGM_READ_MORE, // the text ends before the value does
    RGM_READ_BAD,
} rgm_reading;

enum { RGM_KEY_LIMIT = 256 };

// *at points to the brace of an event and moves behind it, or to where reading failed. The event's counts of
// what was repaired are added to, its other members set.
rgm_reading rgm_trace_read_slowly(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t **at);
// Keeps a value whose key has no place in the model; values that say nothing are not kept.
void rgm_trace_add_extra(rgm_event *event, const uint8_t *key, size_t key_length, const uint8_t *value,
                         size_t length);

#endif
