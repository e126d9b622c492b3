// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/pm_sampling.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#include "counting.h"
#include "faults.h"

enum { METRICS = 14 };

static rgm_pm_options quick(void) {
    rgm_pm_options options = rgm_pm_defaults();
    options.decode_ns = 1000000;
    return options;
}

// Waits until the double has been asked often enough; bounded, and no claim about time.
static void wait_for(const fake_library *fake, const char *number, long long least) {
    for (int i = 0; i < 20000 && fake->get(number) < least; i++) (void)usleep(500);
}

typedef struct {
    fake_library fake;
    rgm_device_sink sink;
    kept *kept;
    rgm_pm_sampling *sampling;
    rgm_error err;
} bench;

static bench bench_make(void) {
    bench b = {.fake = counters_open()};
    b.kept = kept_new(&b.sink);
    return b;
}

static rgm_status bench_start(bench *b) {
    rgm_pm_options options = quick();
    return rgm_pm_sampling_start(&b->sampling, &options, b->sink, &b->err);
}

static void bench_end(bench *b) {
    CHECK_EQ_I64(b->fake.get("misuse"), 0);
    CHECK_EQ_I64(b->fake.get("users"), 0);
    CHECK_EQ_I64(b->fake.get("hosts"), 0);
    counters_close(b->fake);
    free(b->kept);
}

// What the double says about sample s and metric m, from its own rule.
static void check_rows(const kept *k, size_t first_sample, size_t samples) {
    CHECK_EQ_U64(k->n_rows, samples * METRICS);
    for (size_t i = 0; i < k->n_rows && i < samples * METRICS; i++) {
        size_t sample = first_sample + i / METRICS, metric = i % METRICS;
        CHECK_NEAR(k->rows[i].value, 1000.0 * (double)sample + (double)metric, 0);
        CHECK_EQ_U64(k->rows[i].series, metric + 1);
        CHECK_EQ_I64(k->rows[i].device, 0);
    }
}

TEST(samples_reach_the_sink_in_order_and_without_the_first) {
    bench b = bench_make();
    int64_t before = rgm_clock_monotonic_ns();
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    wait_for(&b.fake, "decodes", 6);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    int64_t after = rgm_clock_monotonic_ns();
    CHECK_EQ_I64(counts.samples, 39);
    CHECK_EQ_I64(counts.dropped, 0);
    CHECK_EQ_I64(counts.failures, 0);
    CHECK(!counts.guessed);
    check_rows(b.kept, 1, 39);
    CHECK_STR_EQ(kept_name(b.kept, 1), "gpu__time_duration.sum");
    CHECK_STR_EQ(kept_name(b.kept, 2), "dram__throughput.avg.pct_of_peak_sustained_elapsed");
    // The double's samples end 2 ms before its start, 1 ms long each; its clock is another than
    // CLOCK_MONOTONIC.
    for (size_t i = METRICS; i < b.kept->n_rows; i += METRICS)
        CHECK_NEAR(b.kept->rows[i].time_ns - b.kept->rows[i - METRICS].time_ns, 1e6, 1e5);
    CHECK(b.kept->rows[0].time_ns > before - 42 * 1000000);
    CHECK(b.kept->rows[b.kept->n_rows - 1].time_ns < after);
    CHECK_EQ_I64(b.kept->notes[RGM_ANOMALY_DROPPED_COUNTERS], 0);
    bench_end(&b);
}

TEST(what_is_left_when_sampling_stops_is_decoded) {
    bench b = bench_make();
    rgm_pm_options options = rgm_pm_defaults();
    options.decode_ns = INT64_C(3600000000000); // the thread decodes once; the rest is stop's
    CHECK_OK(rgm_pm_sampling_start(&b.sampling, &options, b.sink, &b.err));
    REQUIRE(b.sampling);
    rgm_pm_sampling_stop(b.sampling, NULL);
    check_rows(b.kept, 1, 39);
    bench_end(&b);
}

