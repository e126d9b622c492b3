// SPDX-License-Identifier: Apache-2.0
#include "model/append.h"

#include <string.h>

#include "model/references.h"

typedef enum { AS_IS, NAME, LANE, SPAN, STACK } reference;

static reference refers_to(const rgm_table_desc *desc, const rgm_column_desc *column) {
    if (column->type == RGM_TYPE_name) return NAME;
    switch (rgm_column_refers(desc, column)) {
    case RGM_REFERS_TO_LANES: return LANE;
    case RGM_REFERS_TO_SPANS: return SPAN;
    case RGM_REFERS_TO_STACKS: return STACK;
    default: return AS_IS;
    }
}

static void translate_u32(uint32_t *cells, size_t rows, const uint32_t *id_of) {
    for (size_t i = 0; i < rows; i++) cells[i] = id_of[cells[i]];
}
static void translate_i32(int32_t *cells, size_t rows, const uint32_t *id_of) {
    for (size_t i = 0; i < rows; i++)
        if (cells[i] >= 0) cells[i] = (int32_t)id_of[cells[i]];
}

// False when a sum does not fit: a damaged file may hold any row number.
#define SHIFT(type, is_row)                                                                                  \
    static bool shift_##type(rgm_##type *cells, size_t rows, size_t by) {                                    \
        bool over = false;                                                                                   \
        for (size_t i = 0; i < rows; i++)                                                                    \
            if (is_row) over |= __builtin_add_overflow(cells[i], by, &cells[i]);                             \
        return !over;                                                                                        \
    }
SHIFT(u32, true)
SHIFT(i32, cells[i] >= 0)
SHIFT(i64, cells[i] >= 0)

static bool shift(rgm_type type, void *cells, size_t rows, size_t by) {
    switch (type) {
    case RGM_TYPE_u32: return shift_u32(cells, rows, by);
    case RGM_TYPE_i32: return shift_i32(cells, rows, by);
    case RGM_TYPE_i64: return shift_i64(cells, rows, by);
    default: return false;
    }
}

static bool translate(const rgm_table_desc *desc, const rgm_column_desc *column, void *cells, size_t rows,
                      const rgm_append_ids *ids) {
    switch (refers_to(desc, column)) {
    case NAME: translate_u32(cells, rows, ids->name_of); return true;
    case LANE:
        if (!ids->lane_of) return shift(column->type, cells, rows, ids->first_lane);
        if (column->type == RGM_TYPE_u32)
            translate_u32(cells, rows, ids->lane_of);
        else
            translate_i32(cells, rows, ids->lane_of);
        return true;
    case SPAN: return shift(column->type, cells, rows, ids->first_span);
    case STACK: return shift(column->type, cells, rows, ids->first_stack);
    case AS_IS: return true;
    }
    return true;
}

// Also the columns whose default names a row: the first lane of `from` is another one in `to`.
static uint64_t columns_wanted(const rgm_table_desc *desc, const void *from) {
    uint64_t mask = 0;
    for (size_t c = 0; c < desc->n_columns; c++) {
        reference to = refers_to(desc, &desc->columns[c]);
        bool names_row = (to == LANE || to == SPAN || to == STACK) && desc->columns[c].missing >= 0;
        if (names_row || rgm_table_column(desc, from, c)) mask |= UINT64_C(1) << c;
    }
    return mask;
}

rgm_status rgm_append_table(const rgm_table_desc *desc, rgm_run *to_run, const rgm_run *from_run,
                            uint64_t mask, const rgm_append_ids *ids, rgm_error *err) {
    rgm_table *to = rgm_run_table(to_run, desc);
    const rgm_table *from = (const rgm_table *)(const void *)((const char *)from_run + desc->offset);
    size_t before = to->rows, rows = before + from->rows, capacity = to->capacity;
    if (from->rows == 0) return RGM_OK;
    while (capacity < rows) capacity = capacity ? capacity * 2 : 64;
    RGM_TRY(rgm_table_reserve(desc, to, mask | columns_wanted(desc, from), capacity, err));
    to->rows = rows;
    for (size_t c = 0; c < desc->n_columns; c++) {
        char *cells = rgm_table_column(desc, to, c);
        const void *source = rgm_table_column(desc, from, c);
        size_t width = rgm_types[desc->columns[c].type].size;
        if (!cells) continue;
        if (source)
            memcpy(cells + before * width, source, from->rows * width);
        else
            rgm_table_fill(desc, to, c, before, from->rows);
        if (!translate(desc, &desc->columns[c], cells + before * width, from->rows, ids))
            return rgm_error_set(err, RGM_LIMIT, "%s.%s is out of range behind the rows of another run",
                                 desc->name, desc->columns[c].name);
    }
    return RGM_OK;
}

rgm_status rgm_run_append(rgm_run *to, const rgm_run *from, const uint32_t *name_of, const uint32_t *lane_of,
                          rgm_error *err) {
    const rgm_append_ids ids = {
        .name_of = name_of, .lane_of = lane_of, .first_span = to->spans.rows, .first_stack = to->stacks.rows};
    if (ids.first_span + from->spans.rows > INT32_MAX / 2)
        return rgm_error_set(err, RGM_LIMIT, "more than 2^30 spans");
    for (size_t t = 0; t < rgm_run_tables_count; t++)
        if (rgm_run_tables[t] != &rgm_lanes_desc)
            RGM_TRY(rgm_append_table(rgm_run_tables[t], to, from, 0, &ids, err));
    return RGM_OK;
}
