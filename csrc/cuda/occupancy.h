// SPDX-License-Identifier: Apache-2.0
// Theoretical occupancy of a launch: how many of a multiprocessor's warps can be resident, given what one
// block takes. The driver's own calculator needs the handle of a function, which records do not carry.
//
// The rules are those of the CUDA C++ Programming Guide (section "Multiprocessor Level" and the table of
// technical specifications per compute capability): warps are whole; registers are handed out per warp in
// units of 256, in each of four sub-partitions on its own (two on 6.0); shared memory per block in units of
// 128 bytes (256 before 8.0), with 1 KiB beside it for the system from 8.0 on. tests/core/test_occupancy.c
// compares with NVIDIA's calculator (cuda_occupancy.h) where that is installed, and with published values
// elsewhere. What a launch may ask of the split between cache and shared memory is not known: the largest
// share counts.
#ifndef RGM_CUDA_OCCUPANCY_H
#define RGM_CUDA_OCCUPANCY_H

#include <stdint.h>

#include "cuda/driver.h"

typedef struct {
    int32_t major, minor; // compute capability; 0: nothing is known
    int32_t warp_threads;
    int32_t threads, blocks; // at most resident on one multiprocessor
    int32_t registers;       // per multiprocessor
    int32_t shared_bytes;    // per multiprocessor
    int32_t reserved_bytes;  // of shared memory per block, for the system
} rgm_device_limits;

// Zeros where the driver does not tell.
rgm_device_limits rgm_device_limits_read(const rgm_driver *driver, rgm_cu_device device);
// 0 to 1, NaN when not known or when the block cannot be resident at all.
float rgm_occupancy(const rgm_device_limits *limits, int32_t block_threads, int32_t registers,
                    int64_t shared_bytes);

#endif
