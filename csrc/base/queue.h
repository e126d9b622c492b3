// SPDX-License-Identifier: Apache-2.0
// A bounded multi-producer multi-consumer queue of pointers (Vyukov's array queue): lock-free, and it
// allocates only at init. push answers false when full, pop NULL when empty.
#ifndef RGM_BASE_QUEUE_H
#define RGM_BASE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    _Atomic(uint64_t) turn;
    void *item;
} rgm_queue_cell;

typedef struct {
    rgm_queue_cell *cells;
    uint64_t mask;
    _Alignas(64) _Atomic(uint64_t) head;
    _Alignas(64) _Atomic(uint64_t) tail;
} rgm_queue;

// `capacity` is a power of two.
rgm_status rgm_queue_init(rgm_queue *queue, size_t capacity, rgm_error *err) RGM_NODISCARD;
void rgm_queue_release(rgm_queue *queue);
bool rgm_queue_push(rgm_queue *queue, void *item);
void *rgm_queue_pop(rgm_queue *queue);
// Empties a queue whose other users vanished in the middle of it (fork); each item goes to `take`. One that
// was being pushed at that moment is lost.
void rgm_queue_reset(rgm_queue *queue, void (*take)(void *item));
// Approximate while others push and pop.
size_t rgm_queue_length(const rgm_queue *queue);

#endif
