// SPDX-License-Identifier: Apache-2.0
// Neurons with dendrites: a dendrite weighs its inputs, s = sum of weight * input, bends the sum by one of
// four nonlinearities, and the neuron adds its dendrites to its state:
//   0 sigmoid         1 / (1 + exp(-4 (s - 0.5)))
//   1 NMDA            s / (1 + exp(-0.062 V) / 3.57), V = 100 s - 65 mV: the magnesium block of Jahr and
//   Stevens at 1 mM 2 active          s below 0.5, from there 0.5 + 2 d exp(-d / 2) with d = s - 0.5: a spike
//   that fades 3 multiplicative  s^2 / (1 + s^2)
// A block is a neuron and a warp is a dendrite; up to 32 dendrites.
#include "device/kernel.cuh"

#define MOST_DENDRITES 32

RGM_DEVICE float bend(float s, int nonlinearity) {
    float d = s - 0.5f;
    if (nonlinearity == 0) return 1.0f / (1.0f + expf(-4.0f * d));
    if (nonlinearity == 1) return s / (1.0f + expf(-0.062f * (100.0f * s - 65.0f)) / 3.57f);
    if (nonlinearity == 2) return d < 0.0f ? s : 0.5f + 2.0f * d * expf(-0.5f * d);
    return s * s / (1.0f + s * s);
}

RGM_KERNEL dendritic_integration(const float *__restrict__ branch_inputs, const float *__restrict__ weights,
                                 const float *__restrict__ state, float *__restrict__ soma, int neurons,
                                 int dendrites, int inputs, int nonlinearity) {
    __shared__ float bent[MOST_DENDRITES];
    int neuron = blockIdx.x, dendrite = threadIdx.y, lane = threadIdx.x;
    long long row = ((long long)neuron * dendrites + dendrite) * inputs;
    float sum = 0.0f;
    for (int i = lane; i < inputs; i += 32) sum = fmaf(weights[row + i], branch_inputs[row + i], sum);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(RGM_ALL_LANES, sum, distance);
    if (lane == 0) bent[dendrite] = bend(sum, nonlinearity);
    __syncthreads();
    if (neuron >= neurons || dendrite != 0 || lane != 0) return;
    sum = state[neuron];
    for (int i = 0; i < dendrites; i++) sum += bent[i];
    soma[neuron] = sum;
}
