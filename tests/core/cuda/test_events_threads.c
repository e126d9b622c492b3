// SPDX-License-Identifier: Apache-2.0
// Device time of scopes in threads and forked children, and with HIP.
#include <sys/wait.h>

#include "cuda/library/hip_library.h"
#include "event_device.h"

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

// --- a handle that is another stream in each thread -------------------------------------------------------

static uint64_t numbers[2];
static rgm_event_slot *of_thread;

static void *own_stream(void *arg) {
    rgm_events *events = arg;
    use_device(0);
    numbers[0] = scope(events, 2, 5000000);
    of_thread = rgm_events_begin(events, 2, true, -1);
    return NULL;
}

TEST(the_default_streams_of_threads_do_not_hold_each_other_up) {
    pthread_t thread;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    CHECK_OK(pthread_create(&thread, NULL, own_stream, events));
    CHECK_OK(pthread_join(thread, NULL)); // what takes long is asked for first
    numbers[1] = scope(events, 2, 3000);
    REQUIRE(of_thread);
    uint64_t across = rgm_events_end(events, of_thread, 2); // in this thread's stream, which is another one
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(numbers[1], RGM_INTERVAL_MEASURED, 3000, 500);
    check_row(across, RGM_INTERVAL_STREAM_CHANGED, -1, 0);
    CHECK(!row_of(numbers[0]));
    cu.advance(6000000);
    rgm_events_poll(events);
    check_row(numbers[0], RGM_INTERVAL_MEASURED, 5000000, 500);
    stop(events);
}

// --- green contexts ---------------------------------------------------------------------------------------

// Fills a pointer to a function of the double.
#define OF_DOUBLE(pointer, symbol)                                                                           \
    *(void **)&(pointer) = dlsym(cu.handle, symbol);                                                         \
    REQUIRE(pointer)

// What only one thread may have current is never made current in the resolver's.
TEST(a_green_context_is_left_to_its_thread) {
    int (*create)(void **, void *, int, unsigned), (*convert)(void **, void *), (*destroy)(void *);
    int (*create_stream)(void **, void *, unsigned, int);
    void *green = NULL, *context = NULL, *stream = NULL;
    REQUIRE(load_fake("cuda"));
    OF_DOUBLE(create, "cuGreenCtxCreate");
    OF_DOUBLE(convert, "cuCtxFromGreenCtx");
    OF_DOUBLE(destroy, "cuGreenCtxDestroy");
    OF_DOUBLE(create_stream, "cuGreenCtxStreamCreate");
    use_device(1);
    CHECK_OK(create(&green, NULL, 1, 1));
    CHECK_OK(convert(&context, green));
    CHECK_OK(create_stream(&stream, green, 1, 0));
    rgm_events *events = start(100000, 0);
    uint64_t before = scope(events, 0, 1000);
    CHECK_OK(cu.set_current(context));
    uint64_t inside = scope(events, 0, 7000), own = scope(events, handle(stream), 9000);
    cu.advance(100000);
    CHECK_EQ_I64(rgm_events_drain(events, 10000000000), 0);
    check_row(before, RGM_INTERVAL_MEASURED, 1000, 500);
    check_row(inside, RGM_INTERVAL_MEASURED, 7000, 500);
    check_row(own, RGM_INTERVAL_MEASURED, 9000, 500);
    CHECK_EQ_I64(row_of(inside)->device, 1);
    CHECK_EQ_I64(row_of(inside)->timeline, row_of(own)->timeline);
    CHECK(row_of(inside)->timeline != row_of(before)->timeline);
    // Its events outlive it, because they are the primary context's.
    uint64_t last = scope(events, 0, 4000);
    use_device(1);
    CHECK_OK(destroy(green));
    cu.advance(100000);
    CHECK_EQ_I64(rgm_events_drain(events, 10000000000), 0);
    check_row(last, RGM_INTERVAL_MEASURED, 4000, 500);
    CHECK_EQ_I64(cu.get("shared_green"), 0);
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
