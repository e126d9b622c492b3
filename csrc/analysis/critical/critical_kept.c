// SPDX-License-Identifier: Apache-2.0
// The graph of the whole run by the usual thresholds: several tables and the suggestions are read off it, so
// it is made once and kept with the view.
#include "analysis/critical/critical.h"
#include "base/memory.h"

static const rgm_policy usual = RGM_POLICY_DEFAULTS;

static bool is_usual(const rgm_policy *policy, const rgm_question *question) {
#define SAME(name, initial, unit, source) policy->name == usual.name &&
    return RGM_POLICY(SAME) !question->text && question->group_by == 0;
#undef SAME
}

static rgm_status make(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                       rgm_critical **out, rgm_error *err) {
    *out = rgm_calloc(1, sizeof **out);
    if (!*out) return rgm_error_no_memory(err);
    rgm_status status = rgm_critical_build(*out, view, policy, question, err);
    if (status == RGM_OK) return RGM_OK;
    rgm_free(*out);
    *out = NULL;
    return status;
}

static rgm_status make_kept(const void *view, void **made, rgm_error *err) {
    const rgm_question whole = {0};
    rgm_critical *graph;
    RGM_TRY(make(view, &usual, &whole, &graph, err));
    graph->kept = true;
    *made = graph;
    return RGM_OK;
}

static void release(void *made) {
    rgm_critical_release(made);
    rgm_free(made);
}

rgm_status rgm_critical_open(const rgm_critical **graph, const rgm_view *view, const rgm_policy *policy,
                             const rgm_question *question, rgm_error *err) {
    static const rgm_kept_kind kind = {make_kept, release};
    const void *kept;
    rgm_critical *own;
    *graph = NULL;
    if (is_usual(policy, question)) {
        RGM_TRY(rgm_kept_get(view->kept, RGM_KEPT_CRITICAL, &kind, view, &kept, err));
        *graph = kept;
        return RGM_OK;
    }
    RGM_TRY(make(view, policy, question, &own, err));
    *graph = own;
    return RGM_OK;
}

void rgm_critical_close(const rgm_critical *graph) {
    if (graph && !graph->kept) release((void *)graph);
}
