// SPDX-License-Identifier: Apache-2.0
// Time in which nobody saw what the program did: its thread was sampled before and after, and meanwhile not
// once. It was suspended with its process, or had no processor, or ran nothing of the language.
#include "analysis/stats.h"
#include "base/memory.h"
#include "suggest/verdict_displaced.h"

static rgm_status times_of(const rgm_verdict_facts *facts, int64_t **out, size_t *count, rgm_error *err) {
    const rgm_samples *samples = &facts->view->run->samples;
    RGM_TRY(RGM_ROWS(*out, samples->rows, err));
    for (size_t i = 0; i < samples->rows; i++) // in order
        if (rgm_verdict_is_driving(facts, i)) (*out)[(*count)++] = samples->time_ns[i];
    return RGM_OK;
}

static bool is_long(const int64_t *times, size_t count, double least) {
    for (size_t i = 1; i < count; i++)
        if ((double)(times[i] - times[i - 1]) >= least) return true;
    return false;
}

static rgm_status usual_distance(const int64_t *times, size_t count, double *out, rgm_error *err) {
    RGM_FREED int64_t *distances = NULL, *scratch = NULL;
    RGM_TRY(RGM_ROWS(distances, count, err));
    RGM_TRY(RGM_ROWS(scratch, count, err));
    for (size_t i = 1; i < count; i++) distances[i - 1] = times[i] - times[i - 1];
    *out = rgm_spread_of(distances, count - 1, scratch, 1).median;
    return RGM_OK;
}

rgm_status rgm_verdict_find_unseen(rgm_verdict_facts *facts, rgm_error *err) {
    static const double many = 10; // usual distances
    double least = facts->policy->verdict_unseen_ns, usual = 0;
    RGM_FREED int64_t *times = NULL;
    size_t count = 0;
    RGM_TRY(times_of(facts, &times, &count, err));
    if (!is_long(times, count, least)) return RGM_OK;
    RGM_TRY(usual_distance(times, count, &usual, err));
    if (least < many * usual) least = many * usual;
    RGM_TRY(RGM_ROWS(facts->unseen, count, err));
    for (size_t i = 1; i < count; i++) {
        if ((double)(times[i] - times[i - 1]) < least) continue;
        facts->unseen[facts->n_unseen++] = (rgm_unseen){times[i - 1], times[i]};
        facts->unseen_ns += times[i] - times[i - 1];
    }
    return RGM_OK;
}

int64_t rgm_verdict_unseen_in(const rgm_verdict_facts *facts, int64_t start, int64_t end) {
    int64_t sum = 0;
    for (size_t i = 0; i < facts->n_unseen; i++) {
        int64_t from = facts->unseen[i].start_ns > start ? facts->unseen[i].start_ns : start;
        int64_t to = facts->unseen[i].end_ns < end ? facts->unseen[i].end_ns : end;
        if (to > from) sum += to - from;
    }
    return sum;
}
