// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

static int is_tail(unsigned char byte) { return (byte & 0xC0u) == 0x80u; }

size_t rgm_utf8_length(const unsigned char *at, const unsigned char *end) {
    size_t left = (size_t)(end - at);
    if (!left) return 0;
    unsigned char first = at[0];
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4 || left < 2 || !is_tail(at[1])) return 0;
    if (first < 0xE0) return 2;
    if (left < 3 || !is_tail(at[2])) return 0;
    if (first < 0xF0) {
        // E0 below A0 would be an overlong form, ED from A0 on a surrogate.
        if ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] >= 0xA0)) return 0;
        return 3;
    }
    if (left < 4 || !is_tail(at[3])) return 0;
    return (first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] >= 0x90) ? 0 : 4;
}

bool rgm_utf8_valid(const unsigned char *text, size_t length) {
    for (size_t at = 0, step; at < length; at += step)
        if (!(step = rgm_utf8_length(text + at, text + length))) return false;
    return true;
}
