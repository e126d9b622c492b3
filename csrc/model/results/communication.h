// SPDX-License-Identifier: Apache-2.0
// Results about communication, of one rank and across the ranks of a job.
#ifndef RGM_MODEL_RESULTS_COMMUNICATION_H
#define RGM_MODEL_RESULTS_COMMUNICATION_H

// Result of the communication analysis: one row is one device, one library of a device, or one kernel name of
// a device. Within a device by time, longest first, then by library, then by name.
#define RGM_COMMUNICATION(X)                                                                                 \
    X(i32, rank, "", -1, "Rank of the job, -1 when unknown.")                                                \
    X(i64, process, "", 0, "Process id that the trace gives the device.")                                    \
    X(name, process_name, "", 0, "The same where it is a text.")                                             \
    X(i16, device, "", -1, "Device ordinal.")                                                                \
    X(u8, library, "", 0, "An index of LIBRARIES: which rule the kernel names match; 0 for all.")            \
    X(name, name, "", 0, "Kernel name, where rows are kernel names.")                                        \
    X(i64, count, "", 0, "Communication kernels.")                                                           \
    X(i64, comm_ns, "ns", 0, "Time with any of them: the union of their intervals.")                         \
    X(i64, hidden_ns, "ns", 0, "Time with any of them and a compute kernel.")                                \
    X(i64, exposed_ns, "ns", 0, "Time with any of them and no compute kernel.")                              \
    X(i64, sum_ns, "ns", 0, "Sum of their durations, overlaps counted more than once.")                      \
    X(f64, overlap_share, "", NAN, "hidden_ns of comm_ns, 0 to 1; NaN where nothing communicates.")

// Result of the collective_times analysis. Bandwidths are those of nccl-tests: algorithm = bytes by time, bus
// = algorithm times a factor of the collective and of the ranks, comparable with the speed of the links.
#define RGM_COLLECTIVE_TIMES(X)                                                                              \
    X(u8, collective, "", 0, "An index of COLLECTIVES.")                                                     \
    X(u8, source, "", 0, "An index of COLLECTIVE_SOURCES: the weakest that tells the collective of a call.") \
    X(name, element_type, "", 0, "Element type as recorded.")                                                \
    X(i64, bytes, "bytes", -1,                                                                               \
      "Message of one call, the larger buffer of a rank; -1 when not recorded or mixed.")                    \
    X(i32, group_size, "", -1, "Ranks in the process group.")                                                \
    X(name, group_name, "", 0, "Process group name.")                                                        \
    X(name, group_description, "", 0, "Process group description.")                                          \
    X(name, group_ranks, "", 0, "Ranks of the group as recorded.")                                           \
    X(i32, rank, "", -1, "Rank of the job, where a row is one call.")                                        \
    X(i16, device, "", -1, "Device ordinal, where a row is one call.")                                       \
    X(i32, step, "", -1, "Training step, where a row is one call.")                                          \
    X(i64, sequence, "", -1, "Number of the collective within its group, where a row is one call.")          \
    X(i64, start_ns, "ns", -1, "Start, where a row is one call.")                                            \
    X(i64, instance, "", -1,                                                                                 \
      "Row of collective_instances that it is part of, where a row is one call; -1 when not matched.")       \
    X(i32, arguments, "", -1, "Row of `collectives` that tells the arguments of one call, -1 for none.")     \
    X(u32, span, "", 0, "Row of the first kernel in `spans`.")                                               \
    X(i64, exposed_ns, "ns", 0, "Sum of the time of each kernel with no compute kernel on the device.")      \
    X(i64, since_ns, "ns", 0,                                                                                \
      "From the end of all communication that began earlier on the device to its start, 0 where some still " \
      "runs; from the first work where there was none. This and the next three where a row is one call.")    \
    X(i64, since_compute_ns, "ns", 0, "Of that, time with a compute kernel.")                                \
    X(i64, since_mem_ns, "ns", 0, "Of that, time with a copy or set and no compute kernel.")                 \
    X(i64, since_idle_ns, "ns", 0, "Of that, time with nothing on the device.")                              \
    X(i64, count, "", 0, "Kernels.")                                                                         \
    X(i64, sized, "", 0, "Kernels whose message size is recorded: those that the bandwidths are of.")        \
    X(i64, total_bytes, "bytes", -1, "Sum of the messages of those.")                                        \
    X(i64, total_ns, "ns", 0, "Sum of durations.")                                                           \
    X(f64, mean_ns, "ns", NAN, "Mean duration.")                                                             \
    X(i64, min_ns, "ns", 0, "Shortest.")                                                                     \
    X(f64, median_ns, "ns", NAN, "Median duration.")                                                         \
    X(i64, max_ns, "ns", 0, "Longest.")                                                                      \
    X(f64, algorithm_bandwidth, "bytes/s", NAN, "Bytes by time; NaN where no size is recorded.")             \
    X(f64, bus_bandwidth, "bytes/s", NAN,                                                                    \
      "The same times the factor of the collective; NaN where it has none.")

