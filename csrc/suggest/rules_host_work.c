// SPDX-License-Identifier: Apache-2.0
// Rules about work, in runs without a device: what the rules of conversions, matrices, operators and memory
// tell from kernels is told from operators of the host here. The operators are the work, so their time on the
// path is what is claimed.
#include <string.h>

#include "analysis/times/op_arguments.h"
#include "suggest/host_work.h"

static const char *const copying[] = {"aten::contiguous", "aten::clone", NULL};

static void copies(rgm_suggester *s) {
    rgm_operator_walk walk = rgm_operator_walk_begin(s->facts);
    rgm_suggest_open(s, RGM_RULE_CONTIGUOUS_COPIES);
    for (int32_t row; (row = rgm_operator_walk_next(&walk)) >= 0;) {
        if (!rgm_text_among(rgm_facts_text(s->facts, (size_t)row), copying)) continue;
        rgm_suggest_about_host(s, (size_t)row);
        rgm_operator_walk_take(&walk, row);
    }
    rgm_suggest_close(s, 0);
}

// --- casts ------------------------------------------------------------------------------------------------

// Whether aten::copy_ below a conversion was given tensors of two types; where types were not recorded it is
// believed.
static bool changes_type(const rgm_facts *facts, size_t conversion) {
    const rgm_view *view = facts->view;
    uint32_t lane = rgm_view_lane(view, conversion);
    enum { DESTINATION = 0, SOURCE = 1 };
    for (uint32_t i = rgm_facts_first_from(facts, lane, rgm_view_start(view, conversion));
         i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (rgm_view_start(view, row) >= rgm_view_end(view, conversion)) break;
        if (!rgm_text_is(rgm_facts_text(facts, row), "aten::copy_")) continue;
        if (facts->arguments[row] < 0) return true;
        if (rgm_host_elements(facts, row) <= 1) return false; // a number, as optimizers convert inside
        rgm_name name = RGM_CELL(&view->run->operators, types, (size_t)facts->arguments[row], 0);
        rgm_string types = rgm_view_text(view, name), to, from;
        if (!rgm_arguments_text(types, DESTINATION, &to) || !rgm_arguments_text(types, SOURCE, &from))
            return true;
        return to.length != from.length || memcmp(to.data, from.data, to.length) != 0;
    }
    return true;
}

static void casts(rgm_suggester *s) {
    rgm_operator_walk walk = rgm_operator_walk_begin(s->facts);
    rgm_suggest_open(s, RGM_RULE_CASTS);
    for (int32_t row; (row = rgm_operator_walk_next(&walk)) >= 0;) {
        rgm_string name = rgm_facts_text(s->facts, (size_t)row);
        bool copies_data = rgm_text_among(name, copying), converts = rgm_text_is(name, "aten::_to_copy");
        if (converts && changes_type(s->facts, (size_t)row)) rgm_suggest_about_host(s, (size_t)row);
        if (copies_data || converts) rgm_operator_walk_take(&walk, row);
    }
    rgm_suggest_close(s, 0);
}

// --- precision --------------------------------------------------------------------------------------------

// Arithmetic; a conversion from double precision is a cast.
static void double_precision(rgm_suggester *s) {
    static const char *const conversions[] = {"aten::to", "aten::_to_copy", NULL};
    rgm_operator_walk walk = rgm_operator_walk_begin(s->facts);
    rgm_suggest_open(s, RGM_RULE_DOUBLE_PRECISION);
    for (int32_t row; (row = rgm_operator_walk_next(&walk)) >= 0;) {
        if (!rgm_host_has_type(s->facts, (size_t)row, "double")) continue;
        bool converts = rgm_text_among(rgm_facts_text(s->facts, (size_t)row), conversions);
        if (!converts) rgm_suggest_about_host(s, (size_t)row);
        rgm_operator_walk_take(&walk, row);
    }
    rgm_suggest_close(s, 0);
}

// --- training ---------------------------------------------------------------------------------------------

