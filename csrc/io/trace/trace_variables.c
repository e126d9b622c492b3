// SPDX-License-Identifier: Apache-2.0
// Some writers put the whole environment of their process into the head of a trace, tokens and passwords
// among it. Of those members the variables that a run keeps stay (model/variables.h), and no others.
#include <string.h>

#include "base/tokens.h"
#include "io/json/json_value.h"
#include "io/trace/trace_finish.h"
#include "model/variables.h"

static bool is_one_of(const uint8_t *text, size_t length, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) return true;
    return false;
}

static bool holds_variables(const uint8_t *key, size_t length) {
    static const char *const keys[] = {"env", "environ", "env_vars", "environment_variables"};
    return is_one_of(key, length, keys, sizeof keys / sizeof *keys);
}

static bool is_kept(const uint8_t *name, size_t length) {
#define TOKEN(name_, token) token,
    static const char *const kept[] = {RGM_ENVIRONMENT_VARIABLES(TOKEN)};
#undef TOKEN
    return is_one_of(name, length, kept, sizeof kept / sizeof *kept);
}

// Behind the string that begins here.
static const uint8_t *after_string(const uint8_t *at, const uint8_t *end) {
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end) at++;
    return at < end ? at + 1 : end;
}

// Moves the members that are kept to `to`, which is not behind them; returns where they end.
static uint8_t *keep_members(const uint8_t *object, size_t length, uint8_t *to) {
    rgm_json_members walk = rgm_json_members_in(object, length);
    bool first = true;
    *to++ = '{';
    while (rgm_json_next(&walk)) {
        if (!is_kept(walk.key, walk.key_length)) continue;
        size_t size = (size_t)(walk.end - (walk.key - 1));
        if (!first) *to++ = ',';
        memmove(to, walk.key - 1, size);
        to += size;
        first = false;
    }
    *to++ = '}';
    return to;
}

void rgm_trace_drop_variables(rgm_bytes *text, size_t from) {
    const uint8_t *at = text->data + from, *end = text->data + text->length;
    uint8_t *to = text->data + from;
    while (at < end) {
        const uint8_t *next = *at == '"' ? after_string(at, end) : at + 1;
        size_t size = (size_t)(next - at);
        bool drops = size > 2 && end - next > 1 && next[0] == ':' && next[1] == '{' &&
                     holds_variables(at + 1, size - 2);
        memmove(to, at, size);
        to += size;
        at = next;
        if (!drops) continue;
        const uint8_t *object = ++at;
        *to++ = ':';
        if (rgm_json_skip(&at, end) != RGM_JSON_WHOLE) at = end; // not in text that was compacted
        to = keep_members(object, (size_t)(at - object), to);
    }
    text->length = (size_t)(to - text->data);
}
