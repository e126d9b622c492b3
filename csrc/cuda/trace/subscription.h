// SPDX-License-Identifier: Apache-2.0
// This tool's subscription to CUPTI: alone in the process, or as one of several tools.
//
// CUPTI's functions come in two versions that exclude each other in a process. The first serves one tool. The
// second (usable from 13.3 and driver r610 on) gives each tool kinds, buffers and attributes of its own, if
// the first tool that subscribes allows it and all use this version. So a tool of the first version
// (torch.profiler's tracing is one) gets nothing while this one is one of several. What is asked for is
// therefore how far to go:
//   ALONE  the first version alone
//   JOIN   the first version; where another tool has CUPTI, the second beside it, if that tool allows others
//   ALLOW  the second version, and the first where it cannot be had
// All of it follows NVIDIA's headers and documentation of 13.3 and 13.4; no hardware has confirmed any.
//
// Threads: open and close by one; the others while it is open.
#ifndef RGM_CUDA_SUBSCRIPTION_H
#define RGM_CUDA_SUBSCRIPTION_H

#include "cuda/trace/cupti.h"

enum { RGM_SUBSCRIBE_ALONE, RGM_SUBSCRIBE_JOIN, RGM_SUBSCRIBE_ALLOW };

typedef struct {
    const rgm_cupti *cupti;
    rgm_cupti_subscriber handle;
    bool open;
    bool several;                          // of the second version
    bool first;                            // of several: no other tool had subscribed
    char other[RGM_CUPTI_SUBSCRIBER_NAME]; // what CUPTI calls the tool that was there before, "" where it
                                           // does not say
} rgm_subscription;

rgm_cupti_result rgm_subscription_open(rgm_subscription *s, const rgm_cupti *cupti, int64_t how_far,
                                       rgm_cupti_callback callback);
// Whether that says that another tool has CUPTI.
bool rgm_subscription_is_taken(rgm_cupti_result result);
void rgm_subscription_close(rgm_subscription *s);
// The buffers of tracing (tracing_calls.c).
rgm_cupti_result rgm_subscription_use_buffers(const rgm_subscription *s);
rgm_cupti_result rgm_subscription_enable(const rgm_subscription *s, int kind);
// With records of what was made before, where CUPTI can tell them.
rgm_cupti_result rgm_subscription_enable_and_dump(const rgm_subscription *s, int kind);
rgm_cupti_result rgm_subscription_disable(const rgm_subscription *s, int kind);
rgm_cupti_result rgm_subscription_set(const rgm_subscription *s, int attribute, size_t size, void *value);
rgm_cupti_result rgm_subscription_set_thread_ids(const rgm_subscription *s, int type);
rgm_cupti_result rgm_subscription_set_queue_times(const rgm_subscription *s, uint8_t on);
// Whether records can carry the times of `clock` from now on, and do.
bool rgm_subscription_set_clock(const rgm_subscription *s, rgm_cupti_clock clock);
// Whether graphs are recorded node by node, which is one choice of all tools. Before the first kind is
// enabled.
bool rgm_subscription_choose_graph_nodes(const rgm_subscription *s, bool wanted);
rgm_cupti_result rgm_subscription_time(const rgm_subscription *s, uint64_t *now);
rgm_cupti_result rgm_subscription_next(const rgm_subscription *s, uint8_t *buffer, size_t valid,
                                       void **record);
rgm_cupti_result rgm_subscription_dropped(const rgm_subscription *s, size_t *count);

#endif
