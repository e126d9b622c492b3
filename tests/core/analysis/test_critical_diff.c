// SPDX-License-Identifier: Apache-2.0
// Runs of random rows through the critical path and the comparison: whatever they hold, the segments tile the
// window, no call fails but for lack of memory, and nothing leaks.

#include "analysed.h"
#include "analysis/critical/critical.h"
#include "faults.h"

static uint32_t seed;
static uint32_t next(uint32_t bound) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % bound;
}

static const char *const names[] = {
    "op",         "cudaLaunchKernel",       "cudaDeviceSynchronize", "cudaStreamSynchronize",
    "gemm<1>",    "cudaEventSynchronize",   "cudaStreamWaitEvent",   "ncclKernel_2",
    "op again",   "Memcpy DtoH (Pageable)", "cudaMemcpyAsync",       "DataLoader next",
    "gemm<2, 3>", "ProfilerStep#4"};
enum { NAMES = sizeof names / sizeof names[0], LANES = 6 };

static rgm_status fill(rgm_run *run, size_t rows, int64_t spread, rgm_error *err) {
    rgm_name ids[NAMES];
    for (size_t i = 0; i < NAMES; i++)
        RGM_TRY(rgm_strings_intern(&run->strings, names[i], strlen(names[i]), &ids[i], err));
    size_t row;
    for (size_t i = 0; i < LANES; i++) {
        RGM_TRY(rgm_table_append(&rgm_lanes_desc, &run->lanes, RGM_ALL_COLUMNS, &row, err));
        run->lanes.thread[row] = (int64_t)i;
        run->lanes.device[row] = i < 3 ? -1 : 0;
    }
    for (size_t i = 0; i < rows; i++) {
        static const uint8_t host[] = {RGM_KIND_CPU_OP, RGM_KIND_RUNTIME, RGM_KIND_RUNTIME,
                                       RGM_KIND_ANNOTATION, RGM_KIND_PYTHON};
        static const uint8_t work[] = {RGM_KIND_KERNEL, RGM_KIND_KERNEL, RGM_KIND_MEMCPY, RGM_KIND_SYNC};
        RGM_TRY(rgm_table_append(&rgm_spans_desc, &run->spans, RGM_ALL_COLUMNS, &row, err));
        uint32_t lane = next(LANES);
        run->spans.lane[row] = lane;
        run->spans.kind[row] = lane < 3 ? host[next(5)] : work[next(4)];
        run->spans.name[row] = ids[next(NAMES)];
        run->spans.start_ns[row] =
            spread > 1000 ? (next(2) ? -INT64_MAX / 2 : INT64_MAX / 2) : next((uint32_t)spread);
        run->spans.duration_ns[row] = spread > 1000 ? INT64_MAX / 4 * next(2) : next(40);
        run->spans.correlation[row] = next((uint32_t)rows / 2 + 1);
        run->spans.step[row] = (int32_t)next(3);
        if (run->spans.kind[row] != RGM_KIND_SYNC) continue;
        size_t sync;
        RGM_TRY(rgm_table_append(&rgm_syncs_desc, &run->syncs, RGM_ALL_COLUMNS, &sync, err));
        run->syncs.span[sync] = (rgm_u32)row;
        run->syncs.stream[sync] = (int64_t)next(8) - 1;
        run->syncs.waits_on_stream[sync] = (int64_t)next(8) - 1;
        run->syncs.record_correlation[sync] = next((uint32_t)rows / 2 + 1);
    }
    return RGM_OK;
}

// Thresholds that fit the times of these runs, in which a long wait takes tens of nanoseconds.
static rgm_policy short_policy(void) {
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    policy.critical_behind_ns = 5;
    policy.critical_latency_ns = 20;
    policy.critical_clock_tolerance_ns = 2;
    policy.launch_gap_ns = 3;
    return policy;
}

static rgm_status analyse(const rgm_view *view, const rgm_view *other, rgm_policy policy, rgm_error *err) {
    for (size_t i = 0; i < rgm_analyses_count; i++) {
        const rgm_analysis *analysis = &rgm_analyses[i];
        bool path = strncmp(analysis->name, "critical", 8) == 0;
        if (!path && strncmp(analysis->name, "trace_diff", 10) != 0) continue;
        for (int group_by = 0; group_by < 3; group_by++) {
            rgm_question question = {.group_by = path ? 0 : group_by, .other = other};
            RGM_TRY(analysis_try(analysis, view, &policy, question, NULL, err));
        }
    }
    return RGM_OK;
}

