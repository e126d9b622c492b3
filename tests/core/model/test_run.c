// SPDX-License-Identifier: Apache-2.0
// Tables and Runs: defaults, columns that exist only when somebody asks, notes, checks of outside rows.
#include "model/run.h"

#include "model/references.h"
#include "recording.h"

TEST(descriptors_agree_with_the_structs) {
    rgm_run *run = NULL;
    CHECK_OK(rgm_run_new(&run, NULL));
    REQUIRE(run);
    CHECK(rgm_run_table(run, &rgm_spans_desc) == (void *)&run->spans);
    CHECK(rgm_run_table(run, &rgm_anomalies_desc) == (void *)&run->anomalies);
    size_t column = 99;
    REQUIRE(rgm_table_find(&rgm_spans_desc, "parent", &column));
    CHECK_EQ_U64(column, RGM_COLUMN_INDEX(spans, parent));
    CHECK(rgm_table_find(&rgm_spans_desc, "no such", &column) == NULL);
    CHECK_EQ_U64(rgm_run_tables_count, 21);
    for (size_t t = 0; t < rgm_run_tables_count; t++)
        for (size_t c = 0; c < rgm_run_tables[t]->n_columns; c++) {
            const rgm_column_desc *desc = &rgm_run_tables[t]->columns[c];
            CHECK(desc->doc[0] && rgm_types[desc->type].size);
        }
    CHECK_STR_EQ(run->environment, "{}");
    CHECK_EQ_I64(run->start_unix_ns, -1);
    rgm_run_free(run);
    rgm_run_free(NULL);
}

TEST(a_column_appears_filled_with_its_default) {
    rgm_spans spans = {0};
    size_t row;
    for (int i = 0; i < 100; i++) {
        CHECK_OK(rgm_table_append(&rgm_spans_desc, &spans, RGM_COLUMN_BIT(spans, start_ns), &row, NULL));
        CHECK_EQ_U64(row, (size_t)i);
        CHECK_EQ_I64(spans.start_ns[row], 0);
        spans.start_ns[row] = i;
    }
    CHECK(spans.parent == NULL && spans.name == NULL);
    CHECK_OK(rgm_table_ensure(&rgm_spans_desc, &spans, RGM_COLUMN_INDEX(spans, parent), NULL));
    REQUIRE(spans.parent);
    for (int i = 0; i < 100; i++) CHECK_EQ_I64(spans.parent[i], -1);
    spans.parent[42] = 7;
    CHECK_OK(rgm_table_ensure(&rgm_spans_desc, &spans, RGM_COLUMN_INDEX(spans, parent), NULL));
    CHECK_EQ_I64(spans.parent[42], 7);
    for (int i = 100; i < 1000; i++) CHECK_OK(rgm_table_append(&rgm_spans_desc, &spans, 0, &row, NULL));
    CHECK_EQ_I64(spans.parent[42], 7);
    CHECK_EQ_I64(spans.parent[999], -1);
    CHECK_EQ_I64(spans.start_ns[99], 99);
    rgm_table_release(&rgm_spans_desc, &spans);
    CHECK(spans.rows == 0 && spans.start_ns == NULL);
}

TEST(every_column_of_every_table_fills) {
    rgm_run *run = NULL;
    CHECK_OK(rgm_run_new(&run, NULL));
    REQUIRE(run);
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        void *table = rgm_run_table(run, desc);
        size_t row;
        for (int i = 0; i < 40; i++) CHECK_OK(rgm_table_append(desc, table, RGM_ALL_COLUMNS, &row, NULL));
        for (size_t c = 0; c < desc->n_columns; c++) CHECK(rgm_table_column(desc, table, c) != NULL);
    }
    CHECK(isnan(run->launches.occupancy[39]));
    CHECK_EQ_I64(run->memory.span[39], -1);
    CHECK_EQ_I64(run->lanes.device[0], -1);
    rgm_run_free(run);
}

