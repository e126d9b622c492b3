// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "io/json/json_text.h"
#include "io/json/json_value.h"
#include "io/trace/trace_rows.h"

enum { CACHED_NAME = 4096 };

// Rewrites a text that is not yet what it stands for; the result is in the part's scratch memory. False when
// something of it was noted, which each occurrence is.
static bool rewrite(rgm_trace_part *part, const rgm_event_value *value, rgm_name_form form, int64_t offset) {
    rgm_bytes_reset(&part->scratch);
    if (form == RGM_NAME_JSON) {
        if (rgm_json_compact(&part->scratch, value->text, value->length)) return true;
        bool deep = rgm_json_too_deep(value->text, value->length);
        rgm_trace_part_note(part, deep ? RGM_ANOMALY_TOO_DEEP : RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
        if (deep)
            rgm_bytes_text(&part->scratch, "null");
        else
            rgm_json_quote(&part->scratch, value->text, value->length, false);
        return false;
    }
    size_t wrong = rgm_json_unescape(&part->scratch, value->text, value->length);
    bool control = value->traits & RGM_TEXT_CONTROL;
    bool foreign = !rgm_utf8_valid(part->scratch.data, part->scratch.length);
    if (wrong) rgm_trace_part_note(part, RGM_ANOMALY_INVALID_JSON, 1, 0, offset);
    if (control) rgm_trace_part_note(part, RGM_ANOMALY_CONTROL_CHARACTERS, 1, 0, offset);
    if (foreign) rgm_trace_part_note(part, RGM_ANOMALY_INVALID_UTF8, 1, 0, offset);
    return !wrong && !control && !foreign;
}

static void remember(rgm_name_slot *slot, const rgm_event_value *value, uint64_t hash, uint32_t id) {
    uint8_t *copy = value->length <= CACHED_NAME ? rgm_realloc(slot->text, value->length + 1) : NULL;
    if (!copy) return; // only a cache
    memcpy(copy, value->text, value->length);
    *slot = (rgm_name_slot){.hash = hash, .text = copy, .length = value->length, .id = id};
}

rgm_status rgm_part_intern(rgm_trace_part *part, const rgm_event_value *value, rgm_name_form form,
                           int64_t offset, uint32_t *id, rgm_error *err) {
    uint64_t hash = rgm_hash_bytes(value->text, value->length) + form;
    rgm_name_slot *slot = &part->names[hash % RGM_NAME_CACHE];
    if (slot->text && slot->hash == hash && slot->length == value->length &&
        memcmp(slot->text, value->text, value->length) == 0) {
        *id = slot->id;
        return RGM_OK;
    }
    const uint8_t *text = value->text;
    size_t length = value->length;
    bool clean = true;
    if (form == RGM_NAME_JSON || value->traits) {
        clean = rewrite(part, value, form, offset);
        if (part->scratch.failed) return rgm_error_no_memory(err);
        text = part->scratch.data;
        length = part->scratch.length;
    }
    RGM_TRY(rgm_strings_intern(&part->run->strings, length ? (const char *)text : "", length, id, err));
    if (clean) remember(slot, value, hash, *id);
    return RGM_OK;
}

// The name in a field; 0 where it has none.
rgm_status rgm_part_name(rgm_trace_part *part, const rgm_event *event, rgm_field field, uint32_t *id,
                         rgm_error *err) {
    *id = 0;
    if (!rgm_event_has(event, field)) return RGM_OK;
    return rgm_part_intern(part, &event->value[field], RGM_NAME_PLAIN, event->offset, id, err);
}

// A list: JSON text, or a text that another writer put in its place.
rgm_status rgm_part_json(rgm_trace_part *part, const rgm_event *event, rgm_field field, uint32_t *id,
                         rgm_error *err) {
    *id = 0;
    if (!rgm_event_has(event, field)) return RGM_OK;
    return rgm_part_intern(part, &event->value[field], RGM_NAME_JSON, event->offset, id, err);
}

// --- arguments without a column ---------------------------------------------------------------------------

static const struct {
    const char *keys;
    uint8_t how;
} arguments[RGM_FIELD_COUNT] = {
#define ARGUMENT(name, how, keys) [RGM_FIELD_##name] = {keys, RGM_VALUE_##how},
    RGM_ARGUMENT_FIELDS(ARGUMENT)
#undef ARGUMENT
};

static void append_triple(rgm_bytes *out, const int32_t triple[3]) {
    char text[48];
    snprintf(text, sizeof text, "[%d,%d,%d]", triple[0], triple[1], triple[2]);
    rgm_bytes_text(out, text);
}

static void append_argument(rgm_bytes *out, const rgm_event *event, rgm_field field) {
    const rgm_event_value *value = &event->value[field];
    char text[RGM_F64_TEXT];
    if (out->length > 1) rgm_bytes_text(out, ",");
    const char *key = arguments[field].keys;
    rgm_json_quote(out, (const uint8_t *)key, strcspn(key, "|"), true);
    rgm_bytes_text(out, ":");
    switch (arguments[field].how) {
    case RGM_VALUE_TRIPLE: append_triple(out, field == RGM_FIELD_GRID ? event->grid : event->block); return;
    case RGM_VALUE_TEXT: rgm_json_quote(out, value->text, value->length, value->traits == 0); return;
    case RGM_VALUE_JSON:
        if (!rgm_json_compact(out, value->text, value->length))
            rgm_json_quote(out, value->text, value->length, false);
        return;
    case RGM_VALUE_REAL:
        if (isfinite(value->real)) rgm_f64_text(value->real, text);
        rgm_bytes_text(out, isfinite(value->real) ? text : "null");
        return;
    default: snprintf(text, sizeof text, "%" PRId64, value->number); rgm_bytes_text(out, text);
    }
}

rgm_status rgm_part_extra(rgm_trace_part *part, const rgm_event *event, uint64_t unused, uint32_t *id,
                          rgm_error *err) {
    *id = 0;
    if (event->extra.length == 0 && unused == 0) return RGM_OK;
    rgm_bytes_reset(&part->scratch);
    rgm_bytes_text(&part->scratch, "{");
    rgm_bytes_append(&part->scratch, event->extra.data, event->extra.length);
    for (; unused; unused &= unused - 1)
        append_argument(&part->scratch, event, (rgm_field)__builtin_ctzll(unused));
    rgm_bytes_text(&part->scratch, "}");
    if (part->scratch.failed || event->extra.failed) return rgm_error_no_memory(err);
    return rgm_strings_intern(&part->run->strings, (const char *)part->scratch.data, part->scratch.length, id,
                              err);
}
