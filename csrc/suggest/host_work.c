// SPDX-License-Identifier: Apache-2.0
#include "suggest/host_work.h"

#include "analysis/times/op_arguments.h"

void rgm_suggest_claim_host(rgm_suggester *s, size_t row) {
    rgm_suggest_claim_between(s, rgm_view_start(s->facts->view, row), rgm_view_end(s->facts->view, row),
                              RGM_ASKING_PATH, (int32_t)rgm_view_lane(s->facts->view, row));
}

void rgm_suggest_about_host(rgm_suggester *s, size_t row) {
    rgm_suggest_about(s, row);
    rgm_suggest_claim_host(s, row);
}

// --- walking ----------------------------------------------------------------------------------------------

rgm_operator_walk rgm_operator_walk_begin(const rgm_facts *facts) {
    return (rgm_operator_walk){.facts = facts, .lane = UINT32_MAX, .until = INT64_MIN};
}

int32_t rgm_operator_walk_next(rgm_operator_walk *walk) {
    const rgm_view *view = walk->facts->view;
    while (walk->next < view->n_spans) {
        uint32_t row = view->lane_spans[walk->next++], lane = rgm_view_lane(view, row);
        if (lane != walk->lane) walk->until = INT64_MIN;
        walk->lane = lane;
        if (rgm_is_operator(walk->facts, row) && rgm_view_start(view, row) >= walk->until)
            return (int32_t)row;
    }
    return -1;
}

void rgm_operator_walk_take(rgm_operator_walk *walk, int32_t row) {
    walk->until = rgm_view_end(walk->facts->view, (size_t)row);
}

// --- arguments --------------------------------------------------------------------------------------------

bool rgm_host_has_type(const rgm_facts *facts, size_t row, const char *type) {
    rgm_shape shapes[RGM_MAX_ARGUMENTS];
    const rgm_operators *operators = &facts->view->run->operators;
    int32_t at = facts->arguments[row];
    if (at < 0) return false;
    int count =
        rgm_arguments_shapes(rgm_view_text(facts->view, RGM_CELL(operators, shapes, (size_t)at, 0)), shapes);
    rgm_string types = rgm_view_text(facts->view, RGM_CELL(operators, types, (size_t)at, 0));
    for (int i = 0; i < count; i++) {
        rgm_string here;
        if (shapes[i].dimensions > 0 && rgm_arguments_text(types, i, &here) && rgm_text_is(here, type))
            return true;
    }
    return false;
}

double rgm_host_elements(const rgm_facts *facts, size_t row) {
    rgm_shape shapes[RGM_MAX_ARGUMENTS];
    int32_t at = facts->arguments[row];
    if (at < 0) return 0;
    rgm_name text = RGM_CELL(&facts->view->run->operators, shapes, (size_t)at, 0);
    int count = rgm_arguments_shapes(rgm_view_text(facts->view, text), shapes);
    double most = 0;
    for (int i = 0; i < count; i++) {
        double elements = shapes[i].dimensions > 0 ? rgm_shape_elements(&shapes[i]) : 0;
        if (elements > most) most = elements;
    }
    return most;
}
