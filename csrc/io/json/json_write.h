// SPDX-License-Identifier: Apache-2.0
// Writes JSON (RFC 8259) to an output. Commas are placed by the writer; brackets and keys are the caller's
// duty.
//
// Bytes that are not UTF-8 become U+FFFD, control characters are escaped, integers are exact, floating-point
// numbers are the shortest of 15 to 17 digits that reads back equal, and those that JSON cannot hold are
// null.
#ifndef RGM_IO_JSON_WRITE_H
#define RGM_IO_JSON_WRITE_H

#include <stdbool.h>

#include "base/strings.h"
#include "io/output.h"

typedef struct {
    rgm_output *out;
    bool comma; // a value stands before, on the same level
} rgm_json;

static inline void rgm_json_separate(rgm_json *json) {
    if (json->comma) rgm_output_byte(json->out, ',');
    json->comma = true;
}

static inline void rgm_json_open(rgm_json *json, char bracket) {
    rgm_json_separate(json);
    rgm_output_byte(json->out, bracket);
    json->comma = false;
}

static inline void rgm_json_close(rgm_json *json, char bracket) {
    rgm_output_byte(json->out, bracket);
    json->comma = true;
}

// Text that is JSON already: one value.
static inline void rgm_json_raw(rgm_json *json, const void *data, size_t length) {
    rgm_json_separate(json);
    rgm_output_append(json->out, data, length);
}

// A key that needs no escaping. A macro, so that its length is known when compiled.
#define RGM_JSON_KEY(json, key)                                                                              \
    do {                                                                                                     \
        rgm_json_separate(json);                                                                             \
        RGM_OUTPUT_LITERAL((json)->out, "\"" key "\":");                                                     \
        (json)->comma = false;                                                                               \
    } while (0)

void rgm_json_text(rgm_json *json, const void *data, size_t length);
void rgm_json_string(rgm_json *json, rgm_string text);
void rgm_json_i64(rgm_json *json, int64_t value);
void rgm_json_u64(rgm_json *json, uint64_t value);
void rgm_json_f64(rgm_json *json, double value);
// Nanoseconds as microseconds with three decimals; no floating-point number is involved.
void rgm_json_us(rgm_json *json, int64_t ns);

// The parts that other text formats use: the escaped inside of a string, and digits; none places a comma.
void rgm_write_escaped(rgm_output *out, const void *data, size_t length);
void rgm_write_i64(rgm_output *out, int64_t value);
void rgm_write_f64(rgm_output *out, double value); // finite values only

#define RGM_JSON_I64(json, key, value)                                                                       \
    do {                                                                                                     \
        RGM_JSON_KEY(json, key);                                                                             \
        rgm_json_i64(json, value);                                                                           \
    } while (0)
#define RGM_JSON_F64(json, key, value)                                                                       \
    do {                                                                                                     \
        RGM_JSON_KEY(json, key);                                                                             \
        rgm_json_f64(json, value);                                                                           \
    } while (0)
#define RGM_JSON_STRING(json, key, value)                                                                    \
    do {                                                                                                     \
        RGM_JSON_KEY(json, key);                                                                             \
        rgm_json_string(json, value);                                                                        \
    } while (0)
#define RGM_JSON_LITERAL(json, key, text)                                                                    \
    do {                                                                                                     \
        RGM_JSON_KEY(json, key);                                                                             \
        rgm_json_raw(json, "\"" text "\"", sizeof(text) + 1);                                                \
    } while (0)

#endif
