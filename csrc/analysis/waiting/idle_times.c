// SPDX-License-Identifier: Apache-2.0
// Idle time of every device or stream by cause, part of a gap by part. Over the causes of a device it adds up
// to the idle time of its breakdown, to the nanosecond.
#include "analysis/analyses.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "analysis/waiting/idle.h"
#include "base/memory.h"
#include "base/sort.h"

static void add(rgm_idle_times *out, size_t row, const rgm_gap_part *part) {
    out->count[row]++;
    out->total_ns[row] = rgm_add_bounded(out->total_ns[row], part->duration_ns);
    out->before_launch_ns[row] = rgm_add_bounded(out->before_launch_ns[row], part->before_launch_ns);
    out->in_launch_ns[row] = rgm_add_bounded(out->in_launch_ns[row], part->in_launch_ns);
    out->after_launch_ns[row] = rgm_add_bounded(out->after_launch_ns[row], part->after_launch_ns);
    out->sync_ns[row] = rgm_add_bounded(out->sync_ns[row], part->sync_ns);
    out->busy_ns[row] = rgm_add_bounded(out->busy_ns[row], part->busy_ns);
}

// One row for the parts of one cause among `gaps`, of which each has at most one; `values` has room for two
// values a gap.
static rgm_status put_cause(rgm_idle_times *out, const rgm_idle *idle, const rgm_gap *gaps, size_t count,
                            rgm_idle_cause cause, int64_t *values, rgm_error *err) {
    size_t row, found = 0;
    for (size_t i = 0; i < count; i++) {
        rgm_gap_part parts[2];
        for (int k = 0, n = rgm_gap_divide(&gaps[i], parts); k < n; k++) {
            if (parts[k].cause != cause) continue;
            if (!found) RGM_TRY(rgm_table_append(&rgm_idle_times_desc, out, RGM_ALL_COLUMNS, &row, err));
            add(out, out->rows - 1, &parts[k]);
            values[found++] = parts[k].duration_ns;
        }
    }
    if (!found) return RGM_OK;
    row = out->rows - 1;
    RGM_PUT_STREAM(out, row, &idle->tracks, gaps->track);
    out->cause[row] = (rgm_u8)cause;
    rgm_sort_i64(values, found, values + found);
    out->longest_ns[row] = values[found - 1];
    out->median_ns[row] = rgm_quantile_sorted(values, found, 0.5);
    return RGM_OK;
}

static rgm_status put_track(rgm_idle_times *out, const rgm_idle *idle, const rgm_gap *gaps, size_t count,
                            int64_t *values, rgm_error *err) {
    size_t first = out->rows;
    int64_t total = 0;
    for (int cause = 0; cause < RGM_IDLE_COUNT; cause++)
        RGM_TRY(put_cause(out, idle, gaps, count, (rgm_idle_cause)cause, values, err));
    rgm_extent_ns extent = rgm_streams_extent(&idle->tracks, gaps->track);
    for (size_t row = first; row < out->rows; row++) total = rgm_add_bounded(total, out->total_ns[row]);
    for (size_t row = first; row < out->rows; row++) {
        out->span_ns[row] = rgm_subtract_bounded(extent.end, extent.start);
        out->share[row] = (double)out->total_ns[row] / (double)total;
        out->span_share[row] = (double)out->total_ns[row] / (double)out->span_ns[row];
    }
    return RGM_OK;
}

// Rows of a device or stream follow one another already; among them the cause with the most time comes first.
static int most_first(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_idle_times *times = table;
    (void)context;
    bool together = times->rank[a] == times->rank[b] && times->process[a] == times->process[b] &&
                    times->device[a] == times->device[b] && times->lane[a] == times->lane[b];
    if (!together || times->total_ns[a] == times->total_ns[b]) return (a > b) - (a < b);
    return times->total_ns[a] < times->total_ns[b] ? 1 : -1;
}

rgm_status rgm_idle_times_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_idle_times *out, rgm_error *err) {
    RGM_RELEASED(rgm_idle_release) rgm_idle idle = {0};
    RGM_TRY(rgm_idle_init(&idle, view, policy, question->group_by == 1, err));
    RGM_FREED int64_t *values = rgm_malloc((2 * idle.count + 1) * sizeof *values);
    if (!values) return rgm_error_no_memory(err);
    for (size_t from = 0, to; from < idle.count; from = to) {
        for (to = from + 1; to < idle.count && idle.gaps[to].track == idle.gaps[from].track;) to++;
        RGM_TRY(put_track(out, &idle, idle.gaps + from, to - from, values, err));
    }
    return rgm_order_rows(&rgm_idle_times_desc, out, most_first, NULL, err);
}
