// SPDX-License-Identifier: Apache-2.0
// Reading an event key by key: what no layout knows, what is damaged and may be repaired. What is sound is
// learned, so that the next event like it is read along a layout.
//
// Repairs never reach over what looks like the beginning of another event (rgm_trace_begins_event): the event
// is then given up, and reading goes on at that beginning.
#ifndef RGM_IO_TRACE_SLOW_H
#define RGM_IO_TRACE_SLOW_H

#include "io/trace/trace_parse.h"

typedef enum {
    RGM_READ_OK,
    RGM_READ_MORE, // the text ends before the value does
    RGM_READ_BAD,
} rgm_reading;

enum { RGM_KEY_LIMIT = 256 };

// *at points to the brace of an event and moves behind it, or to where reading failed. The event's counts of
// what was repaired are added to, its other members set.
rgm_reading rgm_trace_read_slowly(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t **at);
// Keeps a value whose key has no place in the model; values that say nothing are not kept. False when it is
// not JSON, or nested too deeply to tell.
bool rgm_trace_add_extra(rgm_event *event, const uint8_t *key, size_t key_length, const uint8_t *value,
                         size_t length);

// --- shared by the files that read key by key -------------------------------------------------------------

typedef struct {
    const uint8_t *key;
    size_t key_length;
    uint8_t how, field;
} rgm_trace_member;

// trace_values.c: the value of a member. *at moves behind it, or to where reading failed.
rgm_reading rgm_trace_take_value(rgm_trace_parser *parser, const rgm_trace_text *text,
                                 const rgm_trace_member *member, const uint8_t **at);
// Where the layout that is being learned has a value; `after` is where the next literal begins.
void rgm_trace_add_step(rgm_trace_parser *parser, const uint8_t *value, uint8_t how, uint8_t field,
                        const uint8_t *key, size_t key_length, const uint8_t *after);

// trace_repair.c: where damaged values end.
// Whether the text goes on with the rest of a key and its colon; `at` is behind the key's first quote.
bool rgm_trace_is_key_ahead(const uint8_t *at, const uint8_t *end, bool final);
// The end of a string that may hold quotes that were not escaped, or end in a backslash that was not: *quote
// is its last one, or where it turned out that there is none.
rgm_reading rgm_trace_find_quote(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t *from,
                                 const uint8_t **quote, uint32_t *traits);
// The end of a list or object, which need not be JSON but has brackets in pairs.
rgm_reading rgm_trace_find_bracket(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t *from,
                                   const uint8_t **after);
// Whether another event begins between two places of an event; MORE when that cannot be told yet.
rgm_event_guess rgm_trace_event_between(rgm_trace_parser *parser, const rgm_trace_text *text,
                                        const uint8_t *from, const uint8_t *to);

#endif
