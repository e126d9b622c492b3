// SPDX-License-Identifier: Apache-2.0
// The parser, included once per instruction set. Each event is first tried against the learned layouts, which
// compare literals and read values; what fits none is read key by key, repaired where that is possible,
// and learned from.
#include "io/trace_scan.h"
#include "io/trace_slow.h"

// Reading over damage may look at the same text again and again; past this many bytes it gives the rest up.
#define WASTE_LIMIT (INT64_C(1) << 28)

enum { AHEAD = 4096, RESYNC_CONTEXT = 256 };

// --- the fast way -----------------------------------------------------------------------------------------

static inline const uint8_t *read_text(const uint8_t *at, rgm_event_value *value) {
    uint32_t traits = 0;
    const uint8_t *from = at;
    for (at = rgm_scan_string(at); *at != '"'; at = rgm_scan_string(at)) {
        if (*at == '\\') {
            traits |= RGM_TEXT_ESCAPED;
            at += 2;
        } else if (*at >= 0x80) {
            traits |= RGM_TEXT_HIGH;
            at++;
        } else {
            return NULL;
        }
    }
    if ((size_t)(at - from) > UINT32_MAX) return NULL;
    value->text = from;
    value->length = (uint32_t)(at - from);
    value->traits = traits;
    return at;
}

// Reads the value of a node; NULL when it is not of the form that the node knows.
static inline const uint8_t *read_node(const rgm_layout *layout, uint32_t n, const uint8_t *at,
                                       const uint8_t *end, rgm_event *event) {
    const rgm_layout_node *node = &layout->nodes[n];
    rgm_event_value *value = &event->value[node->field];
    const uint8_t *after;
    switch (node->how) {
    case RGM_VALUE_INT: return rgm_scan_int(at, &value->number);
    case RGM_VALUE_TIME: return rgm_scan_time(at, &value->number, &value->length, &value->traits);
    case RGM_VALUE_TEXT: return read_text(at, value);
    case RGM_VALUE_REAL: return rgm_scan_real(at, &value->real);
    case RGM_VALUE_TRIPLE:
        return rgm_scan_triple(at, end, node->field == RGM_FIELD_GRID ? event->grid : event->block);
    case RGM_VALUE_NOTHING: return rgm_skip_value(at, end);
    case RGM_VALUE_JSON:
        after = rgm_skip_value(at, end);
        if (!after) return NULL;
        value->text = at;
        value->length = (uint32_t)(after - at);
        value->traits = 0;
        return after;
    case RGM_VALUE_EXTRA:
        after = rgm_skip_value(at, end);
        if (after)
            rgm_trace_add_extra(event, layout->keys[n], layout->key_lengths[n], at, (size_t)(after - at));
        return after;
    default: return at;
    }
}

// The child of `parent` that the text goes on with, and where its value ends; 0 for none. The child found
// moves to the front, because the next event is likely to want it again.
static inline uint32_t next_node(rgm_layout *layout, uint32_t parent, const uint8_t **at, const uint8_t *end,
                                 rgm_event *event) {
    uint32_t previous = 0;
    for (uint32_t c = layout->nodes[parent].child; c; previous = c, c = layout->nodes[c].sibling) {
        rgm_layout_node *node = &layout->nodes[c];
        if (!rgm_scan_equal(*at, node->literal, node->length)) continue;
        const uint8_t *after = read_node(layout, c, *at + node->length, end, event);
        if (!after) continue;
        *at = after;
        if (previous) {
            layout->nodes[previous].sibling = node->sibling;
            node->sibling = layout->nodes[parent].child;
            layout->nodes[parent].child = c;
        }
        return c;
    }
    return 0;
}

