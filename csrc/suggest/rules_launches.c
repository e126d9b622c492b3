// SPDX-License-Identifier: Apache-2.0
// Rules about launching work: kernels shorter than their launch, sequences to fuse, calls that take long.
#include <math.h>

#include "analysis/stats.h"
#include "analysis/times/sequence.h"
#include "analysis/waiting/launched.h"
#include "base/memory.h"
#include "suggest/suggester.h"

static bool is_launch_of_kernels(const rgm_facts *facts, size_t row) {
    const rgm_view *view = facts->view;
    if (!view->launched_first || !rgm_launched_count(view, row)) return false;
    return rgm_facts_is_kernel(facts, rgm_launched_earliest(view, row)) && rgm_facts_on_rank(facts, row);
}

// Whether most kernels take less time than launching them; and how many there are.
static double launch_bound_share(const rgm_facts *facts, int64_t *launches) {
    int64_t bound = 0;
    *launches = 0;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        if (!is_launch_of_kernels(facts, i)) continue;
        ++*launches;
        bound += rgm_launched_is_bound(facts->view, i);
    }
    return *launches ? (double)bound / (double)*launches : 0.0;
}

// The host's work on the path is what the device waits for: the path goes through the host only where no
// device work is later.
static void launch_bound(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    int64_t launches;
    double share = launch_bound_share(facts, &launches);
    if (share < facts->policy->suggest_launch_bound_share ||
        (double)launches < facts->policy->suggest_outlier_launches)
        return; // fewer may be chance
    rgm_suggest_open(s, RGM_RULE_LAUNCH_BOUND);
    rgm_suggest_claim_between(s, facts->start_ns, facts->end_ns, RGM_ASKING_PATH | RGM_WAITING_PATH, -1);
    rgm_suggest_note(s, RGM_QUANTITY_SHARE, share, facts->policy->suggest_launch_bound_share, -1);
    for (size_t i = 0; i < facts->view->n_spans; i++)
        if (is_launch_of_kernels(facts, i)) rgm_suggest_about(s, i);
    s->open.subject = 0;
    rgm_suggest_close(s, facts->policy->suggest_host_share);
}

// --- sequences --------------------------------------------------------------------------------------------

// Occurrences that do not overlap, from the left: `order` holds them sorted by what follows, so they are
// marked first.
static void claim_occurrences(rgm_suggester *s, const rgm_sequence_list *list, const rgm_sequence *found,
                              uint8_t *begins) {
    const rgm_facts *facts = s->facts;
    for (uint32_t i = found->from; i < found->to; i++) begins[list->order[i]] = 1;
    for (size_t at = 0; at + found->length <= list->n_kernels;) {
        if (!begins[at]) {
            at++;
            continue;
        }
        for (size_t k = at + 1; k < at + found->length && list->kernels[k] != UINT32_MAX; k++) {
            uint32_t before = list->kernels[k - 1], kernel = list->kernels[k];
            rgm_suggest_claim_between(s, rgm_view_end(facts->view, before),
                                      rgm_view_start(facts->view, kernel), RGM_ASKING_PATH | RGM_WAITING_PATH,
                                      -1);
        }
        at += found->length;
    }
    for (uint32_t i = found->from; i < found->to; i++) begins[list->order[i]] = 0;
}

// The three with most gap time, as one: the same change helps all of them.
static void repeated_sequences(rgm_suggester *s) {
    enum { MOST = 3 };
    int64_t gaps = 0;
    size_t longest = 0;
    rgm_suggest_open(s, RGM_RULE_REPEATED_SEQUENCE);
    rgm_sequence_list list = {0};
    rgm_status status = rgm_sequence_list_find(&list, s->facts->view, s->facts->policy, s->err);
    if (status != RGM_OK) {
        rgm_suggest_fail(s, status);
        return;
    }
    uint8_t *begins = rgm_calloc(list.n_kernels + 1, 1);
    if (!begins) rgm_suggest_fail(s, rgm_error_no_memory(s->err));
    for (size_t i = 0; begins && i < list.count && i < MOST; i++) {
        const rgm_sequence *found = &list.found[i];
        uint32_t first = list.kernels[found->at];
        if (!rgm_facts_on_rank(s->facts, first)) continue;
        if (s->open.span < 0) {
            s->open.span = (int64_t)first;
            s->open.subject = rgm_view_name(s->facts->view, first);
        }
        s->open.current_ns = rgm_add_bounded(s->open.current_ns, found->kernel_ns + found->gap_ns);
        s->open.count += found->count;
        gaps = rgm_add_bounded(gaps, found->gap_ns);
        if (found->length > longest) longest = found->length;
        claim_occurrences(s, &list, found, begins);
    }
    if ((double)(longest * (size_t)s->open.count) < s->facts->policy->suggest_outlier_launches)
        s->open.claim.count = 0;
    rgm_suggest_note(s, RGM_QUANTITY_IDLE_NS, (double)gaps, NAN, s->open.span);
    rgm_suggest_note(s, RGM_QUANTITY_STEPS, (double)longest, NAN, s->open.span);
    rgm_suggest_close(s, 0);
    rgm_free(begins);
    rgm_sequence_list_release(&list);
}

