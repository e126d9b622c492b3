// SPDX-License-Identifier: Apache-2.0
// The data model, written once. Each table is a list of X(type, column, unit, default, doc); structs, column
// descriptors, NumPy dtypes, the Arrow schema, the run file, JSON keys, stubs and the documentation table
// are expansions of these lists.
//
// Types: i64 u32 i32 i16 u8 f64, and `name`, a u32 that is an id of the run's string table.
// The default is what a column holds where nothing is known; a column that holds nothing but its default
// takes no memory until somebody asks for it.
#ifndef RGM_MODEL_SCHEMA_H
#define RGM_MODEL_SCHEMA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/results.h"

typedef int64_t rgm_i64;
typedef uint32_t rgm_u32;
typedef int32_t rgm_i32;
typedef int16_t rgm_i16;
typedef uint8_t rgm_u8;
typedef double rgm_f64;
typedef uint32_t rgm_name;

#define RGM_TYPE_LIST(X)                                                                                     \
    X(i64, "int64", "l", 8)                                                                                  \
    X(u32, "uint32", "I", 4)                                                                                 \
    X(i32, "int32", "i", 4)                                                                                  \
    X(i16, "int16", "s", 2)                                                                                  \
    X(u8, "uint8", "C", 1)                                                                                   \
    X(f64, "float64", "g", 8)                                                                                \
    X(name, "uint32", "I", 4)

#define RGM_SPANS(X)                                                                                         \
    X(i64, start_ns, "ns", 0, "Start on the host's CLOCK_MONOTONIC; for an imported trace, its own clock.")  \
    X(i64, duration_ns, "ns", 0, "End minus start.")                                                         \
    X(name, name, "", 0, "Operation, operator, kernel or annotation.")                                       \
    X(u8, kind, "", 0, "What the span is: an index of SPAN_KINDS.")                                          \
    X(u32, lane, "", 0, "Row of `lanes` on which it ran.")                                                   \
    X(i32, parent, "", -1,                                                                                   \
      "Enclosing span on its lane; for a task's first scope the one around the loop; -1 for none.")          \
    X(i32, launch, "", -1, "Of device work: row of the call that launched it, -1 when not recorded.")        \
    X(i64, correlation, "", -1, "Joins a launch to its device work, -1 for none.")                           \
    X(i64, external_id, "", -1, "Operator id given by the framework, -1 for none.")                          \
    X(i32, step, "", -1, "Training step, -1 outside any.")                                                   \
    X(i64, bytes, "bytes", -1,                                                                               \
      "Bytes moved by a copy or set (also on its call, where recorded), -1 elsewhere.")                      \
    X(u32, flags, "", 0, "Bits: see SPAN_FLAGS; declared device in bits 8-11, backend in bits 12-15.")       \
    X(name, metadata, "", 0,                                                                                 \
      "JSON object text of metadata and of arguments without a column, \"\" for none.")                      \
    X(name, category, "", 0,                                                                                 \
      "Category text of the file where `kind` is `other`; of a scope that was found its role: one of "       \
      "ROLES.")                                                                                              \
    X(i64, own_ns, "ns", 0,                                                                                  \
      "Of a scope: the profiler's own time in it outside nested scopes, which is not exclusive time.")

#define RGM_LANES(X)                                                                                         \
    X(i64, process, "", 0,                                                                                   \
      "Process id; the device for a device lane of a Kineto trace, -1 when it is a text.")                   \
    X(i64, thread, "", -1, "Native thread id, or stream id for a device lane.")                              \
    X(i32, slot, "", 0, "Concurrent task slot of the thread: 0 for plain code, 1.. for asyncio tasks.")      \
    X(i16, device, "", -1, "Device ordinal of a stream, -1 for a host thread.")                              \
    X(i32, rank, "", -1, "Rank of a distributed job, -1 when unknown.")                                      \
    X(name, name, "", 0, "Thread, task slot or stream name.")                                                \
    X(name, process_name, "", 0, "Name of the process, or the process id where that is a text.")             \
    X(name, label, "", 0, "Label of the process: \"CPU\", \"GPU 0\".")

#define RGM_LAUNCHES(X)                                                                                      \
    X(u32, span, "", 0,                                                                                      \
      "Row in `spans` of the kernel, of a copy or set that a graph launched, or of the call where it has "   \
      "no kernel of its own.")                                                                               \
    X(i32, grid_x, "blocks", 0, "Grid size.")                                                                \
    X(i32, grid_y, "blocks", 0, "Grid size.")                                                                \
    X(i32, grid_z, "blocks", 0, "Grid size.")                                                                \
    X(i32, block_x, "threads", 0, "Block size.")                                                             \
    X(i32, block_y, "threads", 0, "Block size.")                                                             \
    X(i32, block_z, "threads", 0, "Block size.")                                                             \
    X(i32, cluster_x, "blocks", 0, "Size of a thread block cluster; 0 where there are none, or not known.")  \
    X(i32, cluster_y, "blocks", 0, "Size of a cluster.")                                                     \
    X(i32, cluster_z, "blocks", 0, "Size of a cluster.")                                                     \
    X(i32, registers, "", -1, "Registers per thread.")                                                       \
    X(i64, shared_bytes, "bytes", -1, "Static and dynamic shared memory per block.")                         \
    X(f64, occupancy, "", NAN,                                                                               \
      "Theoretical occupancy, 0 to 1: as recorded, or derived from the launch and the limits of the "        \
      "device.")                                                                                             \
    X(u8, occupancy_limit, "", 0, "What it is limited by: an index of OCCUPANCY_LIMITS.")                    \
    X(f64, estimated_occupancy, "", NAN, "Kineto's estimate of the achieved occupancy, 0 to 1.")             \
    X(f64, blocks_per_sm, "", NAN, "Blocks of the grid per multiprocessor.")                                 \
    X(f64, warps_per_sm, "", NAN, "Warps of the grid per multiprocessor.")                                   \
    X(i64, graph, "", -1, "CUDA graph that launched it, -1 when not known.")                                 \
    X(i64, graph_node, "", -1, "Node of that graph, -1 when not known.")                                     \
    X(i64, capture, "", -1,                                                                                  \
      "Row in `spans` of the call that made the graph node, inside the scopes of the capture, -1 when not "  \
      "known.")                                                                                              \
    X(i64, buffered_ns, "ns", -1,                                                                            \
      "Of a kernel: from when its launch was queued to when CUPTI says that it was submitted, which lies "   \
      "behind the earlier work of the stream on the hardware that was seen; -1 when not recorded.")          \
    X(i64, waiting_ns, "ns", -1,                                                                             \
      "Of a kernel: from there to its start, -1 when not recorded. The sum of both is the whole wait.")

