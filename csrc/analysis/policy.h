// SPDX-License-Identifier: Apache-2.0
// Every threshold of the analyses: X(name, default, unit, source). A user can set each by its name.
#ifndef RGM_ANALYSIS_POLICY_H
#define RGM_ANALYSIS_POLICY_H

#define RGM_POLICY(X)                                                                                        \
    X(timeline_max_spans, 50000, "spans", "a page of some 2 MB that opens in under a second")                \
    X(percentile_tail, 0.95, "", "p95 of the summary")                                                       \
    X(percentile_extreme, 0.99, "", "p99 of the summary")

typedef struct {
#define RGM_POLICY_FIELD(name, initial, unit, source) double name;
    RGM_POLICY(RGM_POLICY_FIELD)
#undef RGM_POLICY_FIELD
} rgm_policy;

#define RGM_POLICY_DEFAULT(name, initial, unit, source) .name = (initial),
#define RGM_POLICY_DEFAULTS                                                                                  \
    (rgm_policy) { RGM_POLICY(RGM_POLICY_DEFAULT) }

#endif
