// SPDX-License-Identifier: Apache-2.0
// Columnar tables, driven by descriptors that schema.h expands to.
//
// A table struct is `size_t rows, capacity;` followed by one pointer per column. A NULL column holds its
// default in every row. Tables are plain data: one owner, no locks.
#ifndef RGM_MODEL_TABLE_H
#define RGM_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/schema.h"

typedef enum {
#define RGM_TYPE_ENUM(type, dtype, arrow, size) RGM_TYPE_##type,
    RGM_TYPE_LIST(RGM_TYPE_ENUM)
#undef RGM_TYPE_ENUM
        RGM_TYPE_COUNT
} rgm_type;

typedef struct {
    const char *dtype; // NumPy name
    const char *arrow; // Arrow C data interface format
    size_t size;
} rgm_type_desc;

typedef struct {
    const char *name;
    rgm_type type;
    const char *unit;
    const char *doc;
    double missing; // the default; every default is exact as a double
} rgm_column_desc;

typedef struct {
    const char *name;
    const char *doc;
    const rgm_column_desc *columns;
    size_t n_columns;
    size_t offset; // of the table in rgm_run, 0 for a result table
} rgm_table_desc;

typedef struct {
    size_t rows;
    size_t capacity;
} rgm_table;

#define RGM_TABLE_FIELD(type, name, unit, missing, doc) rgm_##type *name;
#define RGM_TABLE_STRUCT(table, LIST, doc)                                                                   \
    typedef struct {                                                                                         \
        size_t rows, capacity;                                                                               \
        LIST(RGM_TABLE_FIELD)                                                                                \
    } rgm_##table;                                                                                           \
    extern const rgm_table_desc rgm_##table##_desc;
RGM_RUN_TABLES(RGM_TABLE_STRUCT)
RGM_RESULT_TABLES(RGM_TABLE_STRUCT)

extern const rgm_type_desc rgm_types[RGM_TYPE_COUNT];
extern const rgm_table_desc *const rgm_run_tables[];
extern const size_t rgm_run_tables_count;
extern const rgm_table_desc *const rgm_result_tables[];
extern const size_t rgm_result_tables_count;

// Column pointer of a table; NULL while it holds only its default.
void *rgm_table_column(const rgm_table_desc *desc, const void *table, size_t column);
const rgm_column_desc *rgm_table_find(const rgm_table_desc *desc, const char *name, size_t *column);
// Gives every column named in the bit mask memory for `rows` rows and keeps what is there.
rgm_status rgm_table_reserve(const rgm_table_desc *desc, void *table, uint64_t mask, size_t rows,
                             rgm_error *err) RGM_NODISCARD;
// Materialises one column, filled with its default where it was NULL. For the owner alone: to those who only
// read, the table may be shared.
rgm_status rgm_table_ensure(const rgm_table_desc *desc, void *table, size_t column,
                            rgm_error *err) RGM_NODISCARD;
// The cells that a column without memory stands for, for a reader that needs them; the table is not touched.
// NULL without memory; freed by rgm_block_free.
void *rgm_table_defaults(const rgm_table_desc *desc, size_t column, size_t rows);
void rgm_table_fill(const rgm_table_desc *desc, void *table, size_t column, size_t first, size_t rows);
// Frees one column, which holds its default in every row from then on.
void rgm_table_drop(const rgm_table_desc *desc, void *table, size_t column);
void rgm_table_release(const rgm_table_desc *desc, void *table);

// Adds one row: makes room (doubling) in all columns named in the mask. The new row holds defaults.
rgm_status rgm_table_append(const rgm_table_desc *desc, void *table, uint64_t mask, size_t *row,
                            rgm_error *err) RGM_NODISCARD;

// Columns may be NULL, which stands for their default in every row.
#define RGM_CELL(table, column, row, missing) ((table)->column ? (table)->column[row] : (missing))

// Mask with the bits of the first n columns.
#define RGM_ALL_COLUMNS UINT64_MAX
// Bit of a column by name, usable in constant expressions.
#define RGM_COLUMN_INDEX(table, column) ((offsetof(rgm_##table, column) - sizeof(rgm_table)) / sizeof(void *))
#define RGM_COLUMN_BIT(table, column) (UINT64_C(1) << RGM_COLUMN_INDEX(table, column))

#endif
