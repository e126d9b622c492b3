// SPDX-License-Identifier: Apache-2.0
#include "python/walk_text.h"

#include <string.h>

#include "base/peek.h"
#include "capture/stack_source.h"
#include "python/frames.h"

// --- names ------------------------------------------------------------------------------------------------

static size_t put_character(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c >= 0xD800 && c < 0xE000) c = 0xFFFD; // a file name that is no text
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t marks[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(marks[more] | (c >> (6 * more)));
    for (size_t i = 1; i <= more; i++) out[i] = (char)(0x80 | ((c >> (6 * (more - i))) & 0x3F));
    return more + 1;
}

bool rgm_walk_text(pid_t self, uintptr_t at, char *out, size_t *length) {
    enum { CHARACTERS = RGM_STACK_TEXT };
    char head[RGM_TEXT_HEAD], raw[CHARACTERS * 4];
    size_t from, count, width;
    if (!rgm_peek(self, (const void *)at, head, sizeof head) || !rgm_frames_text(head, &from, &count, &width))
        return false;
    if (count > CHARACTERS) count = CHARACTERS;
    if (count && !rgm_peek(self, (const void *)(at + from), raw, count * width)) return false;
    *length = 0;
    for (size_t i = 0; i < count && *length + 4 <= RGM_STACK_TEXT; i++) {
        uint32_t c = 0;
        memcpy(&c, raw + i * width, width); // little-endian
        if (c > 0x10FFFF) return false;
        *length += put_character(out + *length, c);
    }
    return true;
}

// --- lines ------------------------------------------------------------------------------------------------

typedef struct {
    const uint8_t *at, *end;
} location_reader;

static uint32_t varint(location_reader *r) {
    uint32_t value = 0;
    for (int shift = 0; r->at < r->end && shift < 30; shift += 6) {
        uint8_t byte = *r->at++;
        value |= (uint32_t)(byte & 0x3F) << shift;
        if (!(byte & 0x40)) break;
    }
    return value;
}

// Entries begin with a byte whose highest bit is set: four bits of kind, three of length less one. What
// follows tells of lines and columns, as the kind says.
int32_t rgm_line_of_unit(const uint8_t *table, size_t length, int32_t first_line, int32_t unit) {
    enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    location_reader r = {table, table + length};
    int64_t line = first_line, begin = 0;
    if (unit < 0) return first_line;
    while (r.at < r.end) {
        uint8_t first = *r.at++;
        int kind = (first >> 3) & 15;
        if (kind == NO_COLUMNS || kind == LONG) {
            uint32_t value = varint(&r);
            line += value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
        } else if (kind >= ONE_LINE && kind < NO_COLUMNS) {
            line += kind - ONE_LINE;
        }
        begin += (first & 7) + 1;
        if (unit < begin) return kind == NONE || line < 0 || line > INT32_MAX ? -1 : (int32_t)line;
        while (r.at < r.end && !(*r.at & 0x80)) r.at++;
    }
    return -1;
}
