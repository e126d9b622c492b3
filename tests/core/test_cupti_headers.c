// SPDX-License-Identifier: Apache-2.0
// Our declarations of CUPTI's interface against the real headers, at compile time, where they are installed.
#include "cuda/trace/cupti_records.h"
#include "cuda/trace/cupti_types.h"
#include "harness.h"

#if defined(__has_include)
#if __has_include(<cupti.h>)
#define HAS_CUPTI 1
#endif
#endif

#ifdef HAS_CUPTI
#include <cupti.h>

#define SAME(ours, our_field, theirs, their_field)                                                           \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                             \
                       sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),                 \
                   #ours "." #our_field)

#define KERNEL(theirs)                                                                                       \
    SAME(rgm_cupti_kernel, kind, theirs, kind);                                                              \
    SAME(rgm_cupti_kernel, registers, theirs, registersPerThread);                                           \
    SAME(rgm_cupti_kernel, start, theirs, start);                                                            \
    SAME(rgm_cupti_kernel, end, theirs, end);                                                                \
    SAME(rgm_cupti_kernel, device, theirs, deviceId);                                                        \
    SAME(rgm_cupti_kernel, context, theirs, contextId);                                                      \
    SAME(rgm_cupti_kernel, stream, theirs, streamId);                                                        \
    SAME(rgm_cupti_kernel, grid[0], theirs, gridX);                                                          \
    SAME(rgm_cupti_kernel, grid[2], theirs, gridZ);                                                          \
    SAME(rgm_cupti_kernel, block[0], theirs, blockX);                                                        \
    SAME(rgm_cupti_kernel, block[2], theirs, blockZ);                                                        \
    SAME(rgm_cupti_kernel, static_shared, theirs, staticSharedMemory);                                       \
    SAME(rgm_cupti_kernel, dynamic_shared, theirs, dynamicSharedMemory);                                     \
    SAME(rgm_cupti_kernel, correlation, theirs, correlationId);                                              \
    SAME(rgm_cupti_kernel, grid_id, theirs, gridId);                                                         \
    SAME(rgm_cupti_kernel, name, theirs, name);                                                              \
    SAME(rgm_cupti_kernel, queued, theirs, queued);                                                          \
    SAME(rgm_cupti_kernel, submitted, theirs, submitted);                                                    \
    SAME(rgm_cupti_kernel, shared_executed, theirs, sharedMemoryExecuted);                                   \
    _Static_assert(sizeof(rgm_cupti_kernel) <= sizeof(theirs), #theirs)
KERNEL(CUpti_ActivityKernel4);
KERNEL(CUpti_ActivityKernel5);
KERNEL(CUpti_ActivityKernel6);
KERNEL(CUpti_ActivityKernel7);
KERNEL(CUpti_ActivityKernel8);
KERNEL(CUpti_ActivityKernel9);
KERNEL(CUpti_ActivityKernel10);
SAME(rgm_cupti_kernel_node, graph_node, CUpti_ActivityKernel5, graphNodeId);
SAME(rgm_cupti_kernel_graph, graph, CUpti_ActivityKernel6, graphId);
SAME(rgm_cupti_kernel_cluster, cluster[0], CUpti_ActivityKernel8, clusterX);
SAME(rgm_cupti_kernel_cluster, cluster[2], CUpti_ActivityKernel8, clusterZ);
SAME(rgm_cupti_kernel_cluster, cluster[0], CUpti_ActivityKernel10, clusterX);
SAME(rgm_cupti_kernel_cluster, cluster[2], CUpti_ActivityKernel10, clusterZ);
SAME(rgm_cupti_kernel_node, graph_node, CUpti_ActivityKernel10, graphNodeId);
SAME(rgm_cupti_kernel_graph, graph, CUpti_ActivityKernel10, graphId);
_Static_assert(sizeof(rgm_cupti_kernel_graph) <= sizeof(CUpti_ActivityKernel6), "Kernel6");

#define COPY(theirs)                                                                                         \
    SAME(rgm_cupti_memcpy, copy, theirs, copyKind);                                                          \
    SAME(rgm_cupti_memcpy, from, theirs, srcKind);                                                           \
    SAME(rgm_cupti_memcpy, to, theirs, dstKind);                                                             \
    SAME(rgm_cupti_memcpy, bytes, theirs, bytes);                                                            \
    SAME(rgm_cupti_memcpy, start, theirs, start);                                                            \
    SAME(rgm_cupti_memcpy, end, theirs, end);                                                                \
    SAME(rgm_cupti_memcpy, device, theirs, deviceId);                                                        \
    SAME(rgm_cupti_memcpy, context, theirs, contextId);                                                      \
    SAME(rgm_cupti_memcpy, stream, theirs, streamId);                                                        \
    SAME(rgm_cupti_memcpy, correlation, theirs, correlationId)
COPY(CUpti_ActivityMemcpy);
COPY(CUpti_ActivityMemcpy3);
COPY(CUpti_ActivityMemcpy4);
COPY(CUpti_ActivityMemcpy5);
COPY(CUpti_ActivityMemcpy6);
SAME(rgm_cupti_memcpy_node, graph_node, CUpti_ActivityMemcpy3, graphNodeId);
SAME(rgm_cupti_memcpy_graph, graph, CUpti_ActivityMemcpy4, graphId);
SAME(rgm_cupti_memcpy_graph, graph, CUpti_ActivityMemcpy6, graphId);
_Static_assert(sizeof(rgm_cupti_memcpy_graph) <= sizeof(CUpti_ActivityMemcpy4), "Memcpy4");

#define PEER(theirs)                                                                                         \
    SAME(rgm_cupti_memcpy2, bytes, theirs, bytes);                                                           \
    SAME(rgm_cupti_memcpy2, start, theirs, start);                                                           \
    SAME(rgm_cupti_memcpy2, stream, theirs, streamId);                                                       \
    SAME(rgm_cupti_memcpy2, to_context, theirs, dstContextId);                                               \
    SAME(rgm_cupti_memcpy2, correlation, theirs, correlationId)
PEER(CUpti_ActivityMemcpyPtoP);
PEER(CUpti_ActivityMemcpyPtoP4);
SAME(rgm_cupti_memcpy2_node, graph_node, CUpti_ActivityMemcpyPtoP2, graphNodeId);
SAME(rgm_cupti_memcpy2_graph, graph, CUpti_ActivityMemcpyPtoP3, graphId);
SAME(rgm_cupti_memcpy2_graph, graph, CUpti_ActivityMemcpyPtoP4, graphId);

#define SET(theirs)                                                                                          \
    SAME(rgm_cupti_memset, bytes, theirs, bytes);                                                            \
    SAME(rgm_cupti_memset, start, theirs, start);                                                            \
    SAME(rgm_cupti_memset, correlation, theirs, correlationId);                                              \
    SAME(rgm_cupti_memset, memory_kind, theirs, memoryKind)
SET(CUpti_ActivityMemset);
SET(CUpti_ActivityMemset4);
SAME(rgm_cupti_memset_node, graph_node, CUpti_ActivityMemset2, graphNodeId);
SAME(rgm_cupti_memset_graph, graph, CUpti_ActivityMemset3, graphId);
SAME(rgm_cupti_memset_graph, graph, CUpti_ActivityMemset4, graphId);

#define SYNC(theirs)                                                                                         \
    SAME(rgm_cupti_sync, type, theirs, type);                                                                \
    SAME(rgm_cupti_sync, start, theirs, start);                                                              \
    SAME(rgm_cupti_sync, end, theirs, end);                                                                  \
    SAME(rgm_cupti_sync, correlation, theirs, correlationId);                                                \
    SAME(rgm_cupti_sync, context, theirs, contextId);                                                        \
    SAME(rgm_cupti_sync, stream, theirs, streamId);                                                          \
    SAME(rgm_cupti_sync, event, theirs, cudaEventId)
SYNC(CUpti_ActivitySynchronization);
SYNC(CUpti_ActivitySynchronization2);

#define MEMORY(theirs)                                                                                       \
    SAME(rgm_cupti_memory, operation, theirs, memoryOperationType);                                          \
    SAME(rgm_cupti_memory, memory_kind, theirs, memoryKind);                                                 \
    SAME(rgm_cupti_memory, correlation, theirs, correlationId);                                              \
    SAME(rgm_cupti_memory, address, theirs, address);                                                        \
    SAME(rgm_cupti_memory, bytes, theirs, bytes);                                                            \
    SAME(rgm_cupti_memory, time, theirs, timestamp);                                                         \
    SAME(rgm_cupti_memory, device, theirs, deviceId);                                                        \
    SAME(rgm_cupti_memory, context, theirs, contextId);                                                      \
    SAME(rgm_cupti_memory, stream, theirs, streamId);                                                        \
    SAME(rgm_cupti_memory, is_async, theirs, isAsync);                                                       \
    SAME(rgm_cupti_memory, pool_type, theirs, memoryPoolConfig.memoryPoolType);                              \
    SAME(rgm_cupti_memory, pool, theirs, memoryPoolConfig.address);                                          \
    SAME(rgm_cupti_memory, pool_bytes, theirs, memoryPoolConfig.pool.size);                                  \
    _Static_assert(sizeof(rgm_cupti_memory) <= sizeof(theirs), #theirs)
MEMORY(CUpti_ActivityMemory2);
MEMORY(CUpti_ActivityMemory3);
MEMORY(CUpti_ActivityMemory4);
SAME(rgm_cupti_memory_use, pool_used, CUpti_ActivityMemory3, memoryPoolConfig.utilizedSize);
SAME(rgm_cupti_memory_use, pool_used, CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize);
_Static_assert(sizeof(rgm_cupti_memory_use) <= sizeof(CUpti_ActivityMemory3), "Memory3");

#define POOL(theirs)                                                                                         \
    SAME(rgm_cupti_pool, operation, theirs, memoryPoolOperationType);                                        \
    SAME(rgm_cupti_pool, pool_type, theirs, memoryPoolType);                                                 \
    SAME(rgm_cupti_pool, correlation, theirs, correlationId);                                                \
    SAME(rgm_cupti_pool, device, theirs, deviceId);                                                          \
    SAME(rgm_cupti_pool, pool, theirs, address);                                                             \
    SAME(rgm_cupti_pool, bytes, theirs, size);                                                               \
    SAME(rgm_cupti_pool, time, theirs, timestamp);                                                           \
    _Static_assert(sizeof(rgm_cupti_pool) <= sizeof(theirs), #theirs)
POOL(CUpti_ActivityMemoryPool);
POOL(CUpti_ActivityMemoryPool2);
POOL(CUpti_ActivityMemoryPool3);
SAME(rgm_cupti_pool_use, used, CUpti_ActivityMemoryPool2, utilizedSize);
SAME(rgm_cupti_pool_use, used, CUpti_ActivityMemoryPool3, utilizedSize);

#define EVENT(theirs)                                                                                        \
    SAME(rgm_cupti_event, correlation, theirs, correlationId);                                               \
    SAME(rgm_cupti_event, context, theirs, contextId);                                                       \
    SAME(rgm_cupti_event, stream, theirs, streamId);                                                         \
    SAME(rgm_cupti_event, event, theirs, eventId)
EVENT(CUpti_ActivityCudaEvent);
EVENT(CUpti_ActivityCudaEvent2);

#define OVERHEAD(theirs)                                                                                     \
    SAME(rgm_cupti_overhead, overhead, theirs, overheadKind);                                                \
    SAME(rgm_cupti_overhead, object_kind, theirs, objectKind);                                               \
    SAME(rgm_cupti_overhead, object.second, theirs, objectId.pt.threadId);                                   \
    SAME(rgm_cupti_overhead, start, theirs, start);                                                          \
    SAME(rgm_cupti_overhead, end, theirs, end)
OVERHEAD(CUpti_ActivityOverhead);
OVERHEAD(CUpti_ActivityOverhead2);
OVERHEAD(CUpti_ActivityOverhead3);

#define GRAPH(theirs)                                                                                        \
    SAME(rgm_cupti_graph_trace, correlation, theirs, correlationId);                                         \
    SAME(rgm_cupti_graph_trace, start, theirs, start);                                                       \
    SAME(rgm_cupti_graph_trace, end, theirs, end);                                                           \
    SAME(rgm_cupti_graph_trace, device, theirs, deviceId);                                                   \
    SAME(rgm_cupti_graph_trace, graph, theirs, graphId);                                                     \
    SAME(rgm_cupti_graph_trace, context, theirs, contextId);                                                 \
    SAME(rgm_cupti_graph_trace, stream, theirs, streamId)
GRAPH(CUpti_ActivityGraphTrace);
GRAPH(CUpti_ActivityGraphTrace2);

SAME(rgm_cupti_marker, flags, CUpti_ActivityMarker2, flags);
SAME(rgm_cupti_marker, time, CUpti_ActivityMarker2, timestamp);
SAME(rgm_cupti_marker, id, CUpti_ActivityMarker2, id);
SAME(rgm_cupti_marker, object.second, CUpti_ActivityMarker2, objectId.pt.threadId);
SAME(rgm_cupti_marker, name, CUpti_ActivityMarker2, name);
SAME(rgm_cupti_marker, domain, CUpti_ActivityMarker2, domain);
SAME(rgm_cupti_external, external, CUpti_ActivityExternalCorrelation, externalId);
SAME(rgm_cupti_external, correlation, CUpti_ActivityExternalCorrelation, correlationId);
SAME(rgm_cupti_context_record, context, CUpti_ActivityContext3, contextId);
SAME(rgm_cupti_context_record, device, CUpti_ActivityContext3, deviceId);
SAME(rgm_cupti_context_record, device, CUpti_ActivityContext, deviceId);

SAME(rgm_cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(rgm_cupti_call, function, CUpti_CallbackData, functionName);
SAME(rgm_cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME(rgm_cupti_call, correlation, CUpti_CallbackData, correlationId);
SAME(rgm_cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(rgm_cupti_graph, graph, CUpti_GraphData, graph);
SAME(rgm_cupti_graph, node, CUpti_GraphData, node);
SAME(rgm_cupti_graph, original_node, CUpti_GraphData, originalNode);
SAME(rgm_cupti_graph, exec, CUpti_GraphData, graphExec);

#define KIND(name, value) _Static_assert((int)CUPTI_ACTIVITY_KIND_##name == (value), #name);
RGM_CUPTI_KINDS(KIND)
#define COPY_KIND(name, value, text) _Static_assert((int)CUPTI_ACTIVITY_MEMCPY_KIND_##name == (value), #name);
RGM_CUPTI_COPIES(COPY_KIND)
#define MEMORY_KIND(name, value, text)                                                                       \
    _Static_assert((int)CUPTI_ACTIVITY_MEMORY_KIND_##name == (value), #name);
RGM_CUPTI_MEMORIES(MEMORY_KIND)
_Static_assert((int)CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == RGM_CUPTI_GRAPH_NODE_CREATED, "ids");
_Static_assert((int)CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == RGM_CUPTI_GRAPH_NODE_CLONED, "ids");
_Static_assert((int)CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING == RGM_CUPTI_GRAPH_NODE_DESTROY, "ids");
_Static_assert((int)CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING == RGM_CUPTI_GRAPH_EXEC_CREATE, "ids");
_Static_assert((int)CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED == RGM_CUPTI_GRAPH_EXEC_CREATED, "ids");
_Static_assert((int)CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING == RGM_CUPTI_GRAPH_EXEC_DESTROY, "ids");
_Static_assert((int)CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT == RGM_CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT,
               "attributes");
_Static_assert((int)CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER == RGM_CUPTI_ATTRIBUTE_PER_THREAD_BUFFERS,
               "attributes");
_Static_assert((int)CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM == RGM_CUPTI_THREAD_IDS_OF_SYSTEM, "thread ids");
_Static_assert((int)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == RGM_CUPTI_FLUSH_FORCED, "flush");
_Static_assert((int)CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE == 4, "sync");
_Static_assert((int)CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT == 2, "sync");
_Static_assert((int)CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST == 0x70000, "overhead");
_Static_assert((int)CUPTI_CB_DOMAIN_RUNTIME_API == RGM_CUPTI_RUNTIME_API, "domains");
#endif

TEST(declarations_agree) {
    // Compiled, they agree; where there are no headers, the sizes that the reference names still hold.
    CHECK_EQ_U64(offsetof(rgm_cupti_kernel_node, graph_node), 144);
    CHECK_EQ_U64(offsetof(rgm_cupti_kernel_graph, graph), 156);
    CHECK_EQ_U64(offsetof(rgm_cupti_kernel_cluster, cluster), 176);
    CHECK_EQ_U64(offsetof(rgm_cupti_memcpy_graph, graph), 72);
    CHECK_EQ_U64(sizeof(rgm_cupti_external), 24);
}
