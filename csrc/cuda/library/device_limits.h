// SPDX-License-Identifier: Apache-2.0
// What a multiprocessor of a device can hold, as the driver tells it.
#ifndef RGM_CUDA_DEVICE_LIMITS_H
#define RGM_CUDA_DEVICE_LIMITS_H

#include "cuda/library/driver.h"
#include "model/occupancy.h"

// Zeros where the driver does not tell.
rgm_device_limits rgm_device_limits_read(const rgm_driver *driver, rgm_cu_device device);

#endif
