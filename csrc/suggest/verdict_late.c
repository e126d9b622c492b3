// SPDX-License-Identifier: Apache-2.0
#include "suggest/verdict_late.h"

#include "analysis/stats.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "base/search.h"

// Of parts that began when the host was late, and of those that began because it had waited for the device.
enum { HOST_LATE, AFTER_SYNC, KINDS };

typedef struct {
    rgm_verdict_facts *facts;
    rgm_late_part *parts; // the long ones, in order of time
    size_t count;
    double time_ns[KINDS];
    rgm_seen seen; // samples in them, with the cause of the device's side
    int64_t samples[KINDS], of_cause[KINDS][RGM_CAUSE_COUNT];
} late_time;

static rgm_limit_cause of_launching(int kind) {
    return kind == AFTER_SYNC ? RGM_CAUSE_SYNCHRONISATION : RGM_CAUSE_LAUNCHES;
}

static void add(rgm_verdict_facts *facts, rgm_limit_cause cause, double ns, double variance, int64_t count) {
    if (ns <= 0) return;
    rgm_cause_time_add(&facts->causes[cause], ns, variance);
    facts->causes[cause].count += count;
}

static rgm_status choose_long(late_time *late, const rgm_late_part *parts, size_t count, rgm_error *err) {
    RGM_TRY(RGM_ROWS(late->parts, count, err));
    for (size_t i = 0; i < count; i++) {
        double length = (double)(parts[i].end_ns - parts[i].start_ns);
        int kind = parts[i].after_sync ? AFTER_SYNC : HOST_LATE;
        if (late->facts->seen.count && length <= late->facts->policy->verdict_small_ns) {
            add(late->facts, of_launching(kind), length, 0, 1);
            continue;
        }
        late->parts[late->count++] = parts[i];
        late->time_ns[kind] += length;
    }
    return RGM_OK;
}

// --- scopes -----------------------------------------------------------------------------------------------

static rgm_limit_cause of_role(rgm_role role) {
    switch (role) {
    case RGM_ROLE_DATA_WAIT: return RGM_CAUSE_INPUT;
    case RGM_ROLE_CHECKPOINT: return RGM_CAUSE_CHECKPOINT;
    case RGM_ROLE_COMPILE: return RGM_CAUSE_COMPILE;
    case RGM_ROLE_GC: return RGM_CAUSE_GARBAGE_COLLECTION;
    default: return RGM_CAUSE_UNKNOWN;
    }
}

static int64_t overlap(const rgm_late_part *part, int64_t start, int64_t end) {
    int64_t from = part->start_ns > start ? part->start_ns : start;
    int64_t until = part->end_ns < end ? part->end_ns : end;
    return until > from ? until - from : 0;
}

// Both lists are in order of time, and such scopes do not overlap each other on a lane but where one holds
// another: the outer one counts.
static void count_roles(late_time *late) {
    rgm_verdict_facts *facts = late->facts;
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
        while (part < late->count && late->parts[part].end_ns <= start) part++;
        for (size_t at = part; at < late->count && late->parts[at].start_ns < end; at++) {
            int64_t shared = overlap(&late->parts[at], start, end);
            late->time_ns[late->parts[at].after_sync ? AFTER_SYNC : HOST_LATE] -= (double)shared;
            found += shared;
        }
        add(facts, cause, (double)found, 0, 1);
        if (found > 0 && facts->causes[cause].span < 0) facts->causes[cause].span = row;
    }
}

// --- samples ----------------------------------------------------------------------------------------------

// The part that a time lies in, -1 for none.
static int64_t part_at(const late_time *late, int64_t time) {
    rgm_search search = rgm_search_in(0, late->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, late->parts[search.middle].end_ns <= time);
    return search.low < late->count && late->parts[search.low].start_ns <= time ? (int64_t)search.low : -1;
}

