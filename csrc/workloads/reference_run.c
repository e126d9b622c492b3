// SPDX-License-Identifier: Apache-2.0
#include "workloads/arrays.h"
#include "workloads/gpu_run.h"

rgm_status rgm_reference_run(const rgm_workload *workload, const double *parameters,
                             const void *const *inputs, void *const *outputs, rgm_workload_shape *shape,
                             rgm_error *err) {
    double values[RGM_WORKLOAD_PARAMETERS];
    rgm_arrays arrays;
    RGM_TRY(rgm_workload_prepare(workload, parameters, values, shape, err));
    RGM_TRY(rgm_arrays_make(&arrays, workload, values, shape, inputs, err));
    workload->reference(values, arrays.data);
    rgm_arrays_take(&arrays, workload, outputs);
    rgm_arrays_free(&arrays);
    return RGM_OK;
}
