// SPDX-License-Identifier: Apache-2.0
// Our declarations of CUPTI's interface against the real headers, at compile time, where they are installed.
#include "cuda/trace/cupti_records.h"
#include "cuda/trace/cupti_types.h"
#include "cuda/trace/pc_sampling_types.h"
#include "harness.h"

#if defined(__has_include)
#if __has_include(<cupti.h>)
#define HAS_CUPTI 1
#endif
#endif

#ifdef HAS_CUPTI
#include <cupti.h>

#include <cupti_pcsampling.h>

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
SAME(rgm_cupti_kernel_node, graph_node, CUpti_ActivityKernel5, graphNodeId);
SAME(rgm_cupti_kernel_graph, graph, CUpti_ActivityKernel6, graphId);
SAME(rgm_cupti_kernel_cluster, cluster[0], CUpti_ActivityKernel8, clusterX);
SAME(rgm_cupti_kernel_cluster, cluster[2], CUpti_ActivityKernel8, clusterZ);
SAME(rgm_cupti_kernel_count, most_clusters, CUpti_ActivityKernel9, maxActiveClusters);
_Static_assert(sizeof(rgm_cupti_kernel_count) <= sizeof(CUpti_ActivityKernel9), "Kernel9");
_Static_assert(sizeof(rgm_cupti_kernel_graph) <= sizeof(CUpti_ActivityKernel6), "Kernel6");

