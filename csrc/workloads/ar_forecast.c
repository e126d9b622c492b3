// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "workloads/geometry.h"

enum { POINTS, ORDER, STEPS };
enum { SERIES, COEFFICIENTS, FORECAST };

static bool shape(const double *p, rgm_workload_shape *out) {
    out->counts[SERIES] = (size_t)p[POINTS];
    out->counts[COEFFICIENTS] = (size_t)p[ORDER];
    out->counts[FORECAST] = (size_t)p[STEPS];
    rgm_set_grid(out, 1, 1);
    rgm_set_block(out, 32, 1);
    out->operations = 2.0 * p[ORDER] * p[STEPS];
    out->bytes = 4.0 * (2.0 * p[ORDER] + p[STEPS]); // of the series only the end counts
    return p[ORDER] <= p[POINTS];
}

static void fill(const double *p, void *const *buffers) {
    static const float documented[] = {0.5f, -0.3f, 0.2f, -0.1f, 0.05f};
    float *series = buffers[SERIES], *coefficients = buffers[COEFFICIENTS];
    for (int i = 0; i < (int)p[POINTS]; i++) series[i] = (float)(100.0 + 0.01 * i + 10.0 * sin(0.1 * i));
    for (int i = 0; i < (int)p[ORDER]; i++) coefficients[i] = i < 5 ? documented[i] : 0.0f;
}

static void reference(const double *p, void *const *buffers) {
    const float *series = buffers[SERIES], *coefficients = buffers[COEFFICIENTS];
    float *forecast = buffers[FORECAST];
    int points = (int)p[POINTS];
    for (int step = 0; step < (int)p[STEPS]; step++) {
        double sum = 0.0;
        for (int lag = 1; lag <= (int)p[ORDER]; lag++) {
            int at = step - lag;
            sum += (double)coefficients[lag - 1] * (double)(at >= 0 ? forecast[at] : series[points + at]);
        }
        forecast[step] = (float)sum;
    }
}

const rgm_workload rgm_workload_ar_forecast = {
    .name = "ar_forecast",
    .doc = "Autoregressive forecast of a time series.",
    .unit = "fp32",
    .buffers = {{"series", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"coefficients", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"forecast", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT}},
    .parameters = {{"points", 1000, 1, 1 << 24, true, "length of the series"},
                   {"order", 5, 1, 32, true, "coefficients"},
                   {"steps", 10, 1, 1 << 20, true, "steps ahead"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
