// SPDX-License-Identifier: Apache-2.0
// Results about the scopes that a program recorded itself.
#ifndef RGM_MODEL_RESULTS_SCOPES_H
#define RGM_MODEL_RESULTS_SCOPES_H

// Result of the summary analysis: one row is one operation on one declared device.
#define RGM_SUMMARY(X)                                                                                       \
    X(name, operation, "", 0, "Name given to the scope.")                                                    \
    X(u8, device, "", 0, "Declared device: an index of DEVICES.")                                            \
    X(u8, backend, "", 0, "What ran in the block: an index of BACKENDS.")                                    \
    X(i64, call_count, "", 0, "Recorded calls, recursive ones included.")                                    \
    X(i64, failed_count, "", 0, "Calls that ended with an exception.")                                       \
    X(i64, recursive_count, "", 0, "Calls inside another call of the same operation.")                       \
    X(i64, total_ns, "ns", 0, "Sum over calls not inside another call of the same operation.")               \
    X(i64, exclusive_ns, "ns", 0, "Time in the operation itself, without nested scopes and the profiler.")   \
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
    X(i64, device_ns, "ns", -1,                                                                              \
      "Device time of calls that have one and are not inside another call of the operation, -1 for none: "   \
      "from event to event, of a call without events busy_ns.")                                              \
    X(i64, device_count, "", 0, "Calls in device_ns.")                                                       \
    X(i64, overhead_ns, "ns", -1,                                                                            \
      "Host time beyond the device time of those of them that lasted longer on the host, -1 for none.")      \
    X(i64, event_count, "", 0, "Calls in device_ns that were timed by events.")                              \
    X(i64, copy_ns, "ns", -1,                                                                                \
      "Time of copies of calls with device work that are not inside another call of the operation, -1 for "  \
      "none.")                                                                                               \
    X(f64, device_share, "", NAN, "Mean of busy_ns over window_ns over calls with device work.")             \
    X(i64, work_count, "", 0, "Calls with device work that was launched in them.")                           \
    X(i64, first_ns, "ns", 0, "Start of the first call.")                                                    \
    X(i64, last_ns, "ns", 0, "End of the last call.")

// Result of the entries analysis: one row is one scope, beside the columns of its span.
#define RGM_ENTRIES(X)                                                                                       \
    X(u32, span, "", 0, "Row in `spans`.")                                                                   \
    X(i32, depth, "", 0, "Number of enclosing scopes on its lane.")                                          \
    X(i64, exclusive_ns, "ns", 0, "Duration without nested scopes and the profiler's own time (own_ns).")    \
    X(f64, memory_allocated_bytes, "bytes", NAN, "Allocated memory at the end minus at the start.")          \
    X(f64, memory_peak_bytes, "bytes", NAN, "Largest memory seen inside the scope.")                         \
    X(u8, memory_source, "", 0, "An index of MEMORY_SOURCES.")                                               \
    X(i64, device_ns, "ns", -1,                                                                              \
      "Time from event to event in the scope's stream, an upper bound of its work; -1 when not known.")      \
    X(i64, queue_ns, "ns", -1, "Delay of the first event in the queue, a lower bound; -1 when not known.")   \
    X(u8, device_state, "", 255, "An index of INTERVAL_STATES, 255 for a scope without events.")             \
    X(i64, busy_ns, "ns", -1,                                                                                \
      "Time of the device work that was launched in it, as in scope_device; -1 where none is recorded.")     \
    X(i64, window_ns, "ns", -1, "Time that busy_ns is a part of, as in scope_device; -1 without busy_ns.")   \
    X(i64, copy_ns, "ns", -1, "Time of copies among that work, as in scope_device; -1 without busy_ns.")     \
    X(i64, copy_bytes, "bytes", -1, "Bytes of these copies, as in scope_device; -1 when not known.")

