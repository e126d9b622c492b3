// SPDX-License-Identifier: Apache-2.0
// Analyses of idle time, launches, queues, copies and synchronisation: the building blocks by hand, and every
// analysis on damaged runs and with each allocation failing in turn.
#include <stdlib.h>

#include "analysed.h"
#include "analysis/keyed.h"
#include "analysis/stats.h"
#include "analysis/waiting/copies.h"
#include "analysis/waiting/coverage.h"
#include "analysis/waiting/host_activity.h"
#include "analysis/waiting/hosts.h"
#include "faults.h"
#include "small_runs.h"

enum { HOST, STREAM, OTHER_STREAM };

static const char *const analyses[] = {"idle_gaps",     "idle_times",   "launch_times", "short_kernels",
                                       "queue_lengths", "queue_series", "copy_times",   "copy_bandwidth",
                                       "copy_rates",    "sync_times"};
enum { N_ANALYSES = sizeof analyses / sizeof analyses[0] };

static void span(rgm_run *run, rgm_kind kind, const char *name, uint32_t on, int64_t start, int64_t duration,
                 int64_t correlation) {
    size_t row = span_add(run, kind, name, on, start, duration);
    run->spans.correlation[row] = correlation;
    run->spans.bytes[row] = INT64_MAX;
}

static rgm_run *fresh(void) {
    rgm_run *run = run_of_lanes(3);
    for (int i = 0; i < 3; i++) {
        run->lanes.device[i] = (rgm_i16)(i == HOST ? -1 : 0);
        run->lanes.thread[i] = (const int64_t[]){1, 7, 20}[i];
    }
    return run;
}

// A little of everything.
static rgm_run *various(void) {
    rgm_run *run = fresh();
    span(run, RGM_KIND_CPU_OP, "aten::mm", HOST, 0, 400, -1);
    span(run, RGM_KIND_RUNTIME, "cudaLaunchKernel", HOST, 1, 5, 1);
    span(run, RGM_KIND_RUNTIME, "cudaStreamWaitEvent", HOST, 7, 1, 2);
    span(run, RGM_KIND_RUNTIME, "cudaMemcpyAsync", HOST, 9, 5, 3);
    span(run, RGM_KIND_RUNTIME, "cudaStreamSynchronize", HOST, 20, 100, 4);
    span(run, RGM_KIND_RUNTIME, "cudaGraphLaunch", HOST, 150, 5, 5);
    span(run, RGM_KIND_SYNC, "Stream Wait Event", OTHER_STREAM, 50, 0, 2);
    span(run, RGM_KIND_KERNEL, "gemm", STREAM, 10, 50, 1);
    span(run, RGM_KIND_MEMCPY, "Memcpy DtoH (Device -> Pageable)", OTHER_STREAM, 61, 50, 3);
    span(run, RGM_KIND_KERNEL, "ncclDevKernel", STREAM, 170, 5, 5);
    span(run, RGM_KIND_KERNEL, "gemm", OTHER_STREAM, 180, 5, 5);
    span(run, RGM_KIND_KERNEL, "gemm", STREAM, 250, 5, -1);
    return run;
}

static rgm_status compute(const char *name, const rgm_view *view, int32_t by, size_t *rows) {
    return analysis_try(analysis_named(name), view, NULL, (rgm_question){.group_by = by}, rows, NULL);
}

static void compute_all(rgm_run *run, bool empty) {
    rgm_view view;
    CHECK_OK(rgm_run_check(run, NULL));
    CHECK_OK(rgm_view_init(&view, run, NULL, 0, NULL));
    for (size_t a = 0; a < N_ANALYSES; a++) {
        for (int32_t by = 0; by < 3; by++) {
            size_t rows;
            CHECK_OK(compute(analyses[a], &view, by, &rows));
            CHECK(empty == (rows == 0));
        }
    }
    rgm_view_release(&view);
    rgm_run_free(run);
}

static rgm_string text(const char *data) {
    return (rgm_string){.data = data, .length = (uint32_t)strlen(data)};
}

TEST(coverage_is_the_union) {
    rgm_coverage coverage = {0};
    CHECK_EQ_I64(rgm_coverage_within(&coverage, INT64_MIN, INT64_MAX), 0);
    const int64_t spans[][2] = {{0, 10}, {5, 8}, {10, 12}, {20, 20}, {30, 40}};
    for (size_t i = 0; i < 5; i++) CHECK_OK(rgm_coverage_add(&coverage, spans[i][0], spans[i][1], NULL));
    CHECK_EQ_U64(coverage.count, 2);
    CHECK_EQ_I64(rgm_coverage_total(&coverage), 22);
    CHECK_EQ_I64(rgm_coverage_within(&coverage, 11, 31), 2);
    CHECK_EQ_I64(rgm_coverage_within(&coverage, 12, 30), 0);
    CHECK_EQ_I64(rgm_coverage_within(&coverage, 31, 11), 0);
    CHECK_EQ_I64(rgm_coverage_within(&coverage, INT64_MIN, INT64_MAX), 22);
    const int64_t at[][2] = {{INT64_MIN, 0}, {-1, 0},  {0, 12}, {11, 12},
                             {12, 0},        {30, 10}, {40, 0}, {INT64_MAX, 0}};
    for (size_t i = 0; i < 8; i++) CHECK_EQ_I64(rgm_coverage_at(&coverage, at[i][0]), at[i][1]);
    rgm_coverage_release(&coverage);
}

