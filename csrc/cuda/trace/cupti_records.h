// SPDX-License-Identifier: Apache-2.0
// Activity records as CUPTI writes them: the fields that are read, at the offsets that all releases share.
//
// Records only ever grow at their end, so a view holds the common beginning of all versions of a kind. What
// came with a later version stands in a view of its own, at an offset that is read only from the version on
// that has it. The length of a record is not known from here: buffers are walked with CUPTI's own function.
// tests/core/cuda/test_cupti_headers.c compares the offsets with the real headers where those are installed.
#ifndef RGM_CUDA_CUPTI_RECORDS_H
#define RGM_CUDA_CUPTI_RECORDS_H

#include <stddef.h>
#include <stdint.h>

// X(NAME, value): kinds that are read.
#define RGM_CUPTI_KINDS(X)                                                                                   \
    X(MEMCPY, 1)                                                                                             \
    X(MEMSET, 2)                                                                                             \
    X(KERNEL, 3)                                                                                             \
    X(CONTEXT, 9)                                                                                            \
    X(CONCURRENT_KERNEL, 10)                                                                                 \
    X(MARKER, 12)                                                                                            \
    X(OVERHEAD, 17)                                                                                          \
    X(MEMCPY2, 22)                                                                                           \
    X(CUDA_EVENT, 36)                                                                                        \
    X(SYNCHRONIZATION, 38)                                                                                   \
    X(EXTERNAL_CORRELATION, 39)                                                                              \
    X(MEMORY2, 49)                                                                                           \
    X(MEMORY_POOL, 50)                                                                                       \
    X(GRAPH_TRACE, 51)

#define RGM_CUPTI_KIND_ENUM(name, value) RGM_CUPTI_KIND_##name = (value),
enum { RGM_CUPTI_KINDS(RGM_CUPTI_KIND_ENUM) };

// Versions of the interface from which on a field is there.
enum {
    RGM_CUPTI_HAS_GRAPH_NODES = 13,     // CUDA 11.0: Kernel5
    RGM_CUPTI_HAS_GRAPH_IDS = 14,       // CUDA 11.1: Kernel6, Memcpy5, Memset4
    RGM_CUPTI_HAS_CLUSTERS = 18,        // CUDA 11.8: Kernel8
    RGM_CUPTI_HAS_POOL_USE = 19,        // CUDA 12.0: Memory3, MemoryPool2
    RGM_CUPTI_HAS_CLUSTER_COUNT = 19,   // CUDA 12.0: Kernel9
    RGM_CUPTI_MAY_DECLINE_BUFFERS = 27, // CUDA 12.9
    RGM_CUPTI_HAS_GREEN = 24, // CUDA 12.6: Context3; its predecessor has it too, from when on is not known
};

typedef struct {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partitioned_requested, partitioned_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    uint64_t name; // address of a text that CUPTI owns
    uint64_t reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
} rgm_cupti_kernel; // Kernel4

typedef struct {
    rgm_cupti_kernel base;
    uint64_t graph_node;
} rgm_cupti_kernel_node; // Kernel5

typedef struct {
    rgm_cupti_kernel_node base;
    uint32_t shared_limit;
    uint32_t graph;
} rgm_cupti_kernel_graph; // Kernel6

typedef struct {
    rgm_cupti_kernel_graph base;
    uint64_t access_policy;
    uint32_t channel, channel_type;
    uint32_t cluster[3];
} rgm_cupti_kernel_cluster; // Kernel8

typedef struct {
    rgm_cupti_kernel_cluster base;
    uint64_t local_total;
    uint32_t most_blocks;   // of a cluster of this kernel
    uint32_t most_clusters; // of this launch on the device at a time
} rgm_cupti_kernel_count;   // Kernel9

typedef struct {
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
} rgm_cupti_memcpy;

typedef struct {
    rgm_cupti_memcpy base;
    uint32_t runtime_correlation, padding;
    uint64_t reserved, graph_node;
} rgm_cupti_memcpy_node; // Memcpy4

typedef struct {
    rgm_cupti_memcpy_node base;
    uint32_t graph, channel;
} rgm_cupti_memcpy_graph; // Memcpy5

// Between two devices.
typedef struct {
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t from_device, from_context, to_device, to_context;
    uint32_t correlation;
} rgm_cupti_memcpy2;

typedef struct {
    rgm_cupti_memcpy2 base;
    uint64_t reserved, graph_node;
} rgm_cupti_memcpy2_node; // MemcpyPtoP2

typedef struct {
    rgm_cupti_memcpy2_node base;
    uint32_t graph, channel;
} rgm_cupti_memcpy2_graph; // MemcpyPtoP3

typedef struct {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
} rgm_cupti_memset;

typedef struct {
    rgm_cupti_memset base;
    uint64_t reserved, graph_node;
} rgm_cupti_memset_node; // Memset2

typedef struct {
    rgm_cupti_memset_node base;
    uint32_t graph, channel;
} rgm_cupti_memset_graph; // Memset3

typedef struct {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
} rgm_cupti_sync;

typedef struct {
    uint32_t kind, correlation, context, stream, event;
} rgm_cupti_event;

// Who a record is about: process and thread, or device, context and stream.
typedef struct {
    uint32_t first, second, third;
} rgm_cupti_object;

enum { RGM_CUPTI_OBJECT_PROCESS = 1, RGM_CUPTI_OBJECT_THREAD = 2 };

