// SPDX-License-Identifier: Apache-2.0
// The data model, written once. Each table is a list of X(type, column, unit, default, doc); structs, column
// descriptors, NumPy dtypes, the Arrow schema, the run file, JSON keys, stubs and the documentation table
// are expansions of these lists.
//
// Types: i64 u32 i32 i16 u8 f64, and `name`, a u32 that is an id of the run's string table.
// The default is what a column holds where nothing is known; a column that holds nothing but its default
// takes no memory until somebody asks for it.
#ifndef RGM_MODEL_SCHEMA_H
#define RGM_MODEL_SCHEMA_H

#include <math.h>
#include <stdint.h>

typedef int64_t rgm_i64;
typedef uint32_t rgm_u32;
typedef int32_t rgm_i32;
typedef int16_t rgm_i16;
typedef uint8_t rgm_u8;
typedef double rgm_f64;
typedef uint32_t rgm_name;

#define RGM_TYPE_LIST(X)                                                                                     \
    X(i64, "int64", "l", 8)                                                                                  \
    X(u32, "uint32", "I", 4)                                                                                 \
    X(i32, "int32", "i", 4)                                                                                  \
    X(i16, "int16", "s", 2)                                                                                  \
    X(u8, "uint8", "C", 1)                                                                                   \
    X(f64, "float64", "g", 8)                                                                                \
    X(name, "uint32", "I", 4)

#define RGM_SPANS(X)                                                                                         \
    X(i64, start_ns, "ns", 0, "Start on the host's CLOCK_MONOTONIC; for an imported trace, its own clock.")  \
    X(i64, duration_ns, "ns", 0, "End minus start.")                                                         \
    X(name, name, "", 0, "Operation, operator, kernel or annotation.")                                       \
    X(u8, kind, "", 0, "What the span is: an index of SPAN_KINDS.")                                          \
    X(u32, lane, "", 0, "Row of `lanes` on which it ran.")                                                   \
    X(i32, parent, "", -1,                                                                                   \
      "Enclosing span on its lane; for a task's first scope the one around the loop; -1 for none.")          \
    X(i64, correlation, "", -1, "Joins a launch to its device work, -1 for none.")                           \
    X(i64, external_id, "", -1, "Operator id given by the framework, -1 for none.")                          \
    X(i32, step, "", -1, "Training step, -1 outside any.")                                                   \
    X(i64, bytes, "bytes", -1, "Bytes moved by a copy or set, -1 when not applicable.")                      \
    X(u32, flags, "", 0, "Bits: see SPAN_FLAGS; declared device in bits 8-11, backend in bits 12-15.")       \
    X(name, metadata, "", 0, "JSON object text of the user's metadata, \"\" for none.")

#define RGM_LANES(X)                                                                                         \
    X(u32, process, "", 0, "Process id.")                                                                    \
    X(i64, thread, "", -1, "Native thread id, or stream id for a device lane.")                              \
    X(i32, slot, "", 0, "Concurrent task slot of the thread: 0 for plain code, 1.. for asyncio tasks.")      \
    X(i16, device, "", -1, "Device ordinal of a stream, -1 for a host thread.")                              \
    X(i32, rank, "", -1, "Rank of a distributed job, -1 when unknown.")                                      \
    X(name, name, "", 0, "Thread, task slot or stream name.")

#define RGM_LAUNCHES(X)                                                                                      \
    X(u32, span, "", 0, "Row of the kernel in `spans`.")                                                     \
    X(i32, grid_x, "blocks", 0, "Grid size.")                                                                \
    X(i32, grid_y, "blocks", 0, "Grid size.")                                                                \
    X(i32, grid_z, "blocks", 0, "Grid size.")                                                                \
    X(i32, block_x, "threads", 0, "Block size.")                                                             \
    X(i32, block_y, "threads", 0, "Block size.")                                                             \
    X(i32, block_z, "threads", 0, "Block size.")                                                             \
    X(i32, registers, "", -1, "Registers per thread.")                                                       \
    X(i64, shared_bytes, "bytes", -1, "Static and dynamic shared memory per block.")                         \
    X(f64, occupancy, "", NAN, "Theoretical occupancy, 0 to 1.")