TEST(notes_of_one_code_add_up) {
    rgm_run *run = NULL;
    CHECK_OK(rgm_run_new(&run, NULL));
    REQUIRE(run);
    CHECK_OK(rgm_run_note(run, RGM_ANOMALY_INTERNAL, 2, 77, NULL, NULL));
    CHECK_OK(rgm_run_note(run, RGM_ANOMALY_INTERNAL, 3, 99, "other", NULL));
    CHECK_OK(rgm_run_note(run, RGM_ANOMALY_UNFINISHED, 1, -1, "said so", NULL));
    REQUIRE(run->anomalies.rows == 2);
    CHECK_EQ_I64(run->anomalies.count[0], 5);
    CHECK_EQ_I64(run->anomalies.first_ns[0], 77);
    CHECK_STR_EQ(text_of(run, run->anomalies.detail[0]), rgm_anomaly_text(RGM_ANOMALY_INTERNAL));
    CHECK_STR_EQ(text_of(run, run->anomalies.detail[1]), "said so");
    CHECK_OK(rgm_run_note(run, RGM_ANOMALY_INTERNAL, INT64_MAX, -1, NULL, NULL));
    CHECK_EQ_I64(run->anomalies.count[0], INT64_MAX);
    rgm_run_free(run);
}

static rgm_run *one_span(void) {
    rgm_run *run = NULL;
    size_t row;
    if (rgm_run_new(&run, NULL) != RGM_OK) abort();
    CHECK_OK(rgm_table_append(&rgm_spans_desc, &run->spans, RGM_ALL_COLUMNS, &row, NULL));
    CHECK_OK(rgm_table_append(&rgm_lanes_desc, &run->lanes, RGM_ALL_COLUMNS, &row, NULL));
    return run;
}

TEST(rows_from_outside_are_checked) {
    rgm_run *run = one_span();
    CHECK_OK(rgm_run_check(run, NULL));
#define REFUSED(column, value)                                                                               \
    do {                                                                                                     \
        rgm_run *bad = one_span();                                                                           \
        bad->spans.column[0] = (value);                                                                      \
        CHECK_EQ_I64(rgm_run_check(bad, NULL), RGM_FORMAT);                                                  \
        rgm_run_free(bad);                                                                                   \
    } while (0)
    REFUSED(name, 1);
    REFUSED(metadata, 1);
    REFUSED(lane, 1);
    REFUSED(parent, 1);
    REFUSED(parent, -2);
    REFUSED(duration_ns, -1);
    REFUSED(duration_ns, INT64_MAX);
    REFUSED(start_ns, INT64_MIN);
    REFUSED(launch, 1);
    REFUSED(launch, -2);
    rgm_run_free(run);
    rgm_run *bare = NULL;
    size_t row;
    CHECK_OK(rgm_run_new(&bare, NULL));
    CHECK_OK(rgm_table_append(&rgm_spans_desc, &bare->spans, 0, &row, NULL));
    CHECK_OK(rgm_run_check(bare, NULL));
    CHECK(bare->spans.start_ns && bare->spans.duration_ns && bare->spans.name);
    rgm_run_free(bare);
}

// A run with two lanes, one span on each, and one row in every other table.
static rgm_run *row_everywhere(void) {
    rgm_run *run = NULL;
    size_t row;
    if (rgm_run_new(&run, NULL) != RGM_OK) abort();
    for (size_t t = 0; t < rgm_run_tables_count; t++)
        for (int n = 0; n < (t < 2 ? 2 : 1); n++)
            CHECK_OK(rgm_table_append(rgm_run_tables[t], rgm_run_table(run, rgm_run_tables[t]),
                                      RGM_ALL_COLUMNS, &row, NULL));
    return run;
}

static void set_cell(rgm_run *run, size_t t, size_t c, int64_t value) {
    void *cells = rgm_table_column(rgm_run_tables[t], rgm_run_table(run, rgm_run_tables[t]), c);
    switch (rgm_run_tables[t]->columns[c].type) {
    case RGM_TYPE_u32: *(rgm_u32 *)cells = (rgm_u32)value; break;
    case RGM_TYPE_i32: *(rgm_i32 *)cells = (rgm_i32)value; break;
    case RGM_TYPE_i64: *(rgm_i64 *)cells = value; break;
    default: HARNESS_FAIL("%s has a type that is no row", rgm_run_tables[t]->columns[c].name);
    }
}

static rgm_status check_with(size_t t, size_t c, int64_t value, rgm_error *err) {
    rgm_run *run = row_everywhere();
    rgm_error_clear(err);
    set_cell(run, t, c, value);
    rgm_status status = rgm_run_check(run, err);
    rgm_run_free(run);
    return status;
}

