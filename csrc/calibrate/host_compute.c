// SPDX-License-Identifier: Apache-2.0
// Peak of arithmetic: chains of multiply-adds in registers, of which every sample is checked to have done
// them all. A processor's library of matrix products may reach more in a type (AMX); whoever has it compares.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "calibrate/crew.h"
#include "calibrate/host.h"
#include "calibrate/loops.h"

enum { FP32, FP64, INT8, BF16, TYPES };

typedef struct {
    rgm_crew *crew;
    const rgm_loops *sets[RGM_LOOPS_MOST];
    rgm_narrow_loop narrow[TYPES];
    int what; // type * RGM_LOOPS_MOST + set
    uint64_t rounds[TYPES * RGM_LOOPS_MOST];
    double stolen;
    bool wrong[RGM_CREW_MOST];
} compute_job;

static double steps_of(const compute_job *job, int what) {
    const rgm_loops *set = job->sets[what % RGM_LOOPS_MOST];
    int type = what / RGM_LOOPS_MOST;
    switch (type) {
    case FP32: return (double)set->steps_fp32;
    case FP64: return (double)set->steps_fp64;
    default: return (double)job->narrow[type].steps;
    }
}

static void run_chains(void *arg, unsigned number) {
    compute_job *job = arg;
    const rgm_loops *set = job->sets[job->what % RGM_LOOPS_MOST];
    uint64_t rounds = job->rounds[job->what];
    int type = job->what / RGM_LOOPS_MOST;
    double done = type == FP32   ? set->chains_fp32(rounds, 1, 1)
                  : type == FP64 ? set->chains_fp64(rounds, 1, 1)
                                 : (double)job->narrow[type].chains(rounds);
    job->wrong[number] = done != (double)rounds * steps_of(job, job->what);
}

static rgm_status sample(void *arg, int what, double *value, rgm_error *err) {
    compute_job *job = arg;
    unsigned count = rgm_crew_members(job->crew);
    job->what = what;
    rgm_crew_time took = rgm_crew_run(job->crew, run_chains, job);
    job->stolen = took.stolen;
    *value = 2 * (double)job->rounds[what] * steps_of(job, what) * count / (double)took.own_ns * 1e9;
    for (unsigned i = 0; i < count; i++)
        if (job->wrong[i])
            return rgm_error_set(err, RGM_INVALID, "calibration: the chains of type %d did other work",
                                 what / RGM_LOOPS_MOST);
    return RGM_OK;
}

// As many rounds as a sample is to last, and no more than count exactly in single precision.
static void set_rounds(compute_job *job, int what, double seconds) {
    const uint64_t depth = job->sets[0]->depth, most = (UINT64_C(1) << 23) / depth;
    int64_t ns = 0;
    uint64_t rounds = 1000;
    job->what = what;
    for (; rounds < most && ns < (int64_t)(seconds * 2.5e8); rounds *= 2) {
        job->rounds[what] = rounds;
        ns = rgm_crew_run(job->crew, run_chains, job).own_ns;
    }
    double wanted = (double)job->rounds[what] * seconds * 1e9 / (double)ns;
    job->rounds[what] = wanted > (double)most ? most : wanted < 1 ? 1 : (uint64_t)wanted;
}

static rgm_status floats(compute_job *job, size_t n_sets, int type, rgm_probe *chosen, char source[64],
                         const rgm_effort *effort, rgm_error *err) {
    double seconds = RGM_EFFORT(effort, sample_seconds);
    rgm_probe probes[RGM_LOOPS_MOST];
    size_t best = 0;
    for (size_t i = 0; i < n_sets; i++) {
        int what = type * RGM_LOOPS_MOST + (int)i;
        set_rounds(job, what, seconds);
        probes[i] = (rgm_probe){.id = type == FP32 ? RGM_CEILING_COMPUTE_FP32 : RGM_CEILING_COMPUTE_FP64,
                                .sample = sample,
                                .arg = job,
                                .what = what,
                                .source = job->sets[i]->name,
                                .stolen = &job->stolen};
    }
    RGM_TRY(rgm_probes_choose(probes, n_sets, effort, &best, err));
    *chosen = probes[best];
    (void)snprintf(source, sizeof(rgm_figure){0}.source, "own loop (%s)", chosen->source);
    chosen->source = source;
    return RGM_OK;
}

static void refuse_others(rgm_figures *figures) {
    rgm_figure_refuse(figures, RGM_CEILING_COMPUTE_TF32, "processors have no tf32");
    rgm_figure_refuse(figures, RGM_CEILING_COMPUTE_FP8, "processors have no 8-bit floats");
    rgm_figure_refuse(figures, RGM_CEILING_COMPUTE_FP16, "no loop of ours computes in half precision");
}

static rgm_status run(compute_job *job, const rgm_host_request *request, rgm_figures *figures,
                      rgm_error *err) {
    static const rgm_ceiling_id ids[TYPES] = {
        [INT8] = RGM_CEILING_COMPUTE_INT8, [BF16] = RGM_CEILING_COMPUTE_BF16};
    double seconds = RGM_EFFORT(&request->effort, sample_seconds);
    size_t n_sets = rgm_loops_here(job->sets), count = 0;
    rgm_probe probes[TYPES];
    char sources[TYPES][sizeof(rgm_figure){0}.source];
    for (int type = FP32; type <= FP64; type++, count++)
        RGM_TRY(floats(job, n_sets, type, &probes[count], sources[type], &request->effort, err));
    for (int type = INT8; type < TYPES; type++) {
        const rgm_narrow_loop *loop = &job->narrow[type];
        if (!loop->chains) {
            rgm_figure_refuse(figures, ids[type], "%s", loop->lacking);
            continue;
        }
        int what = type * RGM_LOOPS_MOST;
        set_rounds(job, what, seconds);
        probes[count++] = (rgm_probe){.id = ids[type],
                                      .sample = sample,
                                      .arg = job,
                                      .what = what,
                                      .source = loop->source,
                                      .stolen = &job->stolen};
    }
    refuse_others(figures);
    return rgm_probes_measure(probes, count, &request->effort, figures, err);
}

rgm_status rgm_host_compute(const rgm_host_request *request, rgm_figures *figures, rgm_error *err) {
    compute_job *job = rgm_calloc(1, sizeof *job);
    if (!job) return rgm_error_no_memory(err);
    job->narrow[INT8] = rgm_loop_int8();
    job->narrow[BF16] = rgm_loop_bf16();
    rgm_status status = rgm_crew_start(&job->crew, request->threads, err);
    if (status == RGM_OK) status = run(job, request, figures, err);
    rgm_crew_end(job->crew);
    rgm_free(job);
    return status;
}
