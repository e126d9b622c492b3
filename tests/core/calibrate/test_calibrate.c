// SPDX-License-Identifier: Apache-2.0
// Calibration: figures worked out by hand, parts that end, fail and give back.
#include "calibrate/crew.h"
#include "calibrate/device.h"
#include "calibrate/host.h"
#include "calibrate/loops.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/memory.h"
#include "faults.h"

TEST(a_chase_visits_every_place_once) {
    enum { PLACES = 5003, STRIDE = 16 };
    uint32_t *places = calloc((size_t)PLACES * STRIDE, sizeof *places);
    REQUIRE(places);
    for (uint64_t seed = 1; seed < 4; seed++) {
        bool seen[PLACES] = {false};
        uint32_t at = 0;
        size_t visited = 0, in_order = 0;
        CHECK(rgm_chase_write(places, PLACES, STRIDE, seed, NULL, NULL) == RGM_OK);
        for (; !seen[at]; visited++) {
            uint32_t next = places[(size_t)at * STRIDE];
            REQUIRE(next < PLACES);
            seen[at] = true;
            in_order += next == at + 1;
            at = next;
        }
        CHECK_EQ_U64(visited, PLACES);
        CHECK_EQ_U64(at, 0);
        CHECK(in_order < 20); // an order of chance has about one
    }
    CHECK(rgm_chase_write(places, 1, STRIDE, 1, NULL, NULL) == RGM_OK);
    CHECK_EQ_U64(places[0], 0);
    free(places);
}

TEST(a_figure_is_the_best_and_how_far_the_median_stays_behind) {
    double rates[] = {80, 100, 90, 70, 95}, times[] = {12, 10, 14, 11}, one[] = {7};
    rgm_figure figure = rgm_figure_of(rates, 5, false, 0.001);
    CHECK_NEAR(figure.value, 100, 0);
    CHECK_NEAR(figure.spread, 0.1, 1e-15);
    figure = rgm_figure_of(times, 4, true, 0.001);
    CHECK_NEAR(figure.value, 10, 0);
    CHECK_NEAR(figure.spread, 0.15, 1e-15);
    figure = rgm_figure_of(one, 1, true, 0.001);
    CHECK_NEAR(figure.spread, 0.001, 0);
    CHECK(isnan(rgm_figure_of(one, 0, true, 0.001).value));
}

// --- samples in turns -------------------------------------------------------------------------------------

typedef struct {
    char order[64];
    size_t calls;
    double values[8];
} script;

static rgm_status scripted(void *arg, int what, double *value, rgm_error *err) {
    script *known = arg;
    (void)err;
    known->order[known->calls] = (char)('a' + what);
    *value = known->values[known->calls++ % 8];
    return RGM_OK;
}

TEST(probes_take_turns_a_batch_each) {
    rgm_calibrate_policy policy = RGM_CALIBRATE_POLICY_DEFAULTS;
    script known = {.values = {4, 5, 7, 6, 8, 9, 3, 2}};
    rgm_probe probes[] = {
        {.id = RGM_CEILING_MEMORY_COPY, .sample = scripted, .arg = &known, .what = 0, .source = "first"},
        {.id = RGM_CEILING_LAUNCH,
         .least = true,
         .sample = scripted,
         .arg = &known,
         .what = 1,
         .source = "second"}};
    rgm_effort effort = {.policy = &policy};
    rgm_figures figures;
    rgm_error err;
    policy.batches = 2;
    policy.batch = 2;
    rgm_figures_clear(&figures);
    CHECK_OK(rgm_probes_measure(probes, 2, &effort, &figures, &err));
    CHECK_STR_EQ(known.order, "aabbaabb");
    CHECK_NEAR(figures.at[RGM_CEILING_MEMORY_COPY].value, 9, 0);            // bests 5 and 9
    CHECK_NEAR(figures.at[RGM_CEILING_MEMORY_COPY].spread, 2.0 / 9, 1e-15); // their median is 7
    CHECK_NEAR(figures.at[RGM_CEILING_LAUNCH].value, 2, 0);                 // bests 6 and 2
    CHECK_NEAR(figures.at[RGM_CEILING_LAUNCH].spread, 1, 1e-15);            // their median is 4
    CHECK_EQ_U64(figures.at[RGM_CEILING_LAUNCH].samples, 4);
    CHECK_STR_EQ(figures.at[RGM_CEILING_LAUNCH].source, "second");
    CHECK(isnan(figures.at[RGM_CEILING_MEMORY_FILL].value));
}

