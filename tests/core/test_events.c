// SPDX-License-Identifier: Apache-2.0
// Device time of scopes against doubles of the CUDA driver and of HIP, whose clock the tests move. What is
// expected follows from the work that a test queues, not from what the code under test says.
#include "cuda/events.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../fakes/cuda.h"
#include "cuda/driver.h"
#include "cuda/hip_library.h"
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

static bool load_fake(const char *name) {
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

static void keep_row(void *arg, const rgm_interval_row *row) {
    (void)arg;
    pthread_mutex_lock(&rows_mutex);
    size_t at = atomic_load(&row_count);
    if (at < ROWS) {
        rows[at] = *row;
        atomic_store(&row_count, at + 1);
    }
    pthread_mutex_unlock(&rows_mutex);
}
static void keep_note(void *arg, rgm_anomaly code, int64_t count) {
    (void)arg;
    atomic_fetch_add(&notes[code], count);
}

static const rgm_interval_row *row_of(uint64_t number) {
    const rgm_interval_row *found = NULL;
    pthread_mutex_lock(&rows_mutex);
    for (size_t i = 0; i < atomic_load(&row_count); i++)
        if (rows[i].number == number) found = &rows[i];
    pthread_mutex_unlock(&rows_mutex);
    return found;
}

static rgm_events *start(int64_t poll_ns, int64_t max_slots) {
    rgm_events *events = NULL;
    rgm_device_sink sink = {.interval = keep_row, .note = keep_note};
    rgm_events_options options = RGM_EVENTS_DEFAULTS;
    options.poll_ns = poll_ns;
    if (max_slots) options.max_slots = max_slots;
    atomic_store(&row_count, 0);
    for (int i = 0; i < RGM_ANOMALY_COUNT; i++) atomic_store(&notes[i], 0);
    rgm_clock_init();
    CHECK_OK(rgm_events_new(&events, &sink, &options, NULL, NULL));
    return events;
}

// Device 0's context, current.
static void *use_device(int device) {
    void *context = NULL;
    CHECK_OK(cu.init(0));
    CHECK_OK(cu.retain(&context, device));
    CHECK_OK(cu.set_current(context));
    return context;
}

static uint64_t handle(void *stream) { return (uint64_t)(uintptr_t)stream; }
static void *stream_handle(uint64_t stream) { return (void *)(uintptr_t)stream; }

// A scope around work in one stream; its number.
static uint64_t scope(rgm_events *events, uint64_t stream, int64_t work_ns) {
    rgm_event_slot *slot = rgm_events_begin(events, stream, true, -1);
    if (!slot) return 0;
    CHECK_OK(cu.work(stream_handle(stream), work_ns));
    return rgm_events_end(events, slot, stream);
}

static void check_row(uint64_t number, rgm_interval_state state, int64_t duration_ns, int64_t tolerance_ns) {
    const rgm_interval_row *row = row_of(number);
    REQUIRE(row);
    CHECK_EQ_I64(row->state, state);
    CHECK_NEAR((double)row->duration_ns, (double)duration_ns, (double)tolerance_ns);
    CHECK((row->begin_ns >= 0) == (state == RGM_INTERVAL_MEASURED));
}

static void stop(rgm_events *events) {
    rgm_events_close(events, 0);
    rgm_events_free(events);
    CHECK_EQ_I64(cu.get("dead_events"), 0);
    CHECK_EQ_I64(cu.get("calls_cuEventSynchronize"), 0);
    CHECK_EQ_I64(cu.get("calls_cuStreamSynchronize"), 0);
    CHECK_EQ_I64(cu.get("calls_cuCtxSynchronize"), 0);
}

// --- tests ------------------------------------------------------------------------------------------------

TEST(a_scope_lasts_as_long_as_the_work_in_it) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    uint64_t number = scope(events, 0, 1234000);
    CHECK(number);
    rgm_events_poll(events);
    CHECK(!row_of(number)); // the device has not got there
    cu.advance(1234000);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, 1234000, 500);
    CHECK_EQ_I64(row_of(number)->device, 0);
    CHECK(row_of(number)->begin_ticks <= row_of(number)->end_ticks);
    stop(events);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), cu.get("calls_cuEventDestroy_v2"));
}

