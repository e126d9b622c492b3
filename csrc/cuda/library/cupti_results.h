// SPDX-License-Identifier: Apache-2.0
// What all of CUPTI's interfaces share: the results that are told apart, and how a function is given its
// parameters.
#ifndef RGM_CUDA_CUPTI_RESULTS_H
#define RGM_CUDA_CUPTI_RESULTS_H

#include <stddef.h>

typedef int rgm_cupti_result;

// X(NAME, value, text): results that are told apart, and what they mean to a user.
#define RGM_CUPTI_RESULTS(X)                                                                                 \
    X(SUCCESS, 0, "success")                                                                                 \
    X(INVALID_PARAMETER, 1, "invalid parameter")                                                             \
    X(INVALID_DEVICE, 2, "invalid device")                                                                   \
    X(INVALID_CONTEXT, 3, "no usable CUDA context")                                                          \
    X(INVALID_OPERATION, 7, "not possible in this state, or in use by another profiler")                     \
    X(OUT_OF_MEMORY, 8, "out of memory")                                                                     \
    X(HARDWARE, 9, "hardware error")                                                                         \
    X(MAX_LIMIT_REACHED, 12, "a limit was reached")                                                          \
    X(NOT_INITIALIZED, 15, "not initialised")                                                                \
    X(INVALID_METRIC_NAME, 17, "the chip has no such metric")                                                \
    X(INVALID_KIND, 21, "no such kind of record")                                                            \
    X(HARDWARE_BUSY, 26, "the counters are in use by another profiler")                                      \
    X(NOT_SUPPORTED, 27, "not supported by this device")                                                     \
    X(INSUFFICIENT_PRIVILEGES, 35, "insufficient privileges")                                                \
    X(LEGACY_PROFILER_NOT_SUPPORTED, 38, "the device is too old for this interface")                         \
    X(MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39, "another tool has subscribed")                                 \
    X(VIRTUAL_PRIVILEGES, 40, "the hypervisor does not allow profiling")                                     \
    X(CONFIDENTIAL, 41, "not supported in confidential computing")                                           \
    X(MIG, 43, "not supported on this MIG device")                                                           \
    X(WSL, 45, "not supported under WSL")                                                                    \
    X(INVALID_CHIP_NAME, 46, "unknown chip")                                                                 \
    X(UNKNOWN, 999, "unknown error")

#define RGM_CUPTI_RESULT_ENUM(name, value, text) RGM_CUPTI_##name = (value),
enum { RGM_CUPTI_RESULTS(RGM_CUPTI_RESULT_ENUM) };

// A struct of parameters begins with its own size, up to the end of its last member, not sizeof: the library
// tells the versions of a struct apart by it. RGM_PARAMS declares a zeroed one with that size.
// NOLINTBEGIN(bugprone-sizeof-expression): the last member may be a pointer, and its own size is what is
// meant.
#define RGM_PARAMS(type, name, last) type name = {.size = offsetof(type, last) + sizeof(((type *)0)->last)}
// NOLINTEND(bugprone-sizeof-expression)

#endif
