// SPDX-License-Identifier: Apache-2.0
// Rules about communication between devices, and about ranks that others wait for.
#include <math.h>

#include "analysis/communication/instance.h"
#include "suggest/host_work.h"

static bool communicates(const rgm_facts *facts, size_t row) {
    return rgm_view_activity(facts->view, row) == RGM_ACTIVITY_COMMUNICATION && rgm_facts_on_rank(facts, row);
}

static void exposed(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_EXPOSED_COMMUNICATION);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!communicates(facts, row)) continue;
        rgm_suggest_about(s, row);
        rgm_suggest_claim_span(s, row, RGM_PATH_BIT(KERNEL_COMMUNICATION));
    }
    rgm_suggest_close(s, facts->policy->suggest_communication_share);
}

// The operator that issues it, -1 where none is recorded.
static int32_t issued_by(const rgm_facts *facts, const rgm_collective_call *call) {
    return facts->view->op[call->row];
}

// By its message; where that is not recorded, one that takes less time than issuing it.
static bool is_small(const rgm_facts *facts, const rgm_collective_call *call) {
    if (call->bytes > 0) return (double)call->bytes < facts->policy->suggest_small_message_bytes;
    int32_t op = issued_by(facts, call);
    return op >= 0 && rgm_facts_duration(facts, call->row) < rgm_facts_duration(facts, (size_t)op);
}

// One collective for all of them would take the time of the bytes at the best rate of larger ones in this
// run; where there are none, at least as long as one of them. Issuing goes with them.
static void small_collectives(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_collective_calls calls = {0};
    rgm_status status = rgm_collective_calls_find(&calls, facts->view, s->err);
    double bytes = 0, best = NAN;
    bool sized = true;
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    rgm_suggest_open(s, RGM_RULE_SMALL_COLLECTIVES);
    for (size_t i = 0; i < calls.count; i++) {
        const rgm_collective_call *call = &calls.calls[i];
        int64_t duration = rgm_facts_duration(facts, call->row);
        if (duration <= 0 || !rgm_facts_on_rank(facts, call->row)) continue;
        double rate = call->bytes > 0 ? (double)call->bytes / (double)duration * 1e9 : (double)NAN;
        if (!is_small(facts, call)) {
            if (!isnan(rate) && !(rate <= best)) best = rate;
            continue;
        }
        rgm_suggest_about(s, call->row);
        rgm_suggest_claim_span(s, call->row, RGM_PATH_BIT(KERNEL_COMMUNICATION) | RGM_WAITING_PATH);
        int32_t op = issued_by(facts, call);
        if (op >= 0) rgm_suggest_claim_host(s, (size_t)op);
        sized &= call->bytes > 0;
        bytes += call->bytes > 0 ? (double)call->bytes : 0;
    }
    rgm_collective_calls_release(&calls);
    if ((double)s->open.count < facts->policy->suggest_small_collectives) {
        rgm_suggest_drop(s);
        return;
    }
    double least =
        sized ? bytes / best * 1e9 / (double)s->open.current_ns : (double)NAN; // share that must remain
    if (isnan(least)) least = 1 / (double)s->open.count;
    s->open.high = least < 1 ? 1 - least : 0;
    rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)s->open.count, facts->policy->suggest_small_collectives,
                     s->open.span);
    if (sized) rgm_suggest_note(s, RGM_QUANTITY_BYTES, bytes, NAN, s->open.span);
    if (!isnan(best)) rgm_suggest_note(s, RGM_QUANTITY_BEST_RATE, best, NAN, -1);
    rgm_suggest_close(s, 0);
}

static void data_parallel(rgm_suggester *s) {
    static const char *const names[] = {"DataParallel.forward", "parallel/data_parallel.py", "Broadcast",
                                        "ReduceAddCoalesced", NULL};
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_DATA_PARALLEL);
    if (facts->view->n_devices < 2) return;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        if (!rgm_critical_is_host(rgm_view_kind(facts->view, i)) || !rgm_facts_on_rank(facts, i)) continue;
        rgm_string name = rgm_facts_text(facts, i);
        bool found =
            rgm_text_has(name, names[1]) || rgm_text_is(name, names[2]) || rgm_text_is(name, names[3]);
        if (!found && (!rgm_text_has(name, names[0]) || rgm_text_has(name, "DistributedDataParallel")))
            continue;
        rgm_suggest_about(s, i);
    }
    if (s->open.count)
        rgm_suggest_close_unbounded(s);
    else
        rgm_suggest_drop(s);
}

