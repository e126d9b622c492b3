// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/idle_lines.h"

#include <math.h>

#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

// Samples by thread, and of a thread by time.
typedef struct {
    const rgm_view *view;
    size_t count;
    int64_t *thread, *time;
    int32_t *stack;
    int64_t *line, *scratch; // of one gap
} ordered;

static rgm_status order(ordered *o, const rgm_samples *samples, rgm_error *err) {
    RGM_FREED uint32_t *by_time = NULL, *by_thread = NULL;
    RGM_TRY(RGM_ROWS(by_time, o->count, err));
    RGM_TRY(RGM_ROWS(by_thread, o->count, err));
    RGM_TRY(RGM_ROWS(o->thread, o->count, err));
    RGM_TRY(RGM_ROWS(o->time, o->count, err));
    RGM_TRY(RGM_ROWS(o->stack, o->count, err));
    RGM_TRY(RGM_ROWS(o->line, o->count, err));
    RGM_TRY(RGM_ROWS(o->scratch, o->count, err));
    RGM_TRY(rgm_sort_order_i64(samples->time_ns, o->count, by_time, err));
    for (size_t i = 0; i < o->count; i++) o->scratch[i] = RGM_CELL(samples, thread, by_time[i], -1);
    RGM_TRY(rgm_sort_order_i64(o->scratch, o->count, by_thread, err)); // stable
    for (size_t i = 0; i < o->count; i++) {
        uint32_t row = by_time[by_thread[i]];
        o->thread[i] = RGM_CELL(samples, thread, row, -1);
        o->time[i] = samples->time_ns[row];
        o->stack[i] = rgm_stack_of_sample(o->view, row);
    }
    return RGM_OK;
}

static void release(ordered *o) {
    rgm_free(o->thread);
    rgm_free(o->time);
    rgm_free(o->stack);
    rgm_free(o->line);
    rgm_free(o->scratch);
}

// The first sample of the thread, or of one behind it, at that time or later.
static size_t first_from(const ordered *o, int64_t thread, int64_t time) {
    rgm_search search = rgm_search_in(0, o->count);
    while (rgm_search_on(&search)) {
        size_t at = search.middle;
        rgm_search_tell(&search, o->thread[at] < thread || (o->thread[at] == thread && o->time[at] < time));
    }
    return search.low;
}

static int64_t distance(const ordered *o, size_t at, int64_t thread, int64_t begin, int64_t end) {
    if (at >= o->count || o->thread[at] != thread) return INT64_MAX;
    return o->time[at] < begin ? begin - o->time[at] : o->time[at] - end;
}

static rgm_idle_line nearest(const ordered *o, size_t after, int64_t thread, int64_t begin, int64_t end,
                             double reach_ns) {
    size_t before = after ? after - 1 : o->count;
    int64_t back = distance(o, before, thread, begin, end), ahead = distance(o, after, thread, begin, end);
    size_t at = back <= ahead ? before : after;
    int64_t least = back <= ahead ? back : ahead;
    if (least == INT64_MAX || (double)least > reach_ns) return (rgm_idle_line){-1, 0, NAN};
    return (rgm_idle_line){rgm_stack_own_line(o->view, o->stack[at]), 0, NAN};
}

// Of the samples first .. first + count - 1; of lines with as many, the one that was made first.
static rgm_idle_line most_frequent(ordered *o, size_t first, size_t count) {
    size_t most = 0, run = 0;
    rgm_idle_line found = {-1, (int64_t)count, NAN};
    for (size_t i = 0; i < count; i++) o->line[i] = rgm_stack_own_line(o->view, o->stack[first + i]);
    rgm_sort_i64(o->line, count, o->scratch);
    for (size_t i = 0; i < count; i++) {
        run = i && o->line[i] == o->line[i - 1] ? run + 1 : 1;
        if (run <= most) continue;
        most = run;
        found.stack = (int32_t)o->line[i];
    }
    found.share = (double)most / (double)count;
    return found;
}

static rgm_idle_line line_of(ordered *o, const rgm_gap *gap, const rgm_policy *policy) {
    rgm_idle_line none = {-1, 0, NAN};
    if (gap->launch < 0 || !o->count) return none;
    uint32_t lane = rgm_view_lane(o->view, (size_t)gap->launch);
    int64_t thread = RGM_CELL(&o->view->run->lanes, thread, lane, -1);
    int64_t begin = gap->start_ns;
    int64_t end = begin + (gap->before_launch_ns > 0 ? gap->before_launch_ns : gap->duration_ns);
    if (thread < 0) return none;
    size_t first = first_from(o, thread, begin), last = first_from(o, thread, end);
    if (last > first) return most_frequent(o, first, last - first);
    return nearest(o, first, thread, begin, end, policy->idle_line_reach_ns);
}

rgm_status rgm_idle_lines_find(const rgm_view *view, const rgm_policy *policy, const rgm_gap *gaps,
                               size_t count, rgm_idle_line *lines, rgm_error *err) {
    RGM_RELEASED(release) ordered o = {.view = view, .count = view->run->samples.rows};
    if (o.count) RGM_TRY(order(&o, &view->run->samples, err));
    for (size_t i = 0; i < count; i++) lines[i] = line_of(&o, &gaps[i], policy);
    return RGM_OK;
}
