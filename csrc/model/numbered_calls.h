// SPDX-License-Identifier: Apache-2.0
// Calls of a run by their correlation, for what names a call by that number. Used within the model.
#ifndef RGM_MODEL_NUMBERED_CALLS_H
#define RGM_MODEL_NUMBERED_CALLS_H

#include "model/run.h"

typedef struct {
    uint64_t *ids;
    uint32_t *rows, *order; // in order of the correlation and then of the row
    size_t count;
} rgm_numbered_calls;

rgm_status rgm_numbered_calls_init(rgm_numbered_calls *calls, const rgm_run *run,
                                   rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_numbered_calls_release(rgm_numbered_calls *calls);
// Row in `spans` of the first call with that correlation, -1 for none.
rgm_i64 rgm_numbered_calls_find(const rgm_numbered_calls *calls, uint64_t correlation);

#endif
