// SPDX-License-Identifier: Apache-2.0
#include "compare/distributions.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static const double pi = 3.14159265358979323846;

static double polynomial(const double *coefficients, size_t count, double x) {
    double sum = 0;
    for (size_t i = count; i-- > 0;) sum = sum * x + coefficients[i];
    return sum;
}
#define POLYNOMIAL(list, x) polynomial(list, sizeof(list) / sizeof *(list), x)

// --- normal -----------------------------------------------------------------------------------------------

double rgm_normal_upper(double z) { return 0.5 * erfc(z / sqrt(2.0)); }

// AS 241 (PPND16): rational approximations in three ranges, good to about 1e-16.
double rgm_normal_quantile(double p) {
    static const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                               1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double b[] = {1.0,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    if (!(p >= 0.0 && p <= 1.0)) return NAN;
    if (p == 0.0) return -INFINITY;
    if (p == 1.0) return INFINITY;
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * POLYNOMIAL(a, r) / POLYNOMIAL(b, r);
    }
    double r = sqrt(-log(q < 0 ? p : 1.0 - p));
    double z = r <= 5.0 ? POLYNOMIAL(c, r - 1.6) / POLYNOMIAL(d, r - 1.6)
                        : POLYNOMIAL(e, r - 5.0) / POLYNOMIAL(f, r - 5.0);
    return q < 0 ? -z : z;
}

// --- Student's t ------------------------------------------------------------------------------------------

// gamma(x + 1/2) / gamma(x). The difference of two logarithms of gamma would lose digits for large x, where
// the ratio is sqrt(x) times a series in 1/x (A&S 6.1.47 with a = 1/2, b = 0).
static double gamma_ratio(double x) {
    static const double series[] = {1.0,
                                    -1.0 / 8,
                                    1.0 / 128,
                                    5.0 / 1024,
                                    -21.0 / 32768,
                                    -399.0 / 262144,
                                    869.0 / 4194304,
                                    39325.0 / 33554432,
                                    -334477.0 / 2147483648.0};
    // gamma(x + 1/2) / gamma(x) = gamma(x + 3/2) / gamma(x + 1) * x / (x + 1/2)
    double factor = 1.0;
    while (x < 24.0) {
        factor *= x / (x + 0.5);
        x += 1.0;
    }
    return factor * sqrt(x) * POLYNOMIAL(series, 1.0 / x);
}

// Continued fraction of the incomplete beta function (A&S 26.5.8) by the modified Lentz method.
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    if (fabs(d) < tiny) d = tiny;
    d = 1.0 / d;
    double h = d;
    for (int m = 1; m < 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1.0 + even * d;
        c = 1.0 + even / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        if (fabs(c) < tiny) c = tiny;
        h *= d * c;
        d = 1.0 + odd * d;
        c = 1.0 + odd / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        if (fabs(c) < tiny) c = tiny;
        double step = d * c;
        h *= step;
        if (fabs(step - 1.0) < 2 * DBL_EPSILON) break;
    }
    return h;
}

// P(|T| > t) for t >= 0: I_x(df/2, 1/2) at x = df / (df + t^2) (A&S 26.7.1).
static double two_sided(double t, double df) {
    double a = df / 2, ratio = t * t / df;
    double x = 1.0 / (1.0 + ratio), y = ratio / (1.0 + ratio);
    // x^a * y^(1/2) / B(a, 1/2)
    double front = exp(-a * log1p(ratio)) * sqrt(y) * gamma_ratio(a) / sqrt(pi);
    if (x < (a + 1.0) / (a + 2.5)) return front * beta_fraction(a, 0.5, x) / a;
    return 1.0 - front * beta_fraction(0.5, a, y) / 0.5;
}

double rgm_t_upper(double t, double df) {
    if (isnan(t) || !(df > 0)) return NAN;
    if (isinf(df)) return rgm_normal_upper(t);
    if (isinf(t)) return t > 0 ? 0.0 : 1.0;
    double size = fabs(t);
    // Above this ratio 1 + ratio has no digits left of 1; the tail is a power law there (A&S 26.7.7).
    double both = size * size / df > 1e300 ? 0.0 : two_sided(size, df);
    return t >= 0 ? both / 2 : 1.0 - both / 2;
}

static double t_density(double t, double df) {
    double a = df / 2;
    return gamma_ratio(a) / sqrt(pi * df) * exp(-(a + 0.5) * log1p(t * t / df));
}

// t > 0 with P(T > t) = upper, by Newton on the logarithm of the tail, which is concave there and close to
// linear, from a start below the root.
static double upper_quantile(double upper, double df) {
    double z = -rgm_normal_quantile(upper);            // the tails of t are heavier, so this lies below
    double t = z * (1.0 + (z * z + 1.0) / (4.0 * df)); // first term of Cornish-Fisher (A&S 26.7.5)
    if (rgm_t_upper(t, df) < upper) t = z;
    for (int i = 0; i < 200; i++) {
        double tail = rgm_t_upper(t, df);
        double next = t + (log(tail) - log(upper)) * tail / t_density(t, df);
        if (!(next > 0)) next = t / 2;
        bool near = fabs(next - t) <= 4 * DBL_EPSILON * next;
        t = next;
        if (near) break;
    }
    return t;
}

double rgm_t_quantile(double p, double df) {
    if (!(p >= 0.0 && p <= 1.0) || !(df > 0)) return NAN;
    if (isinf(df)) return rgm_normal_quantile(p);
    if (p == 0.0 || p == 1.0) return p > 0 ? INFINITY : -INFINITY;
    if (p == 0.5) return 0.0;
    return p < 0.5 ? -upper_quantile(p, df) : upper_quantile(1.0 - p, df);
}

// --- derivatives of log gamma -----------------------------------------------------------------------------

// Recurrence up to x >= 12, then the asymptotic series (A&S 6.3.18).
double rgm_digamma(double x) {
    static const double series[] = {-1.0 / 12,  1.0 / 120,     -1.0 / 252, 1.0 / 240,
                                    -1.0 / 132, 691.0 / 32760, -1.0 / 12};
    double sum = 0;
    while (x < 12.0) {
        sum -= 1.0 / x;
        x += 1.0;
    }
    double square = 1.0 / (x * x);
    return sum + log(x) - 0.5 / x + square * POLYNOMIAL(series, square);
}

// The same for the second derivative (A&S 6.4.12).
double rgm_trigamma(double x) {
    static const double series[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                    5.0 / 66, -691.0 / 2730, 7.0 / 6};
    double sum = 0;
    while (x < 12.0) {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    double square = 1.0 / (x * x);
    return sum + 1.0 / x + 0.5 * square + square / x * POLYNOMIAL(series, square);
}

// Third derivative, needed for the step only, so by a difference of the second.
static double tetragamma(double x) {
    double step = 1e-5 * x;
    return (rgm_trigamma(x + step) - rgm_trigamma(x - step)) / (2 * step);
}

// Newton on 1/trigamma, which is convex and nearly linear (Smyth 2004, appendix).
double rgm_trigamma_inverse(double y) {
    if (!(y > 0)) return NAN;
    if (y > 1e7) return 1.0 / sqrt(y);
    if (y < 1e-6) return 1.0 / y;
    double x = 0.5 + 1.0 / y;
    for (int i = 0; i < 100; i++) {
        double value = rgm_trigamma(x), step = value * (1.0 - value / y) / tetragamma(x);
        x += step;
        if (fabs(step) < 1e-14 * x) break;
    }
    return x;
}