TEST(a_program_that_does_not_use_cuda_is_left_alone) {
    rgm_error err;
    REQUIRE(load_fake("cuda"));
    rgm_events *events = start(0, 0);
    rgm_error_clear(&err);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK_EQ_I64(rgm_events_status(events, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "not initialised"));
    CHECK_EQ_I64(cu.get("calls_cuInit"), 0);
    CHECK_EQ_I64(cu.get("calls_cuDevicePrimaryCtxRetain"), 0);
    CHECK_EQ_I64(cu.get("calls_cuCtxCreate_v2"), 0);
    // Asking again at once does not call the driver again.
    long long calls = cu.get("calls");
    for (int i = 0; i < 1000; i++) CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK(cu.get("calls") - calls <= 1);
    stop(events);
}

TEST(a_thread_without_a_context_goes_without_device_time) {
    REQUIRE(load_fake("cuda"));
    CHECK_OK(cu.init(0));
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    use_device(0);
    CHECK(scope(events, 0, 1000) != 0);
    stop(events);
}

static void *first_scope_of_a_thread(void *arg) {
    uint64_t *numbers = arg;
    rgm_events *events = stream_handle(numbers[0]);
    // Nothing is current here. Of a device that nobody uses there is nothing to use either.
    CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK(!rgm_events_begin(events, 0, true, 1));
    rgm_event_slot *unused = rgm_events_begin(events, 0, true, 0);
    rgm_event_slot *used = rgm_events_begin(events, 0, true, 0);
    if (unused) numbers[0] = rgm_events_end(events, unused, 0);
    use_device(0); // the block does
    CHECK_OK(cu.work(NULL, 7000));
    if (used) numbers[1] = rgm_events_end(events, used, 0);
    return NULL;
}

TEST(a_thread_without_a_context_uses_that_of_its_device) {
    pthread_t thread;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    uint64_t numbers[2] = {handle(events), 0};
    CHECK_OK(pthread_create(&thread, NULL, first_scope_of_a_thread, numbers));
    CHECK_OK(pthread_join(thread, NULL));
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(numbers[0], RGM_INTERVAL_MEASURED, 0, 500);
    check_row(numbers[1], RGM_INTERVAL_MEASURED, 7000, 500);
    CHECK_EQ_I64(cu.get("calls_cuDevicePrimaryCtxRetain") - 2, cu.get("calls_cuDevicePrimaryCtxRelease_v2"));
    stop(events);
}

TEST(no_driver_is_a_reason) {
    rgm_error err;
    setenv("REGIMETER_LIBCUDA", "off", 1);
    setenv("REGIMETER_LIBHIP", "off", 1);
    rgm_driver_forget();
    rgm_events *events = start(0, 0);
    rgm_error_clear(&err);
    CHECK(!rgm_events_begin(events, 0, false, -1));
    CHECK_EQ_I64(rgm_events_status(events, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "REGIMETER_LIBCUDA=off"));
    rgm_events_free(events);
}

TEST(nested_scopes_and_streams_are_told_apart) {
    void *first = NULL, *second = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&first, 1));
    CHECK_OK(cu.create_stream(&second, 1));
    rgm_events *events = start(0, 0);
    rgm_event_slot *outer = rgm_events_begin(events, handle(first), true, -1);
    REQUIRE(outer);
    CHECK_OK(cu.work(first, 100000));
    uint64_t inner = scope(events, handle(first), 20000);
    uint64_t other = scope(events, handle(second), 5000000); // longer, and does not hold the first one up
    CHECK_OK(cu.work(first, 30000));
    uint64_t whole = rgm_events_end(events, outer, handle(first));
    cu.advance(200000);
    rgm_events_poll(events);
    check_row(inner, RGM_INTERVAL_MEASURED, 20000, 500);
    check_row(whole, RGM_INTERVAL_MEASURED, 150000, 500);
    CHECK(!row_of(other));
    cu.advance(5000000);
    rgm_events_poll(events);
    check_row(other, RGM_INTERVAL_MEASURED, 5000000, 500);
    CHECK_NEAR((double)(row_of(inner)->begin_ns - row_of(whole)->begin_ns), 100000, 1000);
    CHECK_EQ_I64(row_of(inner)->timeline, row_of(other)->timeline);
    stop(events);
}

