// SPDX-License-Identifier: Apache-2.0
// Mutations that know what a trace looks like: events are deleted, doubled, swapped and spliced, texts are
// cut, numbers become nasty ones, strings and keys lose a quote or a bit. Random bytes alone would break the
// JSON long before they reach a number.
#ifndef RGM_FUZZ_JSON_MUTATOR_H
#define RGM_FUZZ_JSON_MUTATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../core/random.h"

enum { MUTATOR_MAX_PIECES = 512 };

typedef struct {
    size_t begin, end;
} piece;

typedef struct {
    piece at[MUTATOR_MAX_PIECES];
    size_t count;
} pieces;

typedef enum { PIECE_EVENT, PIECE_NUMBER, PIECE_STRING } piece_kind;

static uint32_t mutator_random(uint64_t *state) { return (uint32_t)(random_step(state) >> 33); }

static size_t mutator_below(uint64_t *state, size_t limit) {
    return limit ? mutator_random(state) % limit : 0;
}

static size_t skip_string(const uint8_t *data, size_t size, size_t at) {
    for (at++; at < size && data[at] != '"'; at++)
        if (data[at] == '\\') at++;
    return at < size ? at + 1 : size;
}

static void add_piece(pieces *found, size_t begin, size_t end, uint64_t *state) {
    size_t place =
        found->count < MUTATOR_MAX_PIECES ? found->count++ : mutator_below(state, MUTATOR_MAX_PIECES);
    found->at[place] = (piece){begin, end};
}

// Objects directly in an array are taken for events; numbers and strings count anywhere.
static void find_pieces(const uint8_t *data, size_t size, piece_kind kind, pieces *found, uint64_t *state) {
    enum { DEPTH = 64 };
    uint8_t open[DEPTH] = {0};
    size_t begin[DEPTH] = {0}, depth = 0;
    found->count = 0;
    for (size_t i = 0; i < size;) {
        uint8_t c = data[i];
        if (c == '"') {
            size_t end = skip_string(data, size, i);
            if (kind == PIECE_STRING) add_piece(found, i, end, state);
            i = end;
            continue;
        }
        if (kind == PIECE_NUMBER && (c == '-' || (c >= '0' && c <= '9'))) {
            size_t end = i;
            while (end < size && strchr("+-.eE0123456789", data[end]) && data[end]) end++;
            add_piece(found, i, end, state);
            i = end;
            continue;
        }
        if ((c == '{' || c == '[') && depth < DEPTH) {
            open[depth] = c;
            begin[depth++] = i;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
            if (kind == PIECE_EVENT && c == '}' && depth && open[depth - 1] == '[')
                add_piece(found, begin[depth], i + 1, state);
        }
        i++;
    }
}

// Replaces [at, at + remove) by the text, if the result fits.
static size_t replace(uint8_t *data, size_t size, size_t room, size_t at, size_t remove, const void *text,
                      size_t length) {
    if (size - remove + length > room) return size;
    memmove(data + at + length, data + at + remove, size - at - remove);
    if (length) memcpy(data + at, text, length);
    return size - remove + length;
}

static const char *const mutator_values[] = {
    "0",
    "-1",
    ".5",
    "0.05",
    "1.0005",
    "-0",
    "1e3",
    "1E+400",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "1710720000000000.5",
    "1712345678901234.56",
    "99999999999999999999999999",
    "0000001",
    "1.",
    "--1",
    "NaN",
    "-Infinity",
    "inf",
    "N/A",
    "null",
    "true",
    "\"7\"",
    "\"stream 7\"",
    "[]",
    "{}",
    "[[[[[[[[[[[[[[[[[[[[",
    "4611686018427387904",
    "604800000001",
    "\"1\",\"ts\":2",
};
static const char *const mutator_bytes[] = {
    "\"",
    "\\",
    "\n",
    "\\u0000",
    "\\ud800",
    "\\ud83d\\ude00",
    "\xff",
    "\xc3",
    "\xe2\x82\xac",
    "\x01",
    "\\x",
    "{",
    "}",
    "]",
    ",",
    ":",
    "\": \"",
    "\xef\xbb\xbf",
    "\r\n",
    "C:\\Users\\n",
    "ProfilerStep#3",
    "nccl",
    "",
    "\\",
};
static const char *const mutator_keys[] = {
    "\"ph\"",
    "\"cat\"",
    "\"name\"",
    "\"pid\"",
    "\"tid\"",
    "\"ts\"",
    "\"dur\"",
    "\"args\"",
    "\"id\"",
    "\"bp\"",
    "\"s\"",
    "\"correlation\"",
    "\"External id\"",
    "\"traceEvents\"",
    "\"baseTimeNanoseconds\"",
    "\"X\"",
    "\"B\"",
    "\"E\"",
    "\"b\"",
    "\"e\"",
    "\"C\"",
    "\"M\"",
    "\"i\"",
    "\"s\"",
    "\"f\"",
    "\"kernel\"",
    "\"cuda_runtime\"",
    "\"cpu_op\"",
    "\"\"",
    "\"grid\"",
    "\"stream\"",
    "\"Bytes\"",
    "\"process_name\"",
    "\"distributedInfo\"",
    "\"Collective name\"",
};
#define PICK(list, state) (list)[mutator_below((state), sizeof(list) / sizeof *(list))]

