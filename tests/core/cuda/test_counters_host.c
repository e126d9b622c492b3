// SPDX-License-Identifier: Apache-2.0
// Planning of counters: against a double, and against the real library where one is installed.
#include <unistd.h>

#include "base/memory.h"
#include "cuda/counters/counter_plan.h"
#include "harness.h"
#include "model/counter_roles.h"

#include "counting.h"

// --- with the double --------------------------------------------------------------------------------------

static rgm_counter_plan planned(rgm_counter_set set, const char *chip) {
    const rgm_counter_library *library;
    rgm_counter_plan plan = {0};
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = rgm_counter_library_get(&library, &err);
    if (status == RGM_OK) status = rgm_counter_plan_make(&plan, library, set, chip, NULL, &err);
    if (status != RGM_OK) HARNESS_FAIL("%s", err.message);
    return plan;
}

TEST(a_set_that_fits_one_pass) {
    fake_library fake = counters_open();
    rgm_counter_plan plan = planned(RGM_COUNTER_SET_PM, "GH100");
    CHECK_EQ_U64(plan.count, 14);
    CHECK_EQ_U64(plan.passes, 1);
    CHECK_EQ_I64(plan.groups, 1);
    for (size_t i = 0; i < plan.count; i++) {
        CHECK_EQ_I64(plan.rows[i].pass, 0);
        CHECK_EQ_I64(plan.rows[i].passes, 1);
    }
    CHECK_EQ_I64(fake.get("hosts"), 0);
    CHECK_EQ_I64(fake.get("misuse"), 0);
    counters_close(fake);
}

TEST(a_role_without_a_metric_is_absent) {
    fake_library fake = counters_open();
    fake.set("tensor", 0);
    rgm_counter_plan plan = planned(RGM_COUNTER_SET_PM, "GH100");
    CHECK_EQ_U64(plan.passes, 1);
    for (size_t i = 0; i < plan.count; i++) {
        bool absent = plan.rows[i].role == RGM_COUNTER_ROLE_TENSOR_ACTIVE;
        CHECK_EQ_I64(plan.rows[i].pass, absent ? RGM_PLAN_ABSENT : 0);
        CHECK_EQ_I64(plan.rows[i].passes, absent ? 0 : 1);
        CHECK(!*plan.rows[i].metric == absent);
    }
    plan = planned(RGM_COUNTER_SET_TENSOR, "GH100");
    CHECK_EQ_U64(plan.passes, 0);
    CHECK_EQ_I64(plan.groups, 0);
    counters_close(fake);
}

TEST(a_set_of_several_passes_is_divided_in_its_order) {
    fake_library fake = counters_open();
    fake.set("per_pass", 4);
    rgm_counter_plan plan = planned(RGM_COUNTER_SET_PM, "GH100");
    CHECK_EQ_U64(plan.passes, 4);
    CHECK_EQ_I64(plan.groups, 4);
    for (size_t i = 0; i < plan.count; i++) CHECK_EQ_I64(plan.rows[i].pass, (int)(i / 4));
    CHECK_EQ_I64(fake.get("misuse"), 0);
    CHECK_EQ_I64(fake.get("hosts"), 0);
    counters_close(fake);
}

TEST(a_metric_of_several_passes_is_refused_and_the_others_stay) {
    fake_library fake = counters_open();
    rgm_counter_plan plan = planned(RGM_COUNTER_SET_SPEED_OF_LIGHT, "GV100");
    CHECK_EQ_U64(plan.passes, 8);
    CHECK_EQ_I64(plan.groups, 1);
    CHECK_EQ_I64(plan.rows[0].pass, RGM_PLAN_TOO_MANY);
    CHECK_EQ_I64(plan.rows[0].passes, 8);
    CHECK_EQ_I64(plan.rows[1].pass, 0);
    CHECK_EQ_I64(plan.rows[2].pass, 0);
    counters_close(fake);
}