#define RGM_MEMORY(X)                                                                                        \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(i16, device, "", -1, "Device ordinal, -1 for the host.")                                               \
    X(u8, action, "", 0, "An index of MEMORY_ACTIONS.")                                                      \
    X(i64, bytes, "bytes", -1, "Size of the allocation; resident set for a host sample.")                    \
    X(i64, address, "", 0, "Address of the block, 0 when it has none.")                                      \
    X(i64, allocated, "bytes", -1, "Allocated in total after this event, -1 when not known.")                \
    X(i64, reserved, "bytes", -1, "Reserved in total after this event, -1 when not known.")                  \
    X(i64, span, "", -1, "Row of the scope or operator that the value belongs to, -1 for none.")             \
    X(i32, lane, "", -1, "Lane on which it happened, -1 when not known.")                                    \
    X(i64, stream, "", 0, "Handle of the stream that the block belongs to, 0 for the default one.")          \
    X(i32, stack, "", -1, "Row in `stacks` of who asked, -1 when not known.")                                \
    X(i64, device_free, "bytes", -1, "Of an end of memory: what the device had left, -1 elsewhere.")         \
    X(name, note, "", 0,                                                                                     \
      "What the program or the compiler said of itself then (JSON object), \"\" for none.")                  \
    X(name, category, "", 0,                                                                                 \
      "Of what the memory is, where the recording says so, \"\" elsewhere; of memory that CUDA gave out "    \
      "its "                                                                                                 \
      "kind.")                                                                                               \
    X(i64, pool, "", 0,                                                                                      \
      "Address of the pool of CUDA that the block is of, 0 for none; `allocated` and `reserved` are then "   \
      "that pool's.")

// What an allocator holds at the end of a recording.
#define RGM_SEGMENTS(X)                                                                                      \
    X(i16, device, "", -1, "Device ordinal, -1 for pinned memory of the host.")                              \
    X(i64, address, "", 0, "Address of the first byte.")                                                     \
    X(i64, bytes, "bytes", 0, "Size: what the allocator has reserved with one call, or mapped in a row.")    \
    X(i64, allocated, "bytes", -1, "Of that in blocks that are in use, as recorded; -1 when not.")           \
    X(i64, active, "bytes", -1, "Of that in blocks in use or awaiting their stream; -1 when not recorded.")  \
    X(i64, requested, "bytes", -1, "What the program asked for in blocks in use; -1 when not recorded.")     \
    X(i64, stream, "", 0, "Handle of the stream that it belongs to, 0 for the default one.")                 \
    X(u8, kind, "", 0, "An index of SEGMENT_KINDS.")                                                         \
    X(u8, expandable, "", 0, "1 where the segment can grow in its place.")                                   \
    X(i64, pool_graph, "", 0,                                                                                \
      "First number of its pool: of CUDA graphs; 0 with the next for the common one.")                       \
    X(i64, pool_user, "", 0, "Second number of its pool.")                                                   \
    X(i32, stack, "", -1, "Row in `stacks` of who made the allocator reserve it, -1 when not known.")        \
    X(i32, lane, "", -1, "A lane of the rank or process whose allocator it is, -1 where all are of one.")

#define RGM_BLOCKS(X)                                                                                        \
    X(i16, device, "", -1, "Device ordinal, -1 for pinned memory of the host.")                              \
    X(i64, segment_address, "", 0, "Address of the segment that it is a part of.")                           \
    X(i64, address, "", 0, "Address of the first byte.")                                                     \
    X(i64, bytes, "bytes", 0, "Size, rounded as the allocator does.")                                        \
    X(i64, requested, "bytes", 0, "What the program asked for.")                                             \
    X(u8, state, "", 0, "An index of BLOCK_STATES.")                                                         \
    X(i32, stack, "", -1, "Row in `stacks` of who asked, -1 when not known.")                                \
    X(i32, lane, "", -1, "A lane of the rank or process whose allocator it is, -1 where all are of one.")

#define RGM_COUNTERS(X)                                                                                      \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(name, series, "", 0, "Name of the series.")                                                            \
    X(f64, value, "", NAN, "Value, in the unit that the series' name states.")                               \
    X(i16, device, "", -1, "Device ordinal, -1 for the host or when not known.")                             \
    X(i64, span, "", -1, "Row of the span that the value was measured over, -1 for none.")

#define RGM_FLOPS(X)                                                                                         \
    X(u32, span, "", 0, "Row in `spans` that the work is attributed to.")                                    \
    X(name, pipe, "", 0, "Pipe or data type of the work.")                                                   \
    X(f64, flops, "FLOP", NAN, "Floating-point operations; one multiply-add is two.")                        \
    X(f64, bytes, "bytes", NAN, "Bytes moved.")                                                              \
    X(name, source, "", 0, "Where the figure comes from.")

