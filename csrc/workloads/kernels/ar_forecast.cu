// SPDX-License-Identifier: Apache-2.0
// Autoregressive forecast: a step is sum of coefficients[j] * (value j + 1 steps before), and the next step
// builds on it. The steps depend on each other, so one warp does all of it: lane j holds the value of lag j +
// 1, a step is a sum over the warp and a shift by one lane. Order up to 32; of the series only the last
// `order` values are read.
#include "device/kernel.cuh"

RGM_KERNEL ar_forecast(const float *__restrict__ series, const float *__restrict__ coefficients,
                       float *__restrict__ forecast, int points, int order, int steps) {
    int lane = threadIdx.x;
    float value = lane < order ? series[points - 1 - lane] : 0.0f;
    float coefficient = lane < order ? coefficients[lane] : 0.0f;
    for (int step = 0; step < steps; step++) {
        float sum = value * coefficient;
        // Every lane gets the same sum, from the same additions.
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(RGM_ALL_LANES, sum, distance);
        float before = __shfl_up_sync(RGM_ALL_LANES, value, 1);
        value = lane == 0 ? sum : before;
        if (lane == 0) forecast[step] = sum;
    }
}
