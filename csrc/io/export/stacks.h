// SPDX-License-Identifier: Apache-2.0
// Time by call stack: a tree whose roots are lanes and whose other nodes are names below a parent.
//
// Host time is the self time of spans on host lanes (model/self_time.h): where spans overlap in part, their
// time counts once. Device time is the duration of device work, below the stack of the call that launched it,
// or below its stream where that call is not recorded. What is no host time is left out. Both sums are kept
// whatever the depth: what is nested deeper than RGM_STACK_DEPTH counts for its last frame within it.
#ifndef RGM_IO_STACKS_H
#define RGM_IO_STACKS_H

#include "io/export/tracks.h"

enum { RGM_STACK_DEPTH = 512 };

typedef struct {
    int32_t parent; // -1 for a lane
    uint32_t frame; // a name, or the lane of a root
    uint32_t depth; // 0 for a lane
    int64_t host_ns, device_ns;
    int64_t host_count, device_count;
} rgm_stack_node;

typedef struct {
    const rgm_tracks *tracks;
    rgm_stack_node *nodes; // parents before children, in the order of lanes and starts
    size_t count, capacity;
    uint32_t *slots; // open addressing, node + 1, 0 is free
    size_t n_slots;
    int32_t *node_of; // [spans] -1 where there is none
} rgm_folded;

rgm_status rgm_stacks_init(rgm_folded *stacks, const rgm_tracks *tracks, rgm_error *err) RGM_NODISCARD;
void rgm_stacks_release(rgm_folded *stacks);
// The root's frame as text: the name of its process, where there are several, and of its lane.
size_t rgm_stack_root(const rgm_folded *stacks, const rgm_stack_node *node, char *text, size_t room);
bool rgm_lane_is_host(const rgm_run *run, uint32_t lane);

#endif
