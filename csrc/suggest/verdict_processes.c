// SPDX-License-Identifier: Apache-2.0
// What other processes of the program do while its main thread waits for them, where their recordings are
// part of the run: the line that most of their samples in such waits are at, and how much of the wait goes
// into data that they pickle and pass on, and into modules that they import. Threads that only pass data on
// (of a queue, of a pool) do not count: what else goes on hides it.
#include <math.h>
#include <stdlib.h>

#include "analysis/keyed.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "base/search.h"
#include "suggest/verdict_partition.h"
#include "suggest/verdict_waits.h"

static bool may_wait(const rgm_verdict_facts *facts, uint8_t cause) {
    return cause == RGM_CAUSE_CHILD ||
           (cause == RGM_CAUSE_INPUT && rgm_cause_is_elsewhere(&facts->causes[cause]));
}

// Twice the mean distance of the main thread's samples.
static int64_t near(const rgm_partition *p) {
    return p->seen->count > 1
               ? 2 * ((p->seen->time[p->seen->count - 1] - p->seen->time[0]) / (int64_t)(p->seen->count - 1))
               : 0;
}

// The cause that the main thread's nearest sample shows; UNKNOWN where none is near.
static uint8_t cause_at(const rgm_partition *p, int64_t time) {
    rgm_search search = rgm_search_in(0, p->seen->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, p->seen->time[search.middle] < time);
    size_t at = search.low;
    if (at == p->seen->count || (at > 0 && time - p->seen->time[at - 1] < p->seen->time[at] - time)) at--;
    return llabs(p->seen->time[at] - time) <= near(p) ? p->seen->cause[at] : RGM_CAUSE_UNKNOWN;
}

// Samples of other processes that work in waits of a cause, by line. A key holds cause, file and line.
typedef struct {
    uint64_t *keys;
    uint32_t *samples;
    int32_t *lines;
    size_t count;
    int64_t total[RGM_CAUSE_COUNT];
    // In waits for processes: samples that are not idle, and of main threads that pass data on or import.
    int64_t busy, passing, importing;
    int64_t nowhere; // of the busy ones, without a line
} work;

static void count(const rgm_partition *p, size_t sample, bool line, work *w) {
    const rgm_view *view = p->facts->view;
    rgm_sample_state state = (rgm_sample_state)p->states[sample];
    int64_t process = rgm_verdict_process(p->facts, sample);
    int64_t thread = RGM_CELL(&view->run->samples, thread, sample, -1);
    int32_t stack = rgm_stack_of_sample(view, sample);
    bool works = rgm_sample_works(state);
    if (stack < 0) return;
    if (rgm_stack_imports(view, stack)) // also what is unpickled needs
        w->importing += thread == process && works;
    else if (rgm_stack_passes_on(view, stack))
        w->passing += thread == process && (works || rgm_stack_sends(view, stack));
    else // what waits in the work that it was handed is at it, too
        w->busy += line || (thread == process && !rgm_stack_awaits_work(view, stack));
}

static void find_work(const rgm_partition *p, int64_t own, work *w) {
    enum { CAUSE_SHIFT = 56 };
    const rgm_view *view = p->facts->view;
    for (size_t i = 0; i < view->run->samples.rows; i++) {
        int64_t process = rgm_verdict_process(p->facts, i);
        if (process < 0 || process == own) continue;
        uint8_t cause = cause_at(p, view->run->samples.time_ns[i]);
        if (!may_wait(p->facts, cause)) continue;
        int32_t line = rgm_verdict_line_beside(p->facts, i, own);
        int64_t busy = w->busy;
        if (cause == RGM_CAUSE_CHILD) count(p, i, line >= 0, w);
        w->nowhere += line < 0 ? w->busy - busy : 0;
        w->total[cause] += line >= 0 || w->busy > busy;
        if (line < 0) continue;
        w->keys[w->count] = (uint64_t)cause << CAUSE_SHIFT | rgm_line_key(view, line);
        w->samples[w->count] = (uint32_t)i;
        w->lines[w->count++] = line;
    }
}

static rgm_status choose_lines(rgm_partition *p, const work *w, rgm_error *err) {
    enum { CAUSE_SHIFT = 56 };
    rgm_keyed groups = {0};
    int64_t most[RGM_CAUSE_COUNT] = {[RGM_CAUSE_CHILD] = w->nowhere};
    RGM_TRY(rgm_keyed_init(&groups, w->keys, w->count, err));
    for (size_t g = 0; g < groups.count; g++) {
        uint32_t item = groups.items[groups.first[g]];
        int64_t count = groups.first[g + 1] - groups.first[g];
        uint8_t cause = (uint8_t)(w->keys[item] >> CAUSE_SHIFT);
        rgm_cause_time *time = &p->facts->causes[cause];
        if (count <= most[cause]) continue;
        most[cause] = count;
        time->subject = 0;
        time->stack = w->lines[item];
        time->subject_share = (double)count / (double)w->total[cause];
        time->process = rgm_verdict_process(p->facts, w->samples[item]);
        time->elsewhere = time->count;
    }
    rgm_keyed_release(&groups);
    return RGM_OK;
}

// Of the time that the main thread waits for processes, what they spend on something that is a cause of its
// own, at the line that waits: `some` of `known` samples.
static void set_apart(rgm_partition *p, rgm_limit_cause cause, int64_t some, int64_t known) {
    rgm_cause_time *child = &p->facts->causes[RGM_CAUSE_CHILD], *other = &p->facts->causes[cause];
    if (!some) return;
    double share = (double)some / (double)known, time = (double)child->time_ns * share;
    // Those of several processes at one time are no more than one of the thread that waits.
    double variance =
        rgm_verdict_variance((double)child->time_ns, share, fmin((double)known, (double)child->count));
    if ((double)other->time_ns < time) {
        other->stack = child->stack;
        other->subject_share = child->subject_share;
    }
    other->count += (int64_t)((double)child->count * share);
    rgm_cause_time_add(other, time, share * share * child->variance + variance);
    child->time_ns -= (int64_t)time;
    child->variance = (1 - share) * (1 - share) * child->variance + variance;
}

rgm_status rgm_verdict_of_processes(rgm_partition *p, rgm_error *err) {
    const rgm_run *run = p->facts->view->run;
    int64_t own = RGM_CELL(&run->lanes, process, p->facts->lane, -1);
    work w = {0};
    rgm_status status = RGM_OK;
    if (!p->seen->count || own < 0) return RGM_OK;
    if (!may_wait(p->facts, RGM_CAUSE_INPUT) && !p->facts->causes[RGM_CAUSE_CHILD].found) return RGM_OK;
    RGM_GOTO(RGM_ROWS(w.keys, run->samples.rows, err));
    RGM_GOTO(RGM_ROWS(w.samples, run->samples.rows, err));
    RGM_GOTO(RGM_ROWS(w.lines, run->samples.rows, err));
    find_work(p, own, &w);
    set_apart(p, RGM_CAUSE_PICKLING, w.passing, w.passing + w.importing + w.busy);
    set_apart(p, RGM_CAUSE_IMPORTS, w.importing, w.importing + w.busy);
    RGM_GOTO(choose_lines(p, &w, err));
done:
    rgm_free(w.keys);
    rgm_free(w.samples);
    rgm_free(w.lines);
    return status;
}
