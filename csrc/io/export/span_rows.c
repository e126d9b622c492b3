// SPDX-License-Identifier: Apache-2.0
#include "io/export/span_rows.h"

#include "base/memory.h"
#include "model/links.h"

rgm_status rgm_span_rows_init(rgm_span_rows *rows, size_t n_spans, const uint32_t *span, size_t count,
                              rgm_error *err) {
    rows->row = NULL;
    if (!count) return RGM_OK;
    rows->row = rgm_malloc((n_spans + 1) * sizeof *rows->row);
    if (!rows->row) return rgm_error_no_memory(err);
    for (size_t i = 0; i < n_spans; i++) rows->row[i] = -1;
    for (size_t i = count; i-- > 0;)
        if (span[i] < n_spans) rows->row[span[i]] = (int32_t)i;
    return RGM_OK;
}

void rgm_span_rows_release(rgm_span_rows *rows) {
    rgm_free(rows->row);
    rows->row = NULL;
}

rgm_status rgm_span_launches(const rgm_run *run, int32_t **launch, rgm_error *err) {
    *launch = rgm_malloc((run->spans.rows + 1) * sizeof **launch);
    if (!*launch) return rgm_error_no_memory(err);
    rgm_status status = rgm_run_launches(run, *launch, err);
    if (status != RGM_OK) {
        rgm_free(*launch);
        *launch = NULL;
    }
    return status;
}