#define RGM_MEMORY(X)                                                                                        \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(i16, device, "", -1, "Device ordinal, -1 for the host.")                                               \
    X(u8, action, "", 0, "An index of MEMORY_ACTIONS.")                                                      \
    X(i64, bytes, "bytes", -1, "Size of the allocation; resident set for a host sample.")                    \
    X(i64, address, "", 0, "Address of the block, 0 when it has none.")                                      \
    X(i64, allocated, "bytes", -1, "Allocated in total after this event, -1 when not known.")                \
    X(i64, reserved, "bytes", -1, "Reserved in total after this event, -1 when not known.")                  \
    X(i64, span, "", -1, "Row of the scope that the value belongs to, -1 for none.")

#define RGM_COUNTERS(X)                                                                                      \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(name, series, "", 0, "Name of the series.")                                                            \
    X(f64, value, "", NAN, "Value, in the unit that the series' name states.")

#define RGM_FLOPS(X)                                                                                         \
    X(u32, span, "", 0, "Row in `spans` that the work is attributed to.")                                    \
    X(name, pipe, "", 0, "Pipe or data type of the work.")                                                   \
    X(f64, flops, "FLOP", NAN, "Floating-point operations; one multiply-add is two.")                        \
    X(f64, bytes, "bytes", NAN, "Bytes moved.")                                                              \
    X(name, source, "", 0, "Where the figure comes from.")

#define RGM_ANOMALIES(X)                                                                                     \
    X(u8, code, "", 0, "An index of ANOMALY_CODES.")                                                         \
    X(i64, count, "", 0, "How often.")                                                                       \
    X(i64, first_ns, "ns", -1, "First time, -1 when it has none.")                                           \
    X(name, detail, "", 0, "What happened and what follows from it.")

// The tables of a Run: X(name, LIST, doc).
#define RGM_RUN_TABLES(X)                                                                                    \
    X(spans, RGM_SPANS, "A scope, operator, runtime call, kernel, copy, annotation or Python function.")     \
    X(lanes, RGM_LANES, "A host thread, a task slot of one, or a device stream.")                            \
    X(launches, RGM_LAUNCHES, "Launch configuration of a kernel (sparse).")                                  \
    X(memory, RGM_MEMORY, "An allocation, a free, or a sample.")                                             \
    X(counters, RGM_COUNTERS, "One value of a time series.")                                                 \
    X(flops, RGM_FLOPS, "Work attributed to a span, and where the figure comes from.")                       \
    X(anomalies, RGM_ANOMALIES, "What was repaired, dropped or doubted.")

// Result of the summary analysis: one row is one operation on one declared device.
#define RGM_SUMMARY(X)                                                                                       \
    X(name, operation, "", 0, "Name given to the scope.")                                                    \
    X(u8, device, "", 0, "Declared device: an index of DEVICES.")                                            \
    X(u8, backend, "", 0, "What ran in the block: an index of BACKENDS.")                                    \
    X(i64, call_count, "", 0, "Recorded calls, recursive ones included.")                                    \
    X(i64, failed_count, "", 0, "Calls that ended with an exception.")                                       \
    X(i64, recursive_count, "", 0, "Calls inside another call of the same operation.")                       \
    X(i64, total_ns, "ns", 0, "Sum over calls not inside another call of the same operation.")               \
    X(i64, exclusive_ns, "ns", 0, "Time in the operation itself, without the scopes nested in it.")          \
    X(f64, share, "", NAN, "exclusive_ns over the sum of all operations' exclusive_ns.")                     \
    X(f64, mean_ns, "ns", NAN, "Mean duration over calls.")                                                  \
    X(i64, min_ns, "ns", 0, "Shortest call.")                                                                \
    X(i64, max_ns, "ns", 0, "Longest call.")                                                                 \
    X(f64, std_dev_ns, "ns", NAN, "Population standard deviation (divisor n), by Welford's recurrence.")     \
    X(f64, median_ns, "ns", NAN, "50th percentile, linear interpolation (Hyndman-Fan type 7).")              \
    X(f64, p95_ns, "ns", NAN, "95th percentile, same rule.")                                                 \
    X(f64, p99_ns, "ns", NAN, "99th percentile, same rule.")                                                 \
    X(f64, cv, "", NAN, "Coefficient of variation: std_dev_ns / mean_ns.")                                   \
    X(f64, memory_allocated_bytes, "bytes", NAN, "Mean change of allocated memory over measured calls.")     \
    X(f64, memory_peak_bytes, "bytes", NAN, "Largest memory seen inside any call.")                          \
    X(i64, memory_count, "", 0, "Calls with a memory measurement.")                                          \
    X(i64, first_ns, "ns", 0, "Start of the first call.")                                                    \
    X(i64, last_ns, "ns", 0, "End of the last call.")

