// SPDX-License-Identifier: Apache-2.0
// Memory that lies in a file: what a process asks for beyond a budget gets pages of a file on a disk, which
// the kernel writes out and reads back as it needs the room. Only base/memory.c asks for it; everything that
// is allocated through there (columns, texts, scratch memory of analyses) can be larger than the machine's
// memory.
//
// Off until it is begun, and then for the whole process. The file has no name from the moment it was made, so
// that nothing is left behind by whatever end. The space of a block is reserved on the disk when the block is
// made: a disk that is full refuses a block and never breaks off a write.
//
// Any thread may call these. A process that was forked goes on in memory of its own, and the space of blocks
// that both know is not used again.
#ifndef RGM_BASE_SPILL_H
#define RGM_BASE_SPILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { RGM_SPILL_LEAST = 64 << 10 }; // bytes of a block; smaller ones stay in the heap

// Blocks of RGM_SPILL_LEAST bytes or more lie in memory up to `budget` bytes together, those beyond in a file
// in `folder`. A second call sets the budget alone. RGM_UNAVAILABLE for a folder that lies in memory itself
// or cannot reserve space, RGM_IO for one where no file can be made.
rgm_status rgm_spill_begin(const char *folder, size_t budget, rgm_error *err) RGM_NODISCARD;

typedef struct {
    bool on;
    size_t budget;
    uint64_t in_memory, in_file; // bytes of the blocks that are alive
    uint64_t most_in_file;       // at one time so far
} rgm_spill_use;

rgm_spill_use rgm_spill_now(void);
// Whether a block was refused since the last time this was asked, and why: an error number, and a message in
// `err`.
bool rgm_spill_refused(rgm_error *err);

// --- for base/memory.c ------------------------------------------------------------------------------------

// The addresses of all blocks; no bytes while it is off.
typedef struct {
    _Atomic(uintptr_t) base;
    _Atomic(size_t) bytes;
} rgm_spill_range;
extern rgm_spill_range rgm_spill_addresses;

static inline bool rgm_spill_takes(size_t bytes) {
    return bytes >= RGM_SPILL_LEAST &&
           atomic_load_explicit(&rgm_spill_addresses.bytes, memory_order_relaxed) != 0;
}

static inline bool rgm_spill_owns(const void *block) {
    size_t bytes = atomic_load_explicit(&rgm_spill_addresses.bytes, memory_order_relaxed);
    return (uintptr_t)block - atomic_load_explicit(&rgm_spill_addresses.base, memory_order_relaxed) < bytes;
}

// Zeros, aligned as those of malloc. NULL where there is no room. `column`: it will be read for long and
// mostly in order, as columns are; such blocks leave half of the budget to scratch memory, which is looked
// into anywhere.
void *rgm_spill_take(size_t bytes, bool column);
// New bytes are undefined; NULL leaves the block as it is.
void *rgm_spill_resize(void *block, size_t bytes);
void rgm_spill_give_back(void *block);

#endif
