// SPDX-License-Identifier: Apache-2.0
// Rules about calls that wait, and what the device misses because of them.
//
// A wait costs nothing while the device works. It costs the time after it, in which the device has nothing to
// do because the host could not prepare more work meanwhile: gaps whose cause is host_sync or after_sync, of
// each what rgm_gap_missed says.
#include <math.h>

#include "base/search.h"
#include "suggest/suggester.h"

static const char *const item_operators[] = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero",
                                             "aten::equal", NULL};
static const char *const shape_operators[] = {
    "aten::nonzero",    "aten::masked_select",      "aten::_unique2",
    "aten::unique_dim", "aten::unique_consecutive", "aten::nonzero_numpy",
    "aten::where",      "aten::bincount",           NULL};
static const char *const move_operators[] = {"aten::to", "aten::_to_copy", "aten::copy_", "aten::cpu", NULL};
static const char *const any_operator[] = {NULL};

typedef struct {
    rgm_suggestion_rule rule;
    const char *const *operators;
} origin;

// The more special come first.
static const origin origins[] = {
    {RGM_RULE_ITEM_SYNC, item_operators},
    {RGM_RULE_SHAPE_SYNC, shape_operators},
    {RGM_RULE_TO_HOST_SYNC, move_operators},
    {RGM_RULE_EXPLICIT_SYNC, any_operator},
};
enum { ORIGINS = sizeof origins / sizeof origins[0] };

// Waits of other operators (a cudaFree inside one, say) belong to no rule here.
static rgm_suggestion_rule origin_of(const rgm_facts *facts, size_t call, int32_t *op) {
    for (size_t i = 0; i + 1 < ORIGINS; i++) {
        *op = rgm_facts_above(facts, call, origins[i].operators);
        if (*op >= 0) return origins[i].rule;
    }
    *op = -1;
    return rgm_facts_operator(facts, call) < 0 ? RGM_RULE_EXPLICIT_SYNC : RGM_RULE_COUNT;
}

static bool because_of_wait(const rgm_gap *gap) {
    return gap->cause == RGM_IDLE_HOST_SYNC || gap->cause == RGM_IDLE_AFTER_SYNC;
}

// What of the wait itself the device idles, and of a value that need not be read the copy.
static void claim_wait(rgm_suggester *s, size_t call) {
    const rgm_view *view = s->facts->view;
    unsigned launched =
        s->open.rule == RGM_RULE_ITEM_SYNC ? RGM_ON_DEVICE_PATH | RGM_WAITING_PATH : RGM_WAITING_PATH;
    rgm_suggest_claim_idle(s, rgm_view_start(view, call), rgm_view_end(view, call),
                           RGM_PATH_BIT(HOST_SYNC) | RGM_PATH_BIT(HOST_RUNTIME),
                           (int32_t)rgm_view_lane(view, call));
    for (uint32_t i = view->launched_first[call]; i < view->launched_first[call + 1]; i++)
        rgm_suggest_claim_span(s, view->launched[i], launched);
}

// What stands on the path in such a gap is host work that a run-ahead host would have done earlier.
static void gaps_after(rgm_suggester *s, rgm_suggestion_rule rule) {
    const rgm_facts *facts = s->facts;
    int64_t idle = 0;
    int32_t last = -1;
    rgm_suggest_open(s, rule);
    for (size_t i = 0; i < facts->idle.count; i++) {
        const rgm_gap *gap = &facts->idle.gaps[i];
        if (!because_of_wait(gap) || gap->launch < 0 || !rgm_facts_on_rank(facts, gap->next)) continue;
        int32_t call = facts->blocked_by[gap->launch], op;
        if (call < 0 || origin_of(facts, (size_t)call, &op) != rule) continue;
        idle = rgm_critical_between(idle, -gap->duration_ns);
        rgm_suggest_claim_between(s, gap->start_ns, gap->start_ns + rgm_gap_missed(gap),
                                  RGM_ASKING_PATH | RGM_PATH_BIT(HOST_SYNC) | RGM_WAITING_PATH, -1);
        if (call == last) continue;
        last = call;
        if (op >= 0 && s->open.subject == 0) s->open.subject = rgm_view_name(facts->view, (size_t)op);
        rgm_suggest_about(s, (size_t)call);
        claim_wait(s, (size_t)call);
    }
    if (s->open.count == 0) {
        rgm_suggest_drop(s);
        return;
    }
    s->open.waits = s->open.count;
    rgm_suggest_note(s, RGM_QUANTITY_IDLE_NS, (double)idle, NAN, s->open.span);
    rgm_suggest_close(s, 0);
}

