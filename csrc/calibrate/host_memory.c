// SPDX-License-Identifier: Apache-2.0
// Bandwidth beyond all caches. Each thread has a slice of three buffers, which it touched first. A sample
// passes over a piece of it, the next one over the next: so samples are short, and until a piece comes again
// all others have gone through the caches. Where one buffer alone would stay in them, a kind that uses one
// only has the others pass through after each sample, written where it writes: or what it puts out of the
// caches would not have to be written, which is part of what it costs. After the measurement every kind runs
// once more, and a scalar loop looks at what it did.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "calibrate/crew.h"
#include "calibrate/host.h"
#include "calibrate/loops.h"

enum { COPY, TRIAD, READ, FILL, UPDATE, KINDS };
static const rgm_ceiling_id ids[KINDS] = {[COPY] = RGM_CEILING_MEMORY_COPY,
                                          [TRIAD] = RGM_CEILING_MEMORY_TRIAD,
                                          [READ] = RGM_CEILING_MEMORY_READ,
                                          [FILL] = RGM_CEILING_MEMORY_FILL,
                                          [UPDATE] = RGM_CEILING_MEMORY_UPDATE};
enum { PLAIN, PAST, LIBRARY, WAYS };
enum { BUFFERS = RGM_HOST_BUFFERS, VALUES = 1024, PART = 1 << 24 };
_Static_assert(PART % (VALUES * sizeof(double)) == 0, "a part begins with a round of values");
static const double factor = 3, second = 2, filling = 6;

typedef struct {
    uint64_t read;     // the sum of a piece of b as a loop read it
    bool wrong;        // what a loop left is not what it should have left
    char padding[119]; // members write apart from one another
} memory_member;

typedef struct {
    rgm_crew *crew;
    const rgm_loops *loops;
    void *blocks[BUFFERS];
    char *a, *b, *c;
    size_t slice;       // of a member
    size_t piece;       // of a slice, which it divides
    size_t from, bytes; // what a pass goes over, in each slice
    bool small;         // one buffer alone may stay in the caches
    double stolen;
    double scale; // of an update; 1 while it is timed, so that values stay what they are
    int what;
    memory_member *members;
} memory_job;

static size_t words_of(const memory_job *job) { return job->slice / sizeof(double); }

static void first_touch(void *arg, unsigned number) {
    memory_job *job = arg;
    size_t at = number * job->slice + job->from;
    double *b = (double *)(void *)(job->b + at);
    double *c = (double *)(void *)(job->c + at);
    memset(job->a + at, 0, job->bytes);
    for (size_t i = 0; i < job->bytes / sizeof(double); i++) {
        b[i] = (double)(i % VALUES);
        c[i] = second;
    }
}

// Of so many words of b from the beginning of a round of values.
static uint64_t sum_of(size_t words) {
    uint64_t sum = 0;
    for (size_t i = 0; i < words && i < VALUES; i++) {
        double value = (double)i;
        uint64_t word;
        memcpy(&word, &value, sizeof word);
        sum += word * ((words - i + VALUES - 1) / VALUES);
    }
    return sum;
}

static void one_pass(void *arg, unsigned number) {
    memory_job *job = arg;
    const rgm_loops *loops = job->loops;
    size_t bytes = job->bytes, at = number * job->slice + job->from;
    char *a = job->a + at, *b = job->b + at, *c = job->c + at;
    uint64_t filler;
    memcpy(&filler, &filling, sizeof filler);
    switch (job->what) {
    case COPY *WAYS + PLAIN: loops->copy(a, b, bytes); break;
    case COPY *WAYS + PAST: loops->copy_past(a, b, bytes); break;
    case COPY *WAYS + LIBRARY: memcpy(a, b, bytes); break;
    case TRIAD *WAYS + PLAIN:
        loops->triad((double *)(void *)a, (double *)(void *)b, (double *)(void *)c, factor, bytes);
        break;
    case TRIAD *WAYS + PAST:
        loops->triad_past((double *)(void *)a, (double *)(void *)b, (double *)(void *)c, factor, bytes);
        break;
    case FILL *WAYS + PLAIN: loops->fill(a, filler, bytes); break;
    case FILL *WAYS + PAST: loops->fill_past(a, filler, bytes); break;
    case UPDATE *WAYS + PLAIN: loops->update((double *)(void *)a, job->scale, bytes); break;
    default: job->members[number].read = loops->read(b, bytes);
    }
}

