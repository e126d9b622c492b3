// SPDX-License-Identifier: Apache-2.0
// Whether new values belong to a history of earlier ones: a prediction interval that a few bad runs in the
// history do not move.
#ifndef RGM_COMPARE_PREDICTION_H
#define RGM_COMPARE_PREDICTION_H

#include <stddef.h>

#include "base/status.h"

enum { RGM_PREDICTION_LEAST = 4 }; // values of a history; a rule may well ask for more

typedef struct {
    double center;    // mean of the history without its extremes
    double spread;    // standard deviation of one value, from the winsorised history
    double low, high; // where the mean of the new values lies with the probability asked for
    double df;        // degrees of freedom of the interval
    double p;         // two-sided, of the mean of the new values
    size_t trimmed;   // values set aside at each end
} rgm_prediction;

// A tenth of the history (rounded up) at each end is replaced by its neighbours (winsorised) for the spread
// and left out for the center. The spread is divided by what that makes of a normal sample's; the interval is
// Student's, with the degrees of freedom of what was kept. The `n_values` new values are judged by their
// mean. Times go in as logarithms. A history of equal values has spread 0: p is then 1 for the same value,
// else 0. RGM_INVALID for fewer than RGM_PREDICTION_LEAST values of history, no new value, or one that is not
// finite.
rgm_status rgm_predict(const double *history, size_t n_history, const double *values, size_t n_values,
                       double alpha, rgm_prediction *out, rgm_error *err) RGM_NODISCARD;

#endif