TEST(the_default_streams_are_told_apart) {
    void *blocking = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&blocking, 0));
    rgm_events *events = start(0, 0);
    CHECK_OK(cu.work(blocking, 70000)); // the legacy stream waits for it
    uint64_t legacy = scope(events, 1, 1000);
    uint64_t own = scope(events, 2, 3000);
    cu.advance(1000000);
    rgm_events_poll(events);
    check_row(legacy, RGM_INTERVAL_MEASURED, 1000, 500);
    check_row(own, RGM_INTERVAL_MEASURED, 3000, 500);
    CHECK_EQ_U64(row_of(own)->stream, 2);
    CHECK(row_of(own)->begin_ns >= row_of(legacy)->begin_ns);
    stop(events);
}

TEST(events_are_used_again) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    rgm_events_stats stats;
    for (int i = 0; i < 10000; i++) {
        uint64_t number = scope(events, 0, 1000 + i);
        cu.advance(20000);
        rgm_events_poll(events);
        if (i % 997 == 0) check_row(number, RGM_INTERVAL_MEASURED, 1000 + i, 500);
    }
    rgm_events_get_stats(events, &stats);
    CHECK_EQ_U64(stats.resolved, 10000);
    CHECK_EQ_U64(stats.slots, RGM_SLOTS_PER_CHUNK);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), 2 * RGM_SLOTS_PER_CHUNK);
    // Timelines add up: what the first scope began at and the last one ended at is the time that passed.
    CHECK_NEAR((double)(rows[9999].begin_ns - rows[0].begin_ns), 9999 * 20000.0, 1000);
    stop(events);
}

TEST(past_the_limit_scopes_go_without) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, RGM_SLOTS_PER_CHUNK);
    rgm_events_stats stats;
    int none = 0;
    for (int i = 0; i < RGM_SLOTS_PER_CHUNK + 10; i++) none += scope(events, 0, 1000) == 0;
    CHECK_EQ_I64(none, 10);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_DROPPED_DEVICE_ROWS]), 10);
    cu.advance(1000000);
    rgm_events_poll(events);
    rgm_events_get_stats(events, &stats);
    CHECK_EQ_U64(stats.resolved, RGM_SLOTS_PER_CHUNK);
    CHECK_EQ_U64(stats.refused, 10);
    CHECK(scope(events, 0, 1000) != 0);
    stop(events);
}

TEST(a_long_scope_is_a_sum_of_short_distances) {
    // An hour in float milliseconds is good to a quarter of a millisecond; a sum of distances of two seconds
    // loses some tens of nanoseconds in each.
    const int64_t hour_ns = INT64_C(3600) * 1000000000 + 123456500;
    void *stream = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&stream, 1));
    rgm_clock_fake(1000000000);
    rgm_events *events = start(0, 0);
    rgm_events_poll(events);
    rgm_event_slot *slot = rgm_events_begin(events, handle(stream), true, -1);
    REQUIRE(slot);
    CHECK_OK(cu.work(stream, hour_ns));
    uint64_t number = rgm_events_end(events, slot, handle(stream));
    for (int64_t passed = 0; passed < hour_ns + 2000000000; passed += 700000000) {
        cu.advance(700000000);
        rgm_clock_fake_advance(700000000);
        rgm_events_poll(events);
    }
    check_row(number, RGM_INTERVAL_MEASURED, hour_ns, 2000);
    printf("an hour was measured with an error of %" PRId64 " ns\n", row_of(number)->duration_ns - hour_ns);
    rgm_clock_fake_stop();
    stop(events);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), cu.get("calls_cuEventDestroy_v2"));
}

