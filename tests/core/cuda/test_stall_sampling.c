// SPDX-License-Identifier: Apache-2.0
// PC sampling with the doubles of CUPTI and the CUDA driver, from the kernel that runs to the table of the
// run.
#include <sys/wait.h>
#include <unistd.h>

#include "capture/session_state.h"
#include "stalled.h"

// --- tests ------------------------------------------------------------------------------------------------

TEST(samples_of_a_kernel_are_rows_by_instruction_and_reason) {
    bench b = bench_make();
    rgm_stall_state state;
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_U64(state_now(&b).period, 17);
    launch(&b, "_Z4gemmPf", 100000);
    launch(&b, "_Z4gemmPf", 100000);
    rgm_run *run = finish(&b, &state);
    CHECK_EQ_U64(run->stalls.rows, 3);
    check_row(run, 0, "gemm(float*)", "wait", 0x10, 20, 10);
    check_row(run, 1, "gemm(float*)", "selected", 0x50, 60, 0);
    check_row(run, 2, "gemm(float*)", "long_scoreboard", 0x80, 120, 120);
    for (size_t i = 0; i < run->stalls.rows; i++) CHECK_EQ_I64(run->stalls.line[i], 0);
    CHECK_EQ_I64(state.figures.samples, 200);
    CHECK_EQ_I64(state.figures.not_issued, 130);
    CHECK_EQ_I64(state.figures.total, 200);
    CHECK_EQ_I64(state.devices, 1);
    CHECK_STR_EQ(state.reason, "");
    rgm_run_free(run);
}

static void *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, 1 << 16);
    if (!file || !bytes || !fread(bytes, 1, 1 << 16, file)) abort();
    (void)fclose(file);
    return bytes;
}

// Of the same kernel once with line information and once without.
TEST(instructions_have_their_line_where_the_binary_tells_it) {
    static const int64_t wanted[] = {4, 5, 6};
    bench b = bench_make();
    rgm_stall_state state;
    void *with = read_file("tests/data/cubins/add_with_lines.cubin"),
         *without = read_file("tests/data/cubins/add.cubin");
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(state_now(&b).devices, 1);
    launch_of(&b, with, "add", 100000);
    launch_of(&b, without, "add", 100000);
    rgm_run *run = finish(&b, &state);
    CHECK_EQ_U64(run->stalls.rows, 6);
    size_t told = 0;
    for (size_t i = 0; i < run->stalls.rows; i++) {
        if (!run->stalls.line[i]) continue;
        CHECK_EQ_I64(run->stalls.line[i], wanted[told++ % 3]);
        CHECK_STR_EQ(text_of(run, run->stalls.file[i]), "/tmp/kernels/add.cu");
    }
    CHECK_EQ_U64(told, 3);
    CHECK_EQ_I64(state.figures.samples, 200);
    CHECK_EQ_I64(state.figures.lines, 100);
    CHECK_EQ_I64(state.cubins.seen, 2);
    CHECK_EQ_I64(state.cubins.with_lines, 1);
    CHECK(state.asks_for_cubins);
    rgm_run_free(run);
    free(with);
    free(without);
}

TEST(without_lines_there_are_samples_all_the_same) {
    bench b = bench_make();
    rgm_stall_state state;
    void *with = read_file("tests/data/cubins/add_with_lines.cubin");
    cupti_.set("refuse_RegisterComputeCrcCallback", RGM_CUPTI_NOT_SUPPORTED);
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(state_now(&b).devices, 1);
    launch_of(&b, with, "add", 100000);
    rgm_run *run = finish(&b, &state);
    cupti_.set("refuse_RegisterComputeCrcCallback", 0);
    CHECK_EQ_U64(run->stalls.rows, 3);
    CHECK_EQ_I64(state.figures.lines, 0);
    CHECK(!state.asks_for_cubins);
    rgm_run_free(run);
    free(with);
}

