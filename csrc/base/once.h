// SPDX-License-Identifier: Apache-2.0
// What is made by the first who asks for it and stays: whoever asks meanwhile waits for that. A making that
// failed is tried again by the next who asks, and one that a fork has broken off by the next in the child.
// What that has left is in any state: a making writes over it and releases nothing of it.
//
//     RGM_TRY(rgm_once_make(&owner->once, make_index, owner, err));
#ifndef RGM_BASE_ONCE_H
#define RGM_BASE_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// Zeros at first. There is nothing to release.
typedef struct {
    atomic_bool made;
    uint32_t maker; // the process that is at it, 0: nobody; of once.c
} rgm_once;

typedef rgm_status (*rgm_making)(void *owner, rgm_error *err);

rgm_status rgm_once_make(rgm_once *once, rgm_making make, void *owner, rgm_error *err) RGM_NODISCARD;
static inline bool rgm_once_made(rgm_once *once) {
    return atomic_load_explicit(&once->made, memory_order_acquire);
}

#endif
