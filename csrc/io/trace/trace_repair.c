// SPDX-License-Identifier: Apache-2.0
// Where values end whose text is damaged.
#include "io/json/json_value.h"
#include "io/trace/trace_scan.h"
#include "io/trace/trace_slow.h"

rgm_event_guess rgm_trace_event_between(rgm_trace_parser *parser, const rgm_trace_text *text,
                                        const uint8_t *from, const uint8_t *to) {
    // The values of an event are asked for one after the other: each stretch of text is searched once.
    if (!parser->searched || from < parser->searched || from > parser->next_event) {
        parser->searched = from;
        parser->next_event =
            rgm_trace_resync(from, text->end, text->begin, text->end, text->final, &parser->next_event_found);
    }
    if (parser->next_event >= to) return RGM_EVENT_NO;
    return parser->next_event_found ? RGM_EVENT_YES : RGM_EVENT_UNSURE;
}

bool rgm_trace_is_key_ahead(const uint8_t *at, const uint8_t *end, bool final) {
    const uint8_t *limit = end - at > RGM_KEY_LIMIT ? at + RGM_KEY_LIMIT : end;
    while (at < limit && *at != '"' && *at != '\n') at++;
    if (at >= limit) return at >= end && !final;
    if (*at != '"') return false;
    at = rgm_scan_space(at + 1, end);
    return at < end ? *at == ':' : !final;
}

// Whether a quote can be the end of a value: it is followed by a bracket, or by another key, with or without
// a comma between. Where the text ends it is taken for one, because then more text will be asked for.
static bool ends_value(const uint8_t *quote, const uint8_t *end, bool final) {
    const uint8_t *at = rgm_scan_space(quote + 1, end);
    if (at >= end) return true;
    if (*at == '}' || *at == ']') return true;
    if (*at == '"') return rgm_trace_is_key_ahead(at + 1, end, final);
    if (*at != ',') return false;
    at = rgm_scan_space(at + 1, end);
    return at >= end || *at != '"' || rgm_trace_is_key_ahead(at + 1, end, final);
}

rgm_reading rgm_trace_find_quote(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t *from,
                                 const uint8_t **quote, uint32_t *traits) {
    const uint8_t *at = from, *escaped = NULL;
    for (bool doubtful = false;;) {
        at = rgm_scan_string(at);
        *quote = at;
        if (at >= text->end) return RGM_READ_MORE;
        if (*at == '\\') {
            *traits |= RGM_TEXT_ESCAPED;
            if (!escaped && at + 1 < text->end && at[1] == '"' && ends_value(at + 1, text->end, text->final))
                escaped = at + 1;
            at += 2;
            continue;
        }
        if (*at != '"') {
            *traits |= *at >= 0x80 ? RGM_TEXT_HIGH : RGM_TEXT_CONTROL;
            at++;
            continue;
        }
        bool ends = ends_value(at, text->end, text->final);
        if (!ends) {
            if (parser->strict) return RGM_READ_BAD;
            parser->event.repairs++;
            parser->learnable = false;
            doubtful = true;
            if (escaped) {
                *quote = escaped;
                return RGM_READ_OK;
            }
        }
        if (doubtful) {
            rgm_event_guess passed = rgm_trace_event_between(parser, text, from, at);
            if (passed != RGM_EVENT_NO) return passed == RGM_EVENT_YES ? RGM_READ_BAD : RGM_READ_MORE;
        }
        if (ends) return RGM_READ_OK;
        at++;
    }
}

rgm_reading rgm_trace_find_bracket(rgm_trace_parser *parser, const rgm_trace_text *text, const uint8_t *from,
                                   const uint8_t **after) {
    *after = from;
    rgm_json_skipped skipped = rgm_json_skip(after, text->end);
    if (skipped == RGM_JSON_WHOLE) return RGM_READ_OK;
    if (skipped == RGM_JSON_CUT) return RGM_READ_MORE;
    if (parser->strict) return RGM_READ_BAD;
    // Not JSON: brackets are counted, whatever stands between them, but not those of another event.
    rgm_event_guess passed = rgm_trace_event_between(parser, text, from + 1, text->end);
    const uint8_t *end = rgm_skip_value(from, passed == RGM_EVENT_NO ? text->end : parser->next_event);
    if (end) {
        *after = end;
        return RGM_READ_OK;
    }
    return passed == RGM_EVENT_YES ? RGM_READ_BAD : RGM_READ_MORE;
}