TEST(samples_out_of_order_are_sorted) {
    bench b = bench_make();
    b.fake.set("reverse", 1);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    check_rows(b.kept, 1, 39);
    CHECK_EQ_I64(counts.late, 0);
    bench_end(&b);
}

TEST(missing_samples_are_counted_from_their_times) {
    bench b = bench_make();
    b.fake.set("gap_at", 15);
    b.fake.set("gap", 7);
    b.fake.set("overflow_at", 1);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    wait_for(&b.fake, "decodes", 6);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK_EQ_I64(counts.overflows, 1);
    CHECK_EQ_I64(counts.dropped, 7);
    CHECK_EQ_I64(b.kept->notes[RGM_ANOMALY_DROPPED_COUNTERS], counts.dropped);
    CHECK_EQ_I64(counts.samples, 39);
    bench_end(&b);
}

TEST(an_overflow_after_which_nothing_comes_is_counted) {
    bench b = bench_make();
    b.fake.set("total", 0);
    b.fake.set("overflow_at", 1);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    wait_for(&b.fake, "decodes", 3);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK_EQ_I64(counts.overflows, 1);
    CHECK_EQ_I64(counts.dropped, 1);
    CHECK_EQ_I64(b.kept->notes[RGM_ANOMALY_DROPPED_COUNTERS], 1);
    CHECK_EQ_U64(b.kept->n_rows, 0);
    bench_end(&b);
}

TEST(what_is_too_much_to_decode_at_the_end_is_said_to_be_lost) {
    bench b = bench_make();
    rgm_pm_options options = rgm_pm_defaults();
    options.decode_ns = INT64_C(3600000000000);
    options.max_samples = 2;
    b.fake.set("total", 1000);
    b.fake.set("interval", 1000);
    options.interval_ns = 1000;
    CHECK_OK(rgm_pm_sampling_start(&b.sampling, &options, b.sink, &b.err));
    REQUIRE(b.sampling);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    // 64 decodes of 2 by stop, and as many by the thread, if it came to run before it was told to end.
    CHECK(counts.samples == 127 || counts.samples == 255);
    CHECK_EQ_I64(counts.dropped, 1);
    CHECK_EQ_I64(b.kept->notes[RGM_ANOMALY_DROPPED_COUNTERS], 1);
    bench_end(&b);
}

TEST(overflows_of_a_chip_that_counts_cycles_are_counted_one_by_one) {
    bench b = bench_make();
    b.fake.set("chip", 1);
    b.fake.set("gap_at", 15);
    b.fake.set("gap", 7);
    b.fake.set("overflow_at", 1);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    wait_for(&b.fake, "decodes", 6);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK_EQ_I64(counts.dropped, 1); // how many is not known there
    CHECK_EQ_I64(counts.samples, 39);
    bench_end(&b);
}

TEST(a_decode_that_fails_does_not_end_the_sampling) {
    bench b = bench_make();
    b.fake.set("decode_fails_at", 1);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    wait_for(&b.fake, "decodes", 7);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK_EQ_I64(counts.failures, 1);
    CHECK_EQ_I64(counts.overflows,
                 1); // "out of memory" is what the real one says when its buffer has overflowed
    CHECK_EQ_I64(counts.dropped, 1);
    check_rows(b.kept, 1, 39);
    bench_end(&b);
}

TEST(samples_that_come_twice_are_taken_once) {
    bench b = bench_make();
    b.fake.set("clear_fails_at", 2); // the image after the second batch is not cleared
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    wait_for(&b.fake, "decodes", 7);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK_EQ_I64(counts.late, 10);
    check_rows(b.kept, 1, 39);
    b.fake.set("misuse", 0); // the double minds an image that was not cleared
    bench_end(&b);
}

