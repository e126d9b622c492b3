// SPDX-License-Identifier: Apache-2.0
#include "base/once.h"

void rgm_once_init(rgm_once *once) {
    pthread_mutex_init(&once->lock, NULL);
    atomic_init(&once->made, false);
}

void rgm_once_release(rgm_once *once) { pthread_mutex_destroy(&once->lock); }

rgm_status rgm_once_make(rgm_once *once, rgm_making make, void *owner, rgm_error *err) {
    if (rgm_once_made(once)) return RGM_OK;
    pthread_mutex_lock(&once->lock);
    rgm_status status = rgm_once_made(once) ? RGM_OK : make(owner, err);
    if (status == RGM_OK) atomic_store_explicit(&once->made, true, memory_order_release);
    pthread_mutex_unlock(&once->lock);
    return status;
}
