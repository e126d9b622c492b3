// SPDX-License-Identifier: Apache-2.0
// Bandwidth of the caches: each thread reads a working set of its own, over and over.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "calibrate/crew.h"
#include "calibrate/host.h"
#include "calibrate/loops.h"

typedef struct {
    rgm_crew *crew;
    const rgm_loops *loops;
    void *block;
    char *sets;   // one a member, `stride` apart
    size_t bytes; // of the set that is read now
    size_t stride;
    uint64_t passes;
    double stolen;
    uint64_t sum[RGM_CREW_MOST]; // of a pass over the member's set
    bool wrong[RGM_CREW_MOST];
} cache_job;

static void fill_sets(void *arg, unsigned number) {
    cache_job *job = arg;
    uint64_t *words = (uint64_t *)(void *)(job->sets + number * job->stride), sum = 0;
    for (size_t i = 0; i < job->bytes / sizeof *words; i++) {
        words[i] = i * UINT64_C(0x9E3779B97F4A7C15) + number;
        sum += words[i];
    }
    job->sum[number] = sum;
}

static void read_sets(void *arg, unsigned number) {
    cache_job *job = arg;
    const char *set = job->sets + number * job->stride;
    uint64_t sum = 0;
    for (uint64_t pass = 0; pass < job->passes; pass++) sum += job->loops->read(set, job->bytes);
    job->wrong[number] = sum != job->passes * job->sum[number];
}

static rgm_status sample(void *arg, int what, double *value, rgm_error *err) {
    cache_job *job = arg;
    unsigned count = rgm_crew_members(job->crew);
    rgm_crew_time took = rgm_crew_run(job->crew, read_sets, job);
    job->stolen = took.stolen;
    *value = (double)job->bytes * (double)job->passes * count / (double)took.own_ns * 1e9;
    for (unsigned i = 0; i < count; i++)
        if (job->wrong[i])
            return rgm_error_set(err, RGM_INVALID, "calibration: the read loop (%s) gives another sum at %d",
                                 job->loops->name, what);
    return RGM_OK;
}

// As many passes as a sample is to last.
static void set_passes(cache_job *job, double seconds) {
    const double most = 1e12;
    int64_t ns = 0;
    for (job->passes = 1; ns < (int64_t)(seconds * 2.5e8); job->passes *= 2)
        ns = rgm_crew_run(job->crew, read_sets, job).own_ns;
    double passes = (double)job->passes / 2 * seconds * 1e9 / (double)ns;
    job->passes = passes < 1 ? 1 : passes > most ? (uint64_t)most : (uint64_t)passes;
}

// Bytes of a thread's working set in a level; 0, with the reason, where it would say nothing of the level.
static size_t set_bytes(const rgm_host_request *request, int level, rgm_figures *figures, rgm_ceiling_id id) {
    const rgm_calibrate_policy *policy = request->effort.policy;
    const int64_t *sizes = request->caches.bytes;
    if (!sizes[level]) {
        rgm_figure_refuse(figures, id, "the system does not tell of a cache of level %d", level + 1);
        return 0;
    }
    bool shared = request->caches.sharers[level] > 1;
    double bytes = (double)sizes[level] * (shared ? policy->shared_cache_share : policy->cache_share);
    int sharers = request->caches.sharers[level];
    if (shared) bytes /= (double)request->threads < sharers ? (double)request->threads : sharers;
    if (level > 0 && bytes < policy->cache_ratio * (double)sizes[level - 1]) {
        rgm_figure_refuse(figures, id,
                          "a thread's part of the cache of level %d is not much more than level %d",
                          level + 1, level);
        return 0;
    }
    return (size_t)bytes / RGM_LOOP_UNIT * RGM_LOOP_UNIT;
}

static rgm_status measure_level(cache_job *job, const rgm_host_request *request, int level,
                                rgm_figures *figures, rgm_error *err) {
    static const rgm_ceiling_id ids[RGM_CACHE_LEVELS] = {RGM_CEILING_CACHE_L1, RGM_CEILING_CACHE_L2,
                                                         RGM_CEILING_CACHE_L3};
    char source[sizeof(rgm_figure){0}.source];
    job->bytes = set_bytes(request, level, figures, ids[level]);
    if (!job->bytes) return RGM_OK;
    // An odd number of lines more, so that the sets of members do not meet in the same lines of the cache.
    job->stride = job->bytes + RGM_LOOP_UNIT + RGM_LOOP_ALIGN;
    size_t room = job->stride * rgm_crew_members(job->crew) + RGM_LOOP_ALIGN;
    void *block = rgm_block_realloc(job->block, room);
    if (!block) return rgm_error_no_memory(err);
    job->block = block;
    size_t off = (uintptr_t)block % RGM_LOOP_ALIGN;
    job->sets = (char *)block + (off ? RGM_LOOP_ALIGN - off : 0);
    (void)rgm_crew_run(job->crew, fill_sets, job);
    set_passes(job, RGM_EFFORT(&request->effort, sample_seconds));
    (void)snprintf(source, sizeof source, "own loop (%s), %zu KiB a thread", job->loops->name,
                   job->bytes >> 10);
    rgm_probe probe = {.id = ids[level],
                       .sample = sample,
                       .arg = job,
                       .what = level + 1,
                       .source = source,
                       .stolen = &job->stolen,
                       .shared = level + 1 == RGM_CACHE_LEVELS};
    return rgm_probes_measure(&probe, 1, &request->effort, figures, err);
}

rgm_status rgm_host_cache_levels(const rgm_host_request *request, rgm_figures *figures, rgm_error *err) {
    const rgm_loops *sets[RGM_LOOPS_MOST];
    cache_job *job = rgm_calloc(1, sizeof *job);
    if (!job) return rgm_error_no_memory(err);
    job->loops = sets[rgm_loops_here(sets) - 1];
    rgm_status status = rgm_crew_start(&job->crew, request->threads, err);
    for (int level = 0; status == RGM_OK && level < RGM_CACHE_LEVELS; level++)
        status = measure_level(job, request, level, figures, err);
    rgm_crew_end(job->crew);
    rgm_block_free(job->block);
    rgm_free(job);
    return status;
}
