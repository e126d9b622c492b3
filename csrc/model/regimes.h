// SPDX-License-Identifier: Apache-2.0
// The vocabulary of "what limits this": pipes, ceilings that calibration measures, regimes and their details.
// Calibration fills ceilings, classification reads them; neither knows the other.
#ifndef RGM_MODEL_REGIMES_H
#define RGM_MODEL_REGIMES_H

// What arithmetic is done in: X(NAME, token, doc). The order is that of the compute ceilings below.
#define RGM_PIPES(X)                                                                                         \
    X(FP64, "fp64", "double precision")                                                                      \
    X(FP32, "fp32", "single precision, without tf32")                                                        \
    X(TF32, "tf32", "single precision inputs on tensor cores")                                               \
    X(FP16, "fp16", "half precision")                                                                        \
    X(BF16, "bf16", "bfloat16")                                                                              \
    X(FP8, "fp8", "8-bit floats")                                                                            \
    X(INT8, "int8", "8-bit integers")

// What a calibration measures: X(NAME, token, unit, doc). A host has no launches, a device no dispatch.
#define RGM_CEILINGS(X)                                                                                      \
    X(COMPUTE_FP64, "compute_fp64", "operations/s", "best sustained rate; a multiply-add is two")            \
    X(COMPUTE_FP32, "compute_fp32", "operations/s", "the same in single precision")                          \
    X(COMPUTE_TF32, "compute_tf32", "operations/s", "the same with tf32 inputs")                             \
    X(COMPUTE_FP16, "compute_fp16", "operations/s", "the same in half precision")                            \
    X(COMPUTE_BF16, "compute_bf16", "operations/s", "the same in bfloat16")                                  \
    X(COMPUTE_FP8, "compute_fp8", "operations/s", "the same with 8-bit floats")                              \
    X(COMPUTE_INT8, "compute_int8", "operations/s", "the same with 8-bit integers")                          \
    X(MEMORY_COPY, "memory_copy", "bytes/s", "bytes read and written by a copy beyond all caches")           \
    X(MEMORY_TRIAD, "memory_triad", "bytes/s", "bytes read and written by a + b * c beyond all caches")      \
    X(MEMORY_READ, "memory_read", "bytes/s", "bytes read by a sum beyond all caches")                        \
    X(MEMORY_FILL, "memory_fill", "bytes/s", "bytes written by a fill beyond all caches")                    \
    X(MEMORY_UPDATE, "memory_update", "bytes/s", "bytes read and written by a scaling in place beyond them") \
    X(CACHE_L1, "cache_l1", "bytes/s", "bytes read from the first-level cache")                              \
    X(CACHE_L2, "cache_l2", "bytes/s", "bytes read from the second-level cache")                             \
    X(CACHE_L3, "cache_l3", "bytes/s", "bytes read from the third-level cache")                              \
    X(MEMORY_LATENCY, "memory_latency", "ns", "one load beyond all caches that depends on the one before")   \
    X(DISPATCH_PYTHON, "dispatch_python", "ns", "call of a Python function that does nothing")               \
    X(DISPATCH_NUMPY, "dispatch_numpy", "ns", "smallest NumPy operation")                                    \
    X(DISPATCH_TORCH, "dispatch_torch", "ns", "smallest torch operator, on the host")                        \
    X(LAUNCH, "launch", "ns", "host cost of an asynchronous launch")                                         \
    X(SHORTEST_KERNEL, "shortest_kernel", "ns", "duration of a kernel that does nothing")                    \
    X(LAUNCH_GAP, "launch_gap", "ns", "begin to begin of empty kernels that are queued back to back")        \
    X(ROUND_TRIP, "round_trip", "ns", "launch of an empty kernel until the host knows of its end")           \
    X(GRAPH_NODE, "graph_node", "ns", "one empty kernel in a graph that is replayed")                        \
    X(H2D_PINNED_LATENCY, "h2d_pinned_latency", "ns", "alpha of a copy from page-locked memory")             \
    X(H2D_PINNED, "h2d_pinned", "bytes/s", "beta of the same")                                               \
    X(H2D_PAGEABLE_LATENCY, "h2d_pageable_latency", "ns", "alpha of a copy from pageable memory")            \
    X(H2D_PAGEABLE, "h2d_pageable", "bytes/s", "beta of the same")                                           \
    X(D2H_PINNED_LATENCY, "d2h_pinned_latency", "ns", "alpha of a copy to page-locked memory")               \
    X(D2H_PINNED, "d2h_pinned", "bytes/s", "beta of the same")                                               \
    X(D2H_PAGEABLE_LATENCY, "d2h_pageable_latency", "ns", "alpha of a copy to pageable memory")              \
    X(D2H_PAGEABLE, "d2h_pageable", "bytes/s", "beta of the same")

