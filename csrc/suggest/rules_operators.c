// SPDX-License-Identifier: Apache-2.0
// Rules about patterns of operators: optimizers, loops, attention and convolutions written in parts.
#include <string.h>

#include "analysis/times/op_arguments.h"
#include "suggest/host_work.h"

// --- optimizers -------------------------------------------------------------------------------------------

static bool is_optimizer_step(const rgm_facts *facts, size_t row) {
    rgm_string name = rgm_facts_text(facts, row);
    if (!rgm_critical_is_host(rgm_view_kind(facts->view, row)) || !rgm_facts_on_rank(facts, row))
        return false;
    return rgm_text_begins(name, "Optimizer.step#") || rgm_text_has(name, "_single_tensor_");
}

// Kernels launched between the two ends of a span on its thread; those of a fused or foreach optimizer are
// counted apart.
static int64_t count_kernels(const rgm_facts *facts, size_t step, int64_t *foreach) {
    const rgm_view *view = facts->view;
    uint32_t lane = rgm_view_lane(view, step);
    int64_t count = 0, end = rgm_view_end(view, step);
    *foreach = 0;
    for (uint32_t i = rgm_facts_first_from(facts, lane, rgm_view_start(view, step));
         i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (rgm_view_start(view, row) >= end) break;
        for (uint32_t k = view->launched_first[row]; k < view->launched_first[row + 1]; k++) {
            if (!rgm_facts_is_kernel(facts, view->launched[k])) continue;
            count++;
            *foreach += rgm_facts_type(facts, view->launched[k]) == RGM_KERNEL_TYPE_OPTIMIZER;
        }
    }
    return count;
}

static void claim_launched(rgm_suggester *s, size_t step) {
    const rgm_view *view = s->facts->view;
    uint32_t lane = rgm_view_lane(view, step);
    for (uint32_t i = rgm_facts_first_from(s->facts, lane, rgm_view_start(view, step));
         i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (rgm_view_start(view, row) >= rgm_view_end(view, step)) break;
        for (uint32_t k = view->launched_first[row]; k < view->launched_first[row + 1]; k++)
            rgm_suggest_claim_span(s, view->launched[k], RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
    }
}

// Some ten launches remain of a foreach implementation: what they cost on average stays.
static void single_tensor_optimizer(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    int64_t kernels = 0, foreach;
    uint32_t last = UINT32_MAX;
    rgm_suggest_open(s, RGM_RULE_SINGLE_TENSOR_OPTIMIZER);
    if (!facts->view->launched_first) return;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        uint32_t row = facts->view->lane_spans[i];
        if (!is_optimizer_step(facts, row)) continue;
        if (last != UINT32_MAX && rgm_view_start(facts->view, row) < rgm_view_end(facts->view, last) &&
            rgm_view_lane(facts->view, row) == rgm_view_lane(facts->view, last))
            continue; // inside the one before
        int64_t here = count_kernels(facts, row, &foreach);
        if ((double)here < facts->policy->suggest_optimizer_kernels || 2 * foreach > here) continue;
        last = row;
        kernels += here;
        rgm_suggest_about(s, row);
        rgm_suggest_claim_host(s, row);
        claim_launched(s, row);
    }
    if (s->open.count == 0) return;
    rgm_suggest_note(s, RGM_QUANTITY_RATIO, (double)kernels / (double)s->open.count,
                     facts->policy->suggest_optimizer_kernels, s->open.span);
    rgm_suggest_close(s, 0);
}

// --- loops ------------------------------------------------------------------------------------------------

static bool is_select(const rgm_facts *facts, size_t row) {
    static const char *const names[] = {"aten::select", "aten::__getitem__", NULL};
    return rgm_is_operator(facts, row) && rgm_text_among(rgm_facts_text(facts, row), names);
}

typedef struct {
    int64_t start, end, count; // from the first select of the loop to the last
    int32_t parent, lane, first;
} loop;

