// SPDX-License-Identifier: Apache-2.0
// Results about devices and streams that wait: idle times, launches, queues.
#ifndef RGM_MODEL_RESULTS_WAITING_H
#define RGM_MODEL_RESULTS_WAITING_H

#include "model/results/places.h"

// Why a device or a stream had nothing to do, the first that holds: X(NAME, token, definition). "Early" is
// a launch call that began no later than the gap did; a short gap is one of at most launch_gap_ns.
#define RGM_IDLE_CAUSES(X)                                                                                   \
    X(UNKNOWN, "unknown", "the launch of the next work is not in the recording")                             \
    X(HOST_SYNC, "host_sync",                                                                                \
      "until a late launch began, by a thread that sat in a synchronisation for half of that or more")       \
    X(AFTER_SYNC, "after_sync",                                                                              \
      "until a late launch began, by a thread that had waited for the device and then did something else "   \
      "for most of it")                                                                                      \
    X(HOST_LATE, "host_late", "until a late launch began, by a thread that did something else")              \
    X(COMMUNICATION, "communication",                                                                        \
      "launched early; waited for communication of another stream, or had it run beside for half the gap")   \
    X(MEMORY, "memory", "the same with a copy or set")                                                       \
    X(WAIT_STREAM, "wait_stream", "launched early behind a wait for an event of another stream's compute")   \
    X(LAUNCH_GAP, "launch_gap",                                                                              \
      "the launch had begun: the call, driver and hardware; of an early launch, where the gap is short")     \
    X(LAUNCH_CALL, "launch_call", "the same, but long, and for half of it the call had not returned")        \
    X(QUEUE, "queue", "launched early, long gap, no reason in the recording")
#define RGM_IDLE_ENUM(name, token, definition) RGM_IDLE_##name,
typedef enum { RGM_IDLE_CAUSES(RGM_IDLE_ENUM) RGM_IDLE_COUNT } rgm_idle_cause;

// Result of the idle_gaps analysis: one row is one gap, the longest first; of equal
// length by device or stream, then by time.
#define RGM_IDLE_GAPS(X)                                                                                     \
    RGM_ON_STREAM(X)                                                                                         \
    X(i64, start_ns, "ns", 0, "Latest end of the work so far.")                                              \
    X(i64, duration_ns, "ns", 0, "Start of the next work minus start_ns; more than idle_min_ns.")            \
    X(u8, cause, "", 0, "An index of IDLE_CAUSES; where the launch was late, of the part before it.")        \
    X(i64, before_launch_ns, "ns", 0, "Part before the launch call of the next work began.")                 \
    X(i64, in_launch_ns, "ns", 0, "Part while that call ran.")                                               \
    X(i64, after_launch_ns, "ns", 0,                                                                         \
      "The rest. The three add up to duration_ns; all are 0 where the cause is unknown.")                    \
    X(i64, sync_ns, "ns", 0, "Part of before_launch_ns that the launching thread sat in synchronisation.")   \
    X(i64, busy_ns, "ns", 0, "Part of a stream's gap in which other streams of the device worked.")          \
    X(i32, previous, "", -1, "Row of the work that ended last before the gap.")                              \
    X(i32, next, "", -1, "Row of the work that ends the gap.")                                               \
    X(i32, launch, "", -1, "Row of the call that launched `next`, -1 when not recorded.")                    \
    X(i32, awaited, "", -1, "Row of the other stream's work that `next` waited for, -1 for none.")           \
    X(i32, activity, "", -1,                                                                                 \
      "Row of the innermost span of the launching thread that covers more than half of the gap; where none " \
      "does, the outermost around its middle; -1 for none.")                                                 \
    X(name, next_name, "", 0, "Name of `next`.")                                                             \
    X(name, activity_name, "", 0, "Name of `activity`, empty for none.")                                     \
    X(f64, activity_share, "", NAN, "Share of the gap that `activity` covers.")                              \
    X(name, function, "", 0,                                                                                 \
      "Function of the program in which the launching thread was, by samples of its call stack: before the " \
      "launch began, of an early one in the whole gap. Empty for none.")                                     \
    X(name, file, "", 0, "Its file.")                                                                        \
    X(i32, line, "", -1, "The line at which most of these samples stood, -1 for none.")                      \
    X(i64, samples, "", 0,                                                                                   \
      "Samples; 0 where none fell into the gap: then the line is that of the nearest, within "               \
      "idle_line_reach_ns.")                                                                                 \
    X(f64, samples_share, "", NAN, "Share of the samples at the line.")                                      \
    X(i32, step, "", -1, "Step of `next`.")

