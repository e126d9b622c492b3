// SPDX-License-Identifier: Apache-2.0
// What CUPTI calls: at begin and end of the calls that launch work, when graphs are made, and for buffers.
// On the program's threads there is no CUDA, no allocation after a thread's first call, and no lock, but
// where a context is made or ends (tracing_contexts.c).
#include <sched.h>
#include <string.h>

#include "cuda/trace/tracing_state.h"

// --- inside and outside -----------------------------------------------------------------------------------

// The outermost call of this thread that is being followed. A runtime call makes driver calls of its own with
// the same correlation; only the outermost counts.
typedef struct {
    uint64_t epoch;
    uint64_t begin;
    uint32_t depth;
    uint32_t correlation;
    uint32_t stripe;        // + 1
    bool captured;          // it made a graph node, so there will be no record
    uint64_t instantiation; // of the graph that this thread makes executable, 0 for none
} calling;

static _Thread_local calling here __attribute__((tls_model("initial-exec")));

static rgm_trace_stripe *own_stripe(void) {
    static _Atomic(uint32_t) threads;
    if (!here.stripe) here.stripe = atomic_fetch_add(&threads, 1) % TRACE_STRIPES + 1;
    return &rgm_trace_now.stripes[here.stripe - 1];
}

static void go_in(void) { atomic_fetch_add(&own_stripe()->inside, 1); }

bool rgm_trace_hold(void) {
    go_in();
    if (atomic_load(&rgm_trace_now.active)) return true;
    rgm_trace_release();
    return false;
}

void rgm_trace_release(void) { atomic_fetch_sub(&own_stripe()->inside, 1); }

void rgm_trace_wait_outside(void) {
    for (size_t i = 0; i < TRACE_STRIPES; i++)
        while (atomic_load(&rgm_trace_now.stripes[i].inside) > 0) sched_yield();
}

uint64_t rgm_trace_calls_so_far(const rgm_trace *trace) {
    uint64_t calls = 0;
    for (size_t i = 0; i < TRACE_STRIPES; i++) calls += atomic_load(&trace->stripes[i].calls);
    return calls;
}

uint32_t rgm_trace_highest_call(const rgm_trace *trace) {
    uint32_t highest = 0;
    for (size_t i = 0; i < TRACE_STRIPES; i++) {
        uint32_t of_stripe = atomic_load(&trace->stripes[i].highest);
        if (of_stripe > highest) highest = of_stripe;
    }
    return highest;
}

// --- which calls ------------------------------------------------------------------------------------------

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

// By name, because the numbers of the calls are many and new versions of a call get new ones.
static rgm_trace_call call_of(const char *name, size_t length) {
    static const char *const syncs[] = {
        "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaStreamWaitEvent",
        "cuCtxSynchronize",      "cuStreamSynchronize",   "cuEventSynchronize",   "cuStreamWaitEvent",
    };
    static const char *const work[] = {"cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch",
                                       "cudaMemcpy", "cuMemcpy", "cudaMemset",      "cuMemset"};
    // What gives memory out or takes it back, and makes pools; not what asks about it.
    static const char *const memory[] = {
        "cudaMalloc",       "cudaFree",      "cudaHostAlloc", "cudaMemPoolCreate", "cudaMemPoolDestroy",
        "cudaMemPoolTrim",  "cuMemAlloc",    "cuMemFree",     "cuMemHostAlloc",    "cuMemPoolCreate",
        "cuMemPoolDestroy", "cuMemPoolTrim", "cuArrayCreate", "cuArray3DCreate",   "cuArrayDestroy",
    };
    static const char *const nodes[] = {"cudaGraphAdd", "cuGraphAdd"};
    while (*name == '_') name++, length--;
    if (strstr(name, "HostFunc")) return TRACE_CALL_NONE;
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        if (begins(name, work[i])) return TRACE_CALL_WORK;
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++)
        if (strlen(syncs[i]) == length && begins(name, syncs[i])) return TRACE_CALL_SYNC;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (begins(name, nodes[i])) return TRACE_CALL_NODE;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (begins(name, memory[i])) return TRACE_CALL_MEMORY;
    return TRACE_CALL_NONE;
}

// Every such call of the runtime makes one of the driver's.
static bool launches_kernel(const char *name) {
    while (*name == '_') name++;
    return begins(name, "cudaLaunchKernel") || begins(name, "cudaLaunchCooperativeKernel");
}

// Without what tells versions and per-thread streams apart: "_v7000", "_ptsz", "_ptds".
static size_t plain_length(const char *name) {
    size_t length = strlen(name);
    for (;;) {
        size_t at = length;
        while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
        if (at < length && at > 2 && name[at - 1] == 'v' && name[at - 2] == '_')
            length = at - 2;
        else if (length > 5 &&
                 (strncmp(name + length - 5, "_ptsz", 5) == 0 || strncmp(name + length - 5, "_ptds", 5) == 0))
            length -= 5;
        else
            return length;
    }
}

