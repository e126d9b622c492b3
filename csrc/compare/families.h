// SPDX-License-Identifier: Apache-2.0
// What many comparisons know together: adjusted p-values, variances that borrow from one another, and what
// they all moved by.
#ifndef RGM_COMPARE_FAMILIES_H
#define RGM_COMPARE_FAMILIES_H

#include <stddef.h>

#include "base/status.h"

typedef enum { RGM_FDR_NONE, RGM_FDR_BH, RGM_FDR_BY } rgm_fdr;

// Adjusted p-values (q) of Benjamini & Hochberg 1995 or Benjamini & Yekutieli 2001. NaN stays NaN and does
// not count.
rgm_status rgm_adjust(const double *p, size_t count, rgm_fdr method, double *q, rgm_error *err) RGM_NODISCARD;

// Prior of the variances: degrees of freedom (INFINITY when they do not differ more than chance makes them,
// 0 when there is nothing to borrow) and scale (Smyth 2004, section 6.2).
typedef struct {
    double df;
    double variance;
} rgm_variance_prior;

// From the variances and their degrees of freedom; those that are 0, NaN or without freedom are left out.
rgm_variance_prior rgm_variance_prior_of(const double *variances, const double *df, size_t count);
// (df0 s0^2 + df s^2) / (df0 + df), and the degrees of freedom together.
double rgm_moderated(rgm_variance_prior prior, double variance, double df, double *df_out);

// What all differences have in common: their median, again after leaving out those that differ from it
// significantly, until it stays. `errors` are their standard errors; limit: how many of them away is
// different. NaN for none.
rgm_status rgm_common_mode(const double *differences, const double *errors, size_t count, double limit,
                           double *mode, rgm_error *err) RGM_NODISCARD;

#endif
