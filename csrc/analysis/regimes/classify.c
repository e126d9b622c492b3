// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/classify.h"

#include <math.h>

#include "analysis/regimes/classify_estimates.h"

#define EACH_PIPE_UNKNOWN(name, token, doc) [RGM_PIPE_##name] = NAN,
const rgm_work rgm_work_none = {.time_ns = NAN,
                                .operations = {RGM_PIPES(EACH_PIPE_UNKNOWN)},
                                .bytes = NAN,
                                .compute_share = NAN,
                                .memory_share = NAN,
                                .l2_bytes = NAN,
                                .accesses = NAN,
                                .calls = 1,
                                .floor_ns = NAN,
                                .dispatch = RGM_CEILING_COUNT,
                                .blocks = NAN,
                                .multiprocessors = NAN,
                                .threads = NAN,
                                .machine_threads = NAN,
                                .cpu_ns = NAN,
                                .working_set = NAN,
                                .cache_bytes = {NAN, NAN, NAN}};

// What a draw of all estimates comes out as: the rules, in their order. X(outcome, label, detail, reason)
#define OUTCOMES(X)                                                                                          \
    X(WAITING, OVERHEAD_BOUND, WAIT, CPU_IDLE)                                                               \
    X(FLOOR, OVERHEAD_BOUND, LATENCY, FLOOR)                                                                 \
    X(FLOOR_OR_ROOF, AMBIGUOUS, LATENCY, FLOOR_OR_ROOF)                                                      \
    X(ERROR, UNKNOWN, MODEL_ERROR, FASTER)                                                                   \
    X(COMPUTE_NEAR, COMPUTE_BOUND, NONE, ROOF)                                                               \
    X(MEMORY_NEAR, MEMORY_BOUND, NONE, ROOF)                                                                 \
    X(CHAIN, MEMORY_BOUND, LATENCY, CHAIN)                                                                   \
    X(BALANCED, AMBIGUOUS, BALANCED, BALANCED)                                                               \
    X(COMPUTE_UNDER, COMPUTE_BOUND, UNDERUSED, UNDERUSED)                                                    \
    X(MEMORY_UNDER, MEMORY_BOUND, UNDERUSED, UNDERUSED)                                                      \
    X(SMALL, OVERHEAD_BOUND, LATENCY, SMALL_GRID)                                                            \
    X(CALLS, OVERHEAD_BOUND, LATENCY, FLOOR)                                                                 \
    X(FAR, AMBIGUOUS, UNDERUSED, FAR)                                                                        \
    X(NO_BYTES, UNKNOWN, NONE, NO_BYTES)                                                                     \
    X(NO_OPERATIONS, UNKNOWN, NONE, NO_OPERATIONS)                                                           \
    X(NO_WORK, UNKNOWN, NONE, NO_WORK)

#define OUTCOME_ENUM(outcome, label, detail, reason) OUT_##outcome,
typedef enum { OUTCOMES(OUTCOME_ENUM) OUT_LIMIT, OUT_COUNT = OUT_LIMIT + RGM_LIMIT_COUNT } outcome;