#define RGM_OPERATORS(X)                                                                                     \
    X(u32, span, "", 0, "Row of the operator in `spans`.")                                                   \
    X(i64, sequence, "", -1, "Autograd sequence number: joins forward and backward, -1 for none.")           \
    X(i64, forward_thread, "", -1, "Thread number of the forward operator, on backward operators.")          \
    X(name, shapes, "", 0, "Input shapes, JSON text without spaces: [[2,3],[]].")                            \
    X(name, types, "", 0, "Input types, JSON text.")                                                         \
    X(name, strides, "", 0, "Input strides, JSON text.")                                                     \
    X(name, values, "", 0, "Concrete inputs, JSON text.")                                                    \
    X(name, stack, "", 0, "Call stack as recorded.")                                                         \
    X(name, module, "", 0, "Module hierarchy as recorded.")

#define RGM_FRAMES(X)                                                                                        \
    X(u32, span, "", 0, "Row of the Python function in `spans`.")                                            \
    X(i64, id, "", -1, "Number of the call within the trace.")                                               \
    X(i64, parent_id, "", -1, "Number of the calling function, -1 for none.")                                \
    X(i64, module_id, "", -1, "Number of the nn.Module, -1 for plain functions.")

#define RGM_COLLECTIVES(X)                                                                                   \
    X(u32, span, "", 0, "Row of the operator or kernel in `spans`.")                                         \
    X(name, collective, "", 0, "Collective: allreduce, _allgather_base, ...")                                \
    X(name, element_type, "", 0, "Element type as recorded: Float, BFloat16, ...")                           \
    X(i64, in_elements, "", -1, "Input elements of this rank, -1 when not recorded.")                        \
    X(i64, out_elements, "", -1, "Output elements of this rank, -1 when not recorded.")                      \
    X(i32, group_size, "", -1, "Ranks in the process group.")                                                \
    X(name, group_name, "", 0, "Process group name.")                                                        \
    X(name, group_description, "", 0, "Process group description.")                                          \
    X(name, group_ranks, "", 0, "Ranks of the group as recorded: \"[0, 1]\", possibly cut off.")             \
    X(name, in_split, "", 0, "Input split sizes as recorded.")                                               \
    X(name, out_split, "", 0, "Output split sizes as recorded.")                                             \
    X(i32, rank, "", -1, "Rank within the group.")                                                           \
    X(i32, source_rank, "", -1, "Sender of a point-to-point transfer.")                                      \
    X(i32, destination_rank, "", -1, "Receiver of a point-to-point transfer.")                               \
    X(i32, global_rank_start, "", -1, "First global rank of the group.")                                     \
    X(i32, global_rank_stride, "", -1, "Distance of the global ranks of the group.")                         \
    X(i64, sequence, "", -1, "Number of the collective within its group.")                                   \
    X(i64, communicator, "", -1, "Communicator id.")

// Samples of the instructions that warps were found at, summed over the recording.
#define RGM_STALLS(X)                                                                                        \
    X(name, kernel, "", 0, "Kernel function, as kernels are called in `spans`.")                             \
    X(name, reason, "", 0, "Why the warp did not go on, in NVIDIA's words: long_scoreboard, selected, ...")  \
    X(i64, offset, "bytes", 0, "Of the instruction in the function.")                                        \
    X(i64, cubin, "", 0, "Number by which CUPTI tells binaries apart.")                                      \
    X(i64, samples, "", 0, "Samples that found a warp there for that reason.")                               \
    X(i64, not_issued, "", 0,                                                                                \
      "Of them in which the scheduler issued no instruction of any warp, as CUPTI counts them.")             \
    X(i16, device, "", -1, "Device ordinal.")                                                                \
    X(name, file, "", 0, "Of the source; empty where the binary has no line information, or was not seen.")  \
    X(i64, line, "", 0, "Of the source, from 1; 0 where it is not known.")

#define RGM_SYNCS(X)                                                                                         \
    X(u32, span, "", 0, "Row of the synchronisation in `spans`.")                                            \
    X(name, sync, "", 0, "Stream Sync, Event Sync, Stream Wait Event or Context Sync.")                      \
    X(i64, stream, "", -1, "Stream that waits, -1 for all.")                                                 \
    X(i64, waits_on_stream, "", -1, "Stream that is waited for, -1 when not recorded.")                      \
    X(i64, event, "", -1, "CUDA event id, -1 for none. The driver reuses ids.")                              \
    X(i64, record_correlation, "", -1, "Correlation of the cudaEventRecord, -1 when not recorded.")

#define RGM_FLOWS(X)                                                                                         \
    X(i64, id, "", 0, "Joins the ends of one flow, within its kind.")                                        \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(u32, lane, "", 0, "Row of `lanes` to which this end is bound.")                                        \
    X(i32, span, "", -1, "Span that this end is bound to, -1 when there is none.")                           \
    X(u8, kind, "", 0, "An index of FLOW_KINDS.")                                                            \
    X(u8, phase, "", 0, "An index of FLOW_PHASES.")                                                          \
    X(name, category, "", 0, "Category text of the file where `kind` is `other`.")

#define RGM_FILES(X)                                                                                         \
    X(name, file, "", 0, "Path of the input as given, or what it was read from.")                            \
    X(name, format, "", 0, "Format of the input: kineto, chrome, nsys, ...")                                 \
    X(i64, bytes, "bytes", -1, "Size of the inflated text, -1 when not known.")                              \
    X(i64, events, "", 0, "Rows read from the input.")                                                       \
    X(i64, kept, "", 0, "Rows of the input that are in the run; the rest is named in `anomalies`.")          \
    X(i32, rank, "", -1, "Rank of a distributed job, -1 when unknown.")                                      \
    X(i64, base_ns, "ns", 0, "Unix time of the input's time 0, 0 when not known.")                           \
    X(i64, shift_ns, "ns", 0, "What was added to the times of the input.")                                   \
    X(name, environment, "", 0, "JSON object text: what the input says of its machine and process.")

