// SPDX-License-Identifier: Apache-2.0
// What a run says of its machine, as series that can be compared with themselves: times of a fixed piece of
// work as ratios to their median of the process, and how many times as long as without waiting threads took.
#ifndef RGM_ANALYSIS_MACHINE_LOOKS_H
#define RGM_ANALYSIS_MACHINE_LOOKS_H

#include "analysis/policy.h"
#include "model/run.h"

typedef struct {
    rgm_machine_sign sign;
    size_t count;
    int64_t *time_ns; // ascending
    double *ratio;
    double *level; // median of the ratios around each
} rgm_machine_series;

typedef struct {
    size_t looks;
    double throughput_ns, memory_ns; // medians, NaN without any
    rgm_machine_series series[RGM_SIGN_COUNT];
    size_t count; // of those with enough values
} rgm_looks;

rgm_status rgm_looks_init(rgm_looks *looks, const rgm_run *run, const rgm_policy *policy,
                          rgm_error *err) RGM_NODISCARD;
// Whether an interval is of a process that the program of the run has started: what its threads wait for may
// be the program itself. Those tell nothing of the machine, and come after the program's.
static inline bool rgm_is_of_child(const rgm_pressure *pressure, size_t row) {
    return RGM_CELL(pressure, processors, row, -1) < 0 && RGM_CELL(pressure, processors, 0, -1) >= 0;
}
// Zero-initialised memory is a valid argument.
void rgm_looks_release(rgm_looks *looks);

// How many looks a sign must have to say anything.
size_t rgm_looks_least(const rgm_policy *policy);
// Median of values; scratch has room for as many.
double rgm_looks_median(const double *values, size_t count, double *scratch);

#endif
