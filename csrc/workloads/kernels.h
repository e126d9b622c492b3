// SPDX-License-Identifier: Apache-2.0
// The device kernels of this project: their text, embedded by the build, and what each file needs.
//
// A file csrc/workloads/kernels/NAME.cu is one module. The nine workloads are listed in workloads/workload.h;
// the kernels that calibrate a device are listed here, with the work of one launch.
#ifndef RGM_WORKLOADS_KERNELS_H
#define RGM_WORKLOADS_KERNELS_H

#include "cuda/compile/cubin_cache.h"

// X(file, lowest compute capability times ten, what it is for).
#define RGM_KERNEL_FILES(X)                                                                                  \
    X(bandwidth, 50, "bandwidth of memory and of the second-level cache")                                    \
    X(arithmetic, 50, "peak of fp32 and fp64 multiply-adds")                                                 \
    X(packed_fp16, 53, "peak of packed fp16 multiply-adds")                                                  \
    X(packed_bf16, 80, "peak of packed bf16 multiply-adds")                                                  \
    X(tensor_sm75, 75, "tensor cores: fp16 and int8 of 7.5")                                                 \
    X(tensor_sm80, 80, "tensor cores: fp16, bf16, tf32 and int8")                                            \
    X(tensor_sm89, 89, "tensor cores: fp8")                                                                  \
    X(latency, 50, "shortest kernel, latency of memory, clocks, holding a stream")                           \
    X(ar_forecast, 50, "workload")                                                                           \
    X(lstm_cell_forward, 50, "workload")                                                                     \
    X(pixel_entropy, 50, "workload")                                                                         \
    X(conv2d, 50, "workload")                                                                                \
    X(image_segmentation, 50, "workload")                                                                    \
    X(dendritic_integration, 50, "workload")                                                                 \
    X(vector_add, 50, "workload")                                                                            \
    X(matrix_multiply, 50, "workload")                                                                       \
    X(dot_product, 50, "workload")

// X(file, entry, unit, work of one unit, what it measures). Work is bytes (bandwidth) or operations
// (everything else); the unit is what it is counted for.
#define RGM_CALIBRATION_KERNELS(X)                                                                           \
    X(bandwidth, rgm_copy, "16-byte unit", 32, "bytes read and written")                                     \
    X(bandwidth, rgm_triad, "16-byte unit", 48, "bytes read and written")                                    \
    X(bandwidth, rgm_read, "16-byte unit", 16, "bytes read")                                                 \
    X(bandwidth, rgm_fill, "16-byte unit", 16, "bytes written")                                              \
    X(bandwidth, rgm_read_l2, "16-byte unit and pass", 16, "bytes read from the second-level cache")         \
    X(arithmetic, rgm_fma_fp32, "thread and round", 256, "fp32 operations")                                  \
    X(arithmetic, rgm_fma_fp64, "thread and round", 256, "fp64 operations")                                  \
    X(packed_fp16, rgm_fma_fp16, "thread and round", 512, "fp16 operations")                                 \
    X(packed_bf16, rgm_fma_bf16, "thread and round", 512, "bf16 operations")                                 \
    X(tensor_sm75, rgm_mma_fp16_k8, "warp and round", 16384, "fp16 operations, fp32 accumulation")           \
    X(tensor_sm75, rgm_mma_int8_k16, "warp and round", 16384, "int8 operations")                             \
    X(tensor_sm80, rgm_mma_fp16, "warp and round", 32768, "fp16 operations, fp32 accumulation")              \
    X(tensor_sm80, rgm_mma_bf16, "warp and round", 32768, "bf16 operations, fp32 accumulation")              \
    X(tensor_sm80, rgm_mma_tf32, "warp and round", 16384, "tf32 operations")                                 \
    X(tensor_sm80, rgm_mma_int8, "warp and round", 65536, "int8 operations")                                 \
    X(tensor_sm89, rgm_mma_fp8, "warp and round", 65536, "fp8 operations, fp32 accumulation")                \
    X(latency, rgm_empty, "launch", 0, "duration of the shortest kernel")                                    \
    X(latency, rgm_chase, "step", 1, "dependent loads")                                                      \
    X(latency, rgm_timestamp, "launch", 0, "nanoseconds and cycles of the device")                           \
    X(latency, rgm_hold, "launch", 0, "holds a stream until the host lets go")

typedef struct {
    const char *file; // without ".cu"
    const char *text;
} rgm_kernel_source;

typedef struct {
    const char *name;
    int lowest; // compute capability times ten
    const char *doc;
} rgm_kernel_file;

typedef struct {
    const char *file;
    const char *entry;
    const char *unit;
    int work;
    const char *doc;
} rgm_calibration_kernel;

// Written by cmake/embed_kernels.cmake.
extern const rgm_kernel_source rgm_kernel_sources[];
extern const size_t rgm_kernel_sources_count;
extern const char rgm_kernel_header[];

extern const rgm_kernel_file rgm_kernel_files[];
extern const size_t rgm_kernel_files_count;
extern const rgm_calibration_kernel rgm_calibration_kernels[];
extern const size_t rgm_calibration_kernels_count;

// Compiles a file, or takes it from the cache (NULL: none), and appends the image. RGM_INVALID when there is
// no such file; RGM_UNAVAILABLE when there is no compiler or the architecture is below what the file needs.
rgm_status rgm_kernel_compile(const char *file, const char *arch, rgm_cubin_cache *cache, rgm_bytes *image,
                              rgm_error *err) RGM_NODISCARD;

#endif
