// SPDX-License-Identifier: Apache-2.0
// Distribution functions, to about 1e-12 relative also far out in the tails (Student's with more than 1e4
// degrees of freedom: 1e-10 up to 3e5, 1e-9 beyond). Sources: Abramowitz & Stegun
// (A&S) by section, Wichura's AS 241, limma's use of the trigamma inverse (Smyth 2004).
#ifndef RGM_COMPARE_DISTRIBUTIONS_H
#define RGM_COMPARE_DISTRIBUTIONS_H

// P(Z > z) of the standard normal distribution.
double rgm_normal_upper(double z);
// z with P(Z <= z) = p; -INFINITY and INFINITY at 0 and 1, NaN outside.
double rgm_normal_quantile(double p);
// P(T > t) of Student's distribution; df > 0 need not be whole, and may be INFINITY.
double rgm_t_upper(double t, double df);
// t with P(T <= t) = p.
double rgm_t_quantile(double p, double df);
// Derivatives of log gamma at x > 0.
double rgm_digamma(double x);
double rgm_trigamma(double x);
// x with trigamma(x) = y, for y > 0.
double rgm_trigamma_inverse(double y);

#endif