// The columns are listed here by hand, so that one that is added without a check is missed by this test.
static const struct {
    const char *table, *column;
    bool optional;
} references[] = {
    {"spans", "lane", false},       {"spans", "parent", true}, {"spans", "launch", true},
    {"launches", "span", false},    {"memory", "span", true},  {"memory", "lane", true},
    {"counters", "span", true},     {"flops", "span", false},  {"operators", "span", false},
    {"frames", "span", false},      {"syncs", "span", false},  {"flows", "lane", false},
    {"collectives", "span", false}, {"flows", "span", true},
};
enum { N_REFERENCES = sizeof references / sizeof *references };

static bool find_column(size_t i, size_t *t, size_t *c) {
    for (*t = 0; *t < rgm_run_tables_count; ++*t)
        if (strcmp(rgm_run_tables[*t]->name, references[i].table) == 0)
            return rgm_table_find(rgm_run_tables[*t], references[i].column, c) != NULL;
    return false;
}

TEST(every_reference_to_a_row_is_checked) {
    size_t t, c;
    rgm_error err;
    for (size_t i = 0; i < N_REFERENCES; i++) {
        REQUIRE(find_column(i, &t, &c));
        CHECK_OK(check_with(t, c, 1, &err));
        CHECK_EQ_I64(check_with(t, c, 2, &err), RGM_FORMAT);
        CHECK(strstr(err.message, references[i].table) && strstr(err.message, references[i].column));
        CHECK_EQ_I64(check_with(t, c, INT32_MAX, &err), RGM_FORMAT);
        CHECK_EQ_I64(check_with(t, c, -1, &err), references[i].optional ? RGM_OK : RGM_FORMAT);
        CHECK_EQ_I64(check_with(t, c, -2, &err), RGM_FORMAT);
    }
}

TEST(references_to_lost_rows_are_mended) {
    size_t t, c;
    for (size_t i = 0; i < N_REFERENCES; i++) {
        REQUIRE(find_column(i, &t, &c));
        rgm_run *run = row_everywhere();
        const rgm_table *table = rgm_run_table(run, rgm_run_tables[t]);
        size_t before = table->rows;
        int64_t removed;
        set_cell(run, t, c, 7);
        CHECK_OK(rgm_references_mend(run, &removed, NULL));
        CHECK_OK(rgm_run_check(run, NULL));
        bool goes = !references[i].optional && strcmp(references[i].table, "spans") != 0;
        CHECK_EQ_I64(removed, goes);
        CHECK_EQ_U64(table->rows, before - goes);
        rgm_run_free(run);
    }
}

TEST(only_rows_without_their_span_are_removed) {
    rgm_run *run = row_everywhere();
    rgm_operators *ops = &run->operators;
    size_t row;
    int64_t removed;
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgm_table_append(&rgm_operators_desc, ops, RGM_ALL_COLUMNS, &row, NULL));
    const rgm_u32 spans[] = {1, 9, 0, UINT32_MAX, 1};
    for (rgm_u32 i = 0; i < 5; i++) {
        ops->span[i] = spans[i];
        ops->sequence[i] = i;
    }
    CHECK_OK(rgm_references_mend(run, &removed, NULL));
    CHECK_EQ_I64(removed, 2);
    REQUIRE(ops->rows == 3);
    CHECK(ops->sequence[0] == 0 && ops->sequence[1] == 2 && ops->sequence[2] == 4);
    CHECK(ops->span[0] == 1 && ops->span[1] == 0 && ops->span[2] == 1);
    rgm_run_free(run);
}

TEST(times_without_a_duration_are_checked) {
    for (int64_t bad = 0; bad < 3; bad++) {
        rgm_run *run = row_everywhere();
        rgm_i64 *const times[] = {run->memory.time_ns, run->counters.time_ns, run->flows.time_ns};
        *times[bad] = INT64_MAX / 2;
        CHECK_OK(rgm_run_check(run, NULL));
        *times[bad] = INT64_MAX / 2 + 1;
        CHECK_EQ_I64(rgm_run_check(run, NULL), RGM_FORMAT);
        *times[bad] = INT64_MIN;
        CHECK_EQ_I64(rgm_run_check(run, NULL), RGM_FORMAT);
        rgm_run_free(run);
    }
}
