// SPDX-License-Identifier: Apache-2.0
// Where the time of the busiest device went: work, and idle time by why it was idle.
#include <math.h>
#include <string.h>

#include "analysis/keyed.h"
#include "analysis/stats.h"
#include "analysis/times/activity_time.h"
#include "analysis/waiting/idle.h"
#include "base/memory.h"
#include "suggest/verdict_late.h"

typedef struct {
    rgm_verdict_facts *facts;
    uint32_t device;
    const uint32_t *work; // in the window
    size_t count;
    rgm_late_part *late; // in order of time
    size_t n_late;
    int64_t set_up_ns; // of the longest call that launches and does not return, and its row
    int32_t set_up;
} device_time;

static void add(rgm_verdict_facts *facts, rgm_limit_cause cause, int64_t ns, int64_t count) {
    rgm_cause_time *into = &facts->causes[cause];
    if (ns <= 0) return;
    into->time_ns = rgm_add_bounded(into->time_ns, ns);
    into->count += count;
    into->found = true;
}

// --- work -------------------------------------------------------------------------------------------------

static int64_t busy_of(const rgm_view *view, size_t device) {
    int64_t in_state[RGM_ACTIVITY_STATES] = {0};
    rgm_activity_time(view, view->work + view->device_first[device],
                      view->device_first[device + 1] - view->device_first[device], in_state);
    return rgm_activity_sum(in_state, 0, 0);
}

static void choose(device_time *d) {
    const rgm_view *view = d->facts->view;
    int64_t most = -1;
    for (size_t i = 0; i < view->n_devices; i++) {
        int64_t busy = busy_of(view, i);
        if (busy <= most) continue;
        most = busy;
        d->device = (uint32_t)i;
    }
    d->work = view->work + view->device_first[d->device];
    d->count = view->device_first[d->device + 1] - view->device_first[d->device];
}

static void count_work(device_time *d) {
    rgm_verdict_facts *facts = d->facts;
    int64_t in_state[RGM_ACTIVITY_STATES] = {0};
    rgm_activity_time(facts->view, d->work, d->count, in_state);
    add(facts, RGM_CAUSE_DEVICE, rgm_activity_sum(in_state, RGM_DOES_COMPUTE, 0), 0);
    add(facts, RGM_CAUSE_COMMUNICATION, rgm_activity_sum(in_state, RGM_DOES_COMMUNICATION, RGM_DOES_COMPUTE),
        0);
    add(facts, RGM_CAUSE_DEVICE_COPIES,
        rgm_activity_sum(in_state, RGM_DOES_MEMORY, RGM_DOES_COMPUTE | RGM_DOES_COMMUNICATION), 0);
}

// The kernel that computes with the most time, all of one name together.
static rgm_status find_kernel(device_time *d, rgm_error *err) {
    rgm_cause_time *cause = &d->facts->causes[RGM_CAUSE_DEVICE];
    const rgm_view *view = d->facts->view;
    RGM_FREED uint64_t *keys = NULL;
    RGM_FREED uint32_t *rows = NULL;
    RGM_RELEASED(rgm_keyed_release) rgm_keyed groups = {0};
    size_t count = 0;
    int64_t most = 0, total = 0;
    RGM_TRY(RGM_ROWS(keys, d->count, err));
    RGM_TRY(RGM_ROWS(rows, d->count, err));
    for (size_t i = 0; i < d->count; i++) {
        if (rgm_view_activity(view, d->work[i]) != RGM_ACTIVITY_COMPUTE) continue;
        keys[count] = rgm_view_name(view, d->work[i]);
        rows[count++] = d->work[i];
    }
    cause->count = (int64_t)count;
    RGM_TRY(rgm_keyed_init(&groups, keys, count, err));
    for (size_t g = 0; g < groups.count; g++) {
        int64_t sum = 0;
        for (uint32_t i = groups.first[g]; i < groups.first[g + 1]; i++)
            sum = rgm_add_bounded(sum, view->run->spans.duration_ns[rows[groups.items[i]]]);
        total = rgm_add_bounded(total, sum);
        if (sum <= most) continue;
        most = sum;
        cause->span = rows[groups.items[groups.first[g]]];
        cause->subject = rgm_view_name(view, (size_t)cause->span);
    }
    cause->subject_share = total > 0 ? (double)most / (double)total : NAN;
    return RGM_OK;
}

// --- the window -------------------------------------------------------------------------------------------

static int64_t end_of_work(const rgm_view *view, const uint32_t *work, size_t count) {
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < count; i++)
        if (rgm_view_end(view, work[i]) > end) end = rgm_view_end(view, work[i]);
    return end;
}

// Whether the host had asked for this work by then.
static bool asked_by(const rgm_view *view, uint32_t row, int64_t time) {
    int32_t launch = view->launch[row];
    return rgm_view_start(view, launch >= 0 ? (size_t)launch : row) <= time;
}

// What was launched in the steps, and the steps with what they have left to do at the end: where much of the
// device's time lies outside of them. Loading, and the imports that come after it, are not what a loop waits
// for. False where the steps have no work.
static bool choose_steps(device_time *d, int64_t first, int64_t last) {
    rgm_verdict_facts *facts = d->facts;
    const rgm_view *view = facts->view;
    size_t from = 0, until = d->count;
    if (!facts->n_steps) return false;
    while (from < until && rgm_view_start(view, d->work[from]) < facts->start_ns) from++;
    while (until > from && !asked_by(view, d->work[until - 1], facts->end_ns)) until--;
    if (from == until) return false;
    int64_t end = end_of_work(view, d->work + from, until - from);
    if (end < facts->end_ns) end = facts->end_ns;
    int64_t outside = (facts->start_ns > first ? facts->start_ns - first : 0) + (last > end ? last - end : 0);
    if ((double)outside < facts->policy->verdict_outside * (double)(last - first)) return false;
    d->work += from;
    d->count = until - from;
    facts->end_ns = end;
    return true;
}

