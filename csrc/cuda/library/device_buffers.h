// SPDX-License-Identifier: Apache-2.0
// Device memory as a source of a buffer pool: the driver's own allocator in the device's primary context.
//
// What is freed is marked with an event on the stream that used it last; the pool hands it out again once the
// event has passed. A child of a fork that may not use the driver any more gives nothing back.
#ifndef RGM_CUDA_DEVICE_BUFFERS_H
#define RGM_CUDA_DEVICE_BUFFERS_H

#include "base/buffer_pool.h"

// Device by the driver's ordinal. RGM_UNAVAILABLE with the reason when there is no driver or device,
// RGM_INVALID when there is none of that number. The pool that takes the source closes it.
rgm_status rgm_device_buffers_open(rgm_pool_source *source, int device, rgm_error *err) RGM_NODISCARD;

#endif
