// SPDX-License-Identifier: Apache-2.0
// Rules about device work that only changes the form of data, and about data made in the wrong place.
#include "analysis/waiting/copies.h"
#include "suggest/suggester.h"

static void claim_work(rgm_suggester *s, uint32_t row) {
    rgm_suggest_about(s, row);
    rgm_suggest_claim_span(s, row, RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
}

static void layout_conversions(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_LAYOUT_CONVERSIONS);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (rgm_facts_on_rank(facts, row) && rgm_facts_type(facts, row) == RGM_KERNEL_TYPE_LAYOUT)
            claim_work(s, row);
    }
    rgm_suggest_close(s, 0);
}

// Device work under operators of these names; copies across the bus have rules of their own.
static void under(rgm_suggester *s, rgm_suggestion_rule rule, const char *const *names,
                  const char *const *not_under) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, rule);
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        rgm_kind kind = rgm_view_kind(facts->view, row);
        if (!rgm_facts_on_rank(facts, row) || kind == RGM_KIND_MEMSET) continue;
        if (kind == RGM_KIND_MEMCPY && rgm_copy_of(facts->view, row).direction != RGM_COPY_DEVICE_TO_DEVICE)
            continue;
        if (rgm_facts_above(facts, row, names) < 0 || rgm_facts_above(facts, row, not_under) >= 0) continue;
        claim_work(s, row);
    }
    rgm_suggest_close(s, 0);
}

// The operator that ended last before this one on its thread, with the same parent; -1 for none.
static int32_t sibling_before(const rgm_facts *facts, int32_t row) {
    const rgm_view *view = facts->view;
    uint32_t lane = rgm_view_lane(view, (size_t)row);
    int32_t before = -1;
    uint32_t low = rgm_facts_first_from(facts, lane, rgm_view_start(view, (size_t)row));
    enum { LOOK_BACK = 64 };
    for (uint32_t i = low, seen = 0; i > view->lane_first[lane] && seen < LOOK_BACK && before < 0;
         i--, seen++) {
        uint32_t other = view->lane_spans[i - 1];
        if (rgm_view_kind(view, other) == RGM_KIND_CPU_OP && other != (uint32_t)row &&
            rgm_view_parent(view, other) == rgm_view_parent(view, (size_t)row))
            before = (int32_t)other;
    }
    return before;
}

static void created_on_host(rgm_suggester *s) {
    static const char *const moves[] = {"aten::to", "aten::cuda", NULL};
    static const char *const makers[] = {
        "aten::zeros",   "aten::ones",    "aten::full",     "aten::fill_",  "aten::zero_",
        "aten::empty",   "aten::normal_", "aten::uniform_", "aten::rand",   "aten::randn",
        "aten::randint", "aten::arange",  "aten::eye",      "aten::tensor", NULL};
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_CREATED_ON_HOST);
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!rgm_copy_is(facts->view, row) || !rgm_facts_on_rank(facts, row) ||
            rgm_copy_of(facts->view, row).direction != RGM_COPY_HOST_TO_DEVICE)
            continue;
        int32_t move = rgm_facts_above(facts, row, moves);
        int32_t maker = move >= 0 ? sibling_before(facts, move) : -1;
        if (maker < 0 || !rgm_text_among(rgm_facts_text(facts, (size_t)maker), makers)) continue;
        claim_work(s, row);
        rgm_suggest_claim_between(s, rgm_view_start(facts->view, (size_t)maker),
                                  rgm_view_end(facts->view, (size_t)move), RGM_HOST_PATH,
                                  (int32_t)rgm_view_lane(facts->view, (size_t)move));
    }
    rgm_suggest_close(s, 0);
}

void rgm_suggest_conversions(rgm_suggester *s) {
    static const char *const contiguous[] = {"aten::contiguous", "aten::clone", NULL};
    static const char *const casts[] = {"aten::_to_copy", "aten::to", NULL};
    static const char *const none[] = {NULL};
    layout_conversions(s);
    under(s, RGM_RULE_CONTIGUOUS_COPIES, contiguous, none);
    under(s, RGM_RULE_CASTS, casts, contiguous);
    created_on_host(s);
}