// --- calls that take long ---------------------------------------------------------------------------------

static void launch_outliers(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    int64_t longest = 0;
    rgm_suggest_open(s, RGM_RULE_LAUNCH_OUTLIERS);
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        int64_t duration = rgm_facts_duration(facts, i);
        if ((double)duration < facts->policy->suggest_launch_outlier_ns || !is_launch_of_kernels(facts, i))
            continue;
        rgm_suggest_about(s, i);
        rgm_suggest_claim_span(s, i, RGM_PATH_BIT(HOST_RUNTIME));
        if (duration > longest) longest = duration;
    }
    if ((double)s->open.count < facts->policy->suggest_outlier_launches) {
        rgm_suggest_drop(s);
        return;
    }
    rgm_suggest_note(s, RGM_QUANTITY_LONGEST_NS, (double)longest, facts->policy->suggest_launch_outlier_ns,
                     s->open.span);
    rgm_suggest_close(s, 0);
}

// Calls of the driver that neither wait nor launch many times: modules that are loaded, contexts, handles.
static bool is_setup(const rgm_facts *facts, size_t row) {
    static const char *const allocations[] = {"Malloc",    "MemAlloc",     "Free",
                                              "HostAlloc", "HostRegister", NULL};
    if (!rgm_kind_is_call(rgm_view_kind(facts->view, row)) || !rgm_facts_on_rank(facts, row)) return false;
    if ((double)rgm_facts_duration(facts, row) < facts->policy->suggest_setup_call_ns) return false;
    rgm_string name = rgm_facts_text(facts, row);
    if (!rgm_text_begins(name, "cu") && !rgm_text_begins(name, "hip") && !rgm_text_begins(name, "nv"))
        return false; // runtimes of other devices record what they run as calls
    return rgm_call_classify(name) == RGM_CALL_OTHER && !rgm_text_has_any(name, allocations);
}

static void setup_calls(rgm_suggester *s) {
    rgm_suggest_open(s, RGM_RULE_SETUP_CALLS);
    int64_t longest = -1;
    size_t example = 0;
    for (size_t i = 0; i < s->facts->view->n_spans; i++) {
        if (!is_setup(s->facts, i)) continue;
        int64_t duration = rgm_facts_duration(s->facts, i);
        if (duration > longest || (duration == longest && rgm_facts_before(s->facts, i, example))) {
            longest = duration;
            example = i;
        }
        rgm_suggest_about(s, i);
        rgm_suggest_claim_span(s, i, RGM_PATH_BIT(HOST_RUNTIME));
    }
    if (s->open.count) {
        s->open.span = (int64_t)example;
        s->open.subject = rgm_view_name(s->facts->view, example);
    }
    rgm_suggest_note(s, RGM_QUANTITY_LONGEST_NS, (double)longest, s->facts->policy->suggest_setup_call_ns,
                     s->open.span);
    rgm_suggest_close(s, 0);
}

// A full queue says that the device is the limit: what the host does is hidden behind it.
static void queue_full(rgm_suggester *s) {
    rgm_queue_lengths queues = {0};
    const rgm_question question = {0};
    rgm_status status =
        rgm_queue_lengths_compute(s->facts->view, s->facts->policy, &question, &queues, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    for (size_t i = 0; status == RGM_OK && i < queues.rows; i++) {
        if (!(queues.full_share[i] >= s->facts->policy->suggest_full_share)) continue;
        rgm_suggest_open(s, RGM_RULE_QUEUE_FULL);
        s->open.current_ns = queues.full_ns[i];
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, queues.full_share[i], s->facts->policy->suggest_full_share,
                         -1);
        rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)queues.full_calls[i], NAN, -1);
        rgm_suggest_close_unbounded(s);
    }
    rgm_table_release(&rgm_queue_lengths_desc, &queues);
}

void rgm_suggest_launches(rgm_suggester *s) {
    launch_bound(s);
    repeated_sequences(s);
    launch_outliers(s);
    setup_calls(s);
    queue_full(s);
}
