// SPDX-License-Identifier: Apache-2.0
// What limits the compute kernels of a run, taken together by name or one by one.
#ifndef RGM_ANALYSIS_KERNEL_VERDICTS_H
#define RGM_ANALYSIS_KERNEL_VERDICTS_H

#include "analysis/groups.h"
#include "analysis/regimes/classify.h"
#include "analysis/view.h"

// Of the last, kernels of one name make two groups: those whose work is known, and the others.
typedef enum { RGM_VERDICTS_BY_NAME, RGM_VERDICTS_BY_KERNEL, RGM_VERDICTS_BY_NAME_AND_WORK } rgm_verdicts_by;

// The sums of one group.
typedef struct {
    int64_t count, total_ns;
    double known_ns, operations, bytes, blocks_per_sm;
    uint8_t source; // an rgm_work_source
    rgm_regime_verdict verdict;
} rgm_kernel_verdict;

typedef struct {
    uint32_t *rows; // spans of compute kernels, in the order of the view's work
    size_t count;
    rgm_groups groups;            // of them
    rgm_kernel_verdict *verdicts; // [groups.count]
} rgm_kernel_verdicts;

rgm_status rgm_kernel_verdicts_init(rgm_kernel_verdicts *verdicts, const rgm_view *view,
                                    const rgm_policy *policy, const rgm_ceilings *ceilings,
                                    rgm_verdicts_by by, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_kernel_verdicts_release(rgm_kernel_verdicts *verdicts);

#endif