// Reads an event along the learned layouts; NULL when it fits none.
static const uint8_t *follow(rgm_layout *layout, const uint8_t *at, const uint8_t *end, rgm_event *event) {
    uint32_t n = 0, first = layout->ends[layout->last_end].next;
    if (first && rgm_scan_equal(at, layout->nodes[first].literal, layout->nodes[first].length)) {
        const uint8_t *after = read_node(layout, first, at + layout->nodes[first].length, end, event);
        if (after) {
            n = first;
            at = after;
        }
    }
    if (!n) {
        n = next_node(layout, 0, &at, end, event);
        if (!n) return NULL;
        layout->ends[layout->last_end].next = n;
    }
    while (layout->nodes[n].how != RGM_VALUE_END) {
        n = next_node(layout, n, &at, end, event);
        if (!n || at > end) return NULL;
    }
    const rgm_layout_end *facts = &layout->ends[layout->nodes[n].end];
    layout->last_end = layout->nodes[n].end;
    event->present = facts->present;
    event->texts = facts->texts;
    event->kind = facts->kind;
    event->flow = facts->flow;
    event->phase = facts->phase;
    event->other = facts->other;
    event->category = facts->category;
    event->category_length = facts->category_length;
    return at;
}

// --- elements ---------------------------------------------------------------------------------------------

static void note_repairs(rgm_trace_part *part, rgm_event *event) {
    if (event->repairs) rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, event->repairs, 0, event->offset);
    if (event->bad_numbers)
        rgm_trace_part_note(part, RGM_ANOMALY_NUMBER_RANGE, event->bad_numbers, 0, event->offset);
    if (event->duplicate_keys)
        rgm_trace_part_note(part, RGM_ANOMALY_DUPLICATE_KEYS, event->duplicate_keys, 0, event->offset);
    if (event->too_deep) rgm_trace_part_note(part, RGM_ANOMALY_TOO_DEEP, event->too_deep, 0, event->offset);
    event->repairs = event->bad_numbers = event->duplicate_keys = event->too_deep = 0;
}

static rgm_parse_end fail(rgm_status *status, rgm_status value) {
    *status = value;
    return RGM_PARSE_FAILED;
}

static rgm_parse_end syntax_error(const rgm_trace_text *text, const uint8_t *at, rgm_status *status,
                                  rgm_error *err) {
    int64_t offset = text->offset + (at - text->begin);
    return fail(status, rgm_error_at(err, RGM_FORMAT, offset,
                                     at >= text->end ? "byte %lld: the text ends inside an event"
                                                     : "byte %lld: this is not JSON; without strict=True the "
                                                       "damage is skipped and counted",
                                     (long long)offset));
}

// Elements that are no objects.
static rgm_reading skip_element(const rgm_trace_text *text, const uint8_t **at) {
    const uint8_t *after = rgm_skip_value(*at, text->end);
    if (after) {
        const uint8_t *next = rgm_scan_space(after, text->end);
        if (next < text->end && *next != ',' && *next != ']') return RGM_READ_BAD; // the inside of something
        *at = after;
        return RGM_READ_OK;
    }
    return **at != '"' && **at != '[' && text->end - *at > RGM_KEY_LIMIT ? RGM_READ_BAD : RGM_READ_MORE;
}

// After damage: looks for the next element from text->at on. When the stretch holds none, its last bytes
// stay, as they may be what stands before one.
static bool find_again(rgm_trace_parser *parser, rgm_trace_text *text, const uint8_t **at) {
    const uint8_t *end = text->end;
    bool hopeless = parser->wasted > WASTE_LIMIT + 4 * text->offset;
    *at = hopeless ? end : rgm_trace_resync(text->at, text->begin, end);
    if (*at < end) {
        text->at = *at;
        parser->lost = false;
        parser->after = 2;
        return true;
    }
    if (text->final)
        text->at = end;
    else if (end - text->at > RESYNC_CONTEXT)
        text->at = end - RESYNC_CONTEXT;
    return false;
}

