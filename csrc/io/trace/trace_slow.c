// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_slow.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "io/json/json_text.h"
#include "io/trace/trace_scan.h"

static rgm_trace_member find_member(const rgm_trace_parser *parser, const uint8_t *key, size_t length,
                                    bool arguments) {
    rgm_trace_member m = {.key = key, .key_length = length, .how = RGM_VALUE_EXTRA};
    if (length > UINT8_MAX) return m;
    for (size_t slot = rgm_hash_bytes(key, length) + arguments;; slot++) {
        const rgm_trace_key *known = &parser->keys[slot % RGM_KEY_SLOTS];
        if (!known->text) return m;
        if (known->length != length || known->arguments != arguments || memcmp(known->text, key, length) != 0)
            continue;
        m.how = known->how;
        m.field = known->field;
        return m;
    }
}

// Reads a key and the colon behind it. A key without its first quote is taken, as one writer printed it.
static rgm_reading read_key(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t **at,
                            const uint8_t **key, size_t *length) {
    const uint8_t *from = *at, *quote;
    if (*from == '"') {
        from++;
        quote = rgm_skip_string(from, text->end);
    } else {
        if (parser->strict || ((*from | 0x20) < 'a' || (*from | 0x20) > 'z')) return RGM_READ_BAD;
        const uint8_t *limit = text->end - from > RGM_KEY_LIMIT ? from + RGM_KEY_LIMIT : text->end;
        for (quote = from; quote < limit && *quote != '"' && *quote != '\n' && *quote != ':';) quote++;
        if (quote < limit && *quote != '"') return RGM_READ_BAD;
        if (quote == limit) quote = NULL;
        parser->event.repairs++;
        parser->learnable = false;
    }
    if (!quote) {
        bool passed = rgm_trace_event_between(parser, text, from, text->end) == RGM_EVENT_YES;
        return passed && !parser->strict ? RGM_READ_BAD : RGM_READ_MORE;
    }
    *key = from;
    *length = (size_t)(quote - from);
    if (!rgm_json_string_valid(from, *length)) {
        if (parser->strict) return RGM_READ_BAD;
        parser->event.repairs++;
        parser->learnable = false;
    }
    const uint8_t *colon = rgm_scan_space(quote + 1, text->end);
    if (colon >= text->end) return RGM_READ_MORE;
    if (*colon != ':') return RGM_READ_BAD;
    *at = rgm_scan_space(colon + 1, text->end);
    return *at < text->end ? RGM_READ_OK : RGM_READ_MORE;
}

// Moves to the next key of an object; *closed when the object ends here.
static rgm_reading next_member(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t **at,
                               bool first, bool *closed) {
    *at = rgm_scan_space(*at, text->end);
    *closed = false;
    if (*at >= text->end) return RGM_READ_MORE;
    if (**at == '}') {
        *closed = true;
        (*at)++;
        return RGM_READ_OK;
    }
    if (first) return RGM_READ_OK;
    if (**at == '"' && !parser->strict && rgm_trace_is_key_ahead(*at + 1, text->end, text->final)) {
        parser->event.repairs++; // a comma too few
        parser->learnable = false;
        return RGM_READ_OK;
    }
    if (**at != ',') return RGM_READ_BAD;
    *at = rgm_scan_space(*at + 1, text->end);
    if (*at >= text->end) return RGM_READ_MORE;
    if (**at != '}') return RGM_READ_OK;
    if (parser->strict) return RGM_READ_BAD;
    parser->event.repairs++; // a comma too many
    parser->learnable = false;
    *closed = true;
    (*at)++;
    return RGM_READ_OK;
}

// --- repeated keys ----------------------------------------------------------------------------------------