static const struct {
    rgm_regime label;
    rgm_regime_detail detail;
    rgm_regime_reason reason;
} outcomes[OUT_COUNT] = {
#define OUTCOME_ROW(outcome, label, detail, reason)                                                          \
    {RGM_REGIME_##label, RGM_DETAIL_##detail, RGM_REASON_##reason},
#define LIMIT_ROW(name, token, label, detail, reason)                                                        \
    [(int)OUT_LIMIT + (int)RGM_LIMIT_##name] = {RGM_REGIME_##label, RGM_DETAIL_##detail, RGM_REASON_##reason},
    OUTCOMES(OUTCOME_ROW) RGM_LIMITS(LIMIT_ROW)};

// Logarithms of the cut points.
typedef struct {
    double floor, near, far, error, margin, wait, part;
} cuts;

typedef struct {
    const rgm_roofs *roofs;
    cuts cut;
    double mass[OUT_COUNT]; // probability of each outcome
} draws;

static cuts cuts_of(const rgm_policy *policy) {
    return (cuts){.floor = log(policy->regime_floor_factor),
                  .near = log(policy->regime_near_share),
                  .far = log(policy->regime_far_share),
                  .error = log(policy->regime_error_share),
                  .margin = log1p(policy->regime_balanced_margin),
                  .wait = log(policy->regime_wait_share),
                  .part = log(policy->regime_part_share)};
}

// --- probabilities ----------------------------------------------------------------------------------------

static bool is_known(rgm_estimate e) { return !isnan(e.centre); }

static double below(rgm_estimate e, double limit) {
    if (e.sigma <= 0 || isinf(e.centre)) return e.centre < limit ? 1 : 0;
    return erfc((e.centre - limit) / (e.sigma * M_SQRT2)) / 2;
}

static double within(rgm_estimate e, double from, double to) {
    return to > from ? below(e, to) - below(e, from) : 0;
}

// Centres of slices of equal probability of a normal distribution, of which one is enough without spread.
enum { SLICES = 17 };
static const double slices[SLICES] = {-1.8895, -1.3517, -1.0491, -0.8211, -0.6289, -0.4564,
                                      -0.2957, -0.1457, 0,       0.1457,  0.2957,  0.4564,
                                      0.6289,  0.8211,  1.0491,  1.3517,  1.8895};
static int slices_of(rgm_estimate e) { return e.sigma > 0 && !isinf(e.centre) ? SLICES : 1; }
static double slice(rgm_estimate e, int i) {
    return slices_of(e) == 1 ? e.centre : e.centre + e.sigma * slices[i];
}

// --- the rules, at one time -------------------------------------------------------------------------------

// Probability that a host's calls alone are a part of the time of which a roof would get the label.
static double calls_explain(const draws *d, double time) {
    const rgm_roofs *roofs = d->roofs;
    return roofs->host && is_known(roofs->floor) ? 1 - below(roofs->floor, time + d->cut.far) : 0;
}

// Both roofs are below the near share, the compute time is c and the memory time at most `most`.
static void add_low(draws *d, double time, double c, double most, double weight) {
    rgm_estimate m = d->roofs->memory;
    double far = time + d->cut.far, margin = d->cut.margin;
    double memory = within(m, fmax(far, c + margin), most);
    double compute = c >= far ? below(m, c - margin) : 0;
    double lowest = c < far ? within(m, -INFINITY, fmin(far, most)) : 0;
    // A memory time of no bytes lies below every limit.
    if (c < far && isinf(m.centre)) lowest = 1;
    double calls = lowest * calls_explain(d, time);
    double all = below(m, most);
    d->mass[OUT_CALLS] += weight * calls;
    d->mass[OUT_MEMORY_UNDER] += weight * memory;
    d->mass[OUT_COMPUTE_UNDER] += weight * compute;
    d->mass[d->roofs->small_grid ? OUT_SMALL : OUT_FAR] += weight * (lowest - calls);
    d->mass[OUT_BALANCED] += weight * fmax(0, all - memory - compute - lowest);
}

static int largest_limit(const rgm_roofs *roofs, const bool *without) {
    int largest = -1;
    for (int i = 0; i < RGM_LIMIT_COUNT; i++)
        if (is_known(roofs->limits[i]) && !(without && without[i]) &&
            (largest < 0 || roofs->limits[i].centre > roofs->limits[largest].centre))
            largest = i;
    return largest;
}

// Probability that the roof of the other label explains about as much of the time as a limit does, or more.
static double roof_beside_limit(const draws *d, double time, int limit) {
    rgm_regime label = outcomes[OUT_LIMIT + limit].label;
    rgm_estimate roof = label == RGM_REGIME_COMPUTE_BOUND  ? d->roofs->memory
                        : label == RGM_REGIME_MEMORY_BOUND ? d->roofs->compute
                                                           : (rgm_estimate){.centre = NAN};
    if (!is_known(roof) || isinf(roof.centre)) return 0;
    return 1 - below(roof, time + d->roofs->limits[limit].centre - d->cut.margin);
}

// What the parts with one label explain together: at least the largest, at most their sum, as a short call of
// the system is a short stay of Python too. Time without a processor is none of them, and overhead.
static rgm_estimate together(const draws *d, double time, rgm_regime label, const bool *done, double *idle) {
    const rgm_roofs *roofs = d->roofs;
    double largest = 0, sum = 0, sigma = 0;
    for (int i = 0; i < RGM_LIMIT_COUNT; i++) {
        if (done[i] || outcomes[OUT_LIMIT + i].label != label || !is_known(roofs->limits[i])) continue;
        double part = exp(roofs->limits[i].centre);
        largest = fmax(largest, part);
        sum += part;
        sigma = fmax(sigma, roofs->limits[i].sigma);
    }
    bool waits = label == RGM_REGIME_OVERHEAD_BOUND && roofs->cpu_ns >= 0;
    *idle = waits ? fmax(0, 1 - roofs->cpu_ns / exp(time)) : 0;
    double low = log(fmin(1, largest + *idle)), high = log(fmin(1, sum + *idle));
    return (rgm_estimate){(low + high) / 2, hypot((high - low) / 4, sigma)};
}

// Parts of the time that are known beside the roofs, the largest first. Returns what none of them explains.
static double add_limits(draws *d, double time, double weight) {
    bool done[RGM_LIMIT_COUNT] = {false};
    for (int i; (i = largest_limit(d->roofs, done)) >= 0;) {
        rgm_regime label = outcomes[OUT_LIMIT + i].label;
        double idle = 0, explains = 1 - below(together(d, time, label, done, &idle), d->cut.part);
        double beside = roof_beside_limit(d, time, i);
        bool waits = idle > exp(d->roofs->limits[i].centre);
        d->mass[waits ? OUT_WAITING : OUT_LIMIT + i] += weight * explains * (1 - beside);
        d->mass[OUT_BALANCED] += weight * explains * beside;
        weight *= 1 - explains;
        for (int other = 0; other < RGM_LIMIT_COUNT; other++)
            done[other] = done[other] || outcomes[OUT_LIMIT + other].label == label;
    }
    return weight;
}

// Divides what neither roof explains: a part of the time, dependent loads, else the rest. Returns what is
// left.
static double add_chain(draws *d, double time, double near, double weight) {
    rgm_estimate chain = d->roofs->chain;
    weight = add_limits(d, time, weight);
    if (!is_known(chain)) return weight;
    double wrong = 1 - below(chain, time + d->cut.error);
    double explains = within(chain, time + near, time + d->cut.error);
    d->mass[OUT_ERROR] += weight * wrong;
    d->mass[OUT_CHAIN] += weight * explains;
    return weight * (1 - wrong - explains);
}

static void add_both_roofs(draws *d, double time, double c, double weight) {
    const rgm_roofs *roofs = d->roofs;
    rgm_estimate m = roofs->memory;
    double near = time + d->cut.near, error = time + d->cut.error, margin = d->cut.margin;
    double most = error + roofs->memory_headroom;
    if (c > error) {
        d->mass[OUT_ERROR] += weight;
        return;
    }
    double possible = below(m, most), memory = within(m, fmax(near, c + margin), most);
    d->mass[OUT_ERROR] += weight * (1 - possible);
    d->mass[OUT_MEMORY_NEAR] += weight * memory;
    if (c >= near) {
        double compute = below(m, c - margin);
        d->mass[OUT_COMPUTE_NEAR] += weight * compute;
        d->mass[OUT_BALANCED] += weight * fmax(0, possible - memory - compute);
        return;
    }
    double low = below(m, near);
    d->mass[OUT_BALANCED] += weight * fmax(0, possible - memory - low);
    double rest = low > 0 ? add_chain(d, time, d->cut.near, weight * low) : 0;
    if (rest > 0) add_low(d, time, c, near, rest / low);
}

// With one roof unknown, the other must be so near that the unknown one cannot be nearer by the margin.
static void add_one_roof(draws *d, double time, double weight) {
    const rgm_roofs *roofs = d->roofs;
    bool compute = is_known(roofs->compute), memory = is_known(roofs->memory);
    double enough = time - d->cut.margin, error = time + d->cut.error;
    rgm_estimate known = compute ? roofs->compute : roofs->memory;
    double left = weight;
    if (compute || memory) {
        double most = error + (memory ? roofs->memory_headroom : 0);
        double wrong = 1 - below(known, most), near = within(known, enough, most);
        d->mass[OUT_ERROR] += weight * wrong;
        d->mass[compute ? OUT_COMPUTE_NEAR : OUT_MEMORY_NEAR] += weight * near;
        left = weight * (1 - wrong - near);
    }
    left = add_chain(d, time, -d->cut.margin, left);
    if (roofs->tiny_grid)
        d->mass[OUT_SMALL] += left;
    else
        d->mass[compute ? OUT_NO_BYTES : memory ? OUT_NO_OPERATIONS : OUT_NO_WORK] += left;
}

// Probability that a roof explains about as much of the time as the floor does, or more.
static double roof_beside_floor(const draws *d) {
    const rgm_roofs *roofs = d->roofs;
    rgm_estimate roof = is_known(roofs->compute) ? roofs->compute : roofs->memory;
    if (is_known(roofs->memory) && roofs->memory.centre > roof.centre) roof = roofs->memory;
    if (!is_known(roof)) return 0;
    roof.sigma = isinf(roof.centre) ? 0 : hypot(roof.sigma, roofs->floor.sigma);
    return 1 - below(roof, roofs->floor.centre - d->cut.margin);
}

static void add_time(draws *d, double time, double weight) {
    const rgm_roofs *roofs = d->roofs;
    if (roofs->cpu_ns >= 0 && log(roofs->cpu_ns) < time + d->cut.wait) {
        d->mass[OUT_WAITING] += weight;
        return;
    }
    if (is_known(roofs->floor)) {
        double floor = 1 - below(roofs->floor, time - d->cut.floor);
        double beside = roof_beside_floor(d);
        d->mass[OUT_FLOOR] += weight * floor * (1 - beside);
        d->mass[OUT_FLOOR_OR_ROOF] += weight * floor * beside;
        weight *= 1 - floor;
    }
    if (weight <= 0) return;
    if (!is_known(roofs->compute) || !is_known(roofs->memory)) {
        add_one_roof(d, time, weight);
        return;
    }
    int n = slices_of(roofs->compute);
    for (int i = 0; i < n; i++) add_both_roofs(d, time, slice(roofs->compute, i), weight / n);
}

static draws draw(const rgm_roofs *roofs, const rgm_policy *policy) {
    draws d = {.roofs = roofs, .cut = cuts_of(policy)};
    int n = slices_of(roofs->time);
    for (int i = 0; i < n; i++) add_time(&d, slice(roofs->time, i), 1.0 / n);
    return d;
}

// Among those but errors, where there is another.
static outcome likeliest(const draws *d, bool but_errors) {
    int best = OUT_NO_WORK;
    for (int i = 0; i < OUT_COUNT; i++)
        if (d->mass[i] > d->mass[best] && !(but_errors && i == OUT_ERROR)) best = i;
    return (outcome)best;
}

static double probability(const draws *d, rgm_regime label) {
    double sum = 0;
    for (int i = 0; i < OUT_COUNT; i++) sum += outcomes[i].label == label ? d->mass[i] : 0;
    return sum;
}

// --- the verdict ------------------------------------------------------------------------------------------

static double share(rgm_estimate part, const rgm_roofs *roofs) {
    return is_known(part) ? exp(part.centre - roofs->time.centre) : NAN;
}

static double operations_of(const rgm_work *work) {
    double sum = 0;
    for (int p = 0; p < RGM_PIPE_COUNT; p++) sum += work->operations[p];
    return sum;
}

static void put_figures(rgm_regime_verdict *v, const rgm_work *work, const rgm_roofs *roofs) {
    const rgm_estimate parts[] = {roofs->floor, roofs->compute, roofs->memory, roofs->chain};
    double operations = operations_of(work);
    v->memory_roof = roofs->memory_roof;
    v->floor_assumed = roofs->floor_assumed;
    v->sol_compute = share(roofs->compute, roofs);
    v->sol_memory = share(roofs->memory, roofs);
    v->latency_share = share(roofs->chain, roofs);
    v->floor_share = share(roofs->floor, roofs);
    int limit = largest_limit(roofs, NULL);
    v->limit_share = limit < 0 ? NAN : exp(roofs->limits[limit].centre);
    v->wait_share = roofs->cpu_ns >= 0 ? fmax(0, 1 - roofs->cpu_ns / work->time_ns) : NAN;
    v->intensity = operations / work->bytes;
    v->ridge = operations > 0 && work->bytes > 0
                   ? v->intensity * exp(roofs->memory.centre - roofs->compute.centre)
                   : NAN;
    v->model_ns = v->model_low_ns = v->model_high_ns = NAN;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!is_known(parts[i]) || isinf(parts[i].centre)) continue;
        v->model_ns = fmax(v->model_ns, exp(parts[i].centre)); // NAN gives way to a number
        v->model_low_ns = fmax(v->model_low_ns, exp(parts[i].centre - 2 * parts[i].sigma));
        v->model_high_ns = fmax(v->model_high_ns, exp(parts[i].centre + 2 * parts[i].sigma));
    }
}

