// SPDX-License-Identifier: Apache-2.0
// How the spans of a run hang together: order on each lane, nesting, launches and their device work, steps.
// All of it is derived from times and ids, in n log n, and stored in the columns parent, launch, step and
// flags.
#ifndef RGM_MODEL_LINKS_H
#define RGM_MODEL_LINKS_H

#include <stdbool.h>

#include "model/run.h"

static inline bool rgm_kind_is_work(unsigned kind) {
    return kind == RGM_KIND_KERNEL || kind == RGM_KIND_MEMCPY || kind == RGM_KIND_MEMSET ||
           kind == RGM_KIND_ACCELERATOR;
}
static inline bool rgm_kind_is_call(unsigned kind) {
    return kind == RGM_KIND_RUNTIME || kind == RGM_KIND_DRIVER;
}

// Row of the call that launched each piece of device work, -1 elsewhere: the call with the same correlation,
// and if there are several the last that starts no later than the work. *reused counts correlations with
// several.
rgm_status rgm_links_launches(const rgm_run *run, rgm_i32 *launch, int64_t *reused,
                              rgm_error *err) RGM_NODISCARD;

// Whether the run says of any work what launched it. Recordings and files of others may have the ids only.
bool rgm_run_knows_launches(const rgm_run *run);
// Whether it has work of a device at all.
bool rgm_run_has_work(const rgm_run *run);
// Whether it has work that something launched, and does not say what.
bool rgm_run_lacks_launches(const rgm_run *run);
// Row of the call that launched each piece of device work, -1 elsewhere: as the run says, which may name any
// row where it comes from a file, or by the rule above where the run says nothing. The one answer for
// analyses and exports.
rgm_status rgm_run_launches(const rgm_run *run, rgm_i32 *launch, rgm_error *err) RGM_NODISCARD;

// Fills launch alone, and notes what is doubtful of it. For a recording, whose parents are known.
rgm_status rgm_run_link_work(rgm_run *run, rgm_error *err) RGM_NODISCARD;
// The names by which `spans.category` tells roles, index by rgm_role.
rgm_status rgm_links_role_names(rgm_run *run, rgm_name names[RGM_ROLE_COUNT], rgm_error *err) RGM_NODISCARD;
// Tells outermost modules (forward) from those in others, and finds the steps of the program in what its
// scopes with roles are. Steps are appended, in order of start, as the parents of what lies in them; *steps
// is their number. For a recording in order of start; docs/structure.md has the rules.
rgm_status rgm_links_roles(rgm_run *run, size_t *steps, rgm_error *err) RGM_NODISCARD;
// Fills step: host spans by the step in which they start, device work from that of its launch.
rgm_status rgm_links_steps(rgm_run *run, rgm_error *err) RGM_NODISCARD;

// Replaces the correlations in `launches.capture` by the rows of the first calls that carry them, -1 where
// none does.
rgm_status rgm_links_captures(rgm_run *run, rgm_error *err) RGM_NODISCARD;

// Gives calls of threads that hold no scope the innermost scope that is open around them, if the scopes that
// are open then all enclose one another; such calls carry the flag INFERRED. For a recording in order of
// start.
rgm_status rgm_links_threads(rgm_run *run, rgm_error *err) RGM_NODISCARD;

// Joins the values of hardware counters with the ranges of spans that they were measured over: a counter that
// has a role, at the start of a range of its device. Fills `counters.span`. For a recording.
rgm_status rgm_links_ranges(rgm_run *run, rgm_error *err) RGM_NODISCARD;

// Fills `lane` and `span` of samples. For a recording in order of start.
rgm_status rgm_links_samples(rgm_run *run, rgm_error *err) RGM_NODISCARD;

// N of "ProfilerStep#N" or "ProfilerStep #N", -1 for any other name.
int32_t rgm_step_number(rgm_string name);
// The same of each text of a run; freed by the caller, also where it fails.
rgm_status rgm_links_step_numbers(const rgm_run *run, int32_t **numbers, rgm_error *err) RGM_NODISCARD;

// Whether the span is a step that was found in a recording: a scope with that role.
bool rgm_links_is_step(const rgm_run *run, size_t row);

// In traces of 2021 an annotation is an operator.
static inline bool rgm_kind_may_be_step(unsigned kind) {
    return kind == RGM_KIND_ANNOTATION || kind == RGM_KIND_CPU_OP;
}

// Fills parent, launch, step, the flags OVERLAPS and ORPHAN, and the spans of flows and of memory events, and
// notes what is doubtful in `anomalies`. For runs that come from a trace.
//
// A span's parent is the innermost span of its lane that encloses it; device work and instants are nobody's
// parent. A host span belongs to the step (annotation ProfilerStep#N) in which it starts, device work to that
// of its launch.
//
// `threads` is 1 or 2, 0 chooses; the result is the same.
rgm_status rgm_run_link(rgm_run *run, int threads, rgm_error *err) RGM_NODISCARD;

#endif
