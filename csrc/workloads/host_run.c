// SPDX-License-Identifier: Apache-2.0
#include "workloads/host_run.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/memory.h"
#include "workloads/arrays.h"
#include "workloads/team.h"

static const int64_t least_ns = 20000; // of one time: reading the clock is then less than half a per cent
static const double team_work =
    400000; // operations and bytes below which a second thread costs more than it does
enum { MOST_REPEATS = 1000, SCRATCH_ALIGNMENT = 64 };

typedef struct {
    const rgm_workload *workload;
    const rgm_fast_kernel *fast; // NULL: the reference
    double values[RGM_WORKLOAD_PARAMETERS];
    rgm_workload_shape shape;
    rgm_team team;
    rgm_arrays ready;  // inputs that stand ready, and the outputs of the kernel
    rgm_arrays result; // outputs of host calls
    rgm_error *err;
} host_job;

// What one computation needs.
typedef struct {
    const host_job *job;
    void *const *buffers;
    void *block, *scratch;
    unsigned phase;
} computation;

static rgm_status prepare(computation *c, const host_job *job, void *const *buffers) {
    size_t bytes = job->fast ? job->fast->scratch(job->values) : 0;
    *c = (computation){.job = job, .buffers = buffers};
    if (!bytes) return RGM_OK;
    c->block = rgm_malloc(bytes + SCRATCH_ALIGNMENT);
    if (!c->block) return rgm_error_no_memory(job->err);
    c->scratch =
        (void *)(((uintptr_t)c->block + SCRATCH_ALIGNMENT - 1) & ~(uintptr_t)(SCRATCH_ALIGNMENT - 1));
    return RGM_OK;
}

static void run_items(void *argument, size_t begin, size_t end) {
    const computation *c = argument;
    c->job->fast->run(c->job->values, c->buffers, c->scratch, c->phase, begin, end);
}

static void compute(computation *c, rgm_team *team) {
    const host_job *job = c->job;
    size_t items;
    if (!job->fast) {
        job->workload->reference(job->values, c->buffers);
        return;
    }
    for (c->phase = 0; (items = job->fast->items(job->values, c->phase)) > 0; c->phase++)
        rgm_team_run(team, run_items, c, items);
}

static rgm_status host_call(host_job *job) {
    rgm_arrays arrays;
    computation c;
    RGM_TRY(rgm_arrays_make(&arrays, job->workload, job->values, &job->shape,
                            (const void *const *)job->ready.data, job->err));
    rgm_status status = prepare(&c, job, arrays.data);
    if (status == RGM_OK) {
        compute(&c, &job->team);
        rgm_arrays_take(&arrays, job->workload, job->result.data);
    }
    rgm_free(c.block);
    rgm_arrays_free(&arrays);
    return status;
}

static int64_t page_faults(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_minflt : 0;
}

// Whether to go on warming up after run number `done`, which touched so many new pages.
static bool is_cold(const rgm_host_request *request, uint32_t done, int64_t faults) {
    if (done < request->warmup || !done) return true;
    return request->warmup && faults && done < request->warmup + RGM_HOST_MORE_WARMUP;
}

// How many repeats make a time long enough, by the shortest of the runs so far.
static uint32_t repeats_for(int64_t shortest_ns) {
    if (shortest_ns >= least_ns) return 1;
    int64_t repeats = least_ns / (shortest_ns > 0 ? shortest_ns : 1) + 1;
    return repeats < MOST_REPEATS ? (uint32_t)repeats : MOST_REPEATS;
}

static rgm_status time_kernel(host_job *job, const rgm_host_request *request, rgm_host_result *result) {
    computation c;
    int64_t shortest = INT64_MAX, faults = 0;
    RGM_TRY(prepare(&c, job, job->ready.data));
    for (uint32_t i = 0; is_cold(request, i, faults); i++) {
        int64_t before = page_faults(), begin = rgm_clock_monotonic_ns();
        compute(&c, &job->team);
        int64_t length = rgm_clock_monotonic_ns() - begin;
        faults = page_faults() - before;
        if (length < shortest) shortest = length;
    }
    result->repeats = repeats_for(shortest);
    result->faults = -page_faults();
    for (uint32_t i = 0; i < request->iterations; i++) {
        int64_t begin = rgm_clock_monotonic_ns();
        for (uint32_t k = 0; k < result->repeats; k++) compute(&c, &job->team);
        request->times_ns[i] = rgm_clock_monotonic_ns() - begin;
    }
    result->faults += page_faults();
    rgm_free(c.block);
    return RGM_OK;
}

static rgm_status time_calls(host_job *job, const rgm_host_request *request, rgm_host_result *result) {
    int64_t shortest = INT64_MAX, faults = 0;
    for (uint32_t i = 0; request->calls && is_cold(request, i, faults); i++) {
        int64_t before = page_faults(), begin = rgm_clock_monotonic_ns();
        RGM_TRY(host_call(job));
        int64_t length = rgm_clock_monotonic_ns() - begin;
        faults = page_faults() - before;
        if (length < shortest) shortest = length;
    }
    result->call_repeats = repeats_for(shortest);
    result->call_faults = -page_faults();
    for (uint32_t i = 0; i < request->calls; i++) {
        int64_t begin = rgm_clock_monotonic_ns();
        for (uint32_t k = 0; k < result->call_repeats; k++) RGM_TRY(host_call(job));
        request->call_times_ns[i] = rgm_clock_monotonic_ns() - begin;
    }
    result->call_faults += page_faults();
    return RGM_OK;
}

static unsigned threads_for(const host_job *job, const rgm_host_request *request) {
    unsigned most = request->threads ? request->threads : rgm_team_processors();
    if (!job->fast || (!request->threads && job->shape.operations + job->shape.bytes < team_work)) return 1;
    return most;
}

rgm_status rgm_host_run(const rgm_workload *workload, const rgm_host_request *request,
                        rgm_host_result *result, rgm_error *err) {
    host_job job = {.workload = workload, .err = err};
    *result = (rgm_host_result){.threads = 1};
    if (request->iterations > RGM_HOST_MOST_RUNS || request->warmup > RGM_HOST_MOST_RUNS ||
        request->calls > RGM_HOST_MOST_RUNS)
        return rgm_error_set(err, RGM_INVALID, "more than %d runs", RGM_HOST_MOST_RUNS);
    RGM_TRY(rgm_workload_prepare(workload, request->parameters, job.values, &job.shape, err));
    if (request->set) job.fast = rgm_fast_find(request->set, workload);
    rgm_status status = rgm_arrays_make(&job.ready, workload, job.values, &job.shape, request->inputs, err);
    if (status == RGM_OK)
        status = rgm_arrays_make(&job.result, workload, job.values, &job.shape,
                                 (const void *const *)job.ready.data, err);
    if (status == RGM_OK) {
        rgm_team_start(&job.team, threads_for(&job, request));
        result->threads = job.team.size;
        status = time_kernel(&job, request, result);
        if (status == RGM_OK) status = time_calls(&job, request, result);
        rgm_team_stop(&job.team);
    }
    result->shape = job.shape;
    if (status == RGM_OK) rgm_arrays_take(&job.ready, workload, request->outputs);
    rgm_arrays_free(&job.result);
    rgm_arrays_free(&job.ready);
    return status;
}
