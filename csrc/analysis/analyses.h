// SPDX-License-Identifier: Apache-2.0
// Every analysis of a trace, once: X(name, result table, doc). Each is a pure function of a view, of
// thresholds and of what the caller asked for; rgm_NAME_compute(view, policy, question, result, err) fills
// one result table, which the caller releases. The Python method, the stub and the documentation follow.
#ifndef RGM_ANALYSIS_ANALYSES_H
#define RGM_ANALYSIS_ANALYSES_H

#include "analysis/policy.h"
#include "analysis/view.h"
#include "model/schema.h"

// What an analysis may be asked beside thresholds; zero-initialised memory asks nothing special.
typedef struct {
    int32_t group_by;             // an enum of that analysis, 0 is its default
    const rgm_view *other;        // second run of a comparison
    const rgm_ceilings *ceilings; // of the device, NULL where none are known
    const char *text;             // a name or pattern to look at, NULL for all
    size_t length;
} rgm_question;

// Where the time went, and what work was done in it.
#define RGM_TIMES_ANALYSES(X)                                                                                \
    X(breakdown, breakdown, "Where the time of each device went; the parts add up to its span.")             \
    X(kernel_times, kernel_times, "Device work by name (0), type (1), operator (2) or module (3).")          \
    X(operator_times, operator_times, "CPU operators by name (0) or by name and input shapes (1).")          \
    X(step_times, step_times, "Steps of a training loop, on the host and on each device.")                   \
    X(scope_device, scope_device, "Host, launch, device and idle time by operation (0) or by scope (1).")    \
    X(annotation_times, annotation_times, "User annotations by name, on the host and on devices.")           \
    X(operator_flops, operator_flops,                                                                        \
      "FLOPs and compulsory bytes of operators by shapes (0) or by call (1).")                               \
    X(operator_tree, operator_tree, "Operators, their calls and the device work of these, as a tree.")       \
    X(lines, lines, "Samples of host stacks by line (0), by function (1) or by line of the program (2).")

// Memory: what lived when, who asked, what the allocator holds.
#define RGM_MEMORY_ANALYSES(X)                                                                               \
    X(memory_levels, memory_levels, "What lived and was reserved after each event of an allocator.")         \
    X(allocations, allocations,                                                                              \
      "Memory at the peak and the end by call stack (0), line (1), category (2) or line of the program "     \
      "(3).")                                                                                                \
    X(pools, pools, "What an allocator had reserved, by device (0) or by pool, stream and size class (1).")  \
    X(shortages, shortages, "When a device had too little memory left.")

// Who waited for whom: devices, streams, copies, hosts.
#define RGM_WAITING_ANALYSES(X)                                                                              \
    X(idle_gaps, idle_gaps, "Times without work, with their cause; group_by 0 device, 1 stream.")            \
    X(idle_times, idle_times, "Idle time by cause; group_by 0 device, 1 stream.")                            \
    X(launch_times, launch_times, "Launch cost and queue delay; group_by 0 call, 1 kernel, 2 operator.")     \
    X(short_kernels, short_kernels, "Histogram of kernel durations, with launch-bound kernels.")             \
    X(queue_lengths, queue_lengths, "Work queued and outstanding on each stream, weighted by time.")         \
    X(queue_series, queue_series, "Work queued and running on each stream, change by change.")               \
    X(copy_times, copy_times, "Copies and sets by direction and memory, with their bandwidth.")              \
    X(copy_bandwidth, copy_bandwidth, "Bandwidth of copies by direction, change by change.")                 \
    X(copy_rates, copy_rates, "Bandwidth of copies by direction, weighted by time.")                         \
    X(sync_times, sync_times, "Cost of synchronisation; group_by 0 name, 1 name and operator.")

// Communication, and the ranks of a job.
#define RGM_COMMUNICATION_ANALYSES(X)                                                                        \
    X(communication, communication,                                                                          \
      "Communication time, hidden and exposed; by device (0), library (1) or kernel name (2).")              \
    X(collective_times, collective_times,                                                                    \
      "Time and bandwidth by collective (0), by collective and message (1) or by call (2).")                 \
    X(rank_times, rank_times, "Where the time of each rank went, whole (0) or by step (1), and how evenly.") \
    X(stragglers, stragglers, "Which rank the others wait for.")                                             \
    X(collective_instances, collective_instances,                                                            \
      "Each collective across ranks: arrival, wait and transfer.")                                           \
    X(clock_offsets, clock_offsets, "Clocks of the ranks, compared at the ends of their collectives.")

