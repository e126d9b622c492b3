// SPDX-License-Identifier: Apache-2.0
// What is made by the first who asks for it and stays: whoever asks meanwhile waits for that. A making that
// failed is tried again by the next who asks.
//
//     RGM_TRY(rgm_once_make(&owner->once, make_index, owner, err));
#ifndef RGM_BASE_ONCE_H
#define RGM_BASE_ONCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct {
    pthread_mutex_t lock;
    atomic_bool made;
} rgm_once;

typedef rgm_status (*rgm_making)(void *owner, rgm_error *err);

void rgm_once_init(rgm_once *once);
// Nobody may be waiting.
void rgm_once_release(rgm_once *once);
rgm_status rgm_once_make(rgm_once *once, rgm_making make, void *owner, rgm_error *err) RGM_NODISCARD;
static inline bool rgm_once_made(rgm_once *once) {
    return atomic_load_explicit(&once->made, memory_order_acquire);
}

#endif
