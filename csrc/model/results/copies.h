// SPDX-License-Identifier: Apache-2.0
// Results about copies of memory, and about calls that wait for the device.
#ifndef RGM_MODEL_RESULTS_COPIES_H
#define RGM_MODEL_RESULTS_COPIES_H

#include "model/results/places.h"

// X(NAME, token): where a copy goes, and what kind of memory it reads and writes.
#define RGM_COPY_DIRECTIONS(X)                                                                               \
    X(UNKNOWN, "unknown")                                                                                    \
    X(HOST_TO_DEVICE, "host_to_device")                                                                      \
    X(DEVICE_TO_HOST, "device_to_host")                                                                      \
    X(DEVICE_TO_DEVICE, "device_to_device")                                                                  \
    X(HOST_TO_HOST, "host_to_host")                                                                          \
    X(PEER_TO_PEER, "peer_to_peer")                                                                          \
    X(SET, "set")
#define RGM_COPY_DIRECTION_ENUM(name, token) RGM_COPY_##name,
typedef enum { RGM_COPY_DIRECTIONS(RGM_COPY_DIRECTION_ENUM) RGM_COPY_DIRECTION_COUNT } rgm_copy_direction;

#define RGM_COPY_MEMORIES(X)                                                                                 \
    X(UNKNOWN, "unknown")                                                                                    \
    X(PAGEABLE, "pageable")                                                                                  \
    X(PINNED, "pinned")                                                                                      \
    X(HOST, "host")                                                                                          \
    X(DEVICE, "device")                                                                                      \
    X(ARRAY, "array")                                                                                        \
    X(MANAGED, "managed")
#define RGM_COPY_MEMORY_ENUM(name, token) RGM_COPY_MEMORY_##name,
typedef enum { RGM_COPY_MEMORIES(RGM_COPY_MEMORY_ENUM) RGM_COPY_MEMORY_COUNT } rgm_copy_memory;

// Result of the copy_times analysis: one row is one device, direction and pair of memories.
#define RGM_COPY_TIMES(X)                                                                                    \
    RGM_ON_DEVICE(X)                                                                                         \
    X(u8, direction, "", 0, "An index of COPY_DIRECTIONS.")                                                  \
    X(u8, source, "", 0, "Memory that is read: an index of COPY_MEMORIES.")                                  \
    X(u8, target, "", 0, "Memory that is written: an index of COPY_MEMORIES.")                               \
    X(i64, count, "", 0, "Copies or sets.")                                                                  \
    X(i64, unknown_bytes, "", 0, "Of these, copies whose bytes are not recorded.")                           \
    X(i64, bytes, "bytes", 0, "Bytes of the others.")                                                        \
    X(i64, total_ns, "ns", 0, "Sum of durations.")                                                           \
    X(i64, union_ns, "ns", 0, "Time with at least one.")                                                     \
    X(f64, bandwidth, "bytes/s", NAN, "bytes over the time with at least one copy of recorded bytes.")       \
    X(f64, peak_bandwidth, "bytes/s", NAN, "Highest bytes over duration of a single copy.")                  \
    X(f64, median_bytes, "bytes", NAN, "Median of the recorded bytes.")                                      \
    X(i64, small, "", 0, "Copies of less than small_copy_bytes.")                                            \
    X(i64, synchronous, "", 0, "Copies by a call that waits for them, cudaMemcpy not cudaMemcpyAsync.")      \
    X(i64, blocking, "", 0,                                                                                  \
      "The same, and asynchronous ones of pageable memory that were done before their call returned.")

// Result of the copy_bandwidth analysis: one row is one change, by device and direction, then by time; it
// holds to the next. Each copy counts with its bytes over its duration, rounded to whole bytes a second and
// at most 10^15, so that sums are exact and return to 0; copies without recorded bytes or without length are
// not in it.
#define RGM_COPY_BANDWIDTH(X)                                                                                \
    RGM_ON_DEVICE(X)                                                                                         \
    X(u8, direction, "", 0, "An index of COPY_DIRECTIONS.")                                                  \
    X(i64, time_ns, "ns", 0, "When.")                                                                        \
    X(i64, bandwidth, "bytes/s", 0, "Sum over the copies that run.")                                         \
    X(i64, active, "", 0, "Copies that run.")

