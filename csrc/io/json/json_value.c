// SPDX-License-Identifier: Apache-2.0
#include "io/json/json_value.h"

#include <string.h>

#include "io/json/json_text.h"

bool rgm_json_too_deep(const uint8_t *text, size_t length) {
    size_t depth = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '[' || text[i] == '{') depth++;
        if ((text[i] == ']' || text[i] == '}') && depth) depth--;
        if (depth > RGM_JSON_DEPTH) return true;
    }
    return false;
}

// --- values -----------------------------------------------------------------------------------------------

// Reads a value from its beginning to its end, and writes it without its spaces where there is an output.
typedef struct {
    const uint8_t *at, *end;
    rgm_bytes *out; // NULL only reads
    bool strict;    // RFC 8259 to the letter: no NaN, no control characters in strings, UTF-8
} reader;

static void put(const reader *r, const void *data, size_t length) {
    if (r->out) rgm_bytes_append(r->out, data, length);
}

static bool is_space(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

static void skip_space(reader *r) {
    while (r->at < r->end && is_space(*r->at)) r->at++;
}

static bool read_string(reader *r) {
    const uint8_t *from = ++r->at;
    while (r->at < r->end && *r->at != '"') r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
    if (r->at >= r->end) return false;
    size_t length = (size_t)(r->at - from);
    if (!(r->strict ? rgm_json_string_valid(from, length) : rgm_json_escapes_valid(from, length)))
        return false;
    if (r->out) rgm_json_quote(r->out, from, length, true);
    r->at++;
    return true;
}

static bool is_number(const uint8_t *at, const uint8_t *end) {
    if (at < end && *at == '-') at++;
    if (at >= end || *at < '0' || *at > '9') return false;
    if (*at == '0' && at + 1 < end && at[1] >= '0' && at[1] <= '9') return false;
    while (at < end && *at >= '0' && *at <= '9') at++;
    if (at < end && *at == '.') {
        const uint8_t *from = ++at;
        while (at < end && *at >= '0' && *at <= '9') at++;
        if (at == from) return false;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        const uint8_t *from = at;
        while (at < end && *at >= '0' && *at <= '9') at++;
        if (at == from) return false;
    }
    return at == end;
}

static bool is_word(const uint8_t *at, size_t length, bool strict) {
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < (strict ? 3 : sizeof words / sizeof words[0]); i++)
        if (strlen(words[i]) == length && memcmp(at, words[i], length) == 0) return true;
    return false;
}

static bool read_scalar(reader *r) {
    if (r->at < r->end && *r->at == '"') return read_string(r);
    const uint8_t *from = r->at;
    while (r->at < r->end && *r->at && !strchr(" \n\r\t,:[]{}\"", *r->at)) r->at++;
    size_t length = (size_t)(r->at - from);
    if (!is_number(from, r->at) && !is_word(from, length, r->strict)) return false;
    put(r, from, length);
    return true;
}

static bool read_key(reader *r) {
    skip_space(r);
    if (r->at >= r->end || *r->at != '"' || !read_string(r)) return false;
    skip_space(r);
    if (r->at >= r->end || *r->at != ':') return false;
    r->at++;
    put(r, ":", 1);
    return true;
}

// After a value: closes what ends here and moves on to the next value. False when this is not JSON.
static bool read_after(reader *r, char *open, size_t *depth) {
    while (*depth) {
        skip_space(r);
        if (r->at >= r->end) return false;
        uint8_t byte = *r->at++;
        if (byte == ',') {
            put(r, ",", 1);
            return open[*depth - 1] == '[' || read_key(r);
        }
        if (byte != (open[*depth - 1] == '[' ? ']' : '}')) return false;
        put(r, &byte, 1);
        (*depth)--;
    }
    return true;
}

// One value, with what follows it unread.
static bool read_nested(reader *r) {
    char open[RGM_JSON_DEPTH];
    size_t depth = 0;
    do {
        skip_space(r);
        if (r->at < r->end && (*r->at == '[' || *r->at == '{')) {
            if (depth == RGM_JSON_DEPTH) return false;
            uint8_t bracket = *r->at++;
            open[depth++] = (char)bracket;
            put(r, &bracket, 1);
            skip_space(r);
            bool empty = r->at < r->end && *r->at == (bracket == '[' ? ']' : '}');
            if (!empty && bracket == '{' && !read_key(r)) return false;
            if (!empty) continue;
        } else if (!read_scalar(r)) {
            return false;
        }
        if (!read_after(r, open, &depth)) return false;
    } while (depth);
    return true;
}

static bool read_value(reader *r) {
    if (!read_nested(r)) return false;
    skip_space(r);
    return r->at == r->end;
}

rgm_json_skipped rgm_json_skip(const uint8_t **at, const uint8_t *end) {
    reader r = {.at = *at, .end = end};
    bool good = read_nested(&r);
    *at = r.at;
    return good ? RGM_JSON_WHOLE : r.at >= end ? RGM_JSON_CUT : RGM_JSON_BAD;
}

bool rgm_json_compact(rgm_bytes *out, const uint8_t *text, size_t length) {
    reader r = {.at = text, .end = text + length, .out = out};
    size_t before = out->length;
    if (read_value(&r)) return true;
    out->length = before;
    return false;
}

bool rgm_json_is(const void *text, size_t length, char bracket) {
    reader r = {.at = text, .end = (const uint8_t *)text + length, .strict = true};
    skip_space(&r);
    return r.at < r.end && *r.at == (uint8_t)bracket && read_value(&r);
}

// --- members ----------------------------------------------------------------------------------------------

rgm_json_members rgm_json_members_in(const void *object, size_t length) {
    const uint8_t *at = object, *limit = at + length;
    while (at < limit && is_space(*at)) at++;
    while (limit > at && is_space(limit[-1])) limit--;
    if (limit - at < 2) return (rgm_json_members){.at = at, .limit = at};
    return rgm_json_members_of(at + 1, (size_t)(limit - at) - 2);
}

// End of the value at `at`: the comma behind it, or the end of the text.
static const uint8_t *value_end(const uint8_t *at, const uint8_t *limit) {
    bool quoted = false;
    size_t depth = 0;
    for (; at < limit && (quoted || depth || *at != ','); at++) {
        if (quoted && *at == '\\')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '[' || *at == '{'))
            depth++;
        else if (!quoted && (*at == ']' || *at == '}'))
            depth--;
    }
    return at < limit ? at : limit;
}

bool rgm_json_next(rgm_json_members *walk) {
    while (walk->at < walk->limit && is_space(*walk->at)) walk->at++;
    if (walk->at >= walk->limit) return false;
    walk->key = ++walk->at;
    while (*walk->at != '"') walk->at += *walk->at == '\\' ? 2 : 1;
    walk->key_length = (size_t)(walk->at - walk->key);
    walk->value = walk->at + 1;
    while (*walk->value != ':') walk->value++;
    do walk->value++;
    while (is_space(*walk->value));
    const uint8_t *end = value_end(walk->value, walk->limit);
    walk->at = end + 1;
    while (is_space(end[-1])) end--;
    walk->end = end;
    return true;
}
