// SPDX-License-Identifier: Apache-2.0
// Tracing of device work with CUPTI's activity records: kernels, copies, sets, synchronisation, overhead,
// graphs and NVTX ranges, joined with the calls that launched them.
//
// One tracing at a time, of one sink. CUPTI serves one client in a process, so another tool (torch.profiler,
// Nsight) is detected when tracing starts, before anything of it could be changed, and while it runs; then
// there are no kernels, and a reason. Two threads serve it: one asks CUPTI to deliver and ends the tracing,
// one reads what was delivered. stop waits for them no longer than it is told: a CUPTI that hangs keeps its
// thread and its buffers, and the program goes on.
//
// After a stop CUPTI stays in the process, unsubscribed, unless detaching was asked for; the state tells.
// Fork: the child has no tracing, and calls neither CUDA nor CUPTI.
#ifndef RGM_CUDA_TRACING_H
#define RGM_CUDA_TRACING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "cuda/sink.h"
#include "cuda/trace/activity_parse.h"

// X(type, name, default, unit, doc)
#define RGM_TRACING_OPTIONS(X)                                                                               \
    X(int64_t, graph_nodes, 2, "",                                                                           \
      "1: a record for each node of a CUDA graph, booked on the scopes of the capture; 0: one for each "     \
      "launch, which must not be of a graph that was instantiated before tracing (CUPTI 13.0 ends the "      \
      "program); 2: one for each launch where no graph can be older than tracing, else for each node")       \
    X(int64_t, sync_events, 0, "", "1: records of event recordings, so that waits name what they wait for")  \
    X(int64_t, memory, 0, "",                                                                                \
      "1: records of memory that CUDA gives out and takes back, and of its pools, and the calls that asked") \
    X(int64_t, queue_times, 0, "",                                                                           \
      "1: of each kernel when its launch was queued and when it was submitted, as CUPTI says; its header "   \
      "wants that asked before the program's first use of CUDA")                                             \
    X(int64_t, driver_launches, 0, "",                                                                       \
      "1: of kernel launches only the driver's call is followed, which saves two of four callbacks; the "    \
      "runtime's name of the call is lost")                                                                  \
    X(int64_t, several, 1, "",                                                                               \
      "Other tools of the process that trace with CUPTI 13.3 and later: 0: not beside them; 1: beside one "  \
      "that is there already and allows it; 2: allow it to those that come later, which shuts out tools of " \
      "CUPTI's older functions, such as torch.profiler")                                                     \
    X(int64_t, detach, 0, "", "1: take CUPTI out of the process at the end")                                 \
    X(int64_t, synchronize, 0, "", "1: wait for the device before the end, within the deadline")             \
    X(int64_t, buffer_bytes, 2097152, "bytes", "Size of a buffer that CUPTI fills")                          \
    X(int64_t, buffers, 16, "", "Most buffers of that size at a time")                                       \
    X(int64_t, flush_interval_ns, 500000000, "ns", "How often CUPTI is asked to deliver")

typedef struct {
#define RGM_TRACING_FIELD(type, name, initial, unit, doc) type name;
    RGM_TRACING_OPTIONS(RGM_TRACING_FIELD)
#undef RGM_TRACING_FIELD
} rgm_tracing_options;

#define RGM_TRACING_DEFAULT(type, name, initial, unit, doc) .name = (initial),
#define RGM_TRACING_DEFAULTS                                                                                 \
    (rgm_tracing_options) { RGM_TRACING_OPTIONS(RGM_TRACING_DEFAULT) }

// X(NAME, token, text)
#define RGM_TRACING_STATES(X)                                                                                \
    X(OFF, "off", "kernels have not been traced in this process")                                            \
    X(STARTING, "starting", "CUPTI is being asked")                                                          \
    X(RUNNING, "running", "kernels are being traced")                                                        \
    X(ENDING, "ending", "the last records are being collected")                                              \
    X(ATTACHED, "left_attached", "tracing has ended; CUPTI stays in the process, unsubscribed")              \
    X(DETACHED, "detached", "tracing has ended and CUPTI has been taken out of the process")                 \
    X(STUCK, "stuck", "CUPTI did not come back before the deadline; it keeps its buffers")                   \
    X(ABANDONED, "abandoned", "the driver had shut down before tracing could end")                           \
    X(LOST, "lost_by_fork", "this process was forked from one that traced kernels")

