// SPDX-License-Identifier: Apache-2.0
// Rules about kernels that could be one, about the longest of them, and about those far from the ceilings.
#include <math.h>

#include "analysis/waiting/streams.h"
#include "suggest/suggester.h"

static bool is_pointwise(const rgm_facts *facts, size_t row) {
    return rgm_facts_is_kernel(facts, row) && rgm_facts_type(facts, row) == RGM_KERNEL_TYPE_ELEMENTWISE;
}

static bool same_grid(const rgm_facts *facts, size_t a, size_t b) {
    const rgm_launches *l = &facts->view->run->launches;
    int32_t x = facts->launch_row[a], y = facts->launch_row[b];
    if (x < 0 || y < 0) return x == y; // not recorded for either
    return RGM_CELL(l, grid_x, (size_t)x, 0) == RGM_CELL(l, grid_x, (size_t)y, 0) &&
           RGM_CELL(l, grid_y, (size_t)x, 0) == RGM_CELL(l, grid_y, (size_t)y, 0) &&
           RGM_CELL(l, block_x, (size_t)x, 0) == RGM_CELL(l, block_x, (size_t)y, 0);
}

typedef struct {
    double saved, time; // on the path
    int64_t chains;
} chains;

static void end_chain(rgm_suggester *s, const uint32_t *rows, size_t count, chains *all) {
    if ((double)count < s->facts->policy->suggest_chain_length) return;
    double time = 0, shortest = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double here = (double)rgm_facts_on_path(s->facts, rows[i], RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
        rgm_suggest_about(s, rows[i]);
        rgm_suggest_claim_span(s, rows[i], RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
        time += here;
        if (here < shortest) shortest = here;
    }
    all->chains++;
    all->time += time;
    all->saved += time - shortest;
}

// Each of the pointwise kernels over the same elements reads and writes them; one kernel does it once, and
// takes at least what the shortest of them takes. Their mean would be no bound: one of them may hold most of
// the time because it reads more, and what it reads may be the result of another.
static void pointwise_chains(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_streams streams = {0};
    chains all = {0};
    rgm_status status = rgm_streams_init(&streams, facts->view, true, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    rgm_suggest_open(s, RGM_RULE_POINTWISE_CHAIN);
    for (size_t t = 0; status == RGM_OK && t < streams.count; t++) {
        for (size_t i = streams.first[t]; i < streams.first[t + 1];) {
            size_t end = i;
            for (; end < streams.first[t + 1]; end++) {
                uint32_t row = streams.rows[end];
                if (!is_pointwise(facts, row) || !rgm_facts_on_rank(facts, row)) break;
                if (end > i && !same_grid(facts, streams.rows[end - 1], row)) break;
            }
            end_chain(s, streams.rows + i, end - i, &all);
            i = end > i ? end : i + 1;
        }
    }
    rgm_streams_release(&streams);
    s->open.high = all.time > 0 ? all.saved / all.time : 0;
    rgm_suggest_note(s, RGM_QUANTITY_RATIO,
                     all.chains ? (double)s->open.count / (double)all.chains : (double)NAN,
                     facts->policy->suggest_chain_length, s->open.span);
    rgm_suggest_close(s, 0);
}

// What a faster kernel would save cannot be told from its time alone.
static void top_kernel(rgm_suggester *s) {
    const rgm_question question = {0};
    rgm_kernel_times times = {0};
    rgm_status status = rgm_kernel_times_compute(s->facts->view, s->facts->policy, &question, &times, s->err);
    double total = 0;
    size_t top = SIZE_MAX;
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    for (size_t i = 0; status == RGM_OK && i < times.rows; i++) {
        if (times.others[i] || times.activity[i] != RGM_ACTIVITY_COMPUTE ||
            times.type[i] == RGM_KERNEL_TYPE_PROGRAM) // which is no kernel
            continue;
        total += (double)times.total_ns[i];
        if (top == SIZE_MAX || times.total_ns[i] > times.total_ns[top]) top = i;
    }
    double share = top != SIZE_MAX && total > 0 ? (double)times.total_ns[top] / total : 0;
    if (share > s->facts->policy->suggest_top_kernel_share) {
        rgm_suggest_open(s, RGM_RULE_TOP_KERNEL);
        s->open.subject = times.name[top];
        s->open.current_ns = times.total_ns[top];
        for (size_t w = 0; w < s->facts->view->n_work; w++) {
            uint32_t row = s->facts->view->work[w];
            if (rgm_view_name(s->facts->view, row) != times.name[top]) continue;
            if (s->open.span < 0) s->open.span = row;
            rgm_suggest_claim_span(s, row, RGM_ON_DEVICE_PATH);
        }
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, share, s->facts->policy->suggest_top_kernel_share,
                         s->open.span);
        rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)times.count[top], NAN, s->open.span);
        rgm_suggest_note(s, RGM_QUANTITY_MEAN_NS, times.mean_ns[top], NAN, s->open.span);
        rgm_claim_close(&s->open.claim);
        double of_path = rgm_facts_share(s->facts, rgm_claim_total(&s->open.claim));
        rgm_suggest_note(s, RGM_QUANTITY_PATH_SHARE, of_path, s->facts->policy->suggest_top_kernel_path,
                         s->open.span);
        if (of_path >= s->facts->policy->suggest_top_kernel_path)
            rgm_suggest_close_unbounded(s);
        else
            rgm_suggest_drop(s);
    }
    rgm_table_release(&rgm_kernel_times_desc, &times);
}

