// SPDX-License-Identifier: Apache-2.0
// For each span its row in a table that describes only some spans.
#ifndef RGM_IO_SPAN_ROWS_H
#define RGM_IO_SPAN_ROWS_H

#include "model/run.h"

typedef struct {
    int32_t *row; // [spans] -1 where the table says nothing; NULL for an empty table
} rgm_span_rows;

// Where a table names a span more than once, its first row counts. Rows outside the spans are passed over.
rgm_status rgm_span_rows_init(rgm_span_rows *rows, size_t n_spans, const uint32_t *span, size_t count,
                              rgm_error *err) RGM_NODISCARD;
void rgm_span_rows_release(rgm_span_rows *rows);

static inline int32_t rgm_span_row(const rgm_span_rows *rows, size_t span) {
    return rows->row ? rows->row[span] : -1;
}

// Row of the call that launched a piece of device work, -1 elsewhere: rgm_run_launches. The caller
// frees it.
rgm_status rgm_span_launches(const rgm_run *run, int32_t **launch, rgm_error *err) RGM_NODISCARD;

#endif
