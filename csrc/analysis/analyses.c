// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyses.h"

// One adapter an analysis: the registry's functions take their table as void *.
#define ADAPTER(name, table, doc)                                                                            \
    static rgm_status compute_##name(const rgm_view *view, const rgm_policy *policy,                         \
                                     const rgm_question *question, void *result, rgm_error *err) {           \
        return rgm_##name##_compute(view, policy, question, result, err);                                    \
    }
RGM_ANALYSES(ADAPTER)

#define ENTRY(name, table, doc) {#name, doc, &rgm_##table##_desc, sizeof(rgm_##table), compute_##name},
const rgm_analysis rgm_analyses[] = {RGM_ANALYSES(ENTRY)};
const size_t rgm_analyses_count = sizeof rgm_analyses / sizeof rgm_analyses[0];