static void gloo(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_GLOO_COLLECTIVES);
    if (facts->view->n_work == 0) return;
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        if (!rgm_critical_is_host(rgm_view_kind(facts->view, i)) || !rgm_facts_on_rank(facts, i)) continue;
        if (!rgm_text_begins(rgm_facts_text(facts, i), "gloo:")) continue;
        rgm_suggest_about(s, i);
        rgm_suggest_claim_between(s, rgm_view_start(facts->view, i), rgm_view_end(facts->view, i),
                                  RGM_HOST_PATH, -1);
    }
    rgm_suggest_close(s, 0);
}

// --- ranks ------------------------------------------------------------------------------------------------

static bool many_ranks(const rgm_facts *facts) {
    for (size_t d = 1; d < facts->view->n_devices; d++)
        if (facts->view->devices[d].rank != facts->view->devices[0].rank) return true;
    return false;
}

// What of the path is a wait of its rank for `late` in a collective: from where the rank enters it to where
// the last one does. A wait of the late rank itself is none.
static rgm_status claim_waits_for(rgm_suggester *s, int32_t late) {
    const rgm_view *view = s->facts->view;
    rgm_instances all = {0};
    RGM_TRY(rgm_instances_find(&all, view, s->err));
    for (size_t i = 0; i < all.count; i++) {
        const rgm_collective_call *own = NULL, *last = NULL;
        for (size_t c = all.instances[i].from; c < all.instances[i].to; c++) {
            const rgm_collective_call *call = rgm_instance_call(&all, c);
            if (!last || rgm_view_start(view, call->row) > rgm_view_start(view, last->row)) last = call;
            if (rgm_facts_on_rank(s->facts, call->row)) own = call;
        }
        if (!own || view->devices[last->device].rank != late) continue;
        int64_t start = rgm_view_start(view, own->row), end = rgm_view_end(view, own->row);
        int64_t until = rgm_view_start(view, last->row);
        rgm_suggest_claim_between(s, start, until < end ? until : end, RGM_PATH_BIT(KERNEL_COMMUNICATION),
                                  -1);
    }
    rgm_instances_release(&all);
    return RGM_OK;
}

// Bounded where the path is that of a rank which waits; the path of the late one itself shows no such wait.
static void late_rank(rgm_suggester *s, const rgm_stragglers *found, size_t i) {
    const rgm_policy *policy = s->facts->policy;
    rgm_suggest_open(s, RGM_RULE_STRAGGLER);
    s->open.current_ns = found->caused_ns[i];
    rgm_suggest_note(s, RGM_QUANTITY_SHARE, found->caused_share[i], policy->suggest_straggler_share, -1);
    rgm_suggest_note(s, RGM_QUANTITY_TOTAL_NS, (double)found->caused_ns[i], NAN, -1);
    rgm_suggest_note(s, RGM_QUANTITY_RANK, (double)found->rank[i], NAN, -1);
    rgm_status status = claim_waits_for(s, found->rank[i]);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    if (s->open.claim.count)
        rgm_suggest_close(s, 0);
    else
        rgm_suggest_close_unbounded(s);
}

static void straggler(rgm_suggester *s) {
    const rgm_policy *policy = s->facts->policy;
    const rgm_question question = {0};
    rgm_stragglers found = {0};
    rgm_status status = rgm_stragglers_compute(s->facts->view, policy, &question, &found, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    for (size_t i = 0; status == RGM_OK && i < found.rows; i++) {
        if (!(found.caused_share[i] >= policy->suggest_straggler_share) || found.caused_ns[i] <= 0) continue;
        int64_t others = found.rows > 1 ? (int64_t)(found.rows - 1) : 1;
        if (rgm_facts_share(s->facts, found.caused_ns[i] / others) >= policy->suggest_least_share)
            late_rank(s, &found, i);
    }
    rgm_table_release(&rgm_stragglers_desc, &found);
}

static void imbalance(rgm_suggester *s) {
    const rgm_policy *policy = s->facts->policy;
    const rgm_question question = {0};
    rgm_rank_times found = {0};
    rgm_status status = rgm_rank_times_compute(s->facts->view, policy, &question, &found, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    if (status == RGM_OK && found.rows > 1 && found.imbalance[0] >= policy->suggest_imbalance) {
        rgm_suggest_open(s, RGM_RULE_RANK_IMBALANCE);
        for (size_t i = 0; i < found.rows; i++)
            if (found.compute_ns[i] > s->open.current_ns) s->open.current_ns = found.compute_ns[i];
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, found.imbalance[0], policy->suggest_imbalance, -1);
        rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)found.rows, NAN, -1);
        rgm_suggest_close_unbounded(s);
    }
    rgm_table_release(&rgm_rank_times_desc, &found);
}

void rgm_suggest_communication(rgm_suggester *s) {
    exposed(s);
    small_collectives(s);
    data_parallel(s);
    gloo(s);
    if (!many_ranks(s->facts)) return;
    straggler(s);
    imbalance(s);
}
