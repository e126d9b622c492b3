// SPDX-License-Identifier: Apache-2.0
#include "cuda/occupancy.h"

#include <math.h>

enum { REGISTER_UNIT = 256 };
// Attributes of the driver interface.
enum {
    WARP_SIZE = 10,
    MOST_THREADS = 39,
    MAJOR = 75,
    MINOR = 76,
    MOST_SHARED = 81,
    MOST_REGISTERS = 82,
    MOST_BLOCKS = 106,
    RESERVED_SHARED = 111,
};

static int32_t read(const rgm_driver *driver, rgm_cu_device device, int attribute) {
    int value = 0;
    return driver->device_attribute(&value, attribute, device) == RGM_CU_SUCCESS ? value : 0;
}

rgm_device_limits rgm_device_limits_read(const rgm_driver *driver, rgm_cu_device device) {
    rgm_device_limits limits = {
        .major = read(driver, device, MAJOR),
        .minor = read(driver, device, MINOR),
        .warp_threads = read(driver, device, WARP_SIZE),
        .threads = read(driver, device, MOST_THREADS),
        .blocks = read(driver, device, MOST_BLOCKS),
        .registers = read(driver, device, MOST_REGISTERS),
        .shared_bytes = read(driver, device, MOST_SHARED),
        .reserved_bytes = read(driver, device, RESERVED_SHARED),
    };
    if (limits.warp_threads <= 0) limits.warp_threads = 32;
    return limits;
}

static int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

float rgm_occupancy(const rgm_device_limits *limits, int32_t block_threads, int32_t registers,
                    int64_t shared_bytes) {
    if (limits->major <= 0 || limits->threads <= 0 || limits->warp_threads <= 0 || block_threads <= 0)
        return NAN;
    int64_t warps = up(block_threads, limits->warp_threads) / limits->warp_threads;
    int64_t most_warps = limits->threads / limits->warp_threads;
    int64_t blocks = most_warps / warps;
    if (limits->blocks > 0) blocks = least(blocks, limits->blocks);
    if (limits->registers > 0 && registers > 0) {
        // Registers of a warp come from the partition that runs it, and none crosses its border.
        int64_t partitions = limits->major == 6 && limits->minor == 0 ? 2 : 4;
        int64_t per_warp = up((int64_t)registers * limits->warp_threads, REGISTER_UNIT);
        int64_t per_partition = limits->registers / partitions / per_warp;
        blocks = least(blocks, per_partition * partitions / warps);
    }
    int64_t unit = limits->major >= 8 ? 128 : 256;
    int64_t shared = up((shared_bytes > 0 ? shared_bytes : 0) + limits->reserved_bytes, unit);
    if (limits->shared_bytes > 0 && shared > 0) blocks = least(blocks, limits->shared_bytes / shared);
    if (blocks <= 0) return NAN;
    return (float)(blocks * warps) / (float)most_warps;
}
