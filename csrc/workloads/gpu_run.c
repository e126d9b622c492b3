// SPDX-License-Identifier: Apache-2.0
#include "workloads/gpu_run.h"

#include <string.h>

#include "base/clock.h"
#include "workloads/arrays.h"
#include "workloads/gpu_queue.h"

enum { ARGUMENTS = RGM_WORKLOAD_BUFFERS + RGM_WORKLOAD_PARAMETERS };

typedef struct {
    rgm_gpu_queue queue;
    const rgm_workload *workload;
    rgm_cu_pointer buffers[RGM_WORKLOAD_BUFFERS];
    // What a launch points to: an eight-byte place an argument.
    uint64_t places[ARGUMENTS];
    void *arguments[ARGUMENTS];
} gpu_job;

// With `guard` outputs are filled too: what a kernel forgets to write is NaN, not the right result of an
// earlier run. A host call does without.
static rgm_status make_buffers(gpu_job *job, const rgm_arrays *arrays, bool guard) {
    rgm_gpu_queue *queue = &job->queue;
    for (size_t i = 0; job->workload->buffers[i].name; i++) {
        rgm_buffer_role role = job->workload->buffers[i].role;
        size_t bytes = arrays->bytes[i];
        RGM_GPU_TRY(queue, memory_alloc(&job->buffers[i], bytes), "allocating device memory");
        if (role == RGM_BUFFER_OUTPUT && !guard) continue;
        unsigned char value = role == RGM_BUFFER_SCRATCH ? 0 : 255;
        rgm_cu_result result =
            role == RGM_BUFFER_INPUT
                ? queue->driver->copy_to_device(job->buffers[i], arrays->data[i], bytes, queue->stream)
                : queue->driver->memory_set(job->buffers[i], value, bytes, queue->stream);
        RGM_TRY(rgm_gpu_check(queue, result, "filling device memory"));
    }
    return RGM_OK;
}

static void free_buffers(gpu_job *job) {
    const rgm_gpu_queue *queue = &job->queue;
    if (queue->stream) (void)queue->driver->stream_synchronize(queue->stream);
    for (size_t i = 0; i < RGM_WORKLOAD_BUFFERS; i++) {
        if (job->buffers[i]) (void)queue->driver->memory_free(job->buffers[i]);
        job->buffers[i] = 0;
    }
}

static void set_arguments(gpu_job *job, const double *values) {
    size_t n = 0;
    for (size_t i = 0; job->workload->buffers[i].name; i++) job->places[n++] = job->buffers[i];
    for (size_t i = 0; job->workload->parameters[i].name; i++, n++) {
        union {
            int whole;
            float number;
            uint64_t place;
        } value = {.place = 0};
        if (job->workload->parameters[i].whole)
            value.whole = (int)values[i];
        else
            value.number = (float)values[i];
        job->places[n] = value.place;
    }
    for (size_t i = 0; i < n; i++) job->arguments[i] = &job->places[i];
}

static rgm_status copy_out(gpu_job *job, rgm_arrays *arrays) {
    rgm_gpu_queue *queue = &job->queue;
    for (size_t i = 0; job->workload->buffers[i].name; i++)
        if (job->workload->buffers[i].role == RGM_BUFFER_OUTPUT)
            RGM_GPU_TRY(queue,
                        copy_to_host(arrays->data[i], job->buffers[i], arrays->bytes[i], queue->stream),
                        "copying the result");
    RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "copying the result");
    return RGM_OK;
}

static rgm_status host_call(gpu_job *job, const rgm_gpu_launch *what, const double *values,
                            rgm_arrays *arrays) {
    RGM_TRY(make_buffers(job, arrays, false));
    set_arguments(job, values);
    RGM_TRY(rgm_gpu_launch_once(&job->queue, what));
    RGM_TRY(copy_out(job, arrays));
    free_buffers(job);
    return RGM_OK;
}

static rgm_status time_calls(gpu_job *job, const rgm_gpu_request *request, const rgm_gpu_launch *what,
                             const double *values, rgm_arrays *arrays) {
    if (request->calls) free_buffers(job);
    for (uint32_t i = 0; request->calls && i < request->warmup; i++)
        RGM_TRY(host_call(job, what, values, arrays));
    for (uint32_t i = 0; i < request->calls; i++) {
        int64_t begin = rgm_clock_monotonic_ns();
        RGM_TRY(host_call(job, what, values, arrays));
        request->call_times_ns[i] = rgm_clock_monotonic_ns() - begin;
    }
    return RGM_OK;
}

static rgm_status run(gpu_job *job, const rgm_gpu_request *request, const double *values, rgm_arrays *arrays,
                      rgm_gpu_result *result) {
    const char *name = job->workload->name;
    const rgm_workload_shape *shape = &result->shape;
    rgm_gpu_launch what = {.grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
                           .block = {shape->block[0], shape->block[1], shape->block[2]},
                           .arguments = job->arguments};
    RGM_TRY(rgm_gpu_load(&job->queue, name, name, &what.function));
    RGM_TRY(make_buffers(job, arrays, true));
    RGM_GPU_TRY(&job->queue, stream_synchronize(job->queue.stream), "filling device memory");
    set_arguments(job, values);
    RGM_TRY(rgm_gpu_warm_up(&job->queue, &what, request->warmup));
    RGM_TRY(rgm_gpu_time(&job->queue, &what, request->iterations, request->times_ns, &result->gaps));
    RGM_TRY(copy_out(job, arrays));
    return time_calls(job, request, &what, values, arrays);
}

rgm_status rgm_gpu_run(const rgm_workload *workload, const rgm_gpu_request *request, rgm_gpu_result *result,
                       rgm_error *err) {
    double values[RGM_WORKLOAD_PARAMETERS];
    rgm_arrays arrays;
    gpu_job job = {.workload = workload};
    *result = (rgm_gpu_result){0};
    if (request->iterations > RGM_GPU_MOST_LAUNCHES || request->warmup > RGM_GPU_MOST_LAUNCHES ||
        request->calls > RGM_GPU_MOST_LAUNCHES)
        return rgm_error_set(err, RGM_INVALID, "more than %d launches", RGM_GPU_MOST_LAUNCHES);
    RGM_TRY(rgm_workload_prepare(workload, request->parameters, values, &result->shape, err));
    RGM_TRY(rgm_workload_set_block(workload, request->block, &result->shape, err));
    RGM_TRY(rgm_arrays_make(&arrays, workload, values, &result->shape, request->inputs, err));
    rgm_status status = rgm_gpu_open(&job.queue, request->device, workload->name, request->cache, err);
    if (status == RGM_OK) {
        result->capability = job.queue.capability;
        memcpy(result->arch, job.queue.arch, sizeof result->arch);
        status = run(&job, request, values, &arrays, result);
        free_buffers(&job);
    }
    rgm_gpu_close(&job.queue);
    if (status == RGM_OK) rgm_arrays_take(&arrays, workload, request->outputs);
    rgm_arrays_free(&arrays);
    return status;
}
