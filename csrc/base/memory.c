// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(uint64_t) calls;

#ifdef RGM_FAULTS
static _Atomic(int64_t) fail_after = -1;
static _Atomic(int64_t) live;

void rgm_memory_fail_after(int64_t after) { atomic_store(&fail_after, after); }
int64_t rgm_memory_live(void) { return atomic_load(&live); }

static bool fault(void) {
    if (atomic_load(&fail_after) < 0) return false;
    return atomic_fetch_sub(&fail_after, 1) == 0;
}

static void *born(void *block) {
    if (block) atomic_fetch_add(&live, 1);
    return block;
}
static void died(void) { atomic_fetch_sub(&live, 1); }
#else
static bool fault(void) { return false; }
static void *born(void *block) { return block; }
static void died(void) {}
#endif

static bool refuse(void) {
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return fault();
}

uint64_t rgm_memory_calls(void) { return atomic_load_explicit(&calls, memory_order_relaxed); }

void *rgm_malloc(size_t bytes) { return refuse() ? NULL : born(malloc(bytes ? bytes : 1)); }

void *rgm_calloc(size_t count, size_t bytes) {
    return refuse() ? NULL : born(calloc(count ? count : 1, bytes ? bytes : 1));
}

void *rgm_realloc(void *old, size_t bytes) {
    if (!old) return rgm_malloc(bytes);
    return refuse() ? NULL : realloc(old, bytes ? bytes : 1);
}

void rgm_free(void *block) {
    if (!block) return;
    died();
    free(block);
}

char *rgm_strdup(const char *text, size_t length) {
    char *copy = rgm_malloc(length + 1);
    if (!copy) return NULL;
    if (length) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
