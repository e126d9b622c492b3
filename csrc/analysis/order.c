// SPDX-License-Identifier: Apache-2.0
#include "analysis/order.h"

#include <string.h>

#include "base/memory.h"

static void merge_sort(const void *table, rgm_row_compare compare, const void *context, uint32_t *order,
                       uint32_t *half, size_t rows) {
    for (size_t i = 0; i < rows; i++) order[i] = (uint32_t)i;
    for (size_t width = 1; width < rows; width *= 2) {
        for (size_t from = 0; from < rows; from += 2 * width) {
            size_t middle = from + width < rows ? from + width : rows;
            size_t to = from + 2 * width < rows ? from + 2 * width : rows;
            for (size_t k = from, a = from, b = middle; k < to; k++)
                half[k] = a < middle && (b >= to || compare(table, context, order[a], order[b]) <= 0)
                              ? order[a++]
                              : order[b++];
        }
        memcpy(order, half, rows * sizeof *order);
    }
}

rgm_status rgm_order_rows(const rgm_table_desc *desc, void *table, rgm_row_compare compare,
                          const void *context, rgm_error *err) {
    size_t rows = ((rgm_table *)table)->rows;
    if (rows < 2) return RGM_OK;
    RGM_FREED uint32_t *order = rgm_malloc((rows + 1) * sizeof *order);
    RGM_FREED uint32_t *half = rgm_malloc((rows + 1) * sizeof *half);
    RGM_FREED uint64_t *moved = rgm_malloc((rows + 1) * sizeof *moved);
    if (!order || !half || !moved) return rgm_error_no_memory(err);
    merge_sort(table, compare, context, order, half, rows);
    for (size_t c = 0; c < desc->n_columns; c++) {
        size_t size = rgm_types[desc->columns[c].type].size;
        char *column = rgm_table_column(desc, table, c), *to = (char *)moved;
        for (size_t i = 0; i < rows; i++) memcpy(to + i * size, column + order[i] * size, size);
        memcpy(column, to, rows * size);
    }
    return RGM_OK;
}

rgm_status rgm_table_rows(const rgm_table_desc *desc, void *table, size_t rows, rgm_error *err) {
    RGM_TRY(rgm_table_reserve(desc, table, RGM_ALL_COLUMNS, rows ? rows : 1, err));
    ((rgm_table *)table)->rows = rows;
    for (size_t c = 0; c < desc->n_columns; c++) rgm_table_fill(desc, table, c, 0, rows);
    return RGM_OK;
}