// Neither loses one nor counts one twice, however little there is room for.
TEST(collections_in_small_steps_add_up) {
    bench b = bench_make();
    rgm_stall_state state;
    b.options.setting.most_pcs = 1;
    b.options.setting.period = 12;
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_U64(state_now(&b).period, 12);
    for (int i = 0; i < 5; i++) {
        launch(&b, i % 2 ? "odd" : "even", 10000);
        // What is still running at the end comes in one piece, for which there is room for one instruction.
        CHECK_EQ_I64(b.driver->context_synchronize(), RGM_CU_SUCCESS);
        rgm_stall_sampling_collect(b.sampling);
    }
    rgm_run *run = finish(&b, &state);
    CHECK_EQ_U64(run->stalls.rows, 6);
    int64_t sum = 0;
    for (size_t i = 0; i < run->stalls.rows; i++) sum += run->stalls.samples[i];
    CHECK_EQ_I64(sum, 50);
    CHECK_EQ_I64(state.figures.total, 50);
    rgm_run_free(run);
    cupti_.set("pc_period", 17);
}

TEST(each_device_has_its_own) {
    cuda_.set("devices", 2);
    bench b = bench_make();
    rgm_stall_state state;
    (void)context_make(&b, 0);
    (void)context_make(&b, 1);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(state_now(&b).devices, 2);
    launch(&b, "second", 10000); // the current context is that of device 1
    rgm_run *run = finish(&b, &state);
    CHECK_EQ_I64(state.devices, 2);
    REQUIRE(run->stalls.rows == 3);
    CHECK_EQ_I64(run->stalls.device[0], 1);
    rgm_run_free(run);
    cuda_.set("devices", 1);
}

TEST(what_the_hardware_lost_is_counted) {
    bench b = bench_make();
    rgm_stall_state state;
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(state_now(&b).devices, 1);
    rgm_stall_sampling_read(b.sampling, &state);
    int64_t before = state.figures.total;
    cupti_.set("pc_dropped", 7);
    cupti_.set("pc_no_record", 5);
    rgm_stall_sampling_collect(b.sampling);
    cupti_.set("pc_dropped", 0);
    cupti_.set("pc_no_record", 0);
    cupti_.set("pc_full_at", cupti_.get("pc_collections") + 1);
    rgm_stall_sampling_collect(b.sampling);
    cupti_.set("pc_full_at", 0);
    rgm_run *run = finish(&b, &state);
    CHECK_EQ_I64(state.figures.dropped, 7);
    CHECK_EQ_I64(state.figures.no_record, 5);
    CHECK_EQ_I64(state.figures.total - before, 12);
    CHECK_EQ_I64(state.figures.full, 1);
    CHECK_EQ_I64(state.figures.failures, 0);
    int64_t noted = 0;
    for (size_t i = 0; i < run->anomalies.rows; i++)
        if (run->anomalies.code[i] == RGM_ANOMALY_DROPPED_COUNTERS) noted = run->anomalies.count[i];
    CHECK_EQ_I64(noted, 7);
    rgm_run_free(run);
}

// --- what stands against it -------------------------------------------------------------------------------

