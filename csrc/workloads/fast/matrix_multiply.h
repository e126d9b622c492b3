// SPDX-License-Identifier: Apache-2.0
// Tiles of 6 x 16 results that stay in registers. B is packed once into panels of 16 columns (phase 0), rows
// of A by each thread into strips of 6, both in blocks of KC along k, so that what the innermost loop reads
// follows one another and stays in the caches (Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication", 2008).
#ifndef RGM_WORKLOADS_FAST_MATRIX_MULTIPLY_H
#define RGM_WORKLOADS_FAST_MATRIX_MULTIPLY_H

#include "workloads/fast.h"
#include "workloads/fast/vector.h"

enum { MATRIX_ROWS = 6, MATRIX_COLUMNS = 2 * LANES, MATRIX_KC = 256, MATRIX_STRIPS = 12 };

typedef struct {
    const float *a;
    float *c;
    const float *panels;
    size_t m, n, k;
} matrix_job;

static size_t matrix_panels(const double *p) { return ((size_t)p[1] + MATRIX_COLUMNS - 1) / MATRIX_COLUMNS; }

static size_t matrix_multiply_scratch(const double *p) {
    return matrix_panels(p) * (size_t)p[2] * MATRIX_COLUMNS * sizeof(float);
}

static size_t matrix_multiply_items(const double *p, unsigned phase) {
    if (phase == 0) return matrix_panels(p);
    return phase == 1 ? ((size_t)p[0] + MATRIX_ROWS - 1) / MATRIX_ROWS : 0;
}

static void matrix_pack_b(const float *b, float *panel, size_t n, size_t k, size_t column) {
    size_t columns = n - column < MATRIX_COLUMNS ? n - column : MATRIX_COLUMNS;
    for (size_t row = 0; row < k; row++, panel += MATRIX_COLUMNS) {
        if (columns == MATRIX_COLUMNS) {
            memcpy(panel, b + row * n + column, MATRIX_COLUMNS * sizeof *panel);
            continue;
        }
        for (size_t i = 0; i < MATRIX_COLUMNS; i++) panel[i] = i < columns ? b[row * n + column + i] : 0.0f;
    }
}

// One strip of A: six rows side by side, zeros beyond the last.
static void matrix_pack_a(const matrix_job *job, float *strip, size_t row, size_t from, size_t count) {
    for (size_t r = 0; r < MATRIX_ROWS; r++) {
        const float *line = job->a + (row + r) * job->k + from;
        for (size_t i = 0; i < count; i++) strip[i * MATRIX_ROWS + r] = row + r < job->m ? line[i] : 0.0f;
    }
}

RGM_INLINE void matrix_tile(const float *restrict a, const float *restrict b, size_t count,
                            rgm_vec sums[MATRIX_ROWS][2]) {
    for (size_t i = 0; i < count; i++, a += MATRIX_ROWS, b += MATRIX_COLUMNS) {
        rgm_vec b0 = vec_load(b), b1 = vec_load(b + LANES);
#pragma GCC unroll 6
        for (int r = 0; r < MATRIX_ROWS; r++) {
            rgm_vec value = vec_of(a[r]);
            sums[r][0] += value * b0;
            sums[r][1] += value * b1;
        }
    }
}

// Adds the tile to C, or puts it there where `first`; cut at the border.
RGM_INLINE void matrix_write(const matrix_job *job, rgm_vec sums[MATRIX_ROWS][2], size_t row, size_t column,
                             bool first) {
    size_t columns = job->n - column < MATRIX_COLUMNS ? job->n - column : MATRIX_COLUMNS;
#pragma GCC unroll 6
    for (size_t r = 0; r < MATRIX_ROWS; r++) {
        if (row + r >= job->m) break;
        float *line = job->c + (row + r) * job->n + column, part[MATRIX_COLUMNS];
        if (columns == MATRIX_COLUMNS) {
            vec_store(line, first ? sums[r][0] : vec_load(line) + sums[r][0]);
            vec_store(line + LANES, first ? sums[r][1] : vec_load(line + LANES) + sums[r][1]);
            continue;
        }
        vec_store(part, sums[r][0]);
        vec_store(part + LANES, sums[r][1]);
        for (size_t i = 0; i < columns; i++) line[i] = first ? part[i] : line[i] + part[i];
    }
}

// Strips [begin, end), no more than MATRIX_STRIPS, against a block of KC along k.
static void matrix_block(const matrix_job *job, size_t begin, size_t end, size_t from) {
    float strips[MATRIX_STRIPS][MATRIX_ROWS * MATRIX_KC];
    size_t count = job->k - from < MATRIX_KC ? job->k - from : MATRIX_KC;
    for (size_t strip = begin; strip < end; strip++)
        matrix_pack_a(job, strips[strip - begin], strip * MATRIX_ROWS, from, count);
    for (size_t column = 0; column < job->n; column += MATRIX_COLUMNS) {
        const float *panel = job->panels + column * job->k + from * MATRIX_COLUMNS;
        for (size_t strip = begin; strip < end; strip++) {
            rgm_vec sums[MATRIX_ROWS][2] = {{{0}}};
            matrix_tile(strips[strip - begin], panel, count, sums);
            matrix_write(job, sums, strip * MATRIX_ROWS, column, from == 0);
        }
    }
}

static void matrix_multiply_run(const double *p, void *const *buffers, void *scratch, unsigned phase,
                                size_t begin, size_t end) {
    const matrix_job job = {buffers[0], buffers[2], scratch, (size_t)p[0], (size_t)p[1], (size_t)p[2]};
    if (phase == 0) {
        for (size_t panel = begin; panel < end; panel++)
            matrix_pack_b(buffers[1], (float *)scratch + panel * MATRIX_COLUMNS * job.k, job.n, job.k,
                          panel * MATRIX_COLUMNS);
        return;
    }
    for (size_t first = begin; first < end; first += MATRIX_STRIPS) {
        size_t last = end - first < MATRIX_STRIPS ? end : first + MATRIX_STRIPS;
        for (size_t from = 0; from < job.k; from += MATRIX_KC) matrix_block(&job, first, last, from);
    }
}

#endif
