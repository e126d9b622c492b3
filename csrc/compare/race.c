// SPDX-License-Identifier: Apache-2.0
#include "compare/race.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/doubles.h"
#include "base/memory.h"
#include "base/tokens.h"
#include "compare/pseudo_median.h"

typedef struct {
    double *logs; // of the times; as many as rounds
    size_t rounds;
    size_t beaten_by; // SIZE_MAX: nobody
    bool out;
    bool beats_first;
} runner;

struct rgm_race {
    rgm_race_policy policy;
    runner *runners;
    double *logs, *differences;
    size_t candidates, rounds, most;
    size_t looks[RGM_RACE_LOOKS], n_looks, next;
    double level;
    int64_t critical; // of the look that is being made
    rgm_race_outcome outcome;
    size_t pick;
};

static const char *const tokens[] = {RGM_RACE_OUTCOMES(RGM_TOKEN)};
static const char *const texts[] = {RGM_RACE_OUTCOMES(RGM_TEXT)};
const char *rgm_race_outcome_token(rgm_race_outcome outcome) { return tokens[outcome]; }
const char *rgm_race_outcome_text(rgm_race_outcome outcome) { return texts[outcome]; }

// --- the plan ---------------------------------------------------------------------------------------------

// Looks after first, first * growth, ... and after the last round; none shortly before that, as each look
// costs level.
static size_t plan_looks(rgm_race *race, size_t first) {
    size_t count = 0;
    double at = (double)first, apart = 0.5 * (1.0 + race->policy.look_growth);
    while (count + 1 < RGM_RACE_LOOKS && at * apart < (double)race->most) {
        race->looks[count++] = (size_t)at;
        double next = ceil(at * race->policy.look_growth);
        at = next > at ? next : at + 1.0;
    }
    race->looks[count++] = race->most;
    return count;
}

// Below so many rounds not even a clean sweep reaches the level: its probability is two to the minus rounds.
static size_t rounds_for(double level) { return (size_t)ceil(-log2(level)); }

// More looks ask for a lower level, a lower level for a later first look: settled in a few turns, because the
// looks get fewer as the first one moves back.
static void make_plan(rgm_race *race) {
    double pairs = (double)(race->candidates * (race->candidates - 1));
    size_t first = (size_t)race->policy.least_rounds;
    if (first < 1) first = 1;
    race->n_looks = 1;
    race->level = pairs > 0 ? race->policy.alpha / pairs : race->policy.alpha;
    for (;;) {
        size_t needed = rounds_for(race->level);
        if (needed > first) first = needed;
        if (first > race->most) first = race->most;
        race->n_looks = plan_looks(race, first);
        double level = race->policy.alpha / ((pairs > 0 ? pairs : 1.0) * (double)race->n_looks);
        if (rounds_for(level) <= first || first == race->most) {
            race->level = level;
            return;
        }
        race->level = level;
    }
}

static rgm_status check_policy(const rgm_race_policy *policy, rgm_error *err) {
    if (!(policy->alpha > 0.0 && policy->alpha < 0.5))
        return rgm_error_set(err, RGM_INVALID, "alpha lies between 0 and 0.5, not at %g", policy->alpha);
    if (!(policy->least_gain >= 0.0 && policy->least_gain < 1.0))
        return rgm_error_set(err, RGM_INVALID, "least_gain is at least 0 and below 1, not %g",
                             policy->least_gain);
    if (!(policy->most_rounds >= 1 && policy->most_rounds <= (double)RGM_RACE_ROUNDS))
        return rgm_error_set(err, RGM_INVALID, "most_rounds is 1 to %d, not %g", RGM_RACE_ROUNDS,
                             policy->most_rounds);
    if (!(policy->least_rounds >= 1 && policy->least_rounds <= policy->most_rounds))
        return rgm_error_set(err, RGM_INVALID, "least_rounds is 1 to most_rounds (%g), not %g",
                             policy->most_rounds, policy->least_rounds);
    if (!(policy->look_growth > 1.0 && policy->look_growth <= (double)RGM_RACE_ROUNDS))
        return rgm_error_set(err, RGM_INVALID, "look_growth is above 1, not %g", policy->look_growth);
    return RGM_OK;
}