// PC sampling. The size that a function is told ends with the last member, ours as theirs.
#define SAME_PC_SIZE(ours, last, theirs)                                                                     \
    _Static_assert(offsetof(ours, last) + sizeof(((ours *)0)->last) == theirs##Size, #ours)
SAME_PC_SIZE(rgm_cupti_pc_control, context, CUpti_PCSamplingEnableParams);
SAME_PC_SIZE(rgm_cupti_pc_control, context, CUpti_PCSamplingDisableParams);
SAME_PC_SIZE(rgm_cupti_pc_control, context, CUpti_PCSamplingStartParams);
SAME_PC_SIZE(rgm_cupti_pc_control, context, CUpti_PCSamplingStopParams);
SAME_PC_SIZE(rgm_cupti_pc_configuration, attributes, CUpti_PCSamplingConfigurationInfoParams);
SAME_PC_SIZE(rgm_cupti_pc_get_data, data, CUpti_PCSamplingGetDataParams);
SAME_PC_SIZE(rgm_cupti_pc_reason_count, count, CUpti_PCSamplingGetNumStallReasonsParams);
SAME_PC_SIZE(rgm_cupti_pc_reasons, names, CUpti_PCSamplingGetStallReasonsParams);
SAME_PC_SIZE(rgm_cupti_source_line, folder, CUpti_GetSassToSourceCorrelationParams);
SAME(rgm_cupti_source_line, cubin, CUpti_GetSassToSourceCorrelationParams, cubin);
SAME(rgm_cupti_source_line, function, CUpti_GetSassToSourceCorrelationParams, functionName);
SAME(rgm_cupti_source_line, cubin_bytes, CUpti_GetSassToSourceCorrelationParams, cubinSize);
SAME(rgm_cupti_source_line, line, CUpti_GetSassToSourceCorrelationParams, lineNumber);
SAME(rgm_cupti_source_line, offset, CUpti_GetSassToSourceCorrelationParams, pcOffset);
SAME(rgm_cupti_source_line, file, CUpti_GetSassToSourceCorrelationParams, fileName);
SAME(rgm_cupti_source_line, folder, CUpti_GetSassToSourceCorrelationParams, dirName);
_Static_assert(__builtin_types_compatible_p(rgm_cupti_number_cubin, CUpti_ComputeCrcCallbackFunc), "numbers");

_Static_assert((int)RGM_CUPTI_CONTEXT_CREATED == CUPTI_CBID_RESOURCE_CONTEXT_CREATED, "made");
_Static_assert((int)RGM_CUPTI_CONTEXT_ENDS == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, "ends");

// Of several subscribers: headers of 13.3 and later have it.
#if CUPTI_API_VERSION >= 130300
SAME(rgm_cupti_subscriber_parameters, size, CUpti_SubscriberParams, structSize);
SAME(rgm_cupti_subscriber_parameters, name, CUpti_SubscriberParams, subscriberName);
SAME(rgm_cupti_subscriber_parameters, other, CUpti_SubscriberParams, oldSubscriberName);
SAME(rgm_cupti_subscriber_parameters, other_size, CUpti_SubscriberParams, oldSubscriberSize);
SAME(rgm_cupti_subscriber_parameters, allow_several, CUpti_SubscriberParams, allowMultipleSubscribers);
_Static_assert(sizeof(rgm_cupti_subscriber_parameters) == CUpti_SubscriberParams_STRUCT_SIZE, "its size");
_Static_assert((int)RGM_CUPTI_SUBSCRIBER_NAME == CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN, "a name");
_Static_assert((int)RGM_CUPTI_ATTRIBUTE_SEVERAL == CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE, "12");
_Static_assert((int)RGM_CUPTI_ATTRIBUTE_QUEUE_TIMES == CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS,
               "15");
_Static_assert((int)RGM_CUPTI_ATTRIBUTE_WHOLE_GRAPHS ==
                   CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE,
               "20");
_Static_assert((int)RGM_CUPTI_ATTRIBUTE_THREAD_IDS == CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE, "21");
_Static_assert((int)RGM_CUPTI_ATTRIBUTE_CLOCK == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK, "22");
// Each takes what ours does: a pointer to a struct that is not looked at stands for theirs.
__attribute__((unused)) static void second_versions(void) {
    CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *, CUpti_SubscriberParams *) =
        cuptiSubscribe_v2;
    CUptiResult (*use_buffers)(CUpti_SubscriberHandle,
                               void (*)(uint8_t **, size_t *, size_t *, CUpti_BufferCallbackRequestInfo *),
                               void (*)(uint8_t *, size_t, size_t, CUpti_BufferCallbackCompleteInfo *)) =
        cuptiActivityRegisterCallbacks_v2;
    CUptiResult (*kinds[])(CUpti_SubscriberHandle, CUpti_ActivityKind, CUpti_ActivityConfig *) = {
        cuptiActivityEnable_v2, cuptiActivityEnableAndDump_v2, cuptiActivityDisable_v2};
    CUptiResult (*attributes[])(CUpti_SubscriberHandle, CUpti_ActivityAttribute, size_t *,
                                void *) = {cuptiActivitySetAttribute_v2, cuptiActivityGetAttribute_v2};
    CUptiResult (*next)(CUpti_SubscriberHandle, uint8_t *, size_t, CUpti_Activity **) =
        cuptiActivityGetNextRecord_v2;
    CUptiResult (*dropped)(CUpti_SubscriberHandle, CUcontext, uint32_t, size_t *) =
        cuptiActivityGetNumDroppedRecords_v2;
    CUptiResult (*now)(CUpti_SubscriberHandle, uint64_t *) = cuptiGetTimestamp_v2;
    (void)subscribe, (void)use_buffers, (void)kinds, (void)attributes, (void)next, (void)dropped, (void)now;
}
#endif

