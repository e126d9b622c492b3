// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_parse.h"

#include <string.h>

#include "base/hash.h"

static void add_key(rgm_trace_parser *parser, const char *text, size_t length, rgm_value_kind how, int field,
                    bool arguments) {
    size_t slot = rgm_hash_bytes(text, length) + arguments;
    while (parser->keys[slot % RGM_KEY_SLOTS].text) slot++;
    parser->keys[slot % RGM_KEY_SLOTS] = (rgm_trace_key){.text = text,
                                                         .length = (uint8_t)length,
                                                         .how = (uint8_t)how,
                                                         .field = (uint8_t)field,
                                                         .arguments = arguments};
}

// `keys` are separated by |.
static void add_keys(rgm_trace_parser *parser, const char *keys, rgm_value_kind how, int field,
                     bool arguments) {
    while (*keys) {
        size_t length = strcspn(keys, "|");
        add_key(parser, keys, length, how, field, arguments);
        keys += length + (keys[length] == '|');
    }
}

static void add_all_keys(rgm_trace_parser *parser) {
#define EVENT_KEY(name, how, keys) add_keys(parser, keys, RGM_VALUE_##how, RGM_FIELD_##name, false);
    RGM_EVENT_FIELDS(EVENT_KEY)
#define ARGUMENT_KEY(name, how, keys) add_keys(parser, keys, RGM_VALUE_##how, RGM_FIELD_##name, true);
    RGM_ARGUMENT_FIELDS(ARGUMENT_KEY)
#define EVENT_NOTHING(keys, reason) add_keys(parser, keys, RGM_VALUE_NOTHING, 0, false);
    RGM_EVENT_KEYS_NOT_KEPT(EVENT_NOTHING)
#define ARGUMENT_NOTHING(keys, reason) add_keys(parser, keys, RGM_VALUE_NOTHING, 0, true);
    RGM_ARGUMENTS_NOT_KEPT(ARGUMENT_NOTHING)
}

static bool has_vectors(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

rgm_status rgm_trace_parser_init(rgm_trace_parser *parser, rgm_scan_choice scan, bool strict, int64_t waste,
                                 rgm_error *err) {
    memset(&parser->event, 0, sizeof parser->event);
    memset(parser->keys, 0, sizeof parser->keys);
    parser->scratch = parser->keys_seen = (rgm_bytes){0};
    parser->strict = strict;
    parser->after = 0;
    parser->wasted = 0;
    parser->excess = INT64_MIN;
    parser->waste_limit = waste > 0 ? waste : RGM_WASTE_LIMIT;
    parser->lost = parser->hopeless = false;
    bool vectors = has_vectors();
    if (scan == RGM_SCAN_VECTOR && !vectors)
        return rgm_error_set(err, RGM_UNAVAILABLE, "this processor has no AVX2");
    parser->parse = vectors && scan != RGM_SCAN_PORTABLE ? rgm_trace_parse_avx2 : rgm_trace_parse_portable;
    add_all_keys(parser);
    return rgm_layout_init(&parser->layout, err);
}

void rgm_trace_parser_release(rgm_trace_parser *parser) {
    rgm_layout_release(&parser->layout);
    rgm_bytes_release(&parser->event.extra);
    rgm_bytes_release(&parser->scratch);
    rgm_bytes_release(&parser->keys_seen);
}
