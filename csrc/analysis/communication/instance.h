// SPDX-License-Identifier: Apache-2.0
// Calls of one collective on several devices, matched: what one all-reduce of a job was on each rank.
//
// Calls belong together when they agree in process group (communicator, or name and ranks of the group; the
// stream where no group is recorded), collective, message size where that is the same on all ranks, and in
// the number of the collective within its group. Where no number is recorded the step takes its place and the
// calls of a device are numbered in order of start. If the devices then have different numbers of such calls,
// none of them is matched: which one is missing cannot be told. Transfers between two and kernels whose
// collective is not known are not matched either.
#ifndef RGM_ANALYSIS_INSTANCE_H
#define RGM_ANALYSIS_INSTANCE_H

#include "analysis/communication/collective.h"

typedef struct {
    size_t from, to;  // of `order`; in order of device
    int64_t start_ns; // on the device that entered first
    uint32_t first;   // row in `spans` of its kernel there
    bool by_sequence;
} rgm_instance;

typedef struct {
    rgm_collective_calls calls;
    uint32_t *order;         // rows of `calls`, grouped by instance
    rgm_instance *instances; // by first start
    size_t count;
    int64_t *unmatched; // [n_devices of the view] calls in no instance
} rgm_instances;

rgm_status rgm_instances_find(rgm_instances *instances, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_instances_release(rgm_instances *instances);

// Whether no rank can leave such a collective before the last has entered it.
bool rgm_collective_synchronises(uint8_t kind);

// Whether a rank left it before another entered, by more than the clocks may differ, though it synchronises:
// the clocks are not aligned, or calls were matched that do not belong together.
bool rgm_instance_doubtful(const rgm_view *view, const rgm_instances *all, const rgm_instance *instance,
                           double tolerance_ns);

static inline const rgm_collective_call *rgm_instance_call(const rgm_instances *all, size_t at) {
    return &all->calls.calls[all->order[at]];
}

#endif