// The sink may be gone where the start has been given up.
static uint32_t intern_call(rgm_trace *trace, const char *name, size_t length) {
    pthread_mutex_lock(&trace->mutex);
    bool starting = trace->state == RGM_TRACING_STARTING;
    uint32_t id = starting ? trace->sink.intern(trace->sink.arg, name, length) : 0;
    pthread_mutex_unlock(&trace->mutex);
    return id;
}

// Numbers are dense but for a few gaps; the end is where a stretch has no names.
void rgm_trace_find_calls(rgm_trace *trace) {
    for (int domain = RGM_CUPTI_DRIVER_API; domain <= RGM_CUPTI_RUNTIME_API; domain++) {
        int missing = 0;
        for (uint32_t id = 1; id < TRACE_IDS && missing < 16; id++) {
            const char *name = NULL;
            trace->calls[domain - 1][id] = TRACE_CALL_NONE;
            trace->names[domain - 1][id] = 0;
            if (trace->cupti->callback_name(domain, id, &name) != RGM_CUPTI_SUCCESS || !name) {
                missing++;
                continue;
            }
            missing = 0;
            size_t length = plain_length(name);
            rgm_trace_call call = call_of(name, length);
            if (trace->options.driver_launches && domain == RGM_CUPTI_RUNTIME_API && launches_kernel(name))
                continue;
            if (call == TRACE_CALL_NONE || (call == TRACE_CALL_NODE && !trace->options.graph_nodes)) continue;
            if (call == TRACE_CALL_MEMORY && !trace->options.memory) continue;
            trace->calls[domain - 1][id] = (uint8_t)call;
            trace->names[domain - 1][id] = intern_call(trace, name, length) + 1;
        }
    }
}

rgm_cupti_result rgm_trace_enable_calls(rgm_trace *trace) {
    const rgm_cupti *cupti = trace->cupti;
    for (int domain = RGM_CUPTI_DRIVER_API; domain <= RGM_CUPTI_RUNTIME_API; domain++)
        for (uint32_t id = 1; id < TRACE_IDS; id++) {
            if (!trace->names[domain - 1][id]) continue;
            rgm_cupti_result result = cupti->enable_callback(1, trace->subscription.handle, domain, id);
            if (result != RGM_CUPTI_SUCCESS) return result;
        }
    // Those who sample contexts can do without.
    (void)cupti->enable_callback(1, trace->subscription.handle, RGM_CUPTI_RESOURCE,
                                 RGM_CUPTI_CONTEXT_CREATED);
    (void)cupti->enable_callback(1, trace->subscription.handle, RGM_CUPTI_RESOURCE, RGM_CUPTI_CONTEXT_ENDS);
    // That a node was made tells a launch that was captured from one that ran, also where nodes are not
    // followed.
    rgm_cupti_result created = cupti->enable_callback(1, trace->subscription.handle, RGM_CUPTI_RESOURCE,
                                                      RGM_CUPTI_GRAPH_NODE_CREATED);
    if (!trace->options.graph_nodes) return RGM_CUPTI_SUCCESS;
    if (created != RGM_CUPTI_SUCCESS) return created;
    static const uint32_t events[] = {RGM_CUPTI_GRAPH_NODE_CLONED, RGM_CUPTI_GRAPH_NODE_DESTROY,
                                      RGM_CUPTI_GRAPH_EXEC_CREATE, RGM_CUPTI_GRAPH_EXEC_CREATED,
                                      RGM_CUPTI_GRAPH_EXEC_DESTROY};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        rgm_cupti_result result =
            cupti->enable_callback(1, trace->subscription.handle, RGM_CUPTI_RESOURCE, events[i]);
        if (result != RGM_CUPTI_SUCCESS) return result;
    }
    return RGM_CUPTI_SUCCESS;
}

// --- calls ------------------------------------------------------------------------------------------------

static void enter(const rgm_cupti_call *call) {
    uint64_t epoch = atomic_load_explicit(&rgm_trace_now.epoch, memory_order_relaxed);
    if (here.epoch != epoch) {
        here.epoch = epoch;
        here.depth = 0; // of an earlier tracing, whose exits were not heard
    }
    if (here.depth++ > 0) return;
    here.correlation = call->correlation;
    here.captured = false;
    here.begin = rgm_clock_ticks();
}

// As if it were inside a call that is told already.
void rgm_trace_ignore_thread(void) {
    here.epoch = atomic_load(&rgm_trace_now.epoch);
    here.depth = 1;
}

static void count_work(rgm_trace_stripe *stripe, const rgm_cupti_call *call) {
    int result = 0;
    if (call->result) memcpy(&result, call->result, sizeof result);
    if (result != 0 || here.captured) return;
    atomic_fetch_add_explicit(&stripe->calls, 1, memory_order_relaxed);
    uint32_t highest = atomic_load_explicit(&stripe->highest, memory_order_relaxed);
    while (here.correlation > highest &&
           !atomic_compare_exchange_weak(&stripe->highest, &highest, here.correlation)) {
    }
}