// Where the device time of a scope comes from: X(NAME, token, definition).
#define RGM_SCOPE_SOURCES(X)                                                                                 \
    X(NONE, "none", "no device work and no events of the scope are in the recording")                        \
    X(EVENTS, "events", "two events in the scope's stream: device_ns, an upper bound")                       \
    X(KERNELS, "kernels", "the device work that was launched in the scope: busy_ns and idle_ns, exact")      \
    X(BOTH, "both", "both of these")
#define RGM_SCOPE_SOURCE_ENUM(name, token, definition) RGM_SCOPE_FROM_##name,
typedef enum { RGM_SCOPE_SOURCES(RGM_SCOPE_SOURCE_ENUM) RGM_SCOPE_SOURCE_COUNT } rgm_scope_source;

// Result of the scope_device analysis: one row is one scope, or all calls of one operation. Times of an
// operation are sums over calls that are not inside another call of the same operation. Work of CUDA graphs
// is booked on the scope that launched the graph or, when asked for, on that of the call that captured the
// node.
#define RGM_SCOPE_DEVICE(X)                                                                                  \
    X(i32, span, "", -1, "Row in `spans`, -1 where the row is an operation.")                                \
    X(name, operation, "", 0, "Name of the scope or annotation.")                                            \
    X(i64, calls, "", 0, "Calls, those inside another call of the operation included.")                      \
    X(u8, source, "", 0, "An index of SCOPE_SOURCES.")                                                       \
    X(i64, host_ns, "ns", 0, "Duration on the host.")                                                        \
    X(i64, launches, "", -1, "Calls inside that launched device work, -1 when unknown.")                     \
    X(f64, launch_ns, "ns", NAN, "Time of their threads in these calls, overlaps of one thread once.")       \
    X(f64, device_ns, "ns", NAN, "Time from event to event, summed over `measured` calls.")                  \
    X(i64, measured, "", 0, "Calls with a measured device_ns.")                                              \
    X(f64, queue_ns, "ns", NAN,                                                                              \
      "Delay of the first event in the queue, a lower bound, over the same calls.")                          \
    X(i64, work, "", -1,                                                                                     \
      "Pieces of device work booked on it: launched (or captured) inside, in nested scopes too; -1 "         \
      "unknown.")                                                                                            \
    X(i64, kernels, "", -1, "Kernels among them.")                                                           \
    X(f64, busy_ns, "ns", NAN, "Union of that work on each device, added up.")                               \
    X(f64, idle_ns, "ns", NAN,                                                                               \
      "Rest of the time from its first start to its last end on each device, added up; not known where "     \
      "captured work was launched outside.")                                                                 \
    X(i64, graph_work, "", -1, "Pieces of that work that a CUDA graph launched, -1 when unknown.")           \
    X(f64, graph_ns, "ns", NAN, "Union of these on each device, added up: the part of busy_ns from graphs.") \
    X(i64, captured, "", -1,                                                                                 \
      "Of graph_work, pieces booked here because they were captured here; 0 where work belongs to its "      \
      "launch.")                                                                                             \
    X(f64, window_ns, "ns", NAN,                                                                             \
      "From the scope's begin to its end, or to the last end of its work where that is later, on each "      \
      "device that it used, added up; not known where idle_ns is not.")                                      \
    X(i64, copies, "", -1, "Copies of memory among that work, -1 when unknown.")                             \
    X(f64, copy_ns, "ns", NAN, "Union of these on each device, added up.")                                   \
    X(i64, copy_bytes, "bytes", -1, "Bytes of these, -1 where those of one are not recorded.")

#define RGM_SCOPES_RESULTS(X)                                                                                \
    X(summary, RGM_SUMMARY, "Statistics of one operation.")                                                  \
    X(entries, RGM_ENTRIES, "Derived values of one scope.")                                                  \
    X(scope_device, RGM_SCOPE_DEVICE, "Host, launch, device and idle time of scopes.")

#endif