// Result of the rank_times analysis: one row is one device of a job, or one step on it; by step, then by
// rank.
#define RGM_RANK_TIMES(X)                                                                                    \
    X(i32, rank, "", -1, "Rank of the job, -1 when unknown.")                                                \
    X(i64, process, "", 0, "Process id that the trace gives the device.")                                    \
    X(name, process_name, "", 0, "The same where it is a text.")                                             \
    X(i16, device, "", -1, "Device ordinal.")                                                                \
    X(i32, step, "", -1, "Training step, -1 outside any and for the whole run.")                             \
    X(i64, first_ns, "ns", 0, "Start of the first piece of work.")                                           \
    X(i64, behind_ns, "ns", 0, "The same after the start of the earliest device.")                           \
    X(i64, span_ns, "ns", 0, "Last end minus first start.")                                                  \
    X(i64, busy_ns, "ns", 0, "Time with any work.")                                                          \
    X(i64, compute_ns, "ns", 0, "Time with a compute kernel.")                                               \
    X(i64, exposed_comm_ns, "ns", 0, "Time with communication and no compute.")                              \
    X(i64, exposed_mem_ns, "ns", 0, "Time with a copy or set and neither compute nor communication.")        \
    X(i64, idle_ns, "ns", 0, "span_ns minus busy_ns.")                                                       \
    X(i64, kernels, "", 0, "Kernels, communication included.")                                               \
    X(f64, compute_deviation, "", NAN, "compute_ns by its mean over the devices, minus 1.")                  \
    X(f64, imbalance, "", NAN,                                                                               \
      "Largest compute_ns by its mean over the devices, minus 1; the same in all rows of a step.")

// Result of the stragglers analysis: one row is one device of a job, the one that the others waited for
// longest first.
#define RGM_STRAGGLERS(X)                                                                                    \
    X(i32, rank, "", -1, "Rank of the job, -1 when unknown.")                                                \
    X(i64, process, "", 0, "Process id that the trace gives the device.")                                    \
    X(name, process_name, "", 0, "The same where it is a text.")                                             \
    X(i16, device, "", -1, "Device ordinal.")                                                                \
    X(i64, collectives, "", 0,                                                                               \
      "Collectives that are matched with other devices, without the doubtful ones.")                         \
    X(i64, unmatched, "", 0, "Communication kernels that are not: no counterpart, or not certain which.")    \
    X(i64, doubtful, "", 0,                                                                                  \
      "Matched ones that a rank left before another entered: clocks or match are wrong; not in the rest.")   \
    X(i64, last, "", 0, "Collectives at which it was the last to arrive, on the clocks of the run.")         \
    X(f64, last_share, "", NAN, "last of collectives, 0 to 1.")                                              \
    X(f64, mean_late_ns, "ns", NAN, "Mean of its arrival after the first to arrive.")                        \
    X(i64, latest_ns, "ns", 0, "Largest of these.")                                                          \
    X(i64, caused_ns, "ns", 0, "Sum of the waits of the others where it was the last.")                      \
    X(f64, caused_share, "", NAN, "caused_ns of the sum over all devices, 0 to 1.")                          \
    X(i64, waited_ns, "ns", 0,                                                                               \
      "Sum of its waits where it was not the last: its kernel's duration minus the collective's shortest.")  \
    X(i64, transfer_ns, "ns", 0, "Sum of the shortest durations: the time that transfers took.")

