// SPDX-License-Identifier: Apache-2.0
// String interning: equal byte strings get one dense id, in order of first appearance; id 0 is "".
//
// Threads: intern takes a mutex; view and count take none and may run beside it, because bytes and
// entries never move once published. Memory is bounded by a budget: past it intern returns RGM_LIMIT. Texts
// of a kind that must not crowd out the others are interned on a budget of their own.
#ifndef RGM_BASE_STRINGS_H
#define RGM_BASE_STRINGS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

enum { RGM_STRINGS_CHUNK = 4096, RGM_STRINGS_CHUNKS = 4096 }; // at most 16.7 million strings

typedef struct {
    const char *data; // terminated by a zero byte that length does not count
    uint32_t length;
    uint32_t hash;
} rgm_string;

// By bytes, the shorter first where one begins with the other; as memcmp returns it.
static inline int rgm_string_compare(rgm_string a, rgm_string b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

typedef struct rgm_strings_slab rgm_strings_slab;

typedef struct {
    size_t bytes; // taken, with what an entry costs
    size_t max_bytes;
} rgm_text_budget;

typedef struct {
    pthread_mutex_t mutex;
    _Atomic(uint32_t) count;
    _Atomic(rgm_string *) chunks[RGM_STRINGS_CHUNKS];
    uint32_t *slots; // open addressing, id + 1, 0 is free
    uint32_t slot_mask;
    rgm_strings_slab *slabs;
    rgm_text_budget budget;
} rgm_strings;

// Zero-initialised memory is a valid argument of release, not of the other functions.
rgm_status rgm_strings_init(rgm_strings *strings, size_t max_bytes, rgm_error *err) RGM_NODISCARD;
void rgm_strings_release(rgm_strings *strings);
rgm_status rgm_strings_intern(rgm_strings *strings, const char *data, size_t length, uint32_t *id,
                              rgm_error *err) RGM_NODISCARD;
// The same on another budget, which is guarded by the table's mutex; a text that is known costs nothing.
rgm_status rgm_strings_intern_on(rgm_strings *strings, rgm_text_budget *budget, const char *data,
                                 size_t length, uint32_t *id, rgm_error *err) RGM_NODISCARD;
// The string of an id below count; "" for any other.
rgm_string rgm_strings_view(const rgm_strings *strings, uint32_t id);
uint32_t rgm_strings_count(const rgm_strings *strings);

#endif