// X(NAME, token, text). The first three are the labels of the specification.
#define RGM_REGIMES(X)                                                                                       \
    X(OVERHEAD_BOUND, "OVERHEAD_BOUND", "time goes into neither arithmetic nor memory traffic")              \
    X(MEMORY_BOUND, "MEMORY_BOUND", "memory bandwidth sets the time")                                        \
    X(COMPUTE_BOUND, "COMPUTE_BOUND", "arithmetic sets the time")                                            \
    X(AMBIGUOUS, "AMBIGUOUS", "the measurement allows more than one of the three")                           \
    X(UNKNOWN, "UNKNOWN", "not enough is known; the reason says what is missing")

// What stands beside the label. X(NAME, token, text).
#define RGM_REGIME_DETAILS(X)                                                                                \
    X(NONE, "none", "")                                                                                      \
    X(LATENCY, "latency", "too little work to fill the machine, or one thing after the other")               \
    X(UNDERUSED, "underused", "nearer to this roof than to the other, and far from both")                    \
    X(BALANCED, "balanced", "both roofs are about equally near")                                             \
    X(HOST_WAIT, "host_wait", "the device waits for the host")                                               \
    X(LAUNCH_GAP, "launch_gap", "gaps between launches that were queued in time")                            \
    X(COMMUNICATION, "communication", "collectives and sends that nothing hides")                            \
    X(TRANSFER, "transfer", "copies between host and device")                                                \
    X(INPUT, "input", "the data loader")                                                                     \
    X(WAIT, "wait", "the host waits: for a lock, a timer, a file or another process")                        \
    X(MODEL_ERROR, "model_error", "faster than a roof allows: the work or the roof is wrong")                \
    X(DEPENDENT, "dependent", "operations that each wait for the one before")                                \
    X(RANDOM_ACCESS, "random_access", "reads or writes at places far from one another")                      \
    X(STRIDED, "strided", "neighbours in the order of use lie lines apart in memory")                        \
    X(FIRST_TOUCH, "first_touch", "memory that is touched for the first time: the system fills its pages")   \
    X(INTERPRETER, "interpreter", "the interpreter goes from one short instruction to the next")             \
    X(FILE, "file", "the system reads or writes files")                                                      \
    X(SYSTEM, "system", "calls of the system other than files and waits")

// Why the label is what it is, or what is missing. X(NAME, token, text).
#define RGM_REGIME_REASONS(X)                                                                                \
    X(NONE, "none", "")                                                                                      \
    X(ROOF, "roof", "near this roof, and farther from the other")                                            \
    X(UNDERUSED, "underused", "nearer to this roof than to the other, and far from it")                      \
    X(FLOOR, "floor", "the time is that of the shortest kernel, or of the calls alone")                      \
    X(SMALL_GRID, "small_grid", "far from both roofs, with fewer blocks than multiprocessors")               \
    X(CPU_IDLE, "cpu_idle", "the processor worked for less than half of the time")                           \
    X(CHAIN, "chain", "loads that each wait for the one before explain the time")                            \
    X(BALANCED, "balanced", "both roofs explain the time about equally well")                                \
    X(FAR, "far", "far from both roofs, and nothing that is known explains why")                             \
    X(UNCERTAIN, "uncertain", "the uncertainty of times, work and ceilings allows more than one label")      \
    X(FLOOR_OR_ROOF, "floor_or_roof", "about as short as the shortest kernel, yet a roof explains it too")   \
    X(FASTER, "faster", "faster than a roof allows: bytes from a cache, wrong work, or a wrong roof")        \
    X(SHARES, "shares", "no other group of uses takes as much of the time")                                  \
    X(PROFILER, "profiler", "the label depends on how much the profiler slowed the host")                    \
    X(UNJUDGED, "unjudged", "what limits the kernels is not known for enough of their time")                 \
    X(NO_DEVICE, "no_device", "no device work is in the recording, and no processor time")                   \
    X(NO_TIME, "no_time", "no time was measured")                                                            \
    X(NO_WORK, "no_work", "neither operations nor bytes are known: no shapes, no counters")                  \
    X(PARTLY, "partly", "the work of too few of these kernels is known")                                     \
    X(NO_CEILINGS, "no_ceilings", "no ceilings are known for this machine")                                  \
    X(NO_OPERATIONS, "no_operations", "the operations are not known")                                        \
    X(NO_BYTES, "no_bytes", "the bytes are not known")                                                       \
    X(NO_PEAK, "no_peak", "the operations are known, but not what their pipe can do: it has no ceiling")     \
    X(NO_BANDWIDTH, "no_bandwidth",                                                                          \
      "the bytes are known, but not what the memory can do: it has no ceiling")                              \
    X(IN_CACHE, "in_cache", "on a part of its data that a cache holds, the function is about as slow")       \
    X(PLACEMENT, "placement", "on a part of its data that a cache holds, the function is much faster")       \
    X(PAGES, "pages", "page faults: the system spent most of the time on memory that was new")               \
    X(PACE, "pace", "most of the time Python stayed at no instruction for longer than a small call takes")   \
    X(SYSTEM_TIME, "system_time", "most of the processor time was the system's own")

