// SPDX-License-Identifier: Apache-2.0
#include "suggest/verdict.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suggest/verdict_facts.h"

static const uint8_t may_go[RGM_CAUSE_COUNT] = {
#define MAY_GO(name, token, saved, definition) saved,
    RGM_LIMIT_CAUSES(MAY_GO)
#undef MAY_GO
};

typedef struct {
    rgm_limit_cause cause;
    double share, error;
    int place; // before those with a higher one, whatever their shares are
} ranked;

enum { DANGER, FIRST, BY_SHARE, AFTER };

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->place != y->place) return x->place - y->place;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    return (int)x->cause - (int)y->cause;
}

static double share_of(const rgm_verdict_facts *facts, rgm_limit_cause cause) {
    double whole = rgm_verdict_whole(facts);
    return whole > 0 ? (double)facts->causes[cause].time_ns / whole : 0;
}

// Whether what some steps take beyond the others explains most of the largest cause.
static bool explains(const rgm_verdict_facts *facts, rgm_limit_cause when, double largest) {
    double share = share_of(facts, when);
    return share >= facts->policy->verdict_when_share &&
           share >= facts->policy->verdict_when_of_what * largest;
}

// Whether a cause is that a server waits to be asked, rather than for something of its own.
static bool serves(const rgm_cause_time *time) { return 2 * time->serving > time->count; }

static bool awaits_processes(const rgm_verdict_facts *facts, rgm_limit_cause what) {
    return what == RGM_CAUSE_INPUT && rgm_cause_is_elsewhere(&facts->causes[what]);
}

// A device that works most of the time is the limit; one that does not is limited by what it waits for, where
// that is known.
static int place_of_device(const rgm_verdict_facts *facts) {
    double other = 0;
    if (share_of(facts, RGM_CAUSE_DEVICE) >= facts->policy->verdict_device_share) return FIRST;
    for (int i = RGM_CAUSE_DEVICE + 1; i < RGM_CAUSE_FIRST_STEP; i++)
        other = fmax(other, share_of(facts, (rgm_limit_cause)i));
    return other >= facts->policy->verdict_wait_share ? AFTER : BY_SHARE;
}

// What is kept from step to step, or from request to request, is lost. A program that goes through its work
// once may want what it keeps.
static int place_of_growth(const rgm_verdict_facts *facts) {
    return facts->n_steps || serves(&facts->causes[RGM_CAUSE_EVENT_LOOP]) ? DANGER : AFTER;
}

// What a server has done of the window, but for waiting and for what it imports once.
static double works(const rgm_verdict_facts *facts) {
    return 1 - share_of(facts, RGM_CAUSE_EVENT_LOOP) - share_of(facts, RGM_CAUSE_IMPORTS);
}

static int place_of(const rgm_verdict_facts *facts, rgm_limit_cause cause, rgm_limit_cause what,
                    double others) {
    const rgm_policy *policy = facts->policy;
    double largest = share_of(facts, what);
    switch (cause) {
    case RGM_CAUSE_MEMORY_GROWTH: return place_of_growth(facts);
    // Where the loop waits for other processes, that they have to start first is the same wait.
    case RGM_CAUSE_FIRST_STEP:
        return explains(facts, cause, largest) && !awaits_processes(facts, what) ? FIRST : AFTER;
    // What could go, or is waited for, and is most of what these steps take more says more than which steps
    // they are.
    case RGM_CAUSE_UNEVEN_STEPS: {
        bool named = may_go[what] || rgm_cause_is_elsewhere(&facts->causes[what]);
        bool most = named && largest >= policy->verdict_when_of_what * share_of(facts, cause);
        return explains(facts, cause, largest) && !most ? FIRST : AFTER;
    }
    // Paid once: what follows matters more, where there is enough of it to be the program.
    case RGM_CAUSE_IMPORTS: return others >= policy->verdict_imports_ns ? AFTER : BY_SHARE;
    // What a server does when it is asked is what limits it, where it was asked at all.
    case RGM_CAUSE_EVENT_LOOP:
        return serves(&facts->causes[cause]) && works(facts) >= policy->verdict_served ? AFTER : BY_SHARE;
    case RGM_CAUSE_UNKNOWN: return AFTER;
    case RGM_CAUSE_DEVICE: return place_of_device(facts);
    default: return BY_SHARE;
    }
}

static size_t rank(const rgm_verdict_facts *facts, ranked *rows) {
    double imports = (double)facts->causes[RGM_CAUSE_IMPORTS].time_ns, window = rgm_verdict_whole(facts);
    rgm_limit_cause what = RGM_CAUSE_UNKNOWN;
    size_t count = 0;
    for (int i = 0; rgm_cause_is_what((rgm_limit_cause)i); i++)
        if (facts->causes[i].time_ns > facts->causes[what].time_ns) what = (rgm_limit_cause)i;
    for (int i = 0; i < RGM_CAUSE_COUNT; i++) {
        rgm_limit_cause cause = (rgm_limit_cause)i;
        const rgm_cause_time *time = &facts->causes[i];
        if (!time->found || (rgm_cause_is_what(cause) && time->time_ns <= 0)) continue;
        rows[count++] = (ranked){.cause = cause,
                                 .share = share_of(facts, cause),
                                 .error = window > 0 ? sqrt(time->variance) / window : 0,
                                 .place = place_of(facts, cause, what, window - imports)};
    }
    qsort(rows, count, sizeof *rows, by_rank);
    return count;
}

