// SPDX-License-Identifier: Apache-2.0
// Double of CUPTI's callback and activity interfaces. The numbers:
//   version             of the interface: sizes of records, what is allowed; 130001 is that of 13.0, whose
//                       own clock cannot be trusted, so that times are converted
//   taken               1: another tool has the subscription
//   refuse_NAME         what cuptiNAME answers instead of working
//   clock_ahead_ns      of the default clock from CLOCK_REALTIME
//   zero_every          every n-th record of work has no end
//   drop                records to count as dropped
//   several             1: the second version of the functions works (13.3 and later, with its driver)
//   hang_Subscribe      1: cuptiSubscribe does not return until it is 0
//   eager               1: full buffers are given back when their work has ended; 0: only by a flush
//   own_thread          1: buffers are given back on a thread of CUPTI's
//   backwards           1: buffers come back in reverse order
//   hang                1: the next cuptiActivityFlushAll does not return until it is 0
//   forbidden           calls from where CUPTI does not allow them; the first is also a message and an abort
//   calls_child         calls in a child of a fork
//   node_ns             length of a node of a graph; nodes start 100 ns after one another
//   flush_records       1: CUPTI writes a record of its own about each flush, as the real one does
//   cluster                 blocks of the clusters that kernels are launched in, 0 for none
//   most_clusters           that the device holds of them at a time, as records of 12.0 and later say
//   flush_calls             1: a flush makes a call in the driver that a capture of another thread forbids
//   own_ids                 1: a driver's call inside a runtime's call has an id of its own, which no record
//                           has
//   untimed_syncs           1: the times of waits could not be collected, and are 0
//   older_graph             a graph that was made before any tool was there: to launch it while launches of
//   whole
//                           graphs are recorded ends the program, as CUPTI 13.0.1 does on hardware
//   copy_node               which node of each launched graph is a copy, -1 for none
//   submit_ns               from the submission of a launch to its start, where those times are asked for
//   submit_early            1: from its queueing to its submission instead
//   pc_..., refuse_PC...    of PC sampling: cupti_pcsampling.h
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
    X(several, 0)                                                                                            \
    X(hang_Subscribe, 0)                                                                                     \
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
    X(older_graph, 0)                                                                                        \
    X(copy_node, -1)                                                                                         \
    X(flush_records, 1)                                                                                      \
    X(cluster, 0)                                                                                            \
    X(most_clusters, 0)                                                                                      \
    X(flush_calls, 1)                                                                                        \
    X(own_ids, 0)                                                                                            \
    X(submit_ns, 500)                                                                                        \
    X(submit_early, 0)                                                                                       \
    X(used_before, 0)                                                                                        \
    X(refuse_ActivityEnableLatencyTimestamps, 0)                                                             \
    X(refuse_PCSamplingEnable, 0)                                                                            \
    X(refuse_PCSamplingDisable, 0)                                                                           \
    X(refuse_PCSamplingStart, 0)                                                                             \
    X(refuse_PCSamplingStop, 0)                                                                              \
    X(refuse_PCSamplingSetConfigurationAttribute, 0)                                                         \
    X(refuse_PCSamplingGetConfigurationAttribute, 0)                                                         \
    X(refuse_PCSamplingGetData, 0)                                                                           \
    X(refuse_PCSamplingGetNumStallReasons, 0)                                                                \
    X(refuse_PCSamplingGetStallReasons, 0)                                                                   \
    X(refuse_RegisterComputeCrcCallback, 0)                                                                  \
    X(refuse_GetSassToSourceCorrelation, 0)                                                                  \
    X(pc_sample_ns, 1000)                                                                                    \
    X(pc_period, 17)                                                                                         \
    X(pc_dropped, 0)                                                                                         \
    X(pc_no_record, 0)                                                                                       \
    X(pc_full_at, 0)                                                                                         \
    X(pc_foreign_thread, 0)                                                                                  \
    X(hang_PCSamplingGetData, 0)                                                                             \
    X(pc_hanging, 0)                                                                                         \
    X(pc_misuse, 0)                                                                                          \
    X(pc_contexts, 0)                                                                                        \
    X(pc_collections, 0)                                                                                     \
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

#include "cupti_clients.h"

static rgm_cupti_clock _Atomic user_clock;
static uint32_t next_correlation = 1u << 20; // apart from the driver's
static uint64_t next_node = 1000;
static _Atomic(pid_t) owner;
// What CUPTI is doing on this thread, from which most of its functions must not be called.
static _Thread_local int inside;
enum { INSIDE_BUFFERS = 1, INSIDE_RESOURCE = 2 };
static _Thread_local int in_context_callback; // of a context that is made or ends

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

