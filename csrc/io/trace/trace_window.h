// SPDX-License-Identifier: Apache-2.0
// A window on the text of a source: what was read is dropped, what was not stays, and the window grows while
// it is full of it, up to RGM_LONGEST_EVENT.
#ifndef RGM_IO_TRACE_WINDOW_H
#define RGM_IO_TRACE_WINDOW_H

#include "io/trace/trace_import.h"
#include "io/trace/trace_parse.h"

typedef struct {
    const rgm_source *source;
    uint8_t *buffer;
    size_t capacity; // without the padding
    rgm_trace_text text;
    int64_t next; // where the next read of a source with places begins
    bool full;    // of text that was not read, and cannot be made larger
} rgm_trace_window;

rgm_status rgm_window_open(rgm_trace_window *window, const rgm_source *source, rgm_error *err) RGM_NODISCARD;
void rgm_window_release(rgm_trace_window *window);
static inline int64_t rgm_window_offset(const rgm_trace_window *window) {
    return window->text.offset + (window->text.at - window->text.begin);
}
// Forgets the text; the next refill reads from that place on.
void rgm_window_seek(rgm_trace_window *window, int64_t offset);
// Drops the text before text.at and reads on.
rgm_status rgm_window_refill(rgm_trace_window *window, rgm_error *err) RGM_NODISCARD;
// Moves to the next byte that is no space; *byte is 0 at the end of the input.
rgm_status rgm_window_peek(rgm_trace_window *window, uint8_t *byte, rgm_error *err) RGM_NODISCARD;
// Makes the whole value at the current place visible; *after is NULL when the text ends inside it.
rgm_status rgm_window_value(rgm_trace_window *window, const uint8_t **after, rgm_error *err) RGM_NODISCARD;

#endif
