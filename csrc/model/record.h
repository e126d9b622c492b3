// SPDX-License-Identifier: Apache-2.0
// The raw rows of a recording: what a thread writes when a scope ends, and what a journal block holds.
//
// A record is 32 bytes in memory and on disk. Rows of one stream (one recorder) are in the order in which
// scopes ended; `seq` numbers a stream's scopes in the order in which they began, so a parent is named
// before it is written. Byte order is the machine's; a journal names it in its head.
#ifndef RGM_MODEL_RECORD_H
#define RGM_MODEL_RECORD_H

#include <stdint.h>

typedef enum {
    RGM_RECORD_SCOPE,       // a scope that ended
    RGM_RECORD_THREAD,      // from here on the stream belongs to thread `site`
    RGM_RECORD_HOST_MEMORY, // of the scope before: start = resident bytes at begin, value = at end
    RGM_RECORD_DEVICE_USE,  // of the scope before: start = allocated bytes at begin, value = at end
    RGM_RECORD_DEVICE_PEAK, // of the scope before: start = peak bytes inside it, value = reserved at end
    RGM_RECORD_INTERVAL,    // of the scope before: start = number of its device interval
    RGM_RECORD_CALL, // a call that launches device work: seq = its correlation, site = string of its name
    RGM_RECORD_OWN, // of the scope before: start = ticks of the recorder's own time inside it; or value = one
                    // more than its instructions
    RGM_RECORD_KINDS
} rgm_record_kind;

enum {
    RGM_RECORD_FAILED = 1,
    RGM_RECORD_OPEN = 2,
    RGM_RECORD_MIGRATED = 4,
    RGM_RECORD_LONG = 8,       // the duration is in units of 65,536 ticks (scopes of more than a day)
    RGM_RECORD_FORGOTTEN = 16, // no row: the scopes inside it stand by themselves
    RGM_RECORD_FLAG_BITS = 5,
    RGM_RECORD_META_SHIFT = 8,
    RGM_RECORD_LONG_SHIFT = 16,
};
#define RGM_RECORD_NO_PARENT UINT32_MAX
// The series of `counters` that holds what scopes counted.
#define RGM_INSTRUCTIONS_SERIES "instructions"
// The series that has a 1 when an event loop of the process was found to wait for who asks.
#define RGM_LISTENING_SERIES "process/listening"
// The series that has a 1 when the process was found to be connected to a socket of its own that listens.
#define RGM_ASKS_ITSELF_SERIES "process/asks_itself"
#define RGM_RECORD_META_MAX ((1u << 24) - 1)
#define RGM_RECORD_VALUE_MAX ((UINT64_C(1) << 48) - 1)
#define RGM_RECORD_TRACK_MAX UINT16_MAX

typedef struct {
    uint64_t start;       // ticks
    uint64_t value_track; // low 48 bits: duration in ticks (or a value); high 16: task slot
    uint32_t seq;
    uint32_t parent; // seq of the enclosing scope of the same stream
    uint32_t site;
    uint32_t info; // flags, kind << 5, metadata string << 8
} rgm_record;

static inline uint64_t rgm_record_value(const rgm_record *record) {
    return record->value_track & RGM_RECORD_VALUE_MAX;
}
static inline uint32_t rgm_record_track(const rgm_record *record) {
    return (uint32_t)(record->value_track >> 48);
}
static inline rgm_record_kind rgm_record_kind_of(const rgm_record *record) {
    return (rgm_record_kind)((record->info >> RGM_RECORD_FLAG_BITS) & 7u);
}
static inline uint64_t rgm_record_pack(uint64_t value, uint32_t track) {
    return (value > RGM_RECORD_VALUE_MAX ? RGM_RECORD_VALUE_MAX : value) | ((uint64_t)track << 48);
}
static inline uint64_t rgm_record_ticks(const rgm_record *record) {
    uint64_t value = rgm_record_value(record);
    return record->info & RGM_RECORD_LONG ? value << RGM_RECORD_LONG_SHIFT : value;
}

// A scope that was open when the drainer looked.
typedef struct {
    uint64_t start;
    uint32_t seq;
    uint32_t parent;
    uint32_t site;
    uint32_t track;
    uint32_t meta;
    uint32_t reserved;
} rgm_open_scope;

// One reading of the memory sampler.
typedef struct {
    uint64_t ticks;
    int64_t bytes;     // resident set of the process
    int64_t allocated; // in use by malloc, -1 when not read
    int64_t reserved;  // held by malloc, -1 when not read
    int32_t device;    // -1: host
    uint32_t padding;
} rgm_sample;

// Device time of a scope, from a pair of events that were recorded in a stream at its begin and its end.
typedef struct {
    uint64_t number;      // what the scope's RGM_RECORD_INTERVAL names
    uint64_t begin_ticks; // host: when the first event was recorded
    uint64_t end_ticks;   // and the second
    int64_t begin_ns; // when the device passed the first event, since the origin of the timeline; -1 unknown
    int64_t duration_ns; // from there to the second, -1 unknown
    uint64_t stream;     // handle
    uint32_t timeline;   // intervals of one timeline have one origin
    int16_t device;
    uint8_t state; // an index of INTERVAL_STATES
    uint8_t padding;
} rgm_interval_row;