TEST(a_value_that_is_no_number_makes_no_row) {
    bench b = bench_make();
    b.fake.set("nan_metric", 3);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    rgm_pm_sampling_stop(b.sampling, NULL);
    CHECK_EQ_U64(b.kept->n_rows, 39 * (METRICS - 1));
    for (size_t i = 0; i < b.kept->n_rows; i++) CHECK(b.kept->rows[i].series != 4);
    bench_end(&b);
}

TEST(another_clock_of_the_library_does_not_matter) {
    bench b = bench_make();
    b.fake.set("clock_shift", 86400LL * 1000000000);
    int64_t before = rgm_clock_monotonic_ns();
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK(!counts.guessed);
    CHECK(b.kept->rows[0].time_ns > before - 42 * 1000000 &&
          b.kept->rows[0].time_ns < rgm_clock_monotonic_ns());
    bench_end(&b);
}

TEST(samples_on_an_unknown_clock_are_put_at_their_decoding) {
    bench b = bench_make();
    b.fake.set("sample_shift", -86400LL * 1000000000);
    int64_t before = rgm_clock_monotonic_ns();
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK(counts.guessed);
    CHECK_EQ_I64(counts.samples, 39);
    CHECK(b.kept->rows[0].time_ns > before - 42 * 1000000 &&
          b.kept->rows[0].time_ns < rgm_clock_monotonic_ns());
    bench_end(&b);
}

// Seconds off are no clock either, though no time lies in the future.
TEST(samples_that_are_seconds_old_are_on_an_unknown_clock) {
    bench b = bench_make();
    b.fake.set("sample_shift", -3LL * 1000000000);
    int64_t before = rgm_clock_monotonic_ns();
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    rgm_pm_counts counts;
    rgm_pm_sampling_stop(b.sampling, &counts);
    CHECK(counts.guessed);
    CHECK(b.kept->rows[0].time_ns > before - 42 * 1000000);
    for (size_t i = 1; i < b.kept->n_rows; i++) CHECK(b.kept->rows[i].time_ns >= b.kept->rows[i - 1].time_ns);
    bench_end(&b);
}

TEST(the_configuration_is_as_long_as_the_version_knows) {
    static const int versions[] = {24, 26, 28, 130000};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        bench b = bench_make();
        b.fake.set("version", versions[i]);
        CHECK_OK(bench_start(&b));
        rgm_pm_sampling_stop(b.sampling, NULL);
        CHECK_EQ_I64(b.fake.get("misuse"), 0);
        CHECK_EQ_I64(b.fake.get("append"), versions[i] < 26 ? -1 : RGM_CUPTI_KEEP_LATEST);
        bench_end(&b);
    }
}

TEST(what_does_not_fit_one_pass_is_left_out) {
    bench b = bench_make();
    b.fake.set("per_pass", 5);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    const rgm_counter_plan *plan = rgm_pm_sampling_plan(b.sampling);
    CHECK_EQ_U64(plan->passes, 3);
    CHECK_EQ_I64(plan->groups, 3);
    CHECK_EQ_I64(plan->rows[4].pass, 0);
    CHECK_EQ_I64(plan->rows[5].pass, 1);
    rgm_pm_sampling_stop(b.sampling, NULL);
    CHECK_EQ_U64(b.kept->n_rows, 39 * 5);
    bench_end(&b);
}

