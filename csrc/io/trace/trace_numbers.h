// SPDX-License-Identifier: Apache-2.0
// Numbers of any form, for texts that the plain scans (trace_scan.h) do not take. Each returns whether the
// whole text is such a number.
#ifndef RGM_IO_TRACE_NUMBERS_H
#define RGM_IO_TRACE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// An integer that a writer put between quotes, decimal or with 0x.
bool rgm_trace_int_of_text(const uint8_t *text, size_t length, int64_t *number);
// A decimal number times 10^power as an integer; what lies below one is cut off. False when it is out of the
// range of int64.
bool rgm_trace_decimal(const uint8_t *at, size_t length, int power, int64_t *out);
// What rgm_strtod takes: inf, Infinity and NaN too.
bool rgm_trace_real(const uint8_t *at, size_t length, double *out);

#endif
