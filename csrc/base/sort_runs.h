// SPDX-License-Identifier: Apache-2.0
// Stable natural merge sort of row numbers by a signed key: what already stands in order is kept as a run,
// runs are merged. Rows of a trace are a few runs, so that this is close to one pass over them, and it takes
// no memory beside the rows but the caller's scratch. Rows in no order at all cost n log n.
#ifndef RGM_BASE_SORT_RUNS_H
#define RGM_BASE_SORT_RUNS_H

#include <stddef.h>
#include <stdint.h>

// Sorts `rows` by keys[row]; scratch has room for `count` rows.
void rgm_sort_runs_i64(const int64_t *keys, uint32_t *rows, size_t count, uint32_t *scratch);

#endif