static size_t put(uint8_t *data, size_t size, size_t room, piece where, const char *text) {
    return replace(data, size, room, where.begin, where.end - where.begin, text, strlen(text));
}

// Writes a copy of data[from] before position `at`, with a comma.
static size_t copy_event(uint8_t *data, size_t size, size_t room, const uint8_t *event, size_t length,
                         size_t at) {
    uint8_t *text = malloc(length + 1);
    if (!text) return size;
    memcpy(text, event, length);
    text[length] = ',';
    size = replace(data, size, room, at, 0, text, length + 1);
    free(text);
    return size;
}

// Exchanges two events of which `a` comes first.
static size_t swap_events(uint8_t *data, size_t size, piece a, piece b) {
    size_t first = a.end - a.begin, between = b.begin - a.end, second = b.end - b.begin;
    uint8_t *text = malloc(first + between + second);
    if (!text) return size;
    memcpy(text, data + b.begin, second);
    memcpy(text + second, data + a.end, between);
    memcpy(text + second + between, data + a.begin, first);
    memcpy(data + a.begin, text, first + between + second);
    free(text);
    return size;
}

static size_t mutate_event(uint8_t *data, size_t size, size_t room, uint64_t *state) {
    pieces found;
    find_pieces(data, size, PIECE_EVENT, &found, state);
    if (!found.count) return size;
    piece a = found.at[mutator_below(state, found.count)], b = found.at[mutator_below(state, found.count)];
    switch (mutator_below(state, 4)) {
    case 0: // delete, with or without what follows
        return replace(data, size, room, a.begin, a.end - a.begin + (a.end < size && data[a.end] == ','), "",
                       0);
    case 1: return copy_event(data, size, room, data + a.begin, a.end - a.begin, b.begin);
    case 2: return a.end <= b.begin ? swap_events(data, size, a, b) : size;
    default: // damage inside one event only
        return replace(data, size, room, a.begin + mutator_below(state, a.end - a.begin), 1, "", 0);
    }
}

static size_t mutate_token(uint8_t *data, size_t size, size_t room, uint64_t *state, piece_kind kind) {
    pieces found;
    find_pieces(data, size, kind, &found, state);
    if (!found.count) return size;
    piece where = found.at[mutator_below(state, found.count)];
    size_t inside = where.begin + mutator_below(state, where.end - where.begin);
    switch (mutator_below(state, 4)) {
    case 0: data[inside] ^= (uint8_t)(1u << mutator_below(state, 8)); return size;
    case 1: return put(data, size, room, (piece){inside, inside}, PICK(mutator_bytes, state));
    case 2:
        return put(data, size, room, where,
                   kind == PIECE_STRING ? PICK(mutator_keys, state) : PICK(mutator_values, state));
    default: { // one token takes the place of another
        piece other = found.at[mutator_below(state, found.count)];
        char text[64];
        size_t length = other.end - other.begin;
        if (length >= sizeof text) return size;
        memcpy(text, data + other.begin, length);
        text[length] = 0;
        return put(data, size, room, where, text);
    }
    }
}

static size_t mutate_trace(uint8_t *data, size_t size, size_t room, uint64_t *state) {
    switch (mutator_below(state, 8)) {
    case 0:
    case 1: return mutate_event(data, size, room, state);
    case 2:
    case 3:
    case 4: return mutate_token(data, size, room, state, PIECE_NUMBER);
    case 5:
    case 6: return mutate_token(data, size, room, state, PIECE_STRING);
    default: // cut off the end, or a piece of the middle
        if (size < 2) return size;
        size_t at = 1 + mutator_below(state, size - 1);
        size_t left = size - at, length = mutator_below(state, 2) ? left : mutator_below(state, left + 1);
        return replace(data, size, room, at, length, "", 0);
    }
}

// An event of `other` goes into `data`.
static size_t splice_traces(uint8_t *data, size_t size, size_t room, const uint8_t *other, size_t other_size,
                            uint64_t *state) {
    pieces here, there;
    find_pieces(data, size, PIECE_EVENT, &here, state);
    find_pieces(other, other_size, PIECE_EVENT, &there, state);
    for (size_t n = 1 + mutator_below(state, 4); n && here.count && there.count; n--) {
        piece from = there.at[mutator_below(state, there.count)];
        // Later insertions use places found before: these may then lie inside another event, which is
        // welcome.
        size = copy_event(data, size, room, other + from.begin, from.end - from.begin,
                          here.at[mutator_below(state, here.count)].begin);
    }
    return size;
}

#endif
