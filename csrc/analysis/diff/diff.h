// SPDX-License-Identifier: Apache-2.0
// Two runs side by side. Each is a forest: below a root for each host thread its scopes, annotations and
// operators, nested by time; device work hangs on the operator that caused it, and what has none on one node
// of its own. The forests are aligned from the roots down: only the children of aligned nodes can be aligned,
// in order.
#ifndef RGM_ANALYSIS_DIFF_H
#define RGM_ANALYSIS_DIFF_H

#include "analysis/analyses.h"

// X(NAME, token): how a row of the current run stands to the baseline.
#define RGM_CHANGES(X)                                                                                       \
    X(SAME, "same")                                                                                          \
    X(ADDED, "added")                                                                                        \
    X(REMOVED, "removed")                                                                                    \
    X(MORE, "more")                                                                                          \
    X(FEWER, "fewer")                                                                                        \
    X(SLOWER, "slower")                                                                                      \
    X(FASTER, "faster")                                                                                      \
    X(REPLACED, "replaced")

#define RGM_CHANGE_ENUM(name, token) RGM_CHANGE_##name,
typedef enum { RGM_CHANGES(RGM_CHANGE_ENUM) RGM_CHANGE_COUNT } rgm_change;

typedef struct {
    const rgm_view *view;
    size_t n_nodes, n_roots; // roots of threads first, then the node of work without an operator, then spans
    int32_t *span;           // [n_nodes] -1 for roots
    int32_t *parent;         // [n_nodes] -1 for roots
    uint32_t *weak;          // [n_nodes] joint id of the name, digits of annotations left out
    uint64_t *strong;        // [n_nodes] hash of name, shapes and everything below
    int64_t *self_ns;        // [n_nodes] host time without nested nodes
    int64_t *device_ns;      // [n_nodes] sum of the work caused directly
    uint32_t *child_first, *children; // children of each node in order of start
    uint32_t *work_first, *work;      // device work of each node in order of start
    uint32_t *full, *brief;           // [n_strings] joint ids of names of work, UINT32_MAX until asked for
} rgm_forest;

typedef struct {
    int32_t baseline, current; // -1 where the other side has none
} rgm_match;

typedef struct {
    rgm_match *items;
    size_t count, capacity;
} rgm_matches;

typedef struct {
    rgm_strings names; // of both sides
    rgm_forest baseline, current;
    rgm_matches nodes; // every node of both sides once, parents before children
    rgm_matches work;  // rows of device work, every one of both sides once
} rgm_diff;

rgm_status rgm_diff_build(rgm_diff *diff, const rgm_view *current, const rgm_question *question,
                          rgm_error *err) RGM_NODISCARD;
void rgm_diff_release(rgm_diff *diff);

// Steps of building. `step` -1 takes all.
rgm_status rgm_forest_build(rgm_forest *forest, const rgm_view *view, rgm_strings *names, int32_t step,
                            bool shapes, rgm_error *err) RGM_NODISCARD;
void rgm_forest_release(rgm_forest *forest);
// Joint id of the name of a piece of work; the brief form leaves out template arguments, parameters and
// numbers.
rgm_status rgm_forest_work_key(rgm_forest *forest, rgm_strings *names, uint32_t row, bool brief,
                               uint32_t *key, rgm_error *err) RGM_NODISCARD;

typedef struct {
    uint64_t strong;
    uint32_t weak;
} rgm_align_key;

// Aligns two lists in order. Writes for each item of `a` the index of its partner in `b`, -1 for none. Time
// grows with the length of the lists alone, whatever they hold.
rgm_status rgm_align(const rgm_align_key *a, size_t n, const rgm_align_key *b, size_t m, int32_t *partner,
                     rgm_error *err) RGM_NODISCARD;

#endif