TEST(an_open_scope_after_a_long_pause_is_measured_from_near_by) {
    const int64_t minute_ns = INT64_C(60) * 1000000000;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_clock_fake(1000000000);
    rgm_events *events = start(0, 0);
    (void)scope(events, 0, 1000);
    cu.advance(1000000);
    rgm_events_poll(events);
    cu.advance(600 * minute_ns); // nothing for ten hours
    rgm_clock_fake_advance((uint64_t)(600 * minute_ns));
    rgm_event_slot *slot = rgm_events_begin(events, 0, true, -1);
    REQUIRE(slot);
    for (int i = 0; i < 60; i++) {
        cu.advance(1000000000);
        rgm_clock_fake_advance(1000000000);
        rgm_events_poll(events);
    }
    CHECK_OK(cu.work(NULL, 7000));
    uint64_t number = rgm_events_end(events, slot, 0);
    cu.advance(1000000000);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, minute_ns + 7000, 2000);
    rgm_clock_fake_stop();
    stop(events);
}

TEST(a_captured_stream_gets_no_event_and_stays_intact) {
    void *stream = NULL, *graph = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&stream, 1));
    rgm_events *events = start(0, 0);
    uint64_t before = scope(events, handle(stream), 1000);
    CHECK_OK(cu.begin_capture(stream, RGM_CU_CAPTURE_MODE_GLOBAL));
    long long records = cu.get("calls_cuEventRecord");
    uint64_t inside = scope(events, handle(stream), 1000);
    rgm_event_slot *ends_outside = rgm_events_begin(events, handle(stream), true, -1);
    CHECK_EQ_I64(cu.get("calls_cuEventRecord"), records);
    cu.advance(1000000);
    rgm_events_poll(events); // beside a capture in global mode, from the same thread
    CHECK_OK(cu.end_capture(stream, &graph));
    CHECK(graph);
    uint64_t outside = rgm_events_end(events, ends_outside, handle(stream));
    rgm_event_slot *ends_inside = rgm_events_begin(events, handle(stream), true, -1);
    CHECK_OK(cu.begin_capture(stream, RGM_CU_CAPTURE_MODE_GLOBAL));
    uint64_t across = rgm_events_end(events, ends_inside, handle(stream));
    CHECK_OK(cu.end_capture(stream, &graph));
    rgm_events_poll(events);
    check_row(before, RGM_INTERVAL_MEASURED, 1000, 500);
    check_row(inside, RGM_INTERVAL_CAPTURED, -1, 0);
    check_row(outside, RGM_INTERVAL_CAPTURED, -1, 0);
    check_row(across, RGM_INTERVAL_CAPTURED, -1, 0);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_CAPTURED_SCOPES]), 3);
    CHECK_EQ_I64(cu.get("invalidated"), 0);
    stop(events);
}

TEST(the_resolver_does_not_disturb_a_capture_of_another_thread) {
    void *stream = NULL, *graph = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&stream, 1));
    rgm_events *events = start(100000, 0);
    uint64_t number = scope(events, 0, 1000000);
    CHECK_OK(cu.begin_capture(stream, RGM_CU_CAPTURE_MODE_GLOBAL));
    long long queries = cu.get("calls_cuEventQuery");
    while (cu.get("calls_cuEventQuery") < queries + 20) usleep(1000);
    CHECK_OK(cu.end_capture(stream, &graph));
    CHECK(graph);
    CHECK_EQ_I64(cu.get("invalidated"), 0);
    cu.advance(2000000);
    CHECK_EQ_I64(rgm_events_drain(events, 5000000000), 0);
    check_row(number, RGM_INTERVAL_MEASURED, 1000000, 500);
    stop(events);
}

TEST(the_legacy_stream_is_not_touched_while_a_stream_that_waits_for_it_is_captured) {
    void *blocking = NULL, *graph = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&blocking, 0));
    rgm_events *events = start(0, 0);
    CHECK_OK(cu.begin_capture(blocking, RGM_CU_CAPTURE_MODE_RELAXED));
    uint64_t number = scope(events, 0, 1000);
    CHECK_OK(cu.end_capture(blocking, &graph));
    CHECK(graph);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_CAPTURED, -1, 0);
    CHECK_EQ_I64(cu.get("invalidated"), 0);
    stop(events);
}