static void end_loop(rgm_suggester *s, const loop *found) {
    if ((double)found->count < s->facts->policy->suggest_loop_count) return;
    rgm_suggest_about(s, (size_t)found->first);
    s->open.count += found->count - 1;
    s->open.current_ns += found->end - found->start - rgm_facts_duration(s->facts, (size_t)found->first);
    rgm_suggest_claim_between(s, found->start, found->end, RGM_ISSUING_PATH | RGM_WAITING_PATH, found->lane);
}

// Selects with one parent and nothing but a few other operators between two of them.
static void loop_indexing(rgm_suggester *s) {
    enum { BETWEEN = 8 };
    const rgm_view *view = s->facts->view;
    loop here = {.first = -1};
    int since = 0;
    rgm_suggest_open(s, RGM_RULE_LOOP_INDEXING);
    for (size_t i = 0; i < view->n_spans; i++) {
        uint32_t row = view->lane_spans[i];
        if (!rgm_is_operator(s->facts, row)) continue;
        bool same = here.first >= 0 && (int32_t)rgm_view_lane(view, row) == here.lane;
        if (!same ||
            (rgm_view_parent(view, row) == here.parent && !is_select(s->facts, row) && ++since > BETWEEN)) {
            end_loop(s, &here);
            here = (loop){.first = -1};
        }
        if (!is_select(s->facts, row)) continue;
        if (here.first < 0 || rgm_view_parent(view, row) != here.parent) {
            end_loop(s, &here);
            here = (loop){.start = rgm_view_start(view, row),
                          .parent = rgm_view_parent(view, row),
                          .lane = (int32_t)rgm_view_lane(view, row),
                          .first = (int32_t)row};
        }
        since = 0;
        here.count++;
        here.end = rgm_view_end(view, row);
    }
    end_loop(s, &here);
    rgm_suggest_close(s, 0);
}

// --- convolutions before a normalisation ------------------------------------------------------------------

// Whether a convolution was given a bias: its third argument has a dimension.
static bool has_bias(const rgm_facts *facts, size_t row) {
    rgm_shape shapes[RGM_MAX_ARGUMENTS];
    int32_t arguments = facts->arguments[row];
    if (arguments < 0) return false;
    rgm_name text = RGM_CELL(&facts->view->run->operators, shapes, (size_t)arguments, 0);
    enum { BIAS = 2 };
    return rgm_arguments_shapes(rgm_view_text(facts->view, text), shapes) > BIAS &&
           shapes[BIAS].dimensions == 1;
}

