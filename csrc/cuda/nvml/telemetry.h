// SPDX-License-Identifier: Apache-2.0
// Telemetry: a thread that reads devices at an interval and hands the values to a sink.
//
// The thread may spend a fraction of the wall time inside NVML, no more: what each call takes is measured,
// and calls that would exceed the budget are made more rarely (budget.h). What a device does not offer is
// dropped with its reason; a device that is lost ends its own sampling. A value is handed on when it changed,
// and once per heartbeat; its time is the middle of the call that read it.
//
// Threads: start, stop, stats and series from any thread, one at a time. The sink is called under a lock of
// the telemetry, so it must not call back. Fork: the child has no thread; stop and free do nothing but
// release there, and statistics and series are those of the moment of the fork. Exit: whoever started it
// stops it. A call that does not come back within two seconds is left behind with its thread, which never
// calls the sink again.
#ifndef RGM_CUDA_TELEMETRY_H
#define RGM_CUDA_TELEMETRY_H

#include "cuda/nvml/telemetry_read.h"
#include "cuda/sink.h"

enum { RGM_TELEMETRY_MIN_INTERVAL_MS = 10, RGM_TELEMETRY_DEFAULT_INTERVAL_MS = 100 };
#define RGM_TELEMETRY_DEFAULT_BUDGET 0.01
#define RGM_TELEMETRY_DEFAULT_HEARTBEAT_NS (INT64_C(5) * 1000000000)

// Zero-initialised options ask for the defaults.
typedef struct {
    int64_t interval_ns;  // less than 10 ms becomes 10 ms
    int64_t heartbeat_ns; // an unchanged value is handed on after this time
    double budget;        // fraction of wall time inside NVML
    uint64_t metrics;     // bits of rgm_telemetry_metric; 0 for all but the expensive ones
    const int *ordinals;  // CUDA ordinals; NULL for every device that CUDA sees
    size_t ordinal_count;
    bool by_hand;                // no thread: the owner calls rgm_telemetry_tick (tests)
    int64_t (*clock)(void *arg); // NULL: CLOCK_MONOTONIC
    void *clock_arg;
} rgm_telemetry_options;

typedef struct rgm_telemetry rgm_telemetry;

typedef struct {
    int64_t interval_ns; // in force
    double budget;
    int64_t wall_ns; // from the start to the last tick
    int64_t nvml_ns; // inside NVML
    uint64_t ticks, calls, values;
    size_t devices, lost; // sampled, and of them lost on the way
    size_t slowed;        // calls that are made more rarely than asked
    char remark[160];     // '' or why the interval is not the one that was asked for
} rgm_telemetry_stats;

// State of one metric of one device.
typedef struct {
    rgm_telemetry_metric metric;
    int device;             // CUDA ordinal
    bool live;              // still read
    bool whole;             // of a MIG device: the value is that of the whole device
    rgm_nvml_result result; // why it is not live, or of the last reading
    uint64_t calls, failures;
    int64_t cost_ns;    // of its call, a moving average
    int64_t longest_ns; // of its call
    int64_t asked_ns;   // period
    int64_t period_ns;  // in force
    int64_t
        update_ns; // shortest time between two changes: an upper bound of the device's own period; 0 unknown
} rgm_telemetry_series;

// RGM_UNAVAILABLE with the reason when there is no NVML, or no device that CUDA sees. The first start in a
// process initialises NVML.
rgm_status rgm_telemetry_start(rgm_telemetry **telemetry, const rgm_telemetry_options *options,
                               rgm_device_sink sink, rgm_error *err) RGM_NODISCARD;
// Ends the thread; any number of times. Statistics stay until free.
void rgm_telemetry_stop(rgm_telemetry *telemetry);
void rgm_telemetry_free(rgm_telemetry *telemetry);
void rgm_telemetry_stats_read(rgm_telemetry *telemetry, rgm_telemetry_stats *stats);
// Copies at most `room` rows and returns how many there are.
size_t rgm_telemetry_series_read(rgm_telemetry *telemetry, rgm_telemetry_series *rows, size_t room);
// Makes the calls that are due and returns when the next is. Only with `by_hand`.
int64_t rgm_telemetry_tick(rgm_telemetry *telemetry);

#endif