static rgm_regime nearer(const rgm_roofs *roofs) {
    if (!is_known(roofs->compute) || !is_known(roofs->memory)) return RGM_REGIME_UNKNOWN;
    if (isinf(roofs->compute.centre) && isinf(roofs->memory.centre)) return RGM_REGIME_UNKNOWN;
    return roofs->compute.centre > roofs->memory.centre ? RGM_REGIME_COMPUTE_BOUND : RGM_REGIME_MEMORY_BOUND;
}

static void set_aside(rgm_regime_verdict *v, rgm_regime leans_to, rgm_regime_reason reason) {
    v->regime = RGM_REGIME_AMBIGUOUS;
    v->leans_to = leans_to;
    v->reason = reason;
}

// What is missing, and what points somewhere nevertheless.
static void explain_unknown(rgm_regime_verdict *v, const rgm_work *work, const rgm_roofs *roofs) {
    bool operations = !isnan(operations_of(work)), bytes = !isnan(work->bytes);
    if (v->reason == RGM_REASON_NO_WORK && (operations || bytes)) v->reason = RGM_REASON_NO_CEILINGS;
    if (v->reason == RGM_REASON_NO_OPERATIONS && operations) v->reason = RGM_REASON_NO_PEAK;
    if (v->reason == RGM_REASON_NO_BYTES && bytes) v->reason = RGM_REASON_NO_BANDWIDTH;
    if (v->reason == RGM_REASON_NO_WORK && roofs->small_grid) v->leans_to = RGM_REGIME_OVERHEAD_BOUND;
}

