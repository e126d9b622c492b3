// SPDX-License-Identifier: Apache-2.0
#include "workloads/geometry.h"

enum { N };
enum { A, B, C };
enum { THREADS = 256, EACH = 4 };

static bool shape(const double *p, rgm_workload_shape *out) {
    size_t n = (size_t)p[N];
    out->counts[A] = out->counts[B] = out->counts[C] = n;
    rgm_set_grid(out, rgm_blocks(n, EACH * THREADS), 1);
    rgm_set_block(out, THREADS, 1);
    out->operations = p[N];
    return true;
}

static void fill(const double *p, void *const *buffers) {
    float *a = buffers[A], *b = buffers[B];
    for (size_t i = 0; i < (size_t)p[N]; i++) {
        a[i] = (float)(i % 1000) / 8.0f;
        b[i] = (float)(i % 77) / 4.0f;
    }
}

static void reference(const double *p, void *const *buffers) {
    const float *a = buffers[A], *b = buffers[B];
    float *c = buffers[C];
    for (size_t i = 0; i < (size_t)p[N]; i++) c[i] = a[i] + b[i];
}

const rgm_workload rgm_workload_vector_add = {
    .name = "vector_add",
    .doc = "Sum of two vectors.",
    .unit = "fp32",
    .buffers = {{"a", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"b", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"c", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT}},
    .parameters = {{"n", 100000, 1, 1 << 28, true, "elements"}},
    .per_thread = EACH,
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