#define RGM_INTERVALS(X)                                                                                     \
    X(u32, span, "", 0, "Row of the scope in `spans`.")                                                      \
    X(i16, device, "", -1, "Device ordinal, -1 when not known.")                                             \
    X(i64, stream, "", -1, "Handle of the stream that the events were recorded in.")                         \
    X(i64, start_ns, "ns", -1,                                                                               \
      "When the device passed the first event, on the clock of the spans, -1 when not known. Derived: no "   \
      "event can pass before it was recorded, which bounds the distance of the two clocks.")                 \
    X(i64, duration_ns, "ns", -1, "Device time from the first to the second event, -1 when not known.")      \
    X(i64, queue_ns, "ns", -1,                                                                               \
      "From the recording of the first event to its passing: a lower bound of the delay in the queue.")      \
    X(u8, state, "", 0, "An index of INTERVAL_STATES.")

#define RGM_WITNESS(X)                                                                                       \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(i32, lane, "", -1, "Lane of the thread, -1 when it has recorded nothing.")                             \
    X(i32, processor, "", -1, "Processor that it was on, -1 when not known.")                                \
    X(i64, cpu_ns, "ns", -1, "Processor time of the thread so far, -1 when not known.")                      \
    X(i64, throughput_ns, "ns", -1,                                                                          \
      "Time of a fixed piece of arithmetic, eight chains of 500 steps; -1 for a mark at the end of a "       \
      "block.")                                                                                              \
    X(i64, memory_ns, "ns", -1,                                                                              \
      "Time of 1,024 fixed reads from main memory; -1 for a mark, or where lines cannot be put out of the "  \
      "caches.")

#define RGM_PRESSURE(X)                                                                                      \
    X(i64, time_ns, "ns", 0, "End of the interval, on the clock of the spans.")                              \
    X(i64, interval_ns, "ns", 0, "Its length.")                                                              \
    X(i32, lane, "", -1, "First lane of the process that it tells of, -1 when that has none.")               \
    X(i64, running_ns, "ns", -1, "Time on a processor of the threads that record, -1 when not known.")       \
    X(i64, waiting_ns, "ns", -1,                                                                             \
      "Time in which they were ready to run and others had the processor, -1 when not known.")               \
    X(i64, steal_ns, "ns", -1,                                                                               \
      "Time that the hypervisor gave to other machines, mean of the processors that the process may use; "   \
      "-1 when not known.")                                                                                  \
    X(i64, throttled_ns, "ns", -1, "Time that a limit of the control groups held back, -1 when not known.")  \
    X(i64, involuntary, "", -1, "Context switches that the process did not ask for, -1 when not known.")     \
    X(i64, system_ns, "ns", -1, "Processor time of the process in the kernel, -1 when not known.")           \
    X(i64, faults, "", -1, "Pages of memory that were touched for the first time, -1 when not known.")       \
    X(i64, tree_ns, "ns", -1,                                                                                \
      "Processor time of the process and of those that it and they have started; -1 when not known.")        \
    X(i32, processors, "", -1, "Processors that the process may use, -1 when not known.")                    \
    X(i64, blocks, "", -1, "Blocks of 512 bytes that file systems read or wrote for it, -1 when not known.") \
    X(i64, busy_ns, "ns", -1,                                                                                \
      "Time in which the processors that it may use computed for any program, mean of them; -1 when not "    \
      "known.")                                                                                              \
    X(i64, huge_pages, "", -1,                                                                               \
      "Huge pages that the system handed out at faults, of all programs; -1 when not known.")

#define RGM_STACKS(X)                                                                                        \
    X(i32, parent, "", -1, "Row of the stack that called this function, -1 for none.")                       \
    X(name, function, "", 0, "Qualified name of the innermost function.")                                    \
    X(name, file, "", 0, "Its file.")                                                                        \
    X(i32, line, "", -1, "The line that it is at, -1 when not known.")                                       \
    X(i32, first_line, "", -1, "The function's first line, -1 when not known.")

#define RGM_SAMPLES(X)                                                                                       \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(i64, thread, "", -1, "Native id of the thread.")                                                       \
    X(i32, lane, "", -1,                                                                                     \
      "Lane of the thread: that of `span`, else its first; -1 when it has recorded no scope.")               \
    X(u8, state, "", 4, "An index of SAMPLE_STATES.")                                                        \
    X(u32, stack, "", 0, "Row in `stacks` of where the thread was.")                                         \
    X(i64, span, "", -1, "Row of the innermost scope that was open on the thread, -1 for none.")

#define RGM_ANOMALIES(X)                                                                                     \
    X(u8, code, "", 0, "An index of ANOMALY_CODES.")                                                         \
    X(i64, count, "", 0, "How often.")                                                                       \
    X(i64, first_ns, "ns", -1, "First time, -1 when it has none.")                                           \
    X(i64, lost, "", 0, "Rows of the input that are not in the run because of it.")                          \
    X(i64, first_offset, "bytes", -1,                                                                        \
      "Byte offset in the (inflated) input of the first, -1 when it has none.")                              \
    X(name, detail, "", 0, "What happened and what follows from it.")

