// SPDX-License-Identifier: Apache-2.0
// Sums of blocks of a fixed size, then the sum of these, so that the bits do not depend on the threads.
#ifndef RGM_WORKLOADS_FAST_DOT_PRODUCT_H
#define RGM_WORKLOADS_FAST_DOT_PRODUCT_H

#include "workloads/fast.h"
#include "workloads/fast/vector.h"

enum { DOT_PRODUCT_EACH = 8192, DOT_PRODUCT_SUMS = 4 };

static size_t dot_product_blocks(const double *p) {
    return ((size_t)p[0] + DOT_PRODUCT_EACH - 1) / DOT_PRODUCT_EACH;
}

static size_t dot_product_scratch(const double *p) { return dot_product_blocks(p) * sizeof(double); }

static size_t dot_product_items(const double *p, unsigned phase) {
    if (phase == 0) return dot_product_blocks(p);
    return phase == 1;
}

static double dot_product_of(const float *a, const float *b, size_t n) {
    rgm_vec sums[DOT_PRODUCT_SUMS] = {{0}};
    size_t i = 0;
    for (; i + DOT_PRODUCT_SUMS * LANES <= n; i += DOT_PRODUCT_SUMS * LANES)
        for (size_t k = 0; k < DOT_PRODUCT_SUMS; k++)
            sums[k] += vec_load(a + i + k * LANES) * vec_load(b + i + k * LANES);
    double sum = (double)vec_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static void dot_product_run(const double *p, void *const *buffers, void *scratch, unsigned phase,
                            size_t begin, size_t end) {
    const float *a = buffers[0], *b = buffers[1];
    double *sums = scratch, sum = 0.0;
    size_t n = (size_t)p[0];
    if (phase == 0) {
        for (size_t block = begin; block < end; block++) {
            size_t at = block * DOT_PRODUCT_EACH, left = n - at;
            sums[block] = dot_product_of(a + at, b + at, left < DOT_PRODUCT_EACH ? left : DOT_PRODUCT_EACH);
        }
        return;
    }
    for (size_t block = 0; block < dot_product_blocks(p); block++) sum += sums[block];
    *(float *)buffers[2] = (float)sum;
}

#endif
