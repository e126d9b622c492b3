// SPDX-License-Identifier: Apache-2.0
// Blocks of records: taken by recording threads without a lock, kept ready by the drainer, bounded by the
// budget.
#include <string.h>

#include "base/memory.h"
#include "capture/session_state.h"

static rgm_block *block_new(rgm_session *session) {
    int64_t limit = session->options.memory_budget_bytes / (int64_t)sizeof(rgm_block);
    if (atomic_fetch_add(&session->blocks, 1) >= limit) {
        atomic_fetch_sub(&session->blocks, 1);
        return NULL;
    }
    rgm_block *block = rgm_malloc(sizeof *block);
    if (!block) {
        atomic_fetch_sub(&session->blocks, 1);
        return NULL;
    }
    atomic_init(&block->committed, 0);
    atomic_init(&block->next, NULL);
    return block;
}

void rgm_session_give_block(rgm_session *session, rgm_block *block) {
    atomic_store_explicit(&block->committed, 0, memory_order_relaxed);
    atomic_store_explicit(&block->next, NULL, memory_order_relaxed);
    if ((int64_t)rgm_queue_length(&session->pool) < atomic_load(&session->pool_target) * 2 &&
        rgm_queue_push(&session->pool, block))
        return;
    atomic_fetch_sub(&session->blocks, 1);
    rgm_free(block);
}

void rgm_session_fill_pool(rgm_session *session, int64_t blocks) {
    while ((int64_t)rgm_queue_length(&session->pool) < blocks) {
        rgm_block *block = block_new(session);
        if (!block) return;
        memset(block->records, 0, sizeof block->records); // page faults happen here, not in a scope
        if (!rgm_queue_push(&session->pool, block)) {
            atomic_fetch_sub(&session->blocks, 1);
            rgm_free(block);
            return;
        }
    }
}

rgm_block *rgm_session_take_block(rgm_session *session) {
    rgm_block *block = rgm_queue_pop(&session->pool);
    // The signal is a hint; without it the drainer comes by at its interval.
    if ((int64_t)rgm_queue_length(&session->pool) * 2 < atomic_load(&session->pool_target))
        pthread_cond_signal(&session->drainer_wake);
    if (block) return block;
    block = block_new(session);
    if (block) atomic_fetch_add(&session->hot_blocks, 1);
    return block;
}
