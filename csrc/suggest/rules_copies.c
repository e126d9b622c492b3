// SPDX-License-Identifier: Apache-2.0
// Rules about copies between host and device.
#include <math.h>

#include "analysis/stats.h"
#include "analysis/waiting/copies.h"
#include "suggest/suggester.h"

static bool is_copy(const rgm_facts *facts, size_t row) {
    return rgm_copy_is(facts->view, (uint32_t)row) && rgm_facts_on_rank(facts, row);
}

static bool crosses(rgm_copy copy) {
    return copy.direction == RGM_COPY_HOST_TO_DEVICE || copy.direction == RGM_COPY_DEVICE_TO_HOST;
}

static bool is_pageable(rgm_copy copy) {
    return crosses(copy) &&
           (copy.source == RGM_COPY_MEMORY_PAGEABLE || copy.target == RGM_COPY_MEMORY_PAGEABLE);
}

static bool is_pinned(rgm_copy copy) {
    return crosses(copy) && (copy.source == RGM_COPY_MEMORY_PINNED || copy.target == RGM_COPY_MEMORY_PINNED);
}

static double rate_of(const rgm_facts *facts, size_t row) {
    int64_t bytes = rgm_view_bytes(facts->view, row), duration = rgm_facts_duration(facts, row);
    return bytes > 0 && duration > 0 ? (double)bytes / (double)duration * 1e9 : (double)NAN;
}

// The highest rate of a pinned copy of the direction that is large enough to show one; else the ceiling.
static double best_pinned(const rgm_facts *facts, rgm_copy_direction direction) {
    double best = NAN;
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!is_copy(facts, row)) continue;
        rgm_copy copy = rgm_copy_of(facts->view, row);
        double rate = rate_of(facts, row);
        if (copy.direction != direction || !is_pinned(copy)) continue;
        if ((double)rgm_view_bytes(facts->view, row) >= facts->policy->small_copy_bytes && !(rate <= best))
            best = rate;
    }
    if (!isnan(best) || !facts->ceilings) return best;
    return facts->ceilings
        ->at[direction == RGM_COPY_HOST_TO_DEVICE ? RGM_CEILING_H2D_PINNED : RGM_CEILING_D2H_PINNED]
        .value;
}

// What is hidden needs something to hide behind: of a path that is copies alone nothing goes.
static double hidden_at_most(rgm_suggester *s) {
    rgm_claim_close(&s->open.claim);
    double copies = (double)rgm_claim_total(&s->open.claim), rest = (double)s->facts->whole_ns - copies;
    return copies > 0 ? fmin(1, fmax(0, rest / copies)) : 0;
}

// The copy, whichever side of it the path goes along, and what of its call the device idles: a call that
// waits for work before the copy costs nothing by that.
static void claim_copy(rgm_suggester *s, uint32_t row) {
    const rgm_view *view = s->facts->view;
    int32_t launch = view->launch[row];
    s->open.own_work = true;
    rgm_suggest_about(s, row);
    rgm_suggest_claim_span(s, row, RGM_ON_DEVICE_PATH | RGM_WAITING_PATH);
    if (launch < 0) return;
    size_t call = (size_t)launch;
    unsigned calling = RGM_PATH_BIT(HOST_RUNTIME) | RGM_PATH_BIT(HOST_SYNC);
    int32_t lane = (int32_t)rgm_view_lane(view, call);
    int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
    int64_t called = rgm_view_start(view, call), returned = rgm_view_end(view, call);
    rgm_suggest_claim_between(s, start > called ? start : called, end < returned ? end : returned, calling,
                              lane);
    rgm_suggest_claim_idle(s, called, returned, calling, lane);
}

