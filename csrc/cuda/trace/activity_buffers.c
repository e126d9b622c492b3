// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/activity_buffers.h"

#include <errno.h>

#include "base/memory.h"

enum { QUEUE_ROOM = 256 }; // a power of two that holds all buffers

_Static_assert((int)RGM_BUFFERS_KNOWN <= (int)QUEUE_ROOM, "every buffer has a place in a queue");

rgm_status rgm_activity_buffers_init(rgm_activity_buffers *buffers, size_t bytes, size_t most,
                                     bool may_decline, rgm_error *err) {
    rgm_status status = RGM_OK;
    *buffers = (rgm_activity_buffers){.bytes = bytes, .most = most, .may_decline = may_decline};
    if (buffers->most > RGM_BUFFERS_MOST) buffers->most = RGM_BUFFERS_MOST;
    if (sem_init(&buffers->wake, 0, 0) != 0)
        return rgm_error_os(err, RGM_UNAVAILABLE, errno, "cannot make a semaphore");
    RGM_GOTO(rgm_queue_init(&buffers->free, QUEUE_ROOM, err));
    RGM_GOTO(rgm_queue_init(&buffers->scratch_free, QUEUE_ROOM, err));
    RGM_GOTO(rgm_queue_init(&buffers->ready, QUEUE_ROOM, err));
    return RGM_OK;
done:
    rgm_activity_buffers_release(buffers);
    return status;
}

void rgm_activity_buffers_release(rgm_activity_buffers *buffers) {
    for (uint32_t i = 0; i < RGM_BUFFERS_KNOWN; i++) {
        rgm_activity_buffer *buffer = atomic_load(&buffers->known[i]);
        if (buffer) rgm_free(buffer->memory);
        rgm_free(buffer);
    }
    rgm_queue_release(&buffers->free);
    rgm_queue_release(&buffers->scratch_free);
    rgm_queue_release(&buffers->ready);
    sem_destroy(&buffers->wake);
}

static void forget(rgm_activity_buffers *buffers, rgm_activity_buffer *buffer) {
    for (uint32_t i = 0; i < RGM_BUFFERS_KNOWN; i++)
        if (atomic_load(&buffers->known[i]) == buffer) atomic_store(&buffers->known[i], NULL);
    atomic_fetch_sub(buffer->scratch ? &buffers->scratch_count : &buffers->full_count, 1);
    rgm_free(buffer->memory);
    rgm_free(buffer);
}

void rgm_activity_buffers_renew(rgm_activity_buffers *buffers, size_t bytes, size_t most, bool may_decline) {
    rgm_queue *queues[] = {&buffers->free, &buffers->scratch_free, &buffers->ready};
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
        for (rgm_activity_buffer *buffer; (buffer = rgm_queue_pop(queues[i]));) forget(buffers, buffer);
    buffers->bytes = bytes;
    buffers->most = most + atomic_load(&buffers->full_count);
    if (buffers->most > RGM_BUFFERS_MOST) buffers->most = RGM_BUFFERS_MOST;
    buffers->may_decline = may_decline;
    atomic_store(&buffers->declined, 0);
    atomic_store(&buffers->foreign, 0);
}

size_t rgm_activity_buffers_out(rgm_activity_buffers *buffers) {
    size_t out = 0;
    for (uint32_t i = 0; i < RGM_BUFFERS_KNOWN; i++) {
        rgm_activity_buffer *buffer = atomic_load(&buffers->known[i]);
        out += buffer && atomic_load(&buffer->out);
    }
    return out;
}

uint64_t rgm_activity_buffers_oldest(rgm_activity_buffers *buffers) {
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = 0; i < RGM_BUFFERS_KNOWN; i++) {
        rgm_activity_buffer *buffer = atomic_load(&buffers->known[i]);
        uint64_t number = buffer ? atomic_load(&buffer->number) : 0;
        if (number && number < oldest) oldest = number;
    }
    return oldest;
}

// --- CUPTI's side -----------------------------------------------------------------------------------------

