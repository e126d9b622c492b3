// SPDX-License-Identifier: Apache-2.0
// What limits a device in a run, in each step, or in the scopes of each name.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/order.h"
#include "analysis/regimes/region_label.h"
#include "analysis/regimes/region_windows.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"

enum { BY_RUN, BY_STEP, BY_SCOPE };

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    const rgm_question *question;
    rgm_regions regions;
    rgm_windows windows;
    rgm_groups groups; // of windows that make one row
    int64_t *delays;   // [2 * work + 2]
    bool stacks;
} regimes;

static bool has_stacks(const rgm_view *view) {
    for (size_t i = 0; i < view->n_spans; i++)
        if (rgm_view_kind(view, i) == RGM_KIND_PYTHON) return true;
    return false;
}

static rgm_status find_windows(regimes *r, rgm_error *err) {
    switch (r->question->group_by) {
    case BY_RUN: return rgm_windows_of_run(&r->windows, r->view, err);
    case BY_STEP: return rgm_windows_of_steps(&r->windows, r->view, r->policy, err);
    case BY_SCOPE: return rgm_windows_of_scopes(&r->windows, r->view, r->policy, err);
    default:
        return rgm_error_set(err, RGM_INVALID, "region_regimes cannot group by %d", r->question->group_by);
    }
}

// Calls of one scope on one device are one row; every other window is a row.
static rgm_status group_windows(regimes *r, rgm_error *err) {
    size_t count = r->windows.count;
    uint64_t *keys = rgm_malloc((count + 1) * sizeof *keys);
    if (!keys) return rgm_error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const rgm_window *w = &r->windows.rows[i];
        keys[i] = r->question->group_by == BY_SCOPE ? (uint64_t)w->name << 32 | (uint32_t)w->device : i;
    }
    rgm_status status = rgm_groups_init(&r->groups, keys, count, err);
    rgm_free(keys);
    return status;
}

// --- rows -------------------------------------------------------------------------------------------------

// Calls that overlap, as of several threads, may hold more work together than there is.
static size_t add_delays(const regimes *r, const rgm_window *w, size_t count) {
    const rgm_view *view = r->view;
    rgm_work_range range = rgm_regions_work(view, w->device, w->start, w->end);
    for (uint32_t i = range.first; i < range.last && count < view->n_work; i++) {
        int32_t launch = view->launch[view->work[i]];
        if (launch >= 0)
            r->delays[count++] = rgm_subtract_bounded(rgm_view_start(view, view->work[i]),
                                                      rgm_view_start(view, (size_t)launch));
    }
    return count;
}

static void put_parts(const rgm_region_parts *parts, rgm_region_regimes *out, size_t row) {
    const int64_t *host = parts->host_ns;
    double wall = (double)parts->wall_ns;
    out->wall_ns[row] = parts->wall_ns;
    out->kernels_ns[row] = parts->kernels_ns;
    out->communication_ns[row] = parts->communication_ns;
    out->transfer_ns[row] = parts->transfer_ns;
    for (int i = 0; i < RGM_HOST_CAUSES; i++) out->host_wait_ns[row] += host[i];
    out->launch_gap_ns[row] = parts->launch_gap_ns;
    out->wait_ns[row] = parts->wait_ns;
    out->unknown_ns[row] = parts->unknown_ns;
    out->host_input_ns[row] = host[RGM_HOST_INPUT];
    out->host_sync_ns[row] = host[RGM_HOST_SYNC];
    out->host_allocation_ns[row] = host[RGM_HOST_ALLOCATION];
    out->host_compile_ns[row] = host[RGM_HOST_COMPILE];
    out->host_optimizer_ns[row] = host[RGM_HOST_OPTIMIZER];
    out->host_other_ns[row] = host[RGM_HOST_OTHER];
    if (wall <= 0) return;
    out->overhead_share[row] = (wall - (double)parts->kernels_ns) / wall;
    out->overhead_kernels_share[row] = parts->sorts[RGM_REGIME_OVERHEAD_BOUND] / wall;
    out->memory_kernels_share[row] = parts->sorts[RGM_REGIME_MEMORY_BOUND] / wall;
    out->compute_kernels_share[row] = parts->sorts[RGM_REGIME_COMPUTE_BOUND] / wall;
    out->unjudged_kernels_share[row] = parts->sorts[RGM_KERNEL_UNJUDGED] / wall;
}

