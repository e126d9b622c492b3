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
    bool own_work; // device work that would go: what the host does meanwhile goes too
    int64_t waits; // that it avoids, of rules about waits
    size_t figure_first, figure_end;
    // Of the ranking:
    int64_t own_ns;   // time of the claim
    int64_t saved_ns; // at most, beside what earlier suggestions save
    bool by_idle;     // the idle time of the device bounds it
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
// What a thread did between two times; with the number of lanes for `lane` all that is not work of the host.
// `from` is 0, and stays the caller's for later times of the same lane.
void rgm_suggest_claim_lane(rgm_suggester *s, int64_t start, int64_t end, int32_t lane, size_t *from);
// As between two times, within those in which the device has nothing to do.
void rgm_suggest_claim_idle(rgm_suggester *s, int64_t start, int64_t end, unsigned kinds, int32_t lane);
// A figure with what it is compared with, NaN for nothing, and a span that shows it, -1 for none.
void rgm_suggest_note(rgm_suggester *s, rgm_quantity quantity, double value, double threshold, int64_t span);
// What is saved at most if `high` of a claim goes, with `idle_ns` of the device left that work of the host
// can save; how much of it is such work, and whether its end is what bounds it.
typedef struct {
    double saved_ns, host_ns;
    bool by_idle;
} rgm_saving;
rgm_saving rgm_suggest_saving(const rgm_suggester *s, const rgm_finding *finding, const rgm_claim *left,
                              int64_t idle_ns);
// Whether a saving is worth a reader's time: by its share of the path, or by the waits that it avoids.
bool rgm_suggest_matters(const rgm_suggester *s, const rgm_finding *finding, double saved_ns);
// Keeps the suggestion if its claim is at least this share of the path and what it can save matters.
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
