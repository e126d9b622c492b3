// SPDX-License-Identifier: Apache-2.0
#include "calibrate/device.h"

#include <stdio.h>
#include <string.h>

enum {
    ATTRIBUTE_CLOCK_KHZ = 13,
    ATTRIBUTE_MULTIPROCESSORS = 16,
    ATTRIBUTE_MEMORY_KHZ = 36,
    ATTRIBUTE_BUS_BITS = 37,
    ATTRIBUTE_L2_BYTES = 38,
    ATTRIBUTE_MAJOR = 75,
    ATTRIBUTE_MINOR = 76,
    BLOCK = 256,
    BLOCKS_A_MULTIPROCESSOR = 8, // 2048 threads, as many as one holds
};

// fp32 cores of a multiprocessor by compute capability, from NVIDIA's programming guide; 0: not known here.
static int cores_of(int capability) {
    static const struct {
        int capability, cores;
    } rows[] = {{50, 128}, {52, 128}, {60, 64},  {61, 128}, {70, 64},   {72, 64},   {75, 64},  {80, 64},
                {86, 128}, {87, 128}, {89, 128}, {90, 128}, {100, 128}, {103, 128}, {120, 128}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].capability == capability) return rows[i].cores;
    return 0;
}

static int attribute(const rgm_driver *driver, rgm_cu_device device, int which) {
    int value = 0;
    return driver->device_attribute(&value, which, device) == RGM_CU_SUCCESS ? value : 0;
}

static void write_uuid(char text[48], const rgm_cu_uuid *uuid) {
    static const char dashes[16] = {[4] = 1, [6] = 1, [8] = 1, [10] = 1};
    size_t at = (size_t)snprintf(text, 48, "GPU-");
    for (size_t i = 0; i < 16; i++)
        at += (size_t)snprintf(text + at, 48 - at, "%s%02x", dashes[i] ? "-" : "", uuid->bytes[i]);
}

rgm_status rgm_device_describe(int ordinal, rgm_device_about *about, rgm_error *err) {
    const rgm_driver *driver;
    rgm_cu_device device;
    rgm_cu_uuid uuid;
    size_t bytes = 0;
    int count = 0;
    *about = (rgm_device_about){0};
    RGM_TRY(rgm_driver_start(&driver, err));
    (void)driver->device_count(&count);
    if (ordinal < 0 || ordinal >= count || driver->device_get(&device, ordinal) != RGM_CU_SUCCESS)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "calibration: no CUDA device %d; CUDA sees %d (CUDA_VISIBLE_DEVICES)", ordinal,
                             count);
    (void)driver->device_name(about->name, sizeof about->name, device);
    if (driver->device_uuid(&uuid, device) == RGM_CU_SUCCESS) write_uuid(about->uuid, &uuid);
    if (driver->device_memory(&bytes, device) == RGM_CU_SUCCESS) about->memory_bytes = (int64_t)bytes;
    (void)driver->driver_version(&about->driver_version);
    about->capability =
        10 * attribute(driver, device, ATTRIBUTE_MAJOR) + attribute(driver, device, ATTRIBUTE_MINOR);
    about->multiprocessors = attribute(driver, device, ATTRIBUTE_MULTIPROCESSORS);
    about->l2_bytes = attribute(driver, device, ATTRIBUTE_L2_BYTES);
    about->clock_hz = attribute(driver, device, ATTRIBUTE_CLOCK_KHZ) * 1e3;
    about->memory_hz = attribute(driver, device, ATTRIBUTE_MEMORY_KHZ) * 1e3;
    about->derived_bytes_per_s = 2 * about->memory_hz * attribute(driver, device, ATTRIBUTE_BUS_BITS) / 8;
    about->derived_fp32 = 2.0 * cores_of(about->capability) * about->multiprocessors * about->clock_hz;
    return RGM_OK;
}

// --- what the parts share ---------------------------------------------------------------------------------

double rgm_kernel_work(const char *entry) {
    for (size_t i = 0; i < rgm_calibration_kernels_count; i++)
        if (strcmp(rgm_calibration_kernels[i].entry, entry) == 0) return rgm_calibration_kernels[i].work;
    return 0;
}

rgm_status rgm_device_time(rgm_device_job *job, const rgm_gpu_launch *what, double *ns) {
    int64_t time_ns = 0;
    RGM_TRY(rgm_gpu_time(&job->queue, what, 1, &time_ns, &job->gaps));
    *ns = time_ns > 0 ? (double)time_ns : 1;
    return RGM_OK;
}

void rgm_device_fill(const rgm_device_job *job, rgm_gpu_launch *what) {
    uint32_t blocks = (uint32_t)job->about.multiprocessors * BLOCKS_A_MULTIPROCESSOR;
    what->grid[0] = blocks ? blocks : BLOCKS_A_MULTIPROCESSOR;
    what->grid[1] = what->grid[2] = 1;
    what->block[0] = BLOCK;
    what->block[1] = what->block[2] = 1;
}

static rgm_status measure(rgm_device_part part, rgm_device_job *job, rgm_figures *figures) {
    switch (part) {
    case RGM_DEVICE_MEMORY: return rgm_device_memory(job, figures);
    case RGM_DEVICE_COMPUTE: return rgm_device_compute(job, figures);
    case RGM_DEVICE_LAUNCH: return rgm_device_launches(job, figures);
    case RGM_DEVICE_TRANSFER: return rgm_device_transfers(job, figures);
    default: return rgm_error_set(job->queue.err, RGM_INVALID, "calibration: no part %d", (int)part);
    }
}

rgm_status rgm_device_measure(rgm_device_part part, const rgm_device_request *request, rgm_figures *figures,
                              uint32_t *gaps, rgm_error *err) {
    rgm_device_job job = {.request = request};
    rgm_figures_clear(figures);
    *gaps = 0;
    RGM_TRY(rgm_device_describe(request->device, &job.about, err));
    rgm_status status = rgm_gpu_open(&job.queue, request->device, "calibration", request->cache, err);
    if (status == RGM_OK) status = measure(part, &job, figures);
    rgm_gpu_close(&job.queue);
    *gaps = job.gaps;
    return status;
}