rgm_status rgm_race_new(rgm_race **out, size_t candidates, const rgm_race_policy *policy, rgm_error *err) {
    *out = NULL;
    if (candidates < 1 || candidates > RGM_RACE_CANDIDATES)
        return rgm_error_set(err, RGM_INVALID, "a race has 1 to %d candidates, not %zu", RGM_RACE_CANDIDATES,
                             candidates);
    RGM_TRY(check_policy(policy, err));
    rgm_race *race = rgm_calloc(1, sizeof *race);
    if (!race) return rgm_error_no_memory(err);
    race->policy = *policy;
    race->candidates = candidates;
    race->most = (size_t)policy->most_rounds;
    race->runners = rgm_calloc(candidates, sizeof *race->runners);
    race->logs = rgm_calloc(candidates * race->most, sizeof *race->logs);
    race->differences = rgm_calloc(race->most, sizeof *race->differences);
    if (!race->runners || !race->logs || !race->differences) {
        rgm_race_free(race);
        return rgm_error_no_memory(err);
    }
    for (size_t i = 0; i < candidates; i++)
        race->runners[i] = (runner){.logs = race->logs + i * race->most, .beaten_by = SIZE_MAX};
    make_plan(race);
    if (candidates == 1) race->outcome = RGM_RACE_NO_DIFFERENCE;
    *out = race;
    return RGM_OK;
}

void rgm_race_free(rgm_race *race) {
    if (!race) return;
    rgm_free(race->runners);
    rgm_free(race->logs);
    rgm_free(race->differences);
    rgm_free(race);
}

// --- a look -----------------------------------------------------------------------------------------------

static size_t remaining(const rgm_race *race) {
    size_t count = 0;
    for (size_t i = 0; i < race->candidates; i++) count += !race->runners[i].out;
    return count;
}

static double median_of(rgm_race *race, size_t candidate) {
    const runner *one = &race->runners[candidate];
    memcpy(race->differences, one->logs, one->rounds * sizeof *one->logs);
    rgm_sort_doubles(race->differences, one->rounds);
    return rgm_median_sorted(race->differences, one->rounds);
}

// The sorted logarithms of (time of a / time of b), over the rounds that had both; returns how many.
static size_t ratios_of(const rgm_race *race, size_t a, size_t b, double *sorted) {
    const runner *left = &race->runners[a], *right = &race->runners[b];
    size_t count = left->rounds < right->rounds ? left->rounds : right->rounds;
    for (size_t r = 0; r < count; r++) sorted[r] = left->logs[r] - right->logs[r];
    rgm_sort_doubles(sorted, count);
    return count;
}

// Whether, at the level of this look, a takes longer than b by more than `margin` (of the logarithms).
static bool slower(rgm_race *race, size_t a, size_t b, double margin) {
    size_t count = ratios_of(race, a, b, race->differences);
    return rgm_averages_at_most(race->differences, count, margin) <= race->critical;
}

// Who was shown to beat the first candidate, directly or by beating one that does.
static void note_win(rgm_race *race, size_t winner, size_t loser) {
    if (loser == 0 || race->runners[loser].beats_first) race->runners[winner].beats_first = true;
}

// Compares all that were in before the look. Eliminations of one look do not hide one another.
static void eliminate(rgm_race *race) {
    size_t beaten_by[RGM_RACE_CANDIDATES], left = 0;
    for (size_t i = 0; i < race->candidates; i++) beaten_by[i] = SIZE_MAX;
    for (size_t a = 0; a < race->candidates; a++)
        for (size_t b = a + 1; b < race->candidates; b++) {
            if (race->runners[a].out || race->runners[b].out) continue;
            if (slower(race, a, b, 0.0))
                beaten_by[a] = b;
            else if (slower(race, b, a, 0.0))
                beaten_by[b] = a;
        }
    for (size_t i = 0; i < race->candidates; i++) left += !race->runners[i].out && beaten_by[i] == SIZE_MAX;
    if (left == 0) return; // a circle: each beats another, which shows nothing
    for (size_t i = 0; i < race->candidates; i++)
        if (beaten_by[i] != SIZE_MAX) {
            race->runners[i].out = true;
            race->runners[i].beaten_by = beaten_by[i];
        }
    // A win over one that itself beats the first counts as well, whatever the order of the candidates.
    for (size_t turn = 0; turn < race->candidates; turn++)
        for (size_t i = 0; i < race->candidates; i++)
            if (beaten_by[i] != SIZE_MAX) note_win(race, beaten_by[i], i);
}

// The fastest of those that beat the first one and are still in; 0 when there is none.
static size_t best_of_better(rgm_race *race) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = 1; i < race->candidates; i++) {
        if (race->runners[i].out || !race->runners[i].beats_first) continue;
        double median = median_of(race, i);
        if (median < least) {
            least = median;
            best = i;
        }
    }
    return best;
}

// Whether no remaining candidate can be faster than the pick by as much as matters.
static bool nothing_to_gain(rgm_race *race) {
    bool nothing = true;
    for (size_t i = 0; i < race->candidates && nothing; i++)
        if (i != race->pick && !race->runners[i].out)
            nothing = slower(race, i, race->pick, -log1p(race->policy.least_gain));
    return nothing;
}

