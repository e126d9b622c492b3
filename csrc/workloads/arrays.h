// SPDX-License-Identifier: Apache-2.0
// The buffers of a workload on the host: what the caller gave, or memory of our own with the documented
// inputs.
#ifndef RGM_WORKLOADS_ARRAYS_H
#define RGM_WORKLOADS_ARRAYS_H

#include "workloads/workload.h"

typedef struct {
    void *data[RGM_WORKLOAD_BUFFERS]; // zero where nothing else was put
    size_t bytes[RGM_WORKLOAD_BUFFERS];
} rgm_arrays;

// Inputs are copied, so that the caller's are never written to.
rgm_status rgm_arrays_make(rgm_arrays *arrays, const rgm_workload *workload, const double *values,
                           const rgm_workload_shape *shape, const void *const *inputs,
                           rgm_error *err) RGM_NODISCARD;
// Copies to the outputs that are wanted.
void rgm_arrays_take(const rgm_arrays *arrays, const rgm_workload *workload, void *const *outputs);
void rgm_arrays_free(rgm_arrays *arrays);

#endif
