// SPDX-License-Identifier: Apache-2.0
// A race: which of several candidates is fastest, measured in rounds, stopped as soon as that is known.
//
// Every round measures each remaining candidate once, so what the machine does to a round it does to all of
// them. At a few looks, fixed before the first round, each pair is compared by the logarithms of the ratios
// of its rounds (compare/pseudo_median.h), and a candidate that another one is shown to beat is out. The
// first candidate is the one in use; it is replaced only by one that was shown to beat it.
//
// Error rate: the level of a single comparison is alpha over the ordered pairs and the looks, so that the
// probability of any wrong elimination in the whole race is at most `alpha` (Bonferroni over pairs and
// looks). Hence with at least 1 - alpha: the pick is no candidate slower than the first one, none is picked
// where all are equal, and the fastest is not eliminated. This holds for rounds that are independent of one
// another and ratios that are symmetric on the logarithmic scale (equal noise is enough), whatever the
// distribution of the noise.
//
// Threads: one race belongs to one thread at a time.
#ifndef RGM_COMPARE_RACE_H
#define RGM_COMPARE_RACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// X(name, default, unit, source)
#define RGM_RACE_POLICY(X)                                                                                   \
    X(alpha, 0.05, "", "probability, at most, that a race eliminates what it should not")                    \
    X(least_gain, 0.01, "", "no candidate can gain more than this: the race ends early; 1 % is not felt")    \
    X(least_rounds, 3, "rounds", "min_samples_for_tuning of the specification; the test itself asks more")   \
    X(most_rounds, 64, "rounds", "end of a race that is not decided; finds 2 % under 3 % of noise")          \
    X(look_growth, 1.5, "", "each look comes after so many times the rounds of the one before")

typedef struct {
#define RGM_RACE_POLICY_FIELD(name, initial, unit, source) double name;
    RGM_RACE_POLICY(RGM_RACE_POLICY_FIELD)
#undef RGM_RACE_POLICY_FIELD
} rgm_race_policy;

#define RGM_RACE_POLICY_DEFAULT(name, initial, unit, source) .name = (initial),
#define RGM_RACE_POLICY_DEFAULTS                                                                             \
    (rgm_race_policy) { RGM_RACE_POLICY(RGM_RACE_POLICY_DEFAULT) }

enum { RGM_RACE_CANDIDATES = 64, RGM_RACE_ROUNDS = 512, RGM_RACE_LOOKS = 16 };

// X(NAME, token, text)
#define RGM_RACE_OUTCOMES(X)                                                                                 \
    X(RUNNING, "running", "not decided")                                                                     \
    X(BEST, "best", "one candidate is faster than all others")                                               \
    X(BETTER, "better", "faster than the first; not told from other remaining ones")                         \
    X(KEPT, "kept", "the first candidate is faster than all others")                                         \
    X(NO_DIFFERENCE, "no_difference", "no candidate was told from the first, which stays")

#define RGM_RACE_OUTCOME_ENUM(name, token, text) RGM_RACE_##name,
typedef enum { RGM_RACE_OUTCOMES(RGM_RACE_OUTCOME_ENUM) RGM_RACE_OUTCOME_COUNT } rgm_race_outcome;

typedef struct rgm_race rgm_race;

// What is known of a candidate. Ratios are its time over that of the first one, in the rounds that had both.
typedef struct {
    size_t rounds;
    double median;           // in the unit of the times, NaN for no round
    double ratio, low, high; // pseudo-median and its interval at `level` an end; NaN for the first
    size_t beaten_by;        // a candidate, or SIZE_MAX
    bool remains;
} rgm_race_candidate;

typedef struct {
    rgm_race_outcome outcome;
    size_t pick;
    size_t rounds;
    double level;      // of one comparison, one-sided
    size_t looks;      // planned
    size_t first_look; // rounds before it
} rgm_race_result;

// RGM_INVALID, with the reason, for fewer than one or too many candidates, or a policy that cannot be.
rgm_status rgm_race_new(rgm_race **race, size_t candidates, const rgm_race_policy *policy,
                        rgm_error *err) RGM_NODISCARD;
void rgm_race_free(rgm_race *race); // NULL is fine
bool rgm_race_takes_part(const rgm_race *race, size_t candidate);
// Takes a candidate other than the first out, because it failed; it is not called beaten.
rgm_status rgm_race_withdraw(rgm_race *race, size_t candidate, rgm_error *err) RGM_NODISCARD;
// The times of a round, one a candidate; those of candidates that are out are not looked at. Times are
// positive and finite. Decides at a look. RGM_INVALID after the end.
rgm_status rgm_race_round(rgm_race *race, const double *times, rgm_error *err) RGM_NODISCARD;
rgm_race_result rgm_race_result_of(const rgm_race *race);
rgm_status rgm_race_candidate_of(const rgm_race *race, size_t candidate, rgm_race_candidate *out,
                                 rgm_error *err) RGM_NODISCARD;
const char *rgm_race_outcome_token(rgm_race_outcome outcome);
const char *rgm_race_outcome_text(rgm_race_outcome outcome);

#endif
