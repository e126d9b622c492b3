// SPDX-License-Identifier: Apache-2.0
// Steps build on each other, so there is one item. The newest value is added last: only that addition waits
// for the step before.
#ifndef RGM_WORKLOADS_FAST_AR_FORECAST_H
#define RGM_WORKLOADS_FAST_AR_FORECAST_H

#include "workloads/fast.h"

static size_t ar_forecast_scratch(const double *p) {
    (void)p;
    return 0;
}

static size_t ar_forecast_items(const double *p, unsigned phase) {
    (void)p;
    return phase == 0;
}

static void ar_forecast_run(const double *p, void *const *buffers, void *scratch, unsigned phase,
                            size_t begin, size_t end) {
    const float *series = (const float *)buffers[0] + (size_t)p[0], *coefficients = buffers[1];
    float *forecast = buffers[2];
    ptrdiff_t order = (ptrdiff_t)p[1], steps = (ptrdiff_t)p[2];
    (void)scratch;
    (void)phase;
    (void)begin;
    (void)end;
    for (ptrdiff_t step = 0; step < steps; step++) {
        float sum = 0.0f;
        ptrdiff_t lag = order;
        for (; lag > step; lag--)
            sum += coefficients[lag - 1] * series[step - lag]; // before the end of the series
        for (; lag > 0; lag--) sum += coefficients[lag - 1] * forecast[step - lag];
        forecast[step] = sum;
    }
}

#endif
