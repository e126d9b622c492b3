// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/classify_estimates.h"

#include <math.h>

static const double ns_of_second = 1e9;
// A half-width, and half the distance of two bounds, are two standard deviations.
static const double widths_of_sigma = 2;

static rgm_estimate unknown(void) { return (rgm_estimate){NAN, 0}; }
static bool is_known(rgm_estimate e) { return !isnan(e.centre); }

static double sigma_of(double spread) { return spread > 0 ? log1p(spread) / widths_of_sigma : 0; }

static rgm_estimate estimate(double value, double spread) {
    return value > 0 && !isinf(value) ? (rgm_estimate){log(value), sigma_of(spread)} : unknown();
}

static rgm_estimate ceiling(const rgm_work *work, const rgm_ceilings *ceilings, rgm_ceiling_id id) {
    if (!ceilings) return unknown();
    double spread = ceilings->at[id].spread;
    return estimate(ceilings->at[id].value, isnan(spread) ? work->unstated_spread : spread);
}

// Somewhere between two estimates.
static rgm_estimate between(rgm_estimate a, rgm_estimate b) {
    double apart = fabs(a.centre - b.centre) / 2 / widths_of_sigma;
    return (rgm_estimate){(a.centre + b.centre) / 2, hypot(apart, fmax(a.sigma, b.sigma))};
}

static double busy_threads(const rgm_work *work) {
    if (work->threads > 0) return work->threads;
    return work->cpu_ns > 0 && work->time_ns > 0 ? work->cpu_ns / work->time_ns : NAN;
}

// A rate of the host at the number of threads that worked. One set of ceilings is of one thread, one of all;
// between them a rate grows at least evenly and at most in proportion to the threads.
static rgm_estimate rate(const rgm_work *work, rgm_ceiling_id id) {
    rgm_estimate all = ceiling(work, work->ceilings, id), one = ceiling(work, work->single, id);
    double threads = busy_threads(work), most = work->machine_threads;
    if (!work->host || !is_known(one)) return all;
    if (threads <= 1) return one;
    if (!is_known(all)) return unknown();
    if (isnan(threads) || isnan(most)) return between(one, all);
    if (threads >= most) return all;
    double from = exp(one.centre), to = exp(all.centre);
    rgm_estimate evenly = {log(from + (to - from) * (threads - 1) / (most - 1)), fmax(one.sigma, all.sigma)};
    rgm_estimate straight = {fmin(one.centre + log(threads), all.centre), evenly.sigma};
    return between(evenly, straight);
}

// Time of an amount of work at a rate a second.
static rgm_estimate time_at(double amount, double spread, rgm_estimate per_second) {
    if (amount == 0) return (rgm_estimate){-INFINITY, 0};
    rgm_estimate work = estimate(amount, spread);
    if (!is_known(work) || !is_known(per_second)) return unknown();
    return (rgm_estimate){work.centre - per_second.centre + log(ns_of_second),
                          hypot(work.sigma, per_second.sigma)};
}

static rgm_estimate longer(rgm_estimate a, rgm_estimate b) { return b.centre > a.centre ? b : a; }

// The sum over the pipes. Deviations of the ceilings are independent, that of the counts is common.
static rgm_estimate compute_time(const rgm_work *work) {
    double sum = 0, variance = 0;
    for (int p = 0; p < RGM_PIPE_COUNT; p++) {
        double amount = work->operations[p];
        if (amount == 0) continue;
        rgm_estimate t = time_at(amount, 0, rate(work, (rgm_ceiling_id)(RGM_CEILING_COMPUTE_FP64 + p)));
        if (!is_known(t)) return t;
        double time = exp(t.centre);
        sum += time;
        variance += time * time * t.sigma * t.sigma;
    }
    if (sum == 0) return (rgm_estimate){-INFINITY, 0};
    return (rgm_estimate){log(sum), hypot(sqrt(variance) / sum, sigma_of(work->operations_spread))};
}

// --- memory -----------------------------------------------------------------------------------------------

static rgm_estimate faster(const rgm_work *work, rgm_ceiling_id a, rgm_ceiling_id b, rgm_ceiling_id *which) {
    rgm_estimate x = rate(work, a), y = rate(work, b);
    bool second = !is_known(x) || y.centre > x.centre;
    *which = second ? b : a;
    return second ? y : x;
}

// Copy and triad are the roof; reads or writes alone, and updates in place, may be faster, which is no error.
// most: the fastest of them all.
static rgm_estimate main_memory(const rgm_work *work, rgm_roofs *roofs, rgm_estimate *most) {
    rgm_ceiling_id other;
    rgm_estimate roof = faster(work, RGM_CEILING_MEMORY_COPY, RGM_CEILING_MEMORY_TRIAD, &roofs->memory_roof);
    rgm_estimate update = rate(work, RGM_CEILING_MEMORY_UPDATE);
    *most = faster(work, RGM_CEILING_MEMORY_READ, RGM_CEILING_MEMORY_FILL, &other);
    if (update.centre > most->centre || !is_known(*most)) {
        *most = update;
        other = RGM_CEILING_MEMORY_UPDATE;
    }
    if (!is_known(roof)) {
        roofs->memory_roof = other;
        return *most;
    }
    if (!(most->centre > roof.centre)) *most = roof;
    return roof;
}

