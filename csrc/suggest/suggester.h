// SPDX-License-Identifier: Apache-2.0
// What a rule writes: it opens a suggestion, claims parts of the critical path, notes figures, and closes it;
// closing drops what concerns too little of the path. A failed allocation is kept in `status`, after which
// all of this does nothing, so that rules are free of error handling.
#ifndef RGM_SUGGEST_SUGGESTER_H
#define RGM_SUGGEST_SUGGESTER_H

#include "suggest/claim.h"
#include "suggest/facts.h"

typedef struct {
    rgm_suggestion_rule rule;
    rgm_degree confidence;
    rgm_name subject;
    bool by_example; // the subject is the name of the example
    int64_t span;    // an example, -1 for none
    int64_t current_ns, count;
    rgm_claim claim;
    double low, high; // share of the claim that is saved, at least and at most
    bool bounded;
    size_t figure_first, figure_end;
    // Of the ranking:
    int64_t own_ns;  // time of the claim
    int64_t left_ns; // what no earlier suggestion counts
    double weight;
    int32_t merged_into; // place in the list, -1
} rgm_finding;

typedef struct {
    uint8_t quantity;
    double value, threshold;
    int64_t span;
} rgm_figure;

typedef struct {
    const rgm_facts *facts;
    rgm_finding *findings;
    size_t count, capacity;
    rgm_figure *figures;
    size_t n_figures, figures_capacity;
    rgm_finding open;
    rgm_status status;
    rgm_error *err;
} rgm_suggester;

// The open suggestion starts with medium confidence, no claim, all of its claim saved at most and nothing at
// least.
void rgm_suggest_open(rgm_suggester *s, rgm_suggestion_rule rule);
// About this span: it counts, and its duration is part of current_ns. The earliest of them is the example,
// and gives the name unless one is set already.
void rgm_suggest_about(rgm_suggester *s, size_t row);
// Claims the segments of a span, or the path between two times; of these kinds. `lane` keeps what other host
// threads did out of it, -1 for all.
void rgm_suggest_claim_span(rgm_suggester *s, size_t row, unsigned kinds);
void rgm_suggest_claim_between(rgm_suggester *s, int64_t start, int64_t end, unsigned kinds, int32_t lane);
// A figure with what it is compared with, NaN for nothing, and a span that shows it, -1 for none.
void rgm_suggest_note(rgm_suggester *s, rgm_quantity quantity, double value, double threshold, int64_t span);
// Keeps the suggestion if its claim is at least this share of the path, and says so in the evidence.
void rgm_suggest_close(rgm_suggester *s, double least_share);
// Keeps it without a bound.
void rgm_suggest_close_unbounded(rgm_suggester *s);
void rgm_suggest_drop(rgm_suggester *s);

static inline void rgm_suggest_fail(rgm_suggester *s, rgm_status status) {
    if (s->status == RGM_OK) s->status = status;
}

void rgm_suggester_release(rgm_suggester *s);

// The rules of each topic.
void rgm_suggest_launches(rgm_suggester *s);
void rgm_suggest_shapes(rgm_suggester *s);
void rgm_suggest_host(rgm_suggester *s);
void rgm_suggest_copies(rgm_suggester *s);
void rgm_suggest_conversions(rgm_suggester *s);
void rgm_suggest_syncs(rgm_suggester *s);
void rgm_suggest_memory(rgm_suggester *s);
void rgm_suggest_input(rgm_suggester *s);
void rgm_suggest_communication(rgm_suggester *s);
void rgm_suggest_matrices(rgm_suggester *s);
void rgm_suggest_operators(rgm_suggester *s);
void rgm_suggest_kernels(rgm_suggester *s);
void rgm_suggest_host_work(rgm_suggester *s);
void rgm_suggest_host_patterns(rgm_suggester *s);
void rgm_suggest_scopes(rgm_suggester *s);
void rgm_suggest_telemetry(rgm_suggester *s);
void rgm_suggest_counters(rgm_suggester *s);

#endif
