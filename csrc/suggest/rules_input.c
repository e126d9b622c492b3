// SPDX-License-Identifier: Apache-2.0
// Rules about the data loader, and about steps that differ from the others.
#include <math.h>

#include "analysis/stats.h"
#include "base/memory.h"
#include "suggest/suggester.h"

static void data_loader(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_DATA_LOADER);
    s->open.confidence = RGM_DEGREE_HIGH;
    rgm_suggest_claim_between(s, facts->start_ns, facts->end_ns, RGM_PATH_BIT(DATA_LOADING), -1);
    for (size_t i = 0; i < facts->path.rows; i++) {
        int32_t span = facts->path.span[i];
        if (facts->path.kind[i] == RGM_PATH_DATA_LOADING && span >= 0 && s->open.span < 0)
            rgm_suggest_about(s, (size_t)span);
    }
    s->open.count = 0;
    s->open.current_ns = rgm_facts_path_total(facts, RGM_PATH_BIT(DATA_LOADING));
    rgm_suggest_close(s, facts->policy->suggest_loader_share);
}

// Without workers the loader's iterator does its work in the training thread, and says so in its name.
static void loader_without_workers(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_LOADER_WITHOUT_WORKERS);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        if (!rgm_critical_is_host(rgm_view_kind(facts->view, i)) || !rgm_facts_on_rank(facts, i)) continue;
        if (!rgm_text_has(rgm_facts_text(facts, i), "_SingleProcessDataLoaderIter")) continue;
        rgm_suggest_about(s, i);
        rgm_suggest_claim_between(s, rgm_view_start(facts->view, i), rgm_view_end(facts->view, i),
                                  RGM_HOST_PATH, (int32_t)rgm_view_lane(facts->view, i));
    }
    rgm_suggest_close(s, facts->policy->suggest_loader_share);
}

// --- steps ------------------------------------------------------------------------------------------------

typedef struct {
    uint32_t *rows; // annotations ProfilerStep#N of the rank, in order of time
    int64_t *durations, *sorted;
    size_t count;
} steps;

static bool is_step(const rgm_facts *facts, size_t row) {
    return rgm_kind_may_be_step(rgm_view_kind(facts->view, row)) && rgm_facts_on_rank(facts, row) &&
           rgm_step_number(rgm_facts_text(facts, row)) >= 0;
}

static rgm_status steps_init(steps *all, const rgm_facts *facts, rgm_error *err) {
    size_t count = 0;
    for (size_t i = 0; i < facts->view->n_spans; i++) count += is_step(facts, i);
    RGM_TRY(RGM_ROWS(all->rows, count, err));
    RGM_TRY(RGM_ROWS(all->durations, count, err));
    RGM_TRY(RGM_ROWS(all->sorted, count, err));
    for (size_t i = 0; i < facts->view->n_spans && all->count < count; i++) {
        uint32_t row = facts->view->lane_spans[i];
        if (!is_step(facts, row)) continue;
        all->durations[all->count] = rgm_facts_duration(facts, row);
        all->rows[all->count++] = row;
    }
    return RGM_OK;
}

static void steps_release(steps *all) {
    rgm_free(all->rows);
    rgm_free(all->durations);
    rgm_free(all->sorted);
}

static double median_of(steps *all, size_t from) {
    int64_t scratch_needed = (int64_t)(all->count - from);
    for (size_t i = from; i < all->count; i++) all->sorted[i - from] = all->durations[i];
    int64_t *scratch = rgm_malloc((size_t)(scratch_needed + 1) * sizeof *scratch);
    if (!scratch) return NAN;
    double median = rgm_spread_of(all->sorted, all->count - from, scratch, 1).median;
    rgm_free(scratch);
    return median;
}

static void claim_step(rgm_suggester *s, uint32_t row, double usual) {
    int64_t start = rgm_view_start(s->facts->view, row), end = rgm_view_end(s->facts->view, row);
    int64_t beyond = start + (int64_t)usual; // what is longer than usual counts from there
    rgm_suggest_about(s, row);
    if (beyond < end) rgm_suggest_claim_between(s, beyond, end, RGM_ANY_PATH, -1);
}

static void outliers(rgm_suggester *s, steps *all) {
    const rgm_policy *policy = s->facts->policy;
    rgm_moments moments = {0};
    for (size_t i = 0; i < all->count; i++) rgm_moments_add(&moments, (double)all->durations[i]);
    double limit = moments.mean + policy->suggest_outlier_deviations * rgm_moments_std_dev(&moments);
    if ((double)all->count < policy->suggest_outlier_steps_least) return;
    double usual = median_of(all, 0);
    rgm_suggest_open(s, RGM_RULE_STEP_OUTLIERS);
    s->open.confidence = RGM_DEGREE_LOW;
    for (size_t i = 0; i < all->count; i++)
        if ((double)all->durations[i] > limit) claim_step(s, all->rows[i], usual);
    if (!((double)s->open.count > policy->suggest_outlier_steps)) {
        rgm_suggest_drop(s);
        return;
    }
    s->open.subject = 0;
    rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)s->open.count, policy->suggest_outlier_steps,
                     s->open.span);
    rgm_suggest_note(s, RGM_QUANTITY_STEPS, (double)all->count, policy->suggest_outlier_steps_least, -1);
    rgm_suggest_note(s, RGM_QUANTITY_LONGEST_NS, limit, NAN, -1);
    rgm_suggest_close(s, 0);
}

static void first_step(rgm_suggester *s, steps *all) {
    enum { LEAST = 3 };
    if (all->count < LEAST) return;
    double usual = median_of(all, 1), ratio = (double)all->durations[0] / usual;
    if (!(ratio >= s->facts->policy->suggest_first_step_ratio)) return;
    rgm_suggest_open(s, RGM_RULE_SLOW_FIRST_STEP);
    claim_step(s, all->rows[0], usual);
    rgm_suggest_note(s, RGM_QUANTITY_RATIO, ratio, s->facts->policy->suggest_first_step_ratio, all->rows[0]);
    rgm_suggest_note(s, RGM_QUANTITY_STEPS, (double)all->count, NAN, -1);
    rgm_suggest_close(s, 0);
}

void rgm_suggest_input(rgm_suggester *s) {
    steps all = {0};
    data_loader(s);
    loader_without_workers(s);
    rgm_status status = steps_init(&all, s->facts, s->err);
    if (status == RGM_OK) {
        outliers(s, &all);
        first_step(s, &all);
    } else {
        rgm_suggest_fail(s, status);
    }
    steps_release(&all);
}
