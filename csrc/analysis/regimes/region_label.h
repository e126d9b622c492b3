// SPDX-License-Identifier: Apache-2.0
// The label of a region from how its time divides.
#ifndef RGM_ANALYSIS_REGION_LABEL_H
#define RGM_ANALYSIS_REGION_LABEL_H

#include "analysis/regimes/regions.h"

typedef struct {
    rgm_regime regime, leans_to;
    rgm_regime_detail detail;
    rgm_regime_reason reason;
    double confidence;
} rgm_region_label;

// slowed: by how much the recording may have slowed the host at most; ceilings: whether any were known.
rgm_region_label rgm_region_judge(const rgm_region_parts *parts, double slowed, bool ceilings,
                                  const rgm_policy *policy);

#endif
