// SPDX-License-Identifier: Apache-2.0
// Puts the rows of a result table in order.
#ifndef RGM_ANALYSIS_ORDER_H
#define RGM_ANALYSIS_ORDER_H

#include "model/table.h"

typedef int (*rgm_row_compare)(const void *table, const void *context, uint32_t a, uint32_t b);

// Stable; compares n log n times. Every column must have memory.
rgm_status rgm_order_rows(const rgm_table_desc *desc, void *table, rgm_row_compare compare,
                          const void *context, rgm_error *err) RGM_NODISCARD;
// Makes room for `rows` rows in all columns, each filled with its default.
rgm_status rgm_table_rows(const rgm_table_desc *desc, void *table, size_t rows, rgm_error *err) RGM_NODISCARD;

#endif
