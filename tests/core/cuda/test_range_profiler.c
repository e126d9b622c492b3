// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/range_profiler.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#include "counting.h"
#include "faults.h"

typedef struct {
    fake_library fake;
    rgm_device_sink sink;
    kept *kept;
    rgm_range_options options;
    rgm_range_profiler *profiler;
    rgm_range_counts counts;
    rgm_error err;
} bench;

static bench bench_make(void) {
    bench b = {.fake = counters_open(), .options = rgm_range_defaults()};
    b.kept = kept_new(&b.sink);
    return b;
}

static rgm_status bench_start(bench *b) {
    return rgm_range_profiler_start(&b->profiler, &b->options, b->sink, &b->err);
}

static void bench_end(bench *b) {
    CHECK_EQ_I64(b->fake.get("misuse"), 0);
    CHECK_EQ_I64(b->fake.get("users"), 0);
    CHECK_EQ_I64(b->fake.get("hosts"), 0);
    counters_close(b->fake);
    free(b->kept);
}

static void one_range(bench *b, uint32_t name) {
    rgm_range_profiler_push(b->profiler, name);
    rgm_range_profiler_pop(b->profiler);
}

TEST(a_range_becomes_a_row_with_its_counters) {
    bench b = bench_make();
    int64_t before = rgm_clock_monotonic_ns();
    CHECK_OK(bench_start(&b));
    REQUIRE(b.profiler);
    CHECK_EQ_U64(b.kept->n_names, 5);
    for (uint32_t i = 0; i < 3; i++) one_range(&b, 100 + i % 2);
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_I64(b.counts.ranges, 3);
    CHECK_EQ_U64(b.kept->n_activities, 3);
    CHECK_EQ_U64(b.kept->n_rows, 15);
    CHECK_STR_EQ(kept_name(b.kept, 2), "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed");
    for (size_t i = 0; i < b.kept->n_activities; i++) {
        const rgm_activity_row *row = &b.kept->activities[i];
        CHECK_EQ_I64(row->kind, RGM_KIND_COUNTER_RANGE);
        CHECK_EQ_U64(row->name, 100 + i % 2);
        CHECK(row->start_ns >= before && row->duration_ns >= 0);
        CHECK(!i || row->start_ns > row[-1].start_ns);
        for (size_t m = 0; m < 5; m++) {
            const rgm_counter_row *counter = &b.kept->rows[5 * i + m];
            CHECK_EQ_I64(counter->time_ns, row->start_ns);
            CHECK_NEAR(counter->value, 1000.0 * (double)i + (double)m, 0);
            CHECK_EQ_U64(counter->series, m + 1);
        }
    }
    // What would run the user's code again, or serialise its kernels, is never asked for.
    CHECK_EQ_I64(b.fake.get("range_mode"), RGM_CUPTI_USER_RANGE);
    CHECK_EQ_I64(b.fake.get("replay_mode"), RGM_CUPTI_USER_REPLAY);
    CHECK_EQ_I64(b.fake.get("max_ranges"), 1000);
    bench_end(&b);
}

TEST(ranges_with_one_start_time_are_told_apart) {
    bench b = bench_make();
    rgm_clock_fake(5000);
    CHECK_OK(bench_start(&b));
    for (int i = 0; i < 3; i++) one_range(&b, 1);
    rgm_range_profiler_stop(b.profiler, NULL);
    rgm_clock_fake_stop();
    CHECK_EQ_U64(b.kept->n_activities, 3);
    for (size_t i = 0; i < b.kept->n_activities; i++)
        CHECK_EQ_I64(b.kept->activities[i].start_ns, 5000 + (int64_t)i);
    bench_end(&b);
}

TEST(a_range_inside_a_range_belongs_to_it) {
    bench b = bench_make();
    CHECK_OK(bench_start(&b));
    rgm_range_profiler_push(b.profiler, 1);
    one_range(&b, 2);
    rgm_range_profiler_push(b.profiler, 3);
    rgm_range_profiler_pop(b.profiler);
    rgm_range_profiler_pop(b.profiler);
    rgm_range_profiler_pop(b.profiler); // one too many does nothing
    one_range(&b, 4);
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_I64(b.counts.nested, 2);
    CHECK_EQ_I64(b.counts.ranges, 2);
    CHECK_EQ_U64(b.kept->activities[0].name, 1);
    CHECK_EQ_U64(b.kept->activities[1].name, 4);
    bench_end(&b);
}

TEST(ranges_beyond_the_room_are_counted) {
    bench b = bench_make();
    b.options.max_ranges = 3;
    CHECK_OK(bench_start(&b));
    for (uint32_t i = 0; i < 5; i++) one_range(&b, i + 1);
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_I64(b.counts.ranges, 3);
    CHECK_EQ_I64(b.counts.dropped, 2);
    CHECK_EQ_I64(b.kept->notes[RGM_ANOMALY_DROPPED_COUNTERS], 2);
    bench_end(&b);
}

