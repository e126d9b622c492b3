// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/gpm.h"

#include <sys/wait.h>
#include <unistd.h>

#include "model/counter_roles.h"

#include "counting.h"
#include "faults.h"

typedef struct {
    fake_library fake, driver;
    rgm_device_sink sink;
    kept *kept;
    rgm_gpm *gpm;
    rgm_gpm_counts counts;
    rgm_error err;
} bench;

static bench bench_make(void) {
    bench b = {.driver = counters_open()}; // for the UUID of the device
    static const char path[] = FAKES "/libfake_gpm.so";
    (void)setenv("REGIMETER_LIBNVML", path, 1);
    b.fake = fake_open(path, "gpm");
    b.kept = kept_new(&b.sink);
    return b;
}

static rgm_status bench_start(bench *b) {
    rgm_gpm_options options = rgm_gpm_defaults();
    options.interval_ns = 1000000;
    return rgm_gpm_start(&b->gpm, &options, b->sink, &b->err);
}

static void wait_for_samples(const bench *b, long long least) {
    for (int i = 0; i < 20000 && b->fake.get("gets") < least; i++) (void)usleep(500);
}

static void bench_end(bench *b) {
    CHECK_EQ_I64(b->fake.get("users"), 0);
    CHECK_EQ_I64(b->fake.get("allocated"), 0);
    (void)dlclose(b->fake.handle);
    counters_close(b->driver);
    free(b->kept);
}

static double factor_of(const char *series) {
    return strstr(series, "bytes") ? 1048576.0 : 1.0; // the rates are MiB/s
}

// NVML's numbers, from its Python binding (nvidia-ml-py), not from our table.
static const struct {
    unsigned number;
    const char *series;
} known[] = {{2, "gpm__sm_active.pct"},
             {5, "gpm__tensor_active.pct"},
             {10, "gpm__dram_throughput.pct"},
             {21, "gpm__pcie_rx_bytes.per_second"},
             {60, "gpm__nvlink_rx_bytes.per_second"}};

static double number_of(const char *series) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].series, series) == 0) return known[i].number;
    return NAN;
}

TEST(values_between_two_samples_reach_the_sink) {
    bench b = bench_make();
    CHECK_OK(bench_start(&b));
    REQUIRE(b.gpm);
    wait_for_samples(&b, 4);
    rgm_gpm_stop(b.gpm, &b.counts);
    CHECK(b.counts.samples >= 3);
    CHECK_EQ_I64(b.counts.failures, 0);
    CHECK_EQ_U64(b.kept->n_rows, (size_t)b.counts.samples * rgm_gpm_metrics_count);
    size_t seen = 0;
    for (size_t i = 0; i < b.kept->n_rows; i++) {
        const rgm_counter_row *row = &b.kept->rows[i];
        const char *series = kept_name(b.kept, row->series);
        if (isnan(number_of(series))) continue;
        CHECK_NEAR(row->value, (number_of(series) + 1) * factor_of(series), 0);
        CHECK_EQ_I64(row->device, 0);
        seen++;
    }
    CHECK_EQ_U64(seen, (size_t)b.counts.samples * (sizeof known / sizeof *known));
    CHECK_EQ_I64(b.fake.get("by_uuid"), 1); // ordinals of CUDA and of NVML differ
    bench_end(&b);
}

TEST(a_metric_that_the_device_lacks_makes_no_row) {
    bench b = bench_make();
    b.fake.set("absent", 60);
    CHECK_OK(bench_start(&b));
    wait_for_samples(&b, 3);
    rgm_gpm_stop(b.gpm, &b.counts);
    CHECK_EQ_U64(b.kept->n_rows, (size_t)b.counts.samples * (rgm_gpm_metrics_count - 1));
    for (size_t i = 0; i < b.kept->n_rows; i++)
        CHECK(strcmp(kept_name(b.kept, b.kept->rows[i].series), "gpm__nvlink_rx_bytes.per_second") != 0);
    bench_end(&b);
}

TEST(a_sample_that_fails_does_not_end_the_sampling) {
    bench b = bench_make();
    b.fake.set("get_fails_at", 1);
    CHECK_OK(bench_start(&b));
    wait_for_samples(&b, 5);
    rgm_gpm_stop(b.gpm, &b.counts);
    CHECK_EQ_I64(b.counts.failures, 1);
    CHECK(b.counts.samples >= 3);
    CHECK_NEAR(b.kept->rows[0].value, 3,
               0); // of metric 1, over the two intervals that the lost sample divided
    bench_end(&b);
}

TEST(reasons) {
    static const struct {
        const char *number;
        long long value;
        const char *says;
    } cases[] = {{"init_result", 9, "initialising"},     {"handle_result", 6, "looking for the device"},
                 {"supported", 0, "begins with Hopper"}, {"support_result", 3, "begins with Hopper"},
                 {"support_result", 4, "administrator"}, {"support_result", 13, "error 13"},
                 {"alloc_fails_at", 1, "allocating"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b = bench_make();
        b.fake.set(cases[i].number, cases[i].value);
        CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
        CHECK(!b.gpm);
        if (!strstr(b.err.message, cases[i].says)) HARNESS_FAIL("%s", b.err.message);
        bench_end(&b);
    }
}

TEST(without_the_library_or_its_functions) {
    rgm_gpm *gpm;
    rgm_error err;
    rgm_device_sink sink;
    rgm_gpm_options options = rgm_gpm_defaults();
    kept *k = kept_new(&sink);
    (void)setenv("REGIMETER_LIBNVML", "off", 1);
    CHECK_EQ_I64(rgm_gpm_start(&gpm, &options, sink, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "REGIMETER_LIBNVML=off"));
    (void)setenv("REGIMETER_LIBNVML", FAKES "/libfake_cupti_125.so", 1); // has none of them
    CHECK_EQ_I64(rgm_gpm_start(&gpm, &options, sink, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "nvmlInit_v2"));
    options.interval_ns = 0;
    CHECK_EQ_I64(rgm_gpm_start(&gpm, &options, sink, &err), RGM_INVALID);
    rgm_gpm_stop(NULL, NULL);
    free(k);
}

TEST(a_child_of_fork_lets_go_without_a_call) {
    bench b = bench_make();
    CHECK_OK(bench_start(&b));
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        rgm_gpm_stop(b.gpm, NULL);
        _exit(b.fake.get("users") == 1 && b.fake.get("allocated") == 2 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    rgm_gpm_stop(b.gpm, NULL);
    bench_end(&b);
}

TEST(no_memory_at_any_place_leaves_nothing_behind) {
    EACH_FAULT("a start") {
        bench b = bench_make();
        if (FAULTY(bench_start(&b)) == RGM_OK) rgm_gpm_stop(b.gpm, NULL);
        bench_end(&b);
    }
}
