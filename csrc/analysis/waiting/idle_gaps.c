// SPDX-License-Identifier: Apache-2.0
// The idle gaps of every device or stream, with what the launching thread did meanwhile.
#include "analysis/analyses.h"
#include "analysis/order.h"
#include "analysis/waiting/host_activity.h"
#include "analysis/waiting/idle.h"
#include "analysis/waiting/idle_lines.h"
#include "base/memory.h"

static rgm_stretch_of_host stretch_of(const rgm_view *view, const rgm_gap *gap) {
    return (rgm_stretch_of_host){.start_ns = gap->start_ns,
                                 .end_ns = gap->start_ns + gap->duration_ns,
                                 .lane = gap->launch >= 0 ? (int32_t)rgm_view_lane(view, (size_t)gap->launch)
                                                          : -1};
}

static void put(rgm_idle_gaps *out, size_t row, const rgm_idle *idle, const rgm_gap *gap,
                const rgm_stretch_of_host *host) {
    RGM_PUT_STREAM(out, row, &idle->tracks, gap->track);
    out->start_ns[row] = gap->start_ns;
    out->duration_ns[row] = gap->duration_ns;
    out->cause[row] = (rgm_u8)gap->cause;
    out->before_launch_ns[row] = gap->before_launch_ns;
    out->in_launch_ns[row] = gap->in_launch_ns;
    out->after_launch_ns[row] = gap->after_launch_ns;
    out->sync_ns[row] = gap->sync_ns;
    out->busy_ns[row] = gap->busy_ns;
    out->previous[row] = (int32_t)gap->previous;
    out->next[row] = (int32_t)gap->next;
    out->launch[row] = gap->launch;
    out->awaited[row] = gap->awaited;
    out->activity[row] = host->span;
    out->next_name[row] = rgm_view_name(idle->tracks.view, gap->next);
    if (host->span >= 0) {
        out->activity_name[row] = rgm_view_name(idle->tracks.view, (size_t)host->span);
        out->activity_share[row] = (double)host->overlap_ns / (double)gap->duration_ns;
    }
    out->step[row] = rgm_view_step(idle->tracks.view, gap->next);
}

static void put_line(rgm_idle_gaps *out, size_t row, const rgm_view *view, const rgm_idle_line *line) {
    const rgm_stacks *stacks = &view->run->stacks;
    out->samples[row] = line->samples;
    out->samples_share[row] = line->share;
    if (line->stack < 0) return;
    out->function[row] = RGM_CELL(stacks, function, line->stack, 0);
    out->file[row] = RGM_CELL(stacks, file, line->stack, 0);
    out->line[row] = RGM_CELL(stacks, line, line->stack, -1);
}

static int longer_first(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_i64 *duration = ((const rgm_idle_gaps *)table)->duration_ns;
    (void)context;
    return (duration[a] < duration[b]) - (duration[a] > duration[b]);
}

rgm_status rgm_idle_gaps_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                                 rgm_idle_gaps *out, rgm_error *err) {
    RGM_RELEASED(rgm_idle_release) rgm_idle idle = {0};
    RGM_FREED rgm_idle_line *lines = NULL;
    size_t kept = 0, row;
    RGM_TRY(rgm_idle_init(&idle, view, policy, question->group_by == 1, err));
    for (size_t i = 0; i < idle.count; i++)
        if ((double)idle.gaps[i].duration_ns > policy->idle_min_ns) idle.gaps[kept++] = idle.gaps[i];
    RGM_FREED rgm_stretch_of_host *hosts = rgm_malloc((kept + 1) * sizeof *hosts);
    if (!hosts) return rgm_error_no_memory(err);
    for (size_t i = 0; i < kept; i++) hosts[i] = stretch_of(view, &idle.gaps[i]);
    RGM_TRY(rgm_host_activity_find(view, hosts, kept, err));
    RGM_TRY(RGM_ROWS(lines, kept, err));
    RGM_TRY(rgm_idle_lines_find(view, policy, idle.gaps, kept, lines, err));
    RGM_TRY(rgm_table_reserve(&rgm_idle_gaps_desc, out, RGM_ALL_COLUMNS, kept ? kept : 1, err));
    for (size_t i = 0; i < kept; i++) {
        RGM_TRY(rgm_table_append(&rgm_idle_gaps_desc, out, RGM_ALL_COLUMNS, &row, err));
        put(out, row, &idle, &idle.gaps[i], &hosts[i]);
        put_line(out, row, view, &lines[i]);
    }
    return rgm_order_rows(&rgm_idle_gaps_desc, out, longer_first, NULL, err);
}
