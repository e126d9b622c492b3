// SPDX-License-Identifier: Apache-2.0
// Double of CUPTI's callback and activity interfaces. The numbers:
//   version             of the interface: sizes of records, what is allowed; 130001 is that of 13.0, whose
//                       own clock cannot be trusted, so that times are converted
//   taken               1: another tool has the subscription
//   refuse_NAME         what cuptiNAME answers instead of working
//   clock_ahead_ns      of the default clock from CLOCK_REALTIME
//   zero_every          every n-th record of work has no end
//   drop                records to count as dropped
//   eager               1: full buffers are given back when their work has ended; 0: only by a flush
//   own_thread          1: buffers are given back on a thread of CUPTI's
//   backwards           1: buffers come back in reverse order
//   hang                1: the next cuptiActivityFlushAll does not return until it is 0
//   forbidden           calls from where CUPTI does not allow them; the first is also a message and an abort
//   calls_child         calls in a child of a fork
//   node_ns             length of a node of a graph; nodes start 100 ns after one another
//   flush_records       1: CUPTI writes a record of its own about each flush, as the real one does
//   cluster                 blocks of the clusters that kernels are launched in, 0 for none
//   flush_calls             1: a flush makes a call in the driver that a capture of another thread forbids
//   own_ids                 1: a driver's call inside a runtime's call has an id of its own, which no record
//                           has
//   untimed_syncs           1: the times of waits could not be collected, and are 0
//   copy_node               which node of each launched graph is a copy, -1 for none
//   submit_ns               from the queueing of a launch to its submission, where those times are asked for
//   used_before             1: the program used CUDA before it asked for those times: accepted, and all are 0
// and counts: flushes, delivered (records), declined (buffers that were refused), subscribed, kinds
// (enabled), callbacks (enabled), finalized, clock (registered), records (made), dropped (for want of a
// buffer).
#include "cupti.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"
#include "cuda/trace/cupti_types.h"
#include "cupti_layout.h"
#include "fake.h"

#define NUMBERS(X)                                                                                           \
    X(version, 130001)                                                                                       \
    X(taken, 0)                                                                                              \
    X(refuse_Subscribe, 0)                                                                                   \
    X(refuse_ActivityEnable, 0)                                                                              \
    X(refuse_ActivityRegisterCallbacks, 0)                                                                   \
    X(refuse_EnableCallback, 0)                                                                              \
    X(clock_ahead_ns, 0)                                                                                     \
    X(zero_every, 0)                                                                                         \
    X(drop, 0)                                                                                               \
    X(eager, 1)                                                                                              \
    X(own_thread, 1)                                                                                         \
    X(backwards, 0)                                                                                          \
    X(hang, 0)                                                                                               \
    X(forbidden, 0)                                                                                          \
    X(calls_child, 0)                                                                                        \
    X(node_ns, 100)                                                                                          \
    X(copy_node, -1)                                                                                         \
    X(flush_records, 1)                                                                                      \
    X(cluster, 0)                                                                                            \
    X(flush_calls, 1)                                                                                        \
    X(own_ids, 0)                                                                                            \
    X(submit_ns, 2000)                                                                                       \
    X(used_before, 0)                                                                                        \
    X(refuse_ActivityEnableLatencyTimestamps, 0)                                                             \
    X(untimed_syncs, 0)                                                                                      \
    X(flushes, 0)                                                                                            \
    X(delivered, 0)                                                                                          \
    X(declined, 0)                                                                                           \
    X(subscribed, 0)                                                                                         \
    X(kinds, 0)                                                                                              \
    X(callbacks, 0)                                                                                          \
    X(finalized, 0)                                                                                          \
    X(clock, 0)                                                                                              \
    X(records, 0)                                                                                            \
    X(dropped, 0)

FAKE_NUMBERS(cupti, "FAKE_CUPTI", NUMBERS)

enum { KINDS = 64, DOMAINS = 4, IDS = 1024, BUFFERS = 512 };

