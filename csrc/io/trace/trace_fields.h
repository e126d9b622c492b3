// SPDX-License-Identifier: Apache-2.0
// Keys of a trace event that have a place in the model, those that are known and not kept, and the
// categories. Keys that are in no list are kept as text in `spans.metadata`.
#ifndef RGM_IO_TRACE_FIELDS_H
#define RGM_IO_TRACE_FIELDS_H

#include <stdint.h>

// How a value is read. PLACE is a process or thread: a number or a text.
typedef enum {
    RGM_VALUE_INT,
    RGM_VALUE_TIME, // microseconds, to nanoseconds
    RGM_VALUE_REAL,
    RGM_VALUE_TEXT,
    RGM_VALUE_JSON, // any value, kept as JSON text without spaces
    RGM_VALUE_TRIPLE,
    RGM_VALUE_PLACE,
    RGM_VALUE_NOTHING, // read over
    RGM_VALUE_EXTRA,   // a key without a place, kept as metadata
    RGM_VALUE_END,     // of the event
} rgm_value_kind;

// X(FIELD, how, keys of the event separated by |)
#define RGM_EVENT_FIELDS(X)                                                                                  \
    X(PH, TEXT, "ph")                                                                                        \
    X(CAT, TEXT, "cat")                                                                                      \
    X(NAME, TEXT, "name")                                                                                    \
    X(PID, PLACE, "pid")                                                                                     \
    X(TID, PLACE, "tid")                                                                                     \
    X(TS, TIME, "ts")                                                                                        \
    X(DUR, TIME, "dur")                                                                                      \
    X(ID, INT, "id")

// X(FIELD, how, keys of the arguments). LANE_THREAD: of the event, where its tid is a track that our exporter
// added because viewers take no slices that overlap in part.
#define RGM_ARGUMENT_FIELDS(X)                                                                               \
    X(CORRELATION, INT, "correlation")                                                                       \
    X(EXTERNAL, INT, "External id|external id")                                                              \
    X(BYTES, INT, "bytes|size")                                                                              \
    X(DEVICE, INT, "device")                                                                                 \
    X(STREAM, INT, "stream")                                                                                 \
    X(GRID, TRIPLE, "grid")                                                                                  \
    X(BLOCK, TRIPLE, "block")                                                                                \
    X(REGISTERS, INT, "registers per thread")                                                                \
    X(SHARED, INT, "shared memory")                                                                          \
    X(ESTIMATED_OCCUPANCY, REAL, "est. achieved occupancy %")                                                \
    X(OCCUPANCY, REAL, "theoretical occupancy %")                                                            \
    X(BLOCKS_PER_SM, REAL, "blocks per SM")                                                                  \
    X(WARPS_PER_SM, REAL, "warps per SM")                                                                    \
    X(GRAPH, INT, "graph id")                                                                                \
    X(GRAPH_NODE, INT, "graph node id")                                                                      \
    X(SEQUENCE, INT, "Sequence number")                                                                      \
    X(FORWARD_THREAD, INT, "Fwd thread id")                                                                  \
    X(SHAPES, JSON, "Input Dims|Input dims")                                                                 \
    X(TYPES, JSON, "Input type")                                                                             \
    X(STRIDES, JSON, "Input Strides")                                                                        \
    X(VALUES, JSON, "Concrete Inputs")                                                                       \
    X(STACK, TEXT, "Call stack")                                                                             \
    X(MODULE, TEXT, "Module Hierarchy")                                                                      \
    X(PYTHON_ID, INT, "Python id")                                                                           \
    X(PYTHON_PARENT, INT, "Python parent id")                                                                \
    X(PYTHON_MODULE, INT, "Python module id")                                                                \
    X(COLLECTIVE, TEXT, "Collective name")                                                                   \
    X(DTYPE, TEXT, "dtype")                                                                                  \
    X(IN_ELEMENTS, INT, "In msg nelems")                                                                     \
    X(OUT_ELEMENTS, INT, "Out msg nelems")                                                                   \
    X(GROUP_SIZE, INT, "Group size")                                                                         \
    X(GROUP_NAME, TEXT, "Process Group Name")                                                                \
    X(GROUP_DESCRIPTION, TEXT, "Process Group Description")                                                  \
    X(GROUP_RANKS, TEXT, "Process Group Ranks")                                                              \
    X(IN_SPLIT, TEXT, "In split size")                                                                       \
    X(OUT_SPLIT, TEXT, "Out split size")                                                                     \
    X(RANK, INT, "Rank")                                                                                     \
    X(SOURCE_RANK, INT, "Src Rank")                                                                          \
    X(DESTINATION_RANK, INT, "Dst Rank")                                                                     \
    X(GLOBAL_START, INT, "Global rank start")                                                                \
    X(GLOBAL_STRIDE, INT, "Global rank stride")                                                              \
    X(COLLECTIVE_SEQUENCE, INT, "Seq")                                                                       \
    X(COMMUNICATOR, INT, "Comms Id")                                                                         \
    X(SYNC, TEXT, "cuda_sync_kind")                                                                          \
    X(WAIT_STREAM, INT, "wait_on_stream")                                                                    \
    X(WAIT_EVENT, INT, "wait_on_cuda_event_id")                                                              \
    X(WAIT_CORRELATION, INT, "wait_on_cuda_event_record_corr_id")                                            \
    X(MEMORY_BYTES, INT, "Bytes")                                                                            \
    X(MEMORY_DEVICE_TYPE, INT, "Device Type")                                                                \
    X(MEMORY_DEVICE, INT, "Device Id")                                                                       \
    X(MEMORY_ADDRESS, INT, "Addr")                                                                           \
    X(MEMORY_ALLOCATED, INT, "Total Allocated")                                                              \
    X(MEMORY_RESERVED, INT, "Total Reserved")                                                                \
    X(LANE_THREAD, INT, "lane thread")

