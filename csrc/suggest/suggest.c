// SPDX-License-Identifier: Apache-2.0
#include "suggest/suggest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suggest/suggester.h"

typedef struct {
    uint8_t type, effort, tier;
} rule_row;

static const rule_row rules[RGM_RULE_COUNT] = {
#define RULE_ROW(name, token, type, effort, tier, reference)                                                 \
    {RGM_SUGGESTION_##type, RGM_DEGREE_##effort, tier},
    RGM_SUGGESTION_RULES(RULE_ROW)
#undef RULE_ROW
};

static void ask_rules(rgm_suggester *s) {
    static void (*const topics[])(rgm_suggester *) = {
        rgm_suggest_launches,      rgm_suggest_shapes,        rgm_suggest_host,      rgm_suggest_copies,
        rgm_suggest_conversions,   rgm_suggest_syncs,         rgm_suggest_memory,    rgm_suggest_input,
        rgm_suggest_communication, rgm_suggest_matrices,      rgm_suggest_operators, rgm_suggest_kernels,
        rgm_suggest_host_work,     rgm_suggest_host_patterns, rgm_suggest_scopes,    rgm_suggest_telemetry,
        rgm_suggest_counters,
    };
    for (size_t i = 0; i < sizeof topics / sizeof topics[0] && s->status == RGM_OK; i++) topics[i](s);
}

// --- merging ----------------------------------------------------------------------------------------------

// Names are compared as texts and spans by what they are: ids and rows depend on the order of the input.
static int by_name(const rgm_suggester *s, const rgm_finding *x, const rgm_finding *y) {
    const rgm_view *view = s->facts->view;
    if (x->rule != y->rule) return x->rule < y->rule ? -1 : 1;
    int order = strcmp(rgm_view_text(view, x->subject).data, rgm_view_text(view, y->subject).data);
    if (order || x->span == y->span) return order;
    if (x->span < 0 || y->span < 0) return x->span < 0 ? 1 : -1;
    return rgm_facts_before(s->facts, (size_t)x->span, (size_t)y->span) ? -1 : 1;
}

static int by_claim(const void *a, const void *b, void *context) {
    const rgm_finding *x = a, *y = b;
    int tiers = (int)rules[x->rule].tier - (int)rules[y->rule].tier;
    if (x->bounded != y->bounded) return x->bounded ? -1 : 1;
    if (tiers) return tiers;
    if (x->own_ns != y->own_ns) return x->own_ns > y->own_ns ? -1 : 1;
    return by_name(context, x, y);
}

static int by_value(const void *a, const void *b, void *context) {
    const rgm_finding *x = a, *y = b;
    bool x_merged = x->merged_into >= 0, y_merged = y->merged_into >= 0;
    if (x_merged != y_merged) return x_merged ? 1 : -1;
    if (x->bounded != y->bounded) return x->bounded ? -1 : 1;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return by_name(context, x, y);
}

// The suggestion before this one that has most of its time; where none has any, the one before it that host
// work is counted for first.
static int32_t covering(const rgm_suggester *s, size_t at) {
    int64_t most = 0;
    int32_t found = -1;
    for (size_t i = 0; i < at; i++) {
        if (s->findings[i].merged_into >= 0) continue;
        int64_t shared = rgm_claim_shared(&s->findings[at].claim, &s->findings[i].claim);
        if (found >= 0 && shared <= most) continue;
        most = shared;
        found = (int32_t)i;
    }
    return found;
}

static double weight_of(const rgm_suggester *s, const rgm_finding *f) {
    const rgm_policy *policy = s->facts->policy;
    double share = rgm_facts_share(s->facts, f->saved_ns);
    if (f->confidence == RGM_DEGREE_HIGH) return share;
    return share *
           (f->confidence == RGM_DEGREE_MEDIUM ? policy->suggest_medium_weight : policy->suggest_low_weight);
}

// What those before it leave of a claim that only says where time goes, or of what sort it is.
static bool mostly_counted(const rgm_finding *f, int64_t left_ns) {
    enum { OF_A_CAUSE = 1 }; // the last tier of causes
    return rules[f->rule].tier > OF_A_CAUSE && left_ns < f->own_ns - left_ns;
}

static rgm_status count(rgm_suggester *s, size_t at, rgm_claim *taken, int64_t *idle_ns) {
    rgm_finding *f = &s->findings[at];
    rgm_claim rest = {0};
    RGM_TRY(rgm_claim_without(&f->claim, taken, &rest, s->err));
    rgm_saving saving = rgm_suggest_saving(s, f, &rest, *idle_ns);
    if (mostly_counted(f, rgm_claim_total(&rest)) || !rgm_suggest_matters(s, f, saving.saved_ns))
        f->merged_into = covering(s, at);
    rgm_claim_release(&rest);
    if (f->merged_into >= 0) return RGM_OK;
    f->saved_ns = (int64_t)saving.saved_ns;
    f->by_idle = saving.by_idle;
    f->weight = weight_of(s, f);
    *idle_ns -= (int64_t)saving.host_ns;
    return rgm_claim_join(taken, &f->claim, s->err);
}

static rgm_status merge(rgm_suggester *s) {
    rgm_claim taken = {0};
    rgm_status status = RGM_OK;
    int64_t idle_ns = s->facts->idle_ns;
    if (s->count) qsort_r(s->findings, s->count, sizeof *s->findings, by_claim, s);
    for (size_t i = 0; i < s->count && status == RGM_OK; i++)
        if (s->findings[i].bounded) status = count(s, i, &taken, &idle_ns);
    rgm_claim_release(&taken);
    return status;
}

// --- the tables -------------------------------------------------------------------------------------------

static rgm_priority priority_of(const rgm_suggester *s, const rgm_finding *f) {
    const rgm_policy *policy = s->facts->policy;
    if (!f->bounded || f->merged_into >= 0) return RGM_PRIORITY_LOW;
    if (f->weight >= policy->suggest_critical_share) return RGM_PRIORITY_CRITICAL;
    if (f->weight >= policy->suggest_high_share) return RGM_PRIORITY_HIGH;
    return f->weight >= policy->suggest_medium_share ? RGM_PRIORITY_MEDIUM : RGM_PRIORITY_LOW;
}

static double speedup(int64_t whole, int64_t saved) {
    return saved < whole ? (double)whole / (double)(whole - saved) : (double)INFINITY;
}

static rgm_status put(const rgm_suggester *s, const rgm_finding *f, rgm_suggestions *out, size_t *row) {
    int64_t whole = s->facts->whole_ns;
    RGM_TRY(rgm_table_append(&rgm_suggestions_desc, out, RGM_ALL_COLUMNS, row, s->err));
    out->rule[*row] = (rgm_u8)f->rule;
    out->type[*row] = rules[f->rule].type;
    out->effort[*row] = rules[f->rule].effort;
    out->priority[*row] = (rgm_u8)priority_of(s, f);
    out->confidence[*row] = (rgm_u8)f->confidence;
    out->subject[*row] = f->subject;
    out->span[*row] = f->span;
    out->current_ns[*row] = f->current_ns;
    out->path_ns[*row] = f->own_ns;
    out->path_share[*row] = rgm_facts_share(s->facts, f->own_ns);
    out->bounded[*row] = f->bounded;
    out->whole_ns[*row] = whole;
    out->saved_high_ns[*row] = f->saved_ns;
    double low = f->high > 0 ? (double)f->saved_ns * f->low / f->high : 0;
    out->saved_low_ns[*row] = f->by_idle ? 0 : (int64_t)low;
    if (f->by_idle) out->idle_ns[*row] = s->facts->idle_ns;
    if (!f->bounded) return RGM_OK;
    out->speedup_low[*row] = speedup(whole, out->saved_low_ns[*row]);
    out->speedup_high[*row] = speedup(whole, out->saved_high_ns[*row]);
    return RGM_OK;
}

static rgm_status put_evidence(const rgm_suggester *s, const rgm_finding *f, size_t suggestion,
                               rgm_suggestion_evidence *out) {
    for (size_t i = f->figure_first; i < f->figure_end; i++) {
        const rgm_figure *figure = &s->figures[i];
        size_t row;
        RGM_TRY(rgm_table_append(&rgm_suggestion_evidence_desc, out, RGM_ALL_COLUMNS, &row, s->err));
        out->suggestion[row] = (rgm_i32)suggestion;
        out->quantity[row] = figure->quantity;
        out->value[row] = figure->value;
        out->threshold[row] = figure->threshold;
        out->span[row] = figure->span;
    }
    return RGM_OK;
}

// Ranked, with merged_into as rows of the result; `places` has room for every finding.
static rgm_status put_all(rgm_suggester *s, int32_t *places, rgm_suggestions *out,
                          rgm_suggestion_evidence *evidence) {
    for (size_t i = 0; i < s->count; i++) s->findings[i].own_ns = rgm_claim_total(&s->findings[i].claim);
    for (size_t i = 0; i < s->count; i++) s->findings[i].count = (int64_t)i; // its place while merging
    if (s->count) qsort_r(s->findings, s->count, sizeof *s->findings, by_value, s);
    for (size_t i = 0; i < s->count; i++) places[s->findings[i].count] = (int32_t)i;
    for (size_t i = 0; i < s->count; i++) {
        size_t row;
        RGM_TRY(put(s, &s->findings[i], out, &row));
        if (s->findings[i].merged_into >= 0) out->merged_into[row] = places[s->findings[i].merged_into];
        RGM_TRY(put_evidence(s, &s->findings[i], row, evidence));
    }
    return RGM_OK;
}

rgm_status rgm_suggest(const rgm_view *view, const rgm_policy *policy, const rgm_ceilings *ceilings,
                       rgm_suggestions *suggestions, rgm_suggestion_evidence *evidence, rgm_error *err) {
    RGM_RELEASED(rgm_facts_release) rgm_facts facts = {0};
    RGM_RELEASED(rgm_suggester_release) rgm_suggester s = {.facts = &facts, .err = err};
    RGM_FREED int32_t *places = NULL;
    RGM_TRY(rgm_facts_init(&facts, view, policy, ceilings, err));
    ask_rules(&s);
    RGM_TRY(s.status);
    RGM_TRY(merge(&s));
    RGM_TRY(RGM_ROWS(places, s.count, err));
    return put_all(&s, places, suggestions, evidence);
}
