// SPDX-License-Identifier: Apache-2.0
// Either source of counters outlives the function that starts it, as in a binding: what it was handed must
// too.
#include "cuda/counters/counter_sampling.h"

#include <string.h>
#include <unistd.h>

#include "harness.h"

#include "counting.h"

typedef struct {
    fake_library profiler, nvml;
    kept *kept;
    rgm_counter_sampling *sampling;
    rgm_error err;
} bench;

static bench bench_make(void) {
    static const char path[] = FAKES "/libfake_gpm.so";
    bench b = {.profiler = counters_open()};
    (void)setenv("REGIMETER_LIBNVML", path, 1);
    b.nvml = fake_open(path, "gpm");
    return b;
}

static void bench_end(bench *b) {
    CHECK_EQ_I64(b->profiler.get("misuse"), 0);
    CHECK_EQ_I64(b->nvml.get("users"), 0);
    (void)dlclose(b->nvml.handle);
    counters_close(b->profiler);
    free(b->kept);
}

// Starts as a binding does: the sink is a local of a function that returns.
__attribute__((noinline)) static rgm_status start(bench *b, rgm_counter_feed feed) {
    rgm_device_sink sink;
    b->kept = kept_new(&sink);
    rgm_sampling_options options = {.feed = feed, .set = RGM_COUNTER_SET_PM, .interval_ns = 1000000};
    return rgm_counter_sampling_start(&b->sampling, &options, sink, &b->err);
}

__attribute__((noinline)) static int overwrite_the_stack(void) {
    volatile char room[4096];
    for (size_t i = 0; i < sizeof room; i++) room[i] = 0x5a;
    return room[sizeof room - 1];
}

static size_t kept_rows(kept *k) {
    pthread_mutex_lock(&k->mutex);
    size_t n = k->n_rows;
    pthread_mutex_unlock(&k->mutex);
    return n;
}

// Bounded, and no claim about time.
static void wait_for_rows(kept *k, size_t least) {
    for (int i = 0; i < 20000 && kept_rows(k) < least; i++) (void)usleep(500);
}

TEST(rows_of_pm_sampling_arrive_after_its_starter_has_returned) {
    bench b = bench_make();
    CHECK_OK(start(&b, RGM_COUNTER_FEED_PM));
    REQUIRE(b.sampling);
    CHECK(overwrite_the_stack());
    wait_for_rows(b.kept, 14);
    CHECK(kept_rows(b.kept) >= 14);
    rgm_sampling_report report;
    rgm_counter_sampling_stop(b.sampling, &report);
    CHECK_EQ_I64(report.feed, RGM_COUNTER_FEED_PM);
    CHECK_EQ_I64(report.pm.samples, 39);
    CHECK_STR_EQ(kept_name(b.kept, b.kept->rows[0].series), "gpu__time_duration.sum");
    bench_end(&b);
}

TEST(rows_of_gpm_arrive_after_its_starter_has_returned) {
    bench b = bench_make();
    CHECK_OK(start(&b, RGM_COUNTER_FEED_GPM));
    REQUIRE(b.sampling);
    CHECK(overwrite_the_stack());
    wait_for_rows(b.kept, 1);
    CHECK(kept_rows(b.kept) >= 1);
    rgm_sampling_report report;
    rgm_counter_sampling_stop(b.sampling, &report);
    CHECK_EQ_I64(report.feed, RGM_COUNTER_FEED_GPM);
    CHECK(report.gpm.samples >= 1);
    bench_end(&b);
}

TEST(gpm_takes_over_where_pm_sampling_is_refused_and_says_why) {
    bench b = bench_make();
    b.profiler.set("no_context", 1);
    b.profiler.set("fail_at", 1);
    CHECK_OK(start(&b, RGM_COUNTER_FEED_AUTO));
    REQUIRE(b.sampling);
    CHECK(overwrite_the_stack());
    wait_for_rows(b.kept, 1);
    CHECK(kept_rows(b.kept) >= 1);
    rgm_sampling_report report;
    rgm_counter_sampling_stop(b.sampling, &report);
    CHECK_EQ_I64(report.feed, RGM_COUNTER_FEED_GPM);
    CHECK(strlen(report.reason) > 0);
    bench_end(&b);
}
