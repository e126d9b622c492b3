// SPDX-License-Identifier: Apache-2.0
// Tracing beside another tool of the process, by the functions of CUPTI 13.3. The other tool is this test,
// which calls the double as a tool calls the library.
#include <dlfcn.h>

#include "../fakes/cupti.h"
#include "capture/device.h"
#include "cuda/trace/cupti_records.h"
#include "cuda/trace/tracing.h"
#include "cuda/trace/tracing_state.h"
#include "recording.h"

static __typeof__(&fake_cupti_set) set_number;
static __typeof__(&fake_cupti_get) number;
static __typeof__(&fake_cupti_launch) launch;
static __typeof__(&fake_cupti_graph_launch) graph_launch;
static __typeof__(&fake_cupti_restart) restart;
static const rgm_cupti *cupti;
static const int64_t wait_ns = INT64_C(5000000000);

__attribute__((constructor)) static void load_doubles(void) {
    setenv("REGIMETER_LIBCUDA", FAKES "/libfake_cuda.so", 1);
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti.so", 1);
    void *handle = dlopen(FAKES "/libfake_cupti.so", RTLD_NOW);
    if (!handle) abort();
    *(void **)&set_number = dlsym(handle, "fake_cupti_set");
    *(void **)&number = dlsym(handle, "fake_cupti_get");
    *(void **)&launch = dlsym(handle, "fake_cupti_launch");
    *(void **)&graph_launch = dlsym(handle, "fake_cupti_graph_launch");
    *(void **)&restart = dlsym(handle, "fake_cupti_restart");
}

// --- the other tool ---------------------------------------------------------------------------------------

enum { THEIR_BYTES = 1 << 16 };
static _Atomic(int) kernels_of_theirs;

static void their_request(uint8_t **buffer, size_t *size, size_t *most, const void *info) {
    (void)info;
    *buffer = malloc(THEIR_BYTES);
    *size = *buffer ? THEIR_BYTES : 0;
    *most = 0;
}

static void their_completed(uint8_t *buffer, size_t size, size_t valid, const void *info) {
    (void)size, (void)info;
    void *record = NULL;
    while (cupti->next_record(buffer, valid, &record) == RGM_CUPTI_SUCCESS) {
        uint32_t kind;
        memcpy(&kind, record, sizeof kind);
        kernels_of_theirs += kind == RGM_CUPTI_KIND_CONCURRENT_KERNEL;
    }
    free(buffer);
}

static void hears_nothing(void *user, int domain, uint32_t id, const void *data) {
    (void)user, (void)domain, (void)id, (void)data;
}

static rgm_cupti_result they_subscribe(rgm_cupti_subscriber *them, bool allow) {
    RGM_PARAMS(rgm_cupti_subscriber_parameters, p, padding);
    p.name = "other tool";
    p.allow_several = allow;
    rgm_cupti_result result = cupti->subscribe_of(them, hears_nothing, NULL, &p);
    if (result != RGM_CUPTI_SUCCESS) return result;
    kernels_of_theirs = 0;
    CHECK_EQ_I64(cupti->register_callbacks_of(*them, their_request, their_completed), 0);
    CHECK_EQ_I64(cupti->enable_of(*them, RGM_CUPTI_KIND_CONCURRENT_KERNEL, NULL), 0);
    return RGM_CUPTI_SUCCESS;
}

static void they_end(rgm_cupti_subscriber them) {
    CHECK_EQ_I64(cupti->flush_all(RGM_CUPTI_FLUSH_FORCED), 0);
    CHECK_EQ_I64(cupti->disable_of(them, RGM_CUPTI_KIND_CONCURRENT_KERNEL, NULL), 0);
    CHECK_EQ_I64(cupti->unsubscribe(them), 0);
}

// --- ours -------------------------------------------------------------------------------------------------

typedef struct {
    rgm_session *session;
    rgm_device_sink sink;
    rgm_tracing_options options;
    rgm_error err;
} ours;

static ours make(long long version, long long several, int64_t how_far) {
    ours o = {.options = RGM_TRACING_DEFAULTS};
    const rgm_driver *driver;
    o.options.flush_interval_ns = INT64_C(3600) * 1000000000; // only when asked to
    o.options.several = how_far;
    restart();
    rgm_cupti_forget();
    set_number("version", version);
    set_number("several", several);
    rgm_clock_init();
    CHECK_OK(rgm_driver_start(&driver, NULL));
    CHECK_OK(rgm_cupti_get(&cupti, driver, NULL));
    CHECK_OK(rgm_session_new(&o.session, &RGM_SESSION_DEFAULTS, NULL, NULL));
    o.sink = rgm_session_sink(o.session);
    return o;
}

static rgm_status start(ours *o) {
    rgm_error_clear(&o->err);
    return rgm_tracing_start(o->sink, &o->options, &o->err);
}

static size_t finish(ours *o) {
    rgm_run *run = NULL;
    rgm_tracing_stop(o->sink.arg, wait_ns);
    rgm_session_stop(o->session);
    CHECK_OK(rgm_session_snapshot(o->session, &run, NULL));
    rgm_session_free(o->session);
    size_t kernels = 0;
    for (size_t i = 0; i < run->spans.rows; i++)
        kernels += run->spans.kind[i] == RGM_KIND_KERNEL && run->spans.launch[i] >= 0;
    rgm_run_free(run);
    CHECK_EQ_I64(number("forbidden"), 0);
    return kernels;
}