// Result of the idle_times analysis: one row is one cause on one device or stream. A gap before work that was
// launched late has two parts: until the launch began, and launch_gap or launch_call from there on. Of a
// device or stream the cause with the most time comes first.
#define RGM_IDLE_TIMES(X)                                                                                    \
    RGM_ON_STREAM(X)                                                                                         \
    X(u8, cause, "", 0, "An index of IDLE_CAUSES.")                                                          \
    X(i64, count, "", 0, "Gaps with such a part, those below idle_min_ns included.")                         \
    X(i64, total_ns, "ns", 0, "Sum; over the causes of a device it is the breakdown's idle_ns.")             \
    X(f64, share, "", NAN, "total_ns over the idle time of the device or stream.")                           \
    X(f64, span_share, "", NAN, "total_ns over span_ns.")                                                    \
    X(i64, span_ns, "ns", 0, "From first start to last end of the device's or stream's work.")               \
    X(i64, longest_ns, "ns", 0, "Longest part of a gap.")                                                    \
    X(f64, median_ns, "ns", NAN, "Median part of a gap.")                                                    \
    X(i64, before_launch_ns, "ns", 0, "Part of total_ns before the launch of the next work began.")          \
    X(i64, in_launch_ns, "ns", 0, "Part while that call ran.")                                               \
    X(i64, after_launch_ns, "ns", 0, "Part after it.")                                                       \
    X(i64, sync_ns, "ns", 0, "Part of before_launch_ns that the launching thread sat in synchronisation.")   \
    X(i64, busy_ns, "ns", 0, "Part of a stream's idle time in which other streams of the device worked.")

// Result of the launch_times analysis: one row is one call, kernel or operator name, the most host time
// first. A launch is every call that device work names by its correlation. Columns of calls count launches;
// by kernel name, a launch of several (a graph) counts for the first of its pieces of work. Columns of work
// count pieces.
#define RGM_LAUNCH_TIMES(X)                                                                                  \
    X(name, name, "", 0, "Call, kernel or operator; empty for launches outside any operator.")               \
    X(i64, calls, "", 0, "Launches.")                                                                        \
    X(i64, graph_calls, "", 0, "Launches of more than one piece of work.")                                   \
    X(i64, work, "", 0, "Pieces of device work launched.")                                                   \
    X(i64, host_total_ns, "ns", 0, "Sum of the calls' durations on the host.")                               \
    X(f64, host_mean_ns, "ns", NAN, "Mean duration of a call.")                                              \
    X(f64, host_median_ns, "ns", NAN, "Median duration of a call.")                                          \
    X(f64, host_p95_ns, "ns", NAN, "95th percentile (percentile_tail) of the calls' durations.")             \
    X(i64, host_max_ns, "ns", 0, "Longest call.")                                                            \
    X(f64, delay_mean_ns, "ns", NAN, "Mean queue delay: start of the first work minus end of the call.")     \
    X(f64, delay_median_ns, "ns", NAN, "Median queue delay.")                                                \
    X(f64, delay_p95_ns, "ns", NAN, "95th percentile (percentile_tail) of the queue delay.")                 \
    X(i64, delay_min_ns, "ns", 0,                                                                            \
      "Smallest queue delay; negative where work starts before the call returns.")                           \
    X(i64, delay_max_ns, "ns", 0, "Largest queue delay.")                                                    \
    X(i64, early_calls, "", 0, "Calls whose work started before they returned: negative delays.")            \
    X(f64, begin_delay_mean_ns, "ns", NAN, "Mean of start of the first work minus start of the call.")       \
    X(f64, begin_delay_median_ns, "ns", NAN, "Median of the same.")                                          \
    X(i64, device_total_ns, "ns", 0, "Sum of the durations of the work.")                                    \
    X(f64, device_mean_ns, "ns", NAN, "Mean duration of a piece of work.")                                   \
    X(i64, short_work, "", 0, "Pieces of work shorter than short_kernel_ns.")                                \
    X(i64, launch_bound_calls, "", 0, "Calls that took longer than all the work they launched.")             \
    X(i64, queued_work, "", 0,                                                                               \
      "Kernels of which it was recorded when their launch was queued and submitted; the following columns "  \
      "are of those alone.")                                                                                 \
    X(f64, queued_mean_ns, "ns", NAN,                                                                        \
      "Mean wait, from when the launch was queued to the start of the kernel: behind earlier work and on "   \
      "the way to the device.")                                                                              \
    X(f64, queued_median_ns, "ns", NAN, "Median of the same.")                                               \
    X(f64, queued_p95_ns, "ns", NAN, "95th percentile (percentile_tail) of the same.")                       \
    X(f64, buffered_mean_ns, "ns", NAN,                                                                      \
      "Mean of the part of the wait before CUPTI's time of submission, which lies behind the earlier work "  \
      "of the stream on the hardware that was seen.")                                                        \
    X(f64, buffered_median_ns, "ns", NAN, "Median of the same.")                                             \
    X(f64, buffered_p95_ns, "ns", NAN, "95th percentile (percentile_tail) of the same.")                     \
    X(f64, waiting_mean_ns, "ns", NAN, "Mean of the part of the wait after CUPTI's time of submission.")     \
    X(f64, waiting_median_ns, "ns", NAN, "Median of the same.")                                              \
    X(f64, waiting_p95_ns, "ns", NAN, "95th percentile (percentile_tail) of the same.")                      \
    X(f64, on_device_mean_ns, "ns", NAN, "Mean duration of these kernels.")