static void hang_while(int number) {
    static const struct timespec moment = {0, 1000000};
    while (fake_numbers[number].value) nanosleep(&moment, NULL);
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

static void pc_hear(const fake_cuda_call *call);
static void pc_load(const fake_cuda_call *call);
static void pc_end(const void *context);
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
    hang_while(FAKE_hang_Subscribe);
    REFUSE_MIXED();
    if (FAKE_VALUE(taken) || clients[0].subscribed) return RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    pthread_mutex_lock(&mutex);
    clients[0].subscribed = true;
    clients[0].callback = to;
    clients[0].user = user;
    owner = getpid();
    pthread_mutex_unlock(&mutex);
    FAKE_VALUE(subscribed)++;
    *subscriber = (rgm_cupti_subscriber)(void *)&clients[0];
    hear(true);
    return 0;
}

FAKE_EXPORT int cuptiUnsubscribe(rgm_cupti_subscriber subscriber) {
    forbid("cuptiUnsubscribe");
    client *c = (client *)(void *)subscriber;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < sizeof c->ids; i++) FAKE_VALUE(callbacks) -= (&c->ids[0][0])[i];
    c->subscribed = false;
    c->callback = NULL;
    memset(c->ids, 0, sizeof c->ids);
    if (!are_several()) allowed = RGM_CUPTI_SEVERAL_NOT_SET;
    pthread_mutex_unlock(&mutex);
    FAKE_VALUE(subscribed)--;
    hear(false);
    return 0;
}

FAKE_EXPORT int cuptiEnableCallback(uint32_t on, rgm_cupti_subscriber subscriber, int domain, uint32_t id) {
    REFUSE(EnableCallback);
    if (domain < 1 || domain >= DOMAINS || id >= IDS) return RGM_CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&mutex);
    client *c = (client *)(void *)subscriber;
    FAKE_VALUE(callbacks) += (long long)(on != 0) - c->ids[domain][id];
    c->ids[domain][id] = on != 0;
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
    REFUSE_MIXED();
    pthread_mutex_lock(&mutex);
    clients[0].requested = ask;
    clients[0].completed = back;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static int set_kind(client *c, int kind, bool on) {
    if (kind < 0 || kind >= KINDS) return RGM_CUPTI_INVALID_KIND;
    pthread_mutex_lock(&mutex);
    FAKE_VALUE(kinds) += (long long)on - c->kinds[kind];
    c->kinds[kind] = on;
    pthread_mutex_unlock(&mutex);
    return 0;
}

FAKE_EXPORT int cuptiActivityEnable(int kind) {
    REFUSE(ActivityEnable);
    REFUSE_MIXED();
    return set_kind(&clients[0], kind, true);
}

#ifndef FAKE_CUPTI_OLDER
static void dump_context(client *c, int kind) {
    uint8_t record[LAYOUT_LARGEST];
    size_t size = layout_context(record, version(), 1, 0, 0);
    pthread_mutex_lock(&mutex);
    if (kind == LAYOUT_CONTEXT) add_to(c, record, size, 0);
    pthread_mutex_unlock(&mutex);
}

FAKE_EXPORT int cuptiActivityEnableAndDump(int kind) {
    int result = cuptiActivityEnable(kind);
    if (result == 0) dump_context(&clients[0], kind);
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
    clients[0].subscribed = false;
    clients[0].callback = NULL;
    memset(clients[0].ids, 0, sizeof clients[0].ids);
    memset(clients[0].kinds, 0, sizeof clients[0].kinds);
    pthread_mutex_unlock(&mutex);
    FAKE_VALUE(subscribed) = 0;
    FAKE_VALUE(finalized)++;
    return 0;
}

#include "cupti_pcsampling.h"
#include "cupti_several.h"
#else
static void pc_hear(const fake_cuda_call *call) {}
static void pc_load(const fake_cuda_call *call) {}
static void pc_end(const void *context) {}
static void pc_forget(void) {}
#endif

FAKE_EXPORT int cuptiActivityDisable(int kind) {
    forbid("cuptiActivityDisable");
    return set_kind(&clients[0], kind, false);
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
    buffer out[BUFFERS + 1];
    forbid("cuptiActivityFlushAll");
    FAKE_VALUE(flushes)++;
    hang_while(FAKE_hang);
    call_driver();
    note_flush();
    for (int i = 0; i < CLIENTS; i++) {
        pthread_mutex_lock(&mutex);
        size_t count = take_buffers(&clients[i], forced, out);
        pthread_mutex_unlock(&mutex);
        for (size_t k = 0; k < count; k++) deliver(&out[FAKE_VALUE(backwards) ? count - 1 - k : k]);
    }
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

#include "cupti_graphs.h"

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
    buffer b = {.of = &clients[0], .data = theirs, .size = sizeof theirs, .used = 8};
    deliver(&b);
}

FAKE_EXPORT void fake_cupti_restart(void) {
    pthread_mutex_lock(&mutex);
    user_clock = NULL;
    memset(clients, 0, sizeof clients);
    allowed = RGM_CUPTI_SEVERAL_NOT_SET;
    whole_graphs = 0;
    owner = 0;
    pc_forget();
    pthread_mutex_unlock(&mutex);
    static const char *const counts[] = {"flushes", "delivered", "declined",   "subscribed",
                                         "kinds",   "callbacks", "finalized",  "clock",
                                         "records", "dropped",   "calls_child"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) fake_cupti_set(counts[i], 0);
}
