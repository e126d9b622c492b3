// SPDX-License-Identifier: Apache-2.0
// The rows of one run behind those of another: ids of names and lanes are translated, row numbers shifted.
#ifndef RGM_MODEL_APPEND_H
#define RGM_MODEL_APPEND_H

#include "model/run.h"

// What ids of the run that is read become in the run that grows. Rows that name a span (parent, launch, span)
// are shifted by the spans that it had, those that name a stack by its stacks.
typedef struct {
    const uint32_t *name_of; // by id
    const uint32_t *lane_of; // by row; NULL shifts by first_lane
    size_t first_lane, first_span, first_stack;
} rgm_append_ids;

// Appends the rows of one table. Columns that `from` does not have stay away from `to`, unless it has them or
// the mask names them or their default is itself a row number; they are filled with their default. What does
// not fit its column any more is an error of RGM_LIMIT.
rgm_status rgm_append_table(const rgm_table_desc *desc, rgm_run *to, const rgm_run *from, uint64_t mask,
                            const rgm_append_ids *ids, rgm_error *err) RGM_NODISCARD;
// Appends every table but `lanes`, whose rows the caller has placed.
rgm_status rgm_run_append(rgm_run *to, const rgm_run *from, const uint32_t *name_of, const uint32_t *lane_of,
                          rgm_error *err) RGM_NODISCARD;

#endif
