// SPDX-License-Identifier: Apache-2.0
// The binaries of kernels that the program loads while stalls are sampled, kept where they have line
// information. CUPTI asks for a number of each when it is loaded, which its samples then carry.
//
// The question carries no argument and cannot be taken back, so there is one store in a process; while nobody
// watches it answers and keeps nothing. Binaries that were loaded before are unknown.
//
// Threads: any. Fork: a child has no driver, so nothing is asked there; it must call none of these.
#ifndef RGM_CUDA_CUBINS_H
#define RGM_CUDA_CUBINS_H

#include <stdbool.h>

#include "cuda/trace/cupti.h"

enum { RGM_CUBINS_MOST = 4096 };
#define RGM_CUBINS_BYTES_MOST ((size_t)256 << 20) // of all that are kept

typedef struct {
    int64_t seen;       // loaded while somebody watched
    int64_t with_lines; // of them, with line information
    int64_t left_out;   // of those, for which there was no room
} rgm_cubin_counts;

// False where this library does not ask.
bool rgm_cubins_watch(const rgm_cupti *cupti);
// What was kept goes with the last that watched.
void rgm_cubins_unwatch(void);
// False for one that is not kept. The bytes stay until unwatch.
bool rgm_cubins_find(uint64_t number, const void **bytes, size_t *size);
rgm_cubin_counts rgm_cubins_read(void);
// Whether an ELF file has a section of line information; false for what is no ELF file.
bool rgm_cubin_has_lines(const void *bytes, size_t size);

#endif
