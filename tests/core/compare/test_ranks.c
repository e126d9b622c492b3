// SPDX-License-Identifier: Apache-2.0
// The shift of two samples against all their differences, and the autocorrelation time against its
// definition.
#include "compare/ranks.h"

#include <math.h>
#include <stdlib.h>

#include "base/doubles.h"
#include "compare/autocorrelation.h"
#include "harness.h"
#include "random.h"

static uint64_t state = 1;

static double chance(void) {
    random_step(&state);
    return (double)(state >> 11) / 9007199254740992.0;
}

// --- shift ------------------------------------------------------------------------------------------------

// The logarithms of times that a clock gives in so many nanoseconds.
static void fill_times(double *values, size_t count, int step, double width) {
    for (size_t i = 0; i < count; i++)
        values[i] = log(step * floor((100 + width * chance() * chance()) / step));
    rgm_sort_doubles(values, count);
}

static double *differences_of(const double *a, size_t n_a, const double *b, size_t n_b) {
    double *all = malloc(n_a * n_b * sizeof *all);
    for (size_t i = 0; i < n_a; i++)
        for (size_t j = 0; j < n_b; j++) all[i * n_b + j] = b[j] - a[i];
    rgm_sort_doubles(all, n_a * n_b);
    return all;
}

// Whether as many differences lie below the one as above the other.
static bool are_as_far_in(const double *all, size_t count, double low, double high) {
    for (size_t i = 0; i < count; i++)
        if (fabs(all[i] - low) < 1e-15 && fabs(all[count - 1 - i] - high) < 1e-15) return true;
    return false;
}

TEST(a_shift_is_the_median_of_all_differences) {
    enum { MOST = 400 };
    static double a[MOST], b[MOST];
    const int steps[] = {1, 7, 20, 60};
    const double widths[] = {3, 40, 900};
    for (size_t s = 0; s < 4; s++)
        for (size_t w = 0; w < 3; w++)
            for (size_t n = 1; n <= MOST; n = n * 3 + 1) {
                size_t n_b = n / 2 + 1;
                rgm_shift found;
                fill_times(a, n, steps[s], widths[w]);
                fill_times(b, n_b, steps[s], widths[w]);
                double *all = differences_of(a, n, b, n_b);
                CHECK_OK(rgm_shift_of(a, n, b, n_b, 0.05, 1, &found, NULL));
                CHECK_NEAR(found.estimate, rgm_median_sorted(all, n * n_b), 1e-15);
                CHECK(found.low <= found.estimate && found.estimate <= found.high);
                CHECK(are_as_far_in(all, n * n_b, found.low, found.high));
                free(all);
            }
}

// As of scopes without content: millions of differences, of which each has one of a dozen values.
TEST(a_shift_of_values_that_are_mostly_equal) {
    enum { COUNT = 3000 };
    static double a[COUNT], b[COUNT];
    for (int distinct = 1; distinct <= 3; distinct++) {
        rgm_shift found;
        fill_times(a, COUNT, 10, 10 * distinct);
        fill_times(b, COUNT, 10, 10 * distinct);
        CHECK_OK(rgm_shift_of(a, COUNT, b, COUNT, 0.05, 1, &found, NULL));
        double *all = differences_of(a, COUNT, b, COUNT);
        CHECK_NEAR(found.estimate, rgm_median_sorted(all, (size_t)COUNT * COUNT), 0);
        free(all);
    }
}

// --- autocorrelation --------------------------------------------------------------------------------------

static double time_by_definition(const double *values, size_t count) {
    double *ranks = malloc(count * sizeof *ranks), ties, variance = 0, time = 1;
    CHECK_OK(rgm_mid_ranks(values, count, ranks, &ties, NULL));
    for (size_t i = 0; i < count; i++) {
        ranks[i] -= (double)(count + 1) / 2;
        variance += ranks[i] * ranks[i];
    }
    for (size_t lag = 1; lag < count / 2; lag++) {
        double product = 0;
        for (size_t i = 0; i + lag < count; i++) product += ranks[i] * ranks[i + lag];
        time += 2 * product / variance;
        if ((double)lag >= 5 * time) break;
    }
    free(ranks);
    return fmax(time, 1);
}

TEST(autocorrelation_times_are_those_of_the_definition) {
    enum { COUNT = 12000 };
    static double values[COUNT];
    const double kept[] = {0, 0.5, 0.9, 0.97, 0.995, 1};
    for (size_t k = 0; k < 6; k++)
        for (size_t count = 5; count <= COUNT; count = count * 7 / 2) {
            double time;
            for (size_t i = 0; i < count; i++) values[i] = (i ? kept[k] * values[i - 1] : 0) + chance() - 0.5;
            double expected = time_by_definition(values, count);
            CHECK_OK(rgm_autocorrelation_time(values, count, &time, NULL));
            CHECK_NEAR(time, expected, 1e-9 * expected);
            if (k == 5 && count > 1000)
                CHECK(5 * expected > 64); // beyond the lags that are summed one by one
        }
}

TEST(a_series_that_stays_has_no_memory) {
    const double same[] = {3, 3, 3, 3, 3, 3};
    double time;
    CHECK_OK(rgm_autocorrelation_time(same, 6, &time, NULL));
    CHECK_NEAR(time, 1, 0);
    CHECK_OK(rgm_autocorrelation_time(same, 0, &time, NULL));
    CHECK_NEAR(time, 1, 0);
}
