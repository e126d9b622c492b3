// SPDX-License-Identifier: Apache-2.0
// Estimates of the classifier: logarithms of times, with their standard deviation, and how they follow from
// work and ceilings.
#ifndef RGM_ANALYSIS_CLASSIFY_ESTIMATES_H
#define RGM_ANALYSIS_CLASSIFY_ESTIMATES_H

#include "analysis/regimes/classify.h"

// The natural logarithm of a time or rate. NAN centre: not known; -INFINITY: no work, hence no time.
typedef struct {
    double centre, sigma;
} rgm_estimate;

typedef struct {
    rgm_estimate time, compute, memory, chain, floor; // logarithms of nanoseconds
    rgm_estimate limits[RGM_LIMIT_COUNT];             // logarithms of parts of the time
    double memory_headroom; // logarithm: best bandwidth of any access pattern over that of the roof
    double cpu_ns;
    bool host, small_grid, tiny_grid, floor_assumed;
    rgm_ceiling_id memory_roof;
} rgm_roofs;

void rgm_roofs_find(rgm_roofs *roofs, const rgm_work *work, const rgm_policy *policy);
// The same without uncertainty.
rgm_roofs rgm_roofs_central(const rgm_roofs *roofs);

#endif
