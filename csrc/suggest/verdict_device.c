// SPDX-License-Identifier: Apache-2.0
// Where the time of the busiest device went: work, and idle time by why it was idle. What the host did
// meanwhile says more than that it was late, where its scopes or samples tell.
#include <math.h>
#include <string.h>

#include "analysis/keyed.h"
#include "analysis/stats.h"
#include "analysis/times/activity_time.h"
#include "analysis/times/stack_line.h"
#include "analysis/waiting/idle.h"
#include "base/memory.h"
#include "base/search.h"
#include "suggest/verdict_facts.h"

typedef struct {
    rgm_verdict_facts *facts;
    uint32_t device;
    const uint32_t *work;
    size_t count;
    rgm_gap_part *late; // in order of time
    size_t n_late;
} device_time;

static const rgm_cause_time nothing = {.stack = -1, .span = -1, .subject_share = NAN, .figure = NAN};

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
    add(facts, RGM_CAUSE_DEVICE, rgm_activity_sum(in_state, RGM_DOES_COMPUTE, 0), (int64_t)d->count);
    add(facts, RGM_CAUSE_COMMUNICATION, rgm_activity_sum(in_state, RGM_DOES_COMMUNICATION, RGM_DOES_COMPUTE),
        0);
    add(facts, RGM_CAUSE_DEVICE_COPIES,
        rgm_activity_sum(in_state, RGM_DOES_MEMORY, RGM_DOES_COMPUTE | RGM_DOES_COMMUNICATION), 0);
}

// The kernel with the most time, all of one name together.
static rgm_status find_kernel(device_time *d, rgm_error *err) {
    rgm_cause_time *cause = &d->facts->causes[RGM_CAUSE_DEVICE];
    const rgm_view *view = d->facts->view;
    uint64_t *keys = NULL;
    rgm_keyed groups = {0};
    rgm_status status;
    int64_t most = 0, total = 0;
    RGM_GOTO(RGM_ROWS(keys, d->count, err));
    for (size_t i = 0; i < d->count; i++) keys[i] = rgm_view_name(view, d->work[i]);
    RGM_GOTO(rgm_keyed_init(&groups, keys, d->count, err));
    for (size_t g = 0; g < groups.count; g++) {
        int64_t sum = 0;
        for (uint32_t i = groups.first[g]; i < groups.first[g + 1]; i++)
            sum = rgm_add_bounded(sum, view->run->spans.duration_ns[d->work[groups.items[i]]]);
        total = rgm_add_bounded(total, sum);
        if (sum <= most) continue;
        most = sum;
        cause->span = d->work[groups.items[groups.first[g]]];
        cause->subject = rgm_view_name(view, (size_t)cause->span);
    }
    cause->subject_share = total > 0 ? (double)most / (double)total : NAN;
done:
    rgm_keyed_release(&groups);
    rgm_free(keys);
    return status;
}

// --- idle time --------------------------------------------------------------------------------------------

static rgm_limit_cause of_idle(rgm_idle_cause cause) {
    switch (cause) {
    case RGM_IDLE_HOST_SYNC:
    case RGM_IDLE_AFTER_SYNC: return RGM_CAUSE_SYNCHRONISATION;
    case RGM_IDLE_HOST_LATE: return RGM_CAUSE_DEVICE_IDLE;
    case RGM_IDLE_COMMUNICATION: return RGM_CAUSE_COMMUNICATION;
    case RGM_IDLE_MEMORY: return RGM_CAUSE_DEVICE_COPIES;
    case RGM_IDLE_LAUNCH_GAP:
    case RGM_IDLE_LAUNCH_CALL: return RGM_CAUSE_LAUNCHES;
    case RGM_IDLE_WAIT_STREAM:
    case RGM_IDLE_QUEUE: return RGM_CAUSE_WAITING;
    default: return RGM_CAUSE_UNKNOWN;
    }
}

static rgm_status count_gaps(device_time *d, rgm_error *err) {
    rgm_idle idle = {0};
    rgm_status status;
    RGM_GOTO(rgm_idle_init(&idle, d->facts->view, d->facts->policy, false, err));
    RGM_GOTO(RGM_ROWS(d->late, 2 * idle.count, err));
    for (size_t i = 0; i < idle.count; i++) {
        rgm_gap_part parts[2];
        if (rgm_view_device(d->facts->view, idle.gaps[i].next) != (int32_t)d->device) continue;
        for (int k = 0, n = rgm_gap_divide(&idle.gaps[i], parts); k < n; k++) {
            add(d->facts, of_idle(parts[k].cause), parts[k].duration_ns, 1);
            if (parts[k].cause == RGM_IDLE_HOST_LATE || parts[k].cause == RGM_IDLE_AFTER_SYNC)
                d->late[d->n_late++] = parts[k];
        }
    }
done:
    rgm_idle_release(&idle);
    return status;
}

