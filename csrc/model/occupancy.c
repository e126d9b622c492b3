// SPDX-License-Identifier: Apache-2.0
#include "model/occupancy.h"

#include <math.h>

enum { REGISTER_UNIT = 256, MOST_BLOCK_THREADS = 1024 };

static int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Takes a bound over when it is the lower one.
static void bound(int64_t *blocks, rgm_occupancy_limit *limit, int64_t by, rgm_occupancy_limit of) {
    if (by >= *blocks) return;
    *blocks = by;
    *limit = of;
}

rgm_occupancy rgm_occupancy_of(const rgm_device_limits *limits, int64_t block_threads, int32_t registers,
                               int64_t shared_bytes) {
    const rgm_occupancy unknown = {NAN, RGM_OCCUPANCY_LIMIT_UNKNOWN};
    if (limits->major <= 0 || limits->threads <= 0 || limits->warp_threads <= 0 || block_threads <= 0 ||
        block_threads > MOST_BLOCK_THREADS || shared_bytes > INT32_MAX)
        return unknown;
    int64_t warps = up(block_threads, limits->warp_threads) / limits->warp_threads;
    int64_t most_warps = limits->threads / limits->warp_threads;
    int64_t blocks = most_warps / warps;
    rgm_occupancy_limit limit = RGM_OCCUPANCY_LIMIT_WARPS;
    if (limits->blocks > 0) bound(&blocks, &limit, limits->blocks, RGM_OCCUPANCY_LIMIT_BLOCKS);
    if (limits->registers > 0 && registers > 0) {
        // Registers of a warp come from the partition that runs it, and none crosses its border.
        int64_t partitions = limits->major == 6 && limits->minor == 0 ? 2 : 4;
        int64_t per_warp = up((int64_t)registers * limits->warp_threads, REGISTER_UNIT);
        int64_t per_partition = limits->registers / partitions / per_warp;
        bound(&blocks, &limit, per_partition * partitions / warps, RGM_OCCUPANCY_LIMIT_REGISTERS);
    }
    int64_t unit = limits->major >= 8 ? 128 : 256;
    int64_t shared = up((shared_bytes > 0 ? shared_bytes : 0) + limits->reserved_bytes, unit);
    if (limits->shared_bytes > 0 && shared > 0)
        bound(&blocks, &limit, limits->shared_bytes / shared, RGM_OCCUPANCY_LIMIT_SHARED);
    if (blocks <= 0) return unknown;
    return (rgm_occupancy){(double)(blocks * warps) / (double)most_warps, limit};
}

rgm_occupancy rgm_occupancy_in_clusters(const rgm_device_limits *limits, rgm_occupancy without,
                                        int64_t block_threads, int64_t cluster_blocks,
                                        int64_t most_clusters) {
    if (without.limit == RGM_OCCUPANCY_LIMIT_UNKNOWN || cluster_blocks < 2 || most_clusters < 1 ||
        most_clusters > INT32_MAX || limits->multiprocessors < 1)
        return without;
    int64_t warps = up(block_threads, limits->warp_threads) / limits->warp_threads;
    int64_t most_warps = (int64_t)(limits->threads / limits->warp_threads) * limits->multiprocessors;
    double share = (double)(most_clusters * cluster_blocks * warps) / (double)most_warps;
    return share < without.share ? (rgm_occupancy){share, RGM_OCCUPANCY_LIMIT_CLUSTERS} : without;
}

// The table of technical specifications per compute capability in the CUDA C++ Programming Guide.
static const struct {
    int32_t major, minor, blocks, reserved_bytes;
} generations[] = {
    {5, 0, 32, 0},     {5, 2, 32, 0},     {5, 3, 32, 0},     {6, 0, 32, 0},     {6, 1, 32, 0},
    {6, 2, 32, 0},     {7, 0, 32, 0},     {7, 2, 32, 0},     {7, 5, 16, 0},     {8, 0, 32, 1024},
    {8, 6, 16, 1024},  {8, 7, 16, 1024},  {8, 9, 24, 1024},  {9, 0, 32, 1024},  {10, 0, 32, 1024},
    {10, 3, 32, 1024}, {11, 0, 24, 1024}, {12, 0, 24, 1024}, {12, 1, 24, 1024},
};

bool rgm_device_limits_complete(rgm_device_limits *limits) {
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        if (generations[i].major != limits->major || generations[i].minor != limits->minor) continue;
        if (limits->blocks <= 0) limits->blocks = generations[i].blocks;
        if (limits->reserved_bytes <= 0) limits->reserved_bytes = generations[i].reserved_bytes;
        return true;
    }
    return false;
}
