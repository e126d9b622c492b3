// SPDX-License-Identifier: Apache-2.0
// Device work in order of start on each device, or on each stream; a track is one of either. The view must
// outlive it.
#ifndef RGM_ANALYSIS_STREAMS_H
#define RGM_ANALYSIS_STREAMS_H

#include "analysis/view.h"

typedef struct {
    const rgm_view *view;
    size_t count;          // tracks: devices in the view's order; streams by device, then by lane
    const uint32_t *rows;  // of device work, grouped by track; by start
    const uint32_t *first; // [count + 1] into rows
    int32_t *lane;         // [count] of a stream, -1 for a device
    int32_t *device;       // [count] index into the view's devices
    uint32_t *own_rows, *own_first;
} rgm_streams;

rgm_status rgm_streams_init(rgm_streams *tracks, const rgm_view *view, bool by_stream,
                            rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_streams_release(rgm_streams *tracks);

// First start and last end of a track's work, by a pass over it: not for every question.
typedef struct {
    int64_t start, end;
} rgm_extent_ns;
rgm_extent_ns rgm_streams_extent(const rgm_streams *tracks, size_t track);

// Fills the columns of RGM_ON_DEVICE and of RGM_ON_STREAM.
#define RGM_PUT_DEVICE(out, row, view, d)                                                                    \
    ((out)->rank[row] = (view)->devices[d].rank, (out)->process[row] = (view)->devices[d].process,           \
     (out)->process_name[row] = (view)->devices[d].process_name,                                             \
     (out)->device[row] = (view)->devices[d].device)
#define RGM_PUT_STREAM(out, row, tracks, t)                                                                  \
    (RGM_PUT_DEVICE(out, row, (tracks)->view, (tracks)->device[t]), (out)->lane[row] = (tracks)->lane[t],    \
     (out)->stream[row] = rgm_streams_id(tracks, t))

static inline int64_t rgm_streams_id(const rgm_streams *tracks, size_t track) {
    const rgm_lanes *lanes = &tracks->view->run->lanes;
    int32_t lane = tracks->lane[track];
    return lane >= 0 && (size_t)lane < lanes->rows ? RGM_CELL(lanes, thread, lane, -1) : -1;
}

#endif
