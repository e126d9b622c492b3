// SPDX-License-Identifier: Apache-2.0
// Traces as killed jobs, bad writers and attackers leave them. Whatever the bytes are: the import gives a
// sound run or an error with a place, accounts for every row, gives the same run from pieces of any size and
// on any number of threads, and no analysis falls over what it let through.
#include <stdio.h>

#include "../core/analysed.h"
#include "base/crc32c.h"
#include "io/trace/trace_import.h"
#include "io/trace/trace_parse.h"
#include "json_mutator.h"
#include "must.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
                                 size_t second_size, uint8_t *out, size_t max_size, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    uint64_t state = seed;
    if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
    for (size_t n = 1 + mutator_below(&state, 3); n; n--) size = mutate_trace(data, size, max_size, &state);
    return size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
                                 size_t second_size, uint8_t *out, size_t max_size, unsigned seed) {
    uint64_t state = seed;
    if (first_size > max_size) return 0;
    memcpy(out, first, first_size);
    return splice_traces(out, first_size, max_size, second, second_size, &state);
}

// --- what holds for every run
// -------------------------------------------------------------------------------

static void check_accounts(const rgm_run *run) {
    int64_t lost = 0;
    for (size_t i = 0; i < run->anomalies.rows; i++) {
        MUST(run->anomalies.code[i] < RGM_ANOMALY_COUNT && run->anomalies.count[i] > 0);
        MUST(!run->anomalies.lost || run->anomalies.lost[i] >= 0);
        lost += RGM_CELL(&run->anomalies, lost, i, 0);
    }
    MUST(run->files.rows == 1);
    MUST(run->files.kept[0] >= 0 && run->files.events[0] == run->files.kept[0] + lost);
}

// A column that names rows of another table, by its name.
static int64_t rows_of_target(const rgm_run *run, const rgm_column_desc *column) {
    if (!strcmp(column->name, "span")) return (int64_t)run->spans.rows;
    if (!strcmp(column->name, "lane")) return (int64_t)run->lanes.rows;
    return -1;
}

static int64_t cell_of(const rgm_column_desc *column, const void *cells, size_t row) {
    if (!cells) return (int64_t)column->missing;
    switch (column->type) {
    case RGM_TYPE_u32: return ((const uint32_t *)cells)[row];
    case RGM_TYPE_i32: return ((const int32_t *)cells)[row];
    default: return ((const int64_t *)cells)[row];
    }
}

static void check_references(rgm_run *run) {
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        const rgm_table *table = rgm_run_table(run, desc);
        for (size_t c = 0; c < desc->n_columns; c++) {
            const rgm_column_desc *column = &desc->columns[c];
            int64_t limit = rows_of_target(run, column);
            const void *cells = rgm_table_column(desc, table, c);
            for (size_t i = 0; limit >= 0 && i < table->rows; i++) {
                int64_t value = cell_of(column, cells, i);
                MUST(value < limit && value >= (column->missing < 0 ? -1 : 0));
            }
        }
    }
}

// Parents enclose their children, on the same lane, and there is no circle: a parent starts earlier, or is
// longer, or is an earlier row.
static void check_parents(const rgm_run *run) {
    const rgm_spans *spans = &run->spans;
    for (size_t i = 0; i < spans->rows; i++) {
        MUST(RGM_CELL(spans, kind, i, 0) < RGM_KIND_COUNT && spans->duration_ns[i] >= 0);
        int64_t parent = RGM_CELL(spans, parent, i, -1);
        if (parent < 0) continue;
        int64_t start = spans->start_ns[i], around = spans->start_ns[parent];
        int64_t end = start + spans->duration_ns[i], around_end = around + spans->duration_ns[parent];
        MUST(RGM_CELL(spans, lane, i, 0) == RGM_CELL(spans, lane, parent, 0));
        MUST(around <= start && around_end >= end);
        MUST(around < start || around_end > end || parent < (int64_t)i);
    }
}

static void check_run(rgm_run *run) {
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_run_check(run, &err) != RGM_OK) {
        fprintf(stderr, "imported, but not sound: %s\n", err.message);
        abort();
    }
    check_accounts(run);
    check_references(run);
    check_parents(run);
}

// --- the same run, however it was read
// ----------------------------------------------------------------------

static void same_column(const rgm_run *a, const rgm_run *b, const rgm_table_desc *desc, size_t c, size_t rows,
                        const void *left, const void *right) {
    const rgm_column_desc *column = &desc->columns[c];
    size_t size = rgm_types[column->type].size;
    for (size_t i = 0; i < rows; i++) {
        const uint8_t *x = (const uint8_t *)left + i * size, *y = (const uint8_t *)right + i * size;
        bool same = !memcmp(x, y, size);
        if (column->type == RGM_TYPE_name) {
            uint32_t p, q;
            memcpy(&p, x, sizeof p);
            memcpy(&q, y, sizeof q);
            rgm_string s = rgm_strings_view(&a->strings, p), t = rgm_strings_view(&b->strings, q);
            same = s.length == t.length && !memcmp(s.data, t.data, s.length);
            if (!same) fprintf(stderr, "%.*s\n%.*s\n", (int)s.length, s.data, (int)t.length, t.data);
        }
        if (same) continue;
        fprintf(stderr, "%s.%s differs in row %zu\n", desc->name, column->name, i);
        abort();
    }
}