typedef struct {
    uint8_t *data;
    size_t size, used;
    int64_t ready_ns; // CLOCK_MONOTONIC: when all its work has ended
    long long records;
} buffer;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_cupti_callback callback;
static void *_Atomic callback_user;
static rgm_cupti_requested requested;
static rgm_cupti_completed completed;
static rgm_cupti_clock _Atomic user_clock;
static bool enabled_kinds[KINDS], enabled_ids[DOMAINS][IDS];
static buffer current, full[BUFFERS];
static size_t full_count;
static uint32_t next_correlation = 1u << 20; // apart from the driver's
static uint64_t next_node = 1000;
static pid_t owner;
// What CUPTI is doing on this thread, from which most of its functions must not be called.
static _Thread_local int inside;
enum { INSIDE_BUFFERS = 1, INSIDE_RESOURCE = 2 };

static int64_t monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t own_clock(void) {
    struct timespec now;
    rgm_cupti_clock clock = user_clock;
    if (clock) return clock();
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)((int64_t)now.tv_sec * 1000000000 + now.tv_nsec + FAKE_VALUE(clock_ahead_ns));
}

// A time on CLOCK_MONOTONIC as records have it: by the tightest of some pairs, because a thread may be
// interrupted between the two clocks, and the device's clock never is.
static uint64_t stamp(int64_t ns) {
    int64_t best = INT64_MAX;
    uint64_t offset = 0;
    for (int i = 0; i < 3; i++) {
        int64_t before = monotonic();
        uint64_t theirs = own_clock();
        int64_t after = monotonic();
        if (after - before >= best) continue;
        best = after - before;
        offset = theirs - (uint64_t)(before + (after - before) / 2);
    }
    return offset + (uint64_t)ns;
}

static void forbid(const char *function) {
    if (owner && owner != getpid()) FAKE_VALUE(calls_child)++;
    if (!inside) return;
    if (FAKE_VALUE(forbidden)++ > 0) return;
    (void)fprintf(stderr, "fake: %s was called from a callback of %s, where CUPTI deadlocks\n", function,
                  inside == INSIDE_BUFFERS ? "buffers" : "resources");
    abort();
}

#include "cupti_activities.h"

#include "cupti_callbacks.h"

// --- CUPTI ------------------------------------------------------------------------------------------------

#define REFUSE(name)                                                                                         \
    forbid("cupti" #name);                                                                                   \
    if (FAKE_VALUE(refuse_##name)) return (int)FAKE_VALUE(refuse_##name)

FAKE_EXPORT int cuptiGetVersion(uint32_t *out) {
    *out = version();
    return 0;
}

FAKE_EXPORT int cuptiGetResultString(int result, const char **text) {
    *text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_OF_THE_DOUBLE";
    return 0;
}

FAKE_EXPORT int cuptiGetTimestamp(uint64_t *now) {
    *now = own_clock();
    return 0;
}

FAKE_EXPORT int cuptiSubscribe(rgm_cupti_subscriber *subscriber, rgm_cupti_callback to, void *user) {
    REFUSE(Subscribe);
    if (FAKE_VALUE(taken) || callback) return RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    pthread_mutex_lock(&mutex);
    callback = to;
    callback_user = user;
    owner = getpid();
    pthread_mutex_unlock(&mutex);
    FAKE_VALUE(subscribed)++;
    *subscriber = (rgm_cupti_subscriber)&mutex;
    hear(true);
    return 0;
}

FAKE_EXPORT int cuptiUnsubscribe(rgm_cupti_subscriber subscriber) {
    forbid("cuptiUnsubscribe");
    pthread_mutex_lock(&mutex);
    callback = NULL;
    memset(enabled_ids, 0, sizeof enabled_ids);
    pthread_mutex_unlock(&mutex);
    FAKE_VALUE(callbacks) = 0;
    FAKE_VALUE(subscribed)--;
    hear(false);
    return 0;
}

FAKE_EXPORT int cuptiEnableCallback(uint32_t on, rgm_cupti_subscriber subscriber, int domain, uint32_t id) {
    REFUSE(EnableCallback);
    if (domain < 1 || domain >= DOMAINS || id >= IDS) return RGM_CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&mutex);
    FAKE_VALUE(callbacks) += (long long)(on != 0) - enabled_ids[domain][id];
    enabled_ids[domain][id] = on != 0;
    pthread_mutex_unlock(&mutex);
    return 0;
}

FAKE_EXPORT int cuptiGetCallbackName(int domain, uint32_t id, const char **name) {
    if (id == 0 || id > LAST_ID) return RGM_CUPTI_INVALID_PARAMETER;
    *name = "cuOther";
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].domain == domain && calls[i].id == id) *name = calls[i].name;
    return 0;
}