TEST(an_unknown_chip_is_named_with_those_that_are_known) {
    fake_library fake = counters_open();
    const rgm_counter_library *library;
    rgm_counter_plan plan;
    rgm_error err;
    CHECK_OK(rgm_counter_library_get(&library, &err));
    CHECK_EQ_I64(rgm_counter_plan_make(&plan, library, RGM_COUNTER_SET_PM, "H100", NULL, &err), RGM_INVALID);
    CHECK_STR_EQ(err.message, "unknown chip \"H100\"; this CUPTI knows: GH100 GA100 TU104 GV100");
    CHECK_EQ_I64(rgm_counter_plan_make(&plan, library, RGM_COUNTER_SET_PM, "GV100", NULL, &err),
                 RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "PM sampling"));
    counters_close(fake);
}

static rgm_status refused(const char *path, const char *driver, rgm_error *err) {
    const rgm_counter_library *library;
    rgm_counter_library_forget();
    rgm_driver_forget();
    (void)setenv("REGIMETER_LIBCUPTI", path, 1);
    (void)setenv("REGIMETER_LIBCUDA", driver, 1);
    rgm_status status = rgm_counter_library_get(&library, err);
    rgm_counter_library_forget();
    rgm_driver_forget();
    return status;
}

TEST(libraries_that_cannot_be_used) {
    rgm_error err;
    CHECK_EQ_I64(refused("off", "off", &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "REGIMETER_LIBCUPTI=off"));
    CHECK_EQ_I64(refused(FAKES "/libfake_cupti_125.so", "off", &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "12.6"));
    CHECK(strstr(err.message, "cuptiProfilerHostGetSupportedChips"));
    // No function of this one may be called: the first call ends the process.
    CHECK_EQ_I64(refused(FAKES "/libfake_cupti_132.so", "off", &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "13.2"));
    CHECK_EQ_I64(refused(FAKES "/libfake_gpm.so", "off", &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "cuptiGetVersion"));
    CHECK_OK(refused(FAKES "/libfake_cupti_profiler.so", "off", &err));
}

TEST(results_have_texts_and_statuses) {
    rgm_error err;
    CHECK_OK(rgm_cupti_check(0, "x", &err));
    CHECK_EQ_I64(rgm_cupti_check(RGM_CUPTI_OUT_OF_MEMORY, "x", &err), RGM_NO_MEMORY);
    CHECK_EQ_I64(rgm_cupti_check(12345, "doing it", &err), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message, "CUPTI: doing it: an error that this version does not know (error 12345)");
}

// --- roles ------------------------------------------------------------------------------------------------

static rgm_counter_role role_of(const char *series) { return rgm_counter_role_of(series, strlen(series)); }

TEST(a_series_leads_back_to_its_role) {
    CHECK_EQ_I64(role_of("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
                 RGM_COUNTER_ROLE_DRAM_THROUGHPUT);
    CHECK_EQ_I64(role_of("gpm__dram_throughput.pct"), RGM_COUNTER_ROLE_DRAM_THROUGHPUT);
    CHECK_EQ_I64(role_of("dramc__read_throughput.avg.pct_of_peak_sustained_elapsed"),
                 RGM_COUNTER_ROLE_DRAM_READ);
    CHECK_EQ_I64(role_of("gpm__pcie_tx_bytes.per_second"), RGM_COUNTER_ROLE_NONE);
    CHECK_EQ_I64(role_of("loss"), RGM_COUNTER_ROLE_NONE);
    CHECK_EQ_I64(role_of(""), RGM_COUNTER_ROLE_NONE);
    CHECK_EQ_I64(rgm_counter_role_of("gpu__time_duration.sum", 10), RGM_COUNTER_ROLE_NONE);
}

TEST(a_metric_has_one_role) {
    for (int role = 0; role < RGM_COUNTER_ROLE_COUNT; role++)
        for (int c = 0; c < RGM_COUNTER_CANDIDATES; c++) {
            const char *names[] = {rgm_counter_roles[role].range[c], rgm_counter_roles[role].sampled[c]};
            for (int i = 0; i < 2; i++)
                if (names[i] && *names[i]) CHECK_EQ_I64(role_of(names[i]), role);
        }
}

// --- with the real library --------------------------------------------------------------------------------

// Pass counts that others measured with CUPTI 13.0.1 (several implementations, through the same interface),
// 0: the chip cannot. What they did not measure is not here.
//
// The real library opens another with RTLD_DEEPBIND, which the sanitizers refuse.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static bool real_library(const rgm_counter_library **library) {
    if (SANITIZED) {
        (void)fprintf(stderr, "skipped: not under a sanitizer\n");
        return false;
    }
    rgm_error err;
    rgm_counter_library_forget();
    rgm_driver_forget();
    (void)unsetenv("REGIMETER_LIBCUPTI");
    (void)setenv("REGIMETER_LIBCUDA", "off", 1);
    if (rgm_counter_library_get(library, &err) == RGM_OK) return true;
    (void)fprintf(stderr, "skipped: %s\n", err.message);
    return false;
}

