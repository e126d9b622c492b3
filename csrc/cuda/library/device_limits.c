// SPDX-License-Identifier: Apache-2.0
#include "cuda/library/device_limits.h"

// Attributes of the driver interface.
enum {
    WARP_SIZE = 10,
    MULTIPROCESSORS = 16,
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
        .multiprocessors = read(driver, device, MULTIPROCESSORS),
    };
    if (limits.warp_threads <= 0) limits.warp_threads = 32;
    return limits;
}