static void find_window(device_time *d) {
    rgm_verdict_facts *facts = d->facts;
    int64_t first = rgm_view_start(facts->view, d->work[0]);
    int64_t last = end_of_work(facts->view, d->work, d->count);
    if (choose_steps(d, first, last)) return;
    facts->start_ns = first;
    facts->end_ns = last;
    facts->n_steps = 0;
}

// --- idle time --------------------------------------------------------------------------------------------

static rgm_limit_cause of_idle(rgm_idle_cause cause) {
    switch (cause) {
    case RGM_IDLE_HOST_SYNC: return RGM_CAUSE_SYNCHRONISATION;
    case RGM_IDLE_COMMUNICATION: return RGM_CAUSE_COMMUNICATION;
    case RGM_IDLE_MEMORY: return RGM_CAUSE_DEVICE_COPIES;
    case RGM_IDLE_LAUNCH_GAP: return RGM_CAUSE_LAUNCHES;
    case RGM_IDLE_WAIT_STREAM:
    case RGM_IDLE_QUEUE: return RGM_CAUSE_WAITING;
    default: return RGM_CAUSE_UNKNOWN;
    }
}

static void add_part(device_time *d, rgm_idle_cause cause, int64_t start, int64_t end) {
    bool after_sync = cause == RGM_IDLE_AFTER_SYNC;
    bool late = after_sync || cause == RGM_IDLE_HOST_LATE || cause == RGM_IDLE_LAUNCH_CALL;
    if (start < d->facts->start_ns) start = d->facts->start_ns;
    if (end > d->facts->end_ns) end = d->facts->end_ns;
    if (end <= start) return;
    if (late)
        d->late[d->n_late++] = (rgm_late_part){start, end, after_sync};
    else
        add(d->facts, of_idle(cause), end - start, 1);
}

// What follows a wait and is not missed because of it is the host's own lateness.
static void add_gap(device_time *d, const rgm_gap *gap) {
    rgm_gap_part parts[2];
    for (int i = 0, count = rgm_gap_divide(gap, parts); i < count; i++) {
        int64_t end = parts[i].start_ns + parts[i].duration_ns, turn = end;
        bool within = parts[i].start_ns >= d->facts->start_ns && end <= d->facts->end_ns;
        if (within && parts[i].cause == RGM_IDLE_LAUNCH_CALL && parts[i].duration_ns > d->set_up_ns) {
            d->set_up_ns = parts[i].duration_ns;
            d->set_up = gap->launch;
        }
        if (parts[i].cause == RGM_IDLE_AFTER_SYNC && rgm_gap_missed(gap) < parts[i].duration_ns)
            turn = parts[i].start_ns + rgm_gap_missed(gap);
        add_part(d, parts[i].cause, parts[i].start_ns, turn);
        add_part(d, RGM_IDLE_HOST_LATE, turn, end);
    }
}

static rgm_status count_gaps(device_time *d, rgm_error *err) {
    RGM_RELEASED(rgm_idle_release) rgm_idle idle = {0};
    RGM_TRY(rgm_idle_init(&idle, d->facts->view, d->facts->policy, false, err));
    RGM_TRY(RGM_ROWS(d->late, 3 * idle.count + 2, err));
    // What the device did not wait for another piece of work in: before all of its work, and after.
    const uint32_t *all = d->facts->view->work + d->facts->view->device_first[d->device];
    size_t count = d->facts->view->device_first[d->device + 1] - d->facts->view->device_first[d->device];
    add_part(d, RGM_IDLE_HOST_LATE, INT64_MIN, rgm_view_start(d->facts->view, all[0]));
    for (size_t i = 0; i < idle.count; i++) {
        if (rgm_view_device(d->facts->view, idle.gaps[i].next) == (int32_t)d->device)
            add_gap(d, &idle.gaps[i]);
    }
    add_part(d, RGM_IDLE_HOST_LATE, end_of_work(d->facts->view, all, count), INT64_MAX);
    return RGM_OK;
}

// A call that launches and takes most of what the host is late by sets something up in the driver. Where
// there are samples they tell what the host did.
static void name_set_up(const device_time *d) {
    rgm_cause_time *idle = &d->facts->causes[RGM_CAUSE_DEVICE_IDLE];
    if (d->set_up < 0 || d->facts->seen.count || !idle->found || 2 * d->set_up_ns < idle->time_ns) return;
    idle->span = d->set_up;
    idle->subject = rgm_view_name(d->facts->view, (size_t)d->set_up);
    idle->subject_share = fmin(1, (double)d->set_up_ns / (double)idle->time_ns);
    idle->figure = (double)d->set_up_ns;
}

rgm_status rgm_verdict_of_device(rgm_verdict_facts *facts, rgm_error *err) {
    device_time d = {.facts = facts, .set_up = -1};
    rgm_status status;
    if (!facts->view->n_work) return RGM_OK;
    for (int i = 0; i < RGM_CAUSE_FIRST_STEP; i++) facts->causes[i] = RGM_NO_CAUSE_TIME;
    facts->n_unseen = 0, facts->unseen_ns = 0; // a device is seen all the time
    choose(&d);
    find_window(&d);
    count_work(&d);
    RGM_GOTO(find_kernel(&d, err));
    RGM_GOTO(count_gaps(&d, err));
    RGM_GOTO(rgm_verdict_of_late(facts, d.late, d.n_late, err));
    name_set_up(&d);
done:
    rgm_free(d.late);
    return status;
}
