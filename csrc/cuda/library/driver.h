// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's functions, as one table that is filled once.
//
// Threads: get from any thread. Fork: a child of a process that used the driver cannot use it any more, and
// get says so there; no function of the table is called by this code in such a child.
#ifndef RGM_CUDA_DRIVER_H
#define RGM_CUDA_DRIVER_H

#include "cuda/library/driver_types.h"
#include "cuda/library/library.h"

// Capabilities: X(NAME, what it is for).
#define RGM_DRIVER_CAPABILITIES(X)                                                                           \
    X(BASE, "devices and contexts")                                                                          \
    X(EVENTS, "event timing")                                                                                \
    X(CAPTURE, "telling stream capture")                                                                     \
    X(CAPTURE_MODE, "queries beside a capture")                                                              \
    X(CONTEXT_ID, "telling contexts apart after a reset")                                                    \
    X(GREEN_CONTEXTS, "telling green contexts")                                                              \
    X(EXTERNAL_EVENTS, "events inside CUDA graphs")                                                          \
    X(MODULES, "loading and launching kernels")                                                              \
    X(OCCUPANCY, "occupancy")                                                                                \
    X(GRAPHS, "replaying graphs")

// X(CAPABILITY, member, symbol, parameters); all return rgm_cu_result.
#define RGM_DRIVER_SYMBOLS(X)                                                                                \
    X(BASE, init, "cuInit", (unsigned flags))                                                                \
    X(BASE, driver_version, "cuDriverGetVersion", (int *version))                                            \
    X(BASE, error_name, "cuGetErrorName", (rgm_cu_result result, const char **text))                         \
    X(BASE, device_count, "cuDeviceGetCount", (int *count))                                                  \
    X(BASE, device_get, "cuDeviceGet", (rgm_cu_device * device, int ordinal))                                \
    X(BASE, device_name, "cuDeviceGetName", (char *name, int room, rgm_cu_device device))                    \
    X(BASE, device_uuid, "cuDeviceGetUuid", (rgm_cu_uuid * uuid, rgm_cu_device device))                      \
    X(BASE, device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, rgm_cu_device device))     \
    X(BASE, device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, rgm_cu_device device))                     \
    X(BASE, context_current, "cuCtxGetCurrent", (rgm_cu_context * context))                                  \
    X(BASE, context_device, "cuCtxGetDevice", (rgm_cu_device * device))                                      \
    X(BASE, context_push, "cuCtxPushCurrent_v2", (rgm_cu_context context))                                   \
    X(BASE, context_pop, "cuCtxPopCurrent_v2", (rgm_cu_context * context))                                   \
    X(BASE, context_synchronize, "cuCtxSynchronize", (void))                                                 \
    X(BASE, primary_retain, "cuDevicePrimaryCtxRetain", (rgm_cu_context * context, rgm_cu_device device))    \
    X(BASE, primary_release, "cuDevicePrimaryCtxRelease_v2", (rgm_cu_device device))                         \
    X(BASE, primary_state, "cuDevicePrimaryCtxGetState",                                                     \
      (rgm_cu_device device, unsigned *flags, int *active))                                                  \
    X(BASE, stream_create, "cuStreamCreate", (rgm_cu_stream * stream, unsigned flags))                       \
    X(BASE, stream_destroy, "cuStreamDestroy_v2", (rgm_cu_stream stream))                                    \
    X(BASE, stream_synchronize, "cuStreamSynchronize", (rgm_cu_stream stream))                               \
    X(BASE, stream_context, "cuStreamGetCtx", (rgm_cu_stream stream, rgm_cu_context * context))              \
    X(EVENTS, event_create, "cuEventCreate", (rgm_cu_event * event, unsigned flags))                         \
    X(EVENTS, event_destroy, "cuEventDestroy_v2", (rgm_cu_event event))                                      \
    X(EVENTS, event_record, "cuEventRecord", (rgm_cu_event event, rgm_cu_stream stream))                     \
    X(EVENTS, event_query, "cuEventQuery", (rgm_cu_event event))                                             \
    X(EVENTS, event_synchronize, "cuEventSynchronize", (rgm_cu_event event))                                 \
    X(EVENTS, event_elapsed, "cuEventElapsedTime",                                                           \
      (float *milliseconds, rgm_cu_event begin, rgm_cu_event end))                                           \
    X(CAPTURE, stream_capturing, "cuStreamIsCapturing", (rgm_cu_stream stream, int *status))                 \
    X(CAPTURE_MODE, exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                 \
    X(CONTEXT_ID, context_id, "cuCtxGetId", (rgm_cu_context context, unsigned long long *id))                \
    X(GREEN_CONTEXTS, stream_green, "cuStreamGetGreenCtx",                                                   \
      (rgm_cu_stream stream, rgm_cu_green_context * context))                                                \
    X(EXTERNAL_EVENTS, event_record_with_flags, "cuEventRecordWithFlags",                                    \
      (rgm_cu_event event, rgm_cu_stream stream, unsigned flags))                                            \
    X(MODULES, module_load, "cuModuleLoadData", (rgm_cu_module * module, const void *image))                 \
    X(MODULES, module_unload, "cuModuleUnload", (rgm_cu_module module))                                      \
    X(MODULES, module_function, "cuModuleGetFunction",                                                       \
      (rgm_cu_function * function, rgm_cu_module module, const char *name))                                  \
    X(MODULES, launch, "cuLaunchKernel",                                                                     \
      (rgm_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, rgm_cu_stream stream, void **parameters,   \
       void **extra))                                                                                        \
    X(MODULES, memory_alloc, "cuMemAlloc_v2", (rgm_cu_pointer * address, size_t bytes))                      \
    X(MODULES, memory_free, "cuMemFree_v2", (rgm_cu_pointer address))                                        \
    X(MODULES, memory_info, "cuMemGetInfo_v2", (size_t *free, size_t *total))                                \
    X(MODULES, memory_alloc_host, "cuMemHostAlloc", (void **address, size_t bytes, unsigned flags))          \
    X(MODULES, memory_free_host, "cuMemFreeHost", (void *address))                                           \
    X(MODULES, copy_to_device, "cuMemcpyHtoDAsync_v2",                                                       \
      (rgm_cu_pointer to, const void *from, size_t bytes, rgm_cu_stream stream))                             \
    X(MODULES, copy_to_host, "cuMemcpyDtoHAsync_v2",                                                         \
      (void *to, rgm_cu_pointer from, size_t bytes, rgm_cu_stream stream))                                   \
    X(MODULES, copy_on_device, "cuMemcpyDtoDAsync_v2",                                                       \
      (rgm_cu_pointer to, rgm_cu_pointer from, size_t bytes, rgm_cu_stream stream))                          \
    X(MODULES, memory_set, "cuMemsetD8Async",                                                                \
      (rgm_cu_pointer to, unsigned char value, size_t bytes, rgm_cu_stream stream))                          \
    X(OCCUPANCY, max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                           \
      (int *blocks, rgm_cu_function function, int block_size, size_t shared_bytes))                          \
    X(GRAPHS, capture_begin, "cuStreamBeginCapture_v2", (rgm_cu_stream stream, int mode))                    \
    X(GRAPHS, capture_end, "cuStreamEndCapture", (rgm_cu_stream stream, rgm_cu_graph * graph))               \
    X(GRAPHS, graph_instantiate, "cuGraphInstantiateWithFlags",                                              \
      (rgm_cu_graph_exec * made, rgm_cu_graph graph, unsigned long long flags))                              \
    X(GRAPHS, graph_launch, "cuGraphLaunch", (rgm_cu_graph_exec graph, rgm_cu_stream stream))                \
    X(GRAPHS, graph_exec_destroy, "cuGraphExecDestroy", (rgm_cu_graph_exec graph))                           \
    X(GRAPHS, graph_destroy, "cuGraphDestroy", (rgm_cu_graph graph))

#define RGM_DRIVER_CAPABILITY_ENUM(name, text) RGM_DRIVER_##name,
enum { RGM_DRIVER_CAPABILITIES(RGM_DRIVER_CAPABILITY_ENUM) RGM_DRIVER_CAPABILITY_COUNT };

#define RGM_DRIVER_MEMBER(capability, member, symbol, parameters) rgm_cu_result(*member) parameters;
typedef struct {
    rgm_library library;
    RGM_DRIVER_SYMBOLS(RGM_DRIVER_MEMBER)
} rgm_driver;

extern const rgm_library_spec rgm_driver_spec;

// The table, from any thread. IF_LOADED never pulls the driver into the process, and asks again on the next
// call while the program has not done so. RGM_UNAVAILABLE with the reason when there is none. The driver is
// not initialised by this: context_current answers NOT_INITIALIZED until the program has done so.
rgm_status rgm_driver_get(const rgm_driver **driver, rgm_library_reach reach, rgm_error *err) RGM_NODISCARD;
// Whether the program has loaded and initialised the driver, and then its table. Neither is done by the
// question: what is not loaded is not opened, and cuCtxGetCurrent of a driver that nobody has initialised
// answers CUDA_ERROR_NOT_INITIALIZED and does nothing (NVIDIA's driver API reference: so does every function
// but cuInit and those that tell versions, names and addresses; of all that can tell the two states apart it
// is the one that takes no device and makes no context). One question costs some tens of nanoseconds.
// `seen` as of rgm_library_is_loaded.
bool rgm_driver_used(const rgm_driver **driver, uint64_t *seen);
// The same, initialised (cuInit) and with at least one device: for what the user asked for by name.
rgm_status rgm_driver_start(const rgm_driver **driver, rgm_error *err) RGM_NODISCARD;
// True in a child whose parent had the driver in use at the fork.
bool rgm_driver_lost_by_fork(void);
// Name of a result for messages, never NULL.
const char *rgm_driver_text(const rgm_driver *driver, rgm_cu_result result);
// Tests only: forgets the table, so that another library can be loaded.
void rgm_driver_forget(void);

#endif
