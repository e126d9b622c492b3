// SPDX-License-Identifier: Apache-2.0
// Results about memory: what lived when, who asked for it, what the allocator holds.
#ifndef RGM_MODEL_RESULTS_MEMORY_H
#define RGM_MODEL_RESULTS_MEMORY_H

// Result of the memory_levels analysis: one row is an event of an allocator.
#define RGM_MEMORY_LEVELS(X)                                                                                 \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(i16, device, "", -1, "Device ordinal, -1 for the host.")                                               \
    X(u32, event, "", 0, "Its row in `memory`.")                                                             \
    X(i64, live, "bytes", 0, "What blocks in use hold after it on that device, as asked for.")               \
    X(i64, reserved, "bytes", -1, "What the allocator has reserved there after it, -1 when not known.")      \
    X(name, category, "", 0, "Of what the memory of the event is, \"\" when not known.")                     \
    X(i64, live_of_category, "bytes", 0,                                                                     \
      "What blocks in use of that category hold after it on that device.")                                   \
    X(i32, rank, "", -1, "Rank whose memory it is, in a run of several; -1 elsewhere.")                      \
    X(i64, process, "", -1, "Process whose memory it is, in a run of several without ranks; -1 elsewhere.")

// Result of the allocations analysis: one row is who asked, or what for, on one device.
#define RGM_ALLOCATIONS(X)                                                                                   \
    X(i16, device, "", -1, "Device ordinal, -1 for the host.")                                               \
    X(name, function, "", 0, "Innermost function that asked, \"\" when not known.")                          \
    X(name, file, "", 0, "Its file.")                                                                        \
    X(i32, line, "", -1, "Its line, -1 when not known.")                                                     \
    X(i32, stack, "", -1, "Row in `stacks`; of a line or category one of them; -1 when not known.")          \
    X(name, category, "", 0, "Of what the memory is, \"\" when not known.")                                  \
    X(name, scope, "", 0,                                                                                    \
      "By scope: the scope or operator that asked, \"\" when not known or not asked by.")                    \
    X(i64, peak_bytes, "bytes", 0, "Live when the device had most, the first time that it had.")             \
    X(i64, peak_blocks, "", 0, "Blocks of that.")                                                            \
    X(f64, peak_share, "", NAN, "peak_bytes over all that lived then.")                                      \
    X(i64, end_bytes, "bytes", 0, "Live at the end of the recording.")                                       \
    X(i64, end_blocks, "", 0, "Blocks of that.")                                                             \
    X(i64, allocated_bytes, "bytes", 0, "Asked for within the recording.")                                   \
    X(i64, allocations, "", 0, "How often.")                                                                 \
    X(i64, kept_bytes, "bytes", 0, "Asked for within the recording and live at its end: growth.")            \
    X(i64, kept_blocks, "", 0, "Blocks of that.")                                                            \
    X(i32, rank, "", -1, "Rank whose memory it is, in a run of several; -1 elsewhere.")                      \
    X(i64, process, "", -1, "Process whose memory it is, in a run of several without ranks; -1 elsewhere.")

// Result of the pools analysis: one row is a device, or a pool, stream and size class of it.
#define RGM_POOLS(X)                                                                                         \
    X(i16, device, "", -1, "Device ordinal, -1 for pinned memory of the host.")                              \
    X(i64, pool_graph, "", -1, "First number of the pool, -1 for all pools.")                                \
    X(i64, pool_user, "", -1, "Second number of the pool, -1 for all pools.")                                \
    X(i64, stream, "", -1, "Handle of the stream, -1 for all streams.")                                      \
    X(u8, kind, "", 0, "An index of SEGMENT_KINDS; unknown for all.")                                        \
    X(i64, segments, "", 0, "Segments.")                                                                     \
    X(i64, reserved, "bytes", 0, "What they hold.")                                                          \
    X(i64, active, "bytes", 0, "In blocks in use or awaiting their stream.")                                 \
    X(i64, requested, "bytes", 0, "What the program asked for in those blocks.")                             \
    X(i64, pending, "bytes", 0, "In blocks that are freed once their stream has come so far.")               \
    X(i64, inactive_split, "bytes", 0, "In free blocks beside blocks of the same segment: not given back.")  \
    X(i64, free_segments, "bytes", 0, "In segments without a block in use, which could be given back.")      \
    X(i64, largest_free, "bytes", 0, "The largest free block: a larger one needs a new segment.")            \
    X(i64, free_blocks, "", 0, "Free blocks.")                                                               \
    X(f64, idle_share, "", NAN, "Part of what is reserved that no block uses: 1 - active / reserved.")       \
    X(f64, rounding_share, "", NAN, "Part of the blocks in use that nobody asked for.")                      \
    X(f64, split_share, "", NAN, "inactive_split over what is reserved.")                                    \
    X(i32, rank, "", -1, "Rank whose allocator it is, in a run of several; -1 elsewhere.")                   \
    X(i64, process, "", -1, "Process whose allocator it is, in a run of several without ranks; -1 elsewhere.")

// What an allocator does when a device has no more. X(NAME, token, text)
#define RGM_SHORTAGES(X)                                                                                     \
    X(OUT_OF_MEMORY, "out_of_memory", "the allocator gave up: an exception in the program")                  \
    X(RETRY, "retry",                                                                                        \
      "segments were given back to the device right before another was reserved: what the allocator does "   \
      "when the device has refused it, which stops all streams")

// Result of the shortages analysis: one row is a time at which a device had too little left.
#define RGM_SHORTAGES_TABLE(X)                                                                               \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans.")                                             \
    X(i16, device, "", -1, "Device ordinal.")                                                                \
    X(u8, shortage, "", 0, "An index of SHORTAGES.")                                                         \
    X(i64, requested, "bytes", -1, "What was asked for; of a retry the segment.")                            \
    X(i64, device_free, "bytes", -1, "What the device had left, -1 when not recorded.")                      \
    X(i64, given_back, "bytes", 0, "Of a retry: what was given back.")                                       \
    X(i64, live, "bytes", 0, "What blocks in use held.")                                                     \
    X(i64, reserved, "bytes", -1, "What the allocator had reserved, -1 when not known.")                     \
    X(name, function, "", 0, "Innermost function that asked, \"\" when not known.")                          \
    X(name, file, "", 0, "Its file.")                                                                        \
    X(i32, line, "", -1, "Its line, -1 when not known.")                                                     \
    X(i32, stack, "", -1, "Row in `stacks`, -1 when not known.")                                             \
    X(i32, rank, "", -1, "Rank whose memory it is, in a run of several; -1 elsewhere.")                      \
    X(i64, process, "", -1, "Process whose memory it is, in a run of several without ranks; -1 elsewhere.")

#define RGM_MEMORY_RESULTS(X)                                                                                \
    X(memory_levels, RGM_MEMORY_LEVELS, "What lived and was reserved after each event of an allocator.")     \
    X(allocations, RGM_ALLOCATIONS, "Who asked for the memory that lived at the peak and at the end.")       \
    X(pools, RGM_POOLS, "What an allocator had reserved at the end, and how much of it was of use.")         \
    X(shortages, RGM_SHORTAGES_TABLE, "When a device had too little memory left.")

typedef enum {
#define RGM_SHORTAGE_ENUM(name, token, text) RGM_SHORTAGE_##name,
    RGM_SHORTAGES(RGM_SHORTAGE_ENUM)
#undef RGM_SHORTAGE_ENUM
        RGM_SHORTAGE_COUNT
} rgm_shortage;

#endif
