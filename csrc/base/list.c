// SPDX-License-Identifier: Apache-2.0
#include "base/list.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

rgm_status rgm_list_grow(void *array, size_t *capacity, size_t first, size_t width, rgm_error *err) {
    void *rows, *grown = NULL;
    memcpy(&rows, array, sizeof rows); // of whatever type the rows are
    size_t more = *capacity ? *capacity * 2 : first;
    if (more > *capacity && more <= SIZE_MAX / width) grown = rgm_realloc(rows, more * width);
    if (!grown) return rgm_error_no_memory(err);
    memcpy(array, &grown, sizeof grown);
    *capacity = more;
    return RGM_OK;
}