// The only place where CUPTI may be taken out: at the end of a call, when this tool is its only client.
static void detach(void) {
    if (atomic_exchange(&rgm_trace_now.detach_wanted, false) &&
        rgm_trace_now.cupti->finalize() == RGM_CUPTI_SUCCESS)
        atomic_store(&rgm_trace_now.detached, true);
}

static void leave(int domain, uint32_t id, const rgm_cupti_call *call) {
    uint64_t end = rgm_clock_ticks();
    if (here.epoch != atomic_load_explicit(&rgm_trace_now.epoch, memory_order_relaxed) || here.depth == 0)
        return; // its begin was not heard
    if (--here.depth > 0) return;
    if (rgm_trace_hold()) {
        uint32_t name = rgm_trace_now.names[domain - 1][id];
        const rgm_device_sink *sink = &rgm_trace_now.sink;
        sink->call(sink->arg, here.begin, end, name ? name - 1 : 0, here.correlation);
        if (rgm_trace_now.calls[domain - 1][id] == TRACE_CALL_WORK) count_work(own_stripe(), call);
        rgm_trace_release();
    }
    if (RGM_UNLIKELY(atomic_load_explicit(&rgm_trace_now.detach_wanted, memory_order_relaxed))) detach();
}

// --- graphs -----------------------------------------------------------------------------------------------

static uint64_t node_id(rgm_cu_graph_node node) {
    uint64_t id = 0;
    if (!node || rgm_trace_now.cupti->graph_node_id(node, &id) != RGM_CUPTI_SUCCESS) return 0;
    return id;
}

static void graph_event(uint32_t id, const rgm_cupti_resource *resource) {
    const rgm_cupti_graph *graph = resource->descriptor;
    rgm_graph_nodes *nodes = &rgm_trace_now.nodes;
    uint64_t handed_out = atomic_load(&rgm_trace_now.buffers.handed_out);
    bool calling_now = here.epoch == atomic_load(&rgm_trace_now.epoch) && here.depth > 0;
    uint64_t exec = graph ? (uint64_t)(uintptr_t)graph->exec : 0, node;
    if (!graph) return;
    switch (id) {
    case RGM_CUPTI_GRAPH_NODE_CREATED:
        if (calling_now) here.captured = true;
        if (!rgm_trace_now.options.graph_nodes) return;
        node = node_id(graph->node);
        if (node && calling_now) rgm_graph_nodes_add(nodes, node, here.correlation);
        return;
    case RGM_CUPTI_GRAPH_NODE_CLONED:
        node = node_id(graph->node);
        if (node) rgm_graph_nodes_clone(nodes, node, node_id(graph->original_node), here.instantiation);
        return;
    case RGM_CUPTI_GRAPH_NODE_DESTROY:
        node = node_id(graph->node);
        if (node) rgm_graph_nodes_destroy(nodes, node, handed_out);
        return;
    case RGM_CUPTI_GRAPH_EXEC_CREATE: here.instantiation = rgm_graph_nodes_instantiation(nodes); return;
    case RGM_CUPTI_GRAPH_EXEC_CREATED:
        if (exec && here.instantiation) rgm_graph_nodes_instantiated(nodes, exec, here.instantiation);
        here.instantiation = 0;
        return;
    case RGM_CUPTI_GRAPH_EXEC_DESTROY: rgm_graph_nodes_destroy_exec(nodes, exec, handed_out); return;
    default: return;
    }
}

void rgm_trace_callback(void *user, int domain, uint32_t id, const void *data) {
    if (rgm_tracing_is_of_context(domain, id)) {
        rgm_tracing_hear_context(user, domain, id, data);
        return;
    }
    if (domain == RGM_CUPTI_RESOURCE) {
        // Not held: it does not touch the sink, and CUPTI may keep it waiting.
        if (atomic_load(&rgm_trace_now.active)) graph_event(id, data);
        return;
    }
    const rgm_cupti_call *call = data;
    if (domain < RGM_CUPTI_DRIVER_API || domain > RGM_CUPTI_RUNTIME_API || id >= TRACE_IDS) return;
    if (call->site == RGM_CUPTI_ENTER)
        enter(call);
    else
        leave(domain, id, call);
}

// --- buffers ----------------------------------------------------------------------------------------------

void rgm_trace_requested(uint8_t **buffer, size_t *size, size_t *most_records) {
    *buffer = NULL;
    *size = 0;
    *most_records = 0; // as many as fit
    go_in();
    if (atomic_load(&rgm_trace_now.open)) rgm_activity_buffers_request(&rgm_trace_now.buffers, buffer, size);
    rgm_trace_release();
}

void rgm_trace_completed(rgm_cu_context context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid) {
    (void)context;
    (void)stream;
    (void)size;
    go_in();
    if (atomic_load(&rgm_trace_now.open))
        rgm_activity_buffers_complete(&rgm_trace_now.buffers, buffer, valid);
    rgm_trace_release();
}