static size_t real_passes(const rgm_counter_library *library, int profiler, const char *chip,
                          const char *const *metrics, size_t count) {
    rgm_counter_host host;
    uint8_t *image = NULL;
    size_t size, passes = 0;
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_counter_host_open(&host, library, profiler, chip, NULL, &err) != RGM_OK ||
        rgm_counter_host_configure(&host, metrics, count, &image, &size, &passes, &err) != RGM_OK)
        HARNESS_FAIL("%s: %s", chip, err.message);
    rgm_free(image);
    rgm_counter_host_close(&host);
    return passes;
}

static const char *const chips[] = {"GH100", "GA100", "GA102", "AD102", "GB100"};
enum { CHIPS = sizeof chips / sizeof *chips };
#define SASS(op) "sm__sass_thread_inst_executed_op_" op "_pred_on.sum"
#define PCT ".avg.pct_of_peak_sustained_elapsed"

TEST(real_range_pass_counts_are_those_that_were_measured) {
    static const char *const base[] = {"gpu__time_duration.sum", "dram__bytes.sum",
                                       "sm__cycles_elapsed.avg.per_second",
                                       "dram__cycles_elapsed.avg.per_second"};
    static const char *const regime[] = {"gpu__time_duration.sum", "gpu__dram_throughput" PCT,
                                         "sm__pipe_tensor_cycles_active" PCT,
                                         "sm__inst_executed.avg.per_cycle_elapsed"};
    static const char *const sass[] = {
        SASS("hadd"),     SASS("hmul"), SASS("hfma"), SASS("fadd"), SASS("fmul"),
        SASS("ffma"),     SASS("dadd"), SASS("dmul"), SASS("dfma"), "gpu__time_duration.sum",
        "dram__bytes.sum"};
    static const char *const wide[] = {"sm__throughput" PCT, "gpu__compute_memory_throughput" PCT};
    const rgm_counter_library *library;
    if (!real_library(&library)) return;
    for (int c = 0; c < CHIPS; c++) {
        CHECK_EQ_U64(real_passes(library, RGM_CUPTI_RANGE_PROFILER, chips[c], base, 4), 1);
        CHECK_EQ_U64(real_passes(library, RGM_CUPTI_RANGE_PROFILER, chips[c], regime, 4), 1);
        CHECK_EQ_U64(real_passes(library, RGM_CUPTI_RANGE_PROFILER, chips[c], sass, 9), 1);
        CHECK_EQ_U64(real_passes(library, RGM_CUPTI_RANGE_PROFILER, chips[c], sass, 11), 2);
        size_t sm = real_passes(library, RGM_CUPTI_RANGE_PROFILER, chips[c], wide, 1);
        CHECK(sm >= 5 && sm <= 8);
        size_t memory = real_passes(library, RGM_CUPTI_RANGE_PROFILER, chips[c], wide + 1, 1);
        CHECK(memory >= 4 && memory <= 8);
    }
}

