// SPDX-License-Identifier: Apache-2.0
// What samples of host stacks say, as spans: functions that a thread was found in from one sample to the
// next, each below its callers, and these below the scopes that were open. So every view of spans is one of
// samples.
//
// A sample stands for the time until the thread's next one, at most for three times the median distance of
// samples. Names are "function (file:line)" with the line that the function was at, so a function is a span
// for each line.
#ifndef RGM_MODEL_SAMPLED_H
#define RGM_MODEL_SAMPLED_H

#include "model/run.h"

// X(NAME, token): which samples count.
#define RGM_SAMPLE_CHOICES(X)                                                                                \
    X(ALL, "all")                                                                                            \
    X(RUNNING, "running")                                                                                    \
    X(WAITING, "waiting")
#define RGM_SAMPLE_CHOICE_ENUM(name, token) RGM_SAMPLES_##name,
typedef enum { RGM_SAMPLE_CHOICES(RGM_SAMPLE_CHOICE_ENUM) RGM_SAMPLE_CHOICE_COUNT } rgm_sample_choice;

// A run of these spans alone. The only scope of a recording, which is the program, is left out.
rgm_status rgm_run_sampled(const rgm_run *run, rgm_sample_choice choice, rgm_run **out,
                           rgm_error *err) RGM_NODISCARD;

#endif
