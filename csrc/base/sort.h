// SPDX-License-Identifier: Apache-2.0
// Stable least-significant-digit radix sorts for 64-bit keys: linear in the number of rows, and passes in
// which all keys agree cost one count only.
#ifndef RGM_BASE_SORT_H
#define RGM_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Writes to `order` the row numbers 0..count-1 in ascending order of keys; keys are left as they are.
rgm_status rgm_sort_order(const uint64_t *keys, size_t count, uint32_t *order, rgm_error *err) RGM_NODISCARD;
// The same for signed keys, which need not be copied.
rgm_status rgm_sort_order_i64(const int64_t *keys, size_t count, uint32_t *order,
                              rgm_error *err) RGM_NODISCARD;
// Sorts values ascending in place; scratch has room for count values.
void rgm_sort_i64(int64_t *values, size_t count, int64_t *scratch);

// Maps int64 to uint64 so that unsigned order is signed order.
static inline uint64_t rgm_sort_key_i64(int64_t value) { return (uint64_t)value ^ (UINT64_C(1) << 63); }

#endif
