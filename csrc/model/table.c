// SPDX-License-Identifier: Apache-2.0
#include "model/table.h"

#include <string.h>

#include "base/memory.h"
#include "model/run.h"

const rgm_type_desc rgm_types[RGM_TYPE_COUNT] = {
#define TYPE_ROW(type, dtype, arrow, size) {dtype, arrow, size},
    RGM_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

// Column pointers follow the head of a table struct in the order of its list, so descriptors need no offsets.
#define COLUMN_ROW(type, name, unit, missing, doc) {#name, RGM_TYPE_##type, unit, doc, (double)(missing)},
#define DESCRIBE(table, LIST, doc) static const rgm_column_desc table##_columns[] = {LIST(COLUMN_ROW)};
RGM_RUN_TABLES(DESCRIBE)
RGM_RESULT_TABLES(DESCRIBE)
#undef DESCRIBE

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define RUN_DESC(table, LIST, doc)                                                                           \
    const rgm_table_desc rgm_##table##_desc = {#table, doc, table##_columns, COUNT_OF(table##_columns),      \
                                               offsetof(rgm_run, table)};
#define RESULT_DESC(table, LIST, doc)                                                                        \
    const rgm_table_desc rgm_##table##_desc = {#table, doc, table##_columns, COUNT_OF(table##_columns), 0};
RGM_RUN_TABLES(RUN_DESC)
RGM_RESULT_TABLES(RESULT_DESC)

#define TABLE_REF(table, LIST, doc) &rgm_##table##_desc,
const rgm_table_desc *const rgm_run_tables[] = {RGM_RUN_TABLES(TABLE_REF)};
const size_t rgm_run_tables_count = COUNT_OF(rgm_run_tables);
const rgm_table_desc *const rgm_result_tables[] = {RGM_RESULT_TABLES(TABLE_REF)};
const size_t rgm_result_tables_count = COUNT_OF(rgm_result_tables);

static void **column_at(void *table, size_t column) {
    return (void **)((char *)table + sizeof(rgm_table)) + column;
}

static size_t width(const rgm_table_desc *desc, size_t column) {
    return rgm_types[desc->columns[column].type].size;
}

void *rgm_table_column(const rgm_table_desc *desc, const void *table, size_t column) {
    (void)desc;
    return *((void *const *)((const char *)table + sizeof(rgm_table)) + column);
}

const rgm_column_desc *rgm_table_find(const rgm_table_desc *desc, const char *name, size_t *column) {
    for (size_t i = 0; i < desc->n_columns; i++) {
        if (strcmp(desc->columns[i].name, name) != 0) continue;
        if (column) *column = i;
        return &desc->columns[i];
    }
    return NULL;
}

static void fill(const rgm_column_desc *column, void *data, size_t first, size_t rows) {
    double missing = column->missing;
    switch (column->type) {
#define FILL(type, dtype, arrow, size)                                                                       \
    case RGM_TYPE_##type: {                                                                                  \
        rgm_##type *at = (rgm_##type *)data + first;                                                         \
        for (size_t i = 0; i < rows; i++) at[i] = (rgm_##type)missing;                                       \
        break;                                                                                               \
    }
        RGM_TYPE_LIST(FILL)
#undef FILL
    default: break;
    }
}

static inline void put_default(const rgm_column_desc *column, void *data, size_t row) {
    switch (column->type) {
#define PUT(type, dtype, arrow, size)                                                                        \
    case RGM_TYPE_##type: ((rgm_##type *)data)[row] = (rgm_##type)column->missing; break;
        RGM_TYPE_LIST(PUT)
#undef PUT
    default: break;
    }
}

void rgm_table_fill(const rgm_table_desc *desc, void *table, size_t column, size_t first, size_t rows) {
    fill(&desc->columns[column], *column_at(table, column), first, rows);
}

void *rgm_table_defaults(const rgm_table_desc *desc, size_t column, size_t rows) {
    void *data = rgm_block_realloc(NULL, rows * width(desc, column));
    if (data) fill(&desc->columns[column], data, 0, rows);
    return data;
}

static rgm_status column_resize(const rgm_table_desc *desc, void *table, size_t column, size_t capacity,
                                rgm_error *err) {
    void **slot = column_at(table, column);
    bool fresh = *slot == NULL;
    void *data = rgm_block_realloc(*slot, capacity * width(desc, column));
    if (!data) return rgm_error_no_memory(err);
    *slot = data;
    if (fresh) rgm_table_fill(desc, table, column, 0, ((rgm_table *)table)->rows);
    return RGM_OK;
}

rgm_status rgm_table_reserve(const rgm_table_desc *desc, void *table, uint64_t mask, size_t rows,
                             rgm_error *err) {
    rgm_table *head = table;
    size_t capacity = rows > head->capacity ? rows : head->capacity;
    for (size_t i = 0; i < desc->n_columns; i++) {
        bool wanted = (mask >> i) & 1u || *column_at(table, i);
        if (wanted && (capacity > head->capacity || !*column_at(table, i)))
            RGM_TRY(column_resize(desc, table, i, capacity, err));
    }
    head->capacity = capacity;
    return RGM_OK;
}

rgm_status rgm_table_ensure(const rgm_table_desc *desc, void *table, size_t column, rgm_error *err) {
    if (*column_at(table, column)) return RGM_OK;
    rgm_table *head = table;
    return column_resize(desc, table, column, head->capacity > head->rows ? head->capacity : head->rows, err);
}

rgm_status rgm_table_append(const rgm_table_desc *desc, void *table, uint64_t mask, size_t *row,
                            rgm_error *err) {
    rgm_table *head = table;
    if (head->rows == head->capacity)
        RGM_TRY(rgm_table_reserve(desc, table, mask, head->capacity ? head->capacity * 2 : 16, err));
    for (size_t i = 0; i < desc->n_columns; i++) {
        if (!*column_at(table, i) && (mask >> i) & 1u) RGM_TRY(rgm_table_ensure(desc, table, i, err));
        if (*column_at(table, i)) put_default(&desc->columns[i], *column_at(table, i), head->rows);
    }
    *row = head->rows++;
    return RGM_OK;
}

void rgm_table_drop(const rgm_table_desc *desc, void *table, size_t column) {
    (void)desc;
    rgm_block_free(*column_at(table, column));
    *column_at(table, column) = NULL;
}

void rgm_table_release(const rgm_table_desc *desc, void *table) {
    for (size_t i = 0; i < desc->n_columns; i++) rgm_table_drop(desc, table, i);
    ((rgm_table *)table)->rows = 0;
    ((rgm_table *)table)->capacity = 0;
}
