// SPDX-License-Identifier: Apache-2.0
// CUPTI's functions for tracing, as one table that is filled once.
//
// No function of CUPTI is called in a process without a working driver: some releases crash on the first
// call there. The copy must be of the major version of the CUDA runtime that the program has loaded.
//
// Threads: get from any thread. Fork: a child of a process that used CUDA must not use the table any more.
#ifndef RGM_CUDA_CUPTI_H
#define RGM_CUDA_CUPTI_H

#include "cuda/library/cupti_library.h"
#include "cuda/library/driver.h"
#include "cuda/trace/cupti_types.h"
#include "cuda/trace/pc_sampling_types.h"

// Capabilities: X(NAME, what it is for).
#define RGM_CUPTI_CAPABILITIES(X)                                                                            \
    X(BASE, "tracing")                                                                                       \
    X(CLOCK, "a clock of our own in the records")                                                            \
    X(THREAD_IDS, "native thread ids in the records")                                                        \
    X(ATTRIBUTES, "bounding the buffers on the device")                                                      \
    X(DUMP, "records of contexts made before")                                                               \
    X(QUEUE_TIMES, "queued and submitted times of kernels")                                                  \
    X(GRAPHS, "nodes of CUDA graphs")                                                                        \
    X(PC_SAMPLING, "samples of instructions and why they stall")                                             \
    X(SOURCE_LINES, "lines of source of instructions")                                                       \
    X(SUBSCRIBERS, "tracing beside other tools")                                                             \
    X(FINALIZE, "detaching")

