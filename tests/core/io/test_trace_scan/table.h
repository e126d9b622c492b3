// SPDX-License-Identifier: Apache-2.0
// What variant.h offers of either variant.
#ifndef RGM_TEST_SCAN_TABLE_H
#define RGM_TEST_SCAN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *(*text_end)(const uint8_t *at, const uint8_t *end);
    const uint8_t *(*value_end)(const uint8_t *at, const uint8_t *end);
    const uint8_t *(*special)(const uint8_t *at);
    const uint8_t *(*bracket)(const uint8_t *at, const uint8_t *end);
    bool (*equal)(const uint8_t *text, const uint8_t *literal, size_t length);
    const uint8_t *(*integer)(const uint8_t *at, int64_t *value);
    const uint8_t *(*real)(const uint8_t *at, double *value);
    const uint8_t *(*time)(const uint8_t *at, int64_t *ns, uint32_t *decimals, uint32_t *fraction);
    const uint8_t *(*triple)(const uint8_t *at, const uint8_t *end, int32_t out[3]);
} scan_table;

extern const scan_table scan_portable, scan_avx2;

#endif
