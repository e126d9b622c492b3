// SPDX-License-Identifier: Apache-2.0
// Results that say where the time went: by device, kernel, operator, step and annotation.
#ifndef RGM_MODEL_RESULTS_TIMES_H
#define RGM_MODEL_RESULTS_TIMES_H

// Result of the breakdown analysis: one row is one device. The four of compute, exposed communication,
// exposed memory and idle add up to the span, to the nanosecond.
#define RGM_BREAKDOWN(X)                                                                                     \
    X(i32, rank, "", -1, "Rank of the job, -1 when unknown.")                                                \
    X(i64, process, "", 0, "Process id that the trace gives the device: its ordinal in a Kineto trace.")     \
    X(name, process_name, "", 0, "The same where it is a text.")                                             \
    X(i16, device, "", -1, "Device ordinal.")                                                                \
    X(i64, first_ns, "ns", 0, "Start of the first piece of work.")                                           \
    X(i64, span_ns, "ns", 0, "Last end minus first start.")                                                  \
    X(i64, busy_ns, "ns", 0, "Time with any work.")                                                          \
    X(i64, idle_ns, "ns", 0, "span_ns minus busy_ns.")                                                       \
    X(i64, compute_ns, "ns", 0, "Time with a compute kernel.")                                               \
    X(i64, comm_ns, "ns", 0, "Time with communication.")                                                     \
    X(i64, mem_ns, "ns", 0, "Time with a copy or a set.")                                                    \
    X(i64, comm_overlapped_by_compute_ns, "ns", 0, "Time with communication and compute.")                   \
    X(i64, mem_overlapped_by_compute_ns, "ns", 0, "Time with a copy or set and compute.")                    \
    X(i64, mem_overlapped_by_comm_ns, "ns", 0, "Time with a copy or set and communication.")                 \
    X(i64, all_three_ns, "ns", 0, "Time with all three.")                                                    \
    X(i64, exposed_comm_ns, "ns", 0, "Time with communication and no compute.")                              \
    X(i64, exposed_mem_ns, "ns", 0, "Time with a copy or set and neither compute nor communication.")        \
    X(f64, busy_share, "", NAN, "busy_ns over span_ns.")                                                     \
    X(f64, idle_share, "", NAN, "idle_ns over span_ns.")                                                     \
    X(f64, compute_share, "", NAN, "compute_ns over span_ns.")                                               \
    X(f64, exposed_comm_share, "", NAN, "exposed_comm_ns over span_ns.")                                     \
    X(f64, exposed_mem_share, "", NAN, "exposed_mem_ns over span_ns.")                                       \
    X(i64, sum_dur_ns, "ns", 0, "Sum of durations of all work, overlaps counted more than once.")            \
    X(i64, n_kernel, "", 0, "Kernels that are not communication.")                                           \
    X(i64, n_comm, "", 0, "Communication kernels.")                                                          \
    X(i64, n_memcpy, "", 0, "Copies.")                                                                       \
    X(i64, n_memset, "", 0, "Sets.")

