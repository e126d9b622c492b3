// SPDX-License-Identifier: Apache-2.0
// The devices that the head of a trace describes, and what follows from them for its launches.
#ifndef RGM_IO_TRACE_DEVICES_H
#define RGM_IO_TRACE_DEVICES_H

#include "model/occupancy.h"
#include "model/run.h"

enum { RGM_TRACE_DEVICES = 64 };

typedef struct {
    rgm_device_limits limits[RGM_TRACE_DEVICES]; // by id; zeros where nothing is known
    bool any;
} rgm_trace_devices;

// Kineto's deviceProperties, as compact JSON. A device that is not fully described, or none of NVIDIA's,
// stays unknown.
void rgm_trace_devices_read(rgm_trace_devices *devices, const uint8_t *value, size_t size);
// Fills the theoretical occupancy of launches where the trace has none, and what limits it.
rgm_status rgm_trace_devices_apply(const rgm_trace_devices *devices, rgm_run *run,
                                   rgm_error *err) RGM_NODISCARD;

#endif
