// SPDX-License-Identifier: Apache-2.0
// How long the queue of each stream was, weighted by time.
#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/waiting/backlog.h"
#include "base/search.h"

static void weigh(rgm_queue_lengths *out, size_t row, const rgm_backlog *queue, double queue_full) {
    double queued = 0, outstanding = 0;
    int64_t empty_ns = 0;
    for (size_t i = 0; i < queue->count; i++) {
        const rgm_backlog_step *step = &queue->steps[i];
        int64_t both = step->queued + step->running;
        if (step->queued > out->queued_max[row]) out->queued_max[row] = step->queued;
        if (both > out->outstanding_max[row]) out->outstanding_max[row] = both;
        int64_t next = i + 1 < queue->count ? step[1].time_ns : queue->end_ns;
        int64_t length = rgm_subtract_bounded(next, step->time_ns);
        queued += (double)step->queued * (double)length;
        outstanding += (double)both * (double)length;
        if (step->queued == 0) empty_ns = rgm_add_bounded(empty_ns, length);
        if (both == 0) out->starved_ns[row] = rgm_add_bounded(out->starved_ns[row], length);
        if ((double)step->queued >= queue_full)
            out->full_ns[row] = rgm_add_bounded(out->full_ns[row], length);
    }
    out->span_ns[row] = rgm_subtract_bounded(queue->end_ns, queue->steps[0].time_ns);
    if (!out->span_ns[row]) return;
    out->queued_mean[row] = queued / (double)out->span_ns[row];
    out->outstanding_mean[row] = outstanding / (double)out->span_ns[row];
    out->empty_share[row] = (double)empty_ns / (double)out->span_ns[row];
    out->full_share[row] = (double)out->full_ns[row] / (double)out->span_ns[row];
}

// Number queued at a moment that is not before the first step.
static int64_t queued_at(const rgm_backlog *queue, int64_t time) {
    rgm_search search = rgm_search_in(0, queue->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, queue->steps[search.middle].time_ns <= time);
    return search.low ? queue->steps[search.low - 1].queued : 0;
}

// A call that launched several pieces of work counts once, on the stream of the first.
static void count_full(rgm_queue_lengths *out, size_t row, const rgm_view *view, uint32_t work,
                       const rgm_backlog *queue, double queue_full) {
    int32_t call = view->launch[work];
    if (call < 0 || view->launched[view->launched_first[call]] != work) return;
    if ((double)queued_at(queue, rgm_view_start(view, (size_t)call)) < queue_full) return;
    out->full_calls[row]++;
    out->full_calls_ns[row] = rgm_add_bounded(out->full_calls_ns[row], view->run->spans.duration_ns[call]);
}

typedef struct {
    rgm_queue_lengths *table;
    double queue_full;
} lengths;

static rgm_status put(void *context, const rgm_streams *tracks, size_t track, const rgm_backlog *queue,
                      rgm_error *err) {
    rgm_queue_lengths *out = ((const lengths *)context)->table;
    double queue_full = ((const lengths *)context)->queue_full;
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_queue_lengths_desc, out, RGM_ALL_COLUMNS, &row, err));
    RGM_PUT_STREAM(out, row, tracks, track);
    out->work[row] = tracks->first[track + 1] - tracks->first[track];
    for (uint32_t i = tracks->first[track]; i < tracks->first[track + 1]; i++) {
        out->launched[row] += tracks->view->launch[tracks->rows[i]] >= 0;
        count_full(out, row, tracks->view, tracks->rows[i], queue, queue_full);
    }
    weigh(out, row, queue, queue_full);
    return RGM_OK;
}

rgm_status rgm_queue_lengths_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_queue_lengths *out, rgm_error *err) {
    (void)question;
    lengths context = {out, policy->queue_full};
    return rgm_backlog_each(view, put, &context, err);
}