// What limits a host beside its roofs, as a part of the time that was measured in the call or on the same
// function: X(NAME, token, label, detail, reason). New memory is first touch where the rest is not known to
// be memory: another call, into memory that exists, would be limited by something else.
#define RGM_LIMITS(X)                                                                                        \
    X(ARITHMETIC, "arithmetic", COMPUTE_BOUND, NONE, IN_CACHE)                                               \
    X(DEPENDENT, "dependent", COMPUTE_BOUND, DEPENDENT, IN_CACHE)                                            \
    X(PLACEMENT, "placement", MEMORY_BOUND, UNDERUSED, PLACEMENT)                                            \
    X(RANDOM_ACCESS, "random_access", MEMORY_BOUND, RANDOM_ACCESS, PLACEMENT)                                \
    X(STRIDED, "strided", MEMORY_BOUND, STRIDED, PLACEMENT)                                                  \
    X(FIRST_TOUCH, "first_touch", MEMORY_BOUND, FIRST_TOUCH, PAGES)                                          \
    X(NEW_MEMORY, "new_memory", AMBIGUOUS, FIRST_TOUCH, PAGES)                                               \
    X(INTERPRETER, "interpreter", OVERHEAD_BOUND, INTERPRETER, PACE)                                         \
    X(FILE, "file", OVERHEAD_BOUND, FILE, SYSTEM_TIME)                                                       \
    X(SYSTEM, "system", OVERHEAD_BOUND, SYSTEM, SYSTEM_TIME)

#define RGM_PIPE_ENUM(name, token, doc) RGM_PIPE_##name,
#define RGM_CEILING_ENUM(name, token, unit, doc) RGM_CEILING_##name,
#define RGM_REGIME_ENUM(name, token, text) RGM_REGIME_##name,
#define RGM_REGIME_DETAIL_ENUM(name, token, text) RGM_DETAIL_##name,
#define RGM_REGIME_REASON_ENUM(name, token, text) RGM_REASON_##name,
#define RGM_LIMIT_ENUM(name, token, label, detail, reason) RGM_LIMIT_##name,
typedef enum { RGM_PIPES(RGM_PIPE_ENUM) RGM_PIPE_COUNT } rgm_pipe;
typedef enum { RGM_CEILINGS(RGM_CEILING_ENUM) RGM_CEILING_COUNT } rgm_ceiling_id;
typedef enum { RGM_LIMITS(RGM_LIMIT_ENUM) RGM_LIMIT_COUNT } rgm_limit;
typedef enum { RGM_REGIMES(RGM_REGIME_ENUM) RGM_REGIME_COUNT } rgm_regime;
typedef enum { RGM_REGIME_DETAILS(RGM_REGIME_DETAIL_ENUM) RGM_DETAIL_COUNT } rgm_regime_detail;
typedef enum { RGM_REGIME_REASONS(RGM_REGIME_REASON_ENUM) RGM_REASON_COUNT } rgm_regime_reason;

// One measured ceiling. `value` is NAN where it was not measured; `spread` is the relative half-width of what
// repeated measurements gave (0.05: five percent up and down).
typedef struct {
    double value, spread;
} rgm_ceiling;

typedef struct {
    rgm_ceiling at[RGM_CEILING_COUNT];
} rgm_ceilings;

#endif