// A piece of device work, or what else the vendor's tracing interface reports beside it.
typedef struct {
    int64_t start_ns; // CLOCK_MONOTONIC
    int64_t duration_ns;
    int64_t stream;       // of work on the host (device -1): the native thread
    int64_t bytes;        // of a copy or set, -1 elsewhere
    int64_t graph_node;   // -1 when not of a graph
    int64_t external;     // id that a framework gave to what launched it, 0 for none
    uint32_t name;        // string id
    uint32_t context;     // number of the context
    uint32_t correlation; // of the call that launched it
    uint32_t graph;       // UINT32_MAX when not of a graph
    uint32_t capture;     // correlation of the call that made the graph node, 0 unknown
    int16_t device;       // -1: host
    uint8_t kind;         // rgm_kind
    uint8_t flags;        // RGM_RECORD_OPEN: had not ended when recording stopped
    union {
        struct { // of a kernel
            int32_t grid[3], block[3];
            int32_t registers;    // per thread, -1 unknown
            int32_t shared_bytes; // static and dynamic, per block, -1 unknown
            float occupancy;      // theoretical, NaN unknown
            uint8_t occupancy_limit;
            uint8_t cluster[3]; // in blocks, 0 where it is not launched in clusters
        };
        struct {                        // of a synchronisation, whose name is its type
            int64_t event;              // that it waits for, -1 for none
            int64_t record_correlation; // of the call that recorded the event, -1 unknown
            int64_t waits_on_stream;    // in which the event was recorded, -1 unknown
        };
    };
} rgm_activity_row;

// One value of a time series.
typedef struct {
    int64_t time_ns; // CLOCK_MONOTONIC
    double value;
    uint32_t series; // string id
    int16_t device;
    uint16_t padding;
} rgm_counter_row;

// A look at the machine by a thread that records or beside them, or a mark at the end of a block.
typedef struct {
    uint64_t ticks;      // when it began
    int64_t cpu_ns;      // processor time of the thread so far
    uint32_t throughput; // ticks that the fixed work took, 0 for a mark
    uint32_t memory;     // the same for the fixed reads, 0 for a mark or where there are none
    uint32_t thread;     // its row, UINT32_MAX for one beside those that record
    uint16_t track;
    int16_t processor; // -1 unknown
} rgm_witness_row;

// What kept the process from its processors in an interval. -1 where the system does not tell.
typedef struct {
    int64_t time_ns; // CLOCK_MONOTONIC, of its end
    int64_t interval_ns;
    int64_t running_ns;   // of the threads that record
    int64_t waiting_ns;   // the same, ready without a processor
    int64_t steal_ns;     // of a processor, the mean of those that the process may use
    int64_t throttled_ns; // of the control groups
    int64_t involuntary;  // context switches of the process
    int64_t system_ns;    // processor time of the process in the kernel
    int64_t faults;       // page faults without a read from a disk
    int64_t tree_ns;      // processor time of the process, its children and theirs
    int64_t processors;   // that the process may use
    int64_t blocks;       // of 512 bytes, read or written by file systems
    int64_t busy_ns;      // of a processor for any program, the mean of those that the process may use
    int64_t huge_pages;   // that the system handed out at faults, of all programs
} rgm_pressure_row;

#define RGM_STACK_NONE UINT32_MAX

// A call stack: the innermost function, and the stack that called it.
typedef struct {
    uint32_t number;
    uint32_t parent;         // number of the stack that called it, RGM_STACK_NONE for none
    uint32_t function, file; // string ids
    int32_t line;            // -1 unknown
    int32_t first_line;      // of the function
} rgm_stack_row;

// Where a thread was found.
typedef struct {
    uint64_t ticks;
    int64_t thread; // native id
    uint32_t stack; // number
    uint8_t state;  // an index of SAMPLE_STATES
    uint8_t padding[3];
} rgm_host_sample_row;

// A block that stands for so many bytes was asked for, or given back.
typedef struct {
    uint64_t ticks;
    uint64_t address;
    int64_t bytes;  // -1: given back
    uint32_t stack; // number of who asked, RGM_STACK_NONE where not known
    uint32_t padding;
} rgm_allocation_row;

// Memory of a device, or of the host that a device reaches, was given out or back, or a pool changed.
typedef struct {
    int64_t time_ns;      // CLOCK_MONOTONIC
    uint64_t address;     // of the block; of the pool where it is one's row
    uint64_t pool;        // address of the pool that it is of, 0 for none
    int64_t bytes;        // of the block or the pool, -1 unknown
    int64_t pool_bytes;   // of the pool after it, -1 unknown
    int64_t pool_used;    // of that in blocks, -1 unknown
    uint32_t memory;      // string id: the kind of memory
    uint32_t correlation; // of the call that asked
    int16_t device;       // -1: host
    uint8_t action;       // rgm_action
    uint8_t padding[5];
} rgm_device_memory_row;

