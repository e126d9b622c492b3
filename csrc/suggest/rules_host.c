// SPDX-License-Identifier: Apache-2.0
// Rules about the host while the device has nothing to do.
#include <math.h>

#include "analysis/stats.h"
#include "base/memory.h"
#include "suggest/suggester.h"

static bool is_host(const rgm_facts *facts, size_t row) {
    return rgm_critical_is_host(rgm_view_kind(facts->view, row)) && rgm_facts_on_rank(facts, row);
}

// The span with most time on the path in segments of these kinds is the example and the subject.
static void name_longest(rgm_suggester *s, unsigned kinds) {
    const rgm_facts *facts = s->facts;
    int64_t most = 0;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        int64_t here =
            facts->segment_first[i] < facts->segment_first[i + 1] ? rgm_facts_on_path(facts, i, kinds) : 0;
        if (here < most || here == 0) continue;
        if (here == most && !rgm_facts_before(facts, i, (size_t)s->open.span)) continue;
        most = here;
        s->open.span = (int64_t)i;
        s->open.subject = rgm_view_name(facts->view, i);
    }
    s->open.current_ns = rgm_facts_path_total(facts, kinds);
}

static void claim_kinds(rgm_suggester *s, rgm_suggestion_rule rule, unsigned kinds, double least) {
    rgm_suggest_open(s, rule);
    rgm_suggest_claim_between(s, s->facts->start_ns, s->facts->end_ns, kinds, -1);
    name_longest(s, kinds);
    rgm_suggest_close(s, least);
}

// Whether a name has one of the parts, looked for once a name: `known` holds 1 for no and 2 for yes.
static bool is_named(const rgm_facts *facts, size_t row, const char *const *parts, uint8_t *known) {
    uint8_t *answer = &known[rgm_view_name(facts->view, row)];
    if (!*answer) *answer = rgm_text_has_any(rgm_facts_text(facts, row), parts) ? 2 : 1;
    return *answer == 2;
}

// Spans of which the name says what they do, with all that the thread did inside.
static void claim_named(rgm_suggester *s, rgm_suggestion_rule rule, const char *const *parts) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, rule);
    s->open.confidence = RGM_DEGREE_HIGH;
    int64_t until = INT64_MIN; // of the one before: those inside it count once
    uint32_t lane_before = UINT32_MAX;
    uint8_t *known = rgm_calloc(facts->view->n_strings + 1, 1);
    if (!known) rgm_suggest_fail(s, rgm_error_no_memory(s->err));
    for (size_t i = 0; known && i < facts->view->n_spans; i++) {
        uint32_t row = facts->view->lane_spans[i], lane = rgm_view_lane(facts->view, row);
        if (lane != lane_before) until = INT64_MIN;
        lane_before = lane;
        if (!is_host(facts, row) || rgm_view_start(facts->view, row) < until) continue;
        if (!is_named(facts, row, parts, known)) continue;
        until = rgm_view_end(facts->view, row);
        rgm_suggest_about(s, row);
        rgm_suggest_claim_between(s, rgm_view_start(facts->view, row), until, RGM_HOST_PATH, (int32_t)lane);
    }
    rgm_free(known);
    rgm_suggest_close(s, 0);
}

// The busiest device of the rank, over the path; everything on the path that is no device work could go.
static void device_idle(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    double share = 1 - rgm_facts_share(facts, facts->idle_ns);
    if (facts->view->n_work == 0 || share >= facts->policy->suggest_busy_share) return;
    rgm_suggest_open(s, RGM_RULE_DEVICE_IDLE);
    s->open.confidence = RGM_DEGREE_LOW;
    rgm_suggest_claim_between(s, facts->start_ns, facts->end_ns, RGM_HOST_PATH | RGM_WAITING_PATH, -1);
    rgm_suggest_note(s, RGM_QUANTITY_BUSY_SHARE, share, facts->policy->suggest_busy_share, -1);
    rgm_suggest_close(s, 0);
}

static void long_gaps(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_LONG_GAPS);
    for (size_t i = 0; i < facts->idle.count; i++) {
        const rgm_gap *gap = &facts->idle.gaps[i];
        if ((double)gap->duration_ns < facts->policy->suggest_long_gap_ns) continue;
        if (!rgm_facts_on_rank(facts, gap->next)) continue;
        if (s->open.span < 0) s->open.span = gap->next;
        s->open.count++;
        s->open.current_ns = rgm_add_bounded(s->open.current_ns, gap->duration_ns);
        rgm_suggest_claim_between(s, gap->start_ns, gap->start_ns + gap->duration_ns,
                                  RGM_HOST_PATH | RGM_WAITING_PATH, -1);
    }
    rgm_suggest_close(s, 0);
}

void rgm_suggest_host(rgm_suggester *s) {
    static const char *const collector[] = {"gc.collect",
                                            "built-in function collect",
                                            "Garbage collection",
                                            "gc_collect",
                                            "Python GC",
                                            "gc generation",
                                            NULL};
    static const char *const compilers[] = {"torch/_dynamo/convert_frame",
                                            "_compile.compile_inner",
                                            "compile_fx",
                                            "autotune",
                                            "benchmark_all_configs",
                                            "TorchDynamo Cache Miss",
                                            "triton/compiler",
                                            "ModuleLoad",
                                            "nvrtcCompile",
                                            "LibraryLoad",
                                            "cudnnFind",
                                            NULL};
    const rgm_policy *policy = s->facts->policy;
    bool device = s->facts->view->n_work > 0;
    claim_named(s, RGM_RULE_GC_PAUSE, collector);
    claim_named(s, RGM_RULE_COMPILE_IN_WINDOW, compilers);
    claim_kinds(s, RGM_RULE_PYTHON_OVERHEAD, RGM_PATH_BIT(HOST_PYTHON), policy->suggest_python_share);
    if (device) claim_kinds(s, RGM_RULE_HOST_BOUND, RGM_ASKING_PATH, policy->suggest_host_share);
    // Between the scopes of a program without device work, samples of its stacks say what it did: the verdict
    // tells it.
    if (device || s->facts->view->run->samples.rows == 0)
        claim_kinds(s, RGM_RULE_UNRECORDED_HOST, RGM_PATH_BIT(OUTSIDE), policy->suggest_unrecorded_share);
    device_idle(s);
    long_gaps(s);
}
