// SPDX-License-Identifier: Apache-2.0
// Runs of ranks, merged and put to the analyses of communication, ranks, sequences and counters: with every
// allocation refused in turn, and with times at the ends of their range.

#include "analysed.h"
#include "faults.h"
#include "model/merge.h"
#include "small_runs.h"

enum { KERNELS = 24 };

static const char *const under_test[] = {
    "communication", "collective_times",     "rank_times",       "stragglers",     "clock_offsets",
    "sequences",     "collective_instances", "sequence_kernels", "counter_values", "counter_flops",
    "pools"};

static rgm_status name_of(rgm_run *run, const char *text, rgm_name *id) {
    return rgm_strings_intern(&run->strings, text, strlen(text), id, NULL);
}

static rgm_status add_span(rgm_run *run, const char *name, rgm_kind kind, int64_t start, int64_t duration,
                           size_t *row) {
    return span_try(run, kind, name, kind == RGM_KIND_RUNTIME, start, duration, row);
}

static rgm_status add_counters(rgm_run *run, size_t range, int64_t time) {
    size_t row;
    for (int i = 0; i < 3; i++) {
        RGM_TRY(rgm_table_append(&rgm_counters_desc, &run->counters, RGM_ALL_COLUMNS, &row, NULL));
        run->counters.time_ns[row] = time + 10 * i;
        run->counters.device[row] = 0;
        run->counters.value[row] = 1e300 * i;
        run->counters.span[row] = i == 1 ? (int64_t)range : -1;
        RGM_TRY(name_of(run, i == 1 ? "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum" : "sm",
                        &run->counters.series[row]));
    }
    return RGM_OK;
}

static rgm_status add_memory(rgm_run *run, int64_t time) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_memory_desc, &run->memory, RGM_ALL_COLUMNS, &row, NULL));
    run->memory.time_ns[row] = time;
    run->memory.device[row] = 0;
    RGM_TRY(rgm_table_append(&rgm_segments_desc, &run->segments,
                             RGM_ALL_COLUMNS & ~RGM_COLUMN_BIT(segments, lane), &row, NULL));
    run->segments.device[row] = 0;
    run->segments.bytes[row] = 100;
    return RGM_OK;
}

static rgm_status add_collective(rgm_run *run, size_t span, int64_t sequence) {
    size_t row;
    rgm_collectives *table = &run->collectives;
    RGM_TRY(rgm_table_append(&rgm_collectives_desc, table, RGM_ALL_COLUMNS, &row, NULL));
    table->span[row] = (rgm_u32)span;
    table->in_elements[row] = table->out_elements[row] = INT64_C(1) << (sequence % 60);
    table->group_size[row] = 2;
    table->sequence[row] = sequence;
    RGM_TRY(name_of(run, "allreduce", &table->collective[row]));
    RGM_TRY(name_of(run, "0", &table->group_name[row]));
    return name_of(run, "Float", &table->element_type[row]);
}

static rgm_status fill(rgm_run *run, int rank, int64_t from, int64_t apart, int64_t duration) {
    static const char *const names[] = {"a", "b", "ncclDevKernel_AllReduce", "a", "b", "c"};
    size_t row;
    for (int lane = 0; lane < 2; lane++) {
        RGM_TRY(rgm_table_append(&rgm_lanes_desc, &run->lanes, RGM_ALL_COLUMNS, &row, NULL));
        run->lanes.rank[row] = rank;
        run->lanes.device[row] = (rgm_i16)(lane ? -1 : 0);
    }
    for (int i = 0; i < KERNELS; i++) {
        RGM_TRY(add_span(run, names[i % 6], RGM_KIND_KERNEL, from + i * apart, duration, &row));
        run->spans.correlation[row] = i + 1;
        if (i % 6 == 2) RGM_TRY(add_collective(run, row, i));
        RGM_TRY(add_span(run, "cudaLaunchKernel", RGM_KIND_RUNTIME, from + i * apart, 1, &row));
        run->spans.correlation[row] = i + 1;
    }
    RGM_TRY(add_span(run, "a", RGM_KIND_COUNTER_RANGE, from, 1, &row));
    RGM_TRY(add_counters(run, row, from));
    RGM_TRY(add_memory(run, from));
    RGM_TRY(rgm_run_note(run, RGM_ANOMALY_ORPHAN_KERNELS, 1, from, NULL, NULL));
    return rgm_run_check(run, NULL);
}

static rgm_status analyse_all(const rgm_run *run) {
    rgm_view view = {0};
    rgm_status status = rgm_view_init(&view, run, NULL, 0, NULL);
    for (size_t i = 0; i < sizeof under_test / sizeof under_test[0]; i++)
        for (int by = 0; by < 3 && status == RGM_OK; by++) {
            size_t rows;
            status = analysis_try(analysis_named(under_test[i]), &view, NULL, (rgm_question){.group_by = by},
                                  &rows, NULL);
            CHECK(status != RGM_OK || rows > 0);
        }
    rgm_view_release(&view);
    return status;
}

