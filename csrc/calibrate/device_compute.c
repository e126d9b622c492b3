// SPDX-License-Identifier: Apache-2.0
// Peak of a device's arithmetic, by every kernel that its compute capability allows; of several for one type
// the best counts. On 9.0 and above the tensor kernels are a lower bound (docs/gpu/kernels.md).
#include <stdio.h>
#include <string.h>

#include "calibrate/device.h"

// What a kernel is called with after the array of results.
enum { FLOATS, DOUBLES, PAIR, PATTERN };
enum { ARGUMENTS = 4, WARP = 32, ELEMENT = 8, FIRST_ROUNDS = 64, MOST_ROUNDS = 1 << 22 };

// X(file, entry, ceiling, arguments, the bits of what is multiplied).
#define COMPUTE_KERNELS(X)                                                                                   \
    X(arithmetic, rgm_fma_fp64, FP64, DOUBLES, 0)                                                            \
    X(arithmetic, rgm_fma_fp32, FP32, FLOATS, 0)                                                             \
    X(packed_fp16, rgm_fma_fp16, FP16, PAIR, 0x38003800u)                                                    \
    X(packed_bf16, rgm_fma_bf16, BF16, PAIR, 0x3f003f00u)                                                    \
    X(tensor_sm75, rgm_mma_fp16_k8, FP16, PATTERN, 0x3c003c00u)                                              \
    X(tensor_sm75, rgm_mma_int8_k16, INT8, PATTERN, 0x01010101u)                                             \
    X(tensor_sm80, rgm_mma_fp16, FP16, PATTERN, 0x3c003c00u)                                                 \
    X(tensor_sm80, rgm_mma_bf16, BF16, PATTERN, 0x3f803f80u)                                                 \
    X(tensor_sm80, rgm_mma_tf32, TF32, PATTERN, 0x3f800000u)                                                 \
    X(tensor_sm80, rgm_mma_int8, INT8, PATTERN, 0x01010101u)                                                 \
    X(tensor_sm89, rgm_mma_fp8, FP8, PATTERN, 0x38383838u)

typedef struct {
    const char *file, *entry, *source;
    rgm_ceiling_id id;
    int arguments;
    unsigned bits;
} compute_row;

