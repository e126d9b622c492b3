// SPDX-License-Identifier: Apache-2.0
// Rules about operators that could be one, in runs without a device: attention in parts, pointwise chains.
#include <math.h>

#include "analysis/stats.h"
#include "suggest/host_work.h"

// --- attention --------------------------------------------------------------------------------------------

typedef struct {
    int32_t row, distance; // -1 for none; operators since
    bool softmax;          // there was one since
} product;

static void claim_attention(rgm_suggester *s, const product *first, int32_t last) {
    const rgm_view *view = s->facts->view;
    int64_t start = rgm_view_start(view, (size_t)first->row), end = rgm_view_end(view, (size_t)last);
    rgm_suggest_about(s, (size_t)first->row);
    int64_t more = rgm_critical_between(end, start) - rgm_facts_duration(s->facts, (size_t)first->row);
    s->open.current_ns = rgm_add_bounded(s->open.current_ns, more > 0 ? more : 0);
    rgm_suggest_claim_between(s, start, end, RGM_ISSUING_PATH, (int32_t)rgm_view_lane(view, (size_t)last));
}

// Topmost operators: two products with a softmax between them, forward or backward, on one thread.
static void attention_math(rgm_suggester *s) {
    static const char *const math = "aten::_scaled_dot_product_attention_math";
    static const char *const products[] = {"aten::bmm",
                                           "aten::matmul",
                                           "aten::baddbmm",
                                           "aten::einsum",
                                           "autograd::engine::evaluate_function: BmmBackward0",
                                           NULL};
    static const char *const softmaxes[] = {"aten::softmax", "aten::_softmax",
                                            "autograd::engine::evaluate_function: SoftmaxBackward0", NULL};
    enum { REACH = 24 }; // operators between two products: views, scaling, mask, dropout
    rgm_operator_walk walk = rgm_operator_walk_begin(s->facts);
    product before = {.row = -1};
    rgm_suggest_open(s, RGM_RULE_ATTENTION_MATH);
    for (int32_t row; (row = rgm_operator_walk_next(&walk)) >= 0;) {
        rgm_string name = rgm_facts_text(s->facts, (size_t)row);
        if (rgm_text_is(name, "aten::scaled_dot_product_attention")) continue; // what it chose is inside
        rgm_operator_walk_take(&walk, row);
        if (rgm_text_is(name, math)) rgm_suggest_about_host(s, (size_t)row);
        bool same = before.row >= 0 && rgm_view_lane(s->facts->view, (size_t)row) ==
                                           rgm_view_lane(s->facts->view, (size_t)before.row);
        if (!same) before = (product){.row = -1};
        if (rgm_text_among(name, products)) {
            if (before.softmax && before.distance <= REACH) claim_attention(s, &before, row);
            before = (product){.row = row};
        } else {
            before.distance++;
            before.softmax |= before.row >= 0 && rgm_text_among(name, softmaxes);
        }
    }
    rgm_suggest_close(s, 0);
}

// --- pointwise chains -------------------------------------------------------------------------------------

// The name without aten:: and the mark of in-place work.
static bool is_pointwise(rgm_string name) {
    static const char *const names[] = {
        "add",   "sub",    "rsub",  "mul",       "div",       "pow",        "exp",     "log",     "log1p",
        "expm1", "sqrt",   "rsqrt", "neg",       "abs",       "tanh",       "sigmoid", "erf",     "sin",
        "cos",   "square", "relu",  "clamp",     "maximum",   "minimum",    "addcmul", "addcdiv", "where",
        "gelu",  "silu",   "lerp",  "clamp_min", "clamp_max", "reciprocal", NULL};
    enum { HEAD = 6 };
    if (!rgm_text_begins(name, "aten::")) return false;
    name.data += HEAD;
    name.length -= HEAD;
    if (name.length > 1 && name.data[name.length - 1] == '_') name.length--;
    return rgm_text_among(name, names);
}

typedef struct {
    int32_t first, last; // -1 for none
    int64_t count, shortest_ns;
    double elements;
} chain;

typedef struct {
    double saved_ns, time_ns;
    int64_t chains;
} chains;

// One pass over the elements remains: at least what the shortest of the operators takes.
static void end_chain(rgm_suggester *s, const chain *found, chains *all) {
    const rgm_view *view = s->facts->view;
    if (found->first < 0 || (double)found->count < s->facts->policy->suggest_chain_length) return;
    int64_t start = rgm_view_start(view, (size_t)found->first), end = rgm_view_end(view, (size_t)found->last);
    rgm_suggest_about(s, (size_t)found->first);
    s->open.count += found->count - 1;
    int64_t whole = rgm_critical_between(end, start);
    int64_t more = whole - rgm_facts_duration(s->facts, (size_t)found->first);
    s->open.current_ns = rgm_add_bounded(s->open.current_ns, more > 0 ? more : 0);
    rgm_suggest_claim_between(s, start, end, RGM_ISSUING_PATH,
                              (int32_t)rgm_view_lane(view, (size_t)found->first));
    all->chains++;
    all->time_ns += (double)whole;
    all->saved_ns += fmax(0, (double)whole - (double)found->shortest_ns);
}

static chain chain_of(const rgm_facts *facts, int32_t row, double elements) {
    return (chain){.first = row,
                   .last = row,
                   .count = 1,
                   .shortest_ns = rgm_facts_duration(facts, (size_t)row),
                   .elements = elements};
}

static void extend(const rgm_facts *facts, chain *found, int32_t row) {
    int64_t duration = rgm_facts_duration(facts, (size_t)row);
    found->last = row;
    found->count++;
    if (duration < found->shortest_ns) found->shortest_ns = duration;
}

// Operators over equally many elements in a row on a thread; nothing is said where shapes were not recorded.
static void pointwise_chains(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_operator_walk walk = rgm_operator_walk_begin(facts);
    chain here = {.first = -1};
    chains all = {0};
    rgm_suggest_open(s, RGM_RULE_POINTWISE_CHAIN);
    for (int32_t row; (row = rgm_operator_walk_next(&walk)) >= 0;) {
        double elements = rgm_host_elements(facts, (size_t)row);
        rgm_operator_walk_take(&walk, row);
        bool fits = elements > 1 && is_pointwise(rgm_facts_text(facts, (size_t)row));
        if (fits && here.first >= 0 && elements == here.elements &&
            rgm_view_lane(facts->view, (size_t)row) == rgm_view_lane(facts->view, (size_t)here.first) &&
            rgm_view_parent(facts->view, (size_t)row) == rgm_view_parent(facts->view, (size_t)here.first)) {
            extend(facts, &here, row);
            continue;
        }
        end_chain(s, &here, &all);
        here = fits ? chain_of(facts, row, elements) : (chain){.first = -1};
    }
    end_chain(s, &here, &all);
    s->open.high = all.time_ns > 0 ? all.saved_ns / all.time_ns : 0;
    rgm_suggest_note(s, RGM_QUANTITY_RATIO,
                     all.chains ? (double)s->open.count / (double)all.chains : (double)NAN,
                     facts->policy->suggest_chain_length, s->open.span);
    rgm_suggest_close(s, 0);
}

void rgm_suggest_host_patterns(rgm_suggester *s) {
    if (!rgm_host_only(s->facts)) return;
    attention_math(s);
    pointwise_chains(s);
}