#define RGM_TRACING_STATE_ENUM(name, token, text) RGM_TRACING_##name,
typedef enum { RGM_TRACING_STATES(RGM_TRACING_STATE_ENUM) RGM_TRACING_STATE_COUNT } rgm_tracing_state;

typedef struct {
    rgm_tracing_state state;
    uint32_t version; // of CUPTI's interface, 0 before the first start
    char path[512];
    const char *origin;
    bool own_clock; // records carry CLOCK_MONOTONIC; else they are converted
    bool graph_nodes, memory;
    bool several;                 // beside other tools of the process
    bool queue_times_asked;       // and not refused
    char queue_times_reason[160]; // why they are not recorded though asked for, "" else
    char conflict[256];           // what was noticed of another tool while tracing ran, "" for nothing
    uint64_t calls, records, invalid, dropped, unknown, untimed;
    uint64_t queue_times;           // kernels that carried them
    uint64_t green_contexts;        // parts of a device that the program made, as CUPTI tells from 12.6 on
    uint32_t green_multiprocessors; // of the smallest of them, 0 for none
    rgm_activity_kind_counts kinds[RGM_ACTIVITY_KINDS]; // by CUPTI's number of the kind
    uint64_t buffers, buffers_out, declined, foreign;
    int64_t service_cpu_ns;
} rgm_tracing_stats;

// RGM_UNAVAILABLE with the reason when kernels cannot be traced; nothing is left behind then. A conflict with
// another tool is noted at the sink (TRACING_CONFLICT).
rgm_status rgm_tracing_start(rgm_device_sink sink, const rgm_tracing_options *options,
                             rgm_error *err) RGM_NODISCARD;
// The same, unless this has become true before CUPTI is asked: for who may give a start up from another
// thread, by setting it and then stopping. unused_ns: when the driver was last seen not to be in use, 0 where
// nobody has looked.
rgm_status rgm_tracing_start_unless(const _Atomic(bool) *given_up, int64_t unused_ns, rgm_device_sink sink,
                                    const rgm_tracing_options *options, rgm_error *err) RGM_NODISCARD;
// Collects what the device has finished, for as long as the wait allows. Nothing for another sink's argument.
void rgm_tracing_flush(const void *owner, int64_t wait_ns);
// Ends the tracing of this sink's argument, or gives its start up; the sink is not used any more on return.
// May be called again.
void rgm_tracing_stop(const void *owner, int64_t wait_ns);
// Who is told of each context that is made or is about to end while tracing runs, on the program's thread,
// inside its call of the driver, by several threads at once. One at a time: false where there is another.
typedef void (*rgm_context_listener)(void *arg, rgm_cu_context context, bool made);
bool rgm_tracing_on_context(rgm_context_listener listener, void *arg) RGM_NODISCARD;
// Whether the subscription of tracing tells of contexts now; else a subscription of who listens has to.
bool rgm_tracing_tells_of_contexts(void);
// On return the listener with this argument is not being told any more: not from within a call of it.
void rgm_tracing_off_context(const void *arg);
// The callback of a subscription beside tracing that tells the same listener.
void rgm_tracing_hear_context(void *user, int domain, uint32_t id, const void *data);
bool rgm_tracing_is_of_context(int domain, uint32_t id);
bool rgm_tracing_owned_by(const void *owner);
// Whether another tool has been seen to take the records of the running tracing.
bool rgm_tracing_is_taken_over(void);
void rgm_tracing_get_stats(rgm_tracing_stats *stats);
const char *rgm_tracing_state_token(rgm_tracing_state state);
const char *rgm_tracing_state_text(rgm_tracing_state state);

#endif
