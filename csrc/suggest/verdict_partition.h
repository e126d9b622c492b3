// SPDX-License-Identifier: Apache-2.0
// The time of the driving thread while it is divided among causes: by roles of scopes, then by samples.
#ifndef RGM_SUGGEST_VERDICT_PARTITION_H
#define RGM_SUGGEST_VERDICT_PARTITION_H

#include "suggest/verdict_facts.h"

typedef struct {
    rgm_verdict_facts *facts;
    int64_t exclusive[RGM_ROLE_COUNT]; // NONE: outside of all roles, and steps without what is in them
    int64_t spans[RGM_ROLE_COUNT];
    int64_t *own;    // [n_spans] of spans with a role on the lane: exclusive time in the window
    uint32_t *looks; // [n_spans] samples that have it for the nearest span with a role
    uint32_t *plain; // [n_spans] of those, by rgm_verdict_plain
    uint8_t *states; // [samples] as rgm_verdict_states tells them
    uint8_t *polls;  // [samples] as rgm_verdict_find_polls tells them
    rgm_seen *seen;  // of the facts
    bool iterates;   // batches are made by what hands out items
    int64_t of_bucket[RGM_ROLE_COUNT], displaced[RGM_ROLE_COUNT];
    int64_t of_cause[RGM_ROLE_COUNT][RGM_CAUSE_COUNT];
} rgm_partition;

// The line that a sample was at, one number for each.
static inline uint64_t rgm_line_key(const rgm_view *view, int32_t stack) {
    enum { LINE_BITS = 24 };
    uint64_t line = (uint64_t)(uint32_t)RGM_CELL(&view->run->stacks, line, stack, -1);
    return (uint64_t)RGM_CELL(&view->run->stacks, file, stack, 0) << LINE_BITS |
           (line & ((1u << LINE_BITS) - 1));
}

// The line of other processes that most of a wait for them goes into, where the run holds their samples.
rgm_status rgm_verdict_of_processes(rgm_partition *p, rgm_error *err) RGM_NODISCARD;
// Whether a line that was found so often in compiled code, and so often in Python, calls the former.
bool rgm_verdict_line_calls(const rgm_partition *p, int64_t native, int64_t python);
// Within modules and backward passes: samples of lines of the program's own that call no operators, a loop
// over numbers, become Python.
rgm_status rgm_verdict_plain(rgm_partition *p, rgm_error *err) RGM_NODISCARD;
// Outside of modules: samples of lines whose calls of compiled code take a few microseconds become small
// work.
rgm_status rgm_verdict_small_calls(rgm_partition *p, rgm_error *err) RGM_NODISCARD;
// Where most of the time in modules is in calls so short that calling is most of them, it is small work.
rgm_status rgm_verdict_small_work(rgm_partition *p, rgm_error *err) RGM_NODISCARD;

#endif
