// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "workloads/geometry.h"

enum { NEURONS, DENDRITES, INPUTS, NONLINEARITY };
enum { BRANCH_INPUTS, WEIGHTS, STATE, SOMA };

static bool shape(const double *p, rgm_workload_shape *out) {
    static const double of_bend[] = {5, 7, 5, 4}; // operations of each nonlinearity
    out->counts[BRANCH_INPUTS] = out->counts[WEIGHTS] =
        (size_t)p[NEURONS] * (size_t)p[DENDRITES] * (size_t)p[INPUTS];
    out->counts[STATE] = out->counts[SOMA] = (size_t)p[NEURONS];
    rgm_set_grid(out, (uint32_t)p[NEURONS], 1);
    rgm_set_block(out, 32, (uint32_t)p[DENDRITES]);
    out->operations = p[NEURONS] * p[DENDRITES] * (2.0 * p[INPUTS] + of_bend[(int)p[NONLINEARITY]] + 1.0);
    return true;
}

static void fill(const double *p, void *const *buffers) {
    float *inputs = buffers[BRANCH_INPUTS], *weights = buffers[WEIGHTS], *state = buffers[STATE];
    for (size_t i = 0; i < (size_t)p[NEURONS] * (size_t)p[DENDRITES] * (size_t)p[INPUTS]; i++) {
        inputs[i] = 0.5f;
        weights[i] = 0.1f;
    }
    for (size_t i = 0; i < (size_t)p[NEURONS]; i++) state[i] = 0.0f;
}

static double bend(double s, int nonlinearity) {
    double d = s - 0.5;
    switch (nonlinearity) {
    case 0: return 1.0 / (1.0 + exp(-4.0 * d));
    case 1: return s / (1.0 + exp(-0.062 * (100.0 * s - 65.0)) / 3.57);
    case 2: return d < 0.0 ? s : 0.5 + 2.0 * d * exp(-0.5 * d);
    default: return s * s / (1.0 + s * s);
    }
}

static void reference(const double *p, void *const *buffers) {
    const float *inputs = buffers[BRANCH_INPUTS], *weights = buffers[WEIGHTS], *state = buffers[STATE];
    float *soma = buffers[SOMA];
    size_t at = 0;
    for (size_t neuron = 0; neuron < (size_t)p[NEURONS]; neuron++) {
        double sum = (double)state[neuron];
        for (int dendrite = 0; dendrite < (int)p[DENDRITES]; dendrite++) {
            double s = 0.0;
            for (int i = 0; i < (int)p[INPUTS]; i++, at++) s += (double)weights[at] * (double)inputs[at];
            sum += bend(s, (int)p[NONLINEARITY]);
        }
        soma[neuron] = (float)sum;
    }
}

const rgm_workload rgm_workload_dendritic_integration = {
    .name = "dendritic_integration",
    .doc = "Neurons whose dendrites weigh their inputs and bend the sum.",
    .unit = "fp32",
    .buffers = {{"branch_inputs", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"weights", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"state", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"soma", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT}},
    .parameters = {{"neurons", 10, 1, 1 << 20, true, "neurons"},
                   {"dendrites", 8, 1, 32, true, "dendrites of a neuron"},
                   {"inputs", 16, 1, 64, true, "inputs of a dendrite"},
                   {"nonlinearity", 0, 0, 3, true, "0 sigmoid, 1 NMDA, 2 active, 3 multiplicative"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
