// SPDX-License-Identifier: Apache-2.0
// For the tests of device time: the double of the CUDA driver, whose clock they move, and a sink that
// remembers. What they expect follows from the work that they queue, not from what the code under test says.
#ifndef RGM_TEST_EVENT_DEVICE_H
#define RGM_TEST_EVENT_DEVICE_H

#include "cuda/events/events.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "../fakes/cuda.h"
#include "cuda/library/driver.h"
#include "recording.h"

// --- the double, loaded as the driver is ------------------------------------------------------------------

// X(member, symbol, result, parameters)
#define FAKE_SYMBOLS(X)                                                                                      \
    X(set, "fake_cuda_set", void, (const char *, long long))                                                 \
    X(get, "fake_cuda_get", long long, (const char *))                                                       \
    X(work, "fake_cuda_work", int, (void *, long long))                                                      \
    X(advance, "fake_cuda_advance", void, (long long))                                                       \
    X(idle_at, "fake_cuda_idle_at", long long, (void *))                                                     \
    X(now, "fake_cuda_now", long long, (void))                                                               \
    X(restart, "fake_cuda_restart", void, (void))                                                            \
    X(init, "cuInit", int, (unsigned))                                                                       \
    X(retain, "cuDevicePrimaryCtxRetain", int, (void **, int))                                               \
    X(reset, "cuDevicePrimaryCtxReset_v2", int, (int))                                                       \
    X(set_current, "cuCtxSetCurrent", int, (void *))                                                         \
    X(create_context, "cuCtxCreate_v2", int, (void **, unsigned, int))                                       \
    X(pop, "cuCtxPopCurrent_v2", int, (void **))                                                             \
    X(destroy_context, "cuCtxDestroy_v2", int, (void *))                                                     \
    X(create_stream, "cuStreamCreate", int, (void **, unsigned))                                             \
    X(begin_capture, "cuStreamBeginCapture_v2", int, (void *, int))                                          \
    X(end_capture, "cuStreamEndCapture", int, (void *, void **))

static struct {
    void *handle;
#define FAKE_MEMBER(member, symbol, result, parameters) result(*member) parameters;
    FAKE_SYMBOLS(FAKE_MEMBER)
} cu;

UNUSED static bool load_fake(const char *name) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/libfake_%s.so", FAKES, name);
    setenv("REGIMETER_LIBCUDA", path, 1);
    setenv("REGIMETER_LIBHIP", "off", 1);
    rgm_driver_forget();
    cu.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!cu.handle) return false;
#define FAKE_RESOLVE(member, symbol, result, parameters)                                                     \
    *(void **)&cu.member = dlsym(cu.handle, symbol);                                                         \
    if (!cu.member) return false;
    FAKE_SYMBOLS(FAKE_RESOLVE)
    cu.restart();
    cu.set("follow", 0);
    cu.set("devices", 2);
    return true;
}

// --- a sink that remembers --------------------------------------------------------------------------------

enum { ROWS = 65536 };
static rgm_interval_row rows[ROWS];
static _Atomic(size_t) row_count;
static _Atomic(int64_t) notes[RGM_ANOMALY_COUNT];
static pthread_mutex_t rows_mutex = PTHREAD_MUTEX_INITIALIZER;

UNUSED static void keep_row(void *arg, const rgm_interval_row *row) {
    (void)arg;
    pthread_mutex_lock(&rows_mutex);
    size_t at = atomic_load(&row_count);
    if (at < ROWS) {
        rows[at] = *row;
        atomic_store(&row_count, at + 1);
    }
    pthread_mutex_unlock(&rows_mutex);
}
UNUSED static void keep_note(void *arg, rgm_anomaly code, int64_t count) {
    (void)arg;
    atomic_fetch_add(&notes[code], count);
}

UNUSED static const rgm_interval_row *row_of(uint64_t number) {
    const rgm_interval_row *found = NULL;
    pthread_mutex_lock(&rows_mutex);
    for (size_t i = 0; i < atomic_load(&row_count); i++)
        if (rows[i].number == number) found = &rows[i];
    pthread_mutex_unlock(&rows_mutex);
    return found;
}

UNUSED static rgm_events *start(int64_t poll_ns, int64_t max_slots) {
    rgm_events *events = NULL;
    rgm_device_sink sink = {.interval = keep_row, .note = keep_note};
    rgm_events_options options = RGM_EVENTS_DEFAULTS;
    options.poll_ns = poll_ns;
    if (max_slots) options.max_slots = max_slots;
    atomic_store(&row_count, 0);
    for (int i = 0; i < RGM_ANOMALY_COUNT; i++) atomic_store(&notes[i], 0);
    rgm_clock_init();
    CHECK_OK(rgm_events_new(&events, sink, &options, NULL, NULL));
    return events;
}

// Device 0's context, current.
UNUSED static void *use_device(int device) {
    void *context = NULL;
    CHECK_OK(cu.init(0));
    CHECK_OK(cu.retain(&context, device));
    CHECK_OK(cu.set_current(context));
    return context;
}

UNUSED static uint64_t handle(void *stream) { return (uint64_t)(uintptr_t)stream; }
UNUSED static void *stream_handle(uint64_t stream) { return (void *)(uintptr_t)stream; }

// A scope around work in one stream; its number.
UNUSED static uint64_t scope(rgm_events *events, uint64_t stream, int64_t work_ns) {
    rgm_event_slot *slot = rgm_events_begin(events, stream, true, -1);
    if (!slot) return 0;
    CHECK_OK(cu.work(stream_handle(stream), work_ns));
    return rgm_events_end(events, slot, stream);
}

UNUSED static void check_row(uint64_t number, rgm_interval_state state, int64_t duration_ns,
                             int64_t tolerance_ns) {
    const rgm_interval_row *row = row_of(number);
    REQUIRE(row);
    CHECK_EQ_I64(row->state, state);
    CHECK_NEAR((double)row->duration_ns, (double)duration_ns, (double)tolerance_ns);
    CHECK((row->begin_ns >= 0) == (state == RGM_INTERVAL_MEASURED));
}

UNUSED static void stop(rgm_events *events) {
    rgm_events_close(events, 0);
    rgm_events_free(events);
    CHECK_EQ_I64(cu.get("dead_events"), 0);
    CHECK_EQ_I64(cu.get("calls_cuEventSynchronize"), 0);
    CHECK_EQ_I64(cu.get("calls_cuStreamSynchronize"), 0);
    CHECK_EQ_I64(cu.get("calls_cuCtxSynchronize"), 0);
}

#endif