// --- what the host did meanwhile --------------------------------------------------------------------------

static rgm_limit_cause of_role(rgm_role role) {
    switch (role) {
    case RGM_ROLE_DATA_WAIT: return RGM_CAUSE_INPUT;
    case RGM_ROLE_CHECKPOINT: return RGM_CAUSE_CHECKPOINT;
    case RGM_ROLE_COMPILE: return RGM_CAUSE_COMPILE;
    case RGM_ROLE_GC: return RGM_CAUSE_GARBAGE_COLLECTION;
    default: return RGM_CAUSE_UNKNOWN;
    }
}

static int64_t overlap(const rgm_gap_part *part, int64_t start, int64_t end) {
    int64_t from = part->start_ns > start ? part->start_ns : start;
    int64_t until = part->start_ns + part->duration_ns < end ? part->start_ns + part->duration_ns : end;
    return until > from ? until - from : 0;
}

// Scopes of the driving thread that say by themselves why nothing was launched. Both lists are in order of
// time, and such scopes do not overlap each other on a lane but where one holds another: the outer one
// counts.
static void name_roles(device_time *d) {
    rgm_verdict_facts *facts = d->facts;
    const rgm_view *view = facts->view;
    size_t part = 0;
    int64_t until = INT64_MIN;
    if (facts->lane < 0) return;
    for (uint32_t i = view->lane_first[facts->lane]; i < view->lane_first[facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        rgm_limit_cause cause = of_role((rgm_role)facts->role[row]);
        int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row), found = 0;
        if (cause == RGM_CAUSE_UNKNOWN || start < until) continue;
        until = end;
        while (part < d->n_late && d->late[part].start_ns + d->late[part].duration_ns <= start) part++;
        for (size_t at = part; at < d->n_late && d->late[at].start_ns < end; at++) {
            int64_t shared = overlap(&d->late[at], start, end);
            facts->causes[of_idle(d->late[at].cause)].time_ns -= shared;
            found += shared;
        }
        add(facts, cause, found, 1);
        if (found > 0 && facts->causes[cause].span < 0) facts->causes[cause].span = row;
    }
}

static bool in_late(const device_time *d, int64_t time) {
    rgm_search search = rgm_search_in(0, d->n_late);
    while (rgm_search_on(&search))
        rgm_search_tell(&search,
                        !(d->late[search.middle].start_ns + d->late[search.middle].duration_ns > time));
    return search.low < d->n_late && d->late[search.low].start_ns <= time;
}

static rgm_status find_line(device_time *d, rgm_error *err) {
    const rgm_view *view = d->facts->view;
    const rgm_samples *samples = &view->run->samples;
    uint64_t *keys = NULL;
    rgm_keyed groups = {0};
    rgm_status status;
    size_t count = 0;
    RGM_GOTO(RGM_ROWS(keys, samples->rows, err));
    for (size_t i = 0; i < samples->rows; i++) {
        int32_t stack = (int32_t)RGM_CELL(samples, stack, i, 0);
        if (RGM_CELL(samples, thread, i, -1) != d->facts->thread || !in_late(d, samples->time_ns[i]))
            continue;
        keys[count++] = (uint64_t)(uint32_t)rgm_stack_own_line(view, stack);
    }
    RGM_GOTO(rgm_keyed_init(&groups, keys, count, err));
    rgm_cause_time *cause = &d->facts->causes[RGM_CAUSE_DEVICE_IDLE];
    int64_t most = 0;
    for (size_t g = 0; g < groups.count; g++) {
        int64_t size = groups.first[g + 1] - groups.first[g];
        if (size <= most) continue;
        most = size;
        cause->stack = (int32_t)keys[groups.items[groups.first[g]]];
        cause->subject_share = (double)size / (double)count;
    }
    d->facts->samples = (int64_t)count;
done:
    rgm_keyed_release(&groups);
    rgm_free(keys);
    return status;
}

rgm_status rgm_verdict_of_device(rgm_verdict_facts *facts, rgm_error *err) {
    device_time d = {.facts = facts};
    rgm_status status;
    if (!facts->view->n_work) return RGM_OK;
    for (int i = 0; i < RGM_CAUSE_FIRST_STEP; i++) facts->causes[i] = nothing;
    choose(&d);
    facts->start_ns = rgm_view_start(facts->view, d.work[0]);
    facts->end_ns = facts->start_ns;
    for (size_t i = 0; i < d.count; i++)
        if (rgm_view_end(facts->view, d.work[i]) > facts->end_ns)
            facts->end_ns = rgm_view_end(facts->view, d.work[i]);
    facts->n_steps = 0;
    count_work(&d);
    RGM_GOTO(find_kernel(&d, err));
    RGM_GOTO(count_gaps(&d, err));
    name_roles(&d);
    RGM_GOTO(find_line(&d, err));
done:
    rgm_free(d.late);
    return status;
}
