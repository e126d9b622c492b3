// SPDX-License-Identifier: Apache-2.0
#include "capture/sampler.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "recording.h"

static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

TEST(the_resident_set_grows_with_what_is_touched) {
    enum { BYTES = 64 << 20 };
    int64_t before = rgm_memory_resident();
    REQUIRE(before > 0);
    char *block = malloc(BYTES);
    REQUIRE(block);
    for (size_t i = 0; i < BYTES; i += 1024)
        ((volatile char *)block)[i] = 1; // an unread memset may be left out
    int64_t during = rgm_memory_resident();
    CHECK(during - before > BYTES / 5 * 4);
    if (!SANITIZED) CHECK(during - before < BYTES / 5 * 6); // their shadow memory counts too
    CHECK(rgm_memory_resident_peak() + (1 << 20) >= during);
    int64_t in_use = 0, held = 0;
    if (rgm_memory_malloc(&in_use, &held)) CHECK(held >= in_use && in_use >= (SANITIZED ? 0 : BYTES));
    free(block);
    rgm_memory_reopen();
    CHECK(rgm_memory_resident() > 0);
}

static _Atomic(int) samples;
static _Atomic(int64_t) last_bytes;
static void count_sample(void *arg, const rgm_sample *sample) {
    (void)arg;
    CHECK(sample->bytes > 0 && sample->device == -1);
    atomic_store(&last_bytes, sample->bytes);
    atomic_fetch_add(&samples, 1);
}

TEST(an_unchanged_value_comes_once_a_heartbeat) {
    rgm_sampler sampler = {0};
    int64_t cpu = cpu_ns(), from = rgm_clock_monotonic_ns();
    CHECK_OK(rgm_sampler_start(&sampler, 1000000, 20000000, count_sample, NULL, NULL));
    while (atomic_load(&samples) < 5) usleep(1000);
    int64_t elapsed = rgm_clock_monotonic_ns() - from;
    rgm_sampler_stop(&sampler);
    rgm_sampler_stop(&sampler);
    printf("sampler at 1 ms: %.2f %% of one core\n", 100.0 * (double)(cpu_ns() - cpu) / (double)elapsed);
    int after = atomic_load(&samples);
    usleep(30000);
    CHECK_EQ_I64(atomic_load(&samples), after);
    CHECK_NEAR((double)atomic_load(&last_bytes), (double)rgm_memory_resident(), 64e6);
}

TEST(stop_does_not_wait_for_the_interval) {
    rgm_sampler sampler = {0};
    atomic_store(&samples, 0);
    CHECK_OK(rgm_sampler_start(&sampler, INT64_C(3600) * 1000000000, 1, count_sample, NULL, NULL));
    rgm_sampler_stop(&sampler); // or the test does not end
    CHECK(!sampler.running);
    CHECK(atomic_load(&samples) >= 1); // although it may not have run before it was to stop
}

TEST(a_session_samples_while_it_records) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.sample_interval_ns = 1000000;
    options.sample_heartbeat_ns = 1000000;
    rgm_session *s = session_with(options, NULL);
    REQUIRE(s);
    open_scope scope = scope_begin(s, "op");
    rgm_session_stats stats = {0};
    while (stats.rows[RGM_LOG_SAMPLES] < 5) {
        usleep(1000);
        rgm_session_get_stats(s, &stats);
    }
    scope_end(s, scope);
    rgm_session_sampling(s, 0);
    rgm_session_get_stats(s, &stats);
    uint64_t count = stats.rows[RGM_LOG_SAMPLES];
    usleep(20000);
    rgm_session_get_stats(s, &stats);
    CHECK_EQ_U64(stats.rows[RGM_LOG_SAMPLES], count);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_U64(run->memory.rows, count);
    for (size_t i = 1; i < run->memory.rows; i++) {
        CHECK_EQ_I64(run->memory.action[i], RGM_ACTION_SAMPLE);
        CHECK(run->memory.time_ns[i] > run->memory.time_ns[i - 1]);
    }
    rgm_run_free(run);
}

TEST(samples_past_the_budget_are_counted) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.sample_budget_bytes = 512 * (int64_t)sizeof(rgm_sample);
    rgm_session *s = session_with(options, NULL);
    REQUIRE(s);
    for (int i = 0; i < 600; i++)
        rgm_session_rows(s, RGM_LOG_SAMPLES, &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = i}, 1);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->memory.rows, 512);
    CHECK_EQ_I64(run->memory.bytes[511], 511);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_SAMPLES), 88);
    rgm_run_free(run);
    rgm_session_free(s);
}
