// SPDX-License-Identifier: Apache-2.0
#include "workloads/arrays.h"

#include <string.h>

#include "base/memory.h"

rgm_status rgm_arrays_make(rgm_arrays *arrays, const rgm_workload *workload, const double *values,
                           const rgm_workload_shape *shape, const void *const *inputs, rgm_error *err) {
    bool all_given = true;
    *arrays = (rgm_arrays){0};
    for (size_t i = 0; workload->buffers[i].name; i++) {
        arrays->bytes[i] = 4 * shape->counts[i];
        arrays->data[i] = rgm_calloc(shape->counts[i], 4);
        if (!arrays->data[i]) {
            rgm_arrays_free(arrays);
            return rgm_error_no_memory(err);
        }
        if (workload->buffers[i].role == RGM_BUFFER_INPUT && !(inputs && inputs[i])) all_given = false;
    }
    if (!all_given) workload->fill(values, arrays->data);
    for (size_t i = 0; inputs && workload->buffers[i].name; i++)
        if (inputs[i] && workload->buffers[i].role == RGM_BUFFER_INPUT)
            memcpy(arrays->data[i], inputs[i], arrays->bytes[i]);
    return RGM_OK;
}

void rgm_arrays_take(const rgm_arrays *arrays, const rgm_workload *workload, void *const *outputs) {
    for (size_t i = 0; outputs && workload->buffers[i].name; i++)
        if (outputs[i] && workload->buffers[i].role == RGM_BUFFER_OUTPUT)
            memcpy(outputs[i], arrays->data[i], arrays->bytes[i]);
}

void rgm_arrays_free(rgm_arrays *arrays) {
    for (size_t i = 0; i < RGM_WORKLOAD_BUFFERS; i++) rgm_free(arrays->data[i]);
    *arrays = (rgm_arrays){0};
}