// Result of the entries analysis: one row is one scope, beside the columns of its span.
#define RGM_ENTRIES(X)                                                                                       \
    X(u32, span, "", 0, "Row in `spans`.")                                                                   \
    X(i32, depth, "", 0, "Number of enclosing scopes on its lane.")                                          \
    X(i64, exclusive_ns, "ns", 0, "Duration without the scopes nested in it.")                               \
    X(f64, memory_allocated_bytes, "bytes", NAN, "Allocated memory at the end minus at the start.")          \
    X(f64, memory_peak_bytes, "bytes", NAN, "Largest memory seen inside the scope.")                         \
    X(u8, memory_source, "", 0, "An index of MEMORY_SOURCES.")

#define RGM_RESULT_TABLES(X)                                                                                 \
    X(summary, RGM_SUMMARY, "Statistics of one operation.")                                                  \
    X(entries, RGM_ENTRIES, "Derived values of one scope.")

// X(NAME, token): the token is what a user reads and writes.
#define RGM_SPAN_KINDS(X)                                                                                    \
    X(SCOPE, "scope")                                                                                        \
    X(CPU_OP, "cpu_op")                                                                                      \
    X(RUNTIME, "runtime")                                                                                    \
    X(DRIVER, "driver")                                                                                      \
    X(KERNEL, "kernel")                                                                                      \
    X(MEMCPY, "memcpy")                                                                                      \
    X(MEMSET, "memset")                                                                                      \
    X(SYNC, "sync")                                                                                          \
    X(PYTHON, "python")                                                                                      \
    X(ANNOTATION, "annotation")

#define RGM_DEVICES(X)                                                                                       \
    X(GPU, "gpu")                                                                                            \
    X(CPU, "cpu")                                                                                            \
    X(CUDA, "cuda")                                                                                          \
    X(ROCM, "rocm")

#define RGM_BACKENDS(X)                                                                                      \
    X(UNKNOWN, "unknown")                                                                                    \
    X(CPU, "cpu")                                                                                            \
    X(NUMPY, "numpy")                                                                                        \
    X(TORCH, "torch")                                                                                        \
    X(CUPY, "cupy")

#define RGM_SPAN_FLAGS(X)                                                                                    \
    X(FAILED, 0, "failed", "Ended with an exception.")                                                       \
    X(OPEN, 1, "open", "Had not ended when recording stopped; its duration is a lower bound.")               \
    X(MIGRATED, 2, "migrated", "Ended on another thread than it began on.")

#define RGM_MEMORY_ACTIONS(X)                                                                                \
    X(SAMPLE, "sample")                                                                                      \
    X(ALLOC, "alloc")                                                                                        \
    X(FREE, "free")                                                                                          \
    X(BEGIN, "begin")                                                                                        \
    X(END, "end")                                                                                            \
    X(PEAK, "peak")

#define RGM_MEMORY_SOURCES(X)                                                                                \
    X(NONE, "none")                                                                                          \
    X(SAMPLER, "sampler")                                                                                    \
    X(SCOPE, "scope")                                                                                        \
    X(DEVICE, "device")

