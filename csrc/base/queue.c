// SPDX-License-Identifier: Apache-2.0
#include "base/queue.h"

#include "base/memory.h"

static void begin(rgm_queue *queue) {
    for (size_t i = 0; i <= queue->mask; i++) atomic_init(&queue->cells[i].turn, i);
    atomic_init(&queue->head, 0);
    atomic_init(&queue->tail, 0);
}

rgm_status rgm_queue_init(rgm_queue *queue, size_t capacity, rgm_error *err) {
    queue->cells = rgm_calloc(capacity, sizeof *queue->cells);
    if (!queue->cells) return rgm_error_no_memory(err);
    queue->mask = capacity - 1;
    begin(queue);
    return RGM_OK;
}

// The turn of a full cell is one ahead of its place, that of an empty one is its place, in any round.
void rgm_queue_reset(rgm_queue *queue, void (*take)(void *item)) {
    for (size_t i = 0; i <= queue->mask; i++)
        if ((atomic_load(&queue->cells[i].turn) & queue->mask) == ((i + 1) & queue->mask))
            take(queue->cells[i].item);
    begin(queue);
}

void rgm_queue_release(rgm_queue *queue) {
    rgm_free(queue->cells);
    queue->cells = NULL;
}

bool rgm_queue_push(rgm_queue *queue, void *item) {
    uint64_t at = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    for (;;) {
        rgm_queue_cell *cell = &queue->cells[at & queue->mask];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
        if (turn == at) {
            if (atomic_compare_exchange_weak_explicit(&queue->tail, &at, at + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                cell->item = item;
                atomic_store_explicit(&cell->turn, at + 1, memory_order_release);
                return true;
            }
        } else if (turn < at) {
            return false;
        } else {
            at = atomic_load_explicit(&queue->tail, memory_order_relaxed);
        }
    }
}

void *rgm_queue_pop(rgm_queue *queue) {
    uint64_t at = atomic_load_explicit(&queue->head, memory_order_relaxed);
    for (;;) {
        rgm_queue_cell *cell = &queue->cells[at & queue->mask];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
        if (turn == at + 1) {
            if (atomic_compare_exchange_weak_explicit(&queue->head, &at, at + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                void *item = cell->item;
                atomic_store_explicit(&cell->turn, at + queue->mask + 1, memory_order_release);
                return item;
            }
        } else if (turn < at + 1) {
            return NULL;
        } else {
            at = atomic_load_explicit(&queue->head, memory_order_relaxed);
        }
    }
}

size_t rgm_queue_length(const rgm_queue *queue) {
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    return tail > head ? (size_t)(tail - head) : 0;
}