static rgm_status whole(size_t rows, int64_t spread, rgm_error *err) {
    rgm_run *run = NULL;
    rgm_view view = {0};
    rgm_status status;
    RGM_GOTO(rgm_run_new(&run, err));
    RGM_GOTO(fill(run, rows, spread, err));
    RGM_GOTO(rgm_view_init(&view, run, NULL, 0, err));
    RGM_GOTO(analyse(&view, &view, short_policy(), err));
    RGM_GOTO(analyse(&view, &view, (rgm_policy)RGM_POLICY_DEFAULTS, err));
done:
    rgm_view_release(&view);
    rgm_run_free(run);
    return status;
}

TEST(random_runs_pass_through_both) {
    rgm_error err;
    for (uint32_t i = 0; i < 300; i++) {
        seed = i;
        CHECK_EQ_I64(whole(1 + i, 1 + i % 400, &err), RGM_OK);
    }
}

TEST(times_at_the_ends_of_their_range_do_not_overflow) {
    rgm_error err;
    for (uint32_t i = 0; i < 50; i++) {
        seed = i;
        CHECK_EQ_I64(whole(60, INT64_MAX, &err), RGM_OK);
    }
}

TEST(the_segments_of_random_runs_tile_the_window) {
    rgm_error err;
    rgm_policy policy = short_policy();
    for (uint32_t i = 0; i < 200; i++) {
        rgm_run *run = NULL;
        rgm_view view = {0};
        rgm_critical_path path = {0};
        rgm_critical graph;
        rgm_question question = {0};
        seed = 1000 + i;
        REQUIRE(rgm_run_new(&run, &err) == RGM_OK && fill(run, 150, 300, &err) == RGM_OK);
        REQUIRE(rgm_view_init(&view, run, NULL, 0, &err) == RGM_OK);
        REQUIRE(rgm_critical_build(&graph, &view, &policy, &question, &err) == RGM_OK);
        REQUIRE(rgm_critical_path_compute(&view, &policy, &question, &path, &err) == RGM_OK);
        int64_t at = graph.start_ns, length;
        for (size_t s = 0; s < path.rows; s++) {
            CHECK_EQ_I64(path.start_ns[s], at);
            at += path.duration_ns[s];
        }
        CHECK_EQ_I64(at, graph.end_ns);
        REQUIRE(rgm_critical_length(&graph, 0, &length, &err) == RGM_OK);
        CHECK_EQ_I64(length, graph.end_ns - graph.start_ns);
        rgm_critical_release(&graph);
        rgm_table_release(&rgm_critical_path_desc, &path);
        rgm_view_release(&view);
        rgm_run_free(run);
    }
}

TEST(the_graph_of_the_usual_question_is_kept_and_others_are_not) {
    rgm_error err;
    rgm_run *run = NULL;
    rgm_view view = {0};
    rgm_policy usual = RGM_POLICY_DEFAULTS, other = short_policy();
    rgm_question whole_run = {0}, first_rank = {.group_by = 1};
    const rgm_critical *kept, *again, *own, *of_rank;
    rgm_critical alone;
    seed = 5;
    REQUIRE(rgm_run_new(&run, &err) == RGM_OK && fill(run, 150, 300, &err) == RGM_OK);
    REQUIRE(rgm_view_init(&view, run, NULL, 0, &err) == RGM_OK);
    REQUIRE(rgm_critical_open(&kept, &view, &usual, &whole_run, &err) == RGM_OK);
    rgm_critical_close(kept);
    REQUIRE(rgm_critical_open(&again, &view, &usual, &whole_run, &err) == RGM_OK);
    REQUIRE(rgm_critical_open(&own, &view, &other, &whole_run, &err) == RGM_OK);
    REQUIRE(rgm_critical_open(&of_rank, &view, &usual, &first_rank, &err) == RGM_OK);
    REQUIRE(rgm_critical_build(&alone, &view, &usual, &whole_run, &err) == RGM_OK);
    CHECK(again == kept);
    CHECK(own != kept);
    CHECK(of_rank != kept);
    CHECK_EQ_U64(kept->n_nodes, alone.n_nodes);
    for (size_t node = 0; node < alone.n_nodes; node++)
        CHECK_EQ_I64(kept->bound_by[node], alone.bound_by[node]);
    rgm_critical_release(&alone);
    rgm_critical_close(of_rank);
    rgm_critical_close(own);
    rgm_critical_close(again);
    rgm_critical_close(NULL);
    rgm_view_release(&view);
    rgm_run_free(run);
}

TEST(every_failed_allocation_is_reported_and_nothing_leaks) {
    rgm_error err;
    EACH_FAULT("both") {
        seed = 7;
        FAULTY(whole(60, 200, &err));
    }
}
