// SPDX-License-Identifier: Apache-2.0
#include "io/trace_slow.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "io/json_text.h"
#include "io/json_value.h"
#include "io/trace_scan.h"

enum { EXTRA_LIMIT = 1 << 20 };

// --- values -----------------------------------------------------------------------------------------------

void rgm_trace_add_extra(rgm_event *event, const uint8_t *key, size_t key_length, const uint8_t *value,
                         size_t length) {
    rgm_bytes *out = &event->extra;
    if (length == 2 && (value[0] == '"' || value[0] == '[' || value[0] == '{')) return; // says nothing
    if (out->length + key_length + length > EXTRA_LIMIT) {
        event->too_deep++;
        return;
    }
    size_t before = out->length;
    if (before) rgm_bytes_append(out, ",", 1);
    rgm_json_quote(out, key, key_length, true);
    rgm_bytes_append(out, ":", 1);
    if (rgm_json_compact(out, value, length)) return;
    if (rgm_json_too_deep(value, length))
        event->too_deep++;
    else
        event->repairs++;
    rgm_json_quote(out, value, length, false); // what is no JSON is kept as text
}

static void add_step(rgm_trace_parser *parser, const uint8_t *value, uint8_t how, uint8_t field,
                     const uint8_t *key, size_t key_length, const uint8_t *after) {
    if (parser->n_steps == RGM_LAYOUT_STEPS || key_length > RGM_KEY_LIMIT) {
        parser->learnable = false;
        return;
    }
    parser->steps[parser->n_steps++] = (rgm_layout_step){.literal_start = parser->literal,
                                                         .value = value,
                                                         .key = key,
                                                         .key_length = (uint32_t)key_length,
                                                         .how = how,
                                                         .field = field};
    parser->literal = after;
}

static bool is_key_ahead(const uint8_t *at, const uint8_t *end) {
    const uint8_t *limit = end - at > RGM_KEY_LIMIT ? at + RGM_KEY_LIMIT : end;
    while (at < limit && *at != '"' && *at != '\n') at++;
    if (at >= limit || *at != '"') return false;
    at = rgm_scan_space(at + 1, end);
    return at < end && *at == ':';
}

// Whether a quote can be the end of a value: it is followed by a bracket, or by a comma and another key.
static bool ends_value(const uint8_t *quote, const uint8_t *end, bool final) {
    const uint8_t *at = rgm_scan_space(quote + 1, end);
    if (at >= end) return !final || at == end;
    if (*at == '}' || *at == ']') return true;
    if (*at != ',') return false;
    at = rgm_scan_space(at + 1, end);
    return at >= end || *at != '"' || is_key_ahead(at + 1, end);
}

// Finds the end of a string that may hold quotes that were not escaped, or end in a backslash that was not.
static rgm_reading find_text_end(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t *from,
                                 const uint8_t **quote, uint32_t *traits) {
    const uint8_t *at = from, *escaped = NULL;
    for (;;) {
        at = rgm_scan_string(at);
        if (at >= text->end) return RGM_READ_MORE;
        if (*at == '\\') {
            *traits |= RGM_TEXT_ESCAPED;
            if (!escaped && at + 1 < text->end && at[1] == '"' && ends_value(at + 1, text->end, text->final))
                escaped = at + 1;
            at += 2;
        } else if (*at >= 0x80) {
            *traits |= RGM_TEXT_HIGH;
            at++;
        } else if (*at != '"') {
            *traits |= RGM_TEXT_CONTROL;
            at++;
        } else if (ends_value(at, text->end, text->final)) {
            *quote = at;
            return RGM_READ_OK;
        } else {
            if (parser->strict) return RGM_READ_BAD;
            parser->event.repairs++;
            parser->learnable = false;
            if (escaped) {
                *quote = escaped;
                return RGM_READ_OK;
            }
            at++;
        }
    }
}

static bool number_from_text(const uint8_t *text, size_t length, int64_t *number) {
    char copy[32];
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    char *end;
    bool hex = length > 2 && copy[0] == '0' && (copy[1] | 0x20) == 'x';
    if (!hex && (copy[0] < '0' || copy[0] > '9') && copy[0] != '-') return false;
    *number = hex ? (int64_t)strtoull(copy, &end, 16) : strtoll(copy, &end, 10);
    return *end == 0;
}