TEST(a_scope_that_changes_stream_or_device_has_no_device_time) {
    void *stream = NULL;
    REQUIRE(load_fake("cuda"));
    void *first = use_device(0), *second = NULL;
    CHECK_OK(cu.create_stream(&stream, 1));
    CHECK_OK(cu.retain(&second, 1));
    rgm_events *events = start(0, 0);
    rgm_event_slot *slot = rgm_events_begin(events, 0, true, -1);
    uint64_t streams = rgm_events_end(events, slot, handle(stream));
    slot = rgm_events_begin(events, 0, true, -1);
    CHECK_OK(cu.set_current(second));
    uint64_t devices = rgm_events_end(events, slot, 0);
    uint64_t there = scope(events, 0, 4000);
    CHECK_OK(cu.set_current(first));
    uint64_t here = scope(events, 0, 3000);
    cu.advance(1000000);
    rgm_events_poll(events);
    check_row(streams, RGM_INTERVAL_STREAM_CHANGED, -1, 0);
    check_row(devices, RGM_INTERVAL_STREAM_CHANGED, -1, 0);
    check_row(there, RGM_INTERVAL_MEASURED, 4000, 500);
    check_row(here, RGM_INTERVAL_MEASURED, 3000, 500);
    CHECK_EQ_I64(row_of(there)->device, 1);
    CHECK_EQ_I64(row_of(here)->device, 0);
    CHECK(row_of(there)->timeline != row_of(here)->timeline);
    stop(events);
}

TEST(a_stream_of_another_context_is_measured_in_its_own) {
    void *other = NULL, *stream = NULL, *popped = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_context(&other, 0, 1));
    CHECK_OK(cu.create_stream(&stream, 1));
    CHECK_OK(cu.pop(&popped));
    rgm_events *events = start(0, 0);
    uint64_t number = scope(events, handle(stream), 6000);
    cu.advance(1000000);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, 6000, 500);
    CHECK_EQ_I64(row_of(number)->device, 1);
    stop(events);
}

static void reset_with(const char *fake) {
    REQUIRE(load_fake(fake));
    use_device(0);
    rgm_events *events = start(0, 0);
    uint64_t read = scope(events, 0, 1000);
    cu.advance(10000);
    rgm_events_poll(events);
    uint64_t lost = scope(events, 0, 1000);
    rgm_event_slot *open = rgm_events_begin(events, 0, true, -1);
    CHECK_OK(cu.reset(0));
    rgm_events_poll(events);
    void *context = NULL;
    CHECK_OK(cu.retain(&context, 0)); // the same handle
    uint64_t across = rgm_events_end(events, open, 0);
    uint64_t first = scope(events, 0, 2000);
    uint64_t after = scope(events, 0, 2000);
    cu.advance(10000);
    rgm_events_poll(events);
    check_row(read, RGM_INTERVAL_MEASURED, 1000, 500);
    check_row(lost, RGM_INTERVAL_LOST, -1, 0);
    check_row(across, RGM_INTERVAL_LOST, -1, 0);
    check_row(after, RGM_INTERVAL_MEASURED, 2000, 500);
    check_row(first, RGM_INTERVAL_MEASURED, 2000, 500);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_DEVICE_RESET]), 2);
    rgm_events_close(events, 0);
    rgm_events_free(events);
}

TEST(a_reset_loses_what_was_on_its_way_and_no_more) {
    reset_with("cuda");
    CHECK_EQ_I64(cu.get("dead_events"), 0); // no event of the old context was touched
}

// Without ids of contexts a reset shows only in the errors that follow it.
TEST(an_older_driver_tells_a_reset_by_its_errors) {
    reset_with("cuda_older");
    CHECK(cu.get("dead_events") > 0);
}

