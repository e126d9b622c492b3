// SPDX-License-Identifier: Apache-2.0
// Idle gaps with their causes, which the analyses idle_gaps and idle_times show in two ways.
//
// A gap is a maximal time between the first start and the last end of a device's (or stream's) work in which
// none of it runs; work that overlaps gives no negative gap, and there is none before the first work. A
// device is idle only when all its streams are: the gaps of one stream say nothing about the device, but
// busy_ns says how much of such a gap the other streams filled.
//
// The gap is divided by the launch call of the work that ends it: before the call began the device had
// nothing to do because the host had not asked, then the call ran, then the work was on its way. Work of a
// launch that also launched the work before the gap (a CUDA graph) is on its way all the time.
#ifndef RGM_ANALYSIS_IDLE_H
#define RGM_ANALYSIS_IDLE_H

#include "analysis/policy.h"
#include "analysis/streams.h"

typedef struct {
    int64_t start_ns, duration_ns;
    int64_t before_launch_ns, in_launch_ns, after_launch_ns; // 0 when the launch is unknown
    int64_t sync_ns, busy_ns;
    uint32_t track, previous, next;
    int32_t launch, awaited; // -1 for none
    rgm_idle_cause cause;
} rgm_gap;

typedef struct {
    rgm_streams tracks;
    rgm_gap *gaps; // by track, then by time
    size_t count;
} rgm_idle;

rgm_status rgm_idle_init(rgm_idle *idle, const rgm_view *view, const rgm_policy *policy, bool by_stream,
                         rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_idle_release(rgm_idle *idle);

#endif
