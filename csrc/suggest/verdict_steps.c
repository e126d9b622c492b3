// SPDX-License-Identifier: Apache-2.0
// Steps that differ from the others: the first, which pays for what the others use, and single ones.
#include <math.h>
#include <stdlib.h>

#include "analysis/stats.h"
#include "base/memory.h"
#include "suggest/verdict_facts.h"

// The step that a time lies in; n_steps where it lies in none.
static size_t step_at(const rgm_verdict_facts *facts, int64_t time) {
    size_t low = 0, high = facts->n_steps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rgm_view_end(facts->view, facts->steps[middle]) > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low < facts->n_steps && rgm_view_start(facts->view, facts->steps[low]) <= time ? low
                                                                                          : facts->n_steps;
}

// How long each step took, less what other programs took of it.
static rgm_status given_durations(const rgm_verdict_facts *facts, int64_t *given, rgm_error *err) {
    enum { FEWEST = 3 }; // samples that tell of a step by itself
    const rgm_samples *samples = &facts->view->run->samples;
    int64_t(*found)[2] = rgm_calloc(facts->n_steps + 1, sizeof *found);
    if (!found) return rgm_error_no_memory(err);
    for (size_t i = 0; i < samples->rows && !facts->crowded; i++) {
        if (RGM_CELL(samples, thread, i, -1) != facts->thread) continue;
        bool displaced = RGM_CELL(samples, state, i, RGM_SAMPLE_UNKNOWN) == RGM_SAMPLE_WAITING_FOR_PROCESSOR;
        found[step_at(facts, samples->time_ns[i])][displaced]++;
    }
    for (size_t i = 0; i < facts->n_steps; i++) {
        bool few = found[i][0] + found[i][1] < FEWEST;
        int64_t told = few ? facts->samples : found[i][0], displaced = few ? facts->displaced : found[i][1];
        double whole = (double)facts->view->run->spans.duration_ns[facts->steps[i]];
        given[i] = (int64_t)rgm_verdict_given(whole, told, displaced);
    }
    rgm_free(found);
    return RGM_OK;
}

static void first_step(rgm_verdict_facts *facts, const int64_t *given, double usual) {
    rgm_cause_time *cause = &facts->causes[RGM_CAUSE_FIRST_STEP];
    double excess = (double)given[0] - usual;
    if (!(usual > 0) || !((double)given[0] >= facts->policy->verdict_first_ratio * usual)) return;
    *cause = (rgm_cause_time){.time_ns = (int64_t)excess,
                              .count = 1,
                              .figure = (double)given[0] / usual,
                              .stack = -1,
                              .span = facts->steps[0],
                              .subject_share = NAN,
                              .found = true};
}

// What steps take beyond a multiple of the usual one; the first is told by itself.
static void uneven_steps(rgm_verdict_facts *facts, const int64_t *given, double usual) {
    double limit = facts->policy->verdict_uneven_ratio * usual, excess = 0;
    int64_t count = 0, longest = 0, span = -1;
    for (size_t i = 1; i < facts->n_steps; i++) {
        if (!((double)given[i] > limit)) continue;
        excess += (double)given[i] - usual;
        count++;
        if (given[i] <= longest) continue;
        longest = given[i];
        span = facts->steps[i];
    }
    if (!count || !(usual > 0)) return;
    facts->causes[RGM_CAUSE_UNEVEN_STEPS] = (rgm_cause_time){.time_ns = (int64_t)excess,
                                                             .count = count,
                                                             .figure = (double)longest / usual,
                                                             .stack = -1,
                                                             .span = span,
                                                             .subject_share = NAN,
                                                             .found = true};
}

rgm_status rgm_verdict_of_steps(rgm_verdict_facts *facts, rgm_error *err) {
    enum { LEAST = 4 }; // of fewer nobody knows which is usual
    int64_t *given = NULL, *sorted = NULL, *scratch = NULL;
    rgm_status status = RGM_OK;
    if (facts->n_steps < LEAST) return RGM_OK;
    RGM_GOTO(RGM_ROWS(sorted, facts->n_steps, err));
    RGM_GOTO(RGM_ROWS(scratch, facts->n_steps, err));
    RGM_GOTO(RGM_ROWS(given, facts->n_steps, err));
    RGM_GOTO(given_durations(facts, given, err));
    for (size_t i = 1; i < facts->n_steps; i++) sorted[i - 1] = given[i];
    double usual = rgm_spread_of(sorted, facts->n_steps - 1, scratch, 1).median;
    first_step(facts, given, usual);
    uneven_steps(facts, given, usual);
done:
    rgm_free(given);
    rgm_free(sorted);
    rgm_free(scratch);
    return status;
}