typedef struct {
    size_t calls;
    double values[8], stolen[8], last;
} disturbed;

static rgm_status disturbed_sample(void *arg, int what, double *value, rgm_error *err) {
    disturbed *known = arg;
    (void)what;
    (void)err;
    known->last = known->stolen[known->calls % 8];
    *value = known->values[known->calls++ % 8];
    return RGM_OK;
}

static rgm_figure measure_disturbed(disturbed *known, double batches, double batch, double tries,
                                    int64_t deadline_ns) {
    rgm_calibrate_policy policy = RGM_CALIBRATE_POLICY_DEFAULTS;
    policy.batches = batches;
    policy.batch = batch;
    policy.tries = tries;
    rgm_effort effort = {.policy = &policy, .deadline_ns = deadline_ns};
    rgm_probe probe = {.id = RGM_CEILING_LAUNCH,
                       .sample = disturbed_sample,
                       .arg = known,
                       .source = "it",
                       .stolen = &known->last};
    rgm_figures figures;
    rgm_error err;
    rgm_figures_clear(&figures);
    CHECK_OK(rgm_probes_measure(&probe, 1, &effort, &figures, &err));
    return figures.at[RGM_CEILING_LAUNCH];
}

TEST(undisturbed_samples_count_before_disturbed_ones) {
    // 99 was disturbed, so another is taken; batches are 10 and 8.
    disturbed known = {.values = {99, 10, 8}, .stolen = {0.5, 0, 0}};
    rgm_figure figure = measure_disturbed(&known, 2, 1, 8, 0);
    CHECK_NEAR(figure.value, 10, 0);
    CHECK_NEAR(figure.spread, 0.1, 1e-15); // the median is 9
    CHECK_EQ_U64(figure.samples, 3);
    // One clean batch: it is the value, and the spread tells how far the median of all is from it.
    known = (disturbed){.values = {4, 10, 6}, .stolen = {0.5, 0, 0.25}};
    figure = measure_disturbed(&known, 3, 1, 1, 0);
    CHECK_NEAR(figure.value, 10, 0);
    CHECK_NEAR(figure.spread, 0.4, 1e-15);
    // None: the least disturbed one, and what was taken of it.
    known = (disturbed){.values = {9, 8, 7}, .stolen = {0.5, 0.25, 0.75}};
    figure = measure_disturbed(&known, 3, 1, 1, 0);
    CHECK_NEAR(figure.value, 8, 0);
    CHECK_NEAR(figure.spread, 0.25, 1e-15);
}

TEST(after_the_deadline_each_figure_has_one_sample) {
    disturbed known = {.values = {5, 6}, .stolen = {0.5, 0}};
    rgm_figure figure = measure_disturbed(&known, 5, 4, 8, 1);
    CHECK_NEAR(figure.value, 5, 0);
    CHECK_NEAR(figure.spread, 0.5, 0);
    CHECK_EQ_U64(figure.samples, 1);
}

TEST(a_sample_that_is_no_positive_number_is_an_error) {
    rgm_calibrate_policy policy = RGM_CALIBRATE_POLICY_DEFAULTS;
    rgm_effort effort = {.policy = &policy};
    const double bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        script known = {.values = {bad[i]}};
        rgm_probe probe = {.id = RGM_CEILING_LAUNCH, .sample = scripted, .arg = &known, .source = "it"};
        rgm_figures figures;
        rgm_error err;
        rgm_figures_clear(&figures);
        CHECK_EQ_I64(rgm_probes_measure(&probe, 1, &effort, &figures, &err), RGM_INVALID);
        CHECK(isnan(figures.at[RGM_CEILING_LAUNCH].value));
    }
}

// --- teams ------------------------------------------------------------------------------------------------

typedef struct {
    atomic_uint runs[8];
    atomic_uint inside, most_inside;
    unsigned members;
} meeting;