static rgm_status life(int64_t from, int64_t apart, int64_t duration, int64_t shift) {
    rgm_run *runs[2] = {NULL, NULL}, *merged = NULL;
    const int64_t shifts[2] = {0, shift};
    rgm_status status = RGM_OK;
    for (int rank = 0; rank < 2; rank++) {
        RGM_GOTO(rgm_run_new(&runs[rank], NULL));
        RGM_GOTO(fill(runs[rank], rank, from, apart, duration));
    }
    RGM_GOTO(rgm_run_merge(runs, shifts, 2, RGM_MERGE_RANKS, &merged, NULL));
    RGM_GOTO(analyse_all(merged));
done:
    for (int rank = 0; rank < 2; rank++) rgm_run_free(runs[rank]);
    rgm_run_free(merged);
    return status;
}

TEST(every_allocation_may_fail) {
    EACH_FAULT("merged runs") FAULTY(life(1000, 20, 15, 7));
}

TEST(times_at_the_ends_of_their_range_do_no_harm) {
    // From the first start to the last end has to fit into 64 bits.
    CHECK_OK(life(INT64_MIN / 8, INT64_MAX / 2 / KERNELS, INT64_MAX / 4, 0));
    CHECK_OK(life(0, 0, 0, 0));
    CHECK_OK(life(5, 0, INT64_MAX / 4, -3));
    CHECK_OK(life(INT64_MIN / 4, 1, 1, INT64_MAX / 2));
    CHECK(life(INT64_MAX / 2 - 1000, 1, 1, INT64_MAX / 2) != RGM_OK);
}

TEST(a_merge_shifts_what_refers_to_rows_and_ids) {
    rgm_run *runs[2] = {NULL, NULL}, *merged = NULL;
    for (int rank = 0; rank < 2; rank++) {
        CHECK_OK(rgm_run_new(&runs[rank], NULL));
        CHECK_OK(fill(runs[rank], rank, 100, 20, 15));
    }
    CHECK_OK(rgm_run_merge(runs, NULL, 2, RGM_MERGE_RANKS, &merged, NULL));
    REQUIRE(merged);
    size_t half = runs[0]->spans.rows;
    CHECK_EQ_U64(merged->spans.rows, 2 * half);
    CHECK_EQ_U64(merged->spans.lane[half], 2);
    CHECK_EQ_I64(merged->spans.correlation[half], (INT64_C(1) << RGM_MERGE_ID_BITS) + 1);
    CHECK_EQ_U64(merged->collectives.span[merged->collectives.rows / 2], runs[1]->collectives.span[0] + half);
    CHECK_EQ_I64(merged->anomalies.count[0], 2);
    CHECK_EQ_U64(merged->files.rows, 2);
    CHECK_EQ_I64(merged->memory.lane[0], 0);
    CHECK_EQ_I64(merged->memory.lane[1], 2);
    CHECK_EQ_I64(merged->segments.lane[1], 2);
    CHECK_EQ_I64(RGM_CELL(&runs[1]->segments, lane, 0, -1), -1);
    rgm_run_free(merged);
    merged = NULL;
    runs[1]->lanes.rank[0] = 0;
    CHECK_EQ_I64(rgm_run_merge(runs, NULL, 2, RGM_MERGE_RANKS, &merged, NULL), RGM_INVALID);
    CHECK(merged == NULL);
    CHECK_EQ_I64(rgm_run_merge(runs, NULL, 0, RGM_MERGE_RANKS, &merged, NULL), RGM_INVALID);
    for (int rank = 0; rank < 2; rank++) rgm_run_free(runs[rank]);
}

TEST(ranks_without_lanes_get_one_for_their_memory) {
    rgm_run *runs[2] = {NULL, NULL}, *merged = NULL;
    for (int rank = 0; rank < 2; rank++) {
        CHECK_OK(rgm_run_new(&runs[rank], NULL));
        CHECK_OK(add_memory(runs[rank], 5));
    }
    CHECK_OK(rgm_run_merge(runs, NULL, 1, RGM_MERGE_RANKS, &merged, NULL));
    REQUIRE(merged);
    CHECK_EQ_U64(merged->lanes.rows, 0); // nobody to be told from
    rgm_run_free(merged);
    merged = NULL;
    CHECK_OK(rgm_run_merge(runs, NULL, 2, RGM_MERGE_PROCESSES, &merged, NULL));
    REQUIRE(merged);
    CHECK_EQ_U64(merged->lanes.rows, 0);
    rgm_run_free(merged);
    merged = NULL;
    CHECK_OK(rgm_run_merge(runs, NULL, 2, RGM_MERGE_RANKS, &merged, NULL));
    REQUIRE(merged);
    CHECK_EQ_U64(merged->lanes.rows, 2);
    for (int rank = 0; rank < 2; rank++) {
        CHECK_EQ_I64(merged->lanes.rank[rank], rank);
        CHECK_EQ_I64(merged->segments.lane[rank], rank);
        CHECK_EQ_I64(merged->memory.lane[rank], rank);
    }
    rgm_run_free(merged);
    for (int rank = 0; rank < 2; rank++) rgm_run_free(runs[rank]);
}
