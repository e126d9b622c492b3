// SPDX-License-Identifier: Apache-2.0
// Idle gaps with their causes. Everything that tells why a device was idle tells it by the parts of its gaps,
// so that the idle time of a device has one division: idle_times, the regimes of regions, and rules.
//
// A gap is a maximal time between the first start and the last end of a device's (or stream's) work in which
// none of it runs; work that overlaps gives no negative gap, and there is none before the first work. A
// device is idle only when all its streams are: the gaps of one stream say nothing about the device, but
// busy_ns says how much of such a gap the other streams filled.
//
// The gap is divided by the launch call of the work that ends it: before the call began the device had
// nothing to do because the host had not asked, then the call ran, then the work was on its way. Work of a
// launch that also launched the work before the gap (a CUDA graph) is on its way all the time. A gap whose
// next work was launched late has two parts with a cause each: until that launch began, and the rest.
#ifndef RGM_ANALYSIS_IDLE_H
#define RGM_ANALYSIS_IDLE_H

#include "analysis/policy.h"
#include "analysis/waiting/streams.h"

typedef struct {
    int64_t start_ns, duration_ns;
    int64_t before_launch_ns, in_launch_ns, after_launch_ns; // 0 when the launch is unknown
    int64_t sync_ns, busy_ns;
    int64_t busy_before_ns; // part of busy_ns before the launch
    int64_t waited_ns;      // how long the launching thread waited for the device when the gap began, else 0
    uint32_t track, previous, next;
    int32_t launch, awaited;  // -1 for none
    rgm_idle_cause cause;     // of the gap: of its first part
    rgm_idle_cause launching; // of what is left once the launch has begun, where that was late
} rgm_gap;

typedef struct {
    rgm_idle_cause cause;
    int64_t start_ns, duration_ns;
    int64_t before_launch_ns, in_launch_ns, after_launch_ns, sync_ns, busy_ns;
} rgm_gap_part;

// Of a gap whose cause is a wait for the device: what the device would not miss without the wait. The host
// would be earlier by what it waited, and do the rest as slowly.
int64_t rgm_gap_missed(const rgm_gap *gap);

// The parts of a gap, in order of time; returns how many there are, one or two.
int rgm_gap_divide(const rgm_gap *gap, rgm_gap_part parts[2]);

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
