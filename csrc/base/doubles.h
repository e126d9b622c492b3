// SPDX-License-Identifier: Apache-2.0
// Doubles in order, and what their order tells.
#ifndef RGM_BASE_DOUBLES_H
#define RGM_BASE_DOUBLES_H

#include <stddef.h>

// Sorts ascending; NaN is not allowed.
void rgm_sort_doubles(double *values, size_t count);
// The k-th smallest of values, which are reordered; NaN is not allowed.
double rgm_select_double(double *values, size_t count, size_t k);
// Median of sorted values, NaN for none.
double rgm_median_sorted(const double *sorted, size_t count);
// Quantile of sorted values by linear interpolation (Hyndman-Fan type 7, NumPy's default); NaN for none.
double rgm_quantile_of_sorted(const double *sorted, size_t count, double q);

#endif
