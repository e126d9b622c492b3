// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/kernel_verdicts.h"

#include <math.h>

#include "analysis/regimes/kernel_work.h"
#include "analysis/stats.h"
#include "base/memory.h"

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    const rgm_ceilings *ceilings;
    rgm_kernel_works works;
    uint32_t *places; // positions of the kernels in the view's work
    double resolution_ns;
} judge;

// Traces until 2024 have whole microseconds.
static double resolution_of(const rgm_view *view) {
    enum { MICROSECOND = 1000 };
    for (size_t i = 0; i < view->n_work; i++)
        if (view->run->spans.duration_ns[view->work[i]] % MICROSECOND) return 0;
    return MICROSECOND;
}

// The sums over the kernels of a group, as one piece of work.
static rgm_work add_up(const judge *j, const rgm_kernel_verdicts *all, uint32_t group,
                       rgm_kernel_verdict *sum) {
    const uint32_t *items = all->groups.items + all->groups.first[group];
    size_t count = all->groups.first[group + 1] - all->groups.first[group];
    rgm_work work = rgm_work_none;
    double known = 0, compute_share = 0, memory_share = 0, blocks = 0, placed = 0;
    double operations[RGM_PIPE_COUNT] = {0}, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const rgm_kernel_work *w = &j->works.work[j->places[items[i]]];
        int64_t duration = j->view->run->spans.duration_ns[all->rows[items[i]]];
        double time = (double)duration;
        sum->total_ns = rgm_add_bounded(sum->total_ns, duration);
        if (!isnan(w->blocks_per_sm)) {
            blocks += w->blocks_per_sm * time;
            placed += time;
        }
        if (w->source == RGM_WORK_FROM_NOTHING) continue;
        known += time;
        if (w->source > sum->source) sum->source = w->source;
        for (int p = 0; p < RGM_PIPE_COUNT; p++) operations[p] += w->operations[p];
        bytes += w->bytes;
        compute_share += w->compute_share * time;
        memory_share += w->memory_share * time;
        work.operations_spread = fmax(work.operations_spread, w->operations_spread);
        work.bytes_spread = fmax(work.bytes_spread, w->bytes_spread);
    }
    sum->count = (int64_t)count;
    sum->known_ns = known;
    sum->operations = sum->bytes = NAN;
    sum->blocks_per_sm = placed > 0 ? blocks / placed : NAN;
    work.time_ns = (double)sum->total_ns;
    work.calls = (double)count;
    if (known <= 0 || known < j->policy->regime_known_share * (double)sum->total_ns) return work;
    work.time_ns = known;
    work.calls = (double)count * known / (double)sum->total_ns;
    work.bytes = sum->bytes = bytes;
    sum->operations = 0;
    for (int p = 0; p < RGM_PIPE_COUNT; p++) {
        work.operations[p] = operations[p];
        sum->operations += operations[p];
    }
    work.compute_share = compute_share / known;
    work.memory_share = memory_share / known;
    return work;
}

static void judge_group(const judge *j, rgm_kernel_verdicts *all, uint32_t group) {
    rgm_kernel_verdict *sum = &all->verdicts[group];
    rgm_work work = add_up(j, all, group, sum);
    double mean = (double)sum->total_ns / (double)sum->count;
    work.ceilings = j->ceilings;
    work.time_spread = mean > 0 ? j->resolution_ns / mean : 0;
    work.blocks = sum->blocks_per_sm;
    work.multiprocessors = isnan(sum->blocks_per_sm) ? NAN : 1;
    sum->verdict = rgm_classify(&work, j->policy);
    if (sum->verdict.reason == RGM_REASON_NO_WORK && sum->known_ns > 0)
        sum->verdict.reason = RGM_REASON_PARTLY;
}

static rgm_status find_kernels(judge *j, rgm_kernel_verdicts *all, rgm_verdicts_by by, rgm_error *err) {
    const rgm_view *view = j->view;
    RGM_FREED uint64_t *keys = rgm_malloc((view->n_work + 1) * sizeof *keys);
    all->rows = rgm_malloc((view->n_work + 1) * sizeof *all->rows);
    j->places = rgm_malloc((view->n_work + 1) * sizeof *j->places);
    if (!keys || !all->rows || !j->places) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_work; i++) {
        uint32_t row = view->work[i];
        if (rgm_view_kind(view, row) != RGM_KIND_KERNEL ||
            rgm_view_activity(view, row) != RGM_ACTIVITY_COMPUTE)
            continue;
        bool known = by == RGM_VERDICTS_BY_NAME_AND_WORK && j->works.work[i].source != RGM_WORK_FROM_NOTHING;
        keys[all->count] =
            by == RGM_VERDICTS_BY_KERNEL ? row : (uint64_t)rgm_view_name(view, row) << 1 | known;
        j->places[all->count] = (uint32_t)i;
        all->rows[all->count++] = row;
    }
    return rgm_groups_init(&all->groups, keys, all->count, err);
}

rgm_status rgm_kernel_verdicts_init(rgm_kernel_verdicts *verdicts, const rgm_view *view,
                                    const rgm_policy *policy, const rgm_ceilings *ceilings,
                                    rgm_verdicts_by by, rgm_error *err) {
    judge j = {.view = view, .policy = policy, .ceilings = ceilings, .resolution_ns = resolution_of(view)};
    rgm_status status;
    *verdicts = (rgm_kernel_verdicts){0};
    RGM_GOTO(rgm_kernel_works_init(&j.works, view, policy, err));
    RGM_GOTO(find_kernels(&j, verdicts, by, err));
    verdicts->verdicts = rgm_calloc((size_t)verdicts->groups.count + 1, sizeof *verdicts->verdicts);
    if (!verdicts->verdicts) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    for (uint32_t g = 0; g < verdicts->groups.count; g++) judge_group(&j, verdicts, g);
done:
    rgm_kernel_works_release(&j.works);
    rgm_free(j.places);
    if (status != RGM_OK) rgm_kernel_verdicts_release(verdicts);
    return status;
}

void rgm_kernel_verdicts_release(rgm_kernel_verdicts *verdicts) {
    rgm_free(verdicts->rows);
    rgm_groups_release(&verdicts->groups);
    rgm_free(verdicts->verdicts);
    *verdicts = (rgm_kernel_verdicts){0};
}
