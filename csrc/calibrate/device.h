// SPDX-License-Identifier: Apache-2.0
// What a CUDA device can reach, measured with the calibration kernels on a stream of ours.
#ifndef RGM_CALIBRATE_DEVICE_H
#define RGM_CALIBRATE_DEVICE_H

#include "calibrate/figure.h"
#include "workloads/gpu_queue.h"

// X(NAME, token, doc): measured apart, so that whoever asks can say how far it has come.
#define RGM_DEVICE_PARTS(X)                                                                                  \
    X(MEMORY, "memory", "bandwidth of memory and of the second-level cache")                                 \
    X(COMPUTE, "compute", "arithmetic and tensor cores")                                                     \
    X(LAUNCH, "launch", "launches, gaps and graphs")                                                         \
    X(TRANSFER, "transfer", "copies between host and device")

#define RGM_DEVICE_PART_ENUM(name, token, doc) RGM_DEVICE_##name,
typedef enum { RGM_DEVICE_PARTS(RGM_DEVICE_PART_ENUM) RGM_DEVICE_PART_COUNT } rgm_device_part;

// What the driver tells of a device. Zero where it does not.
typedef struct {
    char name[128];
    char uuid[48];  // "GPU-..."
    int capability; // times ten
    int multiprocessors;
    int64_t l2_bytes, memory_bytes;
    int driver_version;         // 13000: CUDA 13.0
    double derived_bytes_per_s; // two words a clock of the memory bus
    double derived_fp32;        // operations/s: a multiply-add a core and clock; 0: cores are not known
    double clock_hz, memory_hz;
} rgm_device_about;

rgm_status rgm_device_describe(int ordinal, rgm_device_about *about, rgm_error *err) RGM_NODISCARD;

typedef struct {
    rgm_effort effort;
    int device; // the driver's ordinal
    rgm_cubin_cache *cache;
} rgm_device_request;

// Fills the figures of a part: a value, or the reason why there is none. RGM_UNAVAILABLE when the device
// cannot be used at all, RGM_LIMIT when it was ended or its memory is full. `gaps` counts timings that may
// hold time in which the device waited for the host.
rgm_status rgm_device_measure(rgm_device_part part, const rgm_device_request *request, rgm_figures *figures,
                              uint32_t *gaps, rgm_error *err) RGM_NODISCARD;

// What the parts share: the open queue and what is being timed.
typedef struct {
    rgm_gpu_queue queue;
    const rgm_device_request *request;
    rgm_device_about about;
    uint32_t gaps;
} rgm_device_job;

rgm_status rgm_device_memory(rgm_device_job *job, rgm_figures *figures) RGM_NODISCARD;
rgm_status rgm_device_compute(rgm_device_job *job, rgm_figures *figures) RGM_NODISCARD;
rgm_status rgm_device_launches(rgm_device_job *job, rgm_figures *figures) RGM_NODISCARD;
rgm_status rgm_device_transfers(rgm_device_job *job, rgm_figures *figures) RGM_NODISCARD;

// Work of one unit of a calibration kernel; 0 for a name that is none.
double rgm_kernel_work(const char *entry);
// Nanoseconds of one launch, at least 1.
rgm_status rgm_device_time(rgm_device_job *job, const rgm_gpu_launch *what, double *ns) RGM_NODISCARD;
// A grid that fills the device.
void rgm_device_fill(const rgm_device_job *job, rgm_gpu_launch *what);

#endif
