// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "workloads/geometry.h"

enum { BATCH, INPUTS, HIDDEN };
enum { INPUT, HIDDEN_STATE, CELL_STATE, WEIGHTS_IH, WEIGHTS_HH, BIAS, HIDDEN_OUT, CELL_OUT };
enum { GATES = 4, SIDE = 8 };

static bool shape(const double *p, rgm_workload_shape *out) {
    size_t batch = (size_t)p[BATCH], inputs = (size_t)p[INPUTS], hidden = (size_t)p[HIDDEN];
    out->counts[INPUT] = batch * inputs;
    out->counts[HIDDEN_STATE] = out->counts[CELL_STATE] = batch * hidden;
    out->counts[HIDDEN_OUT] = out->counts[CELL_OUT] = batch * hidden;
    out->counts[WEIGHTS_IH] = GATES * hidden * inputs;
    out->counts[WEIGHTS_HH] = GATES * hidden * hidden;
    out->counts[BIAS] = GATES * hidden;
    rgm_set_grid(out, rgm_blocks(hidden, SIDE), rgm_blocks(batch, SIDE));
    rgm_set_block(out, SIDE, SIDE);
    // Per element: four products, five function values, three multiplications and one addition.
    out->operations = (double)(batch * hidden) * ((double)(2 * GATES * (inputs + hidden)) + 9.0);
    return true;
}

static void set(float *to, size_t n, float value) {
    for (size_t i = 0; i < n; i++) to[i] = value;
}

static void fill(const double *p, void *const *buffers) {
    rgm_workload_shape sizes = {0};
    (void)shape(p, &sizes);
    float *input = buffers[INPUT];
    for (size_t i = 0; i < sizes.counts[INPUT]; i++) input[i] = (float)(i % 10) / 10.0f;
    set(buffers[HIDDEN_STATE], sizes.counts[HIDDEN_STATE], 0.0f);
    set(buffers[CELL_STATE], sizes.counts[CELL_STATE], 0.0f);
    set(buffers[WEIGHTS_IH], sizes.counts[WEIGHTS_IH], 0.01f);
    set(buffers[WEIGHTS_HH], sizes.counts[WEIGHTS_HH], 0.01f);
    set(buffers[BIAS], sizes.counts[BIAS], 0.0f);
}

static double dot(const float *a, const float *b, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

static void reference(const double *p, void *const *buffers) {
    int batch = (int)p[BATCH], inputs = (int)p[INPUTS], hidden = (int)p[HIDDEN];
    const float *input = buffers[INPUT], *hidden_state = buffers[HIDDEN_STATE],
                *cell_state = buffers[CELL_STATE];
    const float *ih = buffers[WEIGHTS_IH], *hh = buffers[WEIGHTS_HH], *bias = buffers[BIAS];
    float *hidden_out = buffers[HIDDEN_OUT], *cell_out = buffers[CELL_OUT];
    for (int sample = 0; sample < batch; sample++)
        for (int unit = 0; unit < hidden; unit++) {
            double gates[GATES];
            for (int gate = 0; gate < GATES; gate++) {
                int row = gate * hidden + unit;
                gates[gate] = (double)bias[row] + dot(input + sample * inputs, ih + row * inputs, inputs) +
                              dot(hidden_state + sample * hidden, hh + row * hidden, hidden);
            }
            int at = sample * hidden + unit;
            double cell = sigmoid(gates[1]) * (double)cell_state[at] + sigmoid(gates[0]) * tanh(gates[2]);
            cell_out[at] = (float)cell;
            hidden_out[at] = (float)(sigmoid(gates[3]) * tanh(cell));
        }
}

const rgm_workload rgm_workload_lstm_cell_forward = {
    .name = "lstm_cell_forward",
    .doc = "One step of an LSTM cell; gates in the order input, forget, cell, output.",
    .unit = "fp32",
    .buffers = {{"input", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"hidden_state", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"cell_state", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"weights_ih", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"weights_hh", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"bias", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"hidden_out", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT},
                {"cell_out", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT}},
    .parameters = {{"batch", 32, 1, 65536, true, "samples"},
                   {"inputs", 64, 1, 8192, true, "values of a sample"},
                   {"hidden", 128, 1, 8192, true, "units"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