static const compute_row rows[] = {
#define ROW(file, entry, type, arguments, bits)                                                              \
    {#file, #entry, "kernel " #entry, RGM_CEILING_COMPUTE_##type, arguments, bits},
    COMPUTE_KERNELS(ROW)
#undef ROW
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct {
    rgm_device_job *job;
    rgm_cu_pointer out;
    float floats[2];
    double doubles[2];
    unsigned bits[ROWS];
    int rounds[ROWS];
    bool usable[ROWS];
    rgm_gpu_launch launches[ROWS];
    void *arguments[ROWS][ARGUMENTS];
} compute_job;

static double operations(const compute_job *compute, int row) {
    const rgm_gpu_launch *launch = &compute->launches[row];
    double threads = (double)launch->grid[0] * launch->block[0];
    double units = rows[row].arguments == PATTERN ? threads / (double)WARP : threads;
    return units * compute->rounds[row] * rgm_kernel_work(rows[row].entry);
}

static rgm_status sample(void *arg, int what, double *value, rgm_error *err) {
    compute_job *compute = arg;
    double ns;
    (void)err; // the queue has it
    RGM_TRY(rgm_device_time(compute->job, &compute->launches[what], &ns));
    *value = operations(compute, what) / ns * 1e9;
    return RGM_OK;
}

static void set_arguments(compute_job *compute, int row) {
    void **list = compute->arguments[row];
    int kind = rows[row].arguments;
    size_t n = 0;
    compute->bits[row] = rows[row].bits;
    list[n++] = &compute->out;
    if (kind == FLOATS || kind == DOUBLES)
        for (int i = 0; i < 2; i++)
            list[n++] = kind == FLOATS ? (void *)&compute->floats[i] : (void *)&compute->doubles[i];
    for (int i = 0; i < (kind == PAIR ? 2 : kind == PATTERN ? 1 : 0); i++) list[n++] = &compute->bits[row];
    list[n] = &compute->rounds[row];
    rgm_device_fill(compute->job, &compute->launches[row]);
    compute->launches[row].arguments = list;
}

// As many rounds as a launch is to last.
static rgm_status set_rounds(compute_job *compute, int row) {
    double seconds = compute->job->request->effort.policy->kernel_seconds, ns = 0;
    compute->rounds[row] = FIRST_ROUNDS;
    RGM_TRY(rgm_gpu_warm_up(&compute->job->queue, &compute->launches[row], 1));
    for (int rounds = FIRST_ROUNDS; rounds <= MOST_ROUNDS && ns < seconds * 1e9; rounds *= 2) {
        compute->rounds[row] = rounds;
        RGM_TRY(rgm_device_time(compute->job, &compute->launches[row], &ns));
    }
    return RGM_OK;
}

// The e4m3 form of mma.sync is an instruction of 8.9 and of 12.x. For 9.0 and 10.x ptxas makes fp16 products
// and additions of it, whose rate is not that of fp8.
static bool is_native(rgm_ceiling_id id, int capability) {
    return id != RGM_CEILING_COMPUTE_FP8 || capability == 89 || capability / 10 == 12;
}

// A kernel that this device or compiler cannot have takes away its own figure only.
static rgm_status load(compute_job *compute, int row, rgm_figures *figures) {
    rgm_gpu_queue *queue = &compute->job->queue;
    rgm_error_clear(queue->err);
    if (!is_native(rows[row].id, queue->capability)) {
        rgm_figure_refuse(
            figures, rows[row].id,
            "compute capability %d.%d multiplies fp8 by warp groups only, which no kernel here does; "
            "torch._scaled_mm is measured where the program has imported torch",
            queue->capability / 10, queue->capability % 10);
        return RGM_OK;
    }
    rgm_status status =
        rgm_gpu_load(queue, rows[row].file, rows[row].entry, &compute->launches[row].function);
    if (status == RGM_UNAVAILABLE) {
        if (queue->err) rgm_figure_refuse(figures, rows[row].id, "%.200s", queue->err->message);
        return RGM_OK;
    }
    RGM_TRY(status);
    set_arguments(compute, row);
    compute->usable[row] = true;
    return set_rounds(compute, row);
}

// The best kernel for a type, if there is one.
static rgm_status choose(compute_job *compute, rgm_ceiling_id id, rgm_probe *probes, size_t *count) {
    rgm_probe candidates[ROWS];
    size_t found = 0, best = 0;
    for (int row = 0; row < ROWS; row++)
        if (rows[row].id == id && compute->usable[row])
            candidates[found++] = (rgm_probe){
                .id = id, .sample = sample, .arg = compute, .what = row, .source = rows[row].source};
    if (!found) return RGM_OK;
    RGM_TRY(
        rgm_probes_choose(candidates, found, &compute->job->request->effort, &best, compute->job->queue.err));
    probes[(*count)++] = candidates[best];
    return RGM_OK;
}

static rgm_status run(compute_job *compute, rgm_figures *figures) {
    rgm_device_job *job = compute->job;
    rgm_gpu_queue *queue = &job->queue;
    rgm_probe probes[RGM_PIPE_COUNT];
    rgm_gpu_launch whole;
    size_t count = 0;
    rgm_device_fill(job, &whole);
    RGM_GPU_TRY(queue, memory_alloc(&compute->out, (size_t)whole.grid[0] * whole.block[0] * ELEMENT),
                "allocating device memory");
    for (int row = 0; row < ROWS; row++) RGM_TRY(load(compute, row, figures));
    for (int id = RGM_CEILING_COMPUTE_FP64; id <= RGM_CEILING_COMPUTE_INT8; id++)
        RGM_TRY(choose(compute, (rgm_ceiling_id)id, probes, &count));
    return rgm_probes_measure(probes, count, &job->request->effort, figures, queue->err);
}

rgm_status rgm_device_compute(rgm_device_job *job, rgm_figures *figures) {
    // Factors below 1: values stay in a range in which no type overflows.
    compute_job compute = {.job = job, .floats = {0.5f, 0.25f}, .doubles = {0.5, 0.25}};
    rgm_status status = run(&compute, figures);
    (void)job->queue.driver->stream_synchronize(job->queue.stream);
    if (compute.out) (void)job->queue.driver->memory_free(compute.out);
    return status;
}