// Waits for which no work of the rank was running or ended: they only cost their call.
static bool waits_for_nothing(const rgm_facts *facts, size_t call) {
    const rgm_view *view = facts->view;
    int64_t from = rgm_view_start(view, call), to = rgm_view_end(view, call);
    for (size_t d = 0; d < view->n_devices; d++) {
        if (view->devices[d].rank != facts->rank) continue;
        rgm_search search = rgm_search_in(
            view->device_first[d],
            view->device_first[d + 1]); // after the last work that starts before the call returns
        while (rgm_search_on(&search))
            rgm_search_tell(&search, rgm_view_start(view, view->work[search.middle]) < to);
        enum { LOOK_BACK = 256 };
        for (size_t i = search.low, seen = 0; i > view->device_first[d] && seen < LOOK_BACK; i--, seen++)
            if (rgm_view_end(view, view->work[i - 1]) > from) return false;
    }
    return true;
}

static void needless(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_NEEDLESS_SYNC);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        if (!rgm_kind_is_call(rgm_view_kind(facts->view, i)) || !rgm_facts_on_rank(facts, i)) continue;
        rgm_call_kind kind = (rgm_call_kind)facts->hosts.call_class[rgm_view_name(facts->view, i)];
        if (!rgm_call_synchronizes(kind) || !waits_for_nothing(facts, i)) continue;
        rgm_suggest_about(s, i);
        rgm_suggest_claim_span(s, i, RGM_PATH_BIT(HOST_SYNC));
    }
    s->open.waits = s->open.count;
    rgm_suggest_close(s, 0);
}

// Allocating from the driver, and giving back, waits for the device. A caching allocator does it while it
// warms up, and again where memory is short.
static void allocator_calls(rgm_suggester *s) {
    static const char *const names[] = {"cudaMalloc",   "cudaFree",       "hipMalloc",        "hipFree",
                                        "cuMemAlloc",   "cuMemAlloc_v2",  "cuMemFree",        "cuMemFree_v2",
                                        "cuMemCreate",  "cuMemMap",       "cuMemUnmap",       "cudaHostAlloc",
                                        "cudaFreeHost", "cudaMallocHost", "cudaHostRegister", NULL};
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_ALLOCATOR_CALLS);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        if (!rgm_kind_is_call(rgm_view_kind(facts->view, i)) || !rgm_facts_on_rank(facts, i)) continue;
        if (!rgm_text_among(rgm_facts_text(facts, i), names)) continue;
        rgm_suggest_about(s, i);
        rgm_suggest_claim_span(s, i, RGM_PATH_BIT(HOST_RUNTIME) | RGM_PATH_BIT(HOST_SYNC));
    }
    rgm_suggest_close(s, 0);
}

static void stream_waits(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_STREAM_WAITS);
    for (size_t i = 0; i < facts->path.rows; i++)
        if (facts->path.kind[i] == RGM_PATH_DEPENDENCY_WAIT && facts->path.span[i] >= 0)
            rgm_suggest_about(s, (size_t)facts->path.span[i]);
    s->open.current_ns = rgm_facts_path_total(facts, RGM_PATH_BIT(DEPENDENCY_WAIT));
    rgm_suggest_claim_between(s, facts->start_ns, facts->end_ns, RGM_PATH_BIT(DEPENDENCY_WAIT), -1);
    rgm_suggest_close(s, facts->policy->suggest_stream_wait_share);
}

void rgm_suggest_syncs(rgm_suggester *s) {
    needless(s);
    for (size_t i = 0; i < ORIGINS; i++) gaps_after(s, origins[i].rule);
    allocator_calls(s);
    stream_waits(s);
}