static double probability_of(const rgm_regime_verdict *v, rgm_regime regime) {
    switch (regime) {
    case RGM_REGIME_OVERHEAD_BOUND: return v->overhead_probability;
    case RGM_REGIME_MEMORY_BOUND: return v->memory_probability;
    case RGM_REGIME_COMPUTE_BOUND: return v->compute_probability;
    default: return NAN;
    }
}

// What is far from its roof is explained by it for a part only.
static double confidence_of(const rgm_regime_verdict *v, const rgm_policy *policy) {
    if (v->detail == RGM_DETAIL_MODEL_ERROR) return v->error_probability;
    double p = probability_of(v, v->regime == RGM_REGIME_AMBIGUOUS ? v->leans_to : v->regime);
    if (v->detail != RGM_DETAIL_UNDERUSED || v->regime == RGM_REGIME_AMBIGUOUS) return p;
    return p * fmin(1, fmax(v->sol_compute, v->sol_memory) / policy->regime_near_share);
}

// Nothing is faster than a roof. Where that seems to be so beyond what the uncertainty explains, the work or
// the roof is wrong; else what would be faster is ruled out.
static void rule_out_errors(rgm_regime_verdict *v) {
    double possible = 1 - v->error_probability;
    v->overhead_probability /= possible;
    v->memory_probability /= possible;
    v->compute_probability /= possible;
}

