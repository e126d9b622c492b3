// SPDX-License-Identifier: Apache-2.0
// csrc/workloads/device/kernel.cuh for the processor: the same names, so that a kernel file compiles as C and
// its threads run as fibers (device/fibers.h). What it checks beyond the results: barriers and exchanges that
// not all threads reach, shared memory that is read before it is written (it holds NaN), and, by running the
// threads in another order, missing barriers.
#ifndef RGM_DEVICE_KERNEL_CUH
#define RGM_DEVICE_KERNEL_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "device/fibers.h"

#define RGM_KERNEL static void
#define RGM_DEVICE static inline
#define RGM_ALL_LANES 0xffffffffu

#define __shared__ static __attribute__((section("rgm_shared")))
#define __restrict__ restrict
#define threadIdx (fiber_current->index)
#define blockIdx (fiber_block_index)
#define blockDim (fiber_block_dim)
#define gridDim (fiber_grid_dim)
#define __syncthreads fiber_barrier
#define __threadfence() ((void)0)

typedef struct {
    unsigned x, y, z, w;
} uint4;
typedef struct {
    float x, y, z, w;
} float4;

static inline unsigned shuffle_unsigned(unsigned mask, unsigned value, int source) {
    return fiber_exchange(mask, value, source);
}

static inline float shuffle_float(unsigned mask, float value, int source) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = fiber_exchange(mask, bits, source);
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define SHUFFLE(value) _Generic((value), float: shuffle_float, unsigned: shuffle_unsigned)
#define OWN_LANE ((int)(fiber_current->rank % 32))
#define __shfl_down_sync(mask, value, distance) SHUFFLE(value)(mask, value, OWN_LANE + (distance))
#define __shfl_up_sync(mask, value, distance) SHUFFLE(value)(mask, value, OWN_LANE - (distance))
#define __shfl_xor_sync(mask, value, distance) SHUFFLE(value)(mask, value, OWN_LANE ^ (distance))

static inline unsigned atomicAdd(unsigned *at, unsigned value) {
    unsigned before = *at;
    *at += value;
    return before;
}

static inline unsigned long long rgm_global_ns(void) { return (unsigned long long)fiber_now_ns(); }
static inline long long rgm_cycles(void) { return fiber_now_ns(); }
static inline uint4 rgm_load_l2(const uint4 *at) { return *at; }
static inline int rgm_load_host_flag(const volatile int *flag) { return *flag; }

#endif
