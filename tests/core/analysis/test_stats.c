// SPDX-License-Identifier: Apache-2.0
// Moments against long double, quantiles against closed forms.
#include "analysis/stats.h"

#include "harness.h"
#include "random.h"

TEST(moments_of_a_second_with_nanosecond_jitter) {
    enum { COUNT = 100000 };
    static double values[COUNT];
    uint64_t random = 1;
    long double sum = 0, squares = 0;
    rgm_moments m = {0};
    for (int i = 0; i < COUNT; i++) {
        random_step(&random);
        values[i] = 1e9 + (double)(random >> 60);
        sum += values[i];
        rgm_moments_add(&m, values[i]);
    }
    long double count = COUNT, mean = sum / count;
    for (int i = 0; i < COUNT; i++) squares += (values[i] - mean) * (values[i] - mean);
    double expected = (double)sqrtl(squares / count);
    CHECK(expected > 4 && expected < 5); // the textbook formula is off by hundreds here
    CHECK_NEAR(m.mean, (double)mean, 1e-5);
    CHECK_NEAR(rgm_moments_std_dev(&m), expected, 1e-8 * expected + 1e-6);
    CHECK_EQ_I64(m.count, COUNT);
}

TEST(moments_of_nothing_and_of_one) {
    rgm_moments m = {0};
    CHECK(isnan(rgm_moments_std_dev(&m)));
    rgm_moments_add(&m, 7);
    CHECK_NEAR(m.mean, 7, 0);
    CHECK_NEAR(rgm_moments_std_dev(&m), 0, 0);
}

TEST(quantiles_have_their_closed_form) {
    enum { COUNT = 101 };
    int64_t values[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = 10 * i;
    // Of 0, 10, ..., 1000 the q-quantile of type 7 is 1000 q.
    for (int i = 0; i <= 1000; i++) CHECK_NEAR(rgm_quantile_sorted(values, COUNT, i / 1000.0), i, 1e-9);
    const int64_t two[] = {-10, 30};
    CHECK_NEAR(rgm_quantile_sorted(two, 2, 0.5), 10, 1e-12);
    CHECK_NEAR(rgm_quantile_sorted(two, 2, 0.25), 0, 1e-12);
    CHECK_NEAR(rgm_quantile_sorted(two, 2, 1), 30, 0);
    CHECK_NEAR(rgm_quantile_sorted(two, 1, 0.9), -10, 0);
    CHECK(isnan(rgm_quantile_sorted(two, 0, 0.5)));
}

TEST(sums_stop_at_the_end) {
    CHECK_EQ_I64(rgm_add_bounded(2, 3), 5);
    CHECK_EQ_I64(rgm_add_bounded(INT64_MAX, 1), INT64_MAX);
    CHECK_EQ_I64(rgm_add_bounded(INT64_MAX - 1, 1), INT64_MAX);
}
