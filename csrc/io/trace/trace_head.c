// SPDX-License-Identifier: Apache-2.0
// What members of the document say of the whole trace.
#include <string.h>

#include "io/json/json_value.h"
#include "io/trace/trace_finish.h"
#include "io/trace/trace_scan.h"

static bool is_key(const uint8_t *key, size_t length, const char *text) {
    return strlen(text) == length && memcmp(key, text, length) == 0;
}

int64_t rgm_trace_member_number(const uint8_t *object, size_t length, const char *key, int64_t missing) {
    if (*object != '{') return missing;
    rgm_json_members walk = rgm_json_members_in(object, length);
    while (rgm_json_next(&walk)) {
        uint8_t copy[32] = {0};
        int64_t value;
        size_t size = rgm_json_value_length(&walk);
        if (!is_key(walk.key, walk.key_length, key) || size > 18) continue;
        memcpy(copy, walk.value, size);
        return rgm_scan_int(copy, &value) == copy + size ? value : missing;
    }
    return missing;
}

void rgm_trace_head_look(rgm_trace_head *head, const uint8_t *key, size_t length, const uint8_t *value,
                         size_t size) {
    static const char *const kineto[] = {"schemaVersion", "deviceProperties", "distributedInfo",
                                         "baseTimeNanoseconds", "traceName"};
    for (size_t i = 0; i < sizeof kineto / sizeof kineto[0]; i++)
        head->is_kineto = head->is_kineto || is_key(key, length, kineto[i]);
    if (is_key(key, length, "distributedInfo")) {
        int64_t rank = rgm_trace_member_number(value, size, "rank", -1);
        head->rank = rank >= 0 && rank < INT32_MAX ? (int32_t)rank : -1;
    }
    if (is_key(key, length, "deviceProperties")) rgm_trace_devices_read(&head->devices, value, size);
    if (is_key(key, length, "baseTimeNanoseconds")) {
        uint8_t copy[32] = {0};
        uint64_t base;
        memcpy(copy, value, size < 19 ? size : 19); // as many digits as are exact
        if (size <= 19 && rgm_scan_unsigned(copy, &base) == copy + size && base < INT64_MAX / 4)
            head->base_ns = (int64_t)base;
    }
}