// Result of the kernel_times analysis: one row is the device work of one name, type, operator or module.
#define RGM_KERNEL_TIMES(X)                                                                                  \
    X(name, name, "", 0, "Kernel, operator or module; \"\" by type, for work without one, and for others.")  \
    X(u8, type, "", 0, "An index of KERNEL_TYPES, told by the kernel's name; mixed where members differ.")   \
    X(u8, activity, "", 0, "An index of ACTIVITIES; none where members differ.")                             \
    X(u8, others, "", 0, "1 for the row into which all rows beyond the N longest are merged.")               \
    X(i64, groups, "", 0, "Names, types, operators or modules in this row: 1 except for others.")            \
    X(i64, count, "", 0, "Pieces of device work.")                                                           \
    X(i64, total_ns, "ns", 0, "Sum of their durations; work that overlaps counts more than once.")           \
    X(f64, share, "", NAN, "total_ns over the sum of all rows.")                                             \
    X(i64, min_ns, "ns", 0, "Shortest.")                                                                     \
    X(i64, max_ns, "ns", 0, "Longest.")                                                                      \
    X(f64, mean_ns, "ns", NAN, "Mean over the pieces of work, of others too.")                               \
    X(f64, std_dev_ns, "ns", NAN, "Population standard deviation (divisor n), by Welford's recurrence.")     \
    X(f64, median_ns, "ns", NAN, "50th percentile, linear interpolation (Hyndman-Fan type 7).")              \
    X(f64, p95_ns, "ns", NAN, "95th percentile, same rule.")                                                 \
    X(f64, occupancy, "", NAN,                                                                               \
      "Kineto's estimate of the achieved occupancy, 0 to 1: mean by duration, where it is recorded.")        \
    X(f64, theoretical_occupancy, "", NAN,                                                                   \
      "Theoretical occupancy, 0 to 1: mean by duration, where it is known.")                                 \
    X(u8, occupancy_limit, "", 0, "What limits it for most of that time: an index of OCCUPANCY_LIMITS.")     \
    X(f64, few_blocks_share, "", NAN,                                                                        \
      "Share of the time with fewer blocks than multiprocessors, of where the grid is recorded.")            \
    X(i64, bytes, "bytes", -1, "Sum of the bytes copied or set, -1 when none are recorded.")                 \
    X(i32, devices, "", 0, "Devices on which it ran.")

// Result of the operator_times analysis: one row is one operator, or one with its input shapes.
#define RGM_OPERATOR_TIMES(X)                                                                                \
    X(name, name, "", 0, "Operator.")                                                                        \
    X(name, shapes, "", 0,                                                                                   \
      "Input shapes as recorded, JSON text; \"\" when grouped by name only or not recorded.")                \
    X(i64, calls, "", 0, "Calls, recursive ones included.")                                                  \
    X(i64, recursive_calls, "", 0, "Calls inside another call of the same row.")                             \
    X(i64, self_ns, "ns", 0, "Host time without the union of the operators directly inside.")                \
    X(i64, total_ns, "ns", 0, "Host time over calls that are not inside another call of the same row.")      \
    X(f64, share, "", NAN, "self_ns over the sum of all rows.")                                              \
    X(f64, mean_ns, "ns", NAN, "Mean host duration over all calls.")                                         \
    X(i64, min_ns, "ns", 0, "Shortest call.")                                                                \
    X(i64, max_ns, "ns", 0, "Longest call.")                                                                 \
    X(i64, self_device_ns, "ns", 0, "Sum of the durations of device work whose innermost operator it is.")   \
    X(i64, total_device_ns, "ns", 0,                                                                         \
      "The same with the operators inside, over calls that count in total_ns.")                              \
    X(i64, launches, "", 0, "Runtime and driver calls of its own that launched device work.")                \
    X(i64, kernels, "", 0, "Kernels of its own.")                                                            \
    X(i64, copies, "", 0, "Copies and sets of its own.")                                                     \
    X(i64, bytes, "bytes", 0, "Bytes that these copied or set, where recorded.")

// X(NAME, token): how far the figures of a step can be trusted.
#define RGM_STEP_STATES(X)                                                                                   \
    X(COMPLETE, "complete")                                                                                  \
    X(LAST, "last")                                                                                          \
    X(UNFINISHED, "unfinished")
#define RGM_STEP_STATE_ENUM(name, token) RGM_STEP_##name,
typedef enum { RGM_STEP_STATES(RGM_STEP_STATE_ENUM) RGM_STEP_STATE_COUNT } rgm_step_state;

