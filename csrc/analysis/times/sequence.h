// SPDX-License-Identifier: Apache-2.0
// Kernel sequences that occur again and again on a stream: candidates for fusion, or for a CUDA graph.
//
// The compute kernels of each stream, in order of start, are a text of kernel names; copies, sets,
// communication and the ends of streams break it. A pattern is a repeated substring that cannot be made
// longer on either side without losing an occurrence. Two exceptions: a repeat longer than the limit is told
// by its first kernels (`cut`), and where a repeat is a repetition (ABAB) or mostly overlaps itself (ABABABA,
// for ABA) the pattern is its period (AB), or the smallest multiple of it that is long enough.
//
// Occurrences are counted without overlaps, from the left. The gaps between the kernels of an occurrence are
// what fusing them, or launching them as a graph, could save at most.
#ifndef RGM_ANALYSIS_SEQUENCE_H
#define RGM_ANALYSIS_SEQUENCE_H

#include "analysis/policy.h"
#include "analysis/view.h"

typedef struct {
    uint32_t at; // of the first occurrence, in `kernels`
    uint32_t length;
    uint32_t from, to; // occurrences, those that overlap included, in `order`
    bool cut;
    int64_t count;     // without overlaps
    int64_t kernel_ns; // durations of the kernels
    int64_t gap_ns;    // gaps between them
} rgm_sequence;

typedef struct {
    uint32_t *kernels; // rows in `spans`, stream by stream; UINT32_MAX breaks the text
    uint32_t *order;   // starts of the suffixes of `kernels`
    int64_t *gap;      // gap in front of each
    size_t n_kernels;
    rgm_sequence *found; // most gap time first
    size_t count;
} rgm_sequence_list;

rgm_status rgm_sequence_list_find(rgm_sequence_list *list, const rgm_view *view, const rgm_policy *policy,
                                  rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_sequence_list_release(rgm_sequence_list *list);

#endif
