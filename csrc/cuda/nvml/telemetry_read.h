// SPDX-License-Identifier: Apache-2.0
// One call of telemetry: what a device says now, each value with the result that goes with it.
//
// Threads: any. Every call goes to the driver; its cost class is in telemetry_metrics.h.
#ifndef RGM_CUDA_TELEMETRY_READ_H
#define RGM_CUDA_TELEMETRY_READ_H

#include "cuda/nvml/nvml_devices.h"
#include "cuda/nvml/telemetry_metrics.h"

enum { RGM_TELEMETRY_SLOTS = 4 };

typedef struct {
    double value[RGM_TELEMETRY_SLOTS];
    rgm_nvml_result result[RGM_TELEMETRY_SLOTS]; // value is valid where this is SUCCESS
} rgm_telemetry_reading;

// An absent function answers FUNCTION_NOT_FOUND. Of a MIG device the call asks the part or the whole, as the
// table says.
void rgm_telemetry_read(rgm_telemetry_reading *reading, const rgm_nvml *nvml, rgm_telemetry_call call,
                        const rgm_nvml_gpu *gpu);
// Why a metric has no value: one sentence without a full stop, never NULL.
void rgm_telemetry_reason(char *text, size_t room, rgm_telemetry_metric metric, rgm_nvml_result result);

#endif