// Result of the step_times analysis: one row is one step of one rank on one device. Device work belongs to
// the step in which its launch began, whenever it ran.
#define RGM_STEP_TIMES(X)                                                                                    \
    X(i32, rank, "", -1, "Rank of the job, -1 when unknown.")                                                \
    X(i32, step, "", -1, "Number of the step: N of ProfilerStep#N.")                                         \
    X(i16, device, "", -1, "Device ordinal; -1 for a step that launched no device work.")                    \
    X(u8, state, "", 0,                                                                                      \
      "An index of STEP_STATES: last is the last step of its rank, whose work the recording may have cut.")  \
    X(i64, start_ns, "ns", 0, "Start of the step on the host.")                                              \
    X(i64, duration_ns, "ns", 0, "Duration on the host.")                                                    \
    X(i64, operators_ns, "ns", 0,                                                                            \
      "Time of the step with an operator on any thread of the rank, as a union.")                            \
    X(i64, launches, "", 0, "Calls of the step that launched work on this device.")                          \
    X(i64, kernels, "", 0, "Kernels of the step on this device, communication included.")                    \
    X(i64, copies, "", 0, "Copies and sets.")                                                                \
    X(i64, bytes, "bytes", 0, "Bytes that these moved, where recorded.")                                     \
    X(i64, device_start_ns, "ns", 0, "Start of the first piece of work of the step.")                        \
    X(i64, device_end_ns, "ns", 0, "End of its last.")                                                       \
    X(i64, device_ns, "ns", 0, "Sum of the durations of its work, overlaps counted more than once.")         \
    X(i64, busy_ns, "ns", 0, "Time with any work of the step.")                                              \
    X(i64, compute_ns, "ns", 0, "Time with a compute kernel of the step.")                                   \
    X(i64, exposed_comm_ns, "ns", 0, "Time with communication and no compute of the step.")                  \
    X(i64, exposed_mem_ns, "ns", 0,                                                                          \
      "Time with a copy or set and neither compute nor communication of the step.")                          \
    X(i64, idle_ns, "ns", 0,                                                                                 \
      "device_end_ns - device_start_ns - busy_ns; work of another step may run meanwhile.")                  \
    X(i64, late, "", 0, "Pieces of work that end after the step has ended on the host.")                     \
    X(i64, late_ns, "ns", 0, "How long after the step's end on the host the last of them ends.")

// Result of the annotation_times analysis: one row is one name given by the user or a library.
#define RGM_ANNOTATION_TIMES(X)                                                                              \
    X(name, name, "", 0, "Annotation: a record_function, ProfilerStep#N, nccl:all_reduce, ...")              \
    X(i64, calls, "", 0, "Annotations of that name on the host.")                                            \
    X(i64, total_ns, "ns", 0, "Sum of their host durations, nested ones of the same name included.")         \
    X(f64, mean_ns, "ns", NAN, "Mean host duration.")                                                        \
    X(i64, min_ns, "ns", 0, "Shortest.")                                                                     \
    X(i64, max_ns, "ns", 0, "Longest.")                                                                      \
    X(i64, launches, "", 0,                                                                                  \
      "Calls inside, on the same thread, that launched device work. This and the next four are -1 where "    \
      "nesting is deeper than annotation_depth.")                                                            \
    X(i64, kernels, "", 0, "Kernels that these launched.")                                                   \
    X(i64, copies, "", 0, "Copies and sets that these launched.")                                            \
    X(i64, device_ns, "ns", 0, "Sum of the durations of that work.")                                         \
    X(i64, busy_ns, "ns", 0, "Union of it on each device, summed over devices.")                             \
    X(i64, device_calls, "", 0, "Annotations of that name that the profiler drew on device streams.")        \
    X(i64, device_total_ns, "ns", 0,                                                                         \
      "Sum of their durations as recorded: Kineto widens each, by 2 ns since June 2024, by 2 us before.")    \
    X(i64, device_min_ns, "ns", 0, "Shortest, as recorded.")                                                 \
    X(i64, device_max_ns, "ns", 0, "Longest, as recorded.")

#define RGM_TIMES_RESULTS(X)                                                                                 \
    X(breakdown, RGM_BREAKDOWN, "Where the time of one device went.")                                        \
    X(kernel_times, RGM_KERNEL_TIMES, "Device work of one name, type, operator or module.")                  \
    X(operator_times, RGM_OPERATOR_TIMES, "Host and device time of one operator.")                           \
    X(step_times, RGM_STEP_TIMES, "Where the time of one step went.")                                        \
    X(annotation_times, RGM_ANNOTATION_TIMES, "One annotation's time on host and device.")

#endif
