// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/idle.h"

#include "analysis/waiting/hosts.h"
#include "analysis/waiting/occupied.h"
#include "base/memory.h"

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    bool by_stream;
    rgm_hosts hosts;
    rgm_occupied occupied;
    int32_t *last_on_lane; // [n_lanes] latest work seen on a stream, -1 for none
} finder;

static int64_t at_most(int64_t value, int64_t limit) { return value < limit ? value : limit; }

// --- what the gap was spent on ----------------------------------------------------------------------------

static bool same_launch(const finder *f, const rgm_gap *gap) {
    return f->view->launch[gap->previous] == gap->launch;
}

static void divide(const finder *f, rgm_gap *gap) {
    const rgm_view *view = f->view;
    if (gap->launch < 0) return;
    int64_t end = gap->start_ns + gap->duration_ns;
    int64_t began = at_most(rgm_view_start(view, (size_t)gap->launch), end);
    int64_t returned = at_most(rgm_view_end(view, (size_t)gap->launch), end);
    if (began < gap->start_ns) began = gap->start_ns;
    if (!same_launch(f, gap)) {
        gap->before_launch_ns = began - gap->start_ns;
        gap->in_launch_ns = returned > began ? returned - began : 0;
        gap->sync_ns = rgm_coverage_within(&f->hosts.blocked[rgm_view_lane(view, (size_t)gap->launch)],
                                           gap->start_ns, began);
    }
    gap->after_launch_ns = gap->duration_ns - gap->before_launch_ns - gap->in_launch_ns;
}

// The launching thread may have sat in a synchronisation for most of the time, or only when the gap began:
// then the queue ran dry because of it, and the thread was busy with something else afterwards.
static rgm_idle_cause cause_of_delay(const finder *f, rgm_gap *gap) {
    gap->waited_ns =
        rgm_coverage_at(&f->hosts.blocked[rgm_view_lane(f->view, (size_t)gap->launch)], gap->start_ns);
    if (gap->sync_ns >= gap->before_launch_ns - gap->sync_ns) return RGM_IDLE_HOST_SYNC;
    return gap->waited_ns > 0 ? RGM_IDLE_AFTER_SYNC : RGM_IDLE_HOST_LATE;
}

// --- what the gap waited for ------------------------------------------------------------------------------

// The work of another stream that ended last before the gap did, and not before it began; -1 for none. Work
// of the stream itself can only end at the two ends of a gap, so that few rows are passed over.
static int32_t ended_within(const finder *f, const rgm_gap *gap) {
    const rgm_view *view = f->view;
    int32_t d = rgm_view_device(view, gap->next);
    const uint32_t *by_end = f->occupied.by_end, first = view->device_first[d];
    uint32_t low = rgm_occupied_ended(&f->occupied, d, gap->start_ns + gap->duration_ns);
    for (; low > first && rgm_view_end(view, by_end[low - 1]) >= gap->start_ns; low--)
        if (rgm_view_lane(view, by_end[low - 1]) != rgm_view_lane(view, gap->next))
            return (int32_t)by_end[low - 1];
    return -1;
}

// Needs evidence: a call, between the launches of this work and of the one before it on its stream, that
// makes a stream wait; and the work must start soon after what it waited for has ended.
static int32_t awaited_by(const finder *f, const rgm_gap *gap) {
    const rgm_view *view = f->view;
    uint32_t lane = rgm_view_lane(view, gap->next);
    int32_t before = f->last_on_lane[lane], launch = before >= 0 ? view->launch[before] : -1;
    int64_t after = launch >= 0 ? rgm_view_start(view, (size_t)launch) : INT64_MIN;
    if (!rgm_hosts_waits(&f->hosts, rgm_view_lane(view, (size_t)gap->launch), after,
                         rgm_view_start(view, (size_t)gap->launch), lane))
        return -1;
    int32_t other = ended_within(f, gap);
    int64_t late = other >= 0 ? rgm_view_start(view, gap->next) - rgm_view_end(view, (size_t)other) : 0;
    return (double)late <= f->policy->launch_gap_ns ? other : -1;
}

static bool half_beside(const rgm_coverage *coverage, const rgm_gap *gap) {
    int64_t beside = rgm_coverage_within(coverage, gap->start_ns, gap->start_ns + gap->duration_ns);
    return beside >= gap->duration_ns - beside;
}

static rgm_idle_cause cause_of_wait(rgm_activity activity) {
    switch (activity) {
    case RGM_ACTIVITY_COMMUNICATION: return RGM_IDLE_COMMUNICATION;
    case RGM_ACTIVITY_MEMORY: return RGM_IDLE_MEMORY;
    default: return RGM_IDLE_WAIT_STREAM;
    }
}

