// SPDX-License-Identifier: Apache-2.0
// What work kernels did, as far as a run tells: hardware counters of the kernel, else the shapes of the
// operator that launched it, where that operator's work is one kernel's; else only the launch configuration.
#ifndef RGM_ANALYSIS_KERNEL_WORK_H
#define RGM_ANALYSIS_KERNEL_WORK_H

#include "analysis/policy.h"
#include "analysis/view.h"

typedef struct {
    uint8_t source;                                       // an rgm_work_source
    double operations[RGM_PIPE_COUNT], operations_spread; // NAN: not known
    double bytes, bytes_spread;
    double compute_share, memory_share; // of peak, as hardware counted
    double blocks_per_sm;
} rgm_kernel_work;

typedef struct {
    rgm_kernel_work *work; // by position in the view's work
    size_t count;
} rgm_kernel_works;

rgm_status rgm_kernel_works_init(rgm_kernel_works *works, const rgm_view *view, const rgm_policy *policy,
                                 rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_kernel_works_release(rgm_kernel_works *works);

#endif