// X(CAPABILITY, member, symbol, parameters); all return rgm_cupti_result.
#define RGM_CUPTI_SYMBOLS(X)                                                                                 \
    X(BASE, get_version, "cuptiGetVersion", (uint32_t *version))                                             \
    X(BASE, result_string, "cuptiGetResultString", (rgm_cupti_result result, const char **text))             \
    X(BASE, get_timestamp, "cuptiGetTimestamp", (uint64_t *timestamp))                                       \
    X(BASE, subscribe, "cuptiSubscribe",                                                                     \
      (rgm_cupti_subscriber * subscriber, rgm_cupti_callback callback, void *user))                          \
    X(BASE, unsubscribe, "cuptiUnsubscribe", (rgm_cupti_subscriber subscriber))                              \
    X(BASE, enable_callback, "cuptiEnableCallback",                                                          \
      (uint32_t on, rgm_cupti_subscriber subscriber, int domain, uint32_t id))                               \
    X(BASE, callback_name, "cuptiGetCallbackName", (int domain, uint32_t id, const char **name))             \
    X(BASE, register_callbacks, "cuptiActivityRegisterCallbacks",                                            \
      (rgm_cupti_requested requested, rgm_cupti_completed completed))                                        \
    X(BASE, enable, "cuptiActivityEnable", (int kind))                                                       \
    X(BASE, disable, "cuptiActivityDisable", (int kind))                                                     \
    X(BASE, flush_all, "cuptiActivityFlushAll", (uint32_t flag))                                             \
    X(BASE, next_record, "cuptiActivityGetNextRecord", (uint8_t *buffer, size_t valid, void **record))       \
    X(BASE, dropped_records, "cuptiActivityGetNumDroppedRecords",                                            \
      (rgm_cu_context context, uint32_t stream, size_t *dropped))                                            \
    X(CLOCK, register_clock, "cuptiActivityRegisterTimestampCallback", (rgm_cupti_clock clock))              \
    X(THREAD_IDS, set_thread_ids, "cuptiSetThreadIdType", (int type))                                        \
    X(ATTRIBUTES, set_attribute, "cuptiActivitySetAttribute", (int attribute, size_t *size, void *value))    \
    X(DUMP, enable_and_dump, "cuptiActivityEnableAndDump", (int kind))                                       \
    X(QUEUE_TIMES, enable_queue_times, "cuptiActivityEnableLatencyTimestamps", (uint8_t on))                 \
    X(GRAPHS, graph_node_id, "cuptiGetGraphNodeId", (rgm_cu_graph_node node, uint64_t *id))                  \
    X(PC_SAMPLING, pc_enable, "cuptiPCSamplingEnable", (rgm_cupti_pc_control *))                             \
    X(PC_SAMPLING, pc_disable, "cuptiPCSamplingDisable", (rgm_cupti_pc_control *))                           \
    X(PC_SAMPLING, pc_start, "cuptiPCSamplingStart", (rgm_cupti_pc_control *))                               \
    X(PC_SAMPLING, pc_stop, "cuptiPCSamplingStop", (rgm_cupti_pc_control *))                                 \
    X(PC_SAMPLING, pc_configure, "cuptiPCSamplingSetConfigurationAttribute", (rgm_cupti_pc_configuration *)) \
    X(PC_SAMPLING, pc_configured, "cuptiPCSamplingGetConfigurationAttribute",                                \
      (rgm_cupti_pc_configuration *))                                                                        \
    X(PC_SAMPLING, pc_get_data, "cuptiPCSamplingGetData", (rgm_cupti_pc_get_data *))                         \
    X(PC_SAMPLING, pc_reason_count, "cuptiPCSamplingGetNumStallReasons", (rgm_cupti_pc_reason_count *))      \
    X(PC_SAMPLING, pc_reasons, "cuptiPCSamplingGetStallReasons", (rgm_cupti_pc_reasons *))                   \
    X(SOURCE_LINES, register_cubins, "cuptiRegisterComputeCrcCallback", (rgm_cupti_number_cubin number))     \
    X(SOURCE_LINES, source_line, "cuptiGetSassToSourceCorrelation", (rgm_cupti_source_line *))               \
    X(SUBSCRIBERS, subscribe_of, "cuptiSubscribe_v2",                                                        \
      (rgm_cupti_subscriber * subscriber, rgm_cupti_callback callback, void *user,                           \
       rgm_cupti_subscriber_parameters *))                                                                   \
    X(SUBSCRIBERS, register_callbacks_of, "cuptiActivityRegisterCallbacks_v2",                               \
      (rgm_cupti_subscriber subscriber, rgm_cupti_requested_of requested, rgm_cupti_completed_of completed)) \
    X(SUBSCRIBERS, enable_of, "cuptiActivityEnable_v2",                                                      \
      (rgm_cupti_subscriber subscriber, int kind, void *configuration))                                      \
    X(SUBSCRIBERS, enable_and_dump_of, "cuptiActivityEnableAndDump_v2",                                      \
      (rgm_cupti_subscriber subscriber, int kind, void *configuration))                                      \
    X(SUBSCRIBERS, disable_of, "cuptiActivityDisable_v2",                                                    \
      (rgm_cupti_subscriber subscriber, int kind, void *configuration))                                      \
    X(SUBSCRIBERS, set_attribute_of, "cuptiActivitySetAttribute_v2",                                         \
      (rgm_cupti_subscriber subscriber, int attribute, size_t *size, void *value))                           \
    X(SUBSCRIBERS, get_attribute_of, "cuptiActivityGetAttribute_v2",                                         \
      (rgm_cupti_subscriber subscriber, int attribute, size_t *size, void *value))                           \
    X(SUBSCRIBERS, next_record_of, "cuptiActivityGetNextRecord_v2",                                          \
      (rgm_cupti_subscriber subscriber, uint8_t *buffer, size_t valid, void **record))                       \
    X(SUBSCRIBERS, dropped_records_of, "cuptiActivityGetNumDroppedRecords_v2",                               \
      (rgm_cupti_subscriber subscriber, rgm_cu_context context, uint32_t stream, size_t *dropped))           \
    X(SUBSCRIBERS, get_timestamp_of, "cuptiGetTimestamp_v2",                                                 \
      (rgm_cupti_subscriber subscriber, uint64_t *timestamp))                                                \
    X(FINALIZE, finalize, "cuptiFinalize", (void))

#define RGM_CUPTI_CAPABILITY_ENUM(name, text) RGM_CUPTI_##name,
enum { RGM_CUPTI_CAPABILITIES(RGM_CUPTI_CAPABILITY_ENUM) RGM_CUPTI_CAPABILITY_COUNT };

#define RGM_CUPTI_MEMBER(capability, member, symbol, parameters) rgm_cupti_result(*member) parameters;
typedef struct {
    rgm_library library;
    uint32_t version; // of the interface: 18 is CUDA 11.8, from 130000 on it is xxyyzz
    RGM_CUPTI_SYMBOLS(RGM_CUPTI_MEMBER)
} rgm_cupti;

// The table; `driver` has been started. RGM_UNAVAILABLE with the reason when there is none.
rgm_status rgm_cupti_get(const rgm_cupti **cupti, const rgm_driver *driver, rgm_error *err) RGM_NODISCARD;
bool rgm_cupti_can(const rgm_cupti *cupti, uint32_t capability);
// Major version of CUDA by the version of the interface.
int rgm_cupti_major(uint32_t version);
// Major version of the CUDA runtime that the process has loaded, 0 when there is none to see.
int rgm_cupti_runtime_major(void);
// Name of a result for messages, never NULL.
const char *rgm_cupti_result_text(const rgm_cupti *cupti, rgm_cupti_result result);
// Tests only: forgets the table, so that another library can be loaded.
void rgm_cupti_forget(void);

#endif