FAKE_EXPORT int cuptiActivityRegisterCallbacks(rgm_cupti_requested ask, rgm_cupti_completed back) {
    REFUSE(ActivityRegisterCallbacks);
    pthread_mutex_lock(&mutex);
    requested = ask;
    completed = back;
    pthread_mutex_unlock(&mutex);
    return 0;
}

FAKE_EXPORT int cuptiActivityEnable(int kind) {
    REFUSE(ActivityEnable);
    if (kind < 0 || kind >= KINDS) return RGM_CUPTI_INVALID_KIND;
    pthread_mutex_lock(&mutex);
    FAKE_VALUE(kinds) += !enabled_kinds[kind];
    enabled_kinds[kind] = true;
    pthread_mutex_unlock(&mutex);
    return 0;
}

#ifndef FAKE_CUPTI_OLDER
FAKE_EXPORT int cuptiActivityEnableAndDump(int kind) {
    uint8_t record[LAYOUT_LARGEST];
    int result = cuptiActivityEnable(kind);
    size_t size = layout_context(record, version(), 1, 0);
    if (result == 0 && kind == LAYOUT_CONTEXT) add_record(LAYOUT_CONTEXT, record, size, 0);
    return result;
}

FAKE_EXPORT int cuptiActivityRegisterTimestampCallback(rgm_cupti_clock clock) {
    forbid("cuptiActivityRegisterTimestampCallback");
    if (!clock) return RGM_CUPTI_INVALID_PARAMETER;
    user_clock = clock;
    FAKE_VALUE(clock)++;
    return 0;
}

FAKE_EXPORT int cuptiActivityEnableLatencyTimestamps(uint8_t on) {
    REFUSE(ActivityEnableLatencyTimestamps);
    queue_times = on != 0;
    return 0;
}

FAKE_EXPORT int cuptiSetThreadIdType(int type) { return 0; }
FAKE_EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value) { return 0; }

FAKE_EXPORT int cuptiGetGraphNodeId(rgm_cu_graph_node node, uint64_t *id) {
    *id = (uint64_t)(uintptr_t)node;
    return 0;
}

FAKE_EXPORT int cuptiFinalize(void) {
    forbid("cuptiFinalize");
    pthread_mutex_lock(&mutex);
    callback = NULL;
    memset(enabled_ids, 0, sizeof enabled_ids);
    memset(enabled_kinds, 0, sizeof enabled_kinds);
    pthread_mutex_unlock(&mutex);
    FAKE_VALUE(subscribed) = 0;
    FAKE_VALUE(finalized)++;
    return 0;
}
#endif

FAKE_EXPORT int cuptiActivityDisable(int kind) {
    forbid("cuptiActivityDisable");
    pthread_mutex_lock(&mutex);
    FAKE_VALUE(kinds) -= enabled_kinds[kind];
    enabled_kinds[kind] = false;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void note_flush(void) {
    enum { BUFFER_FLUSH = 1 << 16 };
    uint8_t record[LAYOUT_LARGEST];
    uint64_t now = own_clock();
    size_t size = layout_overhead(record, version(), BUFFER_FLUSH, (uint32_t)gettid(), now - 500, now);
    if (FAKE_VALUE(flush_records)) add_record(LAYOUT_OVERHEAD, record, size, 0);
}

// Buffers whose work has ended; forced, all of them. Deliveries happen without the mutex.
FAKE_EXPORT int cuptiActivityFlushAll(uint32_t forced) {
    static const struct timespec moment = {0, 1000000};
    buffer out[BUFFERS + 1];
    size_t count = 0, kept = 0;
    forbid("cuptiActivityFlushAll");
    FAKE_VALUE(flushes)++;
    while (FAKE_VALUE(hang)) nanosleep(&moment, NULL);
    call_driver();
    note_flush();
    pthread_mutex_lock(&mutex);
    int64_t now = monotonic();
    for (size_t i = 0; i < full_count; i++) {
        if (forced || full[i].ready_ns <= now)
            out[count++] = full[i];
        else
            full[kept++] = full[i];
    }
    full_count = kept;
    if (current.data && (forced || current.ready_ns <= now)) {
        out[count++] = current;
        current.data = NULL;
    }
    pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < count; i++) deliver(&out[FAKE_VALUE(backwards) ? count - 1 - i : i]);
    return 0;
}

