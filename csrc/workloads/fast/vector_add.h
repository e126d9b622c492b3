// SPDX-License-Identifier: Apache-2.0
#ifndef RGM_WORKLOADS_FAST_VECTOR_ADD_H
#define RGM_WORKLOADS_FAST_VECTOR_ADD_H

#include "workloads/fast.h"

enum { VECTOR_ADD_EACH = 8192 }; // elements an item

static size_t vector_add_scratch(const double *p) {
    (void)p;
    return 0;
}

static size_t vector_add_items(const double *p, unsigned phase) {
    return phase == 0 ? ((size_t)p[0] + VECTOR_ADD_EACH - 1) / VECTOR_ADD_EACH : 0;
}

static void vector_add_run(const double *p, void *const *buffers, void *scratch, unsigned phase, size_t begin,
                           size_t end) {
    const float *restrict a = buffers[0], *restrict b = buffers[1];
    float *restrict c = buffers[2];
    size_t n = (size_t)p[0], last = end * VECTOR_ADD_EACH < n ? end * VECTOR_ADD_EACH : n;
    (void)scratch;
    (void)phase;
    for (size_t i = begin * VECTOR_ADD_EACH; i < last; i++) c[i] = a[i] + b[i];
}

#endif
