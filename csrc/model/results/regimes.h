// SPDX-License-Identifier: Apache-2.0
// Results that say what limits kernels and regions.
#ifndef RGM_MODEL_RESULTS_REGIMES_H
#define RGM_MODEL_RESULTS_REGIMES_H

#include "model/regimes.h"
#include "model/results/places.h"

// X(NAME, token, definition): where the work of a kernel is known from.
#define RGM_WORK_SOURCES(X)                                                                                  \
    X(NOTHING, "none", "only time and launch configuration are known")                                       \
    X(COUNTERS, "counters", "hardware counters of the kernel")                                               \
    X(SHAPES, "shapes", "shapes of the operator that launched it; bytes are the least that must move")
#define RGM_WORK_SOURCE_ENUM(name, token, definition) RGM_WORK_FROM_##name,
typedef enum { RGM_WORK_SOURCES(RGM_WORK_SOURCE_ENUM) RGM_WORK_SOURCE_COUNT } rgm_work_source;

#define RGM_JUDGED(X)                                                                                        \
    X(u8, regime, "", RGM_REGIME_UNKNOWN, "An index of REGIMES.")                                            \
    X(u8, detail, "", 0, "An index of REGIME_DETAILS.")                                                      \
    X(u8, leans_to, "", RGM_REGIME_UNKNOWN, "An index of REGIMES: what is likelier where none is certain.")  \
    X(u8, reason, "", 0, "An index of REGIME_REASONS.")                                                      \
    X(f64, confidence, "", NAN,                                                                              \
      "Probability of the regime, or of leans_to where it is AMBIGUOUS; NaN where nothing is known.")

// Result of the kernel_regimes analysis: one row is the compute kernels of one name, or one kernel; the
// longest first. Communication, copies and sets have no roofline and are not in it.
#define RGM_KERNEL_REGIMES(X)                                                                                \
    X(name, name, "", 0, "Kernel.")                                                                          \
    X(i32, span, "", -1, "Row in `spans`, -1 where kernels of one name are taken together.")                 \
    X(i64, count, "", 0, "Kernels.")                                                                         \
    X(i64, total_ns, "ns", 0, "Sum of their durations.")                                                     \
    X(f64, share, "", NAN, "total_ns over the sum of all rows.")                                             \
    RGM_JUDGED(X)                                                                                            \
    X(u8, source, "", 0, "An index of WORK_SOURCES.")                                                        \
    X(f64, known_share, "", 0, "Share of total_ns of the kernels whose work is known.")                      \
    X(f64, operations, "", NAN, "Operations of all pipes, of the kernels whose work is known.")              \
    X(f64, bytes, "bytes", NAN, "Bytes to and from memory, of the same.")                                    \
    X(f64, sol_compute, "", NAN,                                                                             \
      "Time that the operations need at the ceilings of their pipes, of the time.")                          \
    X(f64, sol_memory, "", NAN, "Time that the bytes need at the ceiling of the memory, of the time.")       \
    X(f64, floor_share, "", NAN, "The shortest kernel's duration, of the time of a kernel.")                 \
    X(u8, floor_assumed, "", 0, "1 where the shortest kernel was not measured, and a usual value taken.")    \
    X(f64, intensity, "operations/byte", NAN, "Operations over bytes.")                                      \
    X(f64, ridge, "operations/byte", NAN, "The intensity at which both roofs take equally long.")            \
    X(f64, model_ns, "ns", NAN, "Time that floor and roofs allow.")                                          \
    X(f64, model_low_ns, "ns", NAN, "Lower end of its interval of 95 %.")                                    \
    X(f64, model_high_ns, "ns", NAN, "Upper end of the same.")                                               \
    X(f64, blocks_per_sm, "", NAN, "Blocks per multiprocessor, mean by duration.")                           \
    X(f64, overhead_probability, "", NAN, "Probability of OVERHEAD_BOUND.")                                  \
    X(f64, memory_probability, "", NAN, "Probability of MEMORY_BOUND.")                                      \
    X(f64, compute_probability, "", NAN, "Probability of COMPUTE_BOUND.")                                    \
    X(f64, error_probability, "", NAN, "Probability that it was faster than a roof allows.")