// A decimal number of any form, times 10^power, as an integer; what lies below one is cut off. False when it
// is no number or out of the range of int64.
static bool decimal(const uint8_t *at, size_t length, int power, int64_t *out) {
    const uint8_t *end = at + length;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    uint64_t value = 0;
    int exponent = 0, digits = 0, dropped = 0;
    bool point = false;
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        digits++;
        if (value > (UINT64_MAX - 9) / 10) {
            dropped += !point;
            continue;
        }
        value = value * 10 + (uint64_t)(*at - '0');
        exponent -= point;
    }
    if (digits == 0) return false;
    if (at < end && (*at | 0x20) == 'e') {
        char *stop;
        char copy[16] = {0};
        if (end - at - 1 >= (ptrdiff_t)sizeof copy || end - at < 2) return false;
        memcpy(copy, at + 1, (size_t)(end - at - 1));
        long given = strtol(copy, &stop, 10);
        if (*stop || given > 400 || given < -400) return false;
        exponent += (int)given;
        at = end;
    }
    if (at != end) return false;
    exponent += power + dropped;
    for (; exponent < 0 && value; exponent++) value /= 10;
    for (; exponent > 0 && value; exponent--)
        if (__builtin_mul_overflow(value, 10, &value)) return false;
    if (value > INT64_MAX) return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool real(const uint8_t *at, size_t length, double *out) {
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, at, length);
    copy[length] = 0;
    *out = strtod(copy, &end); // takes inf, Infinity and NaN too
    return *end == 0;
}

