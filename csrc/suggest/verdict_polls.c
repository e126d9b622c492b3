// SPDX-License-Identifier: Apache-2.0
// A pause of a step is a short stretch between stretches of work. Who polls does nothing else for long: it
// sleeps, waits for the interpreter's lock to go on, looks (in one sample of many), sleeps again, while
// others work for nearly all of the time; who waits for a signal, or an event loop that has nothing to run,
// is no different. Between the steps of a training nobody polls: there a sleep is a pause, whatever
// prefetches meanwhile.
#include "suggest/verdict_polls.h"

#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "base/search.h"
#include "suggest/verdict_displaced.h"
#include "suggest/verdict_partition.h"
#include "suggest/verdict_waits.h"

// Samples of a stretch at least; found awake as many times in a row ends it, more often than once for so many
// times asleep there are pauses of work in it.
enum { FEWEST = 30, AWAKE = 10, ASLEEP_TO_ONE = 10 };

typedef struct {
    const rgm_verdict_facts *facts;
    uint32_t *mine; // samples of the driving thread, in order of time
    size_t count;
    uint8_t *found; // [samples]
} search_for_polls;

// Samples `first` to `last` of the thread, the last asleep at `line`. `awake` counts those within, `since`
// those after it.
typedef struct {
    size_t first, last;
    int64_t asleep, awake, since, helped;
    uint64_t line;
} stretch;

// A task of an event loop that sleeps holds all others up.
static bool is_asleep(const search_for_polls *s, size_t i) {
    const rgm_view *view = s->facts->view;
    uint8_t state = s->facts->states[s->mine[i]];
    int32_t stack = rgm_stack_of_sample(view, s->mine[i]);
    if (state == RGM_SAMPLE_SLEEPING) return !rgm_stack_is_in_task(view, stack);
    return state == RGM_SAMPLE_WAITING ||
           (state == RGM_SAMPLE_WAITING_FOR_SOCKET && rgm_stack_is_of_loop(view, stack));
}

static uint64_t line_of(const search_for_polls *s, size_t i) {
    const rgm_view *view = s->facts->view;
    return rgm_line_key(view, rgm_stack_own_line(view, rgm_stack_of_sample(view, s->mine[i])));
}

// Who waits for the interpreter's lock, in which others work, does not work itself: a line of a report that
// is written out waits for it, too. Who waits for a processor where it has slept has not looked yet;
// elsewhere it is at work.
static bool is_awake(const search_for_polls *s, const stretch *one, size_t i) {
    uint8_t state = s->facts->states[s->mine[i]];
    if (state == RGM_SAMPLE_WAITING_FOR_LOCK) return false;
    return state != RGM_SAMPLE_WAITING_FOR_PROCESSOR || line_of(s, i) != one->line;
}

static int64_t time_of(const search_for_polls *s, size_t i) {
    return s->facts->view->run->samples.time_ns[s->mine[i]];
}

// Samples of other processes lie elsewhere in the table: those of the thread within twice their mean distance
// are marked.
static void mark_processes(search_for_polls *s) {
    const rgm_view *view = s->facts->view;
    int64_t own = RGM_CELL(&view->run->lanes, process, s->facts->lane, -1);
    if (s->count < 2 || own < 0) return;
    int64_t near = 2 * ((time_of(s, s->count - 1) - time_of(s, 0)) / (int64_t)(s->count - 1));
    size_t marked = 0; // up to which all that belong to the sample before are
    int64_t before = INT64_MAX;
    for (size_t i = 0; i < view->run->samples.rows; i++) {
        int64_t time = view->run->samples.time_ns[i];
        if (rgm_verdict_line_beside(s->facts, i, own) < 0) continue;
        rgm_search search = rgm_search_in(0, s->count);
        while (rgm_search_on(&search)) rgm_search_tell(&search, time_of(s, search.middle) < time - near);
        size_t at = time >= before && marked > search.low ? marked : search.low;
        for (; at < s->count && time_of(s, at) <= time + near; at++)
            s->found[s->mine[at]] = RGM_POLLS_PROCESSES;
        marked = at;
        before = time;
    }
}

static bool polls(const search_for_polls *s, const stretch *one) {
    const rgm_policy *policy = s->facts->policy;
    return one->asleep >= FEWEST && one->awake * ASLEEP_TO_ONE <= one->asleep &&
           (double)(time_of(s, one->last) - time_of(s, one->first)) >= policy->verdict_polls_ns &&
           (double)one->helped >= policy->verdict_polls_share * (double)one->asleep;
}

static void end(search_for_polls *s, stretch *one) {
    bool polling = polls(s, one);
    for (size_t i = one->first; polling && i <= one->last; i++)
        if (is_asleep(s, i) || s->facts->states[s->mine[i]] == RGM_SAMPLE_WAITING_FOR_LOCK)
            s->found[s->mine[i]] |= RGM_POLLS;
    *one = (stretch){0};
}

static void add(search_for_polls *s, stretch *one, size_t i) {
    uint32_t sample = s->mine[i];
    if (!one->asleep) one->first = i;
    one->last = i;
    one->line = line_of(s, i);
    one->asleep++;
    one->awake += one->since;
    one->since = 0;
    one->helped += rgm_verdict_polled(s->facts, sample, s->found[sample]).cause != RGM_CAUSE_UNKNOWN;
}

static void look(search_for_polls *s) {
    stretch one = {0};
    mark_processes(s);
    for (size_t i = 0; i < s->count; i++) {
        if (is_asleep(s, i))
            add(s, &one, i);
        else if (one.asleep && is_awake(s, &one, i) && ++one.since == AWAKE)
            end(s, &one);
    }
    end(s, &one);
}

rgm_status rgm_verdict_find_polls(const rgm_verdict_facts *facts, uint8_t **out, rgm_error *err) {
    size_t rows = facts->view->run->samples.rows;
    search_for_polls s = {.facts = facts};
    *out = s.found = rgm_calloc(rows + 1, 1);
    if (!*out) return rgm_error_no_memory(err);
    if (facts->n_steps) return RGM_OK;
    RGM_TRY(RGM_ROWS(s.mine, rows, err));
    for (size_t i = 0; i < rows; i++)
        if (rgm_verdict_is_driving(facts, i)) s.mine[s.count++] = (uint32_t)i;
    look(&s);
    rgm_free(s.mine);
    return RGM_OK;
}
