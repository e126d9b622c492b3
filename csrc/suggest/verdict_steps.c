// SPDX-License-Identifier: Apache-2.0
// Steps that differ from the others: the first, which pays for what the others use, and single ones.
#include <math.h>
#include <stdlib.h>

#include "analysis/stats.h"
#include "base/memory.h"
#include "base/search.h"
#include "suggest/verdict_facts.h"
#include "suggest/verdict_waits.h"

// The step that a time lies in; n_steps where it lies in none.
static size_t step_at(const rgm_verdict_facts *facts, int64_t time) {
    rgm_search search = rgm_search_in(0, facts->n_steps);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, !(rgm_view_end(facts->view, facts->steps[search.middle]) > time));
    return search.low < facts->n_steps && rgm_view_start(facts->view, facts->steps[search.low]) <= time
               ? search.low
               : facts->n_steps;
}

// Whether a sample found the thread held up by other programs: without a processor, or, where they have taken
// much of them, waiting for helpers of compiled code that have none either.
static bool is_held_up(const rgm_verdict_facts *facts, size_t sample, bool helpers) {
    const rgm_samples *samples = &facts->view->run->samples;
    if (RGM_CELL(samples, state, sample, RGM_SAMPLE_UNKNOWN) == RGM_SAMPLE_WAITING_FOR_PROCESSOR) return true;
    int64_t span = RGM_CELL(samples, span, sample, -1);
    int32_t inner = helpers && span >= 0 && (size_t)span < facts->view->n_spans ? facts->inner[span] : -1;
    return inner >= 0 && rgm_verdict_awaits_helpers(facts, (rgm_role)facts->role[inner], sample);
}

// At most so much of a step has the thread been ready to run without a processor: all that it waited in the
// intervals that the step has a part in. `*at` is the first of them that may be of the next step too.
static int64_t held_up_at_most(const rgm_verdict_facts *facts, size_t row, size_t *at) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    int64_t start = rgm_view_start(facts->view, row), end = rgm_view_end(facts->view, row), sum = 0;
    while (*at < facts->n_intervals && pressure->time_ns[facts->intervals[*at]] <= start) ++*at;
    for (size_t next = *at; next < facts->n_intervals && !facts->crowded; next++) {
        uint32_t i = facts->intervals[next];
        int64_t from = pressure->time_ns[i] - RGM_CELL(pressure, interval_ns, i, 0);
        int64_t to = pressure->time_ns[i], waited = RGM_CELL(pressure, waiting_ns, i, -1);
        if (from >= end) break;
        int64_t shared = (to < end ? to : end) - (from > start ? from : start);
        if (waited > 0 && shared > 0) sum += waited < shared ? waited : shared;
    }
    return sum;
}

// How long each step took, less what other programs took of it.
static rgm_status given_durations(const rgm_verdict_facts *facts, int64_t *given, rgm_error *err) {
    const rgm_samples *samples = &facts->view->run->samples;
    int64_t(*found)[2] = rgm_calloc(facts->n_steps + 1, sizeof *found);
    bool helpers = (double)facts->displaced >=
                   facts->policy->verdict_displaced * (double)(facts->samples + facts->displaced);
    if (!found) return rgm_error_no_memory(err);
    for (size_t i = 0; i < samples->rows && !facts->crowded; i++) {
        if (RGM_CELL(samples, thread, i, -1) != facts->thread) continue;
        found[step_at(facts, samples->time_ns[i])][is_held_up(facts, i, helpers)]++;
    }
    for (size_t i = 0; i < facts->n_steps; i++) {
        double whole = (double)rgm_verdict_inside(facts, facts->steps[i]);
        given[i] = (int64_t)rgm_verdict_given(facts, whole, found[i][0], found[i][1]);
    }
    rgm_free(found);
    return RGM_OK;
}

// What a step took in any case, whatever other programs may have taken of it; 0 where they had so much of it
// that its length tells nothing: helpers of compiled code without a processor let the thread spin. Steps are
// asked for in order.
static int64_t surely(const rgm_verdict_facts *facts, const int64_t *given, size_t step, size_t *at) {
    int64_t whole = rgm_verdict_inside(facts, facts->steps[step]);
    if ((double)given[step] <= (1 - facts->policy->verdict_others_most) * (double)whole) return 0;
    whole -= held_up_at_most(facts, facts->steps[step], at);
    return whole < given[step] ? whole : given[step];
}

static void first_step(rgm_verdict_facts *facts, const int64_t *given, double usual) {
    rgm_cause_time *cause = &facts->causes[RGM_CAUSE_FIRST_STEP];
    size_t at = 0;
    double own = (double)surely(facts, given, 0, &at), excess = own - usual;
    if (!(usual > 0) || !(own >= facts->policy->verdict_first_ratio * usual)) return;
    *cause = RGM_NO_CAUSE_TIME;
    cause->time_ns = (int64_t)excess;
    cause->count = 1;
    cause->figure = own / usual;
    cause->span = facts->steps[0];
    cause->found = true;
}

// What steps take beyond a multiple of the usual one; the first is told by itself.
static void uneven_steps(rgm_verdict_facts *facts, const int64_t *given, double usual) {
    double limit = facts->policy->verdict_uneven_ratio * usual, excess = 0;
    int64_t count = 0, longest = 0, span = -1;
    size_t at = 0;
    for (size_t i = 1; i < facts->n_steps; i++) {
        if (!((double)given[i] > limit)) continue;
        int64_t own = surely(facts, given, i, &at);
        if (!((double)own > limit)) continue;
        excess += (double)own - usual;
        count++;
        if (own <= longest) continue;
        longest = own;
        span = facts->steps[i];
    }
    if (!count || !(usual > 0)) return;
    rgm_cause_time *cause = &facts->causes[RGM_CAUSE_UNEVEN_STEPS];
    *cause = RGM_NO_CAUSE_TIME;
    cause->time_ns = (int64_t)excess;
    cause->count = count;
    cause->figure = (double)longest / usual;
    cause->span = span;
    cause->found = true;
}

rgm_status rgm_verdict_of_steps(rgm_verdict_facts *facts, rgm_error *err) {
    enum { LEAST = 4 }; // of fewer nobody knows which is usual
    RGM_FREED int64_t *given = NULL, *sorted = NULL, *scratch = NULL;
    if (facts->n_steps < LEAST) return RGM_OK;
    RGM_TRY(RGM_ROWS(sorted, facts->n_steps, err));
    RGM_TRY(RGM_ROWS(scratch, facts->n_steps, err));
    RGM_TRY(RGM_ROWS(given, facts->n_steps, err));
    RGM_TRY(given_durations(facts, given, err));
    for (size_t i = 1; i < facts->n_steps; i++) sorted[i - 1] = given[i];
    double usual = rgm_spread_of(sorted, facts->n_steps - 1, scratch, 1).median;
    first_step(facts, given, usual);
    uneven_steps(facts, given, usual);
    return RGM_OK;
}