// What ran was a framework on its way to the next launch, rather than code of the program.
static bool is_launching(const rgm_view *view, int32_t stack, rgm_role bucket, rgm_sample_state state) {
    switch (bucket) {
    case RGM_ROLE_MODULE:
    case RGM_ROLE_FORWARD:
    case RGM_ROLE_BACKWARD:
    case RGM_ROLE_OPTIMIZER:
    case RGM_ROLE_ZERO_GRAD:
    case RGM_ROLE_GRAD_CLIP: return state == RGM_SAMPLE_NATIVE || rgm_stack_own_line(view, stack) != stack;
    default: return rgm_stack_is_in(view, stack, "/torch/");
    }
}

static rgm_limit_cause done_meanwhile(const rgm_verdict_facts *facts, size_t sample, int kind) {
    const rgm_seen *seen = &facts->seen;
    rgm_limit_cause cause = (rgm_limit_cause)seen->cause[sample];
    switch (cause) {
    case RGM_CAUSE_UNKNOWN:
    case RGM_CAUSE_SMALL_WORK:
    case RGM_CAUSE_OPTIMIZER:
    case RGM_CAUSE_GRADIENT_CLIPPING:
    case RGM_CAUSE_LAYER:
    case RGM_CAUSE_FORWARD:
    case RGM_CAUSE_BACKWARD:
    case RGM_CAUSE_NATIVE:
    case RGM_CAUSE_PYTHON:
    case RGM_CAUSE_SCOPE: break;
    default: return cause;
    }
    bool launching = is_launching(facts->view, seen->stack[sample], (rgm_role)seen->bucket[sample],
                                  (rgm_sample_state)seen->state[sample]);
    return launching ? of_launching(kind) : RGM_CAUSE_DEVICE_IDLE;
}

static void look_at_samples(late_time *late) {
    const rgm_seen *seen = &late->facts->seen;
    for (size_t i = 0; i < seen->count; i++) {
        int64_t part = part_at(late, seen->time[i]);
        if (part < 0) continue;
        int kind = late->parts[part].after_sync ? AFTER_SYNC : HOST_LATE;
        rgm_limit_cause cause = done_meanwhile(late->facts, i, kind);
        late->seen.stack[late->seen.count] = seen->stack[i];
        late->seen.line[late->seen.count] = seen->line[i];
        late->seen.state[late->seen.count] = seen->state[i];
        late->seen.cause[late->seen.count++] = (uint8_t)cause;
        if (of_role((rgm_role)seen->bucket[i]) != RGM_CAUSE_UNKNOWN) continue; // its time is known
        late->samples[kind]++;
        late->of_cause[kind][cause]++;
    }
}

static void divide(late_time *late, int kind) {
    double samples = (double)late->samples[kind], whole = late->time_ns[kind];
    if (!late->samples[kind]) {
        add(late->facts, kind == AFTER_SYNC ? RGM_CAUSE_SYNCHRONISATION : RGM_CAUSE_DEVICE_IDLE, whole, 0, 1);
        return;
    }
    for (int cause = 0; cause < RGM_CAUSE_COUNT; cause++) {
        double share = (double)late->of_cause[kind][cause] / samples;
        add(late->facts, (rgm_limit_cause)cause, whole * share, rgm_verdict_variance(whole, share, samples),
            late->of_cause[kind][cause]);
    }
}

rgm_status rgm_verdict_of_late(rgm_verdict_facts *facts, const rgm_late_part *parts, size_t count,
                               rgm_error *err) {
    late_time late = {.facts = facts};
    rgm_status status;
    RGM_GOTO(choose_long(&late, parts, count, err));
    RGM_GOTO(rgm_seen_init(&late.seen, facts->seen.count, err));
    count_roles(&late);
    look_at_samples(&late);
    for (int kind = 0; kind < KINDS; kind++) divide(&late, kind);
    facts->samples = (int64_t)late.seen.count;
    RGM_GOTO(rgm_verdict_find_lines(facts, &late.seen, UINT64_MAX, err));
done:
    rgm_seen_release(&late.seen);
    rgm_free(late.parts);
    return status;
}
