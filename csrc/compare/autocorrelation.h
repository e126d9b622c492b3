// SPDX-License-Identifier: Apache-2.0
// By how much the values of a series count as fewer than they are, because neighbours resemble one another.
#ifndef RGM_COMPARE_AUTOCORRELATION_H
#define RGM_COMPARE_AUTOCORRELATION_H

#include <stddef.h>

#include "base/status.h"

// Integrated autocorrelation time of the ranks of a series, at least 1. Sokal's automatic window (the first
// lag of at least 5 times the sum so far). In n log(time) steps.
rgm_status rgm_autocorrelation_time(const double *values, size_t count, double *time,
                                    rgm_error *err) RGM_NODISCARD;

#endif
