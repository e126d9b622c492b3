// SPDX-License-Identifier: Apache-2.0
// The functions of AMD's HIP runtime that event timing calls, as one table. Declared here, so that nothing of
// ROCm is needed to build; no hardware has confirmed it yet.
#ifndef RGM_CUDA_HIP_LIBRARY_H
#define RGM_CUDA_HIP_LIBRARY_H

#include "cuda/library/library.h"

typedef int rgm_hip_result;
typedef struct rgm_hip_stream_s *rgm_hip_stream;
typedef struct rgm_hip_event_s *rgm_hip_event;

// X(NAME, value): the results that are told apart.
#define RGM_HIP_RESULTS(X)                                                                                   \
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
    X(CONTEXT_IS_DESTROYED, 709)                                                                             \
    X(STREAM_CAPTURE_UNSUPPORTED, 900)                                                                       \
    X(STREAM_CAPTURE_INVALIDATED, 901)                                                                       \
    X(STREAM_CAPTURE_IMPLICIT, 906)                                                                          \
    X(CAPTURED_EVENT, 907)

#define RGM_HIP_RESULT_ENUM(name, value) RGM_HIP_##name = (value),
enum { RGM_HIP_RESULTS(RGM_HIP_RESULT_ENUM) };

enum { RGM_HIP_CAPTURE_MODE_RELAXED = 2, RGM_HIP_STREAM_NON_BLOCKING = 1 };
enum { RGM_HIP_EVENTS, RGM_HIP_CAPTURE, RGM_HIP_STREAM_DEVICE }; // capabilities

// X(CAPABILITY, member, symbol, parameters); all return rgm_hip_result.
#define RGM_HIP_SYMBOLS(X)                                                                                   \
    X(EVENTS, get_device, "hipGetDevice", (int *device))                                                     \
    X(EVENTS, set_device, "hipSetDevice", (int device))                                                      \
    X(EVENTS, event_create, "hipEventCreateWithFlags", (rgm_hip_event * event, unsigned flags))              \
    X(EVENTS, event_destroy, "hipEventDestroy", (rgm_hip_event event))                                       \
    X(EVENTS, event_record, "hipEventRecord", (rgm_hip_event event, rgm_hip_stream stream))                  \
    X(EVENTS, event_query, "hipEventQuery", (rgm_hip_event event))                                           \
    X(EVENTS, event_elapsed, "hipEventElapsedTime",                                                          \
      (float *milliseconds, rgm_hip_event begin, rgm_hip_event end))                                         \
    X(EVENTS, stream_create, "hipStreamCreateWithFlags", (rgm_hip_stream * stream, unsigned flags))          \
    X(EVENTS, stream_destroy, "hipStreamDestroy", (rgm_hip_stream stream))                                   \
    X(CAPTURE, stream_capturing, "hipStreamIsCapturing", (rgm_hip_stream stream, int *status))               \
    X(CAPTURE, exchange_capture_mode, "hipThreadExchangeStreamCaptureMode", (int *mode))                     \
    X(STREAM_DEVICE, stream_device, "hipStreamGetDevice", (rgm_hip_stream stream, int *device))

#define RGM_HIP_MEMBER(capability, member, symbol, parameters) rgm_hip_result(*member) parameters;
typedef struct {
    rgm_library library;
    RGM_HIP_SYMBOLS(RGM_HIP_MEMBER)
} rgm_hip;

extern const rgm_library_spec rgm_hip_spec;

// The table, when the program has loaded the runtime. From any thread.
rgm_status rgm_hip_get(const rgm_hip **hip, rgm_error *err) RGM_NODISCARD;
// Tests only: forgets the table, so that another library can be loaded.
void rgm_hip_forget(void);

#endif
