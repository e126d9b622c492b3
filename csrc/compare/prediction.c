// SPDX-License-Identifier: Apache-2.0
#include "compare/prediction.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/doubles.h"
#include "base/memory.h"
#include "compare/distributions.h"

// Variance of a standard normal variable whose lower and upper `part` are replaced by their quantiles.
static double winsorised_variance(double part) {
    double z = rgm_normal_quantile(1 - part), density = exp(-z * z / 2) / sqrt(2 * acos(-1.0));
    return 1 - 2 * part - 2 * z * density + 2 * part * z * z;
}

static bool all_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static double mean_of(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    return sum / (double)count;
}

static double variance_of(const double *values, size_t count) {
    double mean = mean_of(values, count), sum = 0;
    for (size_t i = 0; i < count; i++) sum += (values[i] - mean) * (values[i] - mean);
    return sum / (double)(count - 1);
}

rgm_status rgm_predict(const double *history, size_t n_history, const double *values, size_t n_values,
                       double alpha, rgm_prediction *out, rgm_error *err) {
    *out = (rgm_prediction){.center = NAN, .spread = NAN, .low = NAN, .high = NAN, .df = NAN, .p = NAN};
    if (n_history < RGM_PREDICTION_LEAST)
        return rgm_error_set(err, RGM_INVALID, "a history of %zu values; at least %d are needed", n_history,
                             RGM_PREDICTION_LEAST);
    if (!n_values || !all_finite(history, n_history) || !all_finite(values, n_values))
        return rgm_error_set(err, RGM_INVALID, "a history and its new values must be finite, and some");
    double *sorted = rgm_malloc(n_history * sizeof *sorted);
    if (!sorted) return rgm_error_no_memory(err);
    memcpy(sorted, history, n_history * sizeof *sorted);
    rgm_sort_doubles(sorted, n_history);

    size_t cut = (n_history + 9) / 10, kept = n_history - 2 * cut;
    double n = (double)n_history, m = (double)n_values, whole = (double)kept / n;
    // The mean of equal values need not be that value to the last bit.
    bool equal = !(sorted[cut] < sorted[n_history - 1 - cut]);
    out->center = equal ? sorted[cut] : mean_of(sorted + cut, kept);
    for (size_t i = 0; i < cut; i++) {
        sorted[i] = sorted[cut];
        sorted[n_history - 1 - i] = sorted[n_history - 1 - cut];
    }
    double winsorised = equal ? 0 : variance_of(sorted, n_history);
    rgm_free(sorted);
    // Blom's plotting position of the last value that is replaced: with cut / n the intervals of histories of
    // 8 to 20 values come out too narrow (5.9 % outside instead of 5 %).
    double variance = winsorised / winsorised_variance(((double)cut + 0.375) / (n + 0.25));
    // The mean without its extremes has this variance (Tukey & McLaughlin 1963).
    double error = sqrt(variance / m + winsorised / (whole * whole * n));
    double mean = mean_of(values, n_values), half;
    out->trimmed = cut;
    out->spread = sqrt(variance);
    out->df = (double)(kept - 1);
    half = error * rgm_t_quantile(1 - alpha / 2, out->df);
    out->low = out->center - half;
    out->high = out->center + half;
    if (error > 0)
        out->p = fmin(1, 2 * rgm_t_upper(fabs(mean - out->center) / error, out->df));
    else
        out->p = n_values == 1 ? values[0] == out->center : fabs(mean - out->center) <= 1e-12 * fabs(mean);
    return RGM_OK;
}
