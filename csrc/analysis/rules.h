// SPDX-License-Identifier: Apache-2.0
// What a piece of device work is for, told by its kind and, for kernels, by its name. The rules are a table;
// a user can put rules of his own in front of it.
#ifndef RGM_ANALYSIS_RULES_H
#define RGM_ANALYSIS_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "model/schema.h"

// X(NAME, token)
#define RGM_ACTIVITIES(X)                                                                                    \
    X(NONE, "none")                                                                                          \
    X(COMPUTE, "compute")                                                                                    \
    X(COMMUNICATION, "communication")                                                                        \
    X(MEMORY, "memory")

#define RGM_ACTIVITY_ENUM(name, token) RGM_ACTIVITY_##name,
typedef enum { RGM_ACTIVITIES(RGM_ACTIVITY_ENUM) RGM_ACTIVITY_COUNT } rgm_activity;

// Libraries of the communication rules, in alphabetical order behind the two that are no library: X(NAME,
// token)
#define RGM_LIBRARIES(X)                                                                                     \
    X(ALL, "all")                                                                                            \
    X(OTHER, "other")                                                                                        \
    X(CUSTOM, "custom all-reduce")                                                                           \
    X(DEEPEP, "DeepEP")                                                                                      \
    X(HCCL, "HCCL")                                                                                          \
    X(MSCCL, "MSCCL")                                                                                        \
    X(MSCCLPP, "MSCCL++")                                                                                    \
    X(NCCL, "NCCL")                                                                                          \
    X(NVSHMEM, "NVSHMEM")                                                                                    \
    X(RCCL, "RCCL")                                                                                          \
    X(ROCSHMEM, "rocSHMEM")                                                                                  \
    X(SYMMETRIC, "symmetric memory")                                                                         \
    X(TENSORRT, "TensorRT-LLM")                                                                              \
    X(USERBUFFERS, "Transformer Engine")

#define RGM_LIBRARY_ENUM(name, token) RGM_LIBRARY_##name,
typedef enum { RGM_LIBRARIES(RGM_LIBRARY_ENUM) RGM_LIBRARY_COUNT } rgm_kernel_library;

// A kernel whose name contains `text` (case counts; a leading ^ ties it to the beginning) does `activity`.
typedef struct {
    const char *text;
    uint8_t activity;
    const char *library;
} rgm_rule;

extern const rgm_rule rgm_rules_builtin[];
extern const size_t rgm_rules_builtin_count;

// The first rule that matches, NULL for none.
const rgm_rule *rgm_rules_match(const rgm_rule *rules, size_t count, const char *name, size_t length);
// The library of a communication kernel; OTHER for one that only a rule of the user makes communication.
rgm_kernel_library rgm_rules_library(const char *name, size_t length);

#endif