TEST(real_sampling_pass_counts_are_those_that_were_measured) {
    static const char *const fourteen[] = {
        "gr__cycles_active" PCT,
        "sm__cycles_active" PCT,
        "sm__inst_executed_realtime.avg.per_cycle_elapsed",
        "dramc__read_throughput" PCT,
        "dramc__write_throughput" PCT,
        "dram__throughput" PCT,
        "pcie__read_bytes.sum",
        "pcie__write_bytes.sum",
        "sm__cycles_elapsed.avg.per_second",
        "gpc__cycles_elapsed.avg.per_second",
        "sys__cycles_elapsed.avg.per_second",
        "dramc__cycles_elapsed.avg.per_second",
        "gpu__time_duration.sum",
        "sm__pipe_tensor_cycles_active_realtime" PCT,
    };
    const rgm_counter_library *library;
    if (!real_library(&library)) return;
    for (int c = 0; c < 4; c++)
        CHECK_EQ_U64(real_passes(library, RGM_CUPTI_PM_SAMPLING, chips[c], fourteen, 14), 1);
    CHECK_EQ_U64(real_passes(library, RGM_CUPTI_PM_SAMPLING, "TU104", fourteen, 13), 2);
}

TEST(real_names_are_resolved_for_each_chip) {
    const rgm_counter_library *library;
    if (!real_library(&library)) return;
    rgm_counter_host host;
    rgm_error err;
    CHECK_OK(rgm_counter_host_open(&host, library, RGM_CUPTI_RANGE_PROFILER, "GH100", NULL, &err));
    CHECK(rgm_counter_host_has(&host, "dram__bytes.sum"));
    CHECK(rgm_counter_host_has(&host, "dram__bytes.sum.per_second"));
    CHECK(!rgm_counter_host_has(&host, "dram__bytes.bogus"));
    CHECK(!rgm_counter_host_has(&host, "dram__bytes"));
    CHECK(!rgm_counter_host_has(&host, "dramc__read_throughput" PCT)); // of PM sampling only
    // 3,650 base metrics were counted on this chip; another version may have a few more.
    size_t count = 0;
    for (int type = 0; type < RGM_CUPTI_METRIC_TYPES; type++) count += rgm_counter_host_count(&host, type);
    CHECK(count > 3000 && count < 6000);
    rgm_counter_host_close(&host);
    // GB100 has no PM sampling of dramc__*, TU104 none of the tensor pipe.
    rgm_counter_plan plan;
    CHECK_OK(rgm_counter_plan_make(&plan, library, RGM_COUNTER_SET_PM, "GB100", NULL, &err));
    for (size_t i = 0; i < plan.count; i++) CHECK(!strstr(plan.rows[i].metric, "dramc__"));
    CHECK_EQ_U64(plan.passes, 1);
    CHECK_OK(rgm_counter_plan_make(&plan, library, RGM_COUNTER_SET_PM, "TU104", NULL, &err));
    CHECK_EQ_I64(plan.rows[2].role, RGM_COUNTER_ROLE_TENSOR_ACTIVE);
    CHECK_EQ_I64(plan.rows[2].pass, RGM_PLAN_ABSENT);
    CHECK_EQ_U64(plan.passes, 2);
}

// Whatever the chip, what is started needs one pass, and group 0 holds the first role that can be had.
TEST(real_first_groups_need_one_pass_on_every_chip) {
    const rgm_counter_library *library;
    const char *const *names;
    size_t count;
    rgm_error err;
    if (!real_library(&library)) return;
    CHECK_OK(rgm_counter_chips(library, &names, &count, &err));
    CHECK(count >= 30);
    for (size_t c = 0; c < count; c++)
        for (int set = 0; set < RGM_COUNTER_SET_COUNT; set++) {
            rgm_counter_plan plan;
            rgm_counter_configuration made;
            rgm_status status =
                rgm_counter_plan_make(&plan, library, (rgm_counter_set)set, names[c], NULL, &err);
            if (status == RGM_UNAVAILABLE) continue; // GV100, GV11B: no PM sampling
            CHECK_OK(status);
            if (!plan.groups) continue;
            CHECK_OK(rgm_counter_configuration_make(&made, &plan, library, NULL, &err));
            CHECK(made.count > 0);
            rgm_counter_configuration_release(&made);
        }
}
