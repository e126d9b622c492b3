// SPDX-License-Identifier: Apache-2.0
// Order of the suffixes of a text of numbers by their first `limit` symbols, and what neighbours in that
// order have in common: by doubling the compared length with a radix sort, n log limit.
#ifndef RGM_BASE_SUFFIX_H
#define RGM_BASE_SUFFIX_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// order[i] is the start of the i-th suffix; those that agree in `limit` symbols stand in order of start.
// common[i] is the number of first symbols that suffix i has in common with the one before it, at most
// `limit`; common[0] is 0. limit is at least 1.
rgm_status rgm_suffix_sort(const uint32_t *text, size_t count, uint32_t limit, uint32_t *order,
                           uint32_t *common, rgm_error *err) RGM_NODISCARD;

#endif
