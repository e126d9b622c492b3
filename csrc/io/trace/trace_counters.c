// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "io/json/json_text.h"
#include "io/json/json_value.h"
#include "io/trace/trace_rows.h"

static rgm_status add_counter(rgm_trace_part *part, const rgm_event *event, int64_t span, const char *series,
                              size_t length, double value, rgm_error *err) {
    size_t row = 0;
    uint32_t id = 0;
    RGM_TRY(rgm_strings_intern(&part->run->strings, series, length, &id, err));
    RGM_PART_ROOM(counters, RGM_ALL_COLUMNS, row);
    rgm_counters *out = &part->run->counters;
    out->time_ns[row] = event->value[RGM_FIELD_TS].number;
    out->series[row] = id;
    out->value[row] = value;
    out->device[row] = -1;
    out->span[row] = span;
    part->run->counters.rows++;
    return RGM_OK;
}

static rgm_json_members walk_extra(const rgm_event *event) {
    return rgm_json_members_of(event->extra.data, event->extra.length);
}

static bool number_of(const uint8_t *text, size_t length, double *value) {
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy || *text == '"') return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    *value = rgm_strtod(copy, &end);
    return *end == 0;
}

rgm_status rgm_part_counters(rgm_trace_part *part, const rgm_event *event, int64_t span, const char *prefix,
                             size_t prefix_length, rgm_error *err) {
    rgm_json_members walk = walk_extra(event);
    RGM_RELEASED(rgm_bytes_release) rgm_bytes name = {0};
    while (rgm_json_next(&walk)) {
        double value;
        if (!number_of(walk.value, (size_t)(walk.end - walk.value), &value)) continue;
        rgm_bytes_reset(&name);
        rgm_bytes_append(&name, prefix, prefix_length);
        if (prefix_length && walk.key_length) rgm_bytes_append(&name, "/", 1);
        rgm_json_unescape(&name, walk.key, walk.key_length);
        if (name.failed) return rgm_error_no_memory(err);
        RGM_TRY(add_counter(part, event, span, name.length ? (const char *)name.data : "", name.length, value,
                            err));
    }
    return RGM_OK;
}

// Counters whose key is also that of an argument with a place of its own ("bytes", "device").
static rgm_status add_known_counters(rgm_trace_part *part, const rgm_event *event, rgm_string name,
                                     rgm_error *err) {
    static const struct {
        rgm_field field;
        const char *key;
    } known[] = {{RGM_FIELD_BYTES, "bytes"},
                 {RGM_FIELD_MEMORY_BYTES, "Bytes"},
                 {RGM_FIELD_DEVICE, "device"},
                 {RGM_FIELD_STREAM, "stream"}};
    char series[512];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!rgm_event_has(event, known[i].field)) continue;
        int length = snprintf(series, sizeof series, "%.*s/%s", (int)(name.length < 400 ? name.length : 400),
                              name.data, known[i].key);
        RGM_TRY(add_counter(part, event, -1, series, (size_t)length,
                            (double)event->value[known[i].field].number, err));
    }
    return RGM_OK;
}

static int16_t counter_device(rgm_trace_part *part, const rgm_event *event) {
    // "GPU 3 Counters" is the process of PM sampling.
    if (!(event->texts >> RGM_FIELD_PID & 1)) return -1;
    const rgm_event_value *pid = &event->value[RGM_FIELD_PID];
    (void)part;
    if (pid->length < 5 || memcmp(pid->text, "GPU ", 4) != 0) return -1;
    int device = 0;
    size_t at = 4;
    for (; at < pid->length && at < 8 && pid->text[at] >= '0' && pid->text[at] <= '9'; at++)
        device = device * 10 + (pid->text[at] - '0');
    return at > 4 ? (int16_t)device : -1;
}

rgm_status rgm_part_counter_event(rgm_trace_part *part, const rgm_event *event, rgm_error *err) {
    uint32_t name;
    size_t first = part->run->counters.rows;
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_NAME, &name, err));
    rgm_string text = rgm_strings_view(&part->run->strings, name);
    RGM_TRY(rgm_part_counters(part, event, -1, text.data, text.length, err));
    RGM_TRY(add_known_counters(part, event, text, err));
    int16_t device = counter_device(part, event);
    for (size_t i = first; i < part->run->counters.rows; i++) part->run->counters.device[i] = device;
    return RGM_OK;
}

rgm_status rgm_part_metadata_event(rgm_trace_part *part, const rgm_event *event, rgm_error *err) {
    rgm_trace_mark mark;
    RGM_TRY(rgm_part_place(part, event, RGM_FIELD_PID, &mark.process, err));
    RGM_TRY(rgm_part_place(part, event, RGM_FIELD_TID, &mark.thread, err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_NAME, &mark.key, err));
    rgm_json_members walk = walk_extra(event);
    while (rgm_json_next(&walk)) {
        if (*walk.value != '"') continue; // sort indexes
        rgm_bytes_reset(&part->scratch);
        rgm_json_unescape(&part->scratch, walk.value + 1, (size_t)(walk.end - walk.value) - 2);
        if (part->scratch.failed) return rgm_error_no_memory(err);
        const char *text = part->scratch.length ? (const char *)part->scratch.data : "";
        RGM_TRY(rgm_strings_intern(&part->run->strings, text, part->scratch.length, &mark.text, err));
        RGM_PART_GROW(part->marks, part->n_marks, part->marks_capacity);
        part->marks[part->n_marks++] = mark;
    }
    return RGM_OK;
}
