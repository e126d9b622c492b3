// SPDX-License-Identifier: Apache-2.0
// Declarations of the CUDA driver interface that this code calls, so that it builds without CUDA's headers.
// tests/core/test_cuda_headers.c compares them with the real ones where those are installed.
#ifndef RGM_CUDA_DRIVER_TYPES_H
#define RGM_CUDA_DRIVER_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int rgm_cu_result;
typedef int rgm_cu_device;
typedef struct rgm_cu_context_s *rgm_cu_context;
typedef struct rgm_cu_green_context_s *rgm_cu_green_context;
typedef struct rgm_cu_stream_s *rgm_cu_stream;
typedef struct rgm_cu_event_s *rgm_cu_event;
typedef struct rgm_cu_module_s *rgm_cu_module;
typedef struct rgm_cu_function_s *rgm_cu_function;
typedef struct rgm_cu_graph_s *rgm_cu_graph;
typedef struct rgm_cu_graph_exec_s *rgm_cu_graph_exec;
typedef unsigned long long rgm_cu_pointer;
typedef struct {
    unsigned char bytes[16];
} rgm_cu_uuid;

// X(NAME, value): the results that are told apart.
#define RGM_CU_RESULTS(X)                                                                                    \
    X(SUCCESS, 0)                                                                                            \
    X(INVALID_VALUE, 1)                                                                                      \
    X(OUT_OF_MEMORY, 2)                                                                                      \
    X(NOT_INITIALIZED, 3)                                                                                    \
    X(DEINITIALIZED, 4)                                                                                      \
    X(NO_DEVICE, 100)                                                                                        \
    X(INVALID_DEVICE, 101)                                                                                   \
    X(INVALID_CONTEXT, 201)                                                                                  \
    X(INVALID_HANDLE, 400)                                                                                   \
    X(NOT_READY, 600)                                                                                        \
    X(ILLEGAL_ADDRESS, 700)                                                                                  \
    X(CONTEXT_IS_DESTROYED, 709)                                                                             \
    X(LAUNCH_FAILED, 719)                                                                                    \
    X(NOT_PERMITTED, 800)                                                                                    \
    X(NOT_SUPPORTED, 801)                                                                                    \
    X(STREAM_CAPTURE_UNSUPPORTED, 900)                                                                       \
    X(STREAM_CAPTURE_INVALIDATED, 901)                                                                       \
    X(STREAM_CAPTURE_IMPLICIT, 906)                                                                          \
    X(CAPTURED_EVENT, 907)

#define RGM_CU_RESULT_ENUM(name, value) RGM_CU_##name = (value),
enum { RGM_CU_RESULTS(RGM_CU_RESULT_ENUM) };

enum { RGM_CU_CAPTURE_NONE = 0, RGM_CU_CAPTURE_ACTIVE = 1, RGM_CU_CAPTURE_INVALIDATED = 2 };
enum {
    RGM_CU_CAPTURE_MODE_GLOBAL = 0,
    RGM_CU_CAPTURE_MODE_THREAD_LOCAL = 1,
    RGM_CU_CAPTURE_MODE_RELAXED = 2
};
enum { RGM_CU_EVENT_DEFAULT = 0, RGM_CU_EVENT_RECORD_EXTERNAL = 1 };

#endif