TEST(the_oldest_driver_is_refused_with_the_missing_symbol) {
    rgm_error err;
    REQUIRE(load_fake("cuda_oldest"));
    use_device(0);
    rgm_events *events = start(0, 0);
    rgm_error_clear(&err);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK_EQ_I64(rgm_events_status(events, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "cuThreadExchangeStreamCaptureMode"));
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), 0);
    stop(events);
}

TEST(a_destroyed_context_takes_its_scopes_with_it) {
    void *second = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_context(&second, 0, 0));
    rgm_events *events = start(0, 0);
    uint64_t lost = scope(events, 0, 1000);
    CHECK_OK(cu.destroy_context(second));
    uint64_t kept = scope(events, 0, 1000);
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(lost, RGM_INTERVAL_LOST, -1, 0);
    check_row(kept, RGM_INTERVAL_MEASURED, 1000, 500);
    stop(events);
}

TEST(a_refusal_of_the_driver_is_a_state) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    cu.set("fail_cuEventRecord", RGM_CU_LAUNCH_FAILED);
    uint64_t at_begin = scope(events, 0, 1000);
    cu.set("skip_cuEventRecord", 1);
    uint64_t at_end = scope(events, 0, 1000);
    cu.set("fail_cuEventRecord", 0);
    uint64_t at_query = scope(events, 0, 1000);
    cu.advance(100000);
    cu.set("fail_cuEventQuery", RGM_CU_ILLEGAL_ADDRESS);
    rgm_events_poll(events);
    cu.set("fail_cuEventQuery", 0);
    uint64_t at_elapsed = scope(events, 0, 1000);
    cu.advance(100000);
    cu.set("fail_cuEventElapsedTime", RGM_CU_INVALID_HANDLE);
    rgm_events_poll(events);
    cu.set("fail_cuEventElapsedTime", 0);
    uint64_t after = scope(events, 0, 1000);
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(at_begin, RGM_INTERVAL_FAILED, -1, 0);
    check_row(at_end, RGM_INTERVAL_FAILED, -1, 0);
    check_row(at_query, RGM_INTERVAL_FAILED, -1, 0);
    check_row(at_elapsed, RGM_INTERVAL_FAILED, -1, 0);
    check_row(after, RGM_INTERVAL_MEASURED, 1000, 500);
    cu.set("fail_cuEventCreate", RGM_CU_OUT_OF_MEMORY);
    for (int i = 0; i < 2 * RGM_SLOTS_PER_CHUNK; i++) (void)scope(events, 0, 1000);
    CHECK(atomic_load(&notes[RGM_ANOMALY_DROPPED_DEVICE_ROWS]) > 0);
    cu.set("fail_cuEventCreate", 0);
    stop(events);
}

TEST(a_driver_that_shuts_down_is_left_alone) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    (void)scope(events, 0, 1000);
    rgm_event_slot *open = rgm_events_begin(events, 0, true, -1);
    cu.set("gone", 1);
    (void)rgm_events_end(events, open, 0);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    rgm_events_close(events, 0);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_PENDING_INTERVALS]), 2);
    rgm_events_free(events);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_DEVICE_RESET]), 0);
}

TEST(what_the_device_has_not_finished_is_pending_after_a_bounded_wait) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(100000, 0);
    uint64_t done = scope(events, 0, 0);
    uint64_t number = scope(events, 0, 1000000000);
    CHECK_EQ_I64(rgm_events_drain(events, 20000000), 1);
    CHECK(row_of(done) && !row_of(number));
    rgm_events_close(events, 1000000);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_PENDING_INTERVALS]), 1);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    stop(events);
}

TEST(an_abandoned_scope_gives_its_events_back) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, RGM_SLOTS_PER_CHUNK);
    for (int i = 0; i < 10 * RGM_SLOTS_PER_CHUNK; i++) {
        rgm_event_slot *slot = rgm_events_begin(events, 0, true, -1);
        REQUIRE(slot);
        rgm_events_abandon(events, slot);
        rgm_events_poll(events);
    }
    stop(events);
}

