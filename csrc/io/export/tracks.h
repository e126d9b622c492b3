// SPDX-License-Identifier: Apache-2.0
// Spans laid out for a viewer: tracks on which any two slices either follow or contain each other.
//
// A lane is one track where its spans allow that. A span that partly overlaps another, and device work that
// begins while other work of its stream still runs, goes to the first further track of the lane where it
// fits, so that no viewer drops or misplaces it. n log n whatever the overlaps are.
#ifndef RGM_IO_TRACKS_H
#define RGM_IO_TRACKS_H

#include <stdbool.h>

#include "io/output.h"
#include "model/links.h"

typedef struct {
    int32_t rank;
    int64_t process;       // as in `lanes`
    rgm_name process_name; // identity only where `process` is -1, a name otherwise
    rgm_name label;
    int16_t device; // -1 for the process of host threads
    int64_t pid;    // unique in the run: its own number where that is free and fits 31 bits
    uint32_t lane;  // the first of its lanes
} rgm_track_process;

typedef struct {
    uint32_t lane;
    uint32_t number; // 0 for the lane itself, 1.. for spans that overlap
    uint32_t process;
    int64_t tid; // the lane's own number where it is the only one; unique in the run otherwise
} rgm_track;

typedef struct {
    const rgm_run *run;
    size_t n_tracks, n_lanes, n_processes, n_spans;
    rgm_track *tracks;            // by lane, then by number
    rgm_track_process *processes; // in the order of their first lanes
    uint32_t *lane_track;         // [n_lanes] first track of a lane
    uint32_t *track_first;        // [n_tracks + 1] into spans
    uint32_t *spans;              // rows by track; by start, the longer first, then by row
    uint32_t *track_of;           // [n_spans] track of a span
} rgm_tracks;

rgm_status rgm_tracks_init(rgm_tracks *tracks, const rgm_run *run, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_tracks_release(rgm_tracks *tracks);

// "stream 7", "thread 12 (python)", with " (overlapping 1)" on further tracks, as raw bytes of at most
// `room`.
size_t rgm_track_name(const rgm_tracks *tracks, size_t track, char *text, size_t room);
// Name of a process, or its rank and number.
size_t rgm_process_name(const rgm_tracks *tracks, size_t process, char *text, size_t room);

enum { RGM_TRACK_NAME_ROOM = 512 };

static inline rgm_string rgm_run_text(const rgm_run *run, rgm_name name) {
    return rgm_strings_view(&run->strings, name);
}
// A run whose spans name no lane has none; its spans stand on one of defaults.
#define RGM_LANE_CELL(run, column, row, missing)                                                             \
    ((row) < (run)->lanes.rows ? RGM_CELL(&(run)->lanes, column, row, missing) : (missing))

static inline int64_t rgm_span_end(const rgm_run *run, size_t row) {
    return run->spans.start_ns[row] + run->spans.duration_ns[row];
}
static inline rgm_kind rgm_span_kind(const rgm_run *run, size_t row) {
    return (rgm_kind)RGM_CELL(&run->spans, kind, row, 0);
}
static inline bool rgm_span_is_work(const rgm_run *run, size_t row) {
    return rgm_kind_is_work(rgm_span_kind(run, row));
}

#endif
