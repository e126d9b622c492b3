// SPDX-License-Identifier: Apache-2.0
// Eight units at once, three samples by four gates in registers. The weights are packed first, so that for
// each input the eight weights of each gate lie together.
#ifndef RGM_WORKLOADS_FAST_LSTM_CELL_FORWARD_H
#define RGM_WORKLOADS_FAST_LSTM_CELL_FORWARD_H

#include "workloads/fast.h"
#include "workloads/fast/vector.h"

enum { LSTM_GATES = 4, LSTM_SAMPLES = 3, LSTM_WIDE = LSTM_GATES * LANES };

typedef struct {
    size_t batch, inputs, hidden;
    const float *input, *hidden_state, *cell_state, *bias, *panels;
    float *hidden_out, *cell_out;
} lstm_job;

static size_t lstm_groups(const double *p) { return ((size_t)p[0] + LSTM_SAMPLES - 1) / LSTM_SAMPLES; }
static size_t lstm_units(const double *p) { return ((size_t)p[2] + LANES - 1) / LANES; }
static size_t lstm_depth(const double *p) { return (size_t)p[1] + (size_t)p[2]; }

static size_t lstm_cell_forward_scratch(const double *p) {
    return lstm_units(p) * lstm_depth(p) * LSTM_WIDE * sizeof(float);
}

static size_t lstm_cell_forward_items(const double *p, unsigned phase) {
    if (phase == 0) return lstm_units(p);
    return phase == 1 ? lstm_units(p) * lstm_groups(p) : 0;
}

