// SPDX-License-Identifier: Apache-2.0
// What host threads did to wait, lane by lane: the times in which a call held the thread until the device was
// done, and the calls that made a stream wait for an event.
#ifndef RGM_ANALYSIS_HOSTS_H
#define RGM_ANALYSIS_HOSTS_H

#include "analysis/view.h"
#include "analysis/waiting/calls.h"
#include "analysis/waiting/coverage.h"

typedef struct {
    const rgm_view *view;
    uint8_t *call_class;   // [n_strings] an rgm_call_kind, valid for the names of calls
    rgm_coverage *blocked; // [n_lanes]
    uint32_t *wait_first;  // [n_lanes + 1] into wait
    uint32_t *wait;        // rows of stream waits by lane, in order of start
    int32_t *wait_lane;    // the stream that waits, -1 where the recording does not say
} rgm_hosts;

rgm_status rgm_hosts_init(rgm_hosts *hosts, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_hosts_release(rgm_hosts *hosts);

// Whether the call held its thread until the device was done: every synchronisation, a copy that is not
// asynchronous, and an asynchronous one of pageable memory that was done before the call returned.
bool rgm_hosts_blocks(const rgm_hosts *hosts, uint32_t call);
// Whether it did so for this one of the pieces of work that it launched.
bool rgm_hosts_blocks_for(const rgm_hosts *hosts, uint32_t call, uint32_t work);
// Whether the lane called for a wait of stream `target` between the two times, both excluded. A wait of
// which the recording does not say the stream counts for all.
bool rgm_hosts_waits(const rgm_hosts *hosts, uint32_t lane, int64_t after, int64_t before, uint32_t target);

#endif
