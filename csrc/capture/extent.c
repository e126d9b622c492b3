// SPDX-License-Identifier: Apache-2.0
#include "capture/extent.h"

rgm_recorder *rgm_session_recorders(rgm_session *session) {
    pthread_mutex_lock(&session->state_mutex);
    rgm_recorder *head = session->recorders; // only ever grows at the head
    pthread_mutex_unlock(&session->state_mutex);
    return head;
}

rgm_extent rgm_extent_of(rgm_recorder *recorder) {
    rgm_extent e = {recorder, recorder->first, 0};
    for (;;) {
        rgm_block *next = atomic_load_explicit(&e.last->next, memory_order_acquire);
        e.last_used = atomic_load_explicit(&e.last->committed, memory_order_acquire);
        if (!next) return e;
        e.last = next;
    }
}

// Hands every range of the rgm_extent to the sink, in order.
rgm_status rgm_extent_walk(const rgm_extent *e, rgm_extent_sink sink, void *arg, rgm_error *err) {
    uint32_t from = e->recorder->flushed;
    for (rgm_block *block = e->recorder->first;;) {
        uint32_t used =
            block == e->last ? e->last_used : atomic_load_explicit(&block->committed, memory_order_acquire);
        if (used > from) RGM_TRY(sink(arg, e->recorder->index, block->records + from, used - from, err));
        if (block == e->last) return RGM_OK;
        block = atomic_load_explicit(&block->next, memory_order_acquire);
        from = 0;
    }
}

uint64_t rgm_extent_consume(rgm_session *session, const rgm_extent *e) {
    uint64_t records = 0;
    rgm_recorder *recorder = e->recorder;
    while (recorder->first != e->last) {
        rgm_block *block = recorder->first;
        records += atomic_load(&block->committed) - recorder->flushed;
        recorder->first = atomic_load(&block->next);
        recorder->flushed = 0;
        rgm_session_give_block(session, block);
    }
    records += e->last_used - recorder->flushed;
    recorder->flushed = e->last_used;
    return records;
}
