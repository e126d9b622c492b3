// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/region_label.h"

#include <math.h>

// What time goes into, in ns: the three labels, and kernels of which it is not known.
typedef struct {
    double of[RGM_KERNEL_SORTS];
} uses;

static double host_wait(const rgm_region_parts *parts) {
    double sum = 0;
    for (int i = 0; i < RGM_HOST_CAUSES; i++) sum += (double)parts->host_ns[i];
    return sum;
}

// With the host's waits as short as `kept` of them.
static uses uses_of(const rgm_region_parts *parts, double kept) {
    uses u;
    for (int s = 0; s < RGM_KERNEL_SORTS; s++) u.of[s] = parts->sorts[s];
    u.of[RGM_REGIME_OVERHEAD_BOUND] += (double)(parts->communication_ns + parts->transfer_ns +
                                                parts->launch_gap_ns + parts->wait_ns + parts->unknown_ns) +
                                       kept * host_wait(parts);
    return u;
}

// Overhead is more than half, or more than each of the others; then what most kernel time goes into.
static rgm_regime largest(const uses *u) {
    rgm_regime best = RGM_REGIME_OVERHEAD_BOUND;
    for (int s = RGM_REGIME_MEMORY_BOUND; s <= RGM_REGIME_COMPUTE_BOUND; s++)
        if (u->of[s] > u->of[best]) best = (rgm_regime)s;
    return best;
}

static rgm_regime_detail detail_of(const rgm_region_parts *parts) {
    const double input = (double)parts->host_ns[RGM_HOST_INPUT], host = host_wait(parts);
    const struct {
        double time;
        rgm_regime_detail detail;
    } rows[] = {
        {host, 2 * input > host ? RGM_DETAIL_INPUT : RGM_DETAIL_HOST_WAIT},
        {(double)parts->launch_gap_ns, RGM_DETAIL_LAUNCH_GAP},
        {(double)parts->communication_ns, RGM_DETAIL_COMMUNICATION},
        {(double)parts->transfer_ns, RGM_DETAIL_TRANSFER},
        {(double)parts->wait_ns, RGM_DETAIL_WAIT},
        {parts->sorts[RGM_REGIME_OVERHEAD_BOUND], RGM_DETAIL_LATENCY},
        {(double)parts->unknown_ns, RGM_DETAIL_NONE},
    };
    size_t best = 0;
    for (size_t i = 1; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].time > rows[best].time) best = i;
    return rows[best].detail;
}

// The label over everything that is not known: how much of the host's waits is the recording's, and what
// limits the kernels that have no verdict, which may all be any of the three. Each case counts alike.
typedef struct {
    int held, cases;
    bool host_decides;
} survey;

static survey survey_of(const rgm_region_parts *parts, double slowed, rgm_regime label) {
    enum { STEPS = 9 };
    survey s = {0};
    double unjudged = parts->sorts[RGM_KERNEL_UNJUDGED];
    int steps = slowed > 1 && host_wait(parts) > 0 ? STEPS : 1,
        kinds = unjudged > 0 ? RGM_KERNEL_UNJUDGED : 1;
    for (int i = 0; i < steps; i++) {
        double kept = 1 - (1 - 1 / slowed) * i / (STEPS - 1);
        for (int kind = 0; kind < kinds; kind++) {
            uses u = uses_of(parts, steps > 1 ? kept : 1);
            if (kind == 0 && largest(&u) != label) s.host_decides = true;
            if (unjudged > 0) u.of[kind] += unjudged;
            s.held += largest(&u) == label;
            s.cases++;
        }
    }
    return s;
}

rgm_region_label rgm_region_judge(const rgm_region_parts *parts, double slowed, bool ceilings,
                                  const rgm_policy *policy) {
    rgm_region_label label = {.regime = RGM_REGIME_UNKNOWN,
                              .leans_to = RGM_REGIME_UNKNOWN,
                              .reason = RGM_REASON_NO_TIME,
                              .confidence = NAN};
    if (parts->wall_ns <= 0) return label;
    uses u = uses_of(parts, 1);
    rgm_regime found = largest(&u);
    if (u.of[RGM_KERNEL_UNJUDGED] > u.of[found]) {
        label.reason = ceilings ? RGM_REASON_UNJUDGED : RGM_REASON_NO_CEILINGS;
        return label;
    }
    survey s = survey_of(parts, slowed, found);
    label.confidence = (double)s.held / s.cases;
    label.leans_to = found;
    label.detail = found == RGM_REGIME_OVERHEAD_BOUND ? detail_of(parts) : RGM_DETAIL_NONE;
    label.regime = label.confidence < policy->regime_least_confidence ? RGM_REGIME_AMBIGUOUS : found;
    label.reason = label.regime == found ? RGM_REASON_SHARES
                   : s.host_decides      ? RGM_REASON_PROFILER
                                         : RGM_REASON_UNJUDGED;
    return label;
}
