// SPDX-License-Identifier: Apache-2.0
// The parser, included once per instruction set. Each event is first tried against the learned layouts, which
// compare literals and read values; what fits none is read key by key, repaired where that is possible,
// and learned from.
#include "io/json/json_value.h"
#include "io/trace/trace_scan.h"
#include "io/trace/trace_slow.h"

enum { AHEAD = 4096 };

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

// A value of any kind that is as JSON demands; NULL when it is not, or the text ends before it does.
static inline const uint8_t *skip_sound(const uint8_t *at, const uint8_t *end) {
    const uint8_t *after = *at == '[' ? rgm_skip_list(at, end) : NULL;
    if (after) return after;
    if (*at != '[' && *at != '{') return rgm_skip_value(at, end);
    return rgm_json_skip(&at, end) == RGM_JSON_WHOLE ? at : NULL;
}

static inline const uint8_t *read_extra(const rgm_layout *layout, uint32_t n, const uint8_t *at,
                                        const uint8_t *end, rgm_event *event) {
    const uint8_t *after = rgm_skip_value(at, end);
    size_t before = event->extra.length;
    uint32_t repairs = event->repairs, too_deep = event->too_deep;
    if (!after) return NULL;
    if (*at == 'n' && after - at == 4) return NULL; // null is no value: the slow way leaves it out
    if (rgm_trace_add_extra(event, layout->keys[n], layout->key_lengths[n], at, (size_t)(after - at)))
        return after;
    if (*at != '[' && *at != '{') return after;
    event->repairs = repairs;
    event->too_deep = too_deep;
    event->extra.length = before; // where it really ends, the slow way has to tell
    return NULL;
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
    case RGM_VALUE_NOTHING: return skip_sound(at, end);
    case RGM_VALUE_JSON:
        after = skip_sound(at, end);
        if (!after) return NULL;
        value->text = at;
        value->length = (uint32_t)(after - at);
        value->traits = 0;
        return after;
    case RGM_VALUE_EXTRA: return read_extra(layout, n, at, end, event);
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

static void forget_repairs(rgm_event *event) {
    event->repairs = event->bad_numbers = event->duplicate_keys = event->too_deep = event->too_long = 0;
    event->merged = 0;
}

static void note_repairs(rgm_trace_part *part, rgm_event *event) {
    const struct {
        rgm_anomaly code;
        uint32_t count, lost;
    } found[] = {{RGM_ANOMALY_INVALID_JSON, event->repairs, event->repairs ? event->merged : 0},
                 {RGM_ANOMALY_NUMBER_RANGE, event->bad_numbers, 0},
                 {RGM_ANOMALY_DUPLICATE_KEYS, event->duplicate_keys, event->repairs ? 0 : event->merged},
                 {RGM_ANOMALY_TOO_DEEP, event->too_deep, 0},
                 {RGM_ANOMALY_TOO_LONG, event->too_long, 0}};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (found[i].count)
            rgm_trace_part_note(part, found[i].code, found[i].count, found[i].lost, event->offset);
    part->events += event->merged;
    forget_repairs(event);
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

// Elements that are no objects. A list with events in it is none: a bracket too many stands there.
static rgm_reading skip_element(const rgm_trace_text *text, bool strict, const uint8_t **at) {
    const uint8_t *from = *at, *after = rgm_skip_value(from, text->end), *limit = after ? after : text->end;
    if (*from == '[' && !strict) {
        bool found;
        const uint8_t *event = rgm_trace_resync(from + 1, limit, text->begin, text->end, text->final, &found);
        if (found) return RGM_READ_BAD;
        if (event < limit) return RGM_READ_MORE;
    }
    if (after) {
        const uint8_t *next = rgm_scan_space(after, text->end);
        if (next >= text->end && !text->final) return RGM_READ_MORE;
        if (next < text->end && *next != ',' && *next != ']') return RGM_READ_BAD; // the inside of something
        *at = after;
        return RGM_READ_OK;
    }
    return *from != '"' && *from != '[' && text->end - from > RGM_KEY_LIMIT ? RGM_READ_BAD : RGM_READ_MORE;
}

// Whether events, or the inside of one, follow a bracket that seems to end the list; UNSURE until enough text
// is there.
static rgm_event_guess goes_on_behind(const rgm_trace_text *text, const uint8_t *bracket) {
    const uint8_t *at = rgm_scan_space(bracket + 1, text->end);
    if (at < text->end && *at == '"') {
        if (!text->final && text->end - at <= RGM_KEY_LIMIT + 2) return RGM_EVENT_UNSURE;
        return rgm_trace_is_key_ahead(at + 1, text->end, text->final) ? RGM_EVENT_YES : RGM_EVENT_NO;
    }
    if (at < text->end && *at == ',') at = rgm_scan_space(at + 1, text->end);
    if (at >= text->end) return text->final ? RGM_EVENT_NO : RGM_EVENT_UNSURE;
    if (*at != '{') return RGM_EVENT_NO;
    // As if a comma stood before it: what does is the bracket.
    return rgm_trace_begins_event(at, at, text->end, text->final);
}

// After damage: looks for the next element. When the stretch holds none, its last bytes stay, as they may be
// what stands before one.
static bool find_again(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                       const uint8_t **at) {
    rgm_trace_gap *gap = &parser->gap;
    const uint8_t *end = text->end, *from = text->begin + (gap->at - text->offset);
    const uint8_t *limit = text->stop < end ? text->stop : end;
    bool found = false;
    *at = parser->hopeless ? rgm_trace_reach(from, limit, end, text->final)
                           : rgm_trace_resync(from, limit, text->begin, end, text->final, &found);
    rgm_trace_stretch_read(&gap->lost, from, *at, text->begin, end);
    gap->at = text->offset + (*at - text->begin);
    text->at = *at;
    if (found || (text->final && *at == end)) {
        rgm_trace_gap_close(gap, part,
                            found || parser->hopeless ? RGM_ANOMALY_INVALID_JSON : RGM_ANOMALY_TRUNCATED);
        parser->lost = false;
        parser->after = 2;
    } else {
        text->at = *at - text->begin > RGM_GAP_BACK ? *at - RGM_GAP_BACK : text->begin;
    }
    return found;
}

// The element at `from` is damaged: its text, and what follows up to the next event that can be told, is
// given up. The search begins inside the element and not where reading it failed: a quote too many in a list
// of strings turns text and brackets round, and that place may be thousands of events ahead.
static bool give_up(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part, const uint8_t *from,
                    int64_t cost, const uint8_t **at) {
    int64_t offset = text->offset + (from - text->begin);
    parser->wasted += cost;
    int64_t excess = parser->wasted - 4 * offset;
    if (excess > parser->excess) parser->excess = excess;
    parser->hopeless = parser->hopeless || excess > parser->waste_limit;
    parser->gap = (rgm_trace_gap){.offset = offset, .at = offset + 1, .too_long = cost >= RGM_LONGEST_EVENT};
    if (*from != '{') rgm_trace_stretch_read(&parser->gap.lost, from, from + 1, text->begin, text->end);
    parser->lost = true;
    return find_again(parser, text, part, at);
}

// An element that fits no layout. STOP when reading goes on at *at, else what parsing returns.
__attribute__((noinline)) static rgm_parse_end read_element(rgm_trace_parser *parser, rgm_trace_text *text,
                                                            rgm_trace_part *part, const uint8_t **at,
                                                            rgm_status *status, rgm_error *err) {
    rgm_event *event = &parser->event;
    const uint8_t *from = *at, *end = text->end;
    rgm_reading result =
        *from == '{' ? rgm_trace_read_slowly(parser, text, at) : skip_element(text, parser->strict, at);
    if (*from == '{') {
        if (event->extra.failed) return fail(status, rgm_error_no_memory(err));
        bool repaired = event->repairs | event->bad_numbers | event->too_deep | event->too_long;
        if (parser->strict && repaired) result = RGM_READ_BAD;
    }
    if (result == RGM_READ_OK && *at - from > RGM_LONGEST_EVENT) result = RGM_READ_MORE;
    if (result == RGM_READ_OK) {
        part->events++;
        parser->after = 1;
        if (*from != '{') {
            rgm_trace_part_note(part, RGM_ANOMALY_BAD_EVENT, 1, 1, event->offset);
            return RGM_PARSE_STOP;
        }
        note_repairs(part, event);
        rgm_status emitted = rgm_trace_part_emit(part, event, err);
        return emitted == RGM_OK ? RGM_PARSE_STOP : fail(status, emitted);
    }
    forget_repairs(event);
    bool too_long = result == RGM_READ_MORE && end - from >= RGM_LONGEST_EVENT;
    if (result == RGM_READ_MORE && !text->final && !too_long) {
        text->at = from;
        return RGM_PARSE_MORE;
    }
    if (result == RGM_READ_MORE) *at = end;
    if (parser->strict) return syntax_error(text, *at, status, err);
    int64_t cost = too_long ? RGM_LONGEST_EVENT : *at - from;
    return give_up(parser, text, part, from, cost, at) ? RGM_PARSE_STOP : RGM_PARSE_MORE;
}

rgm_parse_end RGM_PARSE_NAME(rgm_trace_parser *parser, rgm_trace_text *text, rgm_trace_part *part,
                             rgm_status *status, rgm_error *err) {
    rgm_event *event = &parser->event;
    const uint8_t *at = text->at, *end = text->end;
    const bool wide = end - at > RGM_LONGEST_EVENT; // enough for an event that is too long
    *status = RGM_OK;
    if (parser->lost && !find_again(parser, text, part, &at)) return RGM_PARSE_MORE;
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
            rgm_event_guess more = parser->strict ? RGM_EVENT_NO : goes_on_behind(text, at);
            if (more == RGM_EVENT_UNSURE) return RGM_PARSE_MORE;
            if (more == RGM_EVENT_YES) {
                rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
                at++;
                continue;
            }
            if (parser->after == 2) {
                if (parser->strict) return syntax_error(text, at, status, err);
                rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
            }
            text->at = at + 1;
            parser->after = 0;
            return RGM_PARSE_CLOSED;
        }
        if (at >= text->stop) return RGM_PARSE_STOP;
        if (!text->final && end - at < AHEAD) return RGM_PARSE_MORE;
        if (parser->after == 1) {
            if (parser->strict) return syntax_error(text, at, status, err);
            rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
            parser->after = 2; // so that it is counted once, however often the element is read
        }
        event->offset = offset;
        if (*at == '{' && !parser->strict) {
            if (event->extra.length) rgm_bytes_reset(&event->extra);
            const uint8_t *after = follow(&parser->layout, at, end, event);
            if (RGM_LIKELY(after && after <= end && !(wide && after - at > RGM_LONGEST_EVENT))) {
                if (RGM_UNLIKELY(event->too_long | event->repairs)) note_repairs(part, event);
                // Without memory the arguments may end in the middle, which nothing that walks over them
                // expects.
                if (RGM_UNLIKELY(event->extra.failed)) return fail(status, rgm_error_no_memory(err));
                at = after;
                part->events++;
                rgm_status emitted = rgm_trace_part_emit(part, event, err);
                if (RGM_UNLIKELY(emitted != RGM_OK)) return fail(status, emitted);
                parser->after = 1;
                continue;
            }
        }
        rgm_parse_end stopped = read_element(parser, text, part, &at, status, err);
        if (stopped != RGM_PARSE_STOP) return stopped;
    }
}
