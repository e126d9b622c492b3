// SPDX-License-Identifier: Apache-2.0
// Bandwidth of a device's memory, by kernels that copy, add, read and fill buffers beyond its second-level
// cache, and of that cache, by one that reads a part of it over and over.
#include "calibrate/device.h"

enum { COPY, TRIAD, READ, FILL, L2, KINDS };
enum { BUFFERS = 3, UNIT = 16, ARGUMENTS = 5, MOST_PASSES = 1 << 16 };

typedef struct {
    rgm_device_job *job;
    rgm_cu_pointer buffers[BUFFERS], sum;
    unsigned long long units, l2_units;
    float factor;
    unsigned value;
    int passes;
    rgm_gpu_launch launches[KINDS];
    void *arguments[KINDS][ARGUMENTS];
    double bytes[KINDS]; // of a launch
} memory_job;

static const struct {
    const char *entry, *source;
    rgm_ceiling_id id;
} kinds[KINDS] = {
    [COPY] = {"rgm_copy", "kernel rgm_copy", RGM_CEILING_MEMORY_COPY},
    [TRIAD] = {"rgm_triad", "kernel rgm_triad", RGM_CEILING_MEMORY_TRIAD},
    [READ] = {"rgm_read", "kernel rgm_read", RGM_CEILING_MEMORY_READ},
    [FILL] = {"rgm_fill", "kernel rgm_fill", RGM_CEILING_MEMORY_FILL},
    [L2] = {"rgm_read_l2", "kernel rgm_read_l2", RGM_CEILING_CACHE_L2},
};

static rgm_status sample(void *arg, int what, double *value, rgm_error *err) {
    memory_job *memory = arg;
    double ns;
    (void)err; // the queue has it
    RGM_TRY(rgm_device_time(memory->job, &memory->launches[what], &ns));
    *value = memory->bytes[what] / ns * 1e9;
    return RGM_OK;
}

static rgm_status buffer_units(const rgm_device_job *job, unsigned long long *units) {
    const rgm_gpu_queue *queue = &job->queue;
    const rgm_effort *effort = &job->request->effort;
    size_t left = 0, total = 0;
    RGM_GPU_TRY(queue, memory_info(&left, &total), "asking for free memory");
    double wanted = RGM_EFFORT(effort, buffer_caches) * (double)job->about.l2_bytes;
    double least = RGM_EFFORT(effort, buffer_bytes);
    double most = (double)left * effort->policy->memory_share / (double)BUFFERS;
    if (wanted < least) wanted = least;
    if (wanted > most) wanted = most;
    *units = wanted < effort->policy->cache_ratio * (double)job->about.l2_bytes
                 ? 0
                 : (unsigned long long)wanted / UNIT;
    return RGM_OK;
}

static rgm_status make_buffers(memory_job *memory) {
    rgm_gpu_queue *queue = &memory->job->queue;
    size_t bytes = (size_t)memory->units * UNIT;
    for (int i = 0; i < BUFFERS; i++) {
        RGM_GPU_TRY(queue, memory_alloc(&memory->buffers[i], bytes), "allocating device memory");
        RGM_GPU_TRY(queue, memory_set(memory->buffers[i], 1, bytes, queue->stream), "filling device memory");
    }
    RGM_GPU_TRY(queue, memory_alloc(&memory->sum, sizeof(unsigned)), "allocating device memory");
    RGM_GPU_TRY(queue, memory_set(memory->sum, 0, sizeof(unsigned), queue->stream), "filling device memory");
    RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "filling device memory");
    return RGM_OK;
}

static void free_buffers(memory_job *memory) {
    const rgm_gpu_queue *queue = &memory->job->queue;
    (void)queue->driver->stream_synchronize(queue->stream);
    for (int i = 0; i < BUFFERS; i++)
        if (memory->buffers[i]) (void)queue->driver->memory_free(memory->buffers[i]);
    if (memory->sum) (void)queue->driver->memory_free(memory->sum);
}

static void set_arguments(memory_job *memory) {
    rgm_cu_pointer *b = memory->buffers;
    void *lists[KINDS][ARGUMENTS] = {
        [COPY] = {&b[0], &b[1], &memory->units},
        [TRIAD] = {&b[0], &b[1], &b[2], &memory->factor, &memory->units},
        [READ] = {&memory->sum, &b[1], &memory->units},
        [FILL] = {&b[0], &memory->value, &memory->units},
        [L2] = {&memory->sum, &b[1], &memory->l2_units, &memory->passes},
    };
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < ARGUMENTS; i++) memory->arguments[kind][i] = lists[kind][i];
        rgm_device_fill(memory->job, &memory->launches[kind]);
        memory->launches[kind].arguments = memory->arguments[kind];
        memory->bytes[kind] = rgm_kernel_work(kinds[kind].entry) * (double)memory->units;
    }
}

// As many passes over the cache as a launch is to last.
static rgm_status set_passes(memory_job *memory) {
    double seconds = memory->job->request->effort.policy->kernel_seconds, ns = 0;
    memory->passes = 1;
    RGM_TRY(rgm_gpu_warm_up(&memory->job->queue, &memory->launches[L2], 1));
    for (int passes = 1; passes <= MOST_PASSES && ns < seconds * 1e9; passes *= 2) {
        memory->passes = passes;
        RGM_TRY(rgm_device_time(memory->job, &memory->launches[L2], &ns));
    }
    memory->bytes[L2] = rgm_kernel_work(kinds[L2].entry) * (double)memory->l2_units * memory->passes;
    return RGM_OK;
}

static rgm_status run(memory_job *memory, rgm_figures *figures) {
    rgm_device_job *job = memory->job;
    rgm_probe probes[KINDS];
    size_t count = 0;
    RGM_TRY(make_buffers(memory));
    set_arguments(memory);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == L2 && !memory->l2_units) {
            rgm_figure_refuse(figures, RGM_CEILING_CACHE_L2,
                              "the driver does not tell the size of the cache");
            continue;
        }
        RGM_TRY(rgm_gpu_load(&job->queue, "bandwidth", kinds[kind].entry, &memory->launches[kind].function));
        RGM_TRY(rgm_gpu_warm_up(&job->queue, &memory->launches[kind], 2));
        if (kind == L2) RGM_TRY(set_passes(memory));
        probes[count++] = (rgm_probe){.id = kinds[kind].id,
                                      .sample = sample,
                                      .arg = memory,
                                      .what = kind,
                                      .source = kinds[kind].source};
    }
    return rgm_probes_measure(probes, count, &job->request->effort, figures, job->queue.err);
}

rgm_status rgm_device_memory(rgm_device_job *job, rgm_figures *figures) {
    memory_job memory = {.job = job, .factor = 3.0f, .value = 1, .passes = 1};
    RGM_TRY(buffer_units(job, &memory.units));
    if (!memory.units) {
        for (int kind = 0; kind < KINDS; kind++)
            rgm_figure_refuse(figures, kinds[kind].id,
                              "too little device memory is free for buffers beyond its caches");
        return RGM_OK;
    }
    memory.l2_units = (unsigned long long)((double)job->about.l2_bytes *
                                           job->request->effort.policy->l2_share / (double)UNIT);
    rgm_status status = run(&memory, figures);
    free_buffers(&memory);
    return status;
}
