// SPDX-License-Identifier: Apache-2.0
// Rules about what hardware counters say of a kernel.
#include <math.h>

#include "model/counter_roles.h"
#include "suggest/suggester.h"

typedef struct {
    const rgm_counter_values *values;
    size_t first, end; // rows of one kernel name and source
} kernel_rows;

// Mean (of ranges per kernel) of the counter that fills a role, NaN where it was not measured.
static double reading(const rgm_facts *facts, const kernel_rows *rows, rgm_counter_role role) {
    for (size_t i = rows->first; i < rows->end; i++) {
        rgm_string series = rgm_view_text(facts->view, rows->values->series[i]);
        if (rgm_counter_role_of(series.data, series.length) == role) return rows->values->mean[i];
    }
    return NAN;
}

static void open_kernel(rgm_suggester *s, rgm_suggestion_rule rule, rgm_name name) {
    const rgm_view *view = s->facts->view;
    rgm_suggest_open(s, rule);
    s->open.subject = name;
    for (size_t w = 0; w < view->n_work; w++) {
        uint32_t row = view->work[w];
        if (rgm_view_name(view, row) != name || !rgm_facts_on_rank(s->facts, row)) continue;
        rgm_suggest_about(s, row);
        rgm_suggest_claim_span(s, row, RGM_ON_DEVICE_PATH);
    }
}

static void close_kernel(rgm_suggester *s) {
    if (s->open.count == 0) // ranges without a recorded kernel
        rgm_suggest_close_unbounded(s);
    else
        rgm_suggest_close(s, 0);
}

static void judge(rgm_suggester *s, const kernel_rows *rows) {
    const rgm_policy *policy = s->facts->policy;
    rgm_name name = rows->values->name[rows->first];
    double compute = reading(s->facts, rows, RGM_COUNTER_ROLE_SM_THROUGHPUT);
    double memory = reading(s->facts, rows, RGM_COUNTER_ROLE_COMPUTE_MEMORY);
    if (isnan(memory)) memory = reading(s->facts, rows, RGM_COUNTER_ROLE_DRAM_THROUGHPUT);
    if (compute < policy->suggest_sol_low_percent && memory < policy->suggest_sol_low_percent) {
        open_kernel(s, RGM_RULE_LATENCY_BOUND_KERNEL, name);
        s->open.high = 1 - fmax(compute, memory) / 100;
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, compute, policy->suggest_sol_low_percent, -1);
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, memory, policy->suggest_sol_low_percent, -1);
        close_kernel(s);
    }
    if (memory >= policy->suggest_sol_high_percent && !(compute > memory)) {
        open_kernel(s, RGM_RULE_MEMORY_BOUND_KERNEL, name);
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, memory, policy->suggest_sol_high_percent, -1);
        rgm_suggest_close_unbounded(s);
    }
    double apart =
        reading(s->facts, rows, RGM_COUNTER_ROLE_FADD) + reading(s->facts, rows, RGM_COUNTER_ROLE_FMUL);
    double fused = reading(s->facts, rows, RGM_COUNTER_ROLE_FFMA), share = apart / (apart + fused);
    if (share >= policy->suggest_unfused_share && compute >= policy->suggest_sol_low_percent) {
        open_kernel(s, RGM_RULE_UNFUSED_ARITHMETIC, name);
        s->open.high = share / 2; // two instructions become one
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, share, policy->suggest_unfused_share, -1);
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, compute, policy->suggest_sol_low_percent, -1);
        close_kernel(s);
    }
}

void rgm_suggest_counters(rgm_suggester *s) {
    const rgm_question question = {0};
    rgm_counter_values values = {0};
    rgm_status status =
        rgm_counter_values_compute(s->facts->view, s->facts->policy, &question, &values, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    for (size_t first = 0, end; status == RGM_OK && first < values.rows; first = end) {
        for (end = first; end < values.rows; end++)
            if (values.name[end] != values.name[first] || values.source[end] != values.source[first]) break;
        judge(s, &(kernel_rows){&values, first, end});
    }
    rgm_table_release(&rgm_counter_values_desc, &values);
}
