// SPDX-License-Identifier: Apache-2.0
// The choice of a source of samples, and the rows that are kept in memory.
#include "cuda/counters/counter_rows.h"

#include <unistd.h>

#include "base/memory.h"
#include "cuda/counters/counter_sampling.h"
#include "harness.h"

#include "counting.h"

static void use_doubles(fake_library *counters, fake_library *nvml) {
    static const char path[] = FAKES "/libfake_gpm.so";
    (void)setenv("REGIMETER_LIBNVML", path, 1);
    *counters = counters_open();
    *nvml = fake_open(path, "gpm");
}

static void let_go(fake_library counters, fake_library nvml) {
    CHECK_EQ_I64(counters.get("users"), 0);
    CHECK_EQ_I64(nvml.get("users"), 0);
    (void)dlclose(nvml.handle);
    counters_close(counters);
}

TEST(samples_from_the_preferred_source) {
    fake_library counters, nvml;
    rgm_counter_rows rows;
    rgm_counter_sampling *sampling;
    rgm_sampling_report report;
    rgm_sampling_options options = {.set = RGM_COUNTER_SET_PM};
    rgm_error err;
    use_doubles(&counters, &nvml);
    CHECK_OK(rgm_counter_rows_init(&rows, 10000, &err));
    CHECK_OK(rgm_counter_sampling_start(&sampling, &options, rows.sink, &err));
    CHECK_STR_EQ(rgm_counter_sampling_plan(sampling)->chip, "GH100");
    rgm_counter_sampling_stop(sampling, &report);
    CHECK_EQ_I64(report.feed, RGM_COUNTER_FEED_PM);
    CHECK_STR_EQ(report.reason, "");
    CHECK_EQ_U64(rows.n_rows, 39 * 14);
    CHECK_STR_EQ(rgm_strings_view(&rows.names, rows.rows[0].series).data, "gpu__time_duration.sum");
    rgm_counter_rows_release(&rows);
    let_go(counters, nvml);
}

TEST(the_fallback_keeps_the_reason) {
    fake_library counters, nvml;
    rgm_counter_rows rows;
    rgm_counter_sampling *sampling;
    rgm_sampling_report report;
    rgm_sampling_options options = {.set = RGM_COUNTER_SET_PM, .interval_ns = 1000000};
    rgm_error err;
    use_doubles(&counters, &nvml);
    counters.set("fail_at", 5);
    CHECK_OK(rgm_counter_rows_init(&rows, 10000, &err));
    CHECK_OK(rgm_counter_sampling_start(&sampling, &options, rows.sink, &err));
    CHECK(!rgm_counter_sampling_plan(sampling));
    CHECK_EQ_I64(counters.get("users"), 0); // nothing of the first attempt is left while the second runs
    for (int i = 0; i < 20000 && nvml.get("gets") < 2; i++) (void)usleep(500);
    rgm_counter_sampling_stop(sampling, &report);
    CHECK_EQ_I64(report.feed, RGM_COUNTER_FEED_GPM);
    CHECK(strstr(report.reason, "CAP_PERFMON"));
    CHECK_EQ_U64(rows.n_rows, (size_t)report.gpm.samples * rgm_gpm_metrics_count);
    rgm_counter_rows_release(&rows);
    let_go(counters, nvml);
}

TEST(without_any_source_both_reasons_are_said) {
    fake_library counters, nvml;
    rgm_counter_rows rows;
    rgm_counter_sampling *sampling;
    rgm_sampling_options options = {.set = RGM_COUNTER_SET_PM};
    rgm_error err;
    use_doubles(&counters, &nvml);
    counters.set("fail_at", 1);
    nvml.set("supported", 0);
    CHECK_OK(rgm_counter_rows_init(&rows, 100, &err));
    CHECK_EQ_I64(rgm_counter_sampling_start(&sampling, &options, rows.sink, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "NVreg_RestrictProfilingToAdminUsers=0"));
    CHECK(strstr(err.message, "Hopper"));
    options.feed = RGM_COUNTER_FEED_GPM;
    CHECK_EQ_I64(rgm_counter_sampling_start(&sampling, &options, rows.sink, &err), RGM_UNAVAILABLE);
    CHECK(!strstr(err.message, "NVreg"));
    options.feed = RGM_COUNTER_FEED_AUTO;
    options.device = -1; // a mistake of the caller is no reason for a fallback
    CHECK_EQ_I64(rgm_counter_sampling_start(&sampling, &options, rows.sink, &err), RGM_INVALID);
    CHECK(!sampling);
    rgm_counter_sampling_stop(NULL, NULL);
    rgm_counter_rows_release(&rows);
    let_go(counters, nvml);
}

static void give(rgm_counter_rows *rows, size_t count) {
    rgm_counter_row given[64] = {{0}};
    for (size_t i = 0; i < count; i++) given[i].time_ns = (int64_t)i;
    rows->sink.counters(rows->sink.arg, given, count);
}

TEST(rows_past_the_limit_are_counted) {
    rgm_counter_rows rows;
    rgm_error err;
    CHECK_OK(rgm_counter_rows_init(&rows, 100, &err));
    for (int i = 0; i < 3; i++) give(&rows, 40);
    CHECK_EQ_U64(rows.n_rows, 100);
    CHECK_EQ_I64(rows.dropped, 20);
    CHECK_EQ_I64(rows.rows[99].time_ns, 19);
    rows.sink.note(rows.sink.arg, RGM_ANOMALY_DROPPED_COUNTERS, 7);
    rows.sink.note(rows.sink.arg, RGM_ANOMALY_DEVICE_RESET, 5);
    CHECK_EQ_I64(rows.noted, 7);
    rgm_counter_rows_release(&rows);
}

#ifdef RGM_FAULTS
TEST(rows_without_memory_are_counted) {
    rgm_counter_rows rows;
    rgm_error err;
    CHECK_OK(rgm_counter_rows_init(&rows, 100, &err));
    rgm_memory_fail_after(0);
    give(&rows, 10);
    rgm_memory_fail_after(-1);
    CHECK_EQ_U64(rows.n_rows, 0);
    CHECK_EQ_I64(rows.dropped, 10);
    give(&rows, 10);
    CHECK_EQ_U64(rows.n_rows, 10);
    rgm_counter_rows_release(&rows);
}
#endif
