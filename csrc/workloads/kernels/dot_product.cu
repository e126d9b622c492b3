// SPDX-License-Identifier: Apache-2.0
// Sum of a[i] * b[i] in one launch and in an order that depends on n and the grid only, so that equal inputs
// give equal bits: every block leaves its sum in `partial`, and the block that finishes last adds them up.
#include "device/kernel.cuh"

#define THREADS 256

// Sum over the block, in thread 0.
RGM_DEVICE float sum_of_block(float value) {
    __shared__ float warps[THREADS / 32];
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(RGM_ALL_LANES, value, distance);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int warp = 1; warp < THREADS / 32; warp++) value += warps[warp];
    __syncthreads(); // before the next use of `warps`
    return value;
}

// `finished` counts blocks, is 0 before the first launch and again after every one.
RGM_KERNEL dot_product(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out,
                       float *__restrict__ partial, unsigned *__restrict__ finished, int n) {
    __shared__ int last;
    float own = 0.0f;
    for (int at = blockIdx.x * THREADS + threadIdx.x; at < n; at += gridDim.x * THREADS)
        own = fmaf(a[at], b[at], own);
    own = sum_of_block(own);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = own;
        __threadfence(); // the sum is visible before it is counted
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    const volatile float *sums = partial;
    own = 0.0f;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += THREADS) own += sums[block];
    own = sum_of_block(own);
    if (threadIdx.x == 0) {
        *out = own;
        *finished = 0;
    }
}