TEST(groups_keep_their_order) {
    const uint64_t keys[] = {7, 3, 7, UINT64_MAX, 3};
    const uint32_t items[] = {1, 4, 0, 2, 3}, first[] = {0, 2, 4, 5};
    rgm_keyed groups;
    CHECK_OK(rgm_keyed_init(&groups, keys, 5, NULL));
    CHECK_EQ_U64(groups.count, 3);
    for (size_t i = 0; i < 5; i++) CHECK_EQ_U64(groups.items[i], items[i]);
    for (size_t i = 0; i < 4; i++) CHECK_EQ_U64(groups.first[i], first[i]);
    rgm_keyed_release(&groups);
    CHECK_OK(rgm_keyed_init(&groups, keys, 0, NULL));
    CHECK_EQ_U64(groups.count, 0);
    rgm_keyed_release(&groups);
}

TEST(ranks_break_ties_by_text) {
    rgm_ranked ranked[] = {{5, text("b"), text(""), 0},
                           {5, text("a"), text(""), 1},
                           {9, text("z"), text(""), 2},
                           {5, text("a"), text("0"), 3},
                           {5, text(""), text(""), 4}};
    const uint32_t expected[] = {2, 4, 1, 3, 0};
    rgm_ranked_sort(ranked, 5);
    for (size_t i = 0; i < 5; i++) CHECK_EQ_U64(ranked[i].group, expected[i]);
}

TEST(spread_of_no_values_and_of_extremes) {
    int64_t values[] = {INT64_MAX, INT64_MAX, INT64_MIN}, scratch[3];
    CHECK(isnan(rgm_spread_of(values, 0, scratch, 0.95).mean));
    rgm_spread spread = rgm_spread_of(values, 3, scratch, 0.95);
    CHECK_EQ_I64(spread.min, INT64_MIN);
    CHECK_EQ_I64(spread.max, INT64_MAX);
    CHECK_NEAR(spread.mean, 3.0744573456182586e18, 1e4);
}

TEST(bounded_distance_keeps_its_sign) {
    CHECK_EQ_I64(rgm_subtract_bounded(INT64_MIN, 1), INT64_MIN);
    CHECK_EQ_I64(rgm_subtract_bounded(INT64_MAX, -1), INT64_MAX);
    CHECK_EQ_I64(rgm_subtract_bounded(3, 5), -2);
}

TEST(calls_are_told_by_name) {
    const struct {
        const char *name;
        rgm_call_kind class;
    } known[] = {{"cudaDeviceSynchronize", RGM_CALL_AWAITS_DEVICE},
                 {"synchronizeStream", RGM_CALL_AWAITS_STREAM},
                 {"cuStreamSynchronize_ptsz", RGM_CALL_AWAITS_STREAM},
                 {"hipEventSynchronize", RGM_CALL_AWAITS_EVENT},
                 {"hipFree", RGM_CALL_FREE},
                 {"cudaFreeHost", RGM_CALL_OTHER},
                 {"hipStreamWaitEvent", RGM_CALL_STREAM_WAIT},
                 {"cuMemcpyDtoH_v2", RGM_CALL_COPY},
                 {"hipMemcpyWithStream", RGM_CALL_COPY},
                 {"cudaMemcpy2DAsync", RGM_CALL_COPY_ASYNC},
                 {"cudaLaunchKernel", RGM_CALL_OTHER},
                 {"cudaEventQuery", RGM_CALL_OTHER},
                 {"cudaGraphAddMemcpyNode", RGM_CALL_OTHER},
                 {"", RGM_CALL_OTHER}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        CHECK_EQ_I64(rgm_call_classify(text(known[i].name)), known[i].class);
}

TEST(nothing_in_nothing_out) {
    rgm_run *run = NULL;
    CHECK_OK(rgm_run_new(&run, NULL));
    compute_all(run, true);
}

TEST(a_little_of_everything) { compute_all(various(), false); }

TEST(extremes_do_not_overflow) {
    rgm_run *run = fresh();
    for (int64_t i = 1; i <= 8; i++) {
        int64_t start = i % 2 ? INT64_MIN / 2 : INT64_MAX / 2;
        span(run, RGM_KIND_RUNTIME, i % 3 ? "cudaMemcpy" : "cudaStreamSynchronize", HOST, -start - (i % 2),
             INT64_MAX / 4, i);
        span(run, RGM_KIND_MEMCPY, "Memcpy HtoD (Pinned -> Device)", STREAM, start, i % 4 ? INT64_MAX / 4 : 1,
             i);
        span(run, RGM_KIND_KERNEL, "gemm", OTHER_STREAM, start, INT64_MAX / 4, i);
        span(run, RGM_KIND_SYNC, "Context Sync", STREAM, start, INT64_MAX / 4, i);
    }
    compute_all(run, false);
}

TEST(every_allocation_may_fail) {
    rgm_run *run = various();
    rgm_view view;
    CHECK_OK(rgm_run_check(run, NULL));
    CHECK_OK(rgm_view_init(&view, run, NULL, 0, NULL));
    for (size_t a = 0; a < N_ANALYSES; a++) {
        for (int32_t by = 0; by < 2; by++) {
            size_t rows;
            int rounds = 0;
            EACH_FAULT(analyses[a]) {
                FAULTY(compute(analyses[a], &view, by, &rows));
                rounds++;
            }
            CHECK(rounds > 3);
        }
    }
    rgm_view_release(&view);
    rgm_run_free(run);
}
