// SPDX-License-Identifier: Apache-2.0
// Values of members, each into the field of its key.
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "io/json/json_text.h"
#include "io/json/json_value.h"
#include "io/trace/trace_numbers.h"
#include "io/trace/trace_scan.h"
#include "io/trace/trace_slow.h"

enum { EXTRA_LIMIT = 1 << 20 };

bool rgm_trace_add_extra(rgm_event *event, const uint8_t *key, size_t key_length, const uint8_t *value,
                         size_t length) {
    rgm_bytes *out = &event->extra;
    if (length == 2 && (value[0] == '"' || value[0] == '[' || value[0] == '{')) return true; // says nothing
    if (out->length + key_length + length > EXTRA_LIMIT) {
        event->too_long++;
        return true;
    }
    size_t before = out->length;
    if (before) rgm_bytes_append(out, ",", 1);
    rgm_json_quote(out, key, key_length, true);
    rgm_bytes_append(out, ":", 1);
    if (rgm_json_compact(out, value, length)) return true;
    if (rgm_json_too_deep(value, length))
        event->too_deep++;
    else
        event->repairs++;
    rgm_json_quote(out, value, length, false); // what is no JSON is kept as text
    return false;
}

void rgm_trace_add_step(rgm_trace_parser *parser, const uint8_t *value, uint8_t how, uint8_t field,
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

static bool is_word(const uint8_t *at, size_t length, const char *word) {
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

// Of a key that comes twice the last value counts.
static void set_present(rgm_event *event, uint8_t field) {
    event->present |= UINT64_C(1) << field;
    event->texts &= ~(UINT64_C(1) << field);
}

// Only keys without a place may be learned so: a key that has one and another sort of value for once must not
// lead the next event astray.
static void keep_extra(rgm_trace_parser *parser, const rgm_trace_member *m, const uint8_t *at,
                       const uint8_t *after) {
    if (m->how != RGM_VALUE_EXTRA) parser->learnable = false;
    rgm_trace_add_step(parser, at, RGM_VALUE_EXTRA, 0, m->key, m->key_length, after);
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

static rgm_reading take_string(rgm_trace_parser *parser, const rgm_trace_text *text,
                               const rgm_trace_member *m, const uint8_t **at) {
    rgm_event *event = &parser->event;
    const uint8_t *from = *at + 1, *quote;
    uint32_t traits = 0;
    rgm_reading result = rgm_trace_find_quote(parser, text, from, &quote, &traits);
    if (result != RGM_READ_OK) {
        *at = quote;
        return result;
    }
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
        set_present(event, m->field);
        rgm_trace_add_step(parser, from - 1, RGM_VALUE_JSON, m->field, NULL, 0, quote + 1);
        *value = (rgm_event_value){.text = from - 1, .length = (uint32_t)length + 2};
        return RGM_READ_OK;
    case RGM_VALUE_NOTHING:
        rgm_trace_add_step(parser, from - 1, RGM_VALUE_NOTHING, 0, NULL, 0, quote + 1);
        return RGM_READ_OK;
    case RGM_VALUE_INT:
        parser->learnable = false;
        if (rgm_trace_int_of_text(from, length, &value->number)) {
            set_present(event, m->field);
        } else if (m->field == RGM_FIELD_ID) { // an id only needs to be equal where it is equal
            value->number = (int64_t)(rgm_hash_bytes(from, length) >> 1);
            set_present(event, m->field);
        } else {
            keep_extra(parser, m, from - 1, quote + 1);
        }
        return RGM_READ_OK;
    case RGM_VALUE_TIME:
        parser->learnable = false;
        value->length = value->traits = 0;
        if (rgm_trace_decimal(from, length, 3, &value->number))
            set_present(event, m->field);
        else
            event->bad_numbers++;
        return RGM_READ_OK;
    case RGM_VALUE_REAL:
        parser->learnable = false;
        if (rgm_trace_real(from, length, &value->real)) {
            set_present(event, m->field);
            return RGM_READ_OK;
        }
        keep_extra(parser, m, from - 1, quote + 1);
        return RGM_READ_OK;
    default: keep_extra(parser, m, from - 1, quote + 1); return RGM_READ_OK;
    }
    set_present(event, m->field);
    if (m->how == RGM_VALUE_PLACE) event->texts |= UINT64_C(1) << m->field;
    rgm_trace_add_step(parser, from, RGM_VALUE_TEXT, m->field, NULL, 0, quote);
    *value = (rgm_event_value){.text = from, .length = (uint32_t)length, .traits = traits};
    return RGM_READ_OK;
}

static bool is_json(rgm_trace_parser *parser, const uint8_t *text, size_t length) {
    rgm_bytes_reset(&parser->scratch);
    bool good = rgm_json_compact(&parser->scratch, text, length) && rgm_utf8_valid(text, length);
    if (parser->scratch.failed) parser->event.extra.failed = true; // the event is refused, not the text
    return good;
}

static rgm_reading take_bracketed(rgm_trace_parser *parser, const rgm_trace_text *text,
                                  const rgm_trace_member *m, const uint8_t **at) {
    const uint8_t *from = *at, *after;
    rgm_reading result = rgm_trace_find_bracket(parser, text, from, &after);
    if (result != RGM_READ_OK) {
        *at = after;
        return result;
    }
    if (parser->strict && !is_json(parser, from, (size_t)(after - from))) return RGM_READ_BAD;
    *at = after;
    rgm_event *event = &parser->event;
    if (m->how == RGM_VALUE_TRIPLE &&
        rgm_scan_triple(from, text->end, m->field == RGM_FIELD_GRID ? event->grid : event->block)) {
        set_present(event, m->field);
        rgm_trace_add_step(parser, from, RGM_VALUE_TRIPLE, m->field, NULL, 0, after);
        return RGM_READ_OK;
    }
    if ((size_t)(after - from) > UINT32_MAX) return RGM_READ_BAD;
    if (m->how == RGM_VALUE_JSON || m->how == RGM_VALUE_TEXT) { // lists that another writer printed as text
        if (m->field == RGM_FIELD_NAME || m->field == RGM_FIELD_PH || m->field == RGM_FIELD_CAT) {
            parser->learnable = false;
            event->bad_numbers++;
            return RGM_READ_OK;
        }
        set_present(event, m->field);
        if (m->how == RGM_VALUE_TEXT) parser->learnable = false;
        rgm_trace_add_step(parser, from, RGM_VALUE_JSON, m->field, NULL, 0, after);
        event->value[m->field] = (rgm_event_value){.text = from, .length = (uint32_t)(after - from)};
        return RGM_READ_OK;
    }
    if (m->how == RGM_VALUE_NOTHING)
        rgm_trace_add_step(parser, from, RGM_VALUE_NOTHING, 0, NULL, 0, after);
    else
        keep_extra(parser, m, from, after);
    return RGM_READ_OK;
}

static rgm_reading take_scalar(rgm_trace_parser *parser, const rgm_trace_text *text,
                               const rgm_trace_member *m, const uint8_t **at) {
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
        good = plain || rgm_trace_decimal(from, length, 0, &number);
        if (good) value->number = number;
        break;
    case RGM_VALUE_TIME:
        plain = rgm_scan_time(from, &number, &value->length, &value->traits) == after;
        if (!plain) value->length = value->traits = 0;
        good = plain || rgm_trace_decimal(from, length, 3, &number);
        if (good) value->number = number;
        break;
    case RGM_VALUE_REAL: {
        double found;
        plain = rgm_scan_real(from, &found) == after;
        good = plain || rgm_trace_real(from, length, &found);
        if (good) value->real = found;
        if (good && !plain && !is_json(parser, from, length)) event->repairs++; // inf, nan
        break;
    }
    case RGM_VALUE_NOTHING:
        rgm_trace_add_step(parser, from, RGM_VALUE_NOTHING, 0, NULL, 0, after);
        return RGM_READ_OK;
    case RGM_VALUE_TEXT:
    case RGM_VALUE_JSON:
        parser->learnable = false;
        if (empty || length > UINT32_MAX) return RGM_READ_OK;
        set_present(event, m->field);
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
        set_present(event, m->field);
        if (!plain) parser->learnable = false;
        rgm_trace_add_step(parser, from, m->how == RGM_VALUE_PLACE ? RGM_VALUE_INT : m->how, m->field, NULL,
                           0, after);
    } else {
        parser->learnable = false;
        event->bad_numbers += !empty;
    }
    return RGM_READ_OK;
}

rgm_reading rgm_trace_take_value(rgm_trace_parser *parser, const rgm_trace_text *text,
                                 const rgm_trace_member *member, const uint8_t **at) {
    if (**at == '"') return take_string(parser, text, member, at);
    if (**at == '[' || **at == '{') return take_bracketed(parser, text, member, at);
    return take_scalar(parser, text, member, at);
}