// Keys with a field are told by it, so that two names of one field count as one.
static void note_key(rgm_trace_parser *parser, const rgm_trace_member *m, bool arguments) {
    if (m->how == RGM_VALUE_EXTRA || m->how == RGM_VALUE_NOTHING) {
        rgm_bytes_u64(&parser->keys_seen, rgm_hash_bytes(m->key, m->key_length) * 2 + arguments);
        return;
    }
    if (parser->seen >> m->field & 1) {
        parser->event.duplicate_keys++;
        if (!arguments) parser->repeated[m->field]++;
    }
    parser->seen |= UINT64_C(1) << m->field;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

// How many other events ran together with this one, because text between them was lost: as often as it names
// its arguments again, or its phase and with it the time or the name; if it had to be repaired, what a gap
// with its text would count.
static uint32_t merged_events(const rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t *from,
                              const uint8_t *to) {
    const uint32_t *again = parser->repeated;
    uint32_t merged = parser->arguments > 1 ? parser->arguments - 1 : 0;
    uint32_t other = larger(again[RGM_FIELD_TS], again[RGM_FIELD_NAME]);
    merged = larger(merged, again[RGM_FIELD_PH] < other ? again[RGM_FIELD_PH] : other);
    if (!parser->event.repairs) return merged;
    rgm_trace_stretch stretch = {0};
    rgm_trace_stretch_read(&stretch, from + 1, to, text->begin, text->end);
    int64_t rows = rgm_trace_stretch_rows(&stretch);
    return rows > 1 ? larger(merged, (uint32_t)(rows - 1)) : merged;
}

static void count_repeated(rgm_trace_parser *parser) {
    rgm_event *event = &parser->event;
    uint64_t *keys = (void *)parser->keys_seen.data;
    size_t count = parser->keys_seen.length / sizeof *keys;
    if (count > 1) qsort(keys, count, sizeof *keys, by_value);
    for (size_t i = 1; i < count; i++) event->duplicate_keys += keys[i] == keys[i - 1];
    if (event->duplicate_keys) parser->learnable = false;
    if (parser->keys_seen.failed) event->extra.failed = true; // the event is refused
}

// --- members ----------------------------------------------------------------------------------------------

static rgm_reading read_object(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t **at,
                               bool arguments) {
    for (bool first = true;; first = false) {
        bool closed;
        const uint8_t *key;
        size_t length;
        rgm_reading result = next_member(parser, text, at, first, &closed);
        if (result != RGM_READ_OK || closed) return result;
        result = read_key(parser, text, at, &key, &length);
        if (result != RGM_READ_OK) return result;
        bool args = !arguments && length == 4 && memcmp(key, "args", 4) == 0;
        if (args && **at != '{') parser->learnable = false; // for once another sort of value
        parser->arguments += args;
        if (args && **at == '{') {
            (*at)++;
            note_key(parser, &(rgm_trace_member){.key = key, .key_length = length, .how = RGM_VALUE_EXTRA},
                     false);
            result = read_object(parser, text, at, true);
            if (result != RGM_READ_OK) return result;
            continue;
        }
        rgm_trace_member m = find_member(parser, key, length, arguments);
        note_key(parser, &m, arguments);
        result = rgm_trace_take_value(parser, text, &m, at);
        if (result != RGM_READ_OK) return result;
    }
}

static void clear_event(rgm_event *event) {
    event->present = event->texts = 0;
    event->phase = 0;
    event->kind = RGM_KIND_OTHER;
    event->flow = RGM_FLOW_KIND_OTHER;
    event->other = false;
    event->category = NULL;
    event->category_length = 0;
    // A try at a learned layout that failed half way has counted what is counted again here.
    event->repairs = event->bad_numbers = event->duplicate_keys = event->too_deep = event->too_long = 0;
    event->merged = 0;
    rgm_bytes_reset(&event->extra);
}

// `at` points to the brace of an event and moves behind it, or to where rgm_reading failed.
rgm_reading rgm_trace_read_slowly(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t **at) {
    rgm_event *event = &parser->event;
    const uint8_t *from = *at;
    clear_event(event);
    parser->n_steps = 0;
    parser->learnable = true;
    parser->literal = *at;
    parser->seen = 0;
    parser->arguments = 0;
    memset(parser->repeated, 0, sizeof parser->repeated);
    rgm_bytes_reset(&parser->keys_seen);
    parser->searched = NULL;
    (*at)++;
    rgm_reading result = read_object(parser, text, at, false);
    if (result == RGM_READ_OK) {
        count_repeated(parser);
        event->merged = merged_events(parser, text, from, *at);
    }
    if (result != RGM_READ_OK || !parser->learnable) return result;
    rgm_trace_add_step(parser, *at, RGM_VALUE_END, 0, NULL, 0, *at);
    if (parser->learnable) rgm_layout_learn(&parser->layout, parser->steps, parser->n_steps, event);
    return result;
}
