// SPDX-License-Identifier: Apache-2.0
// What limits a kernel, or a piece of host code: a pure function of the time that it took, of the work that
// it did and of what the machine can do. docs/regime_profiler.md states the rules.
//
// Everything but counts is an estimate: log-normal about its value, with `spread` as the relative half-width
// of two standard deviations. The rules are applied at the central values; the verdict stands only when it
// has the probability regime_least_confidence over all estimates, else it is AMBIGUOUS. More uncertainty can
// therefore take a label away and never give another one.
#ifndef RGM_ANALYSIS_CLASSIFY_H
#define RGM_ANALYSIS_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/policy.h"
#include "model/regimes.h"

enum { RGM_CACHE_LEVELS = 3 };

// Start from rgm_work_none, which has NAN wherever something may be unknown.
typedef struct {
    const rgm_ceilings *ceilings; // of the device, or of the host with all its threads; NULL for none
    const rgm_ceilings *single;   // of one thread of the host; NULL for none
    double unstated_spread;       // of a ceiling that has none: set from the policy
    bool host;
    double time_ns, time_spread;
    double operations[RGM_PIPE_COUNT], operations_spread; // a pipe without work has 0
    double bytes, bytes_spread;                           // to and from where the working set lies
    double compute_share, memory_share; // of peak, as hardware counted; taken where the work above is unknown
    double l2_bytes, l2_spread;         // to and from the second-level cache of a device
    double accesses;                    // loads that each depend on the one before
    double calls;                       // kernels, or calls of `dispatch`, within the time
    double floor_ns, floor_spread;      // of one call; NAN takes the ceiling
    rgm_ceiling_id dispatch;            // the ceiling of a host's call, RGM_CEILING_COUNT for none
    double blocks, multiprocessors;     // of a kernel
    double threads, machine_threads;    // that worked, and that the ceilings were measured with
    double cpu_ns;                      // processor time of all threads
    double working_set, cache_bytes[RGM_CACHE_LEVELS];
    double limit_share[RGM_LIMIT_COUNT], limit_spread[RGM_LIMIT_COUNT]; // of the time of a host; 0 is none
} rgm_work;
extern const rgm_work rgm_work_none;

typedef struct {
    rgm_regime regime, leans_to; // leans_to is UNKNOWN where nothing points anywhere
    rgm_regime_detail detail;
    rgm_regime_reason reason;
    rgm_ceiling_id memory_roof; // the ceiling that the bytes were judged by, RGM_CEILING_COUNT for none
    bool floor_assumed;         // the floor is a usual value, not a measured one
    double confidence;          // probability of the label, or of leans_to; less where roofs are far; NAN
    double overhead_probability, memory_probability, compute_probability, error_probability;
    double sol_compute, sol_memory; // time that the roof needs, over the time; NAN unknown, never clamped
    double latency_share;           // the same for dependent loads
    double floor_share, wait_share; // floor over time; time without the processor over time
    double limit_share;      // the largest part of the time that is known beside the roofs, NAN for none
    double intensity, ridge; // operations per byte; of the work, and where the roofs meet
    double model_ns, model_low_ns, model_high_ns; // what floor and roofs allow, with 95 %
} rgm_regime_verdict;

rgm_regime_verdict rgm_classify(const rgm_work *work, const rgm_policy *policy);

#endif