// Result of the copy_rates analysis: one row is one device and direction, over the time with any copy of it.
#define RGM_COPY_RATES(X)                                                                                    \
    RGM_ON_DEVICE(X)                                                                                         \
    X(u8, direction, "", 0, "An index of COPY_DIRECTIONS.")                                                  \
    X(i64, active_ns, "ns", 0, "Time with at least one copy.")                                               \
    X(f64, mean, "bytes/s", NAN, "Mean bandwidth over that time.")                                           \
    X(f64, median, "bytes/s", NAN, "Bandwidth that is not exceeded for half of that time.")                  \
    X(f64, p95, "bytes/s", NAN, "The same for the share percentile_tail of it.")                             \
    X(i64, max, "bytes/s", 0, "Highest bandwidth.")                                                          \
    X(i64, left_out, "", 0, "Copies without recorded bytes or without length.")

// X(NAME, token, definition)
#define RGM_SYNC_CLASSES(X)                                                                                  \
    X(HOST, "host", "the calling thread waits for a stream, an event or a device")                           \
    X(COPY, "copy", "a copy for which the calling thread waits")                                             \
    X(STREAM_WAIT, "stream_wait", "a stream is made to wait for an event; the calling thread goes on")       \
    X(RECORD, "record", "a synchronisation as the driver recorded it, beside the call")
#define RGM_SYNC_ENUM(name, token, definition) RGM_SYNC_##name,
typedef enum { RGM_SYNC_CLASSES(RGM_SYNC_ENUM) RGM_SYNC_COUNT } rgm_sync_class;

// Result of the sync_times analysis: one row is one name, or one name and operator, the most time first. The
// four device columns and unplaced_ns add up to total_ns.
#define RGM_SYNC_TIMES(X)                                                                                    \
    X(name, name, "", 0, "Call, or kind of the record.")                                                     \
    X(name, op, "", 0, "Calling operator where asked for, empty outside any.")                               \
    X(u8, sync_class, "", 0, "An index of SYNC_CLASSES.")                                                    \
    X(i64, count, "", 0, "Calls or records.")                                                                \
    X(i64, total_ns, "ns", 0, "Sum of durations: of a call, the time that it held its thread.")              \
    X(f64, mean_ns, "ns", NAN, "Mean duration.")                                                             \
    X(i64, max_ns, "ns", 0, "Longest.")                                                                      \
    X(i64, device_compute_ns, "ns", 0, "Part in which the device ran a compute kernel.")                     \
    X(i64, device_comm_ns, "ns", 0, "Part in which it ran communication and no compute.")                    \
    X(i64, device_mem_ns, "ns", 0, "Part in which it ran copies or sets alone.")                             \
    X(i64, device_idle_ns, "ns", 0, "Part in which the device had nothing to do.")                           \
    X(i64, unplaced_ns, "ns", 0, "Durations of which the device is not known.")                              \
    X(i64, needless, "", 0, "Calls during which no work ended and none ran: nothing to wait for.")           \
    X(name, awaited, "", 0, "Work that ended last before the return, by the most time; empty for none.")     \
    X(i64, awaited_ns, "ns", 0, "Sum of durations of the calls that waited for work of that name.")

#define RGM_COPIES_RESULTS(X)                                                                                \
    X(copy_times, RGM_COPY_TIMES, "Copies of one kind on one device.")                                       \
    X(copy_bandwidth, RGM_COPY_BANDWIDTH, "Bandwidth of copies from one moment on.")                         \
    X(copy_rates, RGM_COPY_RATES, "Bandwidth of copies over time.")                                          \
    X(sync_times, RGM_SYNC_TIMES, "What a synchronisation cost.")

#endif
