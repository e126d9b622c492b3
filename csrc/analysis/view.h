// SPDX-License-Identifier: Apache-2.0
// What every trace analysis needs of a Run and no table holds: spans in order on each lane, devices and their
// work in order, which launch and which operator caused a piece of device work. Built once per run and
// set of rules in n log n, read-only afterwards; the run must outlive it.
//
// Device work is a span of kind kernel, memcpy, memset or accelerator. A launch is a runtime or driver call
// that shares the correlation of device work; one launch can have many pieces of work (a CUDA graph).
#ifndef RGM_ANALYSIS_VIEW_H
#define RGM_ANALYSIS_VIEW_H

#include <stdbool.h>

#include "analysis/home.h"
#include "analysis/kept.h"
#include "analysis/rules.h"
#include "model/links.h"

typedef struct {
    int32_t rank;          // -1 when unknown
    int64_t process;       // as in `lanes`
    rgm_name process_name; // only where the process id is a text
    int16_t device;
} rgm_device_key;

typedef struct {
    const rgm_run *run;
    size_t n_spans, n_lanes, n_devices, n_work, n_strings;
    uint32_t *lane_first; // [n_lanes + 1] into lane_spans
    uint32_t *lane_spans; // rows grouped by lane; by start, the longer first, then by row
    rgm_device_key *devices;
    int32_t *lane_device;   // [n_lanes] index into devices, -1 for a host lane
    uint32_t *device_first; // [n_devices + 1] into work
    uint32_t *work;         // rows of device work grouped by device; by start, then by row
    int32_t *launch;        // [n_spans] of device work: row of its launch, -1 when not recorded
    int32_t *op; // [n_spans] of device work and launches: row of the innermost operator, -1 for none
    uint32_t *launched_first; // [n_spans + 1] into launched, NULL when there is no device work
    uint32_t *launched;       // rows of device work by launch, in order of start
    uint8_t *activity;        // [n_strings] activity of a kernel of that name
    rgm_home home;            // of the recorded program
    rgm_kept *kept;           // what several analyses ask for
} rgm_view;

// `rules` (may be NULL) go before the built-in ones; they are not kept.
rgm_status rgm_view_init(rgm_view *view, const rgm_run *run, const rgm_rule *rules, size_t n_rules,
                         rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_view_release(rgm_view *view);

static inline rgm_kind rgm_view_kind(const rgm_view *view, size_t row) {
    return (rgm_kind)RGM_CELL(&view->run->spans, kind, row, 0);
}
static inline uint32_t rgm_view_lane(const rgm_view *view, size_t row) {
    return RGM_CELL(&view->run->spans, lane, row, 0);
}
static inline int32_t rgm_view_parent(const rgm_view *view, size_t row) {
    return RGM_CELL(&view->run->spans, parent, row, -1);
}
static inline int64_t rgm_view_correlation(const rgm_view *view, size_t row) {
    return RGM_CELL(&view->run->spans, correlation, row, -1);
}
static inline int32_t rgm_view_step(const rgm_view *view, size_t row) {
    return RGM_CELL(&view->run->spans, step, row, -1);
}
static inline int64_t rgm_view_bytes(const rgm_view *view, size_t row) {
    return RGM_CELL(&view->run->spans, bytes, row, -1);
}
static inline int64_t rgm_view_start(const rgm_view *view, size_t row) {
    return view->run->spans.start_ns[row];
}
static inline int64_t rgm_view_end(const rgm_view *view, size_t row) {
    return view->run->spans.start_ns[row] + view->run->spans.duration_ns[row];
}
static inline rgm_name rgm_view_name(const rgm_view *view, size_t row) { return view->run->spans.name[row]; }
static inline rgm_string rgm_view_text(const rgm_view *view, rgm_name name) {
    return rgm_strings_view(&view->run->strings, name);
}
static inline int32_t rgm_view_device(const rgm_view *view, size_t row) {
    return view->lane_device[rgm_view_lane(view, row)];
}
// Of device work; NONE for everything else.
static inline rgm_activity rgm_view_activity(const rgm_view *view, size_t row) {
    switch (rgm_view_kind(view, row)) {
    case RGM_KIND_KERNEL:
    case RGM_KIND_ACCELERATOR: return (rgm_activity)view->activity[rgm_view_name(view, row)];
    case RGM_KIND_MEMCPY:
    case RGM_KIND_MEMSET: return RGM_ACTIVITY_MEMORY;
    default: return RGM_ACTIVITY_NONE;
    }
}

#endif
