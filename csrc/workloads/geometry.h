// SPDX-License-Identifier: Apache-2.0
// Helpers of the workload files.
#ifndef RGM_WORKLOADS_GEOMETRY_H
#define RGM_WORKLOADS_GEOMETRY_H

#include "workloads/workload.h"

// Blocks that cover n things, `each` a block.
static inline uint32_t rgm_blocks(size_t n, size_t each) { return (uint32_t)((n + each - 1) / each); }

static inline void rgm_set_grid(rgm_workload_shape *shape, uint32_t x, uint32_t y) {
    shape->grid[0] = x;
    shape->grid[1] = y;
    shape->grid[2] = 1;
}

static inline void rgm_set_block(rgm_workload_shape *shape, uint32_t x, uint32_t y) {
    shape->block[0] = x;
    shape->block[1] = y;
    shape->block[2] = 1;
}

#endif