static void check_same(rgm_run *a, rgm_run *b) {
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        rgm_table *left = rgm_run_table(a, desc), *right = rgm_run_table(b, desc);
        if (left->rows != right->rows) {
            fprintf(stderr, "%s: %zu rows and %zu rows\n", desc->name, left->rows, right->rows);
            abort();
        }
        for (size_t c = 0; left->rows && c < desc->n_columns; c++) {
            const void *x = rgm_table_column(desc, left, c), *y = rgm_table_column(desc, right, c);
            if (!x && !y) continue;
            MUST(rgm_table_ensure(desc, left, c, NULL) == RGM_OK &&
                 rgm_table_ensure(desc, right, c, NULL) == RGM_OK);
            same_column(a, b, desc, c, left->rows, rgm_table_column(desc, left, c),
                        rgm_table_column(desc, right, c));
        }
    }
    MUST(!strcmp(a->environment, b->environment));
    MUST(a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->complete == b->complete);
}

typedef struct {
    const uint8_t *data;
    size_t size, at, turn, step;
} crumbs;

static rgm_status read_crumb(void *context, uint8_t *buffer, size_t room, size_t *filled, rgm_error *err) {
    static const size_t sizes[] = {1, 3, 7, 64, 61, 4096, 17, 1000, 2, 65536};
    crumbs *source = context;
    (void)err;
    size_t wanted = sizes[source->turn % (sizeof sizes / sizeof *sizes)], left = source->size - source->at;
    source->turn += source->step;
    *filled = wanted < room ? wanted : room;
    if (*filled > left) *filled = left;
    memcpy(buffer, source->data + source->at, *filled);
    source->at += *filled;
    return RGM_OK;
}

static void check_pieces(const uint8_t *data, size_t size, bool strict, uint32_t hash, rgm_run *whole,
                         const rgm_error *expected) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    crumbs context = {data, size, 0, hash % 10, 1 + hash % 9};
    rgm_source source = {.read = read_crumb, .context = &context, .name = "fuzz"};
    rgm_import_options options = {.strict = strict, .threads = 1, .scan = RGM_SCAN_PORTABLE};
    rgm_status status = rgm_trace_import(&source, &options, &run, &err);
    MUST((status == RGM_OK) == (whole != NULL) && (run != NULL) == (whole != NULL));
    if (whole)
        check_same(whole, run);
    else
        MUST(status == expected->status && err.offset == expected->offset);
    rgm_run_free(run);
}

// --- one input
// ----------------------------------------------------------------------------------------------

static rgm_run *import(const uint8_t *data, size_t size, bool strict, int threads, int64_t stripe,
                       rgm_error *err) {
    rgm_run *run = NULL;
    rgm_import_options options = {.strict = strict, .threads = threads, .stripe = stripe};
    rgm_error_clear(err);
    rgm_status status = rgm_trace_import_bytes(data, size, "fuzz", &options, &run, err);
    MUST(status == RGM_OK ? run != NULL : run == NULL);
    MUST(status == RGM_OK || status == RGM_FORMAT || status == RGM_LIMIT || status == RGM_NO_MEMORY);
    MUST(status == RGM_OK || (err->status == status && err->message[0]));
    MUST(status != RGM_FORMAT || (err->offset >= 0 && err->offset <= (int64_t)size));
    if (run) check_run(run);
    return run;
}

static void analyse(const rgm_run *run) {
    rgm_view view = {0};
    MUST(rgm_view_init(&view, run, NULL, 0, NULL) == RGM_OK);
    for (size_t i = 0; i < rgm_analyses_count; i++)
        (void)analysis_try(&rgm_analyses[i], &view, NULL, (rgm_question){.other = &view}, NULL, NULL);
    rgm_view_release(&view);
}

static void check_two_threads(const uint8_t *data, size_t size, bool strict, int64_t stripe, rgm_run *one,
                              const rgm_error *expected) {
    rgm_error err;
    rgm_run *two = import(data, size, strict, 2, stripe, &err);
    MUST((one != NULL) == (two != NULL));
    if (one)
        check_same(one, two);
    else
        MUST(err.status == expected->status && err.offset == expected->offset);
    rgm_run_free(two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rgm_error strict_err, err;
    uint32_t hash = rgm_crc32c(0, data, size);
    rgm_run *strict = import(data, size, true, 1, 0, &strict_err),
            *run = import(data, size, false, 1, 0, &err);
    MUST(!strict || run);
    if (strict) check_same(strict, run);
    check_pieces(data, size, false, hash / 8, run, &err);
    if (hash % 8 == 0) check_two_threads(data, size, false, 64 + hash / 8 % 2000, run, &err);
    if (hash % 8 == 1) check_two_threads(data, size, true, 64 + hash / 8 % 2000, strict, &strict_err);
    if (hash % 4 == 2) check_pieces(data, size, true, hash / 8, strict, &strict_err);
    if (run && hash % 4 == 3) analyse(run);
    rgm_run_free(strict);
    rgm_run_free(run);
    return 0;
}
