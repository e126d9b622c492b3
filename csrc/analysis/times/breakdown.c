// SPDX-License-Identifier: Apache-2.0
// Where the time of a device went, from unions of intervals: a moment counts as compute when any compute
// kernel runs, as exposed communication when communication but no compute runs, as exposed memory when only
// copies and sets run, and as idle when nothing does. The four add up to the span.
#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/times/activity_time.h"
#include "base/memory.h"
#include "base/sort.h"

static void count_work(const rgm_view *view, const uint32_t *work, size_t count, rgm_breakdown *out,
                       size_t row) {
    for (size_t w = 0; w < count; w++) {
        out->sum_dur_ns[row] = rgm_add_bounded(out->sum_dur_ns[row], view->run->spans.duration_ns[work[w]]);
        switch (rgm_view_kind(view, work[w])) {
        case RGM_KIND_MEMCPY: out->n_memcpy[row]++; break;
        case RGM_KIND_MEMSET: out->n_memset[row]++; break;
        default:
            if (rgm_view_activity(view, work[w]) == RGM_ACTIVITY_COMMUNICATION)
                out->n_comm[row]++;
            else
                out->n_kernel[row]++;
        }
    }
}

// The four shares of compute, exposed communication, exposed memory and idle add up to 1.
static void set_shares(rgm_breakdown *out, size_t row) {
    double span = (double)out->span_ns[row];
    if (span <= 0) return;
    out->busy_share[row] = (double)out->busy_ns[row] / span;
    out->idle_share[row] = (double)out->idle_ns[row] / span;
    out->compute_share[row] = (double)out->compute_ns[row] / span;
    out->exposed_comm_share[row] = (double)out->exposed_comm_ns[row] / span;
    out->exposed_mem_share[row] = (double)out->exposed_mem_ns[row] / span;
}

rgm_status rgm_breakdown_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                                 rgm_breakdown *out, rgm_error *err) {
    (void)policy;
    (void)question;
    for (size_t d = 0; d < view->n_devices; d++) {
        const uint32_t *work = view->work + view->device_first[d];
        size_t count = view->device_first[d + 1] - view->device_first[d], row;
        int64_t in_state[RGM_ACTIVITY_STATES] = {0}, first = rgm_view_start(view, work[0]), last = first;
        RGM_TRY(rgm_table_append(&rgm_breakdown_desc, out, RGM_ALL_COLUMNS, &row, err));
        rgm_activity_time(view, work, count, in_state);
        count_work(view, work, count, out, row);
        for (size_t w = 0; w < count; w++)
            if (rgm_view_end(view, work[w]) > last) last = rgm_view_end(view, work[w]);
        out->rank[row] = view->devices[d].rank;
        out->process[row] = view->devices[d].process;
        out->process_name[row] = view->devices[d].process_name;
        out->device[row] = view->devices[d].device;
        out->first_ns[row] = first;
        out->span_ns[row] = rgm_subtract_bounded(last, first);
        out->busy_ns[row] = rgm_activity_sum(in_state, 0, 0);
        out->idle_ns[row] = out->span_ns[row] - out->busy_ns[row];
        out->compute_ns[row] = rgm_activity_sum(in_state, RGM_DOES_COMPUTE, 0);
        out->comm_ns[row] = rgm_activity_sum(in_state, RGM_DOES_COMMUNICATION, 0);
        out->mem_ns[row] = rgm_activity_sum(in_state, RGM_DOES_MEMORY, 0);
        out->comm_overlapped_by_compute_ns[row] =
            rgm_activity_sum(in_state, RGM_DOES_COMPUTE | RGM_DOES_COMMUNICATION, 0);
        out->mem_overlapped_by_compute_ns[row] =
            rgm_activity_sum(in_state, RGM_DOES_COMPUTE | RGM_DOES_MEMORY, 0);
        out->mem_overlapped_by_comm_ns[row] =
            rgm_activity_sum(in_state, RGM_DOES_COMMUNICATION | RGM_DOES_MEMORY, 0);
        out->all_three_ns[row] = in_state[RGM_DOES_COMPUTE | RGM_DOES_COMMUNICATION | RGM_DOES_MEMORY];
        out->exposed_comm_ns[row] = rgm_activity_sum(in_state, RGM_DOES_COMMUNICATION, RGM_DOES_COMPUTE);
        out->exposed_mem_ns[row] =
            rgm_activity_sum(in_state, RGM_DOES_MEMORY, RGM_DOES_COMPUTE | RGM_DOES_COMMUNICATION);
    }
    for (size_t row = 0; row < out->rows; row++) set_shares(out, row);
    return RGM_OK;
}
