// SPDX-License-Identifier: Apache-2.0
// Peaks that makers print, by the exact name that the driver gives a device: what a measurement is checked
// against, never a measurement. A name that is not here has no row: a similar name may be another chip.
#ifndef RGM_MODEL_DATASHEETS_H
#define RGM_MODEL_DATASHEETS_H

#include <stddef.h>

#include "model/regimes.h"

// X(name, GB/s, then 1e12 operations/s: fp64, fp32, tf32, fp16, bf16, fp8, int8), 0: not offered or not
// stated. All of them dense, without sparsity, with fp32 accumulation where there is a choice; fp64 with
// tensor cores where there are such, and 16-bit types on tensor cores. int8 of a V100 is that of dp4a.
// Sources: datasheets of the makers, as docs/calibration.md has them.
#define RGM_DATASHEETS(X)                                                                                    \
    X("Tesla T4", 320, 0.25, 8.1, 0, 65, 0, 0, 130)                                                          \
    X("Tesla V100-SXM2-16GB", 900, 7.8, 15.7, 0, 125, 0, 0, 62)                                              \
    X("Tesla V100-SXM2-32GB", 900, 7.8, 15.7, 0, 125, 0, 0, 62)                                              \
    X("A100-SXM4-40GB", 1555, 19.5, 19.5, 156, 312, 312, 0, 624)                                             \
    X("NVIDIA A100-SXM4-40GB", 1555, 19.5, 19.5, 156, 312, 312, 0, 624)                                      \
    X("A100-PCIE-40GB", 1555, 19.5, 19.5, 156, 312, 312, 0, 624)                                             \
    X("NVIDIA A100-PCIE-40GB", 1555, 19.5, 19.5, 156, 312, 312, 0, 624)                                      \
    X("A100-SXM4-80GB", 2039, 19.5, 19.5, 156, 312, 312, 0, 624)                                             \
    X("NVIDIA A100-SXM4-80GB", 2039, 19.5, 19.5, 156, 312, 312, 0, 624)                                      \
    X("NVIDIA A100 80GB PCIe", 1935, 19.5, 19.5, 156, 312, 312, 0, 624)                                      \
    X("NVIDIA A10", 600, 0.98, 31.2, 62.5, 125, 125, 0, 250)                                                 \
    X("NVIDIA A10G", 600, 0.98, 31.5, 35, 70, 70, 0, 140)                                                    \
    X("NVIDIA L4", 300, 0.47, 30.3, 60, 121, 121, 242, 242)                                                  \
    X("NVIDIA L40S", 864, 1.4, 91.6, 183, 362, 362, 733, 733)                                                \
    X("NVIDIA GeForce RTX 3090", 936, 0.56, 35.6, 35.6, 71, 71, 0, 284)                                      \
    X("NVIDIA GeForce RTX 4090", 1008, 1.29, 82.6, 82.6, 165, 165, 330, 661)                                 \
    X("NVIDIA H100 80GB HBM3", 3350, 67, 67, 494.5, 989, 989, 1979, 1979)                                    \
    X("NVIDIA H100 PCIe", 2039, 51, 51, 378, 756, 756, 1513, 1513)                                           \
    X("NVIDIA H200", 4800, 67, 67, 494.5, 989, 989, 1979, 1979)                                              \
    X("NVIDIA B200", 8000, 40, 80, 1125, 2250, 2250, 4500, 4500)                                             \
    X("NVIDIA GB200", 8000, 45, 90, 1250, 2500, 2500, 5000, 5000)

typedef struct {
    const char *name;
    double bytes_per_s;          // memory bandwidth
    double peak[RGM_PIPE_COUNT]; // operations/s by rgm_pipe, 0: none stated
} rgm_datasheet;

extern const rgm_datasheet rgm_datasheets[];
extern const size_t rgm_datasheets_count;

#endif