typedef struct {
    uint32_t kind, overhead, object_kind;
    rgm_cupti_object object;
    uint64_t start, end;
} rgm_cupti_overhead;

typedef struct {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
} rgm_cupti_graph_trace;

enum { RGM_CUPTI_MARKER_INSTANT = 1, RGM_CUPTI_MARKER_START = 2, RGM_CUPTI_MARKER_END = 4 };

typedef struct {
    uint32_t kind, flags;
    uint64_t time;
    uint32_t id, object_kind;
    rgm_cupti_object object;
    uint32_t padding;
    uint64_t name, domain; // addresses of texts; the name only at the start
} rgm_cupti_marker;

typedef struct {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation, reserved;
} rgm_cupti_external;

typedef struct {
    uint32_t kind, context, device;
} rgm_cupti_context_record;

typedef struct {
    rgm_cupti_context_record base;
    uint16_t interface, null_stream;
    uint32_t part_of; // a context, 0 for none
    uint8_t green, padding;
    uint16_t multiprocessors; // of a green context
} rgm_cupti_context_green;    // Context3

// Memory was given out or given back.
typedef struct {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, time, counter; // counter: where the program was
    uint32_t process, device, context, stream;
    uint64_t name; // address of a text: the variable, of static memory
    uint32_t is_async, padding;
    uint32_t pool_type, pool_padding;
    uint64_t pool, pool_threshold, pool_bytes; // of an imported pool its process instead of its bytes
} rgm_cupti_memory;                            // Memory2

typedef struct {
    rgm_cupti_memory base;
    uint64_t pool_used;
} rgm_cupti_memory_use; // Memory3

typedef struct {
    uint32_t kind, operation, pool_type, correlation, process, device;
    uint64_t kept_least, pool, bytes, threshold, time;
} rgm_cupti_pool; // MemoryPool

typedef struct {
    rgm_cupti_pool base;
    uint64_t used;
} rgm_cupti_pool_use; // MemoryPool2

enum { RGM_CUPTI_MEMORY_ALLOCATION = 1, RGM_CUPTI_MEMORY_RELEASE = 2 };
enum { RGM_CUPTI_POOL_CREATED = 1, RGM_CUPTI_POOL_DESTROYED = 2, RGM_CUPTI_POOL_TRIMMED = 3 };
enum { RGM_CUPTI_POOL_LOCAL = 1, RGM_CUPTI_POOL_IMPORTED = 2 };

// X(NAME, value, text): as torch.profiler writes them, so that traces of both read alike.
#define RGM_CUPTI_COPIES(X)                                                                                  \
    X(UNKNOWN, 0, "Unknown")                                                                                 \
    X(HTOD, 1, "HtoD")                                                                                       \
    X(DTOH, 2, "DtoH")                                                                                       \
    X(HTOA, 3, "HtoA")                                                                                       \
    X(ATOH, 4, "AtoH")                                                                                       \
    X(ATOA, 5, "AtoA")                                                                                       \
    X(ATOD, 6, "AtoD")                                                                                       \
    X(DTOA, 7, "DtoA")                                                                                       \
    X(DTOD, 8, "DtoD")                                                                                       \
    X(HTOH, 9, "HtoH")                                                                                       \
    X(PTOP, 10, "PtoP")

#define RGM_CUPTI_MEMORIES(X)                                                                                \
    X(UNKNOWN, 0, "Unknown")                                                                                 \
    X(PAGEABLE, 1, "Pageable")                                                                               \
    X(PINNED, 2, "Pinned")                                                                                   \
    X(DEVICE, 3, "Device")                                                                                   \
    X(ARRAY, 4, "Array")                                                                                     \
    X(MANAGED, 5, "Managed")                                                                                 \
    X(DEVICE_STATIC, 6, "Device Static")                                                                     \
    X(MANAGED_STATIC, 7, "Managed Static")

#define RGM_CUPTI_SYNCS(X)                                                                                   \
    X(UNKNOWN, 0, "Unknown Sync")                                                                            \
    X(EVENT, 1, "Event Sync")                                                                                \
    X(STREAM_WAIT, 2, "Stream Wait Event")                                                                   \
    X(STREAM, 3, "Stream Sync")                                                                              \
    X(CONTEXT, 4, "Context Sync")

#define RGM_CUPTI_OVERHEADS(X)                                                                               \
    X(UNKNOWN, 0, "Unknown Overhead")                                                                        \
    X(COMPILER, 1, "Driver Compiler")                                                                        \
    X(FLUSH, 0x10000, "Buffer Flush")                                                                        \
    X(INSTRUMENTATION, 0x20000, "Instrumentation")                                                           \
    X(RESOURCE, 0x30000, "Resource")                                                                         \
    X(MODULE_LOADING, 0x40000, "Runtime Triggered Module Loading")                                           \
    X(LAZY_LOADING, 0x50000, "Lazy Function Loading")                                                        \
    X(COMMAND_BUFFER, 0x60000, "Command Buffer Full")                                                        \
    X(BUFFER_REQUEST, 0x70000, "Activity Buffer Request")                                                    \
    X(UVM_INIT, 0x80000, "UVM Activity Init")

// Streams that no record names: those of the whole context, and ids that are not known.
#define RGM_CUPTI_NO_STREAM UINT32_MAX

#endif
