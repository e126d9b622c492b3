// SPDX-License-Identifier: Apache-2.0
// Rules about device memory as the framework's allocator reports it.
#include <math.h>

#include "base/memory.h"
#include "suggest/host_work.h"

typedef struct {
    double allocated, reserved; // bytes at the highest reserved value
    int64_t span;
    int16_t device;
    bool known;
} high_water;

static high_water highest(const rgm_facts *facts) {
    const rgm_memory *memory = &facts->view->run->memory;
    high_water found = {.span = -1, .device = -1};
    for (size_t i = 0; i < memory->rows; i++) {
        double reserved = (double)RGM_CELL(memory, reserved, i, -1);
        double allocated = (double)RGM_CELL(memory, allocated, i, -1);
        int16_t device = RGM_CELL(memory, device, i, -1);
        if (device < 0 || reserved <= 0 || (found.known && reserved < found.reserved)) continue;
        // Of equal reserves the most in use: fragmentation is what even the peak does not use.
        if (found.known && reserved == found.reserved && allocated <= found.allocated) continue;
        found = (high_water){allocated, reserved, RGM_CELL(memory, span, i, -1), device, true};
    }
    return found;
}

static void near_limit(rgm_suggester *s, const high_water *peak) {
    double share = peak->reserved / s->facts->memory_total;
    if (!peak->known || !(share >= s->facts->policy->suggest_memory_share)) return;
    rgm_suggest_open(s, RGM_RULE_MEMORY_NEAR_LIMIT);
    s->open.confidence = RGM_DEGREE_HIGH;
    s->open.span = peak->span;
    rgm_suggest_note(s, RGM_QUANTITY_SHARE, share, s->facts->policy->suggest_memory_share, peak->span);
    rgm_suggest_note(s, RGM_QUANTITY_BYTES, peak->reserved, NAN, peak->span);
    rgm_suggest_note(s, RGM_QUANTITY_LIMIT_BYTES, s->facts->memory_total, NAN, -1);
    rgm_suggest_close_unbounded(s);
}

static void fragmentation(rgm_suggester *s, const high_water *peak) {
    const rgm_policy *policy = s->facts->policy;
    double ratio = peak->allocated > 0 ? peak->reserved / peak->allocated : (double)NAN;
    double share = peak->reserved / s->facts->memory_total;
    if (!peak->known || !(ratio >= policy->suggest_fragmentation) ||
        !(share >= policy->suggest_fragmentation_share))
        return;
    rgm_suggest_open(s, RGM_RULE_MEMORY_FRAGMENTATION);
    s->open.span = peak->span;
    rgm_suggest_note(s, RGM_QUANTITY_RATIO, ratio, policy->suggest_fragmentation, peak->span);
    rgm_suggest_note(s, RGM_QUANTITY_SHARE, share, policy->suggest_fragmentation_share, peak->span);
    rgm_suggest_note(s, RGM_QUANTITY_BYTES, peak->reserved - peak->allocated, NAN, peak->span);
    rgm_suggest_close_unbounded(s);
}

// --- growth -----------------------------------------------------------------------------------------------

// Peaks of allocated memory by step, in order of the events; the steps of a trace ascend.
static size_t peaks_by_step(const rgm_facts *facts, int16_t device, double *peaks) {
    const rgm_memory *memory = &facts->view->run->memory;
    int32_t last = -1;
    size_t count = 0;
    for (size_t i = 0; i < memory->rows; i++) {
        int64_t span = RGM_CELL(memory, span, i, -1);
        double allocated = (double)RGM_CELL(memory, allocated, i, -1);
        int32_t step = span >= 0 ? rgm_view_step(facts->view, (size_t)span) : -1;
        if (step < 0 || allocated < 0 || RGM_CELL(memory, device, i, -1) != device) continue;
        if (count == 0 || step > last) peaks[count++] = 0;
        last = step > last ? step : last;
        if (allocated > peaks[count - 1]) peaks[count - 1] = allocated;
    }
    return count;
}

static double least_of(const double *values, size_t from, size_t to) {
    double least = INFINITY;
    for (size_t i = from; i < to; i++) least = values[i] < least ? values[i] : least;
    return least;
}

static double most_of(const double *values, size_t from, size_t to) {
    double most = -INFINITY;
    for (size_t i = from; i < to; i++) most = values[i] > most ? values[i] : most;
    return most;
}

// The smallest peak of the last third exceeds the largest of the first: no single step explains it.
static void growth(rgm_suggester *s, const high_water *peak) {
    const rgm_policy *policy = s->facts->policy;
    double *peaks = rgm_malloc((s->facts->view->run->memory.rows + 1) * sizeof *peaks);
    if (!peaks) {
        rgm_suggest_fail(s, rgm_error_no_memory(s->err));
        return;
    }
    size_t count = peak->known ? peaks_by_step(s->facts, peak->device, peaks) : 0, third = count / 3;
    double before = third ? most_of(peaks, 0, third) : (double)NAN;
    double grown = third ? least_of(peaks, count - third, count) - before : (double)NAN;
    if ((double)count >= policy->suggest_growth_steps && grown >= policy->suggest_growth_share * before) {
        rgm_suggest_open(s, RGM_RULE_MEMORY_GROWTH);
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, grown / before, policy->suggest_growth_share, -1);
        rgm_suggest_note(s, RGM_QUANTITY_BYTES, grown, NAN, -1);
        rgm_suggest_note(s, RGM_QUANTITY_STEPS, (double)count, policy->suggest_growth_steps, -1);
        rgm_suggest_close_unbounded(s);
    }
    rgm_free(peaks);
}

// --- zero_grad --------------------------------------------------------------------------------------------

// The operator that cleared a gradient within zero_grad, or that adds to one that is there, -1 for none.
// Without buffers that were cleared the backward pass puts the new gradient in place and adds nothing.
static int32_t clears(const rgm_facts *facts, size_t row) {
    static const char *const zero[] = {"aten::zero_", "aten::_foreach_zero_", NULL};
    int32_t at = rgm_facts_above(facts, row, zero);
    return at >= 0 && rgm_facts_below(facts, at, "zero_grad") ? at : -1;
}

static int32_t accumulates(const rgm_facts *facts, size_t row) {
    static const char *const add[] = {"aten::add_", NULL};
    int32_t at = rgm_facts_above(facts, row, add);
    return at >= 0 && rgm_facts_below(facts, at, "torch::autograd::AccumulateGrad") ? at : -1;
}

static void zero_grad(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    bool cleared = false;
    rgm_suggest_open(s, RGM_RULE_ZERO_GRAD);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!rgm_facts_on_rank(facts, row)) continue;
        int32_t zero = clears(facts, row), op = zero >= 0 ? zero : accumulates(facts, row);
        if (op < 0) continue;
        cleared |= zero >= 0;
        rgm_suggest_about(s, row);
        rgm_suggest_claim_span(s, row, RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
        rgm_suggest_claim_host(s, (size_t)op);
    }
    if (cleared)
        rgm_suggest_close(s, 0);
    else
        rgm_suggest_drop(s);
}

void rgm_suggest_memory(rgm_suggester *s) {
    const high_water peak = highest(s->facts);
    near_limit(s, &peak);
    fragmentation(s, &peak);
    growth(s, &peak);
    zero_grad(s);
}