static rgm_tracing_stats stats_now(void) {
    rgm_tracing_stats stats;
    rgm_tracing_get_stats(&stats);
    return stats;
}

// --- tests ------------------------------------------------------------------------------------------------

static void both_have_all(long long version, bool own_clock) {
    rgm_cupti_subscriber them;
    ours o = make(version, 1, RGM_SUBSCRIBE_JOIN);
    CHECK_EQ_I64(they_subscribe(&them, true), 0);
    CHECK_OK(start(&o));
    CHECK(stats_now().several);
    CHECK(stats_now().own_clock == own_clock);
    for (int i = 0; i < 10; i++) (void)launch("k", 7, 0, 1000);
    CHECK_EQ_U64(finish(&o), 10);
    (void)launch("after", 7, 0, 1000);
    CHECK_EQ_I64(cupti->flush_all(RGM_CUPTI_FLUSH), 0);
    CHECK_EQ_I64(kernels_of_theirs, 11);
    CHECK_EQ_I64(number("kinds"), 1); // ours have been disabled, theirs have not
    they_end(them);
    CHECK_EQ_I64(number("subscribed"), 0);
}

TEST(a_tool_that_allows_others_is_joined) { both_have_all(130300, false); }
TEST(each_has_a_clock_from_13_4_on) { both_have_all(130400, true); }

TEST(a_tool_that_comes_later_joins_where_it_is_allowed) {
    rgm_cupti_subscriber them;
    ours o = make(130300, 1, RGM_SUBSCRIBE_ALLOW);
    CHECK_OK(start(&o));
    CHECK(stats_now().several);
    CHECK_EQ_I64(cupti->subscribe(&them, hears_nothing, NULL), RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CHECK_EQ_I64(they_subscribe(&them, true), 0);
    (void)launch("k", 7, 0, 1000);
    CHECK_EQ_U64(finish(&o), 1);
    they_end(them);
    CHECK_EQ_I64(kernels_of_theirs, 1);
}

// Left to itself this tool is one of the first version, so that tools of today get what they ask for.
TEST(alone_it_uses_the_first_version) {
    rgm_cupti_subscriber them;
    ours o = make(130300, 1, RGM_TRACING_DEFAULTS.several);
    CHECK_OK(start(&o));
    CHECK(!stats_now().several);
    CHECK_EQ_I64(they_subscribe(&them, true), RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    (void)launch("k", 7, 0, 1000);
    CHECK_EQ_U64(finish(&o), 1);
}

TEST(a_driver_without_it_serves_the_first_version) {
    ours o = make(130300, 0, RGM_SUBSCRIBE_ALLOW);
    CHECK_OK(start(&o));
    CHECK(!stats_now().several);
    (void)launch("k", 7, 0, 1000);
    CHECK_EQ_U64(finish(&o), 1);
    o = make(130200, 1, RGM_SUBSCRIBE_ALLOW); // the functions are there, but a preview
    CHECK_OK(start(&o));
    CHECK(!stats_now().several);
    CHECK_EQ_U64(finish(&o), 0);
}

TEST(a_tool_that_allows_no_other_is_named) {
    rgm_cupti_subscriber them;
    ours o = make(130300, 1, RGM_SUBSCRIBE_JOIN);
    CHECK_EQ_I64(they_subscribe(&them, false), 0);
    CHECK_EQ_I64(start(&o), RGM_UNAVAILABLE);
    CHECK(strstr(o.err.message, "other tool") != NULL);
    rgm_session_free(o.session);
    they_end(them);
    o = make(130300, 1, RGM_SUBSCRIBE_ALONE);
    CHECK_EQ_I64(they_subscribe(&them, true), 0);
    CHECK_EQ_I64(start(&o), RGM_UNAVAILABLE);
    rgm_session_free(o.session);
    they_end(them);
}

// Whether graphs are recorded node by node is one choice for all: that of the tool that was there.
TEST(graphs_are_as_the_first_tool_has_them) {
    rgm_cupti_subscriber them;
    const uint64_t nodes[] = {1, 2, 3};
    ours o = make(130300, 1, RGM_SUBSCRIBE_JOIN);
    CHECK_EQ_I64(they_subscribe(&them, true), 0); // by node, as where nobody has asked for the whole
    CHECK_OK(start(&o));
    CHECK(stats_now().graph_nodes);
    (void)graph_launch(5, nodes, 3);
    CHECK_EQ_U64(finish(&o), 3);
    they_end(them);
    o = make(130300, 1, RGM_SUBSCRIBE_ALLOW);
    o.options.graph_nodes = 0;
    CHECK_OK(start(&o));
    CHECK(!stats_now().graph_nodes);
    (void)graph_launch(5, nodes, 3);
    CHECK_EQ_U64(finish(&o), 1);
}

// Beside others CUPTI is not taken out of the process.
TEST(detaching_leaves_cupti_to_the_others) {
    rgm_cupti_subscriber them;
    ours o = make(130300, 1, RGM_SUBSCRIBE_JOIN);
    o.options.detach = 1;
    CHECK_EQ_I64(they_subscribe(&them, true), 0);
    CHECK_OK(start(&o));
    (void)launch("k", 7, 0, 1000);
    CHECK_EQ_U64(finish(&o), 1);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_ATTACHED);
    CHECK_EQ_I64(number("finalized"), 0);
    they_end(them);
}