// The bandwidth of where the working set of a host lies. Near the size of a cache it may be that of either
// side. What a cache reaches is measured by reads; it is not slower than the memory behind it at what writes.
static rgm_estimate host_memory(const rgm_work *work, rgm_roofs *roofs, rgm_estimate *most, double margin) {
    rgm_estimate memory = main_memory(work, roofs, most);
    if (!(work->working_set > 0)) return memory;
    rgm_estimate inner = unknown(); // the last cache that the working set may still be in
    rgm_ceiling_id inner_id = RGM_CEILING_COUNT;
    for (int level = 0; level < RGM_CACHE_LEVELS; level++) {
        rgm_ceiling_id id = (rgm_ceiling_id)(RGM_CEILING_CACHE_L1 + level);
        rgm_estimate here = rate(work, id);
        double size = work->cache_bytes[level];
        if (!(size > 0) || !is_known(here) || work->working_set > size * margin) continue;
        if (memory.centre > here.centre) {
            here = memory;
            id = roofs->memory_roof;
        }
        if (work->working_set > size / margin) {
            if (!is_known(inner)) inner_id = id;
            inner = is_known(inner) ? inner : here;
            continue;
        }
        roofs->memory_roof = id;
        return is_known(inner) ? between(inner, here) : here;
    }
    if (!is_known(inner)) return memory;
    if (!is_known(memory)) roofs->memory_roof = inner_id;
    return is_known(memory) ? between(inner, memory) : unknown();
}

static rgm_estimate memory_time(const rgm_work *work, const rgm_policy *policy, rgm_roofs *roofs) {
    rgm_estimate most;
    rgm_estimate bandwidth = work->host ? host_memory(work, roofs, &most, policy->regime_cache_margin)
                                        : main_memory(work, roofs, &most);
    if (most.centre > bandwidth.centre) roofs->memory_headroom = most.centre - bandwidth.centre;
    rgm_estimate time = time_at(work->bytes, work->bytes_spread, bandwidth);
    rgm_estimate l2 = time_at(work->l2_bytes, work->l2_spread, rate(work, RGM_CEILING_CACHE_L2));
    if (!is_known(time)) roofs->memory_roof = RGM_CEILING_COUNT;
    if (is_known(time) && l2.centre > time.centre) {
        roofs->memory_roof = RGM_CEILING_CACHE_L2;
        roofs->memory_headroom = 0;
    }
    return is_known(time) ? longer(time, l2) : time;
}

// What hardware counted as a share of a peak; the share does not depend on how well the time is known.
static rgm_estimate share_of(rgm_estimate time, double share, const rgm_policy *policy) {
    if (share == 0) return (rgm_estimate){-INFINITY, 0};
    rgm_estimate part = estimate(share, policy->regime_counter_spread);
    return is_known(part) ? (rgm_estimate){time.centre + part.centre, part.sigma} : part;
}

// Dependent loads of a working set in a cache are faster than those that the ceiling is of.
static rgm_estimate chain_time(const rgm_work *work, const rgm_policy *policy) {
    for (int level = 0; level < RGM_CACHE_LEVELS; level++)
        if (work->working_set <= work->cache_bytes[level] * policy->regime_cache_margin) return unknown();
    rgm_estimate latency = ceiling(work, work->single, RGM_CEILING_MEMORY_LATENCY);
    if (!is_known(latency)) latency = ceiling(work, work->ceilings, RGM_CEILING_MEMORY_LATENCY);
    if (!(work->accesses > 0) || !is_known(latency)) return unknown();
    return (rgm_estimate){log(work->accesses) + latency.centre, latency.sigma};
}

static rgm_estimate floor_time(const rgm_work *work, const rgm_policy *policy, bool *assumed) {
    rgm_ceiling_id id = work->host ? work->dispatch : RGM_CEILING_SHORTEST_KERNEL;
    rgm_estimate one = estimate(work->floor_ns, work->floor_spread);
    if (!is_known(one) && id < RGM_CEILING_COUNT) one = ceiling(work, work->single, id);
    if (!is_known(one) && id < RGM_CEILING_COUNT) one = ceiling(work, work->ceilings, id);
    *assumed = !work->host && !is_known(one);
    if (*assumed) one = estimate(policy->regime_assumed_floor_ns, policy->regime_assumed_floor_spread);
    if (!(work->calls > 0)) return unknown();
    one.centre += log(work->calls);
    return one;
}

void rgm_roofs_find(rgm_roofs *roofs, const rgm_work *given, const rgm_policy *policy) {
    rgm_work with_spread = *given, *work = &with_spread;
    work->unstated_spread = policy->regime_unstated_spread;
    *roofs = (rgm_roofs){.memory_roof = RGM_CEILING_COUNT, .cpu_ns = work->host ? work->cpu_ns : NAN};
    roofs->time = estimate(work->time_ns, work->time_spread);
    roofs->compute = compute_time(work);
    roofs->memory = memory_time(work, policy, roofs);
    if (!is_known(roofs->compute)) roofs->compute = share_of(roofs->time, work->compute_share, policy);
    if (!is_known(roofs->memory)) roofs->memory = share_of(roofs->time, work->memory_share, policy);
    roofs->chain = chain_time(work, policy);
    roofs->floor = floor_time(work, policy, &roofs->floor_assumed);
    for (int i = 0; i < RGM_LIMIT_COUNT; i++)
        roofs->limits[i] = estimate(work->limit_share[i], work->limit_spread[i]);
    roofs->host = work->host;
    roofs->small_grid = !work->host && work->blocks < work->multiprocessors;
    roofs->tiny_grid = !work->host && work->blocks <= work->multiprocessors * policy->regime_tiny_grid;
}

rgm_roofs rgm_roofs_central(const rgm_roofs *roofs) {
    rgm_roofs central = *roofs;
    rgm_estimate *all[] = {&central.time, &central.compute, &central.memory, &central.chain, &central.floor};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) all[i]->sigma = 0;
    for (int i = 0; i < RGM_LIMIT_COUNT; i++) central.limits[i].sigma = 0;
    return central;
}