static void pass_others(void *arg, unsigned number) {
    memory_job *job = arg;
    const rgm_loops *loops = job->loops;
    size_t at = number * job->slice + job->from;
    if (job->what / WAYS == READ) {
        (void)loops->read(job->a + at, job->bytes);
        (void)loops->read(job->c + at, job->bytes);
    } else {
        loops->update((double *)(void *)(job->b + at), 1, job->bytes);
        loops->update((double *)(void *)(job->c + at), 1, job->bytes);
    }
}

static void next_piece(memory_job *job) {
    job->from = job->from + job->piece < job->slice ? job->from + job->piece : 0;
    job->bytes = job->piece;
}

static void whole_slice(memory_job *job) {
    job->from = 0;
    job->bytes = job->slice;
}

static void look(void *arg, unsigned number) {
    memory_job *job = arg;
    const double *a = (const double *)(const void *)(job->a + number * job->slice);
    bool wrong = false;
    for (size_t i = 0; i < words_of(job); i++) {
        double value = (double)(i % VALUES);
        double wanted = job->what / WAYS == FILL     ? filling
                        : job->what / WAYS == UPDATE ? factor * filling
                        : job->what / WAYS == TRIAD  ? value + factor * second
                                                     : value;
        wrong |= a[i] != wanted;
    }
    job->members[number].wrong = wrong;
}

static rgm_status sample(void *arg, int what, double *value, rgm_error *err) {
    static const double streams[KINDS] = {[COPY] = 2, [TRIAD] = 3, [READ] = 1, [FILL] = 1, [UPDATE] = 2};
    memory_job *job = arg;
    unsigned count = rgm_crew_members(job->crew);
    job->what = what;
    next_piece(job);
    rgm_crew_time took = rgm_crew_run(job->crew, one_pass, job);
    job->stolen = took.stolen;
    bool alone = what / WAYS == READ || what / WAYS == FILL || what / WAYS == UPDATE;
    if (job->small && alone) (void)rgm_crew_run(job->crew, pass_others, job);
    *value = streams[what / WAYS] * (double)job->bytes * count / (double)took.own_ns * 1e9;
    uint64_t sum = sum_of(job->bytes / sizeof(double));
    for (unsigned i = 0; what / WAYS == READ && i < count; i++)
        if (job->members[i].read != sum)
            return rgm_error_set(err, RGM_INVALID, "calibration: the read loop (%s) gives another sum",
                                 job->loops->name);
    return RGM_OK;
}

static rgm_status check(memory_job *job, const rgm_probe *probe, rgm_error *err) {
    if (probe->what / WAYS == READ) return RGM_OK; // every sample was checked
    whole_slice(job);
    if (probe->what / WAYS == UPDATE) {
        job->what = FILL * WAYS + PLAIN;
        job->scale = factor;
        (void)rgm_crew_run(job->crew, one_pass, job);
    }
    job->what = probe->what;
    (void)rgm_crew_run(job->crew, one_pass, job);
    (void)rgm_crew_run(job->crew, look, job);
    for (unsigned i = 0; i < rgm_crew_members(job->crew); i++)
        if (job->members[i].wrong)
            return rgm_error_set(err, RGM_INVALID, "calibration: %s left other values than it should",
                                 probe->source);
    return RGM_OK;
}

// Pieces begin with a round of values, so that all have the same sum. Slices too small for that are one
// piece.
static void divide(memory_job *job, double pieces) {
    const size_t round = VALUES * sizeof(double);
    size_t count = pieces >= 1 ? (size_t)pieces : 1;
    job->piece = job->slice / count / round * round;
    if (job->piece)
        job->slice = job->piece * count;
    else
        job->piece = job->slice;
}

// Gigabytes that nobody has touched yet take seconds.
static rgm_status touch(memory_job *job, const rgm_effort *effort, rgm_error *err) {
    for (job->from = 0; job->from < job->slice; job->from += PART) {
        RGM_TRY(rgm_effort_goes_on(effort, err));
        job->bytes = job->slice - job->from < PART ? job->slice - job->from : PART;
        (void)rgm_crew_run(job->crew, first_touch, job);
    }
    job->from = 0;
    return RGM_OK;
}

