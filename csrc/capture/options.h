// SPDX-License-Identifier: Apache-2.0
// What a recording session can be told. Written once: X(type, name, default, unit, doc). The struct, the
// defaults and the Python keywords are expansions of the list.
#ifndef RGM_CAPTURE_OPTIONS_H
#define RGM_CAPTURE_OPTIONS_H

#include <stdint.h>

#define RGM_SESSION_OPTIONS(X)                                                                               \
    X(int64_t, drain_interval_ns, 50000000, "ns",                                                            \
      "How often records move on; what a SIGKILL can cost is at most this and one write.")                   \
    X(int64_t, memory_budget_bytes, 536870912, "bytes",                                                      \
      "Memory for records; past it new scopes are dropped and counted (16.7 million scopes).")               \
    X(int64_t, sample_budget_bytes, 67108864, "bytes", "Memory for samples, past it they are dropped.")      \
    X(int64_t, device_budget_bytes, 268435456, "bytes",                                                      \
      "Memory for each kind of device row (2.3 million kernels), past it they are dropped and counted.")     \
    X(int64_t, device_wait_ns, 2000000000, "ns",                                                             \
      "How long results and close wait for the device; scopes it has not finished then have no device "      \
      "time.")                                                                                               \
    X(int64_t, device_poll_ns, 5000000, "ns", "How often the device is asked while scopes wait for it.")     \
    X(int64_t, device_events, 65536, "", "Pairs of events; past it scopes have no device time.")             \
    X(int64_t, text_budget_bytes, 67108864, "bytes", "Memory for names.")                                    \
    X(int64_t, metadata_budget_bytes, 67108864, "bytes",                                                     \
      "Memory for metadata texts that differ (some 1.5 million short ones), past it they are dropped and "   \
      "counted.")                                                                                            \
    X(int64_t, max_sites, 65536, "", "Operations; further names are filed under one common name.")           \
    X(int64_t, sample_interval_ns, 0, "ns", "Interval of the memory sampler, 0 for none.")                   \
    X(int64_t, sample_heartbeat_ns, 100000000, "ns", "An unchanged value is repeated this often.")           \
    X(int64_t, anchor_interval_ns, 1000000000, "ns", "How often ticks are tied to CLOCK_MONOTONIC.")         \
    X(int64_t, witness_interval_ns, 50000000, "ns",                                                          \
      "How often a recording thread looks how fast its machine is, and twice this how often the system is "  \
      "asked what else ran; 0 for never.")                                                                   \
    X(int64_t, stacks_interval_ns, 0, "ns",                                                                  \
      "Mean interval at which the call stacks of all threads are sampled, 0 for never.")                     \
    X(int64_t, allocations_bytes, 0, "bytes",                                                                \
      "Of so many bytes that the process asks for, one is drawn on average, and the block around it is "     \
      "recorded; 0 for none.")                                                                               \
    X(int64_t, budget_ppm, 0, "millionths",                                                                  \
      "Part of the time that recording may cost; sampling becomes rarer to keep to it. 0 for no budget.")    \
    X(int64_t, scope_cost_ps, 0, "ps", "What a scope costs, as it was calibrated; counts for the budget.")   \
    X(int64_t, disk_budget_bytes, 0, "bytes",                                                                \
      "Room that the files of the recording may take together; without room they wait until somebody takes " \
      "something out, as `regimeter monitor --keep` does. 0 for any.")                                       \
    X(int64_t, seed, 0, "", "Start of the pseudo-random sequence that sampling uses.")

typedef struct {
#define RGM_OPTION_FIELD(type, name, initial, unit, doc) type name;
    RGM_SESSION_OPTIONS(RGM_OPTION_FIELD)
#undef RGM_OPTION_FIELD
} rgm_session_options;

#define RGM_OPTION_DEFAULT(type, name, initial, unit, doc) .name = (initial),
#define RGM_SESSION_DEFAULTS                                                                                 \
    (rgm_session_options) { RGM_SESSION_OPTIONS(RGM_OPTION_DEFAULT) }

#endif