// The tables of a Run: X(name, LIST, doc).
#define RGM_RUN_TABLES(X)                                                                                    \
    X(spans, RGM_SPANS, "A scope, operator, runtime call, kernel, copy, annotation or Python function.")     \
    X(lanes, RGM_LANES, "A host thread, a task slot of one, or a device stream.")                            \
    X(launches, RGM_LAUNCHES, "Launch configuration of a kernel (sparse).")                                  \
    X(memory, RGM_MEMORY, "An allocation, a free, or a sample.")                                             \
    X(segments, RGM_SEGMENTS, "Memory that an allocator had reserved when a snapshot was taken.")            \
    X(blocks, RGM_BLOCKS, "A part of a segment, in use or free, when a snapshot was taken.")                 \
    X(counters, RGM_COUNTERS, "One value of a time series.")                                                 \
    X(flops, RGM_FLOPS, "Work attributed to a span, and where the figure comes from.")                       \
    X(operators, RGM_OPERATORS, "Arguments of a framework operator (sparse).")                               \
    X(frames, RGM_FRAMES, "Identity of a Python function call (sparse).")                                    \
    X(collectives, RGM_COLLECTIVES, "Arguments of a collective (sparse).")                                   \
    X(stalls, RGM_STALLS, "Samples of an instruction of a kernel that waited for one reason.")               \
    X(syncs, RGM_SYNCS, "Arguments of a synchronisation (sparse).")                                          \
    X(flows, RGM_FLOWS, "One end of an arrow between two spans.")                                            \
    X(intervals, RGM_INTERVALS, "Device time of a scope, between two events (sparse).")                      \
    X(witness, RGM_WITNESS, "A look of a recording thread at how fast its machine was (docs/witness.md).")   \
    X(pressure, RGM_PRESSURE, "What kept a recorded process from its processors, by interval.")              \
    X(samples, RGM_SAMPLES, "A thread of the host, found at a moment in a call stack (docs/stacks.md).")     \
    X(stacks, RGM_STACKS, "A call stack: a function, called by the stack that is its parent.")               \
    X(files, RGM_FILES, "An input that the run was imported from.")                                          \
    X(anomalies, RGM_ANOMALIES, "What was repaired, dropped or doubted.")

// X(NAME, token): the token is what a user reads and writes.
#define RGM_SPAN_KINDS(X)                                                                                    \
    X(SCOPE, "scope")                                                                                        \
    X(CPU_OP, "cpu_op")                                                                                      \
    X(RUNTIME, "runtime")                                                                                    \
    X(DRIVER, "driver")                                                                                      \
    X(KERNEL, "kernel")                                                                                      \
    X(MEMCPY, "memcpy")                                                                                      \
    X(MEMSET, "memset")                                                                                      \
    X(SYNC, "sync")                                                                                          \
    X(PYTHON, "python")                                                                                      \
    X(ANNOTATION, "annotation")                                                                              \
    X(DEVICE_ANNOTATION, "device_annotation")                                                                \
    X(ACCELERATOR, "accelerator")                                                                            \
    X(OVERHEAD, "overhead")                                                                                  \
    X(COUNTER_RANGE, "counter_range")                                                                        \
    X(EVENT, "event")                                                                                        \
    X(INSTANT, "instant")                                                                                    \
    X(WINDOW, "window")                                                                                      \
    X(OTHER, "other")

// What a scope that was found in a program is. X(NAME, token, text)
#define RGM_ROLES(X)                                                                                         \
    X(NONE, "", "A scope of the program's own.")                                                             \
    X(STEP, "step", "A training step, or an iteration of a loop that does not train.")                       \
    X(DATA_WAIT, "data_wait", "Waiting for the next batch of a DataLoader.")                                 \
    X(FORWARD, "forward", "The call of an outermost module.")                                                \
    X(MODULE, "module", "The call of a module inside another one, or inside backward.")                      \
    X(BACKWARD, "backward", "A backward pass, and in it the part of each module.")                           \
    X(OPTIMIZER, "optimizer", "A step of an optimizer.")                                                     \
    X(ZERO_GRAD, "zero_grad", "Gradients set to zero, or dropped.")                                          \
    X(GRAD_CLIP, "grad_clip", "Gradients clipped.")                                                          \
    X(SYNC, "sync", "A call that returns when the device has finished.")                                     \
    X(COPY, "copy", "A copy from or to a device.")                                                           \
    X(CHECKPOINT, "checkpoint", "Writing a checkpoint.")                                                     \
    X(COMPILE, "compile", "A compilation of torch.compile.")                                                 \
    X(GC, "gc", "A collection of Python's garbage.")

#define RGM_FLOW_KINDS(X)                                                                                    \
    X(LAUNCH, "launch")                                                                                      \
    X(BACKWARD, "backward")                                                                                  \
    X(OTHER, "other")

#define RGM_FLOW_PHASES(X)                                                                                   \
    X(START, "start")                                                                                        \
    X(STEP, "step")                                                                                          \
    X(FINISH, "finish")

#define RGM_DEVICES(X)                                                                                       \
    X(GPU, "gpu")                                                                                            \
    X(CPU, "cpu")                                                                                            \
    X(CUDA, "cuda")                                                                                          \
    X(ROCM, "rocm")

#define RGM_BACKENDS(X)                                                                                      \
    X(UNKNOWN, "unknown")                                                                                    \
    X(CPU, "cpu")                                                                                            \
    X(NUMPY, "numpy")                                                                                        \
    X(TORCH, "torch")                                                                                        \
    X(CUPY, "cupy")

#define RGM_SPAN_FLAGS(X)                                                                                    \
    X(FAILED, 0, "failed", "Ended with an exception.")                                                       \
    X(OPEN, 1, "open", "Had not ended when recording stopped; its duration is a lower bound.")               \
    X(MIGRATED, 2, "migrated", "Ended on another thread than it began on.")                                  \
    X(REPAIRED, 3, "repaired", "A time of it was out of range and was repaired.")                            \
    X(OVERLAPS, 4, "overlaps", "Partly overlaps an earlier span of its lane; it is not that span's child.")  \
    X(ORPHAN, 5, "orphan", "Device work whose launch is not in the recording.")                              \
    X(INFERRED, 6, "inferred",                                                                               \
      "A launch call of a thread without scopes, booked on the only scope that was open while it ran.")