static void meet(void *arg, unsigned number) {
    meeting *known = arg;
    atomic_fetch_add(&known->runs[number], 1);
    unsigned inside = atomic_fetch_add(&known->inside, 1) + 1;
    // All are inside at the same time, or this never ends.
    while (atomic_load(&known->inside) < known->members && atomic_load(&known->most_inside) < known->members)
        if (inside > atomic_load(&known->most_inside)) atomic_store(&known->most_inside, inside);
    atomic_store(&known->most_inside, known->members);
}

TEST(the_members_of_a_team_run_at_the_same_time_once_each) {
    for (unsigned members = 1; members <= 8; members++) {
        rgm_crew *team;
        rgm_error err;
        CHECK_OK(rgm_crew_start(&team, members, &err));
        for (unsigned round = 1; round <= 3; round++) {
            meeting known = {.members = members};
            rgm_crew_time took = rgm_crew_run(team, meet, &known);
            CHECK(took.own_ns > 0 && took.own_ns <= took.wall_ns && took.stolen >= 0 && took.stolen < 1);
            for (unsigned i = 0; i < members; i++) CHECK_EQ_U64(atomic_load(&known.runs[i]), 1);
        }
        rgm_crew_end(team);
    }
    rgm_crew *team;
    rgm_error err;
    CHECK_EQ_I64(rgm_crew_start(&team, 0, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_crew_start(&team, RGM_CREW_MOST + 1, &err), RGM_INVALID);
    rgm_crew_end(NULL);
}

// --- the host ---------------------------------------------------------------------------------------------

static rgm_calibrate_policy small_policy(void) {
    rgm_calibrate_policy policy = RGM_CALIBRATE_POLICY_DEFAULTS;
    policy.batches_quick = policy.batch_quick = 1;
    policy.sample_seconds_quick = 1e-5;
    policy.buffer_bytes_quick = 256 * RGM_LOOP_UNIT;
    policy.chase_steps_quick = 100;
    policy.transfer_bytes_quick = 1 << 20;
    policy.launches_quick = 10;
    return policy;
}

static rgm_host_request small_request(const rgm_calibrate_policy *policy) {
    return (rgm_host_request){.effort = {.policy = policy, .quick = true},
                              .threads = 2,
                              .free_bytes = 1 << 30,
                              .caches = {.bytes = {32 << 10, 64 << 10, 256 << 10}, .sharers = {1, 1, 2}}};
}

TEST(every_part_of_the_host_gives_values_or_reasons) {
    rgm_calibrate_policy policy = small_policy();
    rgm_host_request request = small_request(&policy);
    rgm_figures figures;
    rgm_error err;
    size_t known = 0;
    for (int part = 0; part < RGM_HOST_PART_COUNT; part++) {
        CHECK_OK(rgm_host_measure((rgm_host_part)part, &request, &figures, &err));
        for (size_t i = 0; i < RGM_CEILING_COUNT; i++) {
            const rgm_figure *figure = &figures.at[i];
            bool value = figure->value > 0;
            known += value || figure->reason[0];
            if (value) CHECK(figure->spread > 0 && figure->samples >= 1 && figure->source[0]);
            if (value) CHECK(!figure->reason[0]);
        }
    }
    CHECK_EQ_U64(known, 4 + 3 + 1 + 8);
}

TEST(a_host_that_cannot_be_measured_says_why) {
    rgm_calibrate_policy policy = small_policy();
    rgm_host_request request = small_request(&policy);
    rgm_figures figures;
    rgm_error err;
    request.free_bytes = 1000;
    CHECK_OK(rgm_host_measure(RGM_HOST_MEMORY, &request, &figures, &err));
    CHECK(isnan(figures.at[RGM_CEILING_MEMORY_COPY].value));
    CHECK(strstr(figures.at[RGM_CEILING_MEMORY_COPY].reason, "too little memory") != NULL);
    CHECK_OK(rgm_host_measure(RGM_HOST_LATENCY, &request, &figures, &err));
    CHECK(strstr(figures.at[RGM_CEILING_MEMORY_LATENCY].reason, "too little memory") != NULL);
    request.caches = (rgm_host_caches){.bytes = {32 << 10, 33 << 10}};
    CHECK_OK(rgm_host_measure(RGM_HOST_CACHES, &request, &figures, &err));
    CHECK(figures.at[RGM_CEILING_CACHE_L1].value > 0);
    CHECK(strstr(figures.at[RGM_CEILING_CACHE_L2].reason, "not much more") != NULL);
    CHECK(strstr(figures.at[RGM_CEILING_CACHE_L3].reason, "does not tell") != NULL);
    request.threads = 0;
    CHECK_EQ_I64(rgm_host_measure(RGM_HOST_COMPUTE, &request, &figures, &err), RGM_INVALID);
}

TEST(buffers_are_beyond_the_caches_together_and_take_no_more_than_that_needs) {
    rgm_calibrate_policy policy = RGM_CALIBRATE_POLICY_DEFAULTS;
    rgm_host_request request = small_request(&policy);
    const int64_t mib = 1 << 20;
    request.free_bytes = 64 << 10;
    request.free_bytes *= mib;
    CHECK_EQ_I64(rgm_host_takes(&request), 192 * mib); // the least, thrice
    request.caches.bytes[2] = 32 * mib;
    CHECK_EQ_I64(rgm_host_takes(&request), 384 * mib);         // four caches each
    request.threads = 7;                                       // on four of them
    CHECK_EQ_I64(rgm_host_takes(&request), 1024 * mib - 1024); // the most, in whole units
    request.caches.bytes[2] = 480 * mib;
    CHECK_EQ_I64(rgm_host_takes(&request), 2 * 4 * 480 * mib); // but not within the caches
    request.threads = 2;
    CHECK(rgm_host_buffer_bytes(&request, 1) >= 960 * (size_t)mib);
    CHECK(rgm_host_takes(&request) <= 1024 * mib);
    request.free_bytes = 3 * 1024 * mib; // a quarter is less than two caches
    CHECK_EQ_I64(rgm_host_takes(&request), 0);
}

TEST(a_buffer_that_alone_would_stay_in_the_caches_is_measured_too) {
    rgm_calibrate_policy policy = small_policy();
    rgm_host_request request = small_request(&policy);
    rgm_figures figures;
    rgm_error err;
    policy.buffer_bytes_quick = 0;
    policy.buffers_bytes = 0;
    CHECK(rgm_host_buffer_bytes(&request, RGM_HOST_BUFFERS) < 2 * 256 << 10);
    CHECK_OK(rgm_host_measure(RGM_HOST_MEMORY, &request, &figures, &err));
    for (int id = RGM_CEILING_MEMORY_COPY; id <= RGM_CEILING_MEMORY_UPDATE; id++)
        CHECK(figures.at[id].value > 0);
}

static bool never(void *arg) {
    (*(int *)arg)++;
    return false;
}

TEST(a_measurement_can_be_ended) {
    rgm_calibrate_policy policy = small_policy();
    rgm_host_request request = small_request(&policy);
    rgm_figures figures;
    rgm_error err;
    int asked = 0;
    request.effort.goes_on = never;
    request.effort.arg = &asked;
    for (int part = 0; part < RGM_HOST_PART_COUNT; part++)
        CHECK_EQ_I64(rgm_host_measure((rgm_host_part)part, &request, &figures, &err), RGM_LIMIT);
    CHECK_EQ_I64(asked, RGM_HOST_PART_COUNT);
}

TEST(a_host_without_memory_gives_everything_back) {
    rgm_calibrate_policy policy = small_policy();
    rgm_host_request request = small_request(&policy);
    rgm_figures figures;
    rgm_error err;
    for (int part = 0; part < RGM_HOST_PART_COUNT; part++)
        EACH_FAULT("a measurement") FAULTY(rgm_host_measure((rgm_host_part)part, &request, &figures, &err));
}

// --- a device whose clock moves only by the work that is queued --------------------------------------------

enum { L2_BYTES = 4 << 20 }; // the double gives memory to the buffers, which are several times as large
static const char driver_path[] = FAKES "/libfake_cuda.so";
static void *double_handle;

static void set(const char *name, long long value) {
    void (*call)(const char *, long long);
    *(void **)&call = dlsym(double_handle, "fake_cuda_set");
    call(name, value);
}

static void kernel_takes(const char *name, long long ns) {
    void (*call)(const char *, void (*)(void), long long);
    *(void **)&call = dlsym(double_handle, "fake_cuda_kernel");
    call(name, NULL, ns);
}

static bool begin_device(void) {
    (void)setenv("REGIMETER_LIBCUDA", driver_path, 1);
    (void)setenv("REGIMETER_LIBNVRTC", FAKES "/libfake_nvrtc.so", 1);
    if (!double_handle) double_handle = dlopen(driver_path, RTLD_NOW);
    if (!double_handle) return false;
    set("follow", 0);
    set("kernel_ns", 10000);
    set("major", 9);
    set("minor", 0);
    set("l2_bytes", L2_BYTES);
    return true;
}

static rgm_status measure_device(rgm_device_part part, rgm_figures *figures, rgm_error *err) {
    rgm_calibrate_policy policy = small_policy();
    rgm_device_request request = {.effort = {.policy = &policy, .quick = true}};
    uint32_t gaps = 0;
    policy.buffer_bytes_quick = L2_BYTES;
    rgm_status status = rgm_device_measure(part, &request, figures, &gaps, err);
    CHECK_EQ_U64(gaps, 0);
    return status;
}

TEST(rates_of_a_device_are_work_over_time) {
    rgm_figures figures;
    rgm_error err;
    const double buffer = 4.0 * L2_BYTES, threads = 132 * 8 * 256; // the double has 132 multiprocessors
    REQUIRE(begin_device());
    kernel_takes("rgm_copy", 200000);
    kernel_takes("rgm_triad", 300000);
    kernel_takes("rgm_read", 100000);
    kernel_takes("rgm_fill", 50000);
    kernel_takes("rgm_read_l2", 2000000);
    CHECK_OK(measure_device(RGM_DEVICE_MEMORY, &figures, &err));
    CHECK_NEAR(figures.at[RGM_CEILING_MEMORY_COPY].value, 2 * buffer / 200e-6, 1);
    CHECK_NEAR(figures.at[RGM_CEILING_MEMORY_TRIAD].value, 3 * buffer / 300e-6, 1);
    CHECK_NEAR(figures.at[RGM_CEILING_MEMORY_READ].value, buffer / 100e-6, 1);
    CHECK_NEAR(figures.at[RGM_CEILING_MEMORY_FILL].value, buffer / 50e-6, 1);
    CHECK_NEAR(figures.at[RGM_CEILING_CACHE_L2].value, L2_BYTES / 4.0 / 2e-3, 1);
    kernel_takes("rgm_fma_fp32", 4000000);
    kernel_takes("rgm_fma_fp64", 8000000);
    kernel_takes("rgm_fma_fp16", 4000000);
    kernel_takes("rgm_mma_fp16_k8", 8000000);
    kernel_takes("rgm_mma_fp16", 2000000);
    kernel_takes("rgm_mma_int8_k16", 8000000);
    kernel_takes("rgm_mma_int8", 2000000);
    CHECK_OK(measure_device(RGM_DEVICE_COMPUTE, &figures, &err));
    CHECK_NEAR(figures.at[RGM_CEILING_COMPUTE_FP32].value, threads * 64 * 256 / 4e-3, 1);
    CHECK_NEAR(figures.at[RGM_CEILING_COMPUTE_FP64].value, threads * 64 * 256 / 8e-3, 1);
    CHECK_NEAR(figures.at[RGM_CEILING_COMPUTE_FP16].value, threads / 32 * 64 * 32768 / 2e-3, 1);
    CHECK_STR_EQ(figures.at[RGM_CEILING_COMPUTE_FP16].source, "kernel rgm_mma_fp16");
    CHECK_NEAR(figures.at[RGM_CEILING_COMPUTE_INT8].value, threads / 32 * 64 * 65536 / 2e-3, 1);
    CHECK(isnan(figures.at[RGM_CEILING_COMPUTE_FP8].value));
}

// The kernel compiles for 9.0 too, into products of another type.
TEST(fp8_has_a_ceiling_only_where_it_is_an_instruction) {
    rgm_figures figures;
    rgm_error err;
    static const struct {
        int major, minor;
        bool native;
    } cases[] = {{9, 0, false}, {10, 0, false}, {12, 0, true}, {12, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rgm_figure *fp8 = &figures.at[RGM_CEILING_COMPUTE_FP8];
        REQUIRE(begin_device());
        set("major", cases[i].major);
        set("minor", cases[i].minor);
        kernel_takes("rgm_mma_fp8", 2500000);
        CHECK_OK(measure_device(RGM_DEVICE_COMPUTE, &figures, &err));
        if (cases[i].native) {
            CHECK_STR_EQ(fp8->reason, "");
            CHECK_NEAR(fp8->value, 132.0 * 8 * 256 / 32 * 64 * 65536 / 2.5e-3, 1);
        } else {
            CHECK(isnan(fp8->value));
            CHECK(strstr(fp8->reason, "multiplies fp8 by warp groups only"));
        }
    }
}

TEST(costs_and_transfers_of_a_device) {
    rgm_figures figures;
    rgm_error err;
    REQUIRE(begin_device());
    kernel_takes("rgm_empty", 2500);
    set("graph_ns", 300000);
    CHECK_OK(measure_device(RGM_DEVICE_LAUNCH, &figures, &err));
    CHECK_NEAR(figures.at[RGM_CEILING_SHORTEST_KERNEL].value, 2500, 0);
    CHECK_NEAR(figures.at[RGM_CEILING_LAUNCH_GAP].value, 2500, 1);
    CHECK_NEAR(figures.at[RGM_CEILING_GRAPH_NODE].value, 300000.0 / 200, 1e-6);
    CHECK(figures.at[RGM_CEILING_LAUNCH].value > 0 && figures.at[RGM_CEILING_ROUND_TRIP].value > 0);
    set("copy_bytes_per_us", 8); // the double's copies take 1 us and their bytes
    CHECK_OK(measure_device(RGM_DEVICE_TRANSFER, &figures, &err));
    set("copy_bytes_per_us", 20000);
    for (int id = RGM_CEILING_H2D_PINNED_LATENCY; id <= RGM_CEILING_D2H_PAGEABLE; id += 2) {
        CHECK_NEAR(figures.at[id].value, 1000, 1);
        CHECK_NEAR(figures.at[id + 1].value, 8e6, 10);
    }
}

TEST(a_device_that_fails_gives_everything_back) {
    static const char *const failing[] = {"fail_cuMemAlloc_v2",       "fail_cuLaunchKernel",
                                          "fail_cuMemHostAlloc",      "fail_cuEventElapsedTime",
                                          "fail_cuStreamSynchronize", "fail_cuMemcpyHtoDAsync_v2"};
    rgm_figures figures;
    rgm_error err;
    REQUIRE(begin_device());
    for (int part = 0; part < RGM_DEVICE_PART_COUNT; part++) {
        (void)measure_device((rgm_device_part)part, &figures, &err); // loads libraries
        for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
            int64_t live = rgm_memory_live();
            set(failing[i], RGM_CU_OUT_OF_MEMORY);
            rgm_status status = measure_device((rgm_device_part)part, &figures, &err);
            set(failing[i], 0);
            CHECK(status == RGM_OK || status == RGM_LIMIT || status == RGM_UNAVAILABLE);
            CHECK_EQ_I64(rgm_memory_live(), live);
        }
    }
    set("fail_cuGraphLaunch", RGM_CU_NOT_SUPPORTED); // takes away that figure only
    CHECK_OK(measure_device(RGM_DEVICE_LAUNCH, &figures, &err));
    set("fail_cuGraphLaunch", 0);
    CHECK(isnan(figures.at[RGM_CEILING_GRAPH_NODE].value));
    CHECK(strstr(figures.at[RGM_CEILING_GRAPH_NODE].reason, "CUDA_ERROR_NOT_SUPPORTED") != NULL);
    CHECK(figures.at[RGM_CEILING_SHORTEST_KERNEL].value > 0);
}

TEST(what_the_driver_tells_of_a_device) {
    rgm_device_about about;
    rgm_error err;
    REQUIRE(begin_device());
    CHECK_OK(rgm_device_describe(0, &about, &err));
    CHECK_STR_EQ(about.name, "Paper GPU 0");
    CHECK_EQ_I64(about.capability, 90);
    CHECK_NEAR(about.derived_bytes_per_s, 2 * 1593e6 * 5120 / 8, 1); // 2.04 TB/s
    CHECK_NEAR(about.derived_fp32, 2.0 * 128 * 132 * 1755e6, 1);     // 59 TFLOP/s
    CHECK_EQ_I64(rgm_device_describe(1, &about, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "no CUDA device 1") != NULL);
}