static void judge(rgm_regime_verdict *v, const rgm_work *work, const rgm_roofs *roofs,
                  const rgm_policy *policy) {
    rgm_roofs central = rgm_roofs_central(roofs);
    draws all = draw(roofs, policy), at_centre = draw(&central, policy);
    outcome found = likeliest(&at_centre, false);
    bool faster = found == OUT_ERROR,
         wrong = faster && all.mass[OUT_ERROR] >= policy->regime_least_confidence;
    if (faster && !wrong) found = likeliest(&all, true);
    rgm_regime label = outcomes[found].label;
    v->regime = label;
    v->leans_to = label < RGM_REGIME_AMBIGUOUS ? label : nearer(roofs);
    v->detail = outcomes[found].detail;
    v->reason = outcomes[found].reason;
    v->overhead_probability = probability(&all, RGM_REGIME_OVERHEAD_BOUND);
    v->memory_probability = probability(&all, RGM_REGIME_MEMORY_BOUND);
    v->compute_probability = probability(&all, RGM_REGIME_COMPUTE_BOUND);
    v->error_probability = all.mass[OUT_ERROR];
    if (!wrong && v->error_probability < 1) rule_out_errors(v);
    double p = wrong ? v->error_probability : probability_of(v, label);
    if (p < policy->regime_least_confidence) set_aside(v, v->leans_to, RGM_REASON_UNCERTAIN);
    if (v->regime == RGM_REGIME_UNKNOWN) explain_unknown(v, work, roofs);
    v->confidence = confidence_of(v, policy) * (faster && !wrong ? 1 - v->error_probability : 1);
}

rgm_regime_verdict rgm_classify(const rgm_work *work, const rgm_policy *policy) {
    rgm_regime_verdict v = {.regime = RGM_REGIME_UNKNOWN,
                            .leans_to = RGM_REGIME_UNKNOWN,
                            .reason = RGM_REASON_NO_TIME,
                            .confidence = NAN};
    rgm_roofs roofs;
    rgm_roofs_find(&roofs, work, policy);
    put_figures(&v, work, &roofs);
    if (is_known(roofs.time)) judge(&v, work, &roofs, policy);
    return v;
}