#define RGM_MEMORY_ACTIONS(X)                                                                                \
    X(SAMPLE, "sample")                                                                                      \
    X(ALLOC, "alloc")                                                                                        \
    X(FREE, "free")                                                                                          \
    X(BEGIN, "begin")                                                                                        \
    X(END, "end")                                                                                            \
    X(PEAK, "peak")                                                                                          \
    X(FREE_REQUESTED, "free_requested")                                                                      \
    X(SEGMENT_ALLOC, "segment_alloc")                                                                        \
    X(SEGMENT_FREE, "segment_free")                                                                          \
    X(SEGMENT_MAP, "segment_map")                                                                            \
    X(SEGMENT_UNMAP, "segment_unmap")                                                                        \
    X(OOM, "oom")                                                                                            \
    X(SNAPSHOT, "snapshot")                                                                                  \
    X(OTHER, "other")                                                                                        \
    X(POOL_CREATE, "pool_create")                                                                            \
    X(POOL_TRIM, "pool_trim")                                                                                \
    X(POOL_DESTROY, "pool_destroy")

#define RGM_SEGMENT_KINDS(X)                                                                                 \
    X(UNKNOWN, "unknown")                                                                                    \
    X(SMALL, "small")                                                                                        \
    X(LARGE, "large")

#define RGM_BLOCK_STATES(X)                                                                                  \
    X(INACTIVE, "inactive")                                                                                  \
    X(ALLOCATED, "active_allocated")                                                                         \
    X(PENDING_FREE, "active_pending_free")

#define RGM_MEMORY_SOURCES(X)                                                                                \
    X(NONE, "none")                                                                                          \
    X(SAMPLER, "sampler")                                                                                    \
    X(SCOPE, "scope")                                                                                        \
    X(DEVICE, "device")

// How far the device time of a scope is known. X(NAME, token, text)
#define RGM_INTERVAL_STATES(X)                                                                               \
    X(MEASURED, "measured", "time between two events in the scope's stream: an upper bound of its work")     \
    X(CAPTURED, "captured", "the stream was being captured into a graph; an event there is not timed")       \
    X(STREAM_CHANGED, "stream_changed", "the scope ended on another stream or device than it began on")      \
    X(PENDING, "pending", "the device had not finished the scope when recording ended")                      \
    X(LOST, "lost", "the device context went away before the events were read")                              \
    X(FAILED, "failed", "the driver refused to record or read an event")

// What a thread was doing when its stack was read. X(NAME, token, text)
#define RGM_SAMPLE_STATES(X)                                                                                 \
    X(RUNNING, "running", "on a processor, which of `native`, `calling` and `interpreting` is not known")    \
    X(WAITING_FOR_LOCK, "waiting_for_lock", "for the interpreter's lock")                                    \
    X(WAITING_FOR_PROCESSOR, "waiting_for_processor", "ready to run, while others had the processors")       \
    X(WAITING, "waiting", "for something that is none of the others: a device, a signal")                    \
    X(UNKNOWN, "unknown", "the system does not tell")                                                        \
    X(NATIVE, "native", "on a processor, in code that has given up the interpreter's lock")                  \
    X(SLEEPING, "sleeping", "for time to pass")                                                              \
    X(WAITING_FOR_THREAD, "waiting_for_thread", "for another lock, a condition or the end of a thread")      \
    X(WAITING_FOR_FILE, "waiting_for_file", "for a file: to be read, written or forced to the disk")         \
    X(WAITING_FOR_SOCKET, "waiting_for_socket", "for a socket, a terminal or any of several descriptors")    \
    X(WAITING_FOR_PROCESS, "waiting_for_process", "for another process to end")                              \
    X(CALLING, "calling", "on a processor, in one call of compiled code that keeps the interpreter's lock")  \
    X(INTERPRETING, "interpreting", "on a processor, in Python's own steps and calls of a few microseconds") \
    X(WAITING_FOR_PIPE, "waiting_for_pipe", "for a pipe that is not its standard input or output")

// What allows the fewest blocks on a multiprocessor; of several the first. X(NAME, token, text)
#define RGM_OCCUPANCY_LIMITS(X)                                                                              \
    X(UNKNOWN, "unknown", "the launch or the limits of the device are not known")                            \
    X(WARPS, "warps", "as many warps as the multiprocessor holds, in whole blocks")                          \
    X(BLOCKS, "blocks", "the number of blocks that it holds")                                                \
    X(REGISTERS, "registers", "registers")                                                                   \
    X(SHARED, "shared memory", "shared memory")                                                              \
    X(CLUSTERS, "clusters", "the clusters of blocks that the whole device holds")