// A new buffer, if the limit allows; the place that was counted for it is given back when memory is out.
static rgm_activity_buffer *grow(rgm_activity_buffers *buffers, _Atomic(uint32_t) *count, size_t most,
                                 size_t bytes, bool scratch) {
    if (atomic_fetch_add(count, 1) >= most) {
        atomic_fetch_sub(count, 1);
        return NULL;
    }
    rgm_activity_buffer *buffer = rgm_calloc(1, sizeof *buffer);
    uint8_t *memory = buffer ? rgm_malloc(bytes + RGM_BUFFER_ALIGNMENT) : NULL;
    if (!memory) {
        rgm_free(buffer);
        atomic_fetch_sub(count, 1);
        return NULL;
    }
    buffer->memory = memory;
    buffer->data = memory + (RGM_BUFFER_ALIGNMENT - (uintptr_t)memory % RGM_BUFFER_ALIGNMENT);
    buffer->size = bytes;
    buffer->scratch = scratch;
    for (uint32_t i = 0; i < RGM_BUFFERS_KNOWN; i++) { // the counts are bounded, so there is a gap
        rgm_activity_buffer *gap = NULL;
        if (atomic_compare_exchange_strong(&buffers->known[i], &gap, buffer)) break;
    }
    return buffer;
}

void rgm_activity_buffers_request(rgm_activity_buffers *buffers, uint8_t **data, size_t *size) {
    rgm_activity_buffer *buffer = rgm_queue_pop(&buffers->free);
    if (!buffer) buffer = grow(buffers, &buffers->full_count, buffers->most, buffers->bytes, false);
    if (!buffer && !buffers->may_decline) {
        buffer = rgm_queue_pop(&buffers->scratch_free);
        if (!buffer)
            buffer = grow(buffers, &buffers->scratch_count, RGM_SCRATCH_MOST, RGM_SCRATCH_BYTES, true);
    }
    if (!buffer) {
        atomic_fetch_add(&buffers->declined, 1);
        *data = NULL;
        *size = 0;
        return;
    }
    atomic_store(&buffer->number, atomic_fetch_add(&buffers->handed_out, 1) + 1);
    atomic_store(&buffer->out, true);
    *data = buffer->data;
    *size = buffer->size;
}

static rgm_activity_buffer *find(rgm_activity_buffers *buffers, const uint8_t *data) {
    for (uint32_t i = 0; i < RGM_BUFFERS_KNOWN; i++) {
        rgm_activity_buffer *buffer = atomic_load(&buffers->known[i]);
        if (buffer && buffer->data == data) return buffer;
    }
    return NULL;
}

void rgm_activity_buffers_complete(rgm_activity_buffers *buffers, uint8_t *data, size_t valid) {
    rgm_activity_buffer *buffer = find(buffers, data);
    if (!buffer || !atomic_exchange(&buffer->out, false)) {
        atomic_fetch_add(&buffers->foreign, 1); // of another tool, or given back twice
        return;
    }
    buffer->valid = valid < buffer->size ? valid : buffer->size;
    atomic_fetch_add(&buffers->completed, 1);
    (void)rgm_queue_push(&buffers->ready, buffer); // has room for all
    (void)sem_post(&buffers->wake);
}

// --- the reader's side ------------------------------------------------------------------------------------

rgm_activity_buffer *rgm_activity_buffers_next(rgm_activity_buffers *buffers) {
    rgm_activity_buffer *buffer = rgm_queue_pop(&buffers->ready);
    if (buffer) return buffer;
    while (sem_wait(&buffers->wake) != 0 && errno == EINTR) {
    }
    return rgm_queue_pop(&buffers->ready);
}

void rgm_activity_buffers_put(rgm_activity_buffers *buffers, rgm_activity_buffer *buffer) {
    buffer->valid = 0;
    atomic_store(&buffer->number, 0);
    (void)rgm_queue_push(buffer->scratch ? &buffers->scratch_free : &buffers->free, buffer);
}

void rgm_activity_buffers_wake(rgm_activity_buffers *buffers) { (void)sem_post(&buffers->wake); }