// X(NAME, token, consequence)
#define RGM_ANOMALY_CODES(X)                                                                                 \
    X(DROPPED_SCOPES, "dropped_scopes", "scopes beyond the memory budget were not recorded")                 \
    X(DROPPED_SAMPLES, "dropped_samples", "memory samples beyond the budget were not recorded")              \
    X(DROPPED_METADATA, "dropped_metadata", "metadata beyond the budget was not recorded")                   \
    X(DROPPED_NAMES, "dropped_names", "operations beyond the limit were filed under one common name")        \
    X(SAMPLED_OUT, "sampled_out", "scopes were left out because a sample rate below 1 was asked for")        \
    X(UNFINISHED, "unfinished", "the recording was not closed; what came after the last block is missing")   \
    X(OPEN_SCOPES, "open_scopes", "scopes had not ended; their durations are lower bounds")                  \
    X(CORRUPT_BYTES, "corrupt_bytes", "damaged bytes were skipped; the blocks in them are lost")             \
    X(ORPHAN_PARENTS, "orphan_parents", "the enclosing scope was not recorded; these count as top level")    \
    X(MIGRATED_SCOPES, "migrated_scopes", "scopes ended on another thread; they have no parent")             \
    X(LOST_SCOPES, "lost_scopes", "scopes ended after their session had stopped or forked")                  \
    X(JOURNAL_FAILED, "journal_failed", "writing the file failed; recording went on in memory")              \
    X(INTERNAL, "internal", "a step of the profiler failed without harm to the program")

#define RGM_KIND_ENUM(name, token) RGM_KIND_##name,
#define RGM_DEVICE_ENUM(name, token) RGM_DEVICE_##name,
#define RGM_BACKEND_ENUM(name, token) RGM_BACKEND_##name,
#define RGM_ACTION_ENUM(name, token) RGM_ACTION_##name,
#define RGM_SOURCE_ENUM(name, token) RGM_SOURCE_##name,
#define RGM_ANOMALY_ENUM(name, token, text) RGM_ANOMALY_##name,
#define RGM_FLAG_ENUM(name, bit, token, text) RGM_FLAG_##name = 1 << (bit),
typedef enum { RGM_SPAN_KINDS(RGM_KIND_ENUM) RGM_KIND_COUNT } rgm_kind;
typedef enum { RGM_DEVICES(RGM_DEVICE_ENUM) RGM_DEVICE_COUNT } rgm_device;
typedef enum { RGM_BACKENDS(RGM_BACKEND_ENUM) RGM_BACKEND_COUNT } rgm_backend;
typedef enum { RGM_MEMORY_ACTIONS(RGM_ACTION_ENUM) RGM_ACTION_COUNT } rgm_action;
typedef enum { RGM_MEMORY_SOURCES(RGM_SOURCE_ENUM) RGM_SOURCE_COUNT } rgm_memory_source;
typedef enum { RGM_ANOMALY_CODES(RGM_ANOMALY_ENUM) RGM_ANOMALY_COUNT } rgm_anomaly;
typedef enum { RGM_SPAN_FLAGS(RGM_FLAG_ENUM) RGM_FLAG_MASK = 0xFF } rgm_flag;

enum { RGM_FLAGS_DEVICE_SHIFT = 8, RGM_FLAGS_BACKEND_SHIFT = 12, RGM_FLAGS_FIELD = 0xF };

static inline uint32_t rgm_flags_pack(uint32_t flags, rgm_device device, rgm_backend backend) {
    return flags | ((uint32_t)device << RGM_FLAGS_DEVICE_SHIFT) |
           ((uint32_t)backend << RGM_FLAGS_BACKEND_SHIFT);
}
static inline rgm_device rgm_flags_device(uint32_t flags) {
    return (rgm_device)((flags >> RGM_FLAGS_DEVICE_SHIFT) & RGM_FLAGS_FIELD);
}
static inline rgm_backend rgm_flags_backend(uint32_t flags) {
    return (rgm_backend)((flags >> RGM_FLAGS_BACKEND_SHIFT) & RGM_FLAGS_FIELD);
}

#endif
