// SPDX-License-Identifier: Apache-2.0
#include "io/json/json_text.h"

#include <string.h>

#include "base/utf8.h"

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Four hexadecimal digits at `at`, -1 when there are not.
static int32_t code_unit(const uint8_t *at, const uint8_t *end) {
    int32_t unit = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static void append_utf8(rgm_bytes *out, uint32_t c) {
    uint8_t text[4];
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, c >>= 6) text[i] = (uint8_t)(0x80 | (c & 0x3F));
    text[0] = (uint8_t)(lead[length] | c);
    rgm_bytes_append(out, text, length);
}

// `at` is behind "\u"; returns where the escape ends, NULL when it is none.
static const uint8_t *append_unicode(rgm_bytes *out, const uint8_t *at, const uint8_t *end) {
    int32_t unit = code_unit(at, end);
    if (unit < 0) return NULL;
    at += 4;
    if (unit >= 0xD800 && unit < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        int32_t low = code_unit(at + 2, end);
        if (low >= 0xDC00 && low < 0xE000) {
            append_utf8(out, 0x10000u + (((uint32_t)unit - 0xD800u) << 10) + ((uint32_t)low - 0xDC00u));
            return at + 6;
        }
    }
    append_utf8(out, unit >= 0xD800 && unit < 0xE000 ? 0xFFFDu : (uint32_t)unit);
    return at;
}

size_t rgm_json_unescape(rgm_bytes *out, const uint8_t *text, size_t length) {
    size_t wrong = 0;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const uint8_t *at = text, *end = text + length;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\\', (size_t)(end - at));
        if (!stop) stop = end;
        rgm_bytes_append(out, at, (size_t)(stop - at));
        if (stop == end) break;
        const char *known = stop + 1 < end && stop[1] ? strchr(from, stop[1]) : NULL;
        const uint8_t *after = stop + 1 < end && stop[1] == 'u' ? append_unicode(out, stop + 2, end) : NULL;
        if (known) {
            rgm_bytes_append(out, &to[known - from], 1);
            after = stop + 2;
        } else if (!after) {
            rgm_bytes_append(out, "\\", 1);
            after = stop + 1;
            wrong++;
        }
        at = after;
    }
    return wrong;
}

void rgm_json_quote(rgm_bytes *out, const uint8_t *text, size_t length, bool raw) {
    static const char digits[] = "0123456789abcdef";
    rgm_bytes_append(out, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < length; i++) {
        uint8_t c = text[i];
        if (c >= ' ' && (raw || (c != '"' && c != '\\'))) continue;
        rgm_bytes_append(out, text + from, i - from);
        from = i + 1;
        if (c >= ' ') {
            char pair[2] = {'\\', (char)c};
            rgm_bytes_append(out, pair, 2);
        } else {
            char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            rgm_bytes_append(out, escape, 6);
        }
    }
    if (length) rgm_bytes_append(out, text + from, length - from);
    rgm_bytes_append(out, "\"", 1);
}

bool rgm_json_escapes_valid(const uint8_t *text, size_t length) {
    const uint8_t *end = text + length;
    for (const uint8_t *at = text; at < end; at++) {
        if (*at != '\\') continue;
        at++;
        if (at >= end || !*at || !strchr("\"\\/bfnrtu", *at) || (*at == 'u' && code_unit(at + 1, end) < 0))
            return false;
    }
    return true;
}

bool rgm_json_string_valid(const uint8_t *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ') return false;
    return rgm_json_escapes_valid(text, length) && rgm_utf8_valid(text, length);
}