TEST(ranges_that_the_library_drops_are_counted) {
    bench b = bench_make();
    b.fake.set("range_limit", 2);
    CHECK_OK(bench_start(&b));
    for (uint32_t i = 0; i < 5; i++) one_range(&b, i + 1);
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_I64(b.counts.ranges, 2);
    CHECK_EQ_I64(b.counts.dropped, 3);
    CHECK_EQ_I64(b.kept->notes[RGM_ANOMALY_DROPPED_COUNTERS], 3);
    bench_end(&b);
}

TEST(a_range_that_is_open_at_the_end_is_closed) {
    bench b = bench_make();
    CHECK_OK(bench_start(&b));
    rgm_range_profiler_push(b.profiler, 1);
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_I64(b.counts.ranges, 1);
    bench_end(&b);
}

TEST(a_failing_pop_is_counted) {
    bench b = bench_make();
    b.fake.set("range_pop_fails", 1);
    CHECK_OK(bench_start(&b));
    one_range(&b, 1);
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_I64(b.counts.failures, 1);
    bench_end(&b);
}

static void *push_from_elsewhere(void *arg) {
    rgm_range_profiler_push(arg, 9);
    rgm_range_profiler_pop(arg);
    return NULL;
}

TEST(other_threads_are_counted_and_change_nothing) {
    bench b = bench_make();
    pthread_t threads[2];
    CHECK_OK(bench_start(&b));
    for (int i = 0; i < 2; i++) CHECK_OK(pthread_create(&threads[i], NULL, push_from_elsewhere, b.profiler));
    one_range(&b, 1);
    for (int i = 0; i < 2; i++) CHECK_OK(pthread_join(threads[i], NULL));
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_I64(b.counts.foreign, 4);
    CHECK_EQ_I64(b.counts.ranges, 1);
    bench_end(&b);
}

TEST(a_set_of_several_passes_is_cut_to_one) {
    bench b = bench_make();
    b.options.set = RGM_COUNTER_SET_FP;
    b.fake.set("per_pass", 4);
    CHECK_OK(bench_start(&b));
    CHECK_EQ_I64(rgm_range_profiler_plan(b.profiler)->groups, 3);
    one_range(&b, 1);
    rgm_range_profiler_stop(b.profiler, &b.counts);
    CHECK_EQ_U64(b.kept->n_rows, 4);
    bench_end(&b);
}

TEST(a_set_of_which_nothing_fits_is_refused) {
    bench b = bench_make();
    b.options.set = RGM_COUNTER_SET_TENSOR;
    b.fake.set("tensor", 0);
    CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
    CHECK(strstr(b.err.message, "\"tensor\""));
    CHECK(strstr(b.err.message, "GH100"));
    bench_end(&b);
}

TEST(missing_rights_are_explained_wherever_they_are_found_out) {
    int calls = 0;
    for (int at = 1; at < 20; at++) {
        bench b = bench_make();
        b.fake.set("fail_at", at);
        rgm_status status = bench_start(&b);
        if (status == RGM_OK) rgm_range_profiler_stop(b.profiler, NULL);
        bench_end(&b);
        if (status == RGM_OK) break;
        calls++;
        CHECK_EQ_I64(status, RGM_UNAVAILABLE);
        CHECK(!b.profiler);
        CHECK(strstr(b.err.message, "CAP_PERFMON"));
    }
    CHECK_EQ_I64(calls, 7);
}

TEST(without_a_context_it_says_what_to_do) {
    bench b = bench_make();
    b.fake.set("no_context", 1);
    CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
    CHECK(strstr(b.err.message, "no CUDA context"));
    bench_end(&b);
}

TEST(without_a_driver_it_says_why) {
    bench b = bench_make();
    b.fake.set("no_driver", 1);
    CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
    CHECK(strstr(b.err.message, "cuInit"));
    bench_end(&b);
}

TEST(a_child_of_fork_lets_go_without_a_call) {
    bench b = bench_make();
    CHECK_OK(bench_start(&b));
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        rgm_range_profiler_stop(b.profiler, NULL);
        _exit(b.fake.get("users") == 1 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    rgm_range_profiler_stop(b.profiler, NULL);
    bench_end(&b);
}

TEST(nonsense_is_refused) {
    bench b = bench_make();
    b.options.max_ranges = 0;
    CHECK_EQ_I64(bench_start(&b), RGM_INVALID);
    b.options = rgm_range_defaults();
    b.options.set = RGM_COUNTER_SET_PM;
    CHECK_EQ_I64(bench_start(&b), RGM_INVALID);
    rgm_range_profiler_stop(NULL, NULL);
    bench_end(&b);
}

TEST(no_memory_at_any_place_leaves_nothing_behind) {
    EACH_FAULT("a start") {
        bench b = bench_make();
        if (FAULTY(bench_start(&b)) == RGM_OK) rgm_range_profiler_stop(b.profiler, NULL);
        bench_end(&b);
    }
}
