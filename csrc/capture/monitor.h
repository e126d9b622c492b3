// SPDX-License-Identifier: Apache-2.0
// Executions that the program reports itself: totals of each kernel, and the last executions.
//
// Totals are complete; of single executions only the last `room` are kept, and how many are gone is counted.
// Names beyond the bound are counted together under RGM_MONITOR_OTHERS.
//
// Threads: everything from any thread; a record takes one lock and, but for a new name, allocates nothing.
#ifndef RGM_CAPTURE_MONITOR_H
#define RGM_CAPTURE_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { RGM_MONITOR_NAMES = 4096, RGM_MONITOR_MOST_ROOM = 1 << 24 };
#define RGM_MONITOR_OTHERS "(other kernels)"

// X(type, name, unit, doc)
#define RGM_MONITOR_KERNEL(X)                                                                                \
    X(i64, call_count, "", "Executions.")                                                                    \
    X(i64, failed_calls, "", "Executions that were reported as failed; their times count as well.")          \
    X(i64, total_ns, "ns", "Sum of the reported times.")                                                     \
    X(i64, min_ns, "ns", "Shortest.")                                                                        \
    X(i64, max_ns, "ns", "Longest.")                                                                         \
    X(i64, peak_memory_bytes, "bytes", "Most memory that was reported, -1 where none was.")

typedef struct {
#define RGM_MONITOR_FIELD(type, name, unit, doc) int64_t name;
    RGM_MONITOR_KERNEL(RGM_MONITOR_FIELD)
#undef RGM_MONITOR_FIELD
} rgm_monitor_kernel;

typedef struct {
    uint32_t kernel; // index
    bool success;
    int64_t end_ns; // of the clock of the caller
    int64_t duration_ns;
    int64_t memory_bytes; // -1: not reported
} rgm_monitor_record;

typedef struct {
    rgm_monitor_kernel all;
    int64_t current_memory_bytes; // the last that was reported, -1 where none was
    int64_t kept, dropped;        // single executions
    uint32_t kernels;             // names
} rgm_monitor_totals;

typedef struct rgm_monitor rgm_monitor;

rgm_status rgm_monitor_new(rgm_monitor **monitor, size_t room, rgm_error *err) RGM_NODISCARD;
void rgm_monitor_free(rgm_monitor *monitor); // NULL is fine
// RGM_INVALID for a negative duration, or memory below -1.
rgm_status rgm_monitor_add(rgm_monitor *monitor, const char *name, size_t length,
                           const rgm_monitor_record *record, rgm_error *err) RGM_NODISCARD;
rgm_monitor_totals rgm_monitor_totals_of(rgm_monitor *monitor);
// The kernel of an index below totals.kernels, in the order of their first execution; false beyond. The name
// lives as long as the monitor.
bool rgm_monitor_kernel_of(rgm_monitor *monitor, uint32_t kernel, const char **name, size_t *length,
                           rgm_monitor_kernel *out);
// The last executions, the oldest first: the newest `room` of those that are kept; returns how many.
size_t rgm_monitor_records(rgm_monitor *monitor, rgm_monitor_record *out, size_t room);
void rgm_monitor_reset(rgm_monitor *monitor);

#endif