// Pinned memory saves the difference of the rates, measured in this run or given; asynchronously, all of it
// can hide behind kernels.
static void pageable_copies(rgm_suggester *s, rgm_copy_direction direction) {
    const rgm_facts *facts = s->facts;
    double bytes = 0, time = 0, best = best_pinned(facts, direction);
    rgm_suggest_open(s, RGM_RULE_PAGEABLE_COPIES);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!is_copy(facts, row)) continue;
        rgm_copy copy = rgm_copy_of(facts->view, row);
        if (copy.direction != direction || !is_pageable(copy)) continue;
        if ((double)rgm_view_bytes(facts->view, row) < facts->policy->small_copy_bytes ||
            isnan(rate_of(facts, row)))
            continue; // what a small one takes is not its bytes
        claim_copy(s, row);
        bytes += (double)rgm_view_bytes(facts->view, row);
        time += (double)rgm_facts_duration(facts, row);
    }
    double rate = time > 0 ? bytes / time * 1e9 : (double)NAN;
    if (rate < best) s->open.low = 1 - rate / best;
    s->open.high = fmax(s->open.low, hidden_at_most(s));
    rgm_suggest_note(s, RGM_QUANTITY_RATE, rate, NAN, s->open.span);
    if (!isnan(best)) rgm_suggest_note(s, RGM_QUANTITY_BEST_RATE, best, NAN, -1);
    rgm_suggest_close(s, 0);
}

// Copies and sets by a call without Async in its name: the host waits, so nothing runs beside them.
static void sync_calls(rgm_suggester *s, rgm_suggestion_rule rule, rgm_kind kind) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, rule);
    s->open.confidence = RGM_DEGREE_HIGH;
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        int32_t launch = facts->view->launch[row];
        if (launch < 0 || rgm_view_kind(facts->view, row) != kind || !rgm_facts_on_rank(facts, row)) continue;
        rgm_string call = rgm_facts_text(facts, (size_t)launch);
        if (rgm_text_has(call, "Async") || rgm_text_has(call, "Graph") ||
            (!rgm_text_has(call, "Memcpy") && !rgm_text_has(call, "Memset")))
            continue;
        claim_copy(s, row);
    }
    rgm_suggest_close(s, 0);
}

static void small_copies(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    int64_t all = 0, bytes = 0;
    rgm_suggest_open(s, RGM_RULE_SMALL_COPIES);
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!is_copy(facts, row) || !crosses(rgm_copy_of(facts->view, row))) continue;
        int64_t size = rgm_view_bytes(facts->view, row);
        all++;
        if (size < 0 || (double)size >= facts->policy->small_copy_bytes) continue;
        claim_copy(s, row);
        bytes = rgm_add_bounded(bytes, size);
    }
    if ((double)s->open.count < facts->policy->suggest_small_copies || 2 * s->open.count < all) {
        rgm_suggest_drop(s);
        return;
    }
    s->open.high = 1 - 1 / (double)s->open.count; // one copy remains
    rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)s->open.count, facts->policy->suggest_small_copies,
                     s->open.span);
    rgm_suggest_note(s, RGM_QUANTITY_BYTES, (double)bytes, NAN, s->open.span);
    rgm_suggest_close(s, 0);
}

static void exposed_copies(rgm_suggester *s, rgm_suggestion_rule rule, bool across) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, rule);
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!is_copy(facts, row)) continue;
        rgm_copy copy = rgm_copy_of(facts->view, row);
        if (across ? !crosses(copy) : copy.direction != RGM_COPY_DEVICE_TO_DEVICE) continue;
        rgm_suggest_about(s, row);
        rgm_suggest_claim_span(s, row, RGM_ON_DEVICE_PATH);
    }
    if (across) s->open.high = hidden_at_most(s);
    rgm_suggest_close(s, facts->policy->suggest_exposed_copy_share);
}

void rgm_suggest_copies(rgm_suggester *s) {
    pageable_copies(s, RGM_COPY_HOST_TO_DEVICE);
    pageable_copies(s, RGM_COPY_DEVICE_TO_HOST);
    sync_calls(s, RGM_RULE_SYNC_COPIES, RGM_KIND_MEMCPY);
    sync_calls(s, RGM_RULE_SYNC_MEMSET, RGM_KIND_MEMSET);
    small_copies(s);
    exposed_copies(s, RGM_RULE_EXPOSED_COPIES, true);
    exposed_copies(s, RGM_RULE_DEVICE_COPIES, false);
}