static rgm_idle_cause cause_of(const finder *f, rgm_gap *gap) {
    if (gap->launch < 0) return RGM_IDLE_UNKNOWN;
    if (gap->before_launch_ns > 0) {
        int64_t rest = gap->in_launch_ns + gap->after_launch_ns;
        bool in_call =
            (double)rest > f->policy->launch_gap_ns && gap->in_launch_ns >= rest - gap->in_launch_ns;
        gap->launching = in_call ? RGM_IDLE_LAUNCH_CALL : RGM_IDLE_LAUNCH_GAP;
        return cause_of_delay(f, gap);
    }
    gap->awaited = same_launch(f, gap) ? -1 : awaited_by(f, gap);
    if (gap->awaited >= 0) return cause_of_wait(rgm_view_activity(f->view, (size_t)gap->awaited));
    if ((double)gap->duration_ns <= f->policy->launch_gap_ns) return RGM_IDLE_LAUNCH_GAP;
    if (gap->in_launch_ns >= gap->duration_ns - gap->in_launch_ns) return RGM_IDLE_LAUNCH_CALL;
    const rgm_occupied_device *device = &f->occupied.devices[rgm_view_device(f->view, gap->next)];
    if (half_beside(&device->communication, gap)) return RGM_IDLE_COMMUNICATION;
    return half_beside(&device->memory, gap) ? RGM_IDLE_MEMORY : RGM_IDLE_QUEUE;
}

int64_t rgm_gap_missed(const rgm_gap *gap) {
    return at_most(gap->duration_ns, gap->waited_ns > gap->sync_ns ? gap->waited_ns : gap->sync_ns);
}

int rgm_gap_divide(const rgm_gap *gap, rgm_gap_part parts[2]) {
    rgm_gap_part whole = {gap->cause,        gap->start_ns,        gap->duration_ns, gap->before_launch_ns,
                          gap->in_launch_ns, gap->after_launch_ns, gap->sync_ns,     gap->busy_ns};
    int64_t before = gap->before_launch_ns;
    parts[0] = whole;
    if (before <= 0 || before >= gap->duration_ns) return 1;
    parts[0].duration_ns = before;
    parts[0].in_launch_ns = parts[0].after_launch_ns = 0;
    parts[0].busy_ns = gap->busy_before_ns;
    parts[1] = whole;
    parts[1].cause = gap->launching;
    parts[1].start_ns += before;
    parts[1].duration_ns -= before;
    parts[1].before_launch_ns = parts[1].sync_ns = 0;
    parts[1].busy_ns -= gap->busy_before_ns;
    return 2;
}

// --- the gaps ---------------------------------------------------------------------------------------------

static void add_gap(finder *f, rgm_idle *idle, uint32_t track, uint32_t previous, uint32_t next,
                    int64_t end) {
    const rgm_view *view = f->view;
    rgm_gap *gap = &idle->gaps[idle->count++];
    *gap = (rgm_gap){.start_ns = end,
                     .duration_ns = rgm_view_start(view, next) - end,
                     .track = track,
                     .previous = previous,
                     .next = next,
                     .launch = view->launch[next],
                     .awaited = -1};
    divide(f, gap);
    gap->cause = cause_of(f, gap);
    if (!f->by_stream) return;
    const rgm_coverage *any = &f->occupied.devices[rgm_view_device(view, next)].any;
    gap->busy_ns = rgm_coverage_within(any, end, rgm_view_start(view, next));
    gap->busy_before_ns = rgm_coverage_within(any, end, end + gap->before_launch_ns);
}

static void find_gaps(finder *f, rgm_idle *idle, uint32_t track) {
    const rgm_streams *tracks = &idle->tracks;
    const rgm_view *view = f->view;
    uint32_t from = tracks->first[track], previous = tracks->rows[from];
    int64_t end = rgm_view_end(view, previous);
    for (uint32_t i = from; i < tracks->first[track + 1]; i++) {
        uint32_t row = tracks->rows[i];
        if (rgm_view_start(view, row) > end) add_gap(f, idle, track, previous, row, end);
        if (rgm_view_end(view, row) >= end) {
            end = rgm_view_end(view, row);
            previous = row;
        }
        f->last_on_lane[rgm_view_lane(view, row)] = (int32_t)row;
    }
}

static rgm_status finder_init(finder *f, rgm_error *err) {
    const rgm_view *view = f->view;
    f->last_on_lane = rgm_malloc(view->n_lanes * sizeof *f->last_on_lane);
    if (!f->last_on_lane) return rgm_error_no_memory(err);
    for (size_t lane = 0; lane < view->n_lanes; lane++) f->last_on_lane[lane] = -1;
    RGM_TRY(rgm_hosts_init(&f->hosts, view, err));
    return rgm_occupied_init(&f->occupied, view, err);
}

rgm_status rgm_idle_init(rgm_idle *idle, const rgm_view *view, const rgm_policy *policy, bool by_stream,
                         rgm_error *err) {
    finder f = {.view = view, .policy = policy, .by_stream = by_stream};
    *idle = (rgm_idle){0};
    rgm_status status;
    RGM_GOTO(finder_init(&f, err));
    RGM_GOTO(rgm_streams_init(&idle->tracks, view, by_stream, err));
    idle->gaps = rgm_malloc((view->n_work + 1) * sizeof *idle->gaps);
    status = idle->gaps ? RGM_OK : rgm_error_no_memory(err);
    for (uint32_t t = 0; status == RGM_OK && t < idle->tracks.count; t++) find_gaps(&f, idle, t);
done:
    rgm_hosts_release(&f.hosts);
    rgm_occupied_release(&f.occupied);
    rgm_free(f.last_on_lane);
    if (status != RGM_OK) rgm_idle_release(idle);
    return status;
}

void rgm_idle_release(rgm_idle *idle) {
    rgm_streams_release(&idle->tracks);
    rgm_free(idle->gaps);
    *idle = (rgm_idle){0};
}