static bool is_word(const uint8_t *at, size_t length, const char *word) {
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

// Marks a field as read. A key that comes twice counts with its last value.
static void set_present(rgm_trace_parser *parser, uint8_t field) {
    rgm_event *event = &parser->event;
    if (event->present >> field & 1) {
        event->duplicate_keys++;
        parser->learnable = false;
    }
    event->present |= UINT64_C(1) << field;
    event->texts &= ~(UINT64_C(1) << field);
}

typedef struct {
    const uint8_t *key;
    size_t key_length;
    uint8_t how, field;
} member;

// Only keys without a place may be learned so: a key that has one and another sort of value for once must not
// lead the next event astray.
static void keep_extra(rgm_trace_parser *parser, const member *m, const uint8_t *at, const uint8_t *after) {
    if (m->how != RGM_VALUE_EXTRA) parser->learnable = false;
    add_step(parser, at, RGM_VALUE_EXTRA, 0, m->key, m->key_length, after);
    rgm_trace_add_extra(&parser->event, m->key, m->key_length, at, (size_t)(after - at));
}

static void take_category(rgm_event *event, const uint8_t *text, size_t length) {
    char lower[32];
    event->category = text;
    event->category_length = (uint32_t)(length > UINT32_MAX ? UINT32_MAX : length);
    event->kind = RGM_KIND_OTHER;
    event->flow = RGM_FLOW_KIND_OTHER;
    event->other = true;
    if (length >= sizeof lower) return;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
#define MATCH_KIND(name, KIND)                                                                               \
    if (is_word((const uint8_t *)lower, length, name)) {                                                     \
        event->kind = RGM_KIND_##KIND;                                                                       \
        event->other = false;                                                                                \
    }
    RGM_CATEGORIES(MATCH_KIND)
#define MATCH_FLOW(name, KIND)                                                                               \
    if (is_word((const uint8_t *)lower, length, name)) event->flow = RGM_FLOW_KIND_##KIND;
    RGM_FLOW_CATEGORIES(MATCH_FLOW)
}

static rgm_reading take_string(rgm_trace_parser *parser, const rgm_trace_text *text, const member *m,
                               const uint8_t **at) {
    rgm_event *event = &parser->event;
    const uint8_t *from = *at + 1, *quote;
    uint32_t traits = 0;
    rgm_reading result = find_text_end(parser, text, from, &quote, &traits);
    if (result != RGM_READ_OK) return result;
    size_t length = (size_t)(quote - from);
    *at = quote + 1;
    if (length > UINT32_MAX || (parser->strict && !rgm_json_string_valid(from, length))) return RGM_READ_BAD;
    if (traits & RGM_TEXT_CONTROL) parser->learnable = false;
    rgm_event_value *value = &event->value[m->field];
    switch (m->how) {
    case RGM_VALUE_TEXT:
        if (m->field == RGM_FIELD_PH) {
            event->phase = length == 1 ? (char)*from : '?';
            return RGM_READ_OK;
        }
        if (m->field == RGM_FIELD_CAT) {
            take_category(event, from, length);
            return RGM_READ_OK;
        }
        break;
    case RGM_VALUE_PLACE: break;
    case RGM_VALUE_JSON:
        set_present(parser, m->field);
        add_step(parser, from - 1, RGM_VALUE_JSON, m->field, NULL, 0, quote + 1);
        *value = (rgm_event_value){.text = from - 1, .length = (uint32_t)length + 2};
        return RGM_READ_OK;
    case RGM_VALUE_NOTHING:
        add_step(parser, from - 1, RGM_VALUE_NOTHING, 0, NULL, 0, quote + 1);
        return RGM_READ_OK;
    case RGM_VALUE_INT:
        parser->learnable = false;
        if (number_from_text(from, length, &value->number)) {
            set_present(parser, m->field);
        } else if (m->field == RGM_FIELD_ID) { // an id only needs to be equal where it is equal
            value->number = (int64_t)(rgm_hash_bytes(from, length) >> 1);
            set_present(parser, m->field);
        } else {
            keep_extra(parser, m, from - 1, quote + 1);
        }
        return RGM_READ_OK;
    case RGM_VALUE_TIME:
        parser->learnable = false;
        value->length = value->traits = 0;
        if (decimal(from, length, 3, &value->number))
            set_present(parser, m->field);
        else
            event->bad_numbers++;
        return RGM_READ_OK;
    case RGM_VALUE_REAL:
        parser->learnable = false;
        if (real(from, length, &value->real)) {
            set_present(parser, m->field);
            return RGM_READ_OK;
        }
        keep_extra(parser, m, from - 1, quote + 1);
        return RGM_READ_OK;
    default: keep_extra(parser, m, from - 1, quote + 1); return RGM_READ_OK;
    }
    set_present(parser, m->field);
    if (m->how == RGM_VALUE_PLACE) event->texts |= UINT64_C(1) << m->field;
    add_step(parser, from, RGM_VALUE_TEXT, m->field, NULL, 0, quote);
    *value = (rgm_event_value){.text = from, .length = (uint32_t)length, .traits = traits};
    return RGM_READ_OK;
}

static bool is_json(rgm_trace_parser *parser, const uint8_t *text, size_t length) {
    rgm_bytes_reset(&parser->scratch);
    bool good = rgm_json_compact(&parser->scratch, text, length) && rgm_utf8_valid(text, length);
    if (parser->scratch.failed) parser->event.extra.failed = true; // the event is refused, not the text
    return good;
}

static rgm_reading take_bracketed(rgm_trace_parser *parser, const rgm_trace_text *text, const member *m,
                                  const uint8_t **at) {
    const uint8_t *from = *at, *after = rgm_skip_value(from, text->end);
    if (!after) return RGM_READ_MORE;
    if (parser->strict && !is_json(parser, from, (size_t)(after - from))) return RGM_READ_BAD;
    *at = after;
    rgm_event *event = &parser->event;
    if (m->how == RGM_VALUE_TRIPLE &&
        rgm_scan_triple(from, text->end, m->field == RGM_FIELD_GRID ? event->grid : event->block)) {
        set_present(parser, m->field);
        add_step(parser, from, RGM_VALUE_TRIPLE, m->field, NULL, 0, after);
        return RGM_READ_OK;
    }
    if ((size_t)(after - from) > UINT32_MAX) return RGM_READ_BAD;
    if (m->how == RGM_VALUE_JSON || m->how == RGM_VALUE_TEXT) { // lists that another writer printed as text
        if (m->field == RGM_FIELD_NAME || m->field == RGM_FIELD_PH || m->field == RGM_FIELD_CAT) {
            parser->learnable = false;
            event->bad_numbers++;
            return RGM_READ_OK;
        }
        set_present(parser, m->field);
        if (m->how == RGM_VALUE_TEXT) parser->learnable = false;
        add_step(parser, from, RGM_VALUE_JSON, m->field, NULL, 0, after);
        event->value[m->field] = (rgm_event_value){.text = from, .length = (uint32_t)(after - from)};
        return RGM_READ_OK;
    }
    if (m->how == RGM_VALUE_NOTHING)
        add_step(parser, from, RGM_VALUE_NOTHING, 0, NULL, 0, after);
    else
        keep_extra(parser, m, from, after);
    return RGM_READ_OK;
}

static rgm_reading take_scalar(rgm_trace_parser *parser, const rgm_trace_text *text, const member *m,
                               const uint8_t **at) {
    const uint8_t *from = *at, *after = rgm_skip_value(from, text->end);
    if (!after) return from + RGM_KEY_LIMIT < text->end ? RGM_READ_BAD : RGM_READ_MORE;
    if (!rgm_is_delimiter(*after)) return RGM_READ_BAD;
    size_t length = (size_t)(after - from);
    if (parser->strict && !is_json(parser, from, length)) return RGM_READ_BAD;
    *at = after;
    rgm_event *event = &parser->event;
    rgm_event_value *value = &event->value[m->field];
    bool empty = is_word(from, length, "null");
    bool good = false, plain = false;
    int64_t number;
    switch (m->how) {
    case RGM_VALUE_INT:
    case RGM_VALUE_PLACE:
        plain = rgm_scan_int(from, &number) == after;
        good = plain || decimal(from, length, 0, &number);
        if (good) value->number = number;
        break;
    case RGM_VALUE_TIME:
        plain = rgm_scan_time(from, &number, &value->length, &value->traits) == after;
        if (!plain) value->length = value->traits = 0;
        good = plain || decimal(from, length, 3, &number);
        if (good) value->number = number;
        break;
    case RGM_VALUE_REAL: {
        double found;
        plain = rgm_scan_real(from, &found) == after;
        good = plain || real(from, length, &found);
        if (good) value->real = found;
        if (good && !plain && !is_json(parser, from, length)) event->repairs++; // inf, nan
        break;
    }
    case RGM_VALUE_NOTHING: add_step(parser, from, RGM_VALUE_NOTHING, 0, NULL, 0, after); return RGM_READ_OK;
    case RGM_VALUE_TEXT:
    case RGM_VALUE_JSON:
        parser->learnable = false;
        if (empty || length > UINT32_MAX) return RGM_READ_OK;
        set_present(parser, m->field);
        *value = (rgm_event_value){.text = from, .length = (uint32_t)length};
        return RGM_READ_OK;
    default:
        if (empty)
            parser->learnable = false;
        else
            keep_extra(parser, m, from, after);
        return RGM_READ_OK;
    }
    if (good) {
        set_present(parser, m->field);
        if (!plain) parser->learnable = false;
        add_step(parser, from, m->how == RGM_VALUE_PLACE ? RGM_VALUE_INT : m->how, m->field, NULL, 0, after);
    } else {
        parser->learnable = false;
        event->bad_numbers += !empty;
    }
    return RGM_READ_OK;
}

static member find_member(const rgm_trace_parser *parser, const uint8_t *key, size_t length, bool arguments) {
    member m = {.key = key, .key_length = length, .how = RGM_VALUE_EXTRA};
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
    if (!quote) return RGM_READ_MORE;
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
        if (!arguments && **at == '{' && is_word(key, length, "args")) {
            (*at)++;
            result = read_object(parser, text, at, true);
            if (result != RGM_READ_OK) return result;
            continue;
        }
        member m = find_member(parser, key, length, arguments);
        result = **at == '"'                  ? take_string(parser, text, &m, at)
                 : **at == '[' || **at == '{' ? take_bracketed(parser, text, &m, at)
                                              : take_scalar(parser, text, &m, at);
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
    event->repairs = event->bad_numbers = event->duplicate_keys = event->too_deep = 0;
    rgm_bytes_reset(&event->extra);
}

// `at` points to the brace of an event and moves behind it, or to where rgm_reading failed.
rgm_reading rgm_trace_read_slowly(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t **at) {
    rgm_event *event = &parser->event;
    clear_event(event);
    parser->n_steps = 0;
    parser->learnable = true;
    parser->literal = *at;
    (*at)++;
    rgm_reading result = read_object(parser, text, at, false);
    if (result != RGM_READ_OK || !parser->learnable) return result;
    add_step(parser, *at, RGM_VALUE_END, 0, NULL, 0, *at);
    if (parser->learnable) rgm_layout_learn(&parser->layout, parser->steps, parser->n_steps, event);
    return result;
}
