// SPDX-License-Identifier: Apache-2.0
// Children whose parent has not been read yet: number of the parent -> its first waiting child. The other
// children follow through a link that the caller keeps. As many entries as there are open parents, so it
// stays small however long the recording is. Zero-initialise before use.
#ifndef RGM_MODEL_WAITING_H
#define RGM_MODEL_WAITING_H

#include <stdint.h>

#include "base/status.h"

#define RGM_WAITING_NONE (-1)

typedef struct {
    uint32_t *keys;
    int32_t *heads; // RGM_WAITING_NONE in a free slot
    uint32_t mask;  // slots - 1; 0 slots while keys is NULL
    uint32_t used;
} rgm_waiting;

// Puts the child before the others that wait for the same parent; *next receives the first of those.
rgm_status rgm_waiting_add(rgm_waiting *map, uint32_t parent, int32_t child, int32_t *next,
                           rgm_error *err) RGM_NODISCARD;
// Removes the parent's entry and returns its first child, or RGM_WAITING_NONE.
int32_t rgm_waiting_take(rgm_waiting *map, uint32_t parent);
void rgm_waiting_clear(rgm_waiting *map);
void rgm_waiting_release(rgm_waiting *map);

#endif
