// SPDX-License-Identifier: Apache-2.0
#include "io/json/json_write.h"

#include <math.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/utf8.h"

// Letter after the backslash, 'u' for a \u escape, 0 where the byte stands for itself; 1 is a byte that
// begins or continues a longer character and must be checked.
static const unsigned char escapes[256] = {
    ['\b'] = 'b', ['\t'] = 't',          ['\n'] = 'n',  ['\f'] = 'f',
    ['\r'] = 'r', ['"'] = '"',           ['\\'] = '\\', [0x00 ... 0x07] = 'u',
    [0x0B] = 'u', [0x0E ... 0x1F] = 'u', [0x7F] = 'u',  [0x80 ... 0xFF] = 1,
};

static void escape_byte(rgm_output *out, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15u]};
    if (escapes[byte] == 'u') {
        rgm_output_append(out, text, sizeof text);
        return;
    }
    rgm_output_byte(out, '\\');
    rgm_output_byte(out, (char)escapes[byte]);
}

void rgm_write_escaped(rgm_output *out, const void *data, size_t length) {
    const unsigned char *at = data, *end = at + length, *plain = at;
    while (at < end) {
        unsigned char escape = escapes[*at];
        size_t good = escape == 0 ? 1 : escape == 1 ? rgm_utf8_length(at, end) : 0;
        if (RGM_LIKELY(good)) {
            at += good;
            continue;
        }
        rgm_output_append(out, plain, (size_t)(at - plain));
        if (escape == 1)
            RGM_OUTPUT_LITERAL(out, "\xEF\xBF\xBD");
        else
            escape_byte(out, *at);
        plain = ++at;
    }
    rgm_output_append(out, plain, (size_t)(at - plain));
}

// Digits of a number, from the right; returns where they begin.
static char *digits_of(uint64_t value, char *end) {
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
}

void rgm_write_i64(rgm_output *out, int64_t value) {
    char text[24], *end = text + sizeof text, *at = digits_of(magnitude(value), end);
    if (value < 0) *--at = '-';
    rgm_output_append(out, at, (size_t)(end - at));
}

void rgm_write_f64(rgm_output *out, double value) {
    if (fabs(value) < 9007199254740992.0 && value == (double)(int64_t)value &&
        !(value == 0 && signbit(value))) {
        rgm_write_i64(out, (int64_t)value);
        return;
    }
    char text[RGM_F64_TEXT];
    rgm_f64_text(value, text);
    rgm_output_append(out, text, strlen(text));
}

void rgm_json_text(rgm_json *json, const void *data, size_t length) {
    rgm_json_separate(json);
    rgm_output_byte(json->out, '"');
    rgm_write_escaped(json->out, data, length);
    rgm_output_byte(json->out, '"');
}

void rgm_json_string(rgm_json *json, rgm_string text) { rgm_json_text(json, text.data, text.length); }

void rgm_json_i64(rgm_json *json, int64_t value) {
    rgm_json_separate(json);
    rgm_write_i64(json->out, value);
}

void rgm_json_u64(rgm_json *json, uint64_t value) {
    char text[24], *end = text + sizeof text, *at = digits_of(value, end);
    rgm_json_raw(json, at, (size_t)(end - at));
}

void rgm_json_f64(rgm_json *json, double value) {
    rgm_json_separate(json);
    if (isfinite(value))
        rgm_write_f64(json->out, value);
    else
        RGM_OUTPUT_LITERAL(json->out, "null");
}

void rgm_json_us(rgm_json *json, int64_t ns) {
    uint64_t value = magnitude(ns);
    unsigned rest = (unsigned)(value % 1000);
    char text[32], *end = text + sizeof text, *at = end - 4;
    at[0] = '.';
    at[1] = (char)('0' + rest / 100);
    at[2] = (char)('0' + rest / 10 % 10);
    at[3] = (char)('0' + rest % 10);
    at = digits_of(value / 1000, at);
    if (ns < 0) *--at = '-';
    rgm_json_raw(json, at, (size_t)(end - at));
}