// Result of the short_kernels analysis: one row is one class of kernel durations on one device, in order;
// classes double, from the first (below 1 us) to the longest kernel's, empty ones between included.
#define RGM_SHORT_KERNELS(X)                                                                                 \
    RGM_ON_DEVICE(X)                                                                                         \
    X(i64, low_ns, "ns", 0, "Shortest duration of the class.")                                               \
    X(i64, high_ns, "ns", 0, "End of the class, excluded.")                                                  \
    X(i64, count, "", 0, "Kernels, communication included, copies and sets not.")                            \
    X(i64, total_ns, "ns", 0, "Sum of their durations.")                                                     \
    X(f64, count_share, "", NAN, "count over all kernels of the device.")                                    \
    X(f64, time_share, "", NAN, "total_ns over the sum of durations of all kernels of the device.")          \
    X(i64, launched, "", 0, "Kernels with a recorded launch.")                                               \
    X(i64, launch_bound, "", 0, "Of these, from calls that took longer than all the work they launched.")    \
    X(f64, launch_bound_share, "", NAN, "launch_bound over launched.")

// Result of the queue_lengths analysis: one row is one stream. Work is queued from the start of its launch
// call to its own start, and outstanding until its end; work without a recorded launch is only outstanding,
// while it runs. Means and shares are over time, from the first launch or start to the last end; what changes
// at one moment changes at once.
#define RGM_QUEUE_LENGTHS(X)                                                                                 \
    RGM_ON_STREAM(X)                                                                                         \
    X(i64, work, "", 0, "Pieces of work; each kernel of a graph is one.")                                    \
    X(i64, launched, "", 0, "Pieces of work with a recorded launch.")                                        \
    X(i64, span_ns, "ns", 0, "Time over which the means are taken.")                                         \
    X(f64, queued_mean, "", NAN, "Mean number of queued pieces of work.")                                    \
    X(i64, queued_max, "", 0, "Largest number queued.")                                                      \
    X(f64, empty_share, "", NAN, "Share of the time with nothing queued.")                                   \
    X(f64, full_share, "", NAN, "Share of the time with queue_full or more queued.")                         \
    X(i64, full_ns, "ns", 0, "That time: a further launch blocks the host.")                                 \
    X(i64, full_calls, "", 0, "Launch calls that began with queue_full or more queued, their own included.") \
    X(i64, full_calls_ns, "ns", 0, "Sum of the durations of these calls.")                                   \
    X(f64, outstanding_mean, "", NAN, "Mean number of outstanding pieces of work.")                          \
    X(i64, outstanding_max, "", 0, "Largest number outstanding.")                                            \
    X(i64, starved_ns, "ns", 0, "Time with nothing outstanding.")

// Result of the queue_series analysis: one row is one change, by stream, then by time; it holds to the next.
#define RGM_QUEUE_SERIES(X)                                                                                  \
    RGM_ON_STREAM(X)                                                                                         \
    X(i64, time_ns, "ns", 0, "When.")                                                                        \
    X(i64, queued, "", 0, "Pieces of work launched and not started.")                                        \
    X(i64, running, "", 0, "Pieces of work started and not ended.")

#define RGM_WAITING_RESULTS(X)                                                                               \
    X(idle_gaps, RGM_IDLE_GAPS, "A time in which a device or stream had no work.")                           \
    X(idle_times, RGM_IDLE_TIMES, "Idle time of a device or stream by cause.")                               \
    X(launch_times, RGM_LAUNCH_TIMES, "What launching cost, and how long work waited.")                      \
    X(short_kernels, RGM_SHORT_KERNELS, "A class of kernel durations.")                                      \
    X(queue_lengths, RGM_QUEUE_LENGTHS, "How much work a stream had before it, over time.")                  \
    X(queue_series, RGM_QUEUE_SERIES, "Work queued and running on a stream from one moment on.")

#endif
