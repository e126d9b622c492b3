// SPDX-License-Identifier: Apache-2.0
// Operators of a run without device work: there the operators of the host are the work. A topmost operator is
// one that no other operator of its thread encloses; what it does, all that is below it does.
#ifndef RGM_SUGGEST_HOST_WORK_H
#define RGM_SUGGEST_HOST_WORK_H

#include "suggest/suggester.h"

// Whether the run has no device work, so that rules about work look at operators instead.
static inline bool rgm_host_only(const rgm_facts *facts) { return facts->view->n_work == 0; }

static inline bool rgm_is_operator(const rgm_facts *facts, size_t row) {
    return rgm_view_kind(facts->view, row) == RGM_KIND_CPU_OP && rgm_facts_on_rank(facts, row);
}

// Claims what the thread of a span did between its ends, other threads and waits left out.
void rgm_suggest_claim_host(rgm_suggester *s, size_t row);
// The same, with the span as one that the suggestion is about.
void rgm_suggest_about_host(rgm_suggester *s, size_t row);

// Walks over operators in the order of threads and time, those inside one that was taken left out.
typedef struct {
    const rgm_facts *facts;
    size_t next;
    uint32_t lane;
    int64_t until;
} rgm_operator_walk;

rgm_operator_walk rgm_operator_walk_begin(const rgm_facts *facts);
// The next operator that no taken one encloses, -1 at the end.
int32_t rgm_operator_walk_next(rgm_operator_walk *walk);
// Leaves out what is inside this one.
void rgm_operator_walk_take(rgm_operator_walk *walk, int32_t row);

// Whether the types of the arguments were recorded and name this one for a tensor with elements.
bool rgm_host_has_type(const rgm_facts *facts, size_t row, const char *type);
// Elements of the largest tensor among the arguments, 0 where shapes were not recorded.
double rgm_host_elements(const rgm_facts *facts, size_t row);

#endif