SAME(rgm_cupti_pc_control, context, CUpti_PCSamplingEnableParams, ctx);
SAME(rgm_cupti_pc_configuration, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
SAME(rgm_cupti_pc_configuration, attributes, CUpti_PCSamplingConfigurationInfoParams,
     pPCSamplingConfigurationInfo);
SAME(rgm_cupti_pc_get_data, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME(rgm_cupti_pc_reason_count, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
SAME(rgm_cupti_pc_reasons, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
SAME(rgm_cupti_pc_reasons, indices, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
SAME(rgm_cupti_pc_reasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(rgm_cupti_pc_attribute, attribute, CUpti_PCSamplingConfigurationInfo, attributeType);
SAME(rgm_cupti_pc_attribute, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
SAME(rgm_cupti_pc_attribute, value, CUpti_PCSamplingConfigurationInfo, attributeData);
SAME(rgm_cupti_pc_attribute, value.number, CUpti_PCSamplingConfigurationInfo,
     attributeData.samplingPeriodData.samplingPeriod);
SAME(rgm_cupti_pc_attribute, value.choice, CUpti_PCSamplingConfigurationInfo,
     attributeData.collectionModeData.collectionMode);
SAME(rgm_cupti_pc_attribute, value.bytes, CUpti_PCSamplingConfigurationInfo,
     attributeData.hardwareBufferSizeData.hardwareBufferSize);
SAME(rgm_cupti_pc_attribute, value.data, CUpti_PCSamplingConfigurationInfo,
     attributeData.samplingDataBufferData.samplingDataBuffer);
SAME(rgm_cupti_pc_attribute, value.reasons.count, CUpti_PCSamplingConfigurationInfo,
     attributeData.stallReasonData.stallReasonCount);
SAME(rgm_cupti_pc_attribute, value.reasons.indices, CUpti_PCSamplingConfigurationInfo,
     attributeData.stallReasonData.pStallReasonIndex);
_Static_assert(sizeof(rgm_cupti_pc_attribute) == sizeof(CUpti_PCSamplingConfigurationInfo), "attribute");
_Static_assert(sizeof(rgm_cupti_stall) == sizeof(CUpti_PCSamplingStallReason), "stall");
SAME(rgm_cupti_stall, samples, CUpti_PCSamplingStallReason, samples);
_Static_assert(sizeof(rgm_cupti_pc) == sizeof(CUpti_PCSamplingPCData), "PC");
SAME(rgm_cupti_pc, cubin, CUpti_PCSamplingPCData, cubinCrc);
SAME(rgm_cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset);
SAME(rgm_cupti_pc, function, CUpti_PCSamplingPCData, functionIndex);
SAME(rgm_cupti_pc, name, CUpti_PCSamplingPCData, functionName);
SAME(rgm_cupti_pc, count, CUpti_PCSamplingPCData, stallReasonCount);
SAME(rgm_cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason);
SAME(rgm_cupti_pc, correlation, CUpti_PCSamplingPCData, correlationId);
_Static_assert(sizeof(rgm_cupti_pc_data) == sizeof(CUpti_PCSamplingData), "PC data");
SAME(rgm_cupti_pc_data, room, CUpti_PCSamplingData, collectNumPcs);
SAME(rgm_cupti_pc_data, total, CUpti_PCSamplingData, totalSamples);
SAME(rgm_cupti_pc_data, dropped, CUpti_PCSamplingData, droppedSamples);
SAME(rgm_cupti_pc_data, count, CUpti_PCSamplingData, totalNumPcs);
SAME(rgm_cupti_pc_data, remaining, CUpti_PCSamplingData, remainingNumPcs);
SAME(rgm_cupti_pc_data, range, CUpti_PCSamplingData, rangeId);
SAME(rgm_cupti_pc_data, pcs, CUpti_PCSamplingData, pPcData);
SAME(rgm_cupti_pc_data, no_record, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
SAME(rgm_cupti_pc_data, full, CUpti_PCSamplingData, hardwareBufferFull);
_Static_assert((int)RGM_CUPTI_STALL_NAME == CUPTI_STALL_REASON_STRING_SIZE, "names of reasons");
#define SAME_PC_ATTRIBUTE(ours, theirs)                                                                      \
    _Static_assert((int)RGM_CUPTI_PC_##ours == (int)CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##theirs, #ours)
SAME_PC_ATTRIBUTE(PERIOD, SAMPLING_PERIOD);
SAME_PC_ATTRIBUTE(STALL_REASONS, STALL_REASON);
SAME_PC_ATTRIBUTE(SCRATCH_BYTES, SCRATCH_BUFFER_SIZE);
SAME_PC_ATTRIBUTE(HARDWARE_BYTES, HARDWARE_BUFFER_SIZE);
SAME_PC_ATTRIBUTE(MODE, COLLECTION_MODE);
SAME_PC_ATTRIBUTE(START_STOP, ENABLE_START_STOP_CONTROL);
SAME_PC_ATTRIBUTE(FORMAT, OUTPUT_DATA_FORMAT);
SAME_PC_ATTRIBUTE(DATA, SAMPLING_DATA_BUFFER);
_Static_assert((int)RGM_CUPTI_PC_CONTINUOUS == (int)CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS, "mode");
_Static_assert((int)RGM_CUPTI_PC_SERIALIZED == (int)CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED,
               "mode");
_Static_assert((int)RGM_CUPTI_PC_PARSED == (int)CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED, "format");

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
SAME(rgm_cupti_memcpy_node, graph_node, CUpti_ActivityMemcpy3, graphNodeId);
SAME(rgm_cupti_memcpy_graph, graph, CUpti_ActivityMemcpy4, graphId);
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
SAME(rgm_cupti_pool_use, used, CUpti_ActivityMemoryPool2, utilizedSize);

#define EVENT(theirs)                                                                                        \
    SAME(rgm_cupti_event, correlation, theirs, correlationId);                                               \
    SAME(rgm_cupti_event, context, theirs, contextId);                                                       \
    SAME(rgm_cupti_event, stream, theirs, streamId);                                                         \
    SAME(rgm_cupti_event, event, theirs, eventId)
EVENT(CUpti_ActivityCudaEvent);

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
SAME(rgm_cupti_context_green, part_of, CUpti_ActivityContext3, parentContextId);
SAME(rgm_cupti_context_green, green, CUpti_ActivityContext3, isGreenContext);
SAME(rgm_cupti_context_green, multiprocessors, CUpti_ActivityContext3, numMultiprocessors);
_Static_assert(sizeof(rgm_cupti_context_green) <= sizeof(CUpti_ActivityContext3), "Context3");
SAME(rgm_cupti_context_record, device, CUpti_ActivityContext, deviceId);

// Records that later headers have.
#if CUPTI_API_VERSION >= 26 // 12.8
COPY(CUpti_ActivityMemcpy6);
SAME(rgm_cupti_memcpy_graph, graph, CUpti_ActivityMemcpy6, graphId);
SYNC(CUpti_ActivitySynchronization2);
EVENT(CUpti_ActivityCudaEvent2);
#endif
#if CUPTI_API_VERSION >= 130000
KERNEL(CUpti_ActivityKernel10);
SAME(rgm_cupti_kernel_cluster, cluster[0], CUpti_ActivityKernel10, clusterX);
SAME(rgm_cupti_kernel_cluster, cluster[2], CUpti_ActivityKernel10, clusterZ);
SAME(rgm_cupti_kernel_count, most_clusters, CUpti_ActivityKernel10, maxActiveClusters);
SAME(rgm_cupti_kernel_node, graph_node, CUpti_ActivityKernel10, graphNodeId);
SAME(rgm_cupti_kernel_graph, graph, CUpti_ActivityKernel10, graphId);
POOL(CUpti_ActivityMemoryPool3);
SAME(rgm_cupti_pool_use, used, CUpti_ActivityMemoryPool3, utilizedSize);
#endif

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
    CHECK_EQ_U64(offsetof(rgm_cupti_kernel_count, most_clusters), 204);
    CHECK_EQ_U64(offsetof(rgm_cupti_memcpy_graph, graph), 72);
    CHECK_EQ_U64(sizeof(rgm_cupti_external), 24);
}