TEST(two_profilers_on_one_thread_do_not_mix) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *first = start(0, 0), *second = start(0, 0);
    rgm_events_stats stats;
    for (int i = 0; i < 100; i++) {
        CHECK(scope(first, 0, 1000));
        CHECK(scope(second, 0, 1000));
    }
    cu.advance(1000000);
    rgm_events_poll(first);
    rgm_events_get_stats(first, &stats);
    CHECK_EQ_U64(stats.resolved, 100);
    rgm_events_get_stats(second, &stats);
    CHECK_EQ_U64(stats.resolved, 0);
    rgm_events_free(first);
    rgm_events_poll(second);
    rgm_events_get_stats(second, &stats);
    CHECK_EQ_U64(stats.resolved, 100);
    stop(second);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), cu.get("calls_cuEventDestroy_v2"));
}

TEST(without_memory_scopes_go_without) {
    int64_t live = rgm_memory_live();
    for (int64_t after = 0; after < 8; after++) {
        REQUIRE(load_fake("cuda"));
        use_device(0);
        rgm_events *events = start(0, 0);
        rgm_memory_fail_after(after);
        for (int i = 0; i < 3; i++) {
            (void)scope(events, 0, 1000);
            cu.advance(10000);
            rgm_events_poll(events);
        }
        rgm_memory_fail_after(-1);
        uint64_t number = scope(events, 0, 1000);
        cu.advance(10000);
        rgm_events_poll(events);
        check_row(number, RGM_INTERVAL_MEASURED, 1000, 500);
        stop(events);
    }
    CHECK_EQ_I64(rgm_memory_live(), live);
}

TEST(whether_a_runtime_is_in_use_is_told_without_a_stream) {
    REQUIRE(load_fake("cuda"));
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_ready(events));
    CHECK_EQ_I64(cu.get("calls_cuInit"), 0);
    rgm_events_free(events);
    use_device(0);
    events = start(0, 0);
    CHECK(rgm_events_ready(events));
    stop(events);
}

// --- threads ----------------------------------------------------------------------------------------------

enum { THREADS = 4, SCOPES = 2000 };

static void *record_many(void *arg) {
    rgm_events *events = arg;
    void *stream = NULL;
    use_device(0);
    CHECK_OK(cu.create_stream(&stream, 1));
    for (int i = 0; i < SCOPES; i++) {
        rgm_event_slot *outer = rgm_events_begin(events, handle(stream), true, -1);
        (void)scope(events, handle(stream), 1000);
        if (outer) (void)rgm_events_end(events, outer, handle(stream));
        cu.advance(3000);
    }
    return NULL;
}

static void run_threads(rgm_events *events) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK_OK(pthread_create(&threads[i], NULL, record_many, events));
    for (int i = 0; i < THREADS; i++) CHECK_OK(pthread_join(threads[i], NULL));
}

TEST(threads_record_while_the_resolver_reads) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(200000, 0);
    rgm_events_stats stats;
    run_threads(events);
    rgm_events_get_stats(events, &stats);
    uint64_t slots = stats.slots;
    cu.advance(100000000);
    CHECK_EQ_I64(rgm_events_drain(events, 10000000000), 0);
    rgm_events_get_stats(events, &stats);
    CHECK_EQ_U64(stats.resolved, (uint64_t)THREADS * SCOPES * 2);
    CHECK_EQ_U64(stats.begun, stats.resolved);
    for (size_t i = 0; i < atomic_load(&row_count); i++)
        if (rows[i].state != RGM_INTERVAL_MEASURED || rows[i].duration_ns < 1000 - 500) {
            CHECK_EQ_I64(rows[i].state, RGM_INTERVAL_MEASURED);
            break;
        }
    // Threads that end leave their events to those that come.
    run_threads(events);
    rgm_events_get_stats(events, &stats);
    CHECK(stats.slots <= slots * 4);
    stop(events);
}

static rgm_event_slot *begun_elsewhere;
static void *begin_one(void *arg) {
    use_device(0);
    begun_elsewhere = rgm_events_begin(arg, 0, true, -1);
    return NULL;
}

