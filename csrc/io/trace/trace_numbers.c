// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

bool rgm_trace_int_of_text(const uint8_t *text, size_t length, int64_t *number) {
    char copy[32];
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    char *end;
    bool hex = length > 2 && copy[0] == '0' && (copy[1] | 0x20) == 'x';
    if (!hex && (copy[0] < '0' || copy[0] > '9') && copy[0] != '-') return false;
    *number = hex ? (int64_t)strtoull(copy, &end, 16) : strtoll(copy, &end, 10);
    return *end == 0;
}

bool rgm_trace_decimal(const uint8_t *at, size_t length, int power, int64_t *out) {
    const uint8_t *end = at + length;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    uint64_t value = 0;
    int exponent = 0, digits = 0, dropped = 0;
    bool point = false;
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        digits++;
        if (value > (UINT64_MAX - 9) / 10) {
            dropped += !point;
            continue;
        }
        value = value * 10 + (uint64_t)(*at - '0');
        exponent -= point;
    }
    if (digits == 0) return false;
    if (at < end && (*at | 0x20) == 'e') {
        char *stop;
        char copy[16] = {0};
        if (end - at - 1 >= (ptrdiff_t)sizeof copy || end - at < 2) return false;
        memcpy(copy, at + 1, (size_t)(end - at - 1));
        long given = strtol(copy, &stop, 10);
        if (*stop || given > 400 || given < -400) return false;
        exponent += (int)given;
        at = end;
    }
    if (at != end) return false;
    exponent += power + dropped;
    for (; exponent < 0 && value; exponent++) value /= 10;
    for (; exponent > 0 && value; exponent--)
        if (__builtin_mul_overflow(value, 10, &value)) return false;
    if (value > INT64_MAX) return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool rgm_trace_real(const uint8_t *at, size_t length, double *out) {
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy) return false;
    memcpy(copy, at, length);
    copy[length] = 0;
    *out = rgm_strtod(copy, &end); // takes inf, Infinity and NaN too
    return *end == 0;
}
