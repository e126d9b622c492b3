// SPDX-License-Identifier: Apache-2.0
// Waits for all work of the current context, with a deadline, which the driver's own waits do not have: a
// thread waits in the caller's stead, and is left behind where the device does not come to an end in time.
#ifndef RGM_CUDA_DEVICE_WAIT_H
#define RGM_CUDA_DEVICE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/library/driver.h"

// True when the device has done what it had been given, or when there is no context; false at the deadline
// (CLOCK_MONOTONIC) or without memory. `begin` runs first on the waiting thread; NULL for nothing.
bool rgm_device_wait(const rgm_driver *driver, int64_t deadline_ns, void (*begin)(void));

#endif