TEST(a_scope_may_end_on_another_thread) {
    pthread_t thread;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    CHECK_OK(pthread_create(&thread, NULL, begin_one, events));
    CHECK_OK(pthread_join(thread, NULL));
    REQUIRE(begun_elsewhere);
    CHECK_OK(cu.work(NULL, 5000));
    uint64_t number = rgm_events_end(events, begun_elsewhere, 0);
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, 5000, 500);
    stop(events);
}

// --- fork -------------------------------------------------------------------------------------------------

static int in_child(rgm_events *events, rgm_event_slot *open) {
    bool quiet = !rgm_events_begin(events, 0, true, -1) && rgm_events_end(events, open, 0) == 0;
    rgm_events_close(events, 1000000000);
    rgm_events_free(events);
    return quiet && cu.get("calls_in_child") == 0 && rgm_driver_lost_by_fork() ? 0 : 1;
}

TEST(a_forked_child_never_calls_the_driver) {
    if (SANITIZED) return;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(100000, 0);
    rgm_event_slot *open = rgm_events_begin(events, 0, true, -1);
    pid_t child = fork();
    if (child == 0) _exit(in_child(events, open));
    int status = -1;
    CHECK_EQ_I64(waitpid(child, &status, 0), child);
    CHECK_EQ_I64(status, 0);
    CHECK_OK(cu.work(NULL, 5000));
    uint64_t number = rgm_events_end(events, open, 0);
    cu.advance(100000);
    CHECK_EQ_I64(rgm_events_drain(events, 5000000000), 0);
    check_row(number, RGM_INTERVAL_MEASURED, 5000, 500);
    stop(events);
}

// --- HIP --------------------------------------------------------------------------------------------------

TEST(hip_events_come_through_the_same_interface) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/libfake_hip.so", FAKES);
    setenv("REGIMETER_LIBCUDA", "off", 1);
    setenv("REGIMETER_LIBHIP", path, 1);
    rgm_driver_forget();
    rgm_hip_forget();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    void (*set)(const char *, long long);
    int (*work)(void *, long long), (*set_device)(int), (*create)(void **, unsigned);
    void (*advance)(long long), (*capture)(void *, int);
    long long (*get)(const char *);
    *(void **)&set = dlsym(library, "fake_hip_set");
    *(void **)&get = dlsym(library, "fake_hip_get");
    *(void **)&work = dlsym(library, "fake_hip_work");
    *(void **)&advance = dlsym(library, "fake_hip_advance");
    *(void **)&capture = dlsym(library, "fake_hip_capture");
    *(void **)&set_device = dlsym(library, "hipSetDevice");
    *(void **)&create = dlsym(library, "hipStreamCreateWithFlags");
    set("follow", 0);
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_begin(events, 0, false, -1)); // nobody told a stream: HIP may not be in use
    CHECK_EQ_I64(get("calls_hipGetDevice"), 0);
    rgm_clock_fake(UINT64_C(1) << 60); // well past the next attempt
    CHECK_OK(set_device(1));
    void *stream = NULL;
    CHECK_OK(create(&stream, 1));
    rgm_event_slot *slot = rgm_events_begin(events, handle(stream), true, -1);
    REQUIRE(slot);
    CHECK_OK(work(stream, 42000));
    uint64_t number = rgm_events_end(events, slot, handle(stream));
    capture(stream, 1);
    slot = rgm_events_begin(events, handle(stream), true, -1);
    uint64_t captured = rgm_events_end(events, slot, handle(stream));
    advance(100000);
    CHECK_OK(set_device(0)); // the resolver finds its device by itself, and restores this one
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, 42000, 500);
    check_row(captured, RGM_INTERVAL_CAPTURED, -1, 0);
    CHECK_EQ_I64(row_of(number)->device, 1);
    CHECK_EQ_I64(get("invalidated"), 0);
    rgm_clock_fake_stop();
    rgm_events_free(events);
    CHECK_EQ_I64(get("calls_hipEventCreateWithFlags"), get("calls_hipEventDestroy"));
    rgm_hip_forget();
    unsetenv("REGIMETER_LIBHIP");
}