// Eight values of eight rows, turned; the rows of the result stand LSTM_WIDE apart.
RGM_INLINE void lstm_transpose(const float *const rows[LANES], size_t at, float *to) {
    rgm_vec in[LANES], half[LANES], quarter[LANES];
    for (int i = 0; i < LANES; i++) in[i] = vec_load(rows[i] + at);
    for (int i = 0; i < LANES; i += 2) {
        half[i] = RGM_SHUFFLE(in[i], in[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        half[i + 1] = RGM_SHUFFLE(in[i], in[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < LANES; i += 4)
        for (int j = 0; j < 2; j++) {
            quarter[i + 2 * j] = RGM_SHUFFLE(half[i + j], half[i + 2 + j], 0, 1, 8, 9, 4, 5, 12, 13);
            quarter[i + 2 * j + 1] = RGM_SHUFFLE(half[i + j], half[i + 2 + j], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int j = 0; j < LANES / 2; j++) {
        vec_store(to + j * LSTM_WIDE, RGM_SHUFFLE(quarter[j], quarter[j + 4], 0, 1, 2, 3, 8, 9, 10, 11));
        vec_store(to + (j + LANES / 2) * LSTM_WIDE,
                  RGM_SHUFFLE(quarter[j], quarter[j + 4], 4, 5, 6, 7, 12, 13, 14, 15));
    }
}

// The weights of eight units and one gate for `depth` values; units beyond the last repeat it.
static void lstm_pack(const float *weights, float *panel, size_t depth, size_t hidden, size_t unit,
                      size_t gate) {
    const float *rows[LANES];
    size_t at = 0;
    for (size_t i = 0; i < LANES; i++) {
        size_t row = unit + i < hidden ? unit + i : hidden - 1;
        rows[i] = weights + (gate * hidden + row) * depth;
    }
    for (; at + LANES <= depth; at += LANES) lstm_transpose(rows, at, panel + at * LSTM_WIDE);
    for (; at < depth; at++)
        for (size_t i = 0; i < LANES; i++) panel[at * LSTM_WIDE + i] = rows[i][at];
}

RGM_INLINE void lstm_add(const float *panel, const float *const values[LSTM_SAMPLES], size_t depth,
                         rgm_vec sums[LSTM_SAMPLES][LSTM_GATES]) {
    for (size_t i = 0; i < depth; i++, panel += LSTM_WIDE) {
        rgm_vec first = vec_of(values[0][i]), second = vec_of(values[1][i]), third = vec_of(values[2][i]);
#pragma GCC unroll 4
        for (int gate = 0; gate < LSTM_GATES; gate++) {
            rgm_vec weights = vec_load(panel + gate * LANES);
            sums[0][gate] += first * weights;
            sums[1][gate] += second * weights;
            sums[2][gate] += third * weights;
        }
    }
}

RGM_INLINE rgm_vec lstm_part(const float *from, size_t count) {
    float part[LANES] = {0};
    if (count >= LANES) return vec_load(from);
    for (size_t i = 0; i < count; i++) part[i] = from[i];
    return vec_load(part);
}

RGM_INLINE void lstm_put(float *to, rgm_vec v, size_t count) {
    float part[LANES];
    vec_store(count >= LANES ? to : part, v);
    for (size_t i = 0; i < count && count < LANES; i++) to[i] = part[i];
}

RGM_INLINE void lstm_finish(const lstm_job *job, const rgm_vec sums[LSTM_GATES], size_t sample, size_t unit) {
    rgm_vec gates[LSTM_GATES];
    size_t left = job->hidden - unit, at = sample * job->hidden + unit;
    for (size_t gate = 0; gate < LSTM_GATES; gate++)
        gates[gate] = sums[gate] + lstm_part(job->bias + gate * job->hidden + unit, left);
    rgm_vec cell = vec_sigmoid(gates[1]) * lstm_part(job->cell_state + at, left);
    cell += vec_sigmoid(gates[0]) * vec_tanh(gates[2]);
    lstm_put(job->cell_out + at, cell, left);
    lstm_put(job->hidden_out + at, vec_sigmoid(gates[3]) * vec_tanh(cell), left);
}

static void lstm_item(const lstm_job *job, size_t block, size_t group) {
    rgm_vec sums[LSTM_SAMPLES][LSTM_GATES] = {{{0}}};
    const float *input[LSTM_SAMPLES], *hidden[LSTM_SAMPLES];
    const float *panel = job->panels + block * (job->inputs + job->hidden) * LSTM_WIDE;
    size_t first = group * LSTM_SAMPLES;
    for (size_t i = 0; i < LSTM_SAMPLES; i++) {
        size_t sample = first + i < job->batch ? first + i : job->batch - 1;
        input[i] = job->input + sample * job->inputs;
        hidden[i] = job->hidden_state + sample * job->hidden;
    }
    lstm_add(panel, input, job->inputs, sums);
    lstm_add(panel + job->inputs * LSTM_WIDE, hidden, job->hidden, sums);
    for (size_t i = 0; i < LSTM_SAMPLES && first + i < job->batch; i++)
        lstm_finish(job, sums[i], first + i, block * LANES);
}

static void lstm_cell_forward_run(const double *p, void *const *buffers, void *scratch, unsigned phase,
                                  size_t begin, size_t end) {
    const lstm_job job = {(size_t)p[0], (size_t)p[1], (size_t)p[2], buffers[0], buffers[1],
                          buffers[2],   buffers[5],   scratch,      buffers[6], buffers[7]};
    size_t depth = lstm_depth(p), groups = lstm_groups(p);
    if (phase == 1) {
        for (size_t item = begin; item < end; item++) lstm_item(&job, item / groups, item % groups);
        return;
    }
    for (size_t block = begin; block < end; block++)
        for (size_t gate = 0; gate < LSTM_GATES; gate++) {
            float *panel = (float *)scratch + block * depth * LSTM_WIDE + gate * LANES;
            lstm_pack(buffers[3], panel, job.inputs, job.hidden, block * LANES, gate);
            lstm_pack(buffers[4], panel + job.inputs * LSTM_WIDE, job.hidden, job.hidden, block * LANES,
                      gate);
        }
}

#endif
