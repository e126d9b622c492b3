// SPDX-License-Identifier: Apache-2.0
// Memory bandwidth: 16 bytes a thread and access, four accesses under way, any grid. `n` counts units of 16
// bytes.
#include "device/kernel.cuh"

// Sum of the warp's values in lane 0.
RGM_DEVICE unsigned sum_of_warp(unsigned value) {
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(RGM_ALL_LANES, value, distance);
    return value;
}

RGM_DEVICE unsigned sum_of_words(uint4 words) { return words.x + words.y + words.z + words.w; }

// 32 n bytes: n read, n written.
RGM_KERNEL rgm_copy(uint4 *__restrict__ to, const uint4 *__restrict__ from, unsigned long long n) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at + 3 * stride < n; at += 4 * stride) {
        uint4 a = from[at], b = from[at + stride], c = from[at + 2 * stride], d = from[at + 3 * stride];
        to[at] = a;
        to[at + stride] = b;
        to[at + 2 * stride] = c;
        to[at + 3 * stride] = d;
    }
    for (; at < n; at += stride) to[at] = from[at];
}

// a = b + factor * c; 48 n bytes, 8 n floating-point operations.
RGM_KERNEL rgm_triad(float4 *__restrict__ a, const float4 *__restrict__ b, const float4 *__restrict__ c,
                     float factor, unsigned long long n) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; at < n;
         at += stride) {
        float4 x = b[at], y = c[at];
        x.x = fmaf(factor, y.x, x.x);
        x.y = fmaf(factor, y.y, x.y);
        x.z = fmaf(factor, y.z, x.z);
        x.w = fmaf(factor, y.w, x.w);
        a[at] = x;
    }
}

// 16 n bytes read. Adds the sum of all words, modulo 2^32, to *sum: nothing is optimised away, and the
// result does not depend on the order.
RGM_KERNEL rgm_read(unsigned *__restrict__ sum, const uint4 *__restrict__ from, unsigned long long n) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned own = 0;
    for (; at + 3 * stride < n; at += 4 * stride) {
        uint4 a = from[at], b = from[at + stride], c = from[at + 2 * stride], d = from[at + 3 * stride];
        own += sum_of_words(a) + sum_of_words(b) + sum_of_words(c) + sum_of_words(d);
    }
    for (; at < n; at += stride) own += sum_of_words(from[at]);
    own = sum_of_warp(own);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

// 16 n bytes written.
RGM_KERNEL rgm_fill(uint4 *__restrict__ to, unsigned value, unsigned long long n) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    uint4 words;
    words.x = words.y = words.z = words.w = value;
    for (unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; at < n;
         at += stride)
        to[at] = words;
}

// 16 n passes bytes read from the second-level cache, where `n` units stay resident: every pass reads all,
// and the first-level cache keeps nothing. *sum grows by passes times the sum of all words.
RGM_KERNEL rgm_read_l2(unsigned *__restrict__ sum, const uint4 *__restrict__ from, unsigned long long n,
                       int passes) {
    unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned own = 0;
    for (int pass = 0; pass < passes; pass++) {
        unsigned long long at = first;
        for (; at + 3 * stride < n; at += 4 * stride) {
            uint4 a = rgm_load_l2(from + at), b = rgm_load_l2(from + at + stride);
            uint4 c = rgm_load_l2(from + at + 2 * stride), d = rgm_load_l2(from + at + 3 * stride);
            own += sum_of_words(a) + sum_of_words(b) + sum_of_words(c) + sum_of_words(d);
        }
        for (; at < n; at += stride) own += sum_of_words(rgm_load_l2(from + at));
    }
    own = sum_of_warp(own);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}
