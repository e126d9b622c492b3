// SPDX-License-Identifier: Apache-2.0
// Columns that hold rows of a table: `lane` those of lanes, `stack` those of stacks, `span`, `parent` and
// `launch` those of spans. They are called so in every table, but that `parent` of a stack is a stack, and
// one before it. An unsigned column must name a row; in a signed one -1 is none.
#ifndef RGM_MODEL_REFERENCES_H
#define RGM_MODEL_REFERENCES_H

#include "model/run.h"

typedef enum {
    RGM_REFERS_TO_NOTHING,
    RGM_REFERS_TO_LANES,
    RGM_REFERS_TO_SPANS,
    RGM_REFERS_TO_STACKS
} rgm_reference;

rgm_reference rgm_column_refers(const rgm_table_desc *desc, const rgm_column_desc *column);

// RGM_FORMAT with the table, column and row of the first reference to a row that is not there.
rgm_status rgm_references_check(rgm_run *run, rgm_error *err) RGM_NODISCARD;

// For files of which parts are lost: a span goes to lane 0, an optional reference becomes none, and a row of
// another table that cannot be without its reference is removed. The removed rows are counted.
rgm_status rgm_references_mend(rgm_run *run, int64_t *removed, rgm_error *err) RGM_NODISCARD;

#endif