static double margin(const rgm_policy *policy, const ranked *a, const ranked *b) {
    return fmax(policy->verdict_margin, 2 * sqrt(a->error * a->error + b->error * b->error));
}

static bool tied(const rgm_policy *policy, const ranked *first, const ranked *other) {
    return first->place == other->place && first->share - other->share < margin(policy, first, other);
}

static rgm_degree confidence_of(const rgm_verdict_facts *facts, const ranked *rows, size_t count) {
    const rgm_policy *policy = facts->policy;
    double looked = (double)(facts->samples + facts->displaced);
    double doubt = 2 * rows[0].error;
    double next = count > 1 && rows[1].place == rows[0].place ? rows[1].share : 0;
    if (count > 1 && tied(policy, &rows[0], &rows[1])) return RGM_DEGREE_LOW;
    if (facts->samples && doubt > 0 && doubt >= rows[0].share) return RGM_DEGREE_LOW;
    if (looked > 0 && (double)facts->displaced >= policy->verdict_others_most * looked) return RGM_DEGREE_LOW;
    if (rows[0].cause == RGM_CAUSE_SCOPE && share_of(facts, RGM_CAUSE_UNKNOWN) > rows[0].share)
        return RGM_DEGREE_LOW; // most is between what was marked
    bool clear =
        rows[0].share >= policy->verdict_clear_share && rows[0].share - next >= policy->verdict_clear_lead;
    bool placed = rows[0].place <= FIRST && rows[0].cause != RGM_CAUSE_DEVICE;
    return clear || placed ? RGM_DEGREE_HIGH : RGM_DEGREE_MEDIUM;
}

static rgm_status put(const rgm_verdict_facts *facts, const ranked *of, rgm_causes *out, size_t *row,
                      rgm_error *err) {
    const rgm_cause_time *time = &facts->causes[of->cause];
    RGM_TRY(rgm_table_append(&rgm_causes_desc, out, RGM_ALL_COLUMNS, row, err));
    out->cause[*row] = (rgm_u8)of->cause;
    out->time_ns[*row] = time->time_ns;
    out->share[*row] = of->share;
    out->error[*row] = of->error;
    // What other programs took of the window, they took of each cause alike.
    out->serving[*row] = serves(time);
    if (may_go[of->cause] && !serves(time))
        out->saved_ns[*row] = (rgm_i64)(of->share * (double)rgm_verdict_seen(facts));
    out->subject[*row] = time->subject;
    out->subject_share[*row] = time->subject_share;
    out->stack[*row] = time->stack;
    out->span[*row] = time->span;
    out->count[*row] = time->count;
    out->figure[*row] = time->figure;
    out->window_ns[*row] = rgm_verdict_window(facts);
    out->marked_ns[*row] = facts->marked_ns;
    out->steps[*row] = (rgm_i32)facts->n_steps;
    out->elsewhere[*row] = time->elsewhere;
    if (time->process) out->process[*row] = time->process;
    RGM_TRY(rgm_verdict_find_inner(facts, of->cause, &out->inner[*row], &out->inner_share[*row], err));
    out->calling[*row] = time->calling;
    out->samples[*row] = facts->samples;
    out->displaced[*row] = facts->displaced;
    out->unseen_ns[*row] = facts->unseen_ns;
    return RGM_OK;
}

rgm_status rgm_verdict_compute(const rgm_view *view, const rgm_policy *policy, rgm_causes *out,
                               rgm_error *err) {
    RGM_RELEASED(rgm_verdict_facts_release) rgm_verdict_facts facts = {0};
    ranked rows[RGM_CAUSE_COUNT];
    RGM_TRY(rgm_verdict_facts_init(&facts, view, policy, err));
    RGM_TRY(rgm_verdict_of_host(&facts, err));
    RGM_TRY(rgm_verdict_of_steps(&facts, err));
    RGM_TRY(rgm_verdict_of_kernel(&facts, err));
    RGM_TRY(rgm_verdict_of_memory(&facts, err));
    RGM_TRY(rgm_verdict_of_device(&facts, err));
    size_t count = rank(&facts, rows);
    for (size_t i = 0; i < count; i++) {
        size_t row;
        RGM_TRY(put(&facts, &rows[i], out, &row, err));
        out->tied[row] = i > 0 && tied(policy, &rows[0], &rows[i]);
        out->confidence[row] = (rgm_u8)(i ? RGM_DEGREE_LOW : confidence_of(&facts, rows, count));
    }
    return RGM_OK;
}