TEST(the_trigger_is_what_the_chip_can) {
    static const struct {
        int chip, trigger, append;
        long long interval;
    } cases[] = {{0, RGM_CUPTI_TRIGGER_TIME, RGM_CUPTI_KEEP_LATEST, 1000000},
                 {1, RGM_CUPTI_TRIGGER_CYCLES, RGM_CUPTI_KEEP_LATEST, 1200000},
                 {2, RGM_CUPTI_TRIGGER_CYCLES, RGM_CUPTI_KEEP_OLDEST, 1200000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b = bench_make();
        b.fake.set("chip", cases[i].chip);
        CHECK_OK(bench_start(&b));
        rgm_pm_sampling_stop(b.sampling, NULL);
        CHECK_EQ_I64(b.fake.get("trigger"), cases[i].trigger);
        CHECK_EQ_I64(b.fake.get("append"), cases[i].append);
        CHECK_EQ_I64(b.fake.get("configured_interval"), cases[i].interval);
        bench_end(&b);
    }
}

TEST(a_chip_without_sampling_says_so) {
    bench b = bench_make();
    b.fake.set("chip", 3);
    CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
    CHECK(strstr(b.err.message, "GV100 has no sampling"));
    bench_end(&b);
}

// Each call that reaches the device, refused in turn: a reason, nothing left behind, and for rights how to
// get them.
TEST(missing_rights_are_explained_wherever_they_are_found_out) {
    int calls = 0;
    for (int at = 1; at < 20; at++) {
        bench b = bench_make();
        b.fake.set("fail_at", at);
        rgm_status status = bench_start(&b);
        if (status == RGM_OK) {
            rgm_pm_sampling_stop(b.sampling, NULL);
            bench_end(&b);
            break;
        }
        calls++;
        CHECK_EQ_I64(status, RGM_UNAVAILABLE);
        CHECK(!b.sampling);
        CHECK(strstr(b.err.message, "CAP_PERFMON"));
        CHECK(strstr(b.err.message, "NVreg_RestrictProfilingToAdminUsers=0"));
        CHECK(strstr(b.err.message, "root"));
        CHECK_EQ_U64(b.kept->n_rows, 0);
        bench_end(&b);
    }
    CHECK_EQ_I64(calls, 7);
}

TEST(another_profiler_is_named_as_the_reason) {
    bench b = bench_make();
    b.fake.set("fail_at", 5);
    b.fake.set("fail_with", RGM_CUPTI_HARDWARE_BUSY);
    CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
    CHECK(strstr(b.err.message, "dcgmi profile --pause"));
    bench_end(&b);
}

TEST(two_samplings_of_one_device_do_not_go) {
    bench b = bench_make();
    rgm_pm_sampling *other = NULL;
    rgm_pm_options options = quick();
    CHECK_OK(bench_start(&b));
    CHECK_EQ_I64(rgm_pm_sampling_start(&other, &options, b.sink, &b.err), RGM_UNAVAILABLE);
    CHECK(!other);
    CHECK_EQ_I64(b.fake.get("users"), 1);
    rgm_pm_sampling_stop(b.sampling, NULL);
    bench_end(&b);
}

TEST(a_child_of_fork_lets_go_without_a_call) {
    bench b = bench_make();
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        long long calls = b.fake.get("decodes") + b.fake.get("users");
        rgm_pm_sampling_stop(b.sampling, NULL);
        _exit(b.fake.get("decodes") + b.fake.get("users") == calls ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    rgm_pm_sampling_stop(b.sampling, NULL);
    check_rows(b.kept, 1, 39);
    bench_end(&b);
}

TEST(nonsense_is_refused) {
    bench b = bench_make();
    rgm_pm_options options[] = {quick(), quick(), quick(), quick()};
    options[0].device = -1;
    options[1].interval_ns = 0;
    options[2].max_samples = 0;
    options[3].set = RGM_COUNTER_SET_FP;
    for (int i = 0; i < 4; i++)
        CHECK_EQ_I64(rgm_pm_sampling_start(&b.sampling, &options[i], b.sink, &b.err), RGM_INVALID);
    rgm_pm_sampling_stop(NULL, NULL);
    bench_end(&b);
}

TEST(no_memory_at_any_place_leaves_nothing_behind) {
    EACH_FAULT("a start") {
        bench b = bench_make();
        if (FAULTY(bench_start(&b)) == RGM_OK) rgm_pm_sampling_stop(b.sampling, NULL);
        bench_end(&b);
    }
}
