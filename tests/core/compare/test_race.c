// SPDX-License-Identifier: Apache-2.0
#include "compare/race.h"

#include <stdlib.h>

#include "base/doubles.h"
#include "compare/distributions.h"
#include "compare/pseudo_median.h"
#include "faults.h"

static uint64_t state;
static double uniform(void) { // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((double)(state * 2685821657736338717U >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(void) { return rgm_normal_quantile(uniform()); }

TEST(the_critical_value_is_that_of_the_tables) {
    // Wilcoxon signed ranks, one-sided 0.05, 0.025, 0.01, 0.005 (any statistics table).
    static const struct {
        size_t n;
        double level;
        int64_t critical;
    } rows[] = {{5, 0.05, 0},    {6, 0.025, 0},   {7, 0.01, 0},    {8, 0.005, 0},  {10, 0.025, 8},
                {10, 0.005, 3},  {12, 0.05, 17},  {15, 0.025, 25}, {20, 0.05, 60}, {20, 0.01, 43},
                {25, 0.025, 89}, {50, 0.05, 466}, {4, 0.05, -1},   {0, 0.05, -1}};
    rgm_error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t critical;
        CHECK_OK(rgm_signed_rank_critical(rows[i].n, rows[i].level, &critical, &err));
        CHECK_EQ_I64(critical, rows[i].critical);
    }
    int64_t unused;
    CHECK_EQ_I64(rgm_signed_rank_critical(5, 0.5, &unused, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_signed_rank_critical(5000, 0.05, &unused, &err), RGM_INVALID);
}

TEST(the_estimate_is_the_median_of_the_averages) {
    const double values[] = {3, 1, 2, 10};
    rgm_pseudo_median out;
    rgm_error err;
    // Averages: 1 1.5 2 2 2.5 3 5.5 6 6.5 10.
    CHECK_OK(rgm_pseudo_median_of(values, 4, 1, &out, &err));
    CHECK_NEAR(out.estimate, 2.75, 0);
    CHECK_NEAR(out.low, 1.5, 0);
    CHECK_NEAR(out.high, 6.5, 0);
    CHECK_OK(rgm_pseudo_median_of(values, 4, -1, &out, &err));
    CHECK(isinf(out.low) && isinf(out.high));
    CHECK_OK(rgm_pseudo_median_of(values, 0, -1, &out, &err));
    CHECK(isnan(out.estimate));
}

TEST(averages_are_counted_as_they_are) {
    double values[40];
    state = 9;
    for (size_t count = 0; count < 40; count++) {
        for (size_t i = 0; i < count; i++) values[i] = floor(10 * normal()) / 4; // with ties
        rgm_sort_doubles(values, count);
        for (double limit = -5; limit < 5; limit += 0.125) {
            int64_t found = 0;
            for (size_t i = 0; i < count; i++)
                for (size_t j = i; j < count; j++) found += 0.5 * (values[i] + values[j]) <= limit;
            CHECK_EQ_I64(rgm_averages_at_most(values, count, limit), found);
        }
    }
}

static rgm_race *start(size_t candidates, rgm_race_policy policy) {
    rgm_race *race = NULL;
    rgm_error err;
    CHECK_OK(rgm_race_new(&race, candidates, &policy, &err));
    return race;
}

// Times around `centers` with normal noise on the logarithm and, now and then, a wild value.
static rgm_race_result simulate(const double *centers, size_t candidates, double noise, double wild) {
    rgm_race *race = start(candidates, RGM_RACE_POLICY_DEFAULTS);
    rgm_error err;
    double times[RGM_RACE_CANDIDATES];
    for (int round = 0; rgm_race_result_of(race).outcome == RGM_RACE_RUNNING; round++) {
        double drift = 0.3 * sin(round / 7.0); // the machine, for all alike
        for (size_t i = 0; i < candidates; i++) {
            times[i] = centers[i] * exp(drift + noise * normal());
            if (uniform() < wild) times[i] *= 1 + 20 * uniform();
        }
        CHECK_OK(rgm_race_round(race, times, &err));
    }
    rgm_race_result result = rgm_race_result_of(race);
    rgm_race_free(race);
    return result;
}

enum { TUNINGS = 1000 };
// Beyond this many of 1000 a rate of at most 5 % is refuted at 1e-4 (binomial).
enum { MOST_WRONG = 78 };

TEST(equal_candidates_have_no_winner) {
    const double equal[5] = {1, 1, 1, 1, 1};
    int wrong[3] = {0};
    state = 1;
    for (int i = 0; i < TUNINGS; i++) {
        wrong[0] += simulate(equal, 5, 0.03, 0.0).pick != 0;
        wrong[1] += simulate(equal, 5, 0.03, 0.1).pick != 0;
        wrong[2] += simulate(equal, 2, 0.5, 0.05).pick != 0;
    }
    fprintf(stderr, "winners among equals, of %d: %d, %d with outliers, %d of two\n", TUNINGS, wrong[0],
            wrong[1], wrong[2]);
    for (int i = 0; i < 3; i++) CHECK(wrong[i] <= MOST_WRONG);
}

TEST(a_slower_candidate_is_not_picked) {
    const double close[5] = {1.0, 1.02, 1.01, 1.05, 1.1}, mixed[5] = {1.0, 0.99, 1.03, 0.95, 0.97};
    int wrong = 0, lost = 0, found = 0;
    state = 2;
    for (int i = 0; i < TUNINGS; i++) {
        wrong += simulate(close, 5, 0.03, 0.05).pick != 0;
        rgm_race_result result = simulate(mixed, 5, 0.02, 0.05);
        wrong += result.pick == 2;
        lost += result.outcome == RGM_RACE_BEST && result.pick != 3;
        found += result.pick == 3;
    }
    fprintf(stderr, "slower picked %d, best lost %d, best found %d of %d\n", wrong, lost, found, TUNINGS);
    CHECK(wrong <= MOST_WRONG && lost <= MOST_WRONG);
    CHECK(found > TUNINGS / 2);
}

TEST(a_clear_winner_is_found_early) {
    const double clear[5] = {1.0, 1.5, 0.5, 2.0, 1.0};
    state = 3;
    for (int i = 0; i < 100; i++) {
        rgm_race_result result = simulate(clear, 5, 0.03, 0.0);
        CHECK_EQ_U64(result.pick, 2);
        CHECK_EQ_I64(result.outcome, RGM_RACE_BEST);
        CHECK_EQ_U64(result.rounds, result.first_look);
    }
}

TEST(nothing_to_gain_ends_a_race) {
    const double equal[3] = {1, 1, 1};
    state = 4;
    rgm_race_result result = simulate(equal, 3, 0.001, 0.0);
    CHECK_EQ_I64(result.outcome, RGM_RACE_NO_DIFFERENCE);
    CHECK_EQ_U64(result.rounds, result.first_look);
}

TEST(times_that_are_all_the_same_have_no_winner) {
    const double equal[2] = {1, 1};
    CHECK_EQ_I64(simulate(equal, 2, 0.0, 0.0).outcome, RGM_RACE_NO_DIFFERENCE);
}

TEST(the_first_look_is_no_earlier_than_its_level_allows) {
    for (size_t candidates = 2; candidates <= RGM_RACE_CANDIDATES; candidates++) {
        rgm_race *race = start(candidates, RGM_RACE_POLICY_DEFAULTS);
        rgm_race_result plan = rgm_race_result_of(race);
        double pairs = (double)(candidates * (candidates - 1));
        CHECK(pow(0.5, (double)plan.first_look) <= plan.level);
        CHECK(plan.level * pairs * (double)plan.looks <= 0.05 * (1 + 1e-12));
        rgm_race_free(race);
    }
}

TEST(what_withdraws_is_not_beaten) {
    rgm_error err;
    rgm_race *race = start(3, RGM_RACE_POLICY_DEFAULTS);
    CHECK_OK(rgm_race_withdraw(race, 1, &err));
    CHECK(!rgm_race_takes_part(race, 1) && rgm_race_takes_part(race, 2));
    CHECK_EQ_I64(rgm_race_withdraw(race, 0, &err), RGM_INVALID);
    const double times[3] = {1.0, NAN, 0.5};
    while (rgm_race_result_of(race).outcome == RGM_RACE_RUNNING) CHECK_OK(rgm_race_round(race, times, &err));
    rgm_race_result result = rgm_race_result_of(race);
    CHECK_EQ_U64(result.pick, 2);
    CHECK_EQ_I64(result.outcome, RGM_RACE_BETTER); // nothing is known of the one that left
    CHECK_EQ_I64(rgm_race_round(race, times, &err), RGM_INVALID);
    rgm_race_candidate candidate;
    CHECK_OK(rgm_race_candidate_of(race, 1, &candidate, &err));
    CHECK_EQ_U64(candidate.beaten_by, SIZE_MAX);
    CHECK(!candidate.remains && candidate.rounds == 0);
    CHECK_OK(rgm_race_candidate_of(race, 2, &candidate, &err));
    CHECK_NEAR(candidate.ratio, 0.5, 1e-12);
    rgm_race_free(race);
    race = start(2, RGM_RACE_POLICY_DEFAULTS);
    CHECK_OK(rgm_race_withdraw(race, 1, &err));
    CHECK_EQ_I64(rgm_race_result_of(race).outcome, RGM_RACE_NO_DIFFERENCE);
    rgm_race_free(race);
}

TEST(what_cannot_be_is_refused) {
    rgm_error err;
    rgm_race *race = NULL;
    rgm_race_policy policy = RGM_RACE_POLICY_DEFAULTS;
    CHECK_EQ_I64(rgm_race_new(&race, 0, &policy, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_race_new(&race, 65, &policy, &err), RGM_INVALID);
    policy.alpha = NAN;
    CHECK_EQ_I64(rgm_race_new(&race, 2, &policy, &err), RGM_INVALID);
    policy = RGM_RACE_POLICY_DEFAULTS;
    policy.most_rounds = 1e9;
    CHECK_EQ_I64(rgm_race_new(&race, 2, &policy, &err), RGM_INVALID);
    race = start(2, RGM_RACE_POLICY_DEFAULTS);
    const double bad[][2] = {{1, 0}, {1, -1}, {NAN, 1}, {1, INFINITY}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_EQ_I64(rgm_race_round(race, bad[i], &err), RGM_INVALID);
    CHECK_EQ_U64(rgm_race_result_of(race).rounds, 0);
    rgm_race_free(race);
}

static rgm_status whole_race(void) {
    rgm_error err;
    rgm_race *race = NULL;
    rgm_race_policy policy = RGM_RACE_POLICY_DEFAULTS;
    rgm_status status = rgm_race_new(&race, 3, &policy, &err);
    const double times[3] = {1, 2, 3};
    while (status == RGM_OK && rgm_race_result_of(race).outcome == RGM_RACE_RUNNING)
        status = rgm_race_round(race, times, &err);
    rgm_race_free(race);
    return status;
}

TEST(no_memory_is_survived) {
    EACH_FAULT("a race") FAULTY(whole_race());
}
