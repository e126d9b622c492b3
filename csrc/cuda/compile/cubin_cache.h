// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk, so that a kernel is compiled once a machine, not once a process.
//
// An entry is a file named by 128 bits of hash of its key. The hash only places it: the file holds the whole
// key, which is compared, so two keys with the same hash replace each other and never run the wrong kernel.
// Files are written aside and renamed, hence a reader sees a whole entry or none, whatever writers do and
// wherever they die; what does not add up (length, CRC-32C, key) is a miss and is written anew. Past the
// bound the entries that were used longest ago go. A folder that cannot be used, or that others may write to,
// means no cache, with the reason; it never means an error.
//
// Threads: one rgm_cubin_cache belongs to one thread; any number may use one folder, in any number of
// processes.
#ifndef RGM_CUDA_CUBIN_CACHE_H
#define RGM_CUDA_CUBIN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "cuda/compile/nvrtc.h"

// Some forty kernels of a few ten thousand bytes, for several architectures and versions.
enum { RGM_CUBIN_CACHE_BYTES = 64 << 20 };

typedef struct {
    bool usable;
    char folder[1024];
    int64_t most_bytes;
    char reason[256]; // why it is not usable, or why the last store did not succeed
} rgm_cubin_cache;

// The folder is `folder`, or with NULL: $REGIMETER_CACHE/cubin ("off": no cache),
// $XDG_CACHE_HOME/regimeter/cubin,
// ~/.cache/regimeter/cubin. It is made when it is missing, readable by this user only.
void rgm_cubin_cache_open(rgm_cubin_cache *cache, const char *folder, int64_t most_bytes);
// Appends the entry to `image`; false when there is none that is sound.
bool rgm_cubin_cache_find(const rgm_cubin_cache *cache, const rgm_bytes *key, rgm_bytes *image);
// False, with the reason, when it could not be kept.
bool rgm_cubin_cache_store(rgm_cubin_cache *cache, const rgm_bytes *key, const rgm_bytes *image);
// Path of the entry of a key.
void rgm_cubin_cache_path(const rgm_cubin_cache *cache, const rgm_bytes *key, char *path, size_t room);

// The image of a compilation: from the cache (NULL: none), else compiled and kept.
rgm_status rgm_cubin_get(rgm_cubin_cache *cache, const rgm_compilation *what, rgm_bytes *image,
                         rgm_error *err) RGM_NODISCARD;

#ifdef RGM_FAULTS
// Called with the path of the finished temporary file, before it is renamed; a test dies here.
extern void (*rgm_cubin_cache_before_rename)(const char *path);
#endif

#endif
