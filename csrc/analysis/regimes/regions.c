// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/regions.h"

#include <math.h>
#include <string.h>

#include "analysis/stats.h"
#include "base/memory.h"
#include "base/search.h"

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t length(int64_t from, int64_t to) { return to > from ? rgm_subtract_bounded(to, from) : 0; }

// --- building ---------------------------------------------------------------------------------------------

// What is far from its roof counts as much as the roof explains of it.
static void add_verdict(double *at, const rgm_regime_verdict *v, double duration) {
    double all = duration;
    if (v->detail == RGM_DETAIL_UNDERUSED && v->regime < RGM_REGIME_AMBIGUOUS) {
        double label = v->regime == RGM_REGIME_MEMORY_BOUND ? v->memory_probability : v->compute_probability;
        duration *= v->confidence / label;
    }
    double judged = v->overhead_probability + v->memory_probability + v->compute_probability;
    at[RGM_REGIME_OVERHEAD_BOUND] += duration * v->overhead_probability;
    at[RGM_REGIME_MEMORY_BOUND] += duration * v->memory_probability;
    at[RGM_REGIME_COMPUTE_BOUND] += duration * v->compute_probability;
    at[RGM_KERNEL_UNJUDGED] += fmax(0, all - duration * judged);
}

static rgm_status sum_sorts(rgm_regions *r, const rgm_policy *policy, const rgm_ceilings *ceilings,
                            rgm_error *err) {
    const rgm_view *view = r->view;
    RGM_RELEASED(rgm_kernel_verdicts_release) rgm_kernel_verdicts verdicts = {0};
    RGM_TRY(rgm_kernel_verdicts_init(&verdicts, view, policy, ceilings, RGM_VERDICTS_BY_NAME_AND_WORK, err));
    r->sorts = rgm_calloc((view->n_work + 1) * RGM_KERNEL_SORTS, sizeof *r->sorts);
    if (!r->sorts) return rgm_error_no_memory(err);
    size_t k = 0; // kernels are in the order of the work
    for (size_t i = 0; i < view->n_work; i++) {
        double *at = r->sorts + (i + 1) * RGM_KERNEL_SORTS;
        memcpy(at, at - RGM_KERNEL_SORTS, RGM_KERNEL_SORTS * sizeof *at);
        double duration = (double)view->run->spans.duration_ns[view->work[i]];
        if (k < verdicts.count && verdicts.rows[k] == view->work[i])
            add_verdict(at, &verdicts.verdicts[verdicts.groups.of[k++]].verdict, duration);
        else if (rgm_view_activity(view, view->work[i]) == RGM_ACTIVITY_COMPUTE)
            at[RGM_KERNEL_UNJUDGED] += duration; // work of an accelerator that is no kernel
    }
    return RGM_OK;
}

static rgm_status index_gaps(rgm_regions *r, rgm_error *err) {
    size_t at = 0;
    r->gap_first = rgm_malloc((r->view->n_devices + 1) * sizeof *r->gap_first);
    r->causes = rgm_malloc(r->idle.count + 1);
    r->last_end = rgm_malloc((r->view->n_devices + 1) * sizeof *r->last_end);
    if (!r->gap_first || !r->causes || !r->last_end) return rgm_error_no_memory(err);
    for (size_t d = 0; d < r->view->n_devices; d++)
        r->last_end[d] = rgm_streams_extent(&r->idle.tracks, d).end;
    for (size_t d = 0; d <= r->view->n_devices; d++) {
        while (at < r->idle.count && r->idle.gaps[at].track < d) at++;
        r->gap_first[d] = at;
    }
    return rgm_host_causes_find(&r->idle, r->view, r->causes, err);
}

rgm_status rgm_regions_init(rgm_regions *regions, const rgm_view *view, const rgm_policy *policy,
                            const rgm_ceilings *ceilings, rgm_error *err) {
    *regions = (rgm_regions){.view = view};
    rgm_status status;
    RGM_GOTO(rgm_occupied_init(&regions->occupied, view, err));
    RGM_GOTO(rgm_hosts_init(&regions->hosts, view, err));
    RGM_GOTO(rgm_idle_init(&regions->idle, view, policy, false, err));
    RGM_GOTO(index_gaps(regions, err));
    RGM_GOTO(sum_sorts(regions, policy, ceilings, err));
done:
    if (status != RGM_OK) rgm_regions_release(regions);
    return status;
}

void rgm_regions_release(rgm_regions *regions) {
    rgm_occupied_release(&regions->occupied);
    if (regions->hosts.view) rgm_hosts_release(&regions->hosts);
    rgm_idle_release(&regions->idle);
    rgm_free(regions->causes);
    rgm_free(regions->gap_first);
    rgm_free(regions->last_end);
    rgm_free(regions->sorts);
    *regions = (rgm_regions){0};
}

// --- idle time --------------------------------------------------------------------------------------------

// The host had not asked yet: synchronisation to the nanosecond, the rest by what the thread did for most of
// it.
static void add_host(const rgm_regions *r, int32_t launch, rgm_host_cause cause, int64_t from, int64_t to,
                     rgm_region_parts *parts) {
    int64_t all = length(from, to), sync = 0;
    if (!all) return;
    if (launch >= 0)
        sync = rgm_coverage_within(&r->hosts.blocked[rgm_view_lane(r->view, (size_t)launch)], from, to);
    parts->host_ns[RGM_HOST_SYNC] += sync;
    parts->host_ns[cause] += all - sync;
}