FAKE_EXPORT int cuptiActivityGetNextRecord(uint8_t *data, size_t valid, void **record) {
    return layout_next(version(), data, valid, record);
}

FAKE_EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    forbid("cuptiActivityGetNumDroppedRecords");
    *dropped = (size_t)FAKE_VALUE(drop);
    FAKE_VALUE(drop) = 0;
    return 0;
}

// --- what the tests make happen ---------------------------------------------------------------------------

static uint32_t correlation_new(void) {
    pthread_mutex_lock(&mutex);
    uint32_t correlation = ++next_correlation;
    pthread_mutex_unlock(&mutex);
    return correlation;
}

FAKE_EXPORT uint32_t fake_cupti_launch(const char *name, uint32_t stream, long long delay_ns, long long ns) {
    uint32_t correlation = correlation_new();
    layout_work w = {.name = (uint64_t)(uintptr_t)name,
                     .context = 1,
                     .stream = stream,
                     .correlation = correlation,
                     .grid = {8, 1, 1},
                     .block = {256, 1, 1},
                     .registers = 32};
    uint32_t inner = FAKE_VALUE(own_ids) ? correlation_new() : correlation;
    tell(2, 211, RGM_CUPTI_ENTER, correlation, 0);
    tell(1, 307, RGM_CUPTI_ENTER, inner, 0);
    int64_t begun = monotonic(), start = begun + delay_ns;
    add_work(LAYOUT_KERNEL, &w, start, start + ns, begun);
    tell(1, 307, RGM_CUPTI_EXIT, inner, 0);
    tell(2, 211, RGM_CUPTI_EXIT, correlation, 0);
    return correlation;
}

FAKE_EXPORT void fake_cupti_without_record(void) {
    uint32_t correlation = correlation_new();
    tell(2, 211, RGM_CUPTI_ENTER, correlation, 0);
    tell(2, 211, RGM_CUPTI_EXIT, correlation, 0);
}

FAKE_EXPORT void fake_cupti_launches(const char *name, long long count) {
    while (count-- > 0) (void)fake_cupti_launch(name, 7, 0, 1000);
}

static void tell_exec(uint32_t id, uint64_t node, uint64_t original, uint64_t graph, uint64_t exec) {
    rgm_cupti_graph data = {.graph = (rgm_cu_graph)(uintptr_t)graph,
                            .exec = (rgm_cu_graph_exec)(uintptr_t)exec,
                            .node = (rgm_cu_graph_node)(uintptr_t)node,
                            .original_node = (rgm_cu_graph_node)(uintptr_t)original};
    const rgm_cupti_resource resource = {.descriptor = &data};
    pthread_mutex_lock(&mutex);
    rgm_cupti_callback to = enabled_ids[3][id] ? callback : NULL;
    pthread_mutex_unlock(&mutex);
    if (!to) return;
    inside = INSIDE_RESOURCE;
    to(callback_user, 3, id, &resource);
    inside = 0;
}

static void tell_graph(uint32_t id, uint64_t node, uint64_t original, uint64_t graph) {
    tell_exec(id, node, original, graph, 0);
}

static uint64_t node_new(void) {
    pthread_mutex_lock(&mutex);
    uint64_t node = ++next_node;
    pthread_mutex_unlock(&mutex);
    return node;
}

FAKE_EXPORT uint64_t fake_cupti_capture(const char *name, uint64_t graph) {
    uint32_t correlation = correlation_new();
    uint64_t node = node_new();
    tell(2, 211, RGM_CUPTI_ENTER, correlation, 0);
    tell_graph(RGM_CUPTI_GRAPH_NODE_CREATED, node, 0, graph);
    tell(2, 211, RGM_CUPTI_EXIT, correlation, 0);
    return node;
}

FAKE_EXPORT uint64_t fake_cupti_clone(uint64_t node, uint64_t graph) {
    uint64_t copy = node_new();
    tell_graph(RGM_CUPTI_GRAPH_NODE_CLONED, copy, node, graph);
    return copy;
}

