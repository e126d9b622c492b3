// SPDX-License-Identifier: Apache-2.0
// Which metrics of a chip fill the roles of a set, and in how many passes. One pass is what can be measured
// without running the user's code again, so only that is ever started; this tells, before anything runs, what
// it holds.
//
// Needs no device, only CUPTI's library (see counter_host.h).
#ifndef RGM_CUDA_COUNTER_PLAN_H
#define RGM_CUDA_COUNTER_PLAN_H

#include "cuda/counters/counter_host.h"
#include "model/counter_roles.h"

// X(NAME, token, profiler, doc, roles in order of importance)
#define RGM_COUNTER_SETS(X)                                                                                  \
    X(PM, "pm", RGM_CUPTI_PM_SAMPLING, "samples of the whole device over time",                              \
      (GPU_TIME, DRAM_THROUGHPUT, TENSOR_ACTIVE, SM_ACTIVE, IPC, GR_ACTIVE, DRAM_READ, DRAM_WRITE,           \
       WARPS_ACTIVE, PCIE_READ, PCIE_WRITE, SM_CLOCK, DRAM_CLOCK, SYS_CLOCK))                                \
    X(REGIME, "regime", RGM_CUPTI_RANGE_PROFILER, "what bounds a range",                                     \
      (GPU_TIME, DRAM_THROUGHPUT, TENSOR_ACTIVE, IPC, SM_ACTIVE))                                            \
    X(ROOFLINE, "roofline-hw", RGM_CUPTI_RANGE_PROFILER, "bytes and work of a range, for a roofline",        \
      (GPU_TIME, DRAM_BYTES, SM_CLOCK, DRAM_CLOCK, TENSOR_INSTRUCTIONS, TENSOR_ACTIVE))                      \
    X(FP, "fp", RGM_CUPTI_RANGE_PROFILER, "floating-point operations of a range, without tensor cores",      \
      (HADD, HMUL, HFMA, FADD, FMUL, FFMA, DADD, DMUL, DFMA))                                                \
    X(TENSOR, "tensor", RGM_CUPTI_RANGE_PROFILER, "operations of the tensor cores by data type",             \
      (TENSOR_FP16, TENSOR_BF16, TENSOR_TF32, TENSOR_FP8, TENSOR_INT8, TENSOR_FP64))                         \
    X(SPEED_OF_LIGHT, "speed-of-light", RGM_CUPTI_RANGE_PROFILER,                                            \
      "utilisation of the busiest units, as Nsight Compute shows it",                                        \
      (SM_THROUGHPUT, COMPUTE_MEMORY, DRAM_THROUGHPUT))

#define RGM_COUNTER_SET_ENUM(name, token, profiler, doc, roles) RGM_COUNTER_SET_##name,
typedef enum {
    RGM_COUNTER_SETS(RGM_COUNTER_SET_ENUM) RGM_COUNTER_SET_COUNT,
    RGM_COUNTER_SET_NONE = -1
} rgm_counter_set;

enum { RGM_PLAN_ROLES = 16, RGM_PLAN_METRIC = 96 };

typedef struct {
    const char *token, *doc;
    int profiler;              // RGM_CUPTI_RANGE_PROFILER or _PM_SAMPLING
    int roles[RGM_PLAN_ROLES]; // of rgm_counter_role
    int count;
} rgm_counter_set_row;

extern const rgm_counter_set_row rgm_counter_sets[RGM_COUNTER_SET_COUNT];
rgm_counter_set rgm_counter_set_find(const char *token);

enum { RGM_PLAN_ABSENT = -1, RGM_PLAN_TOO_MANY = -2 };

typedef struct {
    rgm_counter_role role;
    char metric[RGM_PLAN_METRIC]; // empty when the chip has none for the role
    int pass;   // single-pass group that holds it, from 0; RGM_PLAN_ABSENT; RGM_PLAN_TOO_MANY: several by
                // itself
    int passes; // that it needs alone, 0 when absent
} rgm_counter_plan_row;

typedef struct {
    char chip[32];
    rgm_counter_set set;
    rgm_counter_plan_row rows[RGM_PLAN_ROLES];
    size_t count;
    size_t passes; // of all metrics together, 0 when the chip has none of them
    int groups;    // single-pass groups; group 0 is what a measurement starts
} rgm_counter_plan;

// Plans the set for the chip. `availability` as in rgm_counter_host_open.
rgm_status rgm_counter_plan_make(rgm_counter_plan *plan, const rgm_counter_library *library,
                                 rgm_counter_set set, const char *chip, const uint8_t *availability,
                                 rgm_error *err) RGM_NODISCARD;

// The metrics of group 0 and their configuration, ready for a profiler. Zeroed memory is a valid argument of
// release.
typedef struct {
    rgm_counter_host host;               // open, holds the metrics
    const char *metrics[RGM_PLAN_ROLES]; // in the plan's memory
    size_t count;
    uint8_t *image;
    size_t image_size;
} rgm_counter_configuration;

// RGM_UNAVAILABLE when no metric of the plan can be measured in one pass.
rgm_status rgm_counter_configuration_make(rgm_counter_configuration *made, const rgm_counter_plan *plan,
                                          const rgm_counter_library *library, const uint8_t *availability,
                                          rgm_error *err) RGM_NODISCARD;
void rgm_counter_configuration_release(rgm_counter_configuration *made);

#endif
