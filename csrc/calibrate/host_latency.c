// SPDX-License-Identifier: Apache-2.0
// Latency of memory: loads of which each needs the result of the one before, through a cycle that visits
// every line of a buffer in an order of chance. In large pages where the system gives them; with small ones
// it includes looking up the page.
#include <stdio.h>

#include "base/hash.h"
#include "base/memory.h"
#include "calibrate/crew.h"
#include "calibrate/host.h"
#include "calibrate/loops.h"

enum { LINE_WORDS = RGM_LOOP_ALIGN / 4, BETWEEN_LOOKS = 1 << 18 };

typedef struct {
    rgm_crew *crew;
    uint32_t *places;
    size_t lines;
    uint64_t steps;
    double stolen;
    volatile uint32_t last[RGM_CREW_MOST];
} chase_job;

// Sattolo 1986: exchanges with an earlier place only, which leaves one cycle.
rgm_status rgm_chase_write(uint32_t *places, size_t count, size_t stride_words, uint64_t seed,
                           const rgm_effort *effort, rgm_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (effort && i % BETWEEN_LOOKS == 0) RGM_TRY(rgm_effort_goes_on(effort, err));
        places[i * stride_words] = (uint32_t)i;
    }
    for (size_t i = count; i-- > 1;) {
        if (effort && i % BETWEEN_LOOKS == 0) RGM_TRY(rgm_effort_goes_on(effort, err));
        seed += UINT64_C(0x9E3779B97F4A7C15);
        size_t other = (size_t)(((unsigned __int128)rgm_hash_u64(seed) * i) >> 64);
        uint32_t kept = places[i * stride_words];
        places[i * stride_words] = places[other * stride_words];
        places[other * stride_words] = kept;
    }
    return RGM_OK;
}

static void chase(void *arg, unsigned number) {
    chase_job *job = arg;
    // Each sample goes on where the last ended, so that no line is visited again before all others were.
    uint32_t at = job->last[number];
    for (uint64_t step = 0; step < job->steps; step++) at = job->places[(size_t)at * LINE_WORDS];
    job->last[number] = at;
}

static rgm_status sample(void *arg, int what, double *value, rgm_error *err) {
    chase_job *job = arg;
    (void)what;
    (void)err;
    rgm_crew_time took = rgm_crew_run(job->crew, chase, job);
    job->stolen = took.stolen;
    *value = (double)took.own_ns / (double)job->steps;
    return RGM_OK;
}

static rgm_status run(chase_job *job, const rgm_host_request *request, rgm_figures *figures, rgm_error *err) {
    char source[sizeof(rgm_figure){0}.source];
    unsigned count = rgm_crew_members(job->crew);
    RGM_TRY(rgm_chase_write(job->places, job->lines, LINE_WORDS, 1, &request->effort, err));
    for (unsigned i = 0; i < count; i++) job->last[i] = (uint32_t)(job->lines / count * i);
    job->steps = (uint64_t)RGM_EFFORT(&request->effort, chase_steps);
    if (job->steps < 1) job->steps = 1;
    (void)snprintf(source, sizeof source, "pointer chase through %zu MiB",
                   (job->lines * RGM_LOOP_ALIGN) >> 20);
    rgm_probe probe = {.id = RGM_CEILING_MEMORY_LATENCY,
                       .least = true,
                       .sample = sample,
                       .arg = job,
                       .source = source,
                       .stolen = &job->stolen,
                       .shared = true};
    return rgm_probes_measure(&probe, 1, &request->effort, figures, err);
}

rgm_status rgm_host_latency(const rgm_host_request *request, rgm_figures *figures, rgm_error *err) {
    size_t bytes = rgm_host_buffer_bytes(request, 1), most = (size_t)UINT32_MAX * RGM_LOOP_ALIGN;
    if (!bytes) {
        rgm_figure_refuse(figures, RGM_CEILING_MEMORY_LATENCY,
                          "too little memory is free (%lld MiB) for a buffer beyond the caches",
                          (long long)(request->free_bytes >> 20));
        return RGM_OK;
    }
    chase_job *job = rgm_calloc(1, sizeof *job);
    if (!job) return rgm_error_no_memory(err);
    if (bytes > most) bytes = most;
    job->lines = bytes / RGM_LOOP_ALIGN;
    void *block = rgm_block_realloc(NULL, bytes + RGM_LOOP_ALIGN);
    rgm_status status = block ? RGM_OK : rgm_error_no_memory(err);
    if (status == RGM_OK) {
        rgm_host_large_pages(block, bytes + RGM_LOOP_ALIGN);
        size_t off = (uintptr_t)block % RGM_LOOP_ALIGN;
        job->places = (uint32_t *)(void *)((char *)block + (off ? RGM_LOOP_ALIGN - off : 0));
        status = rgm_crew_start(&job->crew, request->threads, err);
    }
    if (status == RGM_OK) status = run(job, request, figures, err);
    rgm_crew_end(job->crew);
    rgm_block_free(block);
    rgm_free(job);
    return status;
}
