// SPDX-License-Identifier: Apache-2.0
// JSON values as pieces of text: checking, removing spaces, walking over members. Never recursive, so nesting
// costs nothing but the limit that is set on it.
#ifndef RGM_IO_JSON_VALUE_H
#define RGM_IO_JSON_VALUE_H

#include <stdbool.h>

#include "base/bytes.h"

enum { RGM_JSON_DEPTH = 64 };

// Whether the text is one value that begins with the bracket, and nothing else: RFC 8259 to the letter, so
// that it may be placed into a document as it is.
bool rgm_json_is(const void *text, size_t length, char bracket);
// Appends a value without the spaces around its tokens. False, with nothing appended, when it is not JSON
// (NaN and Infinity count as numbers) or nested more than RGM_JSON_DEPTH deep.
bool rgm_json_compact(rgm_bytes *out, const uint8_t *text, size_t length);
// Moves *at behind the value there, which is the same that rgm_json_compact accepts, or to where the text
// ends, or to where it is not JSON.
typedef enum { RGM_JSON_WHOLE, RGM_JSON_CUT, RGM_JSON_BAD } rgm_json_skipped;
rgm_json_skipped rgm_json_skip(const uint8_t **at, const uint8_t *end);
// Whether brackets are nested more than RGM_JSON_DEPTH deep; those inside strings count too.
bool rgm_json_too_deep(const uint8_t *text, size_t length);

// Walks over the members of an object that rgm_json_is or rgm_json_compact has accepted. The key is what
// stands between its quotes, still escaped; a value ends at `end`.
typedef struct {
    const uint8_t *at, *limit, *key, *value, *end;
    size_t key_length;
} rgm_json_members;
rgm_json_members rgm_json_members_in(const void *object, size_t length);
// The same for an object that is given without its braces.
static inline rgm_json_members rgm_json_members_of(const uint8_t *text, size_t length) {
    return (rgm_json_members){.at = text, .limit = length ? text + length : text};
}
bool rgm_json_next(rgm_json_members *walk);
static inline size_t rgm_json_value_length(const rgm_json_members *walk) {
    return (size_t)(walk->end - walk->value);
}

#endif