rgm_parse_end RGM_PARSE_NAME(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                             rgm_status *status, rgm_error *err) {
    rgm_event *event = &parser->event;
    const uint8_t *at = text->at, *end = text->end;
    *status = RGM_OK;
    if (parser->lost && !find_again(parser, text, &at)) return RGM_PARSE_MORE;
    for (;;) {
        at = rgm_scan_space(at, end);
        text->at = at;
        if (at >= end) return RGM_PARSE_MORE;
        int64_t offset = text->offset + (at - text->begin);
        if (*at == ',') {
            if (parser->after != 1) {
                if (parser->strict) return syntax_error(text, at, status, err);
                rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
            }
            parser->after = 2;
            at++;
            continue;
        }
        if (*at == ']') {
            if (parser->after == 2) {
                if (parser->strict) return syntax_error(text, at, status, err);
                rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
            }
            text->at = at + 1;
            parser->after = 0;
            return RGM_PARSE_CLOSED;
        }
        if (at >= text->stop) return RGM_PARSE_STOP;
        if (!text->final && !text->full && end - at < AHEAD) return RGM_PARSE_MORE;
        if (parser->after == 1) {
            if (parser->strict) return syntax_error(text, at, status, err);
            rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
        }
        rgm_reading result;
        const uint8_t *from = at;
        event->offset = offset;
        if (*at == '{') {
            if (event->extra.length) rgm_bytes_reset(&event->extra);
            const uint8_t *after = parser->strict ? NULL : follow(&parser->layout, at, end, event);
            if (RGM_LIKELY(after && after <= end)) {
                at = after;
                result = RGM_READ_OK;
                if (RGM_UNLIKELY(event->too_deep | event->repairs)) note_repairs(part, event);
            } else {
                result = rgm_trace_read_slowly(parser, text, &at);
                if (result == RGM_READ_MORE && !text->full && !text->final) {
                    event->repairs = event->bad_numbers = event->duplicate_keys = event->too_deep = 0;
                    text->at = from;
                    return RGM_PARSE_MORE;
                }
                if (parser->strict && (event->repairs | event->bad_numbers | event->too_deep))
                    result = RGM_READ_BAD;
                note_repairs(part, event);
            }
            // Without memory the arguments may end in the middle, which nothing that walks over them expects.
            if (RGM_UNLIKELY(event->extra.failed)) return fail(status, rgm_error_no_memory(err));
            if (result == RGM_READ_OK) {
                part->events++;
                rgm_status emitted = rgm_trace_part_emit(part, event, err);
                if (RGM_UNLIKELY(emitted != RGM_OK)) return fail(status, emitted);
                parser->after = 1;
                continue;
            }
        } else {
            result = skip_element(text, &at);
            if (result == RGM_READ_MORE && !text->full && !text->final) {
                text->at = from;
                return RGM_PARSE_MORE;
            }
            if (result == RGM_READ_OK) {
                part->events++;
                rgm_trace_part_note(part, RGM_ANOMALY_BAD_EVENT, 1, 1, offset);
                parser->after = 1;
                continue;
            }
        }
        // The element is damaged: it is counted, and reading goes on at the next one that can be told. The
        // search begins inside the element and not where reading it failed: a quote too many in a list of
        // strings turns text and brackets round, and that place may be thousands of events ahead.
        if (parser->strict) return syntax_error(text, result == RGM_READ_MORE ? end : at, status, err);
        part->events++;
        parser->wasted += (result == RGM_READ_MORE ? end : at) - from;
        text->at = from + 1;
        parser->lost = true;
        bool found = find_again(parser, text, &at);
        rgm_anomaly code = text->full && result == RGM_READ_MORE ? RGM_ANOMALY_TOO_LONG
                           : text->final && !found               ? RGM_ANOMALY_TRUNCATED
                                                                 : RGM_ANOMALY_INVALID_JSON;
        rgm_trace_part_note(part, code, 1, 1, offset);
        if (!found) return RGM_PARSE_MORE;
    }
}