static rgm_status make_buffers(memory_job *job, size_t bytes, const rgm_effort *effort, rgm_error *err) {
    char *aligned[BUFFERS];
    unsigned count = rgm_crew_members(job->crew);
    job->slice = bytes / count / RGM_LOOP_UNIT * RGM_LOOP_UNIT;
    divide(job, effort->policy->memory_pieces);
    job->members = rgm_calloc(count, sizeof *job->members);
    if (!job->members) return rgm_error_no_memory(err);
    for (int i = 0; i < BUFFERS; i++) {
        job->blocks[i] = rgm_block_realloc(NULL, bytes + RGM_LOOP_ALIGN);
        if (!job->blocks[i]) return rgm_error_no_memory(err);
        rgm_host_large_pages(job->blocks[i], bytes + RGM_LOOP_ALIGN);
        size_t off = (uintptr_t)job->blocks[i] % RGM_LOOP_ALIGN;
        aligned[i] = (char *)job->blocks[i] + (off ? RGM_LOOP_ALIGN - off : 0);
    }
    job->a = aligned[0];
    job->b = aligned[1];
    job->c = aligned[2];
    return touch(job, effort, err);
}

// The best of the ways to do one kind of thing.
static rgm_status choose(memory_job *job, const rgm_effort *effort, int kind, rgm_ceiling_id id,
                         rgm_probe *chosen, char source[64], rgm_error *err) {
    static const char *const texts[WAYS] = {"own loop", "own loop past the caches", "memcpy"};
    const rgm_loops *loops = job->loops;
    rgm_probe probes[WAYS];
    size_t count = 0, best = 0;
    const bool offered[WAYS] = {true, kind != READ && kind != UPDATE && loops->copy_past, kind == COPY};
    for (int way = 0; way < WAYS; way++)
        if (offered[way])
            probes[count++] = (rgm_probe){.id = id,
                                          .sample = sample,
                                          .arg = job,
                                          .what = kind * WAYS + way,
                                          .source = texts[way],
                                          .stolen = &job->stolen,
                                          .shared = true};
    RGM_TRY(rgm_probes_choose(probes, count, effort, &best, err));
    *chosen = probes[best];
    bool own = chosen->what % WAYS != LIBRARY;
    (void)snprintf(source, sizeof(rgm_figure){0}.source, "%s%s%s%s", chosen->source, own ? " (" : "",
                   own ? loops->name : "", own ? ")" : "");
    chosen->source = source;
    return RGM_OK;
}

static rgm_status run(memory_job *job, const rgm_host_request *request, rgm_figures *figures,
                      rgm_error *err) {
    rgm_probe probes[KINDS];
    char sources[KINDS][sizeof(rgm_figure){0}.source];
    for (int kind = 0; kind < KINDS; kind++)
        RGM_TRY(choose(job, &request->effort, kind, ids[kind], &probes[kind], sources[kind], err));
    RGM_TRY(rgm_probes_measure(probes, KINDS, &request->effort, figures, err));
    for (int kind = 0; kind < KINDS; kind++) RGM_TRY(check(job, &probes[kind], err));
    return RGM_OK;
}

static void refuse(rgm_figures *figures, const rgm_host_request *request) {
    for (int kind = 0; kind < KINDS; kind++)
        rgm_figure_refuse(figures, ids[kind],
                          "too little memory is free (%lld MiB) for buffers beyond the caches (%lld MiB)",
                          (long long)(request->free_bytes >> 20),
                          (long long)(rgm_host_caches_used(&request->caches, request->threads) >> 20));
}

rgm_status rgm_host_memory(const rgm_host_request *request, rgm_figures *figures, rgm_error *err) {
    memory_job job = {.scale = 1};
    const rgm_loops *sets[RGM_LOOPS_MOST];
    size_t bytes = rgm_host_buffer_bytes(request, BUFFERS);
    if (!bytes || bytes / request->threads < RGM_LOOP_UNIT) {
        refuse(figures, request);
        return RGM_OK;
    }
    double caches = (double)rgm_host_caches_used(&request->caches, request->threads);
    job.small = (double)bytes < request->effort.policy->cache_ratio * caches;
    job.loops = sets[rgm_loops_here(sets) - 1];
    rgm_status status = rgm_crew_start(&job.crew, request->threads, err);
    if (status == RGM_OK) status = make_buffers(&job, bytes, &request->effort, err);
    if (status == RGM_OK) status = run(&job, request, figures, err);
    rgm_crew_end(job.crew);
    for (int i = 0; i < BUFFERS; i++) rgm_block_free(job.blocks[i]);
    rgm_free(job.members);
    return status;
}
