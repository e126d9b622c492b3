// SPDX-License-Identifier: Apache-2.0
// Copies between host and device of sizes four times apart, and the line time = alpha + bytes / beta through
// their times. Errors are weighed as parts of the time, because sizes span five powers of ten.
//
// From page-locked memory copies are enqueued while the stream is held; from pageable memory the driver
// copies before it returns, which a held stream would not let it, so there the host's part is in the time.
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "calibrate/device.h"

enum { KINDS = 4, MOST_SIZES = 16, MOST_BATCHES = 64, STEP = 4 };

static const struct {
    rgm_ceiling_id alpha, beta;
    bool pinned, to_device;
    const char *source;
} kinds[KINDS] = {
    {RGM_CEILING_H2D_PINNED_LATENCY, RGM_CEILING_H2D_PINNED, true, true, "cuMemcpyHtoDAsync, pinned"},
    {RGM_CEILING_H2D_PAGEABLE_LATENCY, RGM_CEILING_H2D_PAGEABLE, false, true, "cuMemcpyHtoDAsync, pageable"},
    {RGM_CEILING_D2H_PINNED_LATENCY, RGM_CEILING_D2H_PINNED, true, false, "cuMemcpyDtoHAsync, pinned"},
    {RGM_CEILING_D2H_PAGEABLE_LATENCY, RGM_CEILING_D2H_PAGEABLE, false, false, "cuMemcpyDtoHAsync, pageable"},
};

typedef struct {
    rgm_device_job *job;
    void *pinned, *pageable;
    rgm_cu_pointer device;
    size_t sizes[MOST_SIZES], n_sizes;
    int kind; // of the copy that is enqueued
    size_t bytes;
    double alphas[KINDS][MOST_BATCHES], betas[KINDS][MOST_BATCHES]; // of the line of each batch
} transfer_job;

// time = alpha + bytes * slope by least squares of (time - line) / time.
static void fit(const size_t *bytes, const double *ns, size_t count, double *alpha, double *slope) {
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = 1 / (ns[i] * ns[i]), x = (double)bytes[i];
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * ns[i];
        wxy += weight * x * ns[i];
    }
    double determinant = w * wxx - wx * wx;
    *slope = (w * wxy - wx * wy) / determinant;
    *alpha = (wy - *slope * wx) / w;
}

static rgm_status enqueue_copy(rgm_gpu_queue *queue, void *arg) {
    const transfer_job *transfer = arg;
    void *host = kinds[transfer->kind].pinned ? transfer->pinned : transfer->pageable;
    rgm_cu_result result =
        kinds[transfer->kind].to_device
            ? queue->driver->copy_to_device(transfer->device, host, transfer->bytes, queue->stream)
            : queue->driver->copy_to_host(host, transfer->device, transfer->bytes, queue->stream);
    return rgm_gpu_check(queue, result, "copying");
}

static rgm_status best_time(transfer_job *transfer, size_t samples, double *best) {
    rgm_device_job *job = transfer->job;
    for (size_t i = 0; i < samples; i++) {
        int64_t ns = 0;
        RGM_TRY(
            rgm_gpu_span(&job->queue, kinds[transfer->kind].pinned, enqueue_copy, transfer, &ns, &job->gaps));
        double time = ns > 0 ? (double)ns : 1;
        if (i == 0 || time < *best) *best = time;
    }
    return RGM_OK;
}

static rgm_status run_batch(transfer_job *transfer, size_t batch, size_t samples) {
    double times[MOST_SIZES] = {0}, slope;
    for (int kind = 0; kind < KINDS; kind++) {
        transfer->kind = kind;
        for (size_t i = 0; i < transfer->n_sizes; i++) {
            transfer->bytes = transfer->sizes[i];
            RGM_TRY(best_time(transfer, samples, &times[i]));
        }
        fit(transfer->sizes, times, transfer->n_sizes, &transfer->alphas[kind][batch], &slope);
        transfer->betas[kind][batch] = 1e9 / slope;
    }
    return RGM_OK;
}