// Known and not kept: X(keys, reason). Event keys first, then arguments.
#define RGM_EVENT_KEYS_NOT_KEPT(X)                                                                           \
    X("bp|s|sf|esf|cname", "how a viewer draws the event")                                                   \
    X("tts|tdur", "thread clock of Chrome")
#define RGM_ARGUMENTS_NOT_KEPT(X)                                                                            \
    X("Ev Idx|Profiler Event Index|Record function id", "numbering of the writer")                           \
    X("cbid|cid", "number of the call, whose name is kept")                                                  \
    X("queued", "always 0 since 2021")                                                                       \
    X("context", "number of the CUDA context")                                                               \
    X("memory bandwidth (GB/s)", "follows from bytes and duration")                                          \
    X("external ts", "start of the operator that `External id` names")                                       \
    X("Trace name|Trace iteration|finished", "state of the profiler")                                        \
    X("Device", "device of a 2021 operator, always that of the trace")

#define RGM_FIELD_ENUM(name, how, keys) RGM_FIELD_##name,
typedef enum {
    RGM_EVENT_FIELDS(RGM_FIELD_ENUM) RGM_ARGUMENT_FIELDS(RGM_FIELD_ENUM) RGM_FIELD_COUNT
} rgm_field;
_Static_assert(RGM_FIELD_COUNT <= 64, "fields are bits of a 64-bit mask");

// X(category in lower case, KIND)
#define RGM_CATEGORIES(X)                                                                                    \
    X("cpu_op", CPU_OP)                                                                                      \
    X("operator", CPU_OP)                                                                                    \
    X("hpu_op", CPU_OP)                                                                                      \
    X("user_annotation", ANNOTATION)                                                                         \
    X("gpu_user_annotation", DEVICE_ANNOTATION)                                                              \
    X("kernel", KERNEL)                                                                                      \
    X("gpu_memcpy", MEMCPY)                                                                                  \
    X("memcpy", MEMCPY)                                                                                      \
    X("gpu_memset", MEMSET)                                                                                  \
    X("memset", MEMSET)                                                                                      \
    X("cuda_runtime", RUNTIME)                                                                               \
    X("runtime", RUNTIME)                                                                                    \
    X("mtia_runtime", RUNTIME)                                                                               \
    X("glow_runtime", RUNTIME)                                                                               \
    X("xpu_runtime", RUNTIME)                                                                                \
    X("privateuse1_runtime", RUNTIME)                                                                        \
    X("cuda_driver", DRIVER)                                                                                 \
    X("xpu_driver", DRIVER)                                                                                  \
    X("privateuse1_driver", DRIVER)                                                                          \
    X("cuda_sync", SYNC)                                                                                     \
    X("xpu_sync", SYNC)                                                                                      \
    X("cuda_event", EVENT)                                                                                   \
    X("python_function", PYTHON)                                                                             \
    X("overhead", OVERHEAD)                                                                                  \
    X("mtia_ccp_events", ACCELERATOR)                                                                        \
    X("mtia_insight", ACCELERATOR)                                                                           \
    X("cuda_profiler_range", COUNTER_RANGE)                                                                  \
    X("trace", WINDOW)

// Names in the category of an accelerator that are not computing: X(name, KIND). MTIA's command processor
// waits for events, marks them and copies on the same lanes as it runs programs.
#define RGM_ACCELERATOR_NAMES(X)                                                                             \
    X("event_wait", SYNC)                                                                                    \
    X("event_record", EVENT)                                                                                 \
    X("dma_request", MEMCPY)

// X(category of a flow, FLOW_KIND)
#define RGM_FLOW_CATEGORIES(X)                                                                               \
    X("ac2g", LAUNCH)                                                                                        \
    X("async", LAUNCH)                                                                                       \
    X("async_cpu_to_gpu", LAUNCH)                                                                            \
    X("async_gpu", LAUNCH)                                                                                   \
    X("cpu_to_cuda", LAUNCH)                                                                                 \
    X("fwdbwd", BACKWARD)                                                                                    \
    X("forward_backward", BACKWARD)

#endif
