// SPDX-License-Identifier: Apache-2.0
// One event of a trace while it is read: values by field, texts as pieces of the input.
#ifndef RGM_IO_TRACE_EVENT_H
#define RGM_IO_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "io/trace/trace_fields.h"
#include "model/schema.h"

// What a piece of text needs before it can be a name.
enum {
    RGM_TEXT_ESCAPED = 1, // has a backslash
    RGM_TEXT_HIGH = 2,    // has bytes above 127: UTF-8 to be checked
    RGM_TEXT_CONTROL = 4, // has control characters
};

typedef struct {
    union {
        int64_t number;
        double real;
        const uint8_t *text;
    };
    uint32_t length; // of a text
    uint32_t traits; // of a text
} rgm_event_value;

#define RGM_FIELD_BIT(field) (UINT64_C(1) << RGM_FIELD_##field)

typedef struct {
    uint64_t present; // fields that hold a value
    uint64_t texts;   // of these, places that are texts
    rgm_event_value value[RGM_FIELD_COUNT];
    int32_t grid[3], block[3];
    rgm_bytes extra; // members of a JSON object without its braces: keys that have no place
    char phase;      // 0 when missing
    uint8_t kind;    // rgm_kind by category
    uint8_t flow;    // rgm_flow_kind by category
    bool other;      // the category is none of the known ones
    const uint8_t *category;
    uint32_t category_length;
    int64_t offset; // of the event in the input
    // What was repaired while reading.
    uint32_t repairs, bad_numbers, duplicate_keys, too_deep, too_long;
    uint32_t merged; // events that ran together with this one, so that they are lost
} rgm_event;

static inline bool rgm_event_has(const rgm_event *event, rgm_field field) {
    return event->present >> field & 1;
}
static inline int64_t rgm_event_number(const rgm_event *event, rgm_field field, int64_t missing) {
    return rgm_event_has(event, field) ? event->value[field].number : missing;
}
static inline double rgm_event_real(const rgm_event *event, rgm_field field, double missing) {
    return rgm_event_has(event, field) ? event->value[field].real : missing;
}

#endif
