// SPDX-License-Identifier: Apache-2.0
// How the time of a device divides, in any stretch of time: into what it did, and while it did nothing, into
// why. The parts add up to the stretch, to the nanosecond.
#ifndef RGM_ANALYSIS_REGIONS_H
#define RGM_ANALYSIS_REGIONS_H

#include "analysis/regimes/kernel_verdicts.h"
#include "analysis/waiting/host_causes.h"
#include "analysis/waiting/hosts.h"
#include "analysis/waiting/occupied.h"

// The three labels, and kernels that have none.
enum { RGM_KERNEL_SORTS = RGM_REGIME_AMBIGUOUS + 1, RGM_KERNEL_UNJUDGED = RGM_REGIME_AMBIGUOUS };

typedef struct {
    const rgm_view *view;
    rgm_occupied occupied;
    rgm_hosts hosts;
    rgm_idle idle;
    uint8_t *causes;   // an rgm_host_cause by gap
    size_t *gap_first; // [devices + 1] into the gaps
    int64_t *last_end; // [devices] of a device's work
    double *sorts;     // [work + 1][RGM_KERNEL_SORTS] durations by sort up to each piece of the view's work
} rgm_regions;

typedef struct {
    int64_t wall_ns, kernels_ns, communication_ns, transfer_ns, launch_gap_ns, wait_ns, unknown_ns;
    int64_t host_ns[RGM_HOST_CAUSES];
    double sorts[RGM_KERNEL_SORTS]; // parts of kernels_ns
} rgm_region_parts;

rgm_status rgm_regions_init(rgm_regions *regions, const rgm_view *view, const rgm_policy *policy,
                            const rgm_ceilings *ceilings, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_regions_release(rgm_regions *regions);

// Adds the parts of [from, to) on a device of the view.
void rgm_regions_add(const rgm_regions *regions, int32_t device, int64_t from, int64_t to,
                     rgm_region_parts *parts);

// The pieces of the view's work on the device that start in [from, to).
typedef struct {
    uint32_t first, last;
} rgm_work_range;
rgm_work_range rgm_regions_work(const rgm_view *view, int32_t device, int64_t from, int64_t to);

#endif
