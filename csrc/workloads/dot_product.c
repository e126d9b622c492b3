// SPDX-License-Identifier: Apache-2.0
#include "workloads/geometry.h"

enum { N };
enum { A, B, OUT, PARTIAL, FINISHED };
enum { THREADS = 256, EACH = 4, MOST_BLOCKS = 256 };

static bool shape(const double *p, rgm_workload_shape *out) {
    // The grid follows from n alone, so equal inputs give equal bits on every device.
    uint32_t blocks = rgm_blocks((size_t)p[N], THREADS * EACH);
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    out->counts[A] = out->counts[B] = (size_t)p[N];
    out->counts[OUT] = out->counts[FINISHED] = 1;
    out->counts[PARTIAL] = blocks;
    rgm_set_grid(out, blocks, 1);
    rgm_set_block(out, THREADS, 1);
    out->operations = 2.0 * p[N];
    return true;
}

static void fill(const double *p, void *const *buffers) {
    float *a = buffers[A], *b = buffers[B];
    for (size_t i = 0; i < (size_t)p[N]; i++) {
        a[i] = (float)(i % 8) / 8.0f;
        b[i] = (float)(i % 5) / 4.0f;
    }
}

static void reference(const double *p, void *const *buffers) {
    const float *a = buffers[A], *b = buffers[B];
    double sum = 0.0;
    for (size_t i = 0; i < (size_t)p[N]; i++) sum += (double)a[i] * (double)b[i];
    *(float *)buffers[OUT] = (float)sum;
}

const rgm_workload rgm_workload_dot_product = {
    .name = "dot_product",
    .doc = "Inner product of two vectors, in one launch, with the same bits every time.",
    .unit = "fp32",
    .buffers = {{"a", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"b", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"out", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT},
                {"partial", RGM_BUFFER_SCRATCH, RGM_ELEMENT_FLOAT},
                {"finished", RGM_BUFFER_SCRATCH, RGM_ELEMENT_INT}},
    .parameters = {{"n", 100000, 1, 1 << 28, true, "elements"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
