// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_window.h"

#include <string.h>

#include "base/memory.h"
#include "io/trace/trace_scan.h"

enum { WINDOW = 256 << 10 };

static rgm_status grow(rgm_trace_window *window, rgm_error *err) {
    size_t capacity = window->capacity ? window->capacity * 2 : WINDOW;
    size_t held = window->buffer ? (size_t)(window->text.end - window->text.begin) : 0;
    size_t read = window->buffer ? (size_t)(window->text.at - window->text.begin) : 0;
    uint8_t *buffer = rgm_block_realloc(window->buffer, capacity + RGM_TEXT_PADDING);
    if (!buffer) return rgm_error_no_memory(err);
    window->buffer = buffer;
    window->capacity = capacity;
    window->text.begin = buffer;
    window->text.at = buffer + read;
    window->text.end = buffer + held;
    return RGM_OK;
}

rgm_status rgm_window_open(rgm_trace_window *window, const rgm_source *source, rgm_error *err) {
    *window = (rgm_trace_window){.source = source};
    RGM_TRY(grow(window, err));
    return rgm_window_refill(window, err);
}

void rgm_window_release(rgm_trace_window *window) { rgm_block_free(window->buffer); }

static rgm_status read_some(rgm_trace_window *window, uint8_t *buffer, size_t room, size_t *filled,
                            rgm_error *err) {
    const rgm_source *source = window->source;
    if (!source->read_at) return source->read(source->context, buffer, room, filled, err);
    RGM_TRY(source->read_at(source->context, window->next, buffer, room, filled, err));
    window->next += (int64_t)*filled;
    return RGM_OK;
}

void rgm_window_seek(rgm_trace_window *window, int64_t offset) {
    window->text.at = window->text.begin = window->text.end = window->buffer;
    window->text.offset = window->next = offset;
    window->text.final = window->full = false;
}

rgm_status rgm_window_refill(rgm_trace_window *window, rgm_error *err) {
    rgm_trace_text *text = &window->text;
    size_t left = (size_t)(text->end - text->at);
    text->offset += text->at - text->begin;
    memmove(window->buffer, text->at, left);
    text->begin = text->at = window->buffer;
    text->end = window->buffer + left;
    window->full = false;
    if (left > window->capacity / 2) {
        if (window->capacity >= RGM_LONGEST_EVENT)
            window->full = left == window->capacity;
        else
            RGM_TRY(grow(window, err));
    }
    while (!text->final && left < window->capacity) {
        size_t filled = 0;
        RGM_TRY(read_some(window, window->buffer + left, window->capacity - left, &filled, err));
        if (filled == 0) text->final = true;
        left += filled;
        if (left >= window->capacity / 2) break;
    }
    text->end = window->buffer + left;
    text->stop = text->end + 1;
    memset(window->buffer + left, 0, RGM_TEXT_PADDING);
    return RGM_OK;
}

rgm_status rgm_window_peek(rgm_trace_window *window, uint8_t *byte, rgm_error *err) {
    rgm_trace_text *text = &window->text;
    for (;;) {
        text->at = rgm_scan_space(text->at, text->end);
        if (text->at < text->end) break;
        if (text->final) {
            *byte = 0;
            return RGM_OK;
        }
        RGM_TRY(rgm_window_refill(window, err));
    }
    *byte = *text->at;
    return RGM_OK;
}

rgm_status rgm_window_value(rgm_trace_window *window, const uint8_t **after, rgm_error *err) {
    rgm_trace_text *text = &window->text;
    for (;;) {
        *after = rgm_skip_value(text->at, text->end);
        if (*after && (*after < text->end || text->final)) return RGM_OK;
        if (text->final || window->full) {
            *after = NULL;
            return RGM_OK;
        }
        RGM_TRY(rgm_window_refill(window, err));
    }
}