// Result of the region_regimes analysis: one row is a device in the whole run, in a step, or in the scopes of
// one name. Times of several regions are added up.
#define RGM_REGION_REGIMES(X)                                                                                \
    RGM_ON_DEVICE(X)                                                                                         \
    X(name, name, "", 0, "Scope or annotation, empty for a run or step.")                                    \
    X(i32, step, "", -1, "Step, -1 for none.")                                                               \
    X(i64, regions, "", 1, "Regions: calls of the scope.")                                                   \
    X(i64, start_ns, "ns", 0, "Start of the first.")                                                         \
    X(i64, wall_ns, "ns", 0,                                                                                 \
      "Of a run from its first device work to its last, of a step its time on the host, of a scope from "    \
      "its "                                                                                                 \
      "start to its end, or to that of the work launched in it.")                                            \
    RGM_JUDGED(X)                                                                                            \
    X(i64, kernels_ns, "ns", 0, "Time with a compute kernel.")                                               \
    X(i64, communication_ns, "ns", 0, "Time with communication and no compute kernel.")                      \
    X(i64, transfer_ns, "ns", 0, "Time with a copy or set and neither.")                                     \
    X(i64, host_wait_ns, "ns", 0,                                                                            \
      "The device had nothing to do: the launch of the next work had not begun.")                            \
    X(i64, launch_gap_ns, "ns", 0, "Launched, and not running yet: latency of call, driver and hardware.")   \
    X(i64, wait_ns, "ns", 0,                                                                                 \
      "Launched long before: waits for an event, another stream, or for no recorded reason.")                \
    X(i64, unknown_ns, "ns", 0,                                                                              \
      "Idle, and the launch of the next work is not in the recording. These seven add up to wall_ns.")       \
    X(i64, host_input_ns, "ns", 0, "Of host_wait_ns: in a data loader.")                                     \
    X(i64, host_sync_ns, "ns", 0, "Of host_wait_ns: in a synchronisation.")                                  \
    X(i64, host_allocation_ns, "ns", 0, "Of host_wait_ns: allocating or freeing device memory.")             \
    X(i64, host_compile_ns, "ns", 0, "Of host_wait_ns: compiling.")                                          \
    X(i64, host_optimizer_ns, "ns", 0, "Of host_wait_ns: in an optimizer's step.")                           \
    X(i64, host_other_ns, "ns", 0, "Of host_wait_ns: anything else. These six add up to it.")                \
    X(f64, overhead_share, "", NAN, "Everything but kernels_ns, over wall_ns.")                              \
    X(f64, overhead_kernels_share, "", NAN,                                                                  \
      "Kernels that are overhead themselves, over wall_ns; the four kinds share kernels_ns by duration.")    \
    X(f64, memory_kernels_share, "", NAN, "Kernels that memory limits, over wall_ns.")                       \
    X(f64, compute_kernels_share, "", NAN, "Kernels that arithmetic limits, over wall_ns.")                  \
    X(f64, unjudged_kernels_share, "", NAN, "Kernels of which that is not known, over wall_ns.")             \
    X(i64, launches, "", 0, "Pieces of work that started in the region and whose launch is recorded.")       \
    X(f64, queue_delay_ns, "ns", NAN, "Median of their start minus the start of their launch.")              \
    X(u8, stacks, "", 0, "1 where Python stacks were recorded: the host was slowed more than usual.")

#define RGM_REGIMES_RESULTS(X)                                                                               \
    X(kernel_regimes, RGM_KERNEL_REGIMES, "What limits the kernels of one name, or one kernel.")             \
    X(region_regimes, RGM_REGION_REGIMES, "What limits a device in a run, a step or a scope.")

#endif