// What is named beside the executable graph is the graph that it is made of, also at its end: the least
// helpful that NVIDIA's header allows.
FAKE_EXPORT uint64_t fake_cupti_instantiate(uint64_t graph, uint64_t *nodes, size_t count) {
    uint64_t exec = node_new();
    tell_exec(RGM_CUPTI_GRAPH_EXEC_CREATE, 0, 0, graph, 0);
    for (size_t i = 0; i < count; i++) nodes[i] = fake_cupti_clone(nodes[i], graph);
    tell_exec(RGM_CUPTI_GRAPH_EXEC_CREATED, 0, 0, graph, exec);
    return exec;
}

FAKE_EXPORT void fake_cupti_exec_destroy(uint64_t graph, uint64_t exec) {
    tell_exec(RGM_CUPTI_GRAPH_EXEC_DESTROY, 0, 0, graph, exec);
}

FAKE_EXPORT uint32_t fake_cupti_graph_launch(uint32_t graph, const uint64_t *nodes, size_t count) {
    uint32_t correlation = correlation_new();
    bool whole = enabled_kinds[LAYOUT_GRAPH];
    layout_work w = {.name = (uint64_t)(uintptr_t)"node_kernel",
                     .context = 1,
                     .stream = 7,
                     .correlation = correlation,
                     .graph = graph,
                     .grid = {1, 1, 1},
                     .block = {32, 1, 1}};
    tell(2, 311, RGM_CUPTI_ENTER, correlation, 0);
    int64_t now = monotonic();
    uint64_t from = stamp(now);
    if (whole) add_work(LAYOUT_GRAPH, &w, now, now + 1000, now);
    for (size_t i = 0; i < count && !whole; i++) {
        bool copies = (long long)i == FAKE_VALUE(copy_node);
        w.node = nodes[i];
        w.copy = copies ? 8 : 0;
        w.from = w.to = copies ? 3 : 0;
        w.start = from + i * 100;
        w.end = w.start + (uint64_t)FAKE_VALUE(node_ns);
        add_stamped(copies ? LAYOUT_MEMCPY : LAYOUT_KERNEL, &w, now + (int64_t)(w.end - from));
    }
    tell(2, 311, RGM_CUPTI_EXIT, correlation, 0);
    return correlation;
}

FAKE_EXPORT void fake_cupti_range(const char *name, uint32_t id, int end) {
    uint8_t record[LAYOUT_LARGEST];
    size_t size = layout_marker(record, end ? 4 : 2, own_clock(), id, (uint32_t)gettid(),
                                end ? 0 : (uint64_t)(uintptr_t)name);
    add_record(LAYOUT_MARKER, record, size, 0);
}

FAKE_EXPORT void fake_cupti_overhead(uint32_t kind, long long ns) {
    uint8_t record[LAYOUT_LARGEST];
    uint64_t now = own_clock();
    size_t size = layout_overhead(record, version(), kind, (uint32_t)gettid(), now - (uint64_t)ns, now);
    add_record(LAYOUT_OVERHEAD, record, size, 0);
}

static void nobody_asks(uint8_t **data, size_t *size, size_t *most) {
    static uint8_t bin[1 << 16];
    *data = bin;
    *size = sizeof bin;
    *most = 0;
}
static void nobody_takes(rgm_cu_context context, uint32_t stream, uint8_t *data, size_t size, size_t valid) {}

FAKE_EXPORT void fake_cupti_take_over(void) {
    (void)cuptiActivityRegisterCallbacks(nobody_asks, nobody_takes);
}

FAKE_EXPORT void fake_cupti_foreign_buffer(void) {
    static uint8_t theirs[64];
    buffer b = {.data = theirs, .size = sizeof theirs, .used = 8};
    deliver(&b);
}

FAKE_EXPORT void fake_cupti_restart(void) {
    pthread_mutex_lock(&mutex);
    callback = NULL;
    requested = NULL;
    completed = NULL;
    user_clock = NULL;
    memset(enabled_kinds, 0, sizeof enabled_kinds);
    memset(enabled_ids, 0, sizeof enabled_ids);
    current = (buffer){0};
    full_count = 0;
    owner = 0;
    pthread_mutex_unlock(&mutex);
    static const char *const counts[] = {"flushes", "delivered", "declined",   "subscribed",
                                         "kinds",   "callbacks", "finalized",  "clock",
                                         "records", "dropped",   "calls_child"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) fake_cupti_set(counts[i], 0);
}
