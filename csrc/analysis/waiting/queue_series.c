// SPDX-License-Identifier: Apache-2.0
// The queues of all streams, change by change.
#include "analysis/analyses.h"
#include "analysis/waiting/backlog.h"

static rgm_status put(void *context, const rgm_streams *tracks, size_t track, const rgm_backlog *queue,
                      rgm_error *err) {
    rgm_queue_series *out = context;
    for (size_t i = 0; i < queue->count; i++) {
        size_t row;
        RGM_TRY(rgm_table_append(&rgm_queue_series_desc, out, RGM_ALL_COLUMNS, &row, err));
        RGM_PUT_STREAM(out, row, tracks, track);
        out->time_ns[row] = queue->steps[i].time_ns;
        out->queued[row] = queue->steps[i].queued;
        out->running[row] = queue->steps[i].running;
    }
    return RGM_OK;
}

rgm_status rgm_queue_series_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_queue_series *out, rgm_error *err) {
    (void)policy;
    (void)question;
    return rgm_backlog_each(view, put, out, err);
}
