// SPDX-License-Identifier: Apache-2.0
#include "compare/families.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/doubles.h"
#include "base/memory.h"
#include "compare/distributions.h"

// --- adjusted p-values ------------------------------------------------------------------------------------

typedef struct {
    double p;
    size_t place;
} placed;

static int by_p(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->p != y->p) return x->p < y->p ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

rgm_status rgm_adjust(const double *p, size_t count, rgm_fdr method, double *q, rgm_error *err) {
    placed *order = rgm_malloc((count + 1) * sizeof *order);
    if (!order) return rgm_error_no_memory(err);
    size_t n = 0;
    double harmonic = 0;
    for (size_t i = 0; i < count; i++) {
        q[i] = p[i];
        if (isnan(p[i])) continue;
        order[n++] = (placed){p[i], i};
        harmonic += 1.0 / (double)n;
    }
    qsort(order, n, sizeof *order, by_p);
    double factor = (double)n * (method == RGM_FDR_BY ? harmonic : 1.0), least = 1.0;
    for (size_t i = n; method != RGM_FDR_NONE && i-- > 0;) {
        least = fmin(least, order[i].p * factor / (double)(i + 1));
        q[order[i].place] = least;
    }
    rgm_free(order);
    return RGM_OK;
}

// --- variances --------------------------------------------------------------------------------------------

rgm_variance_prior rgm_variance_prior_of(const double *variances, const double *df, size_t count) {
    double mean = 0, squares = 0, expected = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(variances[i] > 0) || !(df[i] > 0) || isinf(variances[i])) continue;
        double half = df[i] / 2, e = log(variances[i]) - rgm_digamma(half) + log(half);
        n++;
        double delta = e - mean;
        mean += delta / (double)n;
        squares += delta * (e - mean);
        expected += rgm_trigamma(half);
    }
    if (n < 2) return (rgm_variance_prior){0, 0};
    double excess = squares / (double)(n - 1) - expected / (double)n;
    if (!(excess > 0)) return (rgm_variance_prior){INFINITY, exp(mean)};
    double half = rgm_trigamma_inverse(excess);
    return (rgm_variance_prior){2 * half, exp(mean + rgm_digamma(half) - log(half))};
}

double rgm_moderated(rgm_variance_prior prior, double variance, double df, double *df_out) {
    *df_out = prior.df + df;
    if (isinf(prior.df)) return prior.variance;
    return (prior.df * prior.variance + df * variance) / *df_out;
}

// --- common mode ------------------------------------------------------------------------------------------

rgm_status rgm_common_mode(const double *differences, const double *errors, size_t count, double limit,
                           double *mode, rgm_error *err) {
    enum { ROUNDS = 20 };
    double *kept = rgm_malloc((count + 1) * sizeof *kept);
    if (!kept) return rgm_error_no_memory(err);
    double center = NAN;
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            bool usable = !isnan(differences[i]) && !isinf(differences[i]);
            bool near = isnan(center) || !(fabs(differences[i] - center) > limit * errors[i]);
            if (usable && near) kept[n++] = differences[i];
        }
        if (!n) break; // all differ: the last centre is the best there is
        rgm_sort_doubles(kept, n);
        double next = rgm_median_sorted(kept, n);
        if (next == center) break;
        center = next;
    }
    *mode = center;
    rgm_free(kept);
    return RGM_OK;
}