// Result of the collective_instances analysis: one row is one collective, matched across devices; by first
// start.
#define RGM_COLLECTIVE_INSTANCES(X)                                                                          \
    X(u8, collective, "", 0, "An index of COLLECTIVES.")                                                     \
    X(i64, bytes, "bytes", -1, "Message on the first device, -1 when not recorded.")                         \
    X(name, group_name, "", 0, "Process group name.")                                                        \
    X(i32, group_size, "", -1, "Ranks in the process group, -1 when not recorded.")                          \
    X(i32, step, "", -1, "Training step.")                                                                   \
    X(i64, sequence, "", -1, "Number of the collective within its group, -1 when not recorded.")             \
    X(u8, by_sequence, "", 0, "1 when matched by that number, 0 when by order of occurrence.")               \
    X(i64, participants, "", 0, "Devices that it was recorded on.")                                          \
    X(i64, start_ns, "ns", 0, "Start on the device that arrived first.")                                     \
    X(i64, start_skew_ns, "ns", 0, "Last start minus first start.")                                          \
    X(i64, end_skew_ns, "ns", 0, "Last end minus first end.")                                                \
    X(i64, transfer_ns, "ns", 0, "Shortest duration: the transfer.")                                         \
    X(i64, longest_ns, "ns", 0, "Longest duration.")                                                         \
    X(i64, wait_ns, "ns", 0, "Sum over the devices but the last to arrive of duration minus transfer.")      \
    X(i32, last_rank, "", -1, "Rank that arrived last.")                                                     \
    X(i16, last_device, "", -1, "Device ordinal of it.")                                                     \
    X(u8, overlaps, "", 0, "1 when the last started before any ended.")                                      \
    X(u8, doubtful, "", 0, "1 when it is no ground to charge anybody: see stragglers.doubtful.")             \
    X(u32, first_span, "", 0, "Row in `spans` of the kernel that started first.")                            \
    X(u32, last_span, "", 0, "Row in `spans` of the kernel that started last.")

// Result of the clock_offsets analysis: one row is one rank, by rank.
#define RGM_CLOCK_OFFSETS(X)                                                                                 \
    X(i32, rank, "", -1, "Rank of the job.")                                                                 \
    X(i32, reference_rank, "", -1, "Rank whose clock the others are compared with; -1 where known is 0.")    \
    X(u8, known, "", 0,                                                                                      \
      "1 when the rank shares a synchronising collective with the reference, directly or over others.")      \
    X(i64, offset_ns, "ns", 0,                                                                               \
      "What to add to the times of the rank to put them on the clock of the reference.")                     \
    X(i64, shared, "", 0, "Collectives that this is the median of.")                                         \
    X(f64, spread_ns, "ns", NAN, "Median distance of those from their median: what remains uncertain.")

#define RGM_COMMUNICATION_RESULTS(X)                                                                         \
    X(communication, RGM_COMMUNICATION, "Communication of a device, a library or a kernel name.")            \
    X(collective_times, RGM_COLLECTIVE_TIMES, "Time and bandwidth of a collective.")                         \
    X(rank_times, RGM_RANK_TIMES, "Where the time of one rank went.")                                        \
    X(stragglers, RGM_STRAGGLERS, "How long the others waited for one rank.")                                \
    X(collective_instances, RGM_COLLECTIVE_INSTANCES, "One collective on all its ranks.")                    \
    X(clock_offsets, RGM_CLOCK_OFFSETS, "How far the clock of a rank is from the reference.")

#endif