// X(NAME, token, consequence)
#define RGM_ANOMALY_CODES(X)                                                                                 \
    X(DROPPED_SCOPES, "dropped_scopes", "scopes beyond the memory budget were not recorded")                 \
    X(DROPPED_SAMPLES, "dropped_samples", "memory samples beyond the budget were not recorded")              \
    X(DROPPED_METADATA, "dropped_metadata", "metadata beyond the budget was not recorded")                   \
    X(DROPPED_NAMES, "dropped_names", "operations beyond the limit were filed under one common name")        \
    X(SAMPLED_OUT, "sampled_out", "scopes were left out because a sample rate below 1 was asked for")        \
    X(UNFINISHED, "unfinished", "the recording was not closed; what came after the last block is missing")   \
    X(OPEN_SCOPES, "open_scopes", "scopes had not ended; their durations are lower bounds")                  \
    X(CORRUPT_BYTES, "corrupt_bytes", "damaged bytes were skipped; the blocks in them are lost")             \
    X(ORPHAN_PARENTS, "orphan_parents", "the enclosing scope was not recorded; these count as top level")    \
    X(MIGRATED_SCOPES, "migrated_scopes", "scopes ended on another thread; they have no parent")             \
    X(LOST_SCOPES, "lost_scopes", "scopes ended after their session had stopped or forked")                  \
    X(JOURNAL_FAILED, "journal_failed", "writing the file failed; recording went on in memory")              \
    X(INTERNAL, "internal", "a step of the profiler failed without harm to the program")                     \
    X(TRUNCATED, "truncated", "the text ends in the middle; what came after is missing")                     \
    X(TRAILING_BYTES, "trailing_bytes", "bytes after the end of the document were ignored")                  \
    X(INVALID_JSON, "invalid_json", "text that is not JSON was skipped up to the next event")                \
    X(INVALID_UTF8, "invalid_utf8", "bytes that are not UTF-8 are shown as replacement characters")          \
    X(CONTROL_CHARACTERS, "control_characters", "control characters inside strings were kept as they are")   \
    X(NUMBER_RANGE, "number_range", "numbers out of range were replaced by the default of their column")     \
    X(DUPLICATE_KEYS, "duplicate_keys", "an event names a key twice; the last value counts")                 \
    X(MISSING_TIME, "missing_time", "events without a usable time were left out")                            \
    X(UNKNOWN_PHASE, "unknown_phase", "events of a phase that has no place in the model were left out")      \
    X(BAD_EVENT, "bad_event", "rows that are not event objects were left out")                               \
    X(NEGATIVE_DURATION, "negative_duration", "negative durations were set to 0")                            \
    X(ABSURD_DURATION, "absurd_duration", "durations of more than seven days were set to 0")                 \
    X(CLOCK_STEP, "clock_step", "device work starts before its launch does: the clocks do not agree")        \
    X(OVERLAPPING_SPANS, "overlapping_spans", "spans partly overlap on one lane; they stand side by side")   \
    X(ORPHAN_KERNELS, "orphan_kernels", "device work has no launch in the recording; no operator is known")  \
    X(REUSED_CORRELATIONS, "reused_correlations",                                                            \
      "several calls share one correlation; the nearest before counts")                                      \
    X(UNMATCHED_BEGIN, "unmatched_begin", "begun spans never end; they are open to the end of the trace")    \
    X(UNMATCHED_END, "unmatched_end", "ends without a beginning were left out")                              \
    X(UNMATCHED_FLOWS, "unmatched_flows", "ends of arrows have no counterpart in the recording")             \
    X(TOO_DEEP, "too_deep", "values nested too deeply were left out")                                        \
    X(TOO_LONG, "too_long", "events or texts beyond the limit were left out")                                \
    X(UNPADDED_TIMES, "unpadded_times",                                                                      \
      "fractions were read as nanoseconds without leading zeros, as Kineto of March 2024 wrote them")        \
    X(SKIPPED_FILES, "skipped_files",                                                                        \
      "files of the folder that are no traces of the same job were left out")                                \
    X(UNFINISHED_STEPS, "unfinished_steps",                                                                  \
      "a step has no end in the recording; it is left out of step statistics")                               \
    X(LOST_ROWS, "lost_rows", "rows were left out because what they belong to is among the damaged bytes")   \
    X(DROPPED_DEVICE_ROWS, "dropped_device_rows", "device rows beyond the memory budget were not recorded")  \
    X(PENDING_INTERVALS, "pending_intervals",                                                                \
      "the device had not reached the end of these scopes when recording ended; they have no device time")   \
    X(CAPTURED_SCOPES, "captured_scopes",                                                                    \
      "scopes stood inside a stream capture, where no event can be timed; they have no device time")         \
    X(DEVICE_RESET, "device_reset", "a device context went away with events in it; those are lost")          \
    X(DROPPED_ACTIVITY, "dropped_activity", "the device's tracing interface dropped records")                \
    X(INVALID_ACTIVITY, "invalid_activity", "device records without a usable time were left out")            \
    X(DROPPED_COUNTERS, "dropped_counters", "hardware counter samples were lost before they were read")      \
    X(TRACING_CONFLICT, "tracing_conflict",                                                                  \
      "another tool traces this process; kernels were not recorded, events were")                            \
    X(TELEMETRY_LOST, "telemetry_lost", "a device was lost; its telemetry ends before the recording does")   \
    X(TELEMETRY_SLOWED, "telemetry_slowed",                                                                  \
      "calls for telemetry were made more rarely than asked, to stay within their budget")                   \
    X(INVALID_TIMES, "invalid_times",                                                                        \
      "times that are no number, negative, backward or out of range; such entries last 0")                   \
    X(MISSING_BLOCKS, "missing_blocks", "whole blocks of the file are missing; what they held is lost")      \
    X(DOUBLED_BLOCKS, "doubled_blocks", "blocks stand in the file more than once; each was read once")       \
    X(DISPLACED_BLOCKS, "displaced_blocks", "blocks stood in the wrong place and were put in order")         \
    X(FOREIGN_BLOCKS, "foreign_blocks", "blocks of another recording stand in the file; they were left out") \
    X(UNWRITTEN_ROWS, "unwritten_rows",                                                                      \
      "scopes, samples or device rows found no room on the disk; the file lacks them")                       \
    X(MISSING_NAMES, "missing_names", "rows refer to names that the file does not have; they show a number") \
    X(MISSING_COLUMNS, "missing_columns",                                                                    \
      "columns that every version writes are missing; a default stands in")                                  \
    X(BAD_VALUES, "bad_values", "rows hold text or bytes where a number belongs; they were left out")        \
    X(DUPLICATE_ROWS, "duplicate_rows",                                                                      \
      "rows stand in the file twice, the same in every column; each was kept once")                          \
    X(NO_START_TIMES, "no_start_times",                                                                      \
      "entries of the file have no start time; they stand end to end in its order, and which is nested in "  \
      "which, the time of the run and exclusive times are not known")                                        \
    X(STATED_CONSTANTS, "stated_constants",                                                                  \
      "figures of the file are one fixed part of every duration; they are no measurements and were left "    \
      "out")                                                                                                 \
    X(CHANGED_METADATA, "changed_metadata",                                                                  \
      "metadata was too long, too large or no finite number; it was cut or written as a text")               \
    X(TORN_STACKS, "torn_stacks", "call stacks changed while they were read; those samples were left out")   \
    X(RATES_CHANGED, "rates_changed",                                                                        \
      "sampling was made rarer, or denser again, to keep to the budget of the own cost: samples of denser "  \
      "times weigh more in shares, memory of scopes is that of those that were read; counts and durations "  \
      "of scopes are not touched")                                                                           \
    X(UNMAPPED_NODES, "unmapped_nodes",                                                                      \
      "nodes of CUDA graphs found no room among those that are followed; their work is booked where the "    \
      "graph is launched, and on no scope of the capture")                                                   \
    X(MISSING_DURATION, "missing_duration", "complete events without a duration last 0")