// --- the ceilings -----------------------------------------------------------------------------------------

static double ceiling(const rgm_facts *facts, rgm_ceiling_id id) { return facts->ceilings->at[id].value; }

// The peak of the operands' type; of single precision the faster of the two pipes, a bound in any case.
static double peak_for(const rgm_facts *facts, rgm_name types) {
    rgm_string text = rgm_view_text(facts->view, types);
    if (rgm_text_has(text, "Half")) return ceiling(facts, RGM_CEILING_COMPUTE_FP16);
    if (rgm_text_has(text, "BFloat16")) return ceiling(facts, RGM_CEILING_COMPUTE_BF16);
    if (rgm_text_has(text, "Float8")) return ceiling(facts, RGM_CEILING_COMPUTE_FP8);
    if (rgm_text_has(text, "double")) return ceiling(facts, RGM_CEILING_COMPUTE_FP64);
    if (!rgm_text_has(text, "float")) return NAN;
    double plain = ceiling(facts, RGM_CEILING_COMPUTE_FP32),
           tensor = ceiling(facts, RGM_CEILING_COMPUTE_TF32);
    return tensor > plain ? tensor : plain;
}

// Claims the kernels below an operator call on the path.
static void claim_call(rgm_suggester *s, size_t op) {
    const rgm_view *view = s->facts->view;
    uint32_t lane = rgm_view_lane(view, op);
    for (uint32_t i = rgm_facts_first_from(s->facts, lane, rgm_view_start(view, op));
         i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (rgm_view_start(view, row) >= rgm_view_end(view, op)) break;
        for (uint32_t k = view->launched_first[row]; k < view->launched_first[row + 1]; k++)
            rgm_suggest_claim_span(s, view->launched[k], RGM_ON_DEVICE_PATH);
    }
}

static void claim_row(rgm_suggester *s, const rgm_operator_flops *work, size_t i, double roof) {
    rgm_suggest_open(s, RGM_RULE_FAR_FROM_ROOF);
    s->open.subject = work->name[i];
    s->open.span = work->span[i];
    s->open.count = work->calls[i];
    s->open.current_ns = work->device_ns[i];
    s->open.high = 1 - roof / (double)work->device_ns[i];
    claim_call(s, (size_t)work->span[i]);
    rgm_suggest_note(s, RGM_QUANTITY_RATIO, (double)work->device_ns[i] / roof,
                     s->facts->policy->suggest_roof_ratio, work->span[i]);
    rgm_suggest_note(s, RGM_QUANTITY_ROOF_NS, roof, NAN, work->span[i]);
    rgm_suggest_note(s, RGM_QUANTITY_FLOP_RATE, work->flops_per_s[i], NAN, work->span[i]);
    rgm_suggest_close(s, 0);
}

// One operator call at a time, and only those that matter by themselves.
static void far_from_roof(rgm_suggester *s) {
    enum { BY_CALL = 1 };
    const rgm_facts *facts = s->facts;
    const rgm_question question = {.group_by = BY_CALL};
    rgm_operator_flops work = {0};
    rgm_status status = rgm_operator_flops_compute(facts->view, facts->policy, &question, &work, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    double bandwidth = ceiling(facts, RGM_CEILING_MEMORY_TRIAD);
    for (size_t i = 0; status == RGM_OK && i < work.rows; i++) {
        if (work.span[i] < 0 || !rgm_facts_on_rank(facts, (size_t)work.span[i])) continue;
        if (rgm_facts_share(facts, work.device_ns[i]) < facts->policy->suggest_least_share) continue;
        double roof = fmax(work.flops[i] / peak_for(facts, work.types[i]), work.bytes[i] / bandwidth) * 1e9;
        if (roof > 0 && (double)work.device_ns[i] >= facts->policy->suggest_roof_ratio * roof)
            claim_row(s, &work, i, roof);
    }
    rgm_table_release(&rgm_operator_flops_desc, &work);
}

void rgm_suggest_kernels(rgm_suggester *s) {
    pointwise_chains(s);
    top_kernel(s);
    if (s->facts->ceilings && s->facts->view->launched_first) far_from_roof(s);
}