// The node of the backward pass that adds to a gradient, with the release of what it added; -1 for none.
static int32_t accumulation(const rgm_facts *facts, int32_t add) {
    enum { MOST_PARENTS = 4 };
    int32_t row = add;
    for (int i = 0; row >= 0 && i < MOST_PARENTS; i++, row = rgm_view_parent(facts->view, (size_t)row))
        if (rgm_text_has(rgm_facts_text(facts, (size_t)row), "AccumulateGrad")) {
            int32_t around = rgm_view_parent(facts->view, (size_t)row);
            bool whole = around >= 0 && rgm_text_has(rgm_facts_text(facts, (size_t)around), "AccumulateGrad");
            return whole ? around : row;
        }
    return -1;
}

// A gradient that is None is replaced by the new one; one that was set to zero has it added.
static void zero_grad(rgm_suggester *s) {
    static const char *const zero[] = {"aten::zero_", "aten::_foreach_zero_", NULL};
    const rgm_facts *facts = s->facts;
    rgm_operator_walk walk = rgm_operator_walk_begin(facts);
    bool zeroes = false;
    rgm_suggest_open(s, RGM_RULE_ZERO_GRAD);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (int32_t row; (row = rgm_operator_walk_next(&walk)) >= 0;) {
        rgm_string name = rgm_facts_text(facts, (size_t)row);
        bool clears = rgm_text_among(name, zero) && rgm_facts_below(facts, row, "zero_grad");
        int32_t adds = rgm_text_is(name, "aten::add_") ? accumulation(facts, row) : -1;
        if (!clears && adds < 0) continue;
        zeroes |= clears;
        rgm_suggest_about_host(s, (size_t)(clears ? row : adds));
        rgm_operator_walk_take(&walk, row);
    }
    if (zeroes)
        rgm_suggest_close(s, 0);
    else
        rgm_suggest_drop(s);
}

// Operators that a step of an optimizer calls, those that work on lists of tensors apart.
static int64_t count_operators(const rgm_facts *facts, size_t step, int64_t *of_lists) {
    const rgm_view *view = facts->view;
    uint32_t lane = rgm_view_lane(view, step);
    int64_t count = 0, until = INT64_MIN;
    *of_lists = 0;
    for (uint32_t i = rgm_facts_first_from(facts, lane, rgm_view_start(view, step));
         i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (rgm_view_start(view, row) >= rgm_view_end(view, step)) break;
        if (!rgm_is_operator(facts, row) || rgm_view_start(view, row) < until) continue;
        until = rgm_view_end(view, row);
        count++;
        *of_lists += rgm_text_begins(rgm_facts_text(facts, row), "aten::_foreach_") ||
                     rgm_text_begins(rgm_facts_text(facts, row), "aten::_fused_");
    }
    return count;
}

static void single_tensor_optimizer(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    const double least = facts->policy->suggest_optimizer_kernels;
    int64_t operators = 0, of_lists;
    rgm_suggest_open(s, RGM_RULE_SINGLE_TENSOR_OPTIMIZER);
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        uint32_t row = facts->view->lane_spans[i];
        if (!rgm_critical_is_host(rgm_view_kind(facts->view, row)) || !rgm_facts_on_rank(facts, row))
            continue;
        if (!rgm_text_begins(rgm_facts_text(facts, row), "Optimizer.step#")) continue;
        int64_t here = count_operators(facts, row, &of_lists);
        if ((double)here < least || of_lists > 0)
            continue; // beside a fused one its counters are advanced one by one
        operators += here;
        rgm_suggest_about_host(s, row);
    }
    if (s->open.count > 0)
        rgm_suggest_note(s, RGM_QUANTITY_RATIO, (double)operators / (double)s->open.count, least,
                         s->open.span);
    rgm_suggest_close(s, 0);
}

void rgm_suggest_host_work(rgm_suggester *s) {
    if (!rgm_host_only(s->facts)) return;
    copies(s);
    casts(s);
    double_precision(s);
    zero_grad(s);
    single_tensor_optimizer(s);
}