#define RGM_KIND_ENUM(name, token) RGM_KIND_##name,
#define RGM_DEVICE_ENUM(name, token) RGM_DEVICE_##name,
#define RGM_BACKEND_ENUM(name, token) RGM_BACKEND_##name,
#define RGM_ACTION_ENUM(name, token) RGM_ACTION_##name,
#define RGM_SOURCE_ENUM(name, token) RGM_SOURCE_##name,
#define RGM_SEGMENT_KIND_ENUM(name, token) RGM_SEGMENT_##name,
#define RGM_BLOCK_STATE_ENUM(name, token) RGM_BLOCK_##name,
#define RGM_FLOW_KIND_ENUM(name, token) RGM_FLOW_KIND_##name,
#define RGM_FLOW_PHASE_ENUM(name, token) RGM_FLOW_PHASE_##name,
#define RGM_ANOMALY_ENUM(name, token, text) RGM_ANOMALY_##name,
#define RGM_INTERVAL_STATE_ENUM(name, token, text) RGM_INTERVAL_##name,
#define RGM_SAMPLE_STATE_ENUM(name, token, text) RGM_SAMPLE_##name,
#define RGM_OCCUPANCY_LIMIT_ENUM(name, token, text) RGM_OCCUPANCY_LIMIT_##name,
#define RGM_FLAG_ENUM(name, bit, token, text) RGM_FLAG_##name = 1 << (bit),
typedef enum { RGM_SPAN_KINDS(RGM_KIND_ENUM) RGM_KIND_COUNT } rgm_kind;
typedef enum { RGM_DEVICES(RGM_DEVICE_ENUM) RGM_DEVICE_COUNT } rgm_device;
typedef enum { RGM_BACKENDS(RGM_BACKEND_ENUM) RGM_BACKEND_COUNT } rgm_backend;
typedef enum { RGM_MEMORY_ACTIONS(RGM_ACTION_ENUM) RGM_ACTION_COUNT } rgm_action;
typedef enum { RGM_SEGMENT_KINDS(RGM_SEGMENT_KIND_ENUM) RGM_SEGMENT_KIND_COUNT } rgm_segment_kind;
typedef enum { RGM_BLOCK_STATES(RGM_BLOCK_STATE_ENUM) RGM_BLOCK_STATE_COUNT } rgm_block_state;
typedef enum { RGM_MEMORY_SOURCES(RGM_SOURCE_ENUM) RGM_SOURCE_COUNT } rgm_memory_source;
typedef enum { RGM_INTERVAL_STATES(RGM_INTERVAL_STATE_ENUM) RGM_INTERVAL_STATE_COUNT } rgm_interval_state;
typedef enum { RGM_SAMPLE_STATES(RGM_SAMPLE_STATE_ENUM) RGM_SAMPLE_STATE_COUNT } rgm_sample_state;

// Whether the thread has a processor.
static inline bool rgm_sample_runs(rgm_sample_state state) {
    return state == RGM_SAMPLE_RUNNING || state == RGM_SAMPLE_NATIVE || state == RGM_SAMPLE_CALLING ||
           state == RGM_SAMPLE_INTERPRETING;
}
// Or would, if the system or the interpreter let it.
static inline bool rgm_sample_works(rgm_sample_state state) {
    return rgm_sample_runs(state) || state == RGM_SAMPLE_WAITING_FOR_LOCK ||
           state == RGM_SAMPLE_WAITING_FOR_PROCESSOR;
}
typedef enum { RGM_OCCUPANCY_LIMITS(RGM_OCCUPANCY_LIMIT_ENUM) RGM_OCCUPANCY_LIMIT_COUNT } rgm_occupancy_limit;
typedef enum { RGM_FLOW_KINDS(RGM_FLOW_KIND_ENUM) RGM_FLOW_KIND_COUNT } rgm_flow_kind;
typedef enum { RGM_FLOW_PHASES(RGM_FLOW_PHASE_ENUM) RGM_FLOW_PHASE_COUNT } rgm_flow_phase;
typedef enum { RGM_ANOMALY_CODES(RGM_ANOMALY_ENUM) RGM_ANOMALY_COUNT } rgm_anomaly;
typedef enum { RGM_SPAN_FLAGS(RGM_FLAG_ENUM) RGM_FLAG_MASK = 0xFF } rgm_flag;
#define RGM_ROLE_ENUM(name, token, text) RGM_ROLE_##name,
typedef enum { RGM_ROLES(RGM_ROLE_ENUM) RGM_ROLE_COUNT } rgm_role;
#define RGM_ROLE_BIT(role) (1u << RGM_ROLE_##role)

enum { RGM_FLAGS_DEVICE_SHIFT = 8, RGM_FLAGS_BACKEND_SHIFT = 12, RGM_FLAGS_FIELD = 0xF };

static inline uint32_t rgm_flags_pack(uint32_t flags, rgm_device device, rgm_backend backend) {
    return flags | ((uint32_t)device << RGM_FLAGS_DEVICE_SHIFT) |
           ((uint32_t)backend << RGM_FLAGS_BACKEND_SHIFT);
}
static inline rgm_device rgm_flags_device(uint32_t flags) {
    return (rgm_device)((flags >> RGM_FLAGS_DEVICE_SHIFT) & RGM_FLAGS_FIELD);
}
static inline rgm_backend rgm_flags_backend(uint32_t flags) {
    return (rgm_backend)((flags >> RGM_FLAGS_BACKEND_SHIFT) & RGM_FLAGS_FIELD);
}

#endif
