// SPDX-License-Identifier: Apache-2.0
// Declarations of CUPTI's callback interface, so that it builds without CUDA's headers.
// tests/core/cuda/test_cupti_headers.c compares them with the real ones where those are installed.
#ifndef RGM_CUDA_CUPTI_TYPES_H
#define RGM_CUDA_CUPTI_TYPES_H

#include "cuda/library/cupti_results.h"
#include "cuda/library/driver_types.h"

typedef struct rgm_cupti_subscriber_s *rgm_cupti_subscriber;
typedef struct rgm_cu_graph_s *rgm_cu_graph;
typedef struct rgm_cu_graph_node_s *rgm_cu_graph_node;
typedef struct rgm_cu_graph_exec_s *rgm_cu_graph_exec;

typedef void (*rgm_cupti_callback)(void *user, int domain, uint32_t id, const void *data);
typedef void (*rgm_cupti_requested)(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void (*rgm_cupti_completed)(rgm_cu_context context, uint32_t stream, uint8_t *buffer, size_t size,
                                    size_t valid);
typedef uint64_t (*rgm_cupti_clock)(void);

// Of one of several subscribers: what the last parameter points to is not looked at.
typedef void (*rgm_cupti_requested_of)(uint8_t **buffer, size_t *size, size_t *most_records,
                                       const void *info);
typedef void (*rgm_cupti_completed_of)(uint8_t *buffer, size_t size, size_t valid, const void *info);

typedef struct {
    size_t size;
    const char *name; // of the tool
    char *other;      // gets the name of the tool that was there before
    size_t other_size;
    uint8_t allow_several, padding[7];
} rgm_cupti_subscriber_parameters;

// Domains of callbacks.
enum { RGM_CUPTI_DRIVER_API = 1, RGM_CUPTI_RUNTIME_API = 2, RGM_CUPTI_RESOURCE = 3 };
enum { RGM_CUPTI_ENTER = 0, RGM_CUPTI_EXIT = 1 };
// Ids of the resource domain.
enum {
    RGM_CUPTI_CONTEXT_CREATED = 1,
    RGM_CUPTI_CONTEXT_ENDS = 2, // is about to be destroyed
    RGM_CUPTI_GRAPH_NODE_CREATED = 13,
    RGM_CUPTI_GRAPH_NODE_DESTROY = 14,
    RGM_CUPTI_GRAPH_EXEC_CREATE = 17, // is about to be
    RGM_CUPTI_GRAPH_EXEC_CREATED = 18,
    RGM_CUPTI_GRAPH_EXEC_DESTROY = 19,
    RGM_CUPTI_GRAPH_NODE_CLONED = 20,
};
// Attributes of the activity interface.
enum {
    RGM_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE = 0,
    RGM_CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT = 2,
    RGM_CUPTI_ATTRIBUTE_ZEROED_BUFFERS = 5,
    RGM_CUPTI_ATTRIBUTE_PER_THREAD_BUFFERS = 9,
    // From 13.3 on, of one of several subscribers.
    RGM_CUPTI_ATTRIBUTE_SEVERAL = 12, // whether there may be several: read alone, of all
    RGM_CUPTI_ATTRIBUTE_QUEUE_TIMES = 15,
    RGM_CUPTI_ATTRIBUTE_WHOLE_GRAPHS = 20, // of all
    RGM_CUPTI_ATTRIBUTE_THREAD_IDS = 21,
    RGM_CUPTI_ATTRIBUTE_CLOCK = 22,
};
// What may be said of several subscribers; NOT_SET: nobody has subscribed who could say it.
enum { RGM_CUPTI_SEVERAL_REFUSED = 0, RGM_CUPTI_SEVERAL_ALLOWED = 1, RGM_CUPTI_SEVERAL_NOT_SET = 2 };
enum { RGM_CUPTI_SUBSCRIBER_NAME = 64 }; // bytes of a name with its end
enum { RGM_CUPTI_FLUSH = 0, RGM_CUPTI_FLUSH_FORCED = 1, RGM_CUPTI_THREAD_IDS_OF_SYSTEM = 1 };

// What a callback of the two call domains is given.
typedef struct {
    int site; // RGM_CUPTI_ENTER, RGM_CUPTI_EXIT
    const char *function;
    const void *parameters;
    void *result; // at the exit: of a 4-byte result
    const char *symbol;
    rgm_cu_context context;
    uint32_t context_number;
    uint64_t *correlation_data;
    uint32_t correlation;
} rgm_cupti_call;

// What a callback of the resource domain is given, and what its descriptor is for graphs.
typedef struct {
    rgm_cu_context context;
    void *stream;
    void *descriptor;
} rgm_cupti_resource;

typedef struct {
    rgm_cu_graph graph, original_graph;
    rgm_cu_graph_node node, original_node;
    int node_type;
    rgm_cu_graph_node dependency;
    rgm_cu_graph_exec exec;
} rgm_cupti_graph;

#endif
