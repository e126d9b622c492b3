// SPDX-License-Identifier: Apache-2.0
// An analysis computed for what it says of success alone.
#ifndef RGM_TEST_ANALYSED_H
#define RGM_TEST_ANALYSED_H

#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"

static inline const rgm_analysis *analysis_named(const char *name) {
    for (size_t i = 0; i < rgm_analyses_count; i++)
        if (strcmp(rgm_analyses[i].name, name) == 0) return &rgm_analyses[i];
    abort();
}

// The result is let go of; `rows` (may be NULL) is how many it had. Without a policy it is the default one.
static inline rgm_status analysis_try(const rgm_analysis *analysis, const rgm_view *view,
                                      const rgm_policy *policy, rgm_question question, size_t *rows,
                                      rgm_error *err) {
    const rgm_policy defaults = RGM_POLICY_DEFAULTS;
    void *result = calloc(1, analysis->size);
    if (!result) abort();
    rgm_status status = analysis->compute(view, policy ? policy : &defaults, &question, result, err);
    if (rows) *rows = ((rgm_table *)result)->rows;
    rgm_table_release(analysis->desc, result);
    free(result);
    return status;
}

#endif