static void add_gap(const rgm_regions *r, size_t number, int64_t from, int64_t to, rgm_region_parts *parts) {
    const rgm_gap *gap = &r->idle.gaps[number];
    rgm_gap_part of[2];
    for (int i = 0, count = rgm_gap_divide(gap, of); i < count; i++) {
        int64_t start = later(of[i].start_ns, from), end = earlier(of[i].start_ns + of[i].duration_ns, to);
        switch (of[i].cause) {
        case RGM_IDLE_UNKNOWN: parts->unknown_ns += length(start, end); break;
        case RGM_IDLE_COMMUNICATION:
        case RGM_IDLE_MEMORY:
        case RGM_IDLE_WAIT_STREAM:
        case RGM_IDLE_QUEUE: parts->wait_ns += length(start, end); break;
        case RGM_IDLE_LAUNCH_GAP:
        case RGM_IDLE_LAUNCH_CALL: parts->launch_gap_ns += length(start, end); break;
        default: add_host(r, gap->launch, (rgm_host_cause)r->causes[number], start, end, parts);
        }
    }
}

// Before a device's first work of all.
static void add_before(const rgm_regions *r, int32_t device, int64_t from, int64_t to,
                       rgm_region_parts *parts) {
    uint32_t first = r->view->work[r->view->device_first[device]];
    int64_t start = rgm_view_start(r->view, first), end = earlier(start, to);
    if (from >= end) return;
    int32_t launch = r->view->launch[first];
    if (launch < 0) {
        parts->unknown_ns += length(from, end);
        return;
    }
    int64_t launched = earlier(later(rgm_view_start(r->view, (size_t)launch), from), end);
    add_host(r, launch, RGM_HOST_OTHER, from, launched, parts);
    parts->launch_gap_ns += length(launched, end);
}

// After its last: nothing has been asked of it.
static void add_after(const rgm_regions *r, int32_t device, int64_t from, int64_t to,
                      rgm_region_parts *parts) {
    uint32_t last = r->view->work[r->view->device_first[device + 1] - 1];
    add_host(r, r->view->launch[last], RGM_HOST_OTHER, later(from, r->last_end[device]), to, parts);
}

// First gap of the device that ends after `from`.
static size_t find_gap(const rgm_regions *r, int32_t device, int64_t from) {
    rgm_search search = rgm_search_in(r->gap_first[device], r->gap_first[device + 1]);
    while (rgm_search_on(&search)) {
        const rgm_gap *gap = &r->idle.gaps[search.middle];
        rgm_search_tell(&search, gap->start_ns + gap->duration_ns <= from);
    }
    return search.low;
}

// --- a stretch --------------------------------------------------------------------------------------------

rgm_work_range rgm_regions_work(const rgm_view *view, int32_t device, int64_t from, int64_t to) {
    uint32_t bounds[2] = {0};
    const int64_t limits[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        rgm_search search = rgm_search_in(view->device_first[device], view->device_first[device + 1]);
        while (rgm_search_on(&search))
            rgm_search_tell(&search, rgm_view_start(view, view->work[search.middle]) < limits[i]);
        bounds[i] = (uint32_t)search.low;
    }
    return (rgm_work_range){bounds[0], bounds[1]};
}

// Kernels share the time with any kernel by their durations; those that began before are taken to be alike.
static void add_sorts(const rgm_regions *r, rgm_work_range range, int64_t kernels_ns,
                      rgm_region_parts *parts) {
    double shares[RGM_KERNEL_SORTS], sum = 0;
    for (size_t s = 0; s < RGM_KERNEL_SORTS; s++) {
        shares[s] = r->sorts[(size_t)range.last * RGM_KERNEL_SORTS + s] -
                    r->sorts[(size_t)range.first * RGM_KERNEL_SORTS + s];
        sum += shares[s];
    }
    if (sum <= 0) {
        parts->sorts[RGM_KERNEL_UNJUDGED] += (double)kernels_ns;
        return;
    }
    for (size_t s = 0; s < RGM_KERNEL_SORTS; s++) parts->sorts[s] += (double)kernels_ns * shares[s] / sum;
}

void rgm_regions_add(const rgm_regions *regions, int32_t device, int64_t from, int64_t to,
                     rgm_region_parts *parts) {
    const rgm_occupied_device *occupied = &regions->occupied.devices[device];
    if (to <= from) return;
    int64_t any = rgm_coverage_within(&occupied->any, from, to);
    int64_t compute = rgm_coverage_within(&occupied->compute, from, to);
    int64_t not_memory = rgm_coverage_within(&occupied->not_memory, from, to);
    parts->wall_ns = rgm_add_bounded(parts->wall_ns, length(from, to));
    parts->kernels_ns += compute;
    parts->communication_ns += not_memory - compute;
    parts->transfer_ns += any - not_memory;
    add_before(regions, device, from, to, parts);
    for (size_t g = find_gap(regions, device, from);
         g < regions->gap_first[device + 1] && regions->idle.gaps[g].start_ns < to; g++)
        add_gap(regions, g, from, to, parts);
    add_after(regions, device, from, to, parts);
    add_sorts(regions, rgm_regions_work(regions->view, device, from, to), compute, parts);
}