// The bias is added by a kernel of its own under aten::add_; where it is fused nothing is claimed.
static void claim_bias(rgm_suggester *s, size_t convolution) {
    static const char *const add[] = {"aten::add_", NULL};
    const rgm_view *view = s->facts->view;
    uint32_t lane = rgm_view_lane(view, convolution);
    for (uint32_t i = rgm_facts_first_from(s->facts, lane, rgm_view_start(view, convolution));
         i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (rgm_view_start(view, row) >= rgm_view_end(view, convolution)) break;
        if (!rgm_is_operator(s->facts, row) || !rgm_text_among(rgm_facts_text(s->facts, row), add)) continue;
        rgm_suggest_claim_host(s, row);
        for (uint32_t k = i; k < view->lane_first[lane + 1]; k++) {
            uint32_t call = view->lane_spans[k];
            if (rgm_view_start(view, call) >= rgm_view_end(view, row)) break;
            for (uint32_t w = view->launched_first[call]; w < view->launched_first[call + 1]; w++) {
                rgm_suggest_about(s, view->launched[w]);
                rgm_suggest_claim_span(s, view->launched[w], RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
            }
        }
    }
}

static void conv_bias_norm(rgm_suggester *s) {
    static const char *const norms[] = {"aten::batch_norm", "aten::instance_norm", NULL};
    const rgm_view *view = s->facts->view;
    int32_t convolution = -1;
    rgm_suggest_open(s, RGM_RULE_CONV_BIAS_NORM);
    if (!view->launched_first) return;
    for (size_t i = 0; i < view->n_spans; i++) {
        uint32_t row = view->lane_spans[i];
        if (!rgm_is_operator(s->facts, row)) continue;
        rgm_string name = rgm_facts_text(s->facts, row);
        if (rgm_text_is(name, "aten::conv2d") || rgm_text_is(name, "aten::conv3d") ||
            rgm_text_is(name, "aten::conv1d")) {
            convolution = (int32_t)row;
            continue;
        }
        if (convolution < 0 || rgm_view_start(view, row) < rgm_view_end(view, (size_t)convolution)) continue;
        if (rgm_text_among(name, norms) && has_bias(s->facts, (size_t)convolution))
            claim_bias(s, (size_t)convolution);
        convolution = -1; // another operator came between
    }
    rgm_suggest_close(s, 0);
}

// --- attention --------------------------------------------------------------------------------------------

// The node of the backward pass around an operator, or the operator.
static int32_t node_or(const rgm_facts *facts, int32_t op) {
    static const char *const nodes[] = {"BmmBackward0", NULL};
    int32_t node = op >= 0 ? rgm_facts_above(facts, (size_t)op, nodes) : -1;
    return node >= 0 ? node : op;
}

typedef struct {
    int32_t op;           // around the last product, -1 for none
    size_t first, last;   // pieces of work that the operator launched, from its first product on
    bool softmax, joined; // one was seen since; the products are claimed already
} products;

static void claim_pieces(rgm_suggester *s, size_t first, size_t last) {
    for (size_t w = first; w <= last; w++) {
        rgm_suggest_about(s, s->facts->view->work[w]);
        rgm_suggest_claim_span(s, s->facts->view->work[w], RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
    }
}

// A product under an operator: one more of the same, or the end of attention that began with the one before.
static void add_product(rgm_suggester *s, products *before, int32_t op, size_t w) {
    enum { REACH = 12 }; // pieces of work between the first product and the second
    if (op == before->op && !before->softmax) {
        before->last = w;
        if (before->joined) claim_pieces(s, w, w);
        return;
    }
    bool ends = before->op >= 0 && before->softmax && w - before->last <= REACH;
    if (ends) claim_pieces(s, before->joined ? before->last + 1 : before->first, w);
    *before = (products){.op = op, .first = w, .last = w, .joined = ends};
}

// Attention as its parts: the operator that does it in steps, and the products around a softmax. In the
// backward pass a node launches two products, which both belong to it.
static void attention_math(rgm_suggester *s) {
    static const char *const math[] = {"aten::_scaled_dot_product_attention_math", NULL};
    static const char *const product[] = {"BmmBackward0", "aten::bmm", "aten::matmul", "aten::baddbmm", NULL};
    static const char *const softmax[] = {"aten::softmax", "aten::_softmax", "aten::_softmax_backward_data",
                                          NULL};
    const rgm_facts *facts = s->facts;
    products before = {.op = -1};
    rgm_suggest_open(s, RGM_RULE_ATTENTION_MATH);
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!rgm_facts_is_kernel(facts, row) || !rgm_facts_on_rank(facts, row)) continue;
        int32_t op;
        if (rgm_facts_above(facts, row, math) >= 0)
            claim_pieces(s, w, w);
        else if ((op = node_or(facts, rgm_facts_above(facts, row, product))) >= 0)
            add_product(s, &before, op, w);
        else
            before.softmax |= before.op >= 0 && rgm_facts_above(facts, row, softmax) >= 0;
    }
    rgm_suggest_close(s, 0);
}

void rgm_suggest_operators(rgm_suggester *s) {
    single_tensor_optimizer(s);
    loop_indexing(s);
    conv_bias_norm(s);
    attention_math(s);
}