// Kernels one after the other, and what the hardware counted in them.
#define RGM_KERNELS_ANALYSES(X)                                                                              \
    X(sequences, sequences, "Kernel sequences that repeat: candidates for fusion or graphs.")                \
    X(sequence_kernels, sequence_kernels, "The kernels of each repeated sequence.")                          \
    X(counter_values, counter_values,                                                                        \
      "Hardware counters by kernel name (0), by operator (1) or kernel by kernel (2).")                      \
    X(counter_flops, counter_flops,                                                                          \
      "Counted floating-point operations by kernel name (0), operator (1) or kernel (2).")                   \
    X(stall_shares, stall_shares,                                                                            \
      "Why warps stalled, by kernel (0), over all (1), by instruction (2), scope (3) or line (4).")

// What the duration hangs on.
#define RGM_CRITICAL_PATH_ANALYSES(X)                                                                        \
    X(critical_path, critical_path, "What the duration of a run or step hangs on, segment by segment.")      \
    X(critical_path_shares, critical_path_shares, "The critical path by kind, and the bound without each.")  \
    X(critical_path_top, critical_path_top, "The operators and kernels on the critical path.")               \
    X(critical_ties, critical_ties, "What took nearly as long beside the critical path.")

// Two runs.
#define RGM_TRACE_DIFF_ANALYSES(X)                                                                           \
    X(trace_diff, trace_diff, "What changed from a baseline to this run, aligned by tree.")                  \
    X(trace_diff_pairs, trace_diff_pairs, "The spans of two runs that belong together.")

// What limits kernels and regions.
#define RGM_REGIMES_ANALYSES(X)                                                                              \
    X(kernel_regimes, kernel_regimes, "What limits kernels, by name (0) or one by one (1).")                 \
    X(region_regimes, region_regimes, "What limits a device in the run (0), its steps (1) or scopes (2).")

// The machine of the recording.
#define RGM_MACHINE_ANALYSES(X)                                                                              \
    X(machine, machine, "How fast and how steady the machine was while the run was recorded.")               \
    X(slow_windows, slow_windows, "Stretches in which the machine was slower than usual.")                   \
    X(machine_levels, machine_levels, "How fast the machine was, look by look.")

// What a page draws.
#define RGM_VIEWS_ANALYSES(X)                                                                                \
    X(timeline_blocks, timeline_blocks, "Spans on lines of their lanes, short ones gathered in blocks.")     \
    X(flame, flame, "Merged call tree: host stacks with the device work that they issued.")                  \
    X(active_times, active_times, "How long host and device were active, and both at once.")                 \
    X(counter_points, counter_points, "Time series, thinned out so that no extreme is lost.")

#define RGM_ANALYSES(X)                                                                                      \
    RGM_TIMES_ANALYSES(X)                                                                                    \
    RGM_MEMORY_ANALYSES(X)                                                                                   \
    RGM_WAITING_ANALYSES(X)                                                                                  \
    RGM_COMMUNICATION_ANALYSES(X)                                                                            \
    RGM_KERNELS_ANALYSES(X)                                                                                  \
    RGM_CRITICAL_PATH_ANALYSES(X)                                                                            \
    RGM_TRACE_DIFF_ANALYSES(X)                                                                               \
    RGM_MACHINE_ANALYSES(X)                                                                                  \
    RGM_VIEWS_ANALYSES(X)                                                                                    \
    RGM_REGIMES_ANALYSES(X)

#define RGM_ANALYSIS_DECLARE(name, table, doc)                                                               \
    rgm_status rgm_##name##_compute(const rgm_view *view, const rgm_policy *policy,                          \
                                    const rgm_question *question, rgm_##table *result, rgm_error *err)       \
        RGM_NODISCARD;
RGM_ANALYSES(RGM_ANALYSIS_DECLARE)

typedef rgm_status (*rgm_analysis_function)(const rgm_view *view, const rgm_policy *policy,
                                            const rgm_question *question, void *result, rgm_error *err);
typedef struct {
    const char *name;
    const char *doc;
    const rgm_table_desc *desc;
    size_t size; // of the result table's struct
    rgm_analysis_function compute;
} rgm_analysis;

extern const rgm_analysis rgm_analyses[];
extern const size_t rgm_analyses_count;

#endif
