// SPDX-License-Identifier: Apache-2.0
// Arrays that grow by doubling while rows are added at their end: a pointer, how many rows there are, and
// room for how many there is, wherever their owner keeps them. The memory is of base/memory.h's heap.
//
//     RGM_TRY(RGM_LIST_ROOM(list->rows, list->count, list->capacity, 64, err));
//     list->rows[list->count++] = row;
#ifndef RGM_BASE_LIST_H
#define RGM_BASE_LIST_H

#include <stddef.h>

#include "base/status.h"

// Makes room for one row more; `first` rows the first time. `rows` and `capacity` (a size_t) are places, and
// stay as they are where there is no memory.
#define RGM_LIST_ROOM(rows, count, capacity, first, err)                                                     \
    ((count) < (capacity) ? RGM_OK : rgm_list_grow(&(rows), &(capacity), (first), sizeof *(rows), (err)))

// Doubles the room. `array` is the address of the pointer, `width` the bytes of a row.
rgm_status rgm_list_grow(void *array, size_t *capacity, size_t first, size_t width,
                         rgm_error *err) RGM_NODISCARD;

#endif
