// SPDX-License-Identifier: Apache-2.0
#include "model/references.h"

#include <string.h>

#include "base/memory.h"

rgm_reference rgm_column_refers(const rgm_table_desc *desc, const rgm_column_desc *column) {
    if (column->type == RGM_TYPE_name) return RGM_REFERS_TO_NOTHING;
    if (strcmp(column->name, "stack") == 0 ||
        (desc == &rgm_stacks_desc && strcmp(column->name, "parent") == 0))
        return RGM_REFERS_TO_STACKS;
    if (strcmp(column->name, "lane") == 0) return RGM_REFERS_TO_LANES;
    if (strcmp(column->name, "span") == 0 || strcmp(column->name, "parent") == 0 ||
        strcmp(column->name, "launch") == 0 || strcmp(column->name, "capture") == 0)
        return RGM_REFERS_TO_SPANS;
    return RGM_REFERS_TO_NOTHING;
}

// The cells of one column that refers to rows, as wide as they are.
typedef struct {
    const rgm_table_desc *desc;
    const rgm_column_desc *column;
    void *cells;
    size_t rows, limit; // limit: rows of the table that is referred to
} referring;

// False when the column holds nothing that could be wrong.
static bool referring_of(rgm_run *run, const rgm_table_desc *desc, size_t c, referring *out) {
    const rgm_table *table = rgm_run_table(run, desc);
    rgm_reference target = rgm_column_refers(desc, &desc->columns[c]);
    *out = (referring){.desc = desc,
                       .column = &desc->columns[c],
                       .cells = rgm_table_column(desc, table, c),
                       .rows = table->rows,
                       .limit = target == RGM_REFERS_TO_LANES    ? run->lanes.rows
                                : target == RGM_REFERS_TO_STACKS ? run->stacks.rows
                                                                 : run->spans.rows};
    return target != RGM_REFERS_TO_NOTHING && out->cells;
}

static int64_t cell_of(const referring *r, size_t row) {
    switch (r->column->type) {
    case RGM_TYPE_u32: return ((const rgm_u32 *)r->cells)[row];
    case RGM_TYPE_i32: return ((const rgm_i32 *)r->cells)[row];
    default: return ((const rgm_i64 *)r->cells)[row];
    }
}

static void clear_cell(const referring *r, size_t row) {
    switch (r->column->type) {
    case RGM_TYPE_u32: ((rgm_u32 *)r->cells)[row] = 0; return;
    case RGM_TYPE_i32: ((rgm_i32 *)r->cells)[row] = -1; return;
    default: ((rgm_i64 *)r->cells)[row] = -1; return;
    }
}

static bool is_optional(const referring *r) { return r->column->type != RGM_TYPE_u32; }

static bool is_sound(const referring *r, size_t row) {
    int64_t value = cell_of(r, row);
    size_t limit = r->desc == &rgm_stacks_desc ? row : r->limit;
    return value < (int64_t)limit && value >= (is_optional(r) ? -1 : 0);
}

rgm_status rgm_references_check(rgm_run *run, rgm_error *err) {
    referring r;
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        for (size_t c = 0; c < desc->n_columns; c++) {
            if (!referring_of(run, desc, c, &r)) continue;
            for (size_t i = 0; i < r.rows; i++)
                if (!is_sound(&r, i))
                    return rgm_error_set(err, RGM_FORMAT, "%s row %zu has %s %lld of %zu", desc->name, i,
                                         r.column->name, (long long)cell_of(&r, i), r.limit);
        }
    }
    return RGM_OK;
}

// --- mending ----------------------------------------------------------------------------------------------

// Moves the rows that stay to the front, in every column.
static void keep_rows(const rgm_table_desc *desc, rgm_table *table, const uint8_t *drop) {
    size_t kept = 0;
    for (size_t c = 0; c < desc->n_columns; c++) {
        char *cells = rgm_table_column(desc, table, c);
        size_t size = rgm_types[desc->columns[c].type].size, to = 0;
        for (size_t i = 0; cells && i < table->rows; i++)
            if (!drop[i]) memmove(cells + to++ * size, cells + i * size, size);
    }
    for (size_t i = 0; i < table->rows; i++) kept += !drop[i];
    table->rows = kept;
}

static rgm_status mend_table(rgm_run *run, const rgm_table_desc *desc, int64_t *removed, rgm_error *err) {
    rgm_table *table = rgm_run_table(run, desc);
    uint8_t *drop = rgm_calloc(table->rows + 1, 1);
    if (!drop) return rgm_error_no_memory(err);
    int64_t lost = 0;
    referring r;
    for (size_t c = 0; c < desc->n_columns; c++) {
        if (!referring_of(run, desc, c, &r)) continue;
        for (size_t i = 0; i < r.rows; i++) {
            if (is_sound(&r, i)) continue;
            clear_cell(&r, i);
            if (is_optional(&r) || desc == &rgm_spans_desc) continue;
            lost += !drop[i];
            drop[i] = 1;
        }
    }
    if (lost) keep_rows(desc, table, drop);
    *removed += lost;
    rgm_free(drop);
    return RGM_OK;
}

rgm_status rgm_references_mend(rgm_run *run, int64_t *removed, rgm_error *err) {
    *removed = 0;
    // A column that was never written refers to row 0, where there has to be one.
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        rgm_table *table = rgm_run_table(run, desc);
        for (size_t c = 0; c < desc->n_columns && table->rows; c++)
            if (rgm_column_refers(desc, &desc->columns[c]) != RGM_REFERS_TO_NOTHING &&
                desc->columns[c].type == RGM_TYPE_u32)
                RGM_TRY(rgm_table_ensure(desc, table, c, err));
        RGM_TRY(mend_table(run, desc, removed, err));
    }
    return RGM_OK;
}
