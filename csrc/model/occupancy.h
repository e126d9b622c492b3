// SPDX-License-Identifier: Apache-2.0
// Theoretical occupancy of a launch: how many of a multiprocessor's warps can be resident, given what one
// block takes, and what keeps it from being more. The driver's own calculator needs the handle of a function,
// which neither records nor traces carry.
//
// The rules are those of the CUDA C++ Programming Guide (section "Multiprocessor Level" and the table of
// technical specifications per compute capability): warps are whole; registers are handed out per warp in
// units of 256, in each of four sub-partitions on its own (two on 6.0); shared memory per block in units of
// 128 bytes (256 before 8.0), with 1 KiB beside it for the system from 8.0 on.
// tests/core/model/test_occupancy.c compares with NVIDIA's calculator (cuda_occupancy.h) where that is
// installed, and with published values elsewhere. What a launch may ask of the split between cache and shared
// memory is not known: the largest share counts.
#ifndef RGM_MODEL_OCCUPANCY_H
#define RGM_MODEL_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/schema.h"

typedef struct {
    int32_t major, minor; // compute capability; 0: nothing is known
    int32_t warp_threads;
    int32_t threads, blocks; // at most resident on one multiprocessor
    int32_t registers;       // per multiprocessor
    int32_t shared_bytes;    // per multiprocessor
    int32_t reserved_bytes;  // of shared memory per block, for the system
    int32_t multiprocessors; // of the device; only what is said of clusters needs it
} rgm_device_limits;

typedef struct {
    double share;              // 0 to 1, NaN when not known or when the block cannot be resident at all
    rgm_occupancy_limit limit; // of the resources that allow the fewest blocks the first; UNKNOWN with NaN
} rgm_occupancy;

rgm_occupancy rgm_occupancy_of(const rgm_device_limits *limits, int64_t block_threads, int32_t registers,
                               int64_t shared_bytes);
// The same of a kernel that is launched in clusters of so many blocks, of which the device holds
// `most_clusters` at a time: a cluster lies in one GPC, whose multiprocessors may be no multiple of it, so
// this is of the device and not of one multiprocessor. Where it is not known how many (0) the answer is that
// without clusters, an upper bound.
rgm_occupancy rgm_occupancy_in_clusters(const rgm_device_limits *limits, rgm_occupancy without,
                                        int64_t block_threads, int64_t cluster_blocks, int64_t most_clusters);
// Adds what follows from the compute capability alone, as it does not stand in traces: blocks and reserved
// shared memory. False for a compute capability that is not known.
bool rgm_device_limits_complete(rgm_device_limits *limits);

#endif
