// SPDX-License-Identifier: Apache-2.0
// An item is a neuron: the weighted sums of its dendrites one by one, then all of them are bent at once.
#ifndef RGM_WORKLOADS_FAST_DENDRITIC_INTEGRATION_H
#define RGM_WORKLOADS_FAST_DENDRITIC_INTEGRATION_H

#include "workloads/fast.h"
#include "workloads/fast/vector.h"

enum { DENDRITES_MOST = 32 };

static size_t dendritic_integration_scratch(const double *p) {
    (void)p;
    return 0;
}

static size_t dendritic_integration_items(const double *p, unsigned phase) {
    return phase == 0 ? (size_t)p[0] : 0;
}

RGM_INLINE rgm_vec dendritic_bend(rgm_vec s, int nonlinearity) {
    rgm_vec d = s - 0.5f;
    switch (nonlinearity) {
    case 0: return vec_sigmoid(4.0f * d);
    case 1: return s / (1.0f + vec_exp(-0.062f * (100.0f * s - 65.0f)) * (1.0f / 3.57f));
    case 2: return vec_select(d < vec_of(0.0f), s, 0.5f + 2.0f * d * vec_exp(-0.5f * d));
    default: return s * s / (1.0f + s * s);
    }
}

static float dendritic_sum(const float *weights, const float *inputs, size_t n) {
    rgm_vec sums = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) sums += vec_load(weights + i) * vec_load(inputs + i);
    float sum = vec_sum(sums);
    for (; i < n; i++) sum += weights[i] * inputs[i];
    return sum;
}

static void dendritic_integration_run(const double *p, void *const *buffers, void *scratch, unsigned phase,
                                      size_t begin, size_t end) {
    const float *inputs = buffers[0], *weights = buffers[1], *state = buffers[2];
    float *soma = buffers[3];
    size_t dendrites = (size_t)p[1], each = (size_t)p[2];
    int nonlinearity = (int)p[3];
    (void)scratch;
    (void)phase;
    for (size_t neuron = begin; neuron < end; neuron++) {
        float sums[DENDRITES_MOST] = {0}, sum = state[neuron];
        for (size_t d = 0; d < dendrites; d++) {
            size_t at = (neuron * dendrites + d) * each;
            sums[d] = dendritic_sum(weights + at, inputs + at, each);
        }
        for (size_t d = 0; d < dendrites; d += LANES)
            vec_store(sums + d, dendritic_bend(vec_load(sums + d), nonlinearity));
        for (size_t d = 0; d < dendrites; d++) sum += sums[d];
        soma[neuron] = sum;
    }
}

#endif
