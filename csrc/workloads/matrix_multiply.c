// SPDX-License-Identifier: Apache-2.0
#include "workloads/geometry.h"

enum { M, N, K };
enum { A, B, C };
enum { TILE = 32, SIDE = 16 };

static bool shape(const double *p, rgm_workload_shape *out) {
    size_t m = (size_t)p[M], n = (size_t)p[N], k = (size_t)p[K];
    out->counts[A] = m * k;
    out->counts[B] = k * n;
    out->counts[C] = m * n;
    rgm_set_grid(out, rgm_blocks(n, TILE), rgm_blocks(m, TILE));
    rgm_set_block(out, SIDE, SIDE);
    out->operations = 2.0 * p[M] * p[N] * p[K];
    return true;
}

static void fill(const double *p, void *const *buffers) {
    float *a = buffers[A], *b = buffers[B];
    for (size_t i = 0; i < (size_t)p[M] * (size_t)p[K]; i++) a[i] = 0.1f;
    for (size_t i = 0; i < (size_t)p[K] * (size_t)p[N]; i++) b[i] = 0.1f;
}

static void reference(const double *p, void *const *buffers) {
    const float *a = buffers[A], *b = buffers[B];
    float *c = buffers[C];
    size_t m = (size_t)p[M], n = (size_t)p[N], k = (size_t)p[K];
    for (size_t row = 0; row < m; row++)
        for (size_t column = 0; column < n; column++) {
            double sum = 0.0;
            for (size_t i = 0; i < k; i++) sum += (double)a[row * k + i] * (double)b[i * n + column];
            c[row * n + column] = (float)sum;
        }
}

const rgm_workload rgm_workload_matrix_multiply = {
    .name = "matrix_multiply",
    .doc = "Product of two matrices in single precision, without tensor cores.",
    .unit = "fp32",
    .buffers = {{"a", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"b", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"c", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT}},
    .parameters = {{"m", 256, 1, 16384, true, "rows of A and C"},
                   {"n", 256, 1, 16384, true, "columns of B and C"},
                   {"k", 256, 1, 16384, true, "columns of A, rows of B"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