static void put_label(const regimes *r, const rgm_region_parts *parts, rgm_region_regimes *out, size_t row) {
    double slowed = r->stacks ? r->policy->regime_host_inflation_stacks : r->policy->regime_host_inflation;
    rgm_region_label label = rgm_region_judge(parts, slowed, r->question->ceilings != NULL, r->policy);
    out->regime[row] = (rgm_u8)label.regime;
    out->leans_to[row] = (rgm_u8)label.leans_to;
    out->detail[row] = (rgm_u8)label.detail;
    out->reason[row] = (rgm_u8)label.reason;
    out->confidence[row] = label.confidence;
}

static void put_row(regimes *r, uint32_t group, rgm_region_regimes *out) {
    const rgm_groups *g = &r->groups;
    const rgm_window *first = &r->windows.rows[g->items[g->first[group]]];
    rgm_region_parts parts = {0};
    size_t delays = 0;
    out->name[group] = first->name;
    out->step[group] = first->step;
    out->regions[group] = g->first[group + 1] - g->first[group];
    out->start_ns[group] = first->start;
    out->stacks[group] = r->stacks;
    for (uint32_t i = g->first[group]; i < g->first[group + 1]; i++) {
        const rgm_window *w = &r->windows.rows[g->items[i]];
        if (w->start < out->start_ns[group]) out->start_ns[group] = w->start;
        if (w->device < 0) {
            out->wall_ns[group] =
                rgm_add_bounded(out->wall_ns[group], rgm_subtract_bounded(w->end, w->start));
            continue;
        }
        rgm_regions_add(&r->regions, w->device, w->start, w->end, &parts);
        delays = add_delays(r, w, delays);
    }
    if (first->device < 0) {
        out->reason[group] = RGM_REASON_NO_DEVICE;
        return;
    }
    RGM_PUT_DEVICE(out, group, r->view, first->device);
    put_parts(&parts, out, group);
    put_label(r, &parts, out, group);
    out->launches[group] = (rgm_i64)delays;
    if (!delays) return;
    rgm_sort_i64(r->delays, delays, r->delays + r->view->n_work + 1);
    out->queue_delay_ns[group] = rgm_quantile_sorted(r->delays, delays, 0.5);
}

// Runs and steps by device and time, scopes with the most time first.
static int compare(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_region_regimes *t = table;
    const rgm_strings *strings = context;
    if (t->rank[a] != t->rank[b]) return t->rank[a] < t->rank[b] ? -1 : 1;
    if (t->step[a] != t->step[b]) return t->step[a] < t->step[b] ? -1 : 1;
    if (t->name[a] != t->name[b] && t->wall_ns[a] != t->wall_ns[b])
        return t->wall_ns[a] > t->wall_ns[b] ? -1 : 1;
    int names =
        strcmp(rgm_strings_view(strings, t->name[a]).data, rgm_strings_view(strings, t->name[b]).data);
    return names ? names : (int)t->device[a] - (int)t->device[b];
}

rgm_status rgm_region_regimes_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_region_regimes *out, rgm_error *err) {
    regimes r = {.view = view, .policy = policy, .question = question, .stacks = has_stacks(view)};
    rgm_status status;
    RGM_GOTO(find_windows(&r, err));
    RGM_GOTO(group_windows(&r, err));
    if (view->n_devices) RGM_GOTO(rgm_regions_init(&r.regions, view, policy, question->ceilings, err));
    r.delays = rgm_malloc((2 * view->n_work + 2) * sizeof *r.delays);
    RGM_GOTO(r.delays ? RGM_OK : rgm_error_no_memory(err));
    RGM_GOTO(rgm_table_rows(&rgm_region_regimes_desc, out, r.groups.count, err));
    for (uint32_t g = 0; g < r.groups.count; g++) put_row(&r, g, out);
    RGM_GOTO(rgm_order_rows(&rgm_region_regimes_desc, out, compare, &view->run->strings, err));
done:
    rgm_regions_release(&r.regions);
    rgm_windows_release(&r.windows);
    rgm_groups_release(&r.groups);
    rgm_free(r.delays);
    return status;
}