TEST(what_a_device_refuses_is_a_reason_with_a_remedy) {
    static const struct {
        const char *function;
        int result;
        const char *word;
    } cases[] = {
        {"refuse_PCSamplingEnable", RGM_CUPTI_INSUFFICIENT_PRIVILEGES,
         "NVreg_RestrictProfilingToAdminUsers=0"},
        {"refuse_PCSamplingEnable", RGM_CUPTI_HARDWARE_BUSY, "another profiler"},
        {"refuse_PCSamplingEnable", RGM_CUPTI_NOT_SUPPORTED, "not supported by this device"},
        {"refuse_PCSamplingGetNumStallReasons", RGM_CUPTI_UNKNOWN, "reasons of stalls"},
        {"refuse_PCSamplingSetConfigurationAttribute", RGM_CUPTI_INVALID_OPERATION,
         "configuring PC sampling"},
        {"refuse_PCSamplingStart", RGM_CUPTI_INVALID_OPERATION, "starting PC sampling"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench b = bench_make();
        rgm_stall_state state;
        cupti_.set(cases[i].function, cases[i].result);
        (void)context_make(&b, 0);
        CHECK_OK(bench_start(&b));
        REQUIRE(b.sampling);
        state = state_now(&b);
        CHECK_EQ_I64(state.devices, 0);
        CHECK(strstr(state.reason, cases[i].word));
        launch(&b, "unseen", 10000);
        rgm_run *run = finish(&b, &state);
        CHECK_EQ_U64(run->stalls.rows, 0);
        rgm_run_free(run);
        cupti_.set(cases[i].function, 0);
    }
}

TEST(an_older_library_says_what_it_lacks) {
    bench b = bench_make();
    cupti_.set("version", 21); // 12.3, whose records are shorter
    rgm_cupti_forget();
    CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
    CHECK(strstr(b.err.message, "12.4 or later"));
    CHECK(!b.sampling);
    rgm_run_free(finish(&b, NULL));
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti_older.so", 1);
    b = bench_make();
    CHECK_EQ_I64(bench_start(&b), RGM_UNAVAILABLE);
    CHECK(strstr(b.err.message, "12.4 or later"));
    rgm_run_free(finish(&b, NULL));
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti.so", 1);
}

TEST(nonsense_is_refused) {
    bench b = bench_make();
    b.options.setting.period = 4;
    CHECK_EQ_I64(bench_start(&b), RGM_INVALID);
    CHECK(strstr(b.err.message, "5 to 31"));
    b.options = rgm_stall_defaults();
    b.options.setting.most_pcs = 0;
    CHECK_EQ_I64(bench_start(&b), RGM_INVALID);
    rgm_run_free(finish(&b, NULL));
}

TEST(a_child_of_fork_lets_go_without_a_call) {
    bench b = bench_make();
    rgm_stall_state state;
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(state_now(&b).devices, 1);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        rgm_stall_sampling_stop(b.sampling, NULL);
        _exit(cupti_.get("calls_child") ? 1 : 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    launch(&b, "parent", 10000);
    rgm_run_free(finish(&b, &state));
    CHECK_EQ_I64(state.figures.samples, 10);
}

TEST(a_device_that_was_reset_is_not_called_any_more) {
    bench b = bench_make();
    rgm_stall_state state;
    int (*reset)(int) = NULL;
    void *handle = dlopen(FAKES "/libfake_cuda.so", RTLD_NOW);
    *(void **)&reset = find(handle, "cuDevicePrimaryCtxReset_v2");
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(state_now(&b).devices, 1);
    CHECK_EQ_I64(reset(0), RGM_CU_SUCCESS);
    rgm_stall_sampling_collect(b.sampling);
    rgm_stall_sampling_stop(b.sampling, &state);
    CHECK_EQ_I64(state.figures.failures, 0);
    rgm_session_free(b.session);
    (void)dlclose(handle);
}

#ifdef RGM_FAULTS
TEST(no_memory_at_any_place_leaves_nothing_behind) {
    for (int64_t after = 0; after < 200; after++) {
        bench b = bench_make();
        rgm_stall_state state = {0};
        (void)context_make(&b, 0);
        rgm_session_stop_threads(b.session); // the drainer allocates too, whenever it comes to it
        int64_t live = rgm_memory_live();
        rgm_memory_fail_after(after);
        rgm_status status = bench_start(&b);
        if (status == RGM_OK) state = state_now(&b);
        rgm_memory_fail_after(-1);
        if (status == RGM_OK) rgm_stall_sampling_stop(b.sampling, NULL);
        b.sampling = NULL;
        CHECK_EQ_I64(rgm_memory_live(), live);
        rgm_run_free(finish(&b, NULL));
        if (state.devices == 1) return;
        CHECK(status == RGM_NO_MEMORY || strstr(state.reason, "memory"));
    }
    CHECK(false);
}
#endif