static void take_figure(rgm_figures *figures, rgm_ceiling_id id, double *bests, size_t batches, bool least,
                        double least_spread, const char *source, uint32_t samples) {
    for (size_t i = 0; i < batches; i++)
        if (!(bests[i] > 0) || isinf(bests[i])) {
            rgm_figure_refuse(figures, id, "the times of %s are on no line with a positive %s", source,
                              least ? "begin" : "slope");
            return;
        }
    figures->at[id] = rgm_figure_of(bests, batches, least, least_spread);
    figures->at[id].samples = samples;
    strncpy(figures->at[id].source, source, sizeof figures->at[id].source - 1);
}

static size_t bounded(double number, size_t most) {
    return number >= (double)most ? most : number >= 1 ? (size_t)number : 1;
}

static rgm_status run(transfer_job *transfer, rgm_figures *figures) {
    const rgm_effort *effort = &transfer->job->request->effort;
    size_t batches = bounded(RGM_EFFORT(effort, batches), MOST_BATCHES);
    size_t samples = bounded(RGM_EFFORT(effort, batch), MOST_BATCHES);
    for (size_t b = 0; b < batches; b++) {
        RGM_TRY(rgm_effort_goes_on(effort, transfer->job->queue.err));
        RGM_TRY(run_batch(transfer, b, samples));
    }
    uint32_t all = (uint32_t)(batches * samples * transfer->n_sizes);
    double spread = effort->policy->least_spread;
    for (int kind = 0; kind < KINDS; kind++) {
        take_figure(figures, kinds[kind].alpha, transfer->alphas[kind], batches, true, spread,
                    kinds[kind].source, all);
        take_figure(figures, kinds[kind].beta, transfer->betas[kind], batches, false, spread,
                    kinds[kind].source, all);
    }
    return RGM_OK;
}

static rgm_status make_buffers(transfer_job *transfer) {
    rgm_gpu_queue *queue = &transfer->job->queue;
    const rgm_effort *effort = &transfer->job->request->effort;
    double least = effort->policy->transfer_least_bytes, most = RGM_EFFORT(effort, transfer_bytes);
    size_t left = 0, total = 0;
    RGM_GPU_TRY(queue, memory_info(&left, &total), "asking for free memory");
    if (most > (double)left * effort->policy->memory_share)
        most = (double)left * effort->policy->memory_share;
    for (double size = least < 1 ? 1 : least; size <= most && transfer->n_sizes < MOST_SIZES;
         size *= (double)STEP)
        transfer->sizes[transfer->n_sizes++] = (size_t)size;
    if (transfer->n_sizes < 2)
        return rgm_error_set(queue->err, RGM_LIMIT, "calibration: too little device memory is free to copy");
    size_t bytes = transfer->sizes[transfer->n_sizes - 1];
    transfer->pageable = rgm_block_realloc(NULL, bytes);
    if (!transfer->pageable) return rgm_error_no_memory(queue->err);
    memset(transfer->pageable, 1, bytes);
    RGM_GPU_TRY(queue, memory_alloc(&transfer->device, bytes), "allocating device memory");
    RGM_GPU_TRY(queue, memory_alloc_host(&transfer->pinned, bytes, 0), "allocating pinned memory");
    memset(transfer->pinned, 1, bytes);
    return RGM_OK;
}

rgm_status rgm_device_transfers(rgm_device_job *job, rgm_figures *figures) {
    const rgm_driver *driver = job->queue.driver;
    transfer_job *transfer = rgm_calloc(1, sizeof *transfer);
    if (!transfer) return rgm_error_no_memory(job->queue.err);
    transfer->job = job;
    rgm_status status = make_buffers(transfer);
    if (status == RGM_OK) status = run(transfer, figures);
    (void)driver->stream_synchronize(job->queue.stream);
    if (transfer->pinned) (void)driver->memory_free_host(transfer->pinned);
    if (transfer->device) (void)driver->memory_free(transfer->device);
    rgm_block_free(transfer->pageable);
    rgm_free(transfer);
    return status;
}
