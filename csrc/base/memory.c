// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/spill.h"

static _Atomic(uint64_t) calls;

#ifdef RGM_FAULTS
static _Atomic(int64_t) fail_after = -1;
static _Thread_local bool fail_next;
static _Atomic(int64_t) live;

void rgm_memory_fail_after(int64_t after) { atomic_store(&fail_after, after); }
void rgm_memory_fail_next_here(void) { fail_next = true; }
int64_t rgm_memory_live(void) { return atomic_load(&live); }

static bool fault(void) {
    if (fail_next) {
        fail_next = false;
        return true;
    }
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

// What does not lie in the heap is spilled, also where it lies in memory; it never goes back to the heap.
static void *spilled_from(void *old, size_t held, size_t bytes, bool column) {
    void *fresh = rgm_spill_take(bytes, column);
    if (fresh) memcpy(fresh, old, held < bytes ? held : bytes);
    return fresh;
}

// Asks for pages of two megabytes for what takes very many small ones: a page that nobody has touched yet
// costs as much as a sort of what is on it. What is not touched costs at most one such page a block. All
// pages of a block are asked for, or those that differ could not be moved together.
static void *in_large_pages(void *block, size_t bytes) {
    const size_t least = 16 << 20, page = 4096;
    if (!block || bytes < least) return block;
    uintptr_t from = (uintptr_t)block / page * page, to = ((uintptr_t)block + bytes + page - 1) / page * page;
    (void)madvise((void *)from, to - from, MADV_HUGEPAGE); // where there are none, nothing is lost
    return block;
}

void *rgm_malloc(size_t bytes) {
    if (refuse()) return NULL;
    if (rgm_spill_takes(bytes)) return born(rgm_spill_take(bytes, false));
    return born(in_large_pages(malloc(bytes ? bytes : 1), bytes));
}

void *rgm_calloc(size_t count, size_t bytes) {
    size_t all;
    if (refuse()) return NULL;
    bool spilled = !__builtin_mul_overflow(count, bytes, &all) && rgm_spill_takes(all);
    if (spilled) return born(rgm_spill_take(all, false));
    return born(in_large_pages(calloc(count ? count : 1, bytes ? bytes : 1), count * bytes));
}

void *rgm_realloc(void *old, size_t bytes) {
    if (!old) return rgm_malloc(bytes);
    if (refuse()) return NULL;
    if (rgm_spill_owns(old)) return rgm_spill_resize(old, bytes);
    if (!rgm_spill_takes(bytes)) return realloc(old, bytes ? bytes : 1);
    void *fresh = spilled_from(old, malloc_usable_size(old), bytes, false);
    if (fresh) free(old);
    return fresh;
}

void rgm_free(void *block) {
    if (!block) return;
    died();
    if (rgm_spill_owns(block))
        rgm_spill_give_back(block);
    else
        free(block);
}

char *rgm_strdup(const char *text, size_t length) {
    char *copy = rgm_malloc(length + 1);
    if (!copy) return NULL;
    if (length) memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

// --- large blocks -----------------------------------------------------------------------------------------

// Stands before each block, which stays aligned as those of malloc are.
typedef struct {
    _Alignas(16) size_t bytes; // with this head
    bool mapped;               // pages of its own
} block_head;

// Sanitizers do not follow pages that move, so there the heap has every block.
#ifdef RGM_SANITIZED
static const size_t large_bytes = SIZE_MAX;
#else
static const size_t large_bytes = 256 << 10;
#endif

static block_head *new_pages(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : in_large_pages(pages, bytes);
}

static block_head *move_pages(block_head *old, size_t bytes) {
    void *pages = mremap(old, old->bytes, bytes, MREMAP_MAYMOVE);
    return pages == MAP_FAILED ? NULL : in_large_pages(pages, bytes);
}

// NULL leaves the old block as it is.
static block_head *resize(block_head *old, size_t bytes) {
    if (old && old->mapped) return move_pages(old, bytes);
    if (bytes < large_bytes) return realloc(old, bytes);
    block_head *fresh = new_pages(bytes);
    if (fresh && old) memcpy(fresh, old, old->bytes < bytes ? old->bytes : bytes);
    if (fresh) free(old);
    return fresh;
}

static void release(block_head *head) {
    if (head->mapped)
        (void)munmap(head, head->bytes);
    else
        free(head);
}

static void *spill_block(block_head *old, size_t bytes) {
    if (!old) return born(rgm_spill_take(bytes, true));
    void *fresh = spilled_from(old + 1, old->bytes - sizeof *old, bytes, true);
    if (fresh) release(old);
    return fresh;
}

void *rgm_block_realloc(void *block, size_t bytes) {
    if (refuse()) return NULL;
    if (rgm_spill_owns(block)) return rgm_spill_resize(block, bytes);
    block_head *old = block ? (block_head *)block - 1 : NULL;
    if (rgm_spill_takes(bytes)) return spill_block(old, bytes);
    size_t size = bytes + sizeof *old;
    bool mapped = size >= large_bytes || (old && old->mapped);
    block_head *head = resize(old, size);
    if (!head) return NULL;
    *head = (block_head){size, mapped};
    return old ? head + 1 : born(head + 1);
}

void rgm_block_free(void *block) {
    if (!block) return;
    died();
    if (rgm_spill_owns(block))
        rgm_spill_give_back(block);
    else
        release((block_head *)block - 1);
}