// How long a kernel waited before it ran, in two parts of which the sum alone is certain: where between them
// the launch counts as submitted is up to CUPTI. Its activity is that of the same start.
typedef struct {
    int64_t start_ns;    // of the kernel, CLOCK_MONOTONIC
    int64_t buffered_ns; // from when its launch was queued to when it was submitted
    int64_t waiting_ns;  // from there to the start
    uint32_t correlation;
    int16_t device;
    uint16_t padding;
} rgm_queue_time_row;

// A collective as the framework queued it: what its kernel does, which the kernel's record does not tell.
typedef struct {
    int64_t time_ns;                   // CLOCK_MONOTONIC, before the launch of its kernel
    int64_t thread;                    // native id of the thread that queued it, -1 unknown
    int64_t in_elements, out_elements; // of this rank, -1 unknown
    int64_t sequence;                  // within its group, -1 unknown
    uint32_t collective, element_type; // string ids
    uint32_t group_name, group_description, group_ranks;
    int32_t group_size; // -1 unknown
} rgm_collective_row;

// Samples of one instruction of a kernel that found a warp there, by why it did not go on.
typedef struct {
    uint64_t cubin;  // what the library calls the binary by
    uint64_t offset; // of the instruction in the function
    uint32_t kernel; // string ids
    uint32_t reason; // as "long_scoreboard"
    uint32_t samples;
    uint32_t not_issued; // of them where the scheduler issued no instruction of any warp
    int16_t device;
    uint16_t padding[3];
    uint32_t file, line; // of the source: a string id, and from 1; 0 and 0 unknown
} rgm_stall_row;

// Rows that come beside the scopes: X(FRAMES, name, row type, anomaly of what found no room).
#define RGM_ROW_LOGS(X)                                                                                      \
    X(SAMPLES, sample, rgm_sample, DROPPED_SAMPLES)                                                          \
    X(INTERVALS, interval, rgm_interval_row, DROPPED_DEVICE_ROWS)                                            \
    X(ACTIVITIES, activity, rgm_activity_row, DROPPED_DEVICE_ROWS)                                           \
    X(VALUES, counter, rgm_counter_row, DROPPED_DEVICE_ROWS)                                                 \
    X(WITNESSES, witness, rgm_witness_row, DROPPED_SAMPLES)                                                  \
    X(PRESSURES, pressure, rgm_pressure_row, DROPPED_SAMPLES)                                                \
    X(HOST_SAMPLES, host_sample, rgm_host_sample_row, DROPPED_SAMPLES)                                       \
    X(STACKS, stack, rgm_stack_row, DROPPED_SAMPLES)                                                         \
    X(ALLOCATIONS, allocation, rgm_allocation_row, DROPPED_SAMPLES)                                          \
    X(DEVICE_MEMORY, device_memory, rgm_device_memory_row, DROPPED_DEVICE_ROWS)                              \
    X(QUEUE_TIMES, queue_time, rgm_queue_time_row, DROPPED_DEVICE_ROWS)                                      \
    X(COLLECTIVES, collective, rgm_collective_row, DROPPED_DEVICE_ROWS)                                      \
    X(STALLS, stall, rgm_stall_row, DROPPED_DEVICE_ROWS)

#define RGM_ROW_LOG_ENUM(frames, name, type, anomaly) RGM_LOG_##frames,
typedef enum { RGM_ROW_LOGS(RGM_ROW_LOG_ENUM) RGM_LOG_COUNT } rgm_log;

// A call site: an operation on a declared device.
typedef struct {
    uint32_t name; // string id
    uint8_t device;
    uint8_t backend;
    uint8_t role; // rgm_role; 0 in files of before there were roles
    uint8_t padding;
} rgm_site_row;

typedef struct {
    uint32_t process;
    uint32_t name; // string id
    int64_t thread;
} rgm_thread_row;

_Static_assert(sizeof(rgm_record) == 32, "a record is 32 bytes");
_Static_assert(sizeof(rgm_open_scope) == 32, "written to files");
_Static_assert(sizeof(rgm_sample) == 40, "written to files");
_Static_assert(sizeof(rgm_interval_row) == 56, "written to files");
_Static_assert(sizeof(rgm_activity_row) == 112, "written to files");
_Static_assert(sizeof(rgm_counter_row) == 24, "written to files");
_Static_assert(sizeof(rgm_witness_row) == 32, "written to files");
_Static_assert(sizeof(rgm_pressure_row) == 112, "written to files");
_Static_assert(sizeof(rgm_stack_row) == 24, "written to files");
_Static_assert(sizeof(rgm_host_sample_row) == 24, "written to files");
_Static_assert(sizeof(rgm_allocation_row) == 32, "written to files");
_Static_assert(sizeof(rgm_device_memory_row) == 64, "written to files");
_Static_assert(sizeof(rgm_queue_time_row) == 32, "written to files");
_Static_assert(sizeof(rgm_collective_row) == 64, "written to files");
_Static_assert(sizeof(rgm_stall_row) == 48, "written to files");
_Static_assert(sizeof(rgm_site_row) == 8, "written to files");
_Static_assert(sizeof(rgm_thread_row) == 16, "written to files");

#endif