// What withdrew was not beaten, so being alone because of it shows nothing.
static bool all_beaten(const rgm_race *race) {
    for (size_t i = 0; i < race->candidates; i++)
        if (race->runners[i].out && race->runners[i].beaten_by == SIZE_MAX) return false;
    return true;
}

static rgm_race_outcome outcome_of(rgm_race *race) {
    bool alone = remaining(race) == 1 && all_beaten(race);
    race->pick = race->runners[0].out ? best_of_better(race) : 0;
    if (race->pick == 0) return alone && !race->runners[0].out ? RGM_RACE_KEPT : RGM_RACE_NO_DIFFERENCE;
    return alone ? RGM_RACE_BEST : RGM_RACE_BETTER;
}

static rgm_status look(rgm_race *race, rgm_error *err) {
    RGM_TRY(rgm_signed_rank_critical(race->rounds, race->level, &race->critical, err));
    eliminate(race);
    rgm_race_outcome outcome = outcome_of(race);
    bool stop = race->rounds == race->most || remaining(race) == 1;
    if (stop || nothing_to_gain(race)) race->outcome = outcome;
    return RGM_OK;
}

// --- rounds -----------------------------------------------------------------------------------------------

bool rgm_race_takes_part(const rgm_race *race, size_t candidate) {
    return race->outcome == RGM_RACE_RUNNING && candidate < race->candidates && !race->runners[candidate].out;
}

rgm_status rgm_race_withdraw(rgm_race *race, size_t candidate, rgm_error *err) {
    if (candidate == 0 || candidate >= race->candidates)
        return rgm_error_set(err, RGM_INVALID, "candidate %zu cannot withdraw", candidate);
    if (race->runners[candidate].out) return RGM_OK;
    race->runners[candidate].out = true;
    if (race->outcome == RGM_RACE_RUNNING && remaining(race) <= 1) race->outcome = outcome_of(race);
    return RGM_OK;
}

rgm_status rgm_race_round(rgm_race *race, const double *times, rgm_error *err) {
    if (race->outcome != RGM_RACE_RUNNING) return rgm_error_set(err, RGM_INVALID, "the race has ended");
    for (size_t i = 0; i < race->candidates; i++)
        if (!race->runners[i].out && !(times[i] > 0.0 && isfinite(times[i])))
            return rgm_error_set(err, RGM_INVALID,
                                 "candidate %zu: a time is positive and finite, not %g; a clock that "
                                 "does not move between two calls needs more work a call",
                                 i, times[i]);
    for (size_t i = 0; i < race->candidates; i++) {
        runner *one = &race->runners[i];
        if (!one->out) one->logs[one->rounds++] = log(times[i]);
    }
    race->rounds++;
    if (race->rounds < race->looks[race->next]) return RGM_OK;
    race->next++;
    return look(race, err);
}

rgm_race_result rgm_race_result_of(const rgm_race *race) {
    return (rgm_race_result){.outcome = race->outcome,
                             .pick = race->pick,
                             .rounds = race->rounds,
                             .level = race->level,
                             .looks = race->n_looks,
                             .first_look = race->looks[0]};
}

rgm_status rgm_race_candidate_of(const rgm_race *race, size_t candidate, rgm_race_candidate *out,
                                 rgm_error *err) {
    if (candidate >= race->candidates)
        return rgm_error_set(err, RGM_INVALID, "there is no candidate %zu", candidate);
    const runner *one = &race->runners[candidate];
    *out = (rgm_race_candidate){.rounds = one->rounds,
                                .median = NAN,
                                .ratio = NAN,
                                .low = NAN,
                                .high = NAN,
                                .beaten_by = one->beaten_by,
                                .remains = !one->out};
    double *scratch;
    rgm_pseudo_median ratio;
    int64_t critical;
    size_t common = one->rounds < race->runners[0].rounds ? one->rounds : race->runners[0].rounds;
    RGM_TRY(rgm_signed_rank_critical(common, race->level, &critical, err));
    RGM_TRY(RGM_ROWS(scratch, one->rounds, err));
    memcpy(scratch, one->logs, one->rounds * sizeof *scratch);
    rgm_sort_doubles(scratch, one->rounds);
    out->median = exp(rgm_median_sorted(scratch, one->rounds));
    rgm_status status = RGM_OK;
    if (candidate > 0 && common > 0) {
        (void)ratios_of(race, candidate, 0, scratch);
        status = rgm_pseudo_median_of(scratch, common, critical, &ratio, err);
        if (status == RGM_OK) {
            out->ratio = exp(ratio.estimate);
            out->low = exp(ratio.low);
            out->high = exp(ratio.high);
        }
    }
    rgm_free(scratch);
    return status;
}
