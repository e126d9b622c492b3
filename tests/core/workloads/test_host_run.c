// SPDX-License-Identifier: Apache-2.0
// Workloads on this processor: what is run how often, sharing of items, and failures that give everything
// back.
#include "workloads/host_run.h"

#include <math.h>
#include <stdatomic.h>

#include "faults.h"
#include "workloads/team.h"

enum { ITEMS = 5000 };
static _Atomic int visits[ITEMS];

static void visit(void *argument, size_t begin, size_t end) {
    (void)argument;
    for (size_t i = begin; i < end; i++) atomic_fetch_add(&visits[i], 1);
}

TEST(a_team_does_each_item_once) {
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, ITEMS};
    for (unsigned threads = 1; threads <= 5; threads++) {
        rgm_team team;
        rgm_team_start(&team, threads);
        CHECK(team.size >= 1 && team.size <= threads);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int again = 0; again < 50; again++) {
                for (size_t k = 0; k < ITEMS; k++) atomic_store(&visits[k], 0);
                rgm_team_run(&team, visit, NULL, counts[i]);
                size_t wrong = 0;
                for (size_t k = 0; k < ITEMS; k++) wrong += atomic_load(&visits[k]) != (k < counts[i]);
                CHECK_EQ_U64(wrong, 0);
            }
        rgm_team_stop(&team);
    }
}

TEST(a_team_is_never_larger_than_it_may_be) {
    rgm_team team;
    rgm_team_start(&team, 10 * RGM_TEAM_MOST);
    CHECK(team.size <= RGM_TEAM_MOST);
    rgm_team_stop(&team);
    CHECK(rgm_team_processors() >= 1 && rgm_team_processors() <= RGM_TEAM_MOST);
}

static int64_t times[64], call_times[64];

static rgm_status run(const char *name, rgm_host_request request, rgm_host_result *result, rgm_error *err) {
    request.times_ns = times;
    request.call_times_ns = call_times;
    return rgm_host_run(rgm_workload_find(name), &request, result, err);
}

TEST(every_set_computes_the_product) {
    static const char *const names[] = {NULL, "avx2", "portable"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const rgm_fast_set *set = rgm_fast_set_find(names[i]);
        if (!set) continue; // not on this processor
        double sizes[] = {7, 18, 300};
        float c[7 * 18] = {0};
        void *outputs[RGM_WORKLOAD_BUFFERS] = {NULL, NULL, c};
        rgm_host_result result;
        rgm_error err;
        for (size_t k = 0; k < 16; k++) times[k] = call_times[k] = 0;
        CHECK_OK(run("matrix_multiply",
                     (rgm_host_request){.set = set,
                                        .threads = 3,
                                        .iterations = 5,
                                        .calls = 4,
                                        .parameters = sizes,
                                        .outputs = outputs},
                     &result, &err));
        for (size_t k = 0; k < 7 * 18; k++) CHECK_NEAR(c[k], 3.0, 1e-5); // 300 times 0.1 * 0.1
        for (size_t k = 0; k < 5; k++) CHECK(times[k] > 0);
        for (size_t k = 0; k < 4; k++) CHECK(call_times[k] > 0);
        CHECK_EQ_I64(times[5], 0);
        CHECK_EQ_I64(call_times[4], 0);
        CHECK(result.repeats >= 1 && result.call_repeats >= 1);
    }
    CHECK(rgm_fast_set_find("nothing") == NULL);
}

TEST(the_reference_runs_on_one_thread_and_untimed_too) {
    rgm_host_result result;
    rgm_error err;
    float forecast[10] = {0};
    void *outputs[RGM_WORKLOAD_BUFFERS] = {NULL, NULL, forecast};
    CHECK_OK(run("ar_forecast", (rgm_host_request){.threads = 4, .outputs = outputs}, &result, &err));
    CHECK_EQ_U64(result.threads, 1);
    CHECK(forecast[0] > 20.0f && forecast[0] < 60.0f);
}

TEST(numbers_out_of_bounds_are_refused) {
    rgm_host_result result;
    rgm_error err;
    double wrong[] = {0};
    CHECK_EQ_I64(run("vector_add", (rgm_host_request){.calls = RGM_HOST_MOST_RUNS + 1}, &result, &err),
                 RGM_INVALID);
    CHECK_EQ_I64(run("vector_add", (rgm_host_request){.parameters = wrong}, &result, &err), RGM_INVALID);
    CHECK_STR_EQ(err.message, "vector_add: n is 0; a whole number from 1 to 2.68435e+08 is needed");
}

TEST(no_memory_gives_everything_back) {
    static const char *const names[] = {"dot_product", "lstm_cell_forward", "ar_forecast"};
    rgm_host_result result;
    rgm_error err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int fast = 0; fast < 2; fast++) {
            const rgm_host_request request = {
                .set = fast ? rgm_fast_set_find(NULL) : NULL, .threads = 2, .iterations = 1, .calls = 2};
            EACH_FAULT(names[i]) FAULTY(run(names[i], request, &result, &err));
        }
}
