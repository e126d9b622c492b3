// SPDX-License-Identifier: Apache-2.0
#include "capture/recorder.h"

#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "capture/session.h"
#include "capture/witness.h"

_Thread_local rgm_recorder *rgm_recorder_cached __attribute__((tls_model("initial-exec")));

// Every recorder of the calling thread; each entry holds a reference.
static _Thread_local rgm_recorder *local;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void thread_exit(void *unused) {
    (void)unused;
    rgm_recorder_cached = NULL;
    while (local) {
        rgm_recorder *recorder = local;
        local = recorder->next_local;
        atomic_store(&recorder->orphaned, true);
        rgm_recorder_release(recorder);
    }
}

static void make_key(void) { pthread_key_create(&exit_key, thread_exit); }

// Lets go of recorders whose session has ended, so that a long-lived thread keeps no list of dead ones.
static void prune_local(void) {
    rgm_recorder **link = &local;
    while (*link) {
        rgm_recorder *recorder = *link;
        if (atomic_load_explicit(&recorder->session_id, memory_order_relaxed) != RGM_SESSION_ENDED) {
            link = &recorder->next_local;
            continue;
        }
        *link = recorder->next_local;
        rgm_recorder_release(recorder);
    }
}

rgm_recorder *rgm_recorder_find(rgm_session *session, uint64_t session_id) {
    if (!session_id) return NULL;
    for (rgm_recorder *at = local; at; at = at->next_local) {
        if (atomic_load_explicit(&at->session_id, memory_order_relaxed) != session_id) continue;
        rgm_recorder_cached = at;
        return at;
    }
    rgm_recorder_cached = NULL;
    prune_local();
    rgm_recorder *fresh = rgm_session_adopt_thread(session);
    if (!fresh) return NULL;
    pthread_once(&exit_once, make_key);
    pthread_setspecific(exit_key, &exit_key); // any value: it only has to trigger the destructor
    fresh->next_local = local;
    local = fresh;
    rgm_recorder_cached = fresh;
    return fresh;
}

bool rgm_recorder_any_open(void) {
    for (const rgm_recorder *r = local; r; r = r->next_local) {
        if (atomic_load_explicit(&r->session_id, memory_order_relaxed) == RGM_SESSION_ENDED) continue;
        for (const rgm_track *track = atomic_load(&r->tracks); track; track = track->next)
            if (rgm_innermost_open(atomic_load_explicit(&track->top, memory_order_relaxed))) return true;
    }
    return false;
}

static void slots_put(rgm_track_slot *slots, uint32_t mask, rgm_track *track) {
    uint32_t at = (uint32_t)rgm_hash_u64((uint64_t)(uintptr_t)track->context) & mask;
    while (slots[at].track) at = (at + 1) & mask;
    slots[at] = (rgm_track_slot){track->context, track};
}

static rgm_track_slot *slots_find(rgm_recorder *r, const void *context) {
    if (!r->slots) return NULL;
    uint32_t at = (uint32_t)rgm_hash_u64((uint64_t)(uintptr_t)context) & r->slot_mask;
    for (; r->slots[at].track; at = (at + 1) & r->slot_mask)
        if (r->slots[at].context == context) return &r->slots[at];
    return NULL;
}

static void slots_remove(rgm_recorder *r, const void *context) {
    rgm_track_slot *slot = slots_find(r, context);
    if (!slot) return;
    uint32_t hole = (uint32_t)(slot - r->slots);
    r->slots[hole].track = NULL;
    r->slot_used--;
    for (uint32_t at = (hole + 1) & r->slot_mask; r->slots[at].track; at = (at + 1) & r->slot_mask) {
        uint32_t home = (uint32_t)rgm_hash_u64((uint64_t)(uintptr_t)r->slots[at].context) & r->slot_mask;
        if (((at - home) & r->slot_mask) < ((at - hole) & r->slot_mask)) continue;
        r->slots[hole] = r->slots[at];
        r->slots[at].track = NULL;
        hole = at;
    }
}

static bool slots_grow(rgm_recorder *r) {
    uint32_t size = r->slots ? (r->slot_mask + 1) * 2 : 16;
    rgm_track_slot *slots = rgm_calloc(size, sizeof *slots);
    if (!slots) return false;
    for (uint32_t i = 0; r->slots && i <= r->slot_mask; i++)
        if (r->slots[i].track) slots_put(slots, size - 1, r->slots[i].track);
    rgm_free(r->slots);
    r->slots = slots;
    r->slot_mask = size - 1;
    return true;
}

static rgm_track *track_new(rgm_recorder *r) {
    if (r->track_count > RGM_RECORD_TRACK_MAX) return NULL;
    rgm_track *track = rgm_calloc(1, sizeof *track);
    if (!track) return NULL;
    track->recorder = r;
    track->index = r->track_count++;
    rgm_recorder_change_begin(r);
    track->next = atomic_load_explicit(&r->tracks, memory_order_relaxed);
    atomic_store_explicit(&r->tracks, track, memory_order_release);
    rgm_recorder_change_end(r);
    return track;
}

void rgm_recorder_retire_track(rgm_recorder *r, rgm_track *track) {
    slots_remove(r, track->context);
    track->context = NULL;
    track->suppressed = 0;
    track->next_free = r->free_tracks;
    r->free_tracks = track;
}

// Gives back the frames at the top that have ended.
static rgm_frame *free_ended(rgm_recorder *r, rgm_track *track) {
    rgm_frame *frame = atomic_load_explicit(&track->top, memory_order_relaxed);
    while (frame && atomic_load_explicit(&frame->closed, memory_order_acquire))
        frame = rgm_frame_free(r, frame);
    atomic_store_explicit(&track->top, frame, memory_order_relaxed);
    return frame;
}

rgm_frame *rgm_recorder_end_below(rgm_recorder *r, rgm_frame *frame) {
    atomic_store_explicit(&frame->closed, true, memory_order_relaxed);
    rgm_frame *top = free_ended(r, frame->track);
    // What ended elsewhere is gone; so an open one stands above, or nothing did.
    const rgm_frame *at = top;
    while (at && at != frame) at = atomic_load_explicit(&at->parent, memory_order_relaxed);
    if (at) rgm_session_note(r->session, RGM_ANOMALY_OVERLAPPING_SPANS, 1);
    return top;
}

bool rgm_recorder_settle(rgm_recorder *r) {
    bool open = false;
    for (rgm_track *track = atomic_load(&r->tracks); track; track = track->next) {
        open = open || track->suppressed;
        if (!atomic_load_explicit(&track->top, memory_order_relaxed)) continue;
        rgm_recorder_change_begin(r);
        const rgm_frame *frame = free_ended(r, track);
        rgm_recorder_change_end(r);
        open = open || frame;
        if (!frame && track != r->track && !track->suppressed) rgm_recorder_retire_track(r, track);
    }
    return open;
}

rgm_track *rgm_recorder_track_of(rgm_recorder *r, const void *context) {
    rgm_track_slot *slot = slots_find(r, context);
    return slot ? slot->track : NULL;
}

void rgm_recorder_nest(rgm_recorder *r, rgm_track *around) {
    rgm_track *track = r->track;
    rgm_frame *outer =
        around ? rgm_innermost_open(atomic_load_explicit(&around->top, memory_order_relaxed)) : NULL;
    track->around = around;
    track->outer = outer;
    track->outer_seq = outer ? atomic_load_explicit(&outer->seq, memory_order_relaxed) : 0;
}

bool rgm_recorder_switch(rgm_recorder *r, const void *context) {
    rgm_track *left = r->track;
    rgm_track_slot *slot = slots_find(r, context);
    if (left && left->context != context && !atomic_load_explicit(&left->top, memory_order_relaxed) &&
        !left->suppressed) {
        r->track = NULL;
        rgm_recorder_retire_track(r, left);
        slot = slots_find(r, context); // removal moves entries
    }
    rgm_track *track = slot ? slot->track : NULL;
    if (!track) {
        if ((!r->slots || r->slot_used * 2 > r->slot_mask) && !slots_grow(r)) goto failed;
        track = r->free_tracks;
        if (track)
            r->free_tracks = track->next_free;
        else if (!(track = track_new(r)))
            goto failed;
        track->context = context;
        track->around = NULL;
        track->outer = NULL;
        slots_put(r->slots, r->slot_mask, track);
        r->slot_used++;
    }
    r->track = track;
    r->context = context;
    return true;
failed:
    r->track = NULL;
    rgm_recorder_count(&r->dropped);
    return false;
}

typedef struct slab {
    struct slab *next;
    rgm_frame frames[RGM_FRAMES_PER_SLAB];
} slab;

bool rgm_recorder_more_frames(rgm_recorder *r) {
    slab *fresh = rgm_calloc(1, sizeof *fresh);
    if (!fresh) {
        rgm_recorder_count(&r->dropped);
        return false;
    }
    fresh->next = r->slabs;
    r->slabs = fresh;
    for (int i = RGM_FRAMES_PER_SLAB - 1; i >= 0; i--) {
        atomic_store_explicit(&fresh->frames[i].parent, r->free_frames, memory_order_relaxed);
        atomic_store_explicit(&fresh->frames[i].closed, true, memory_order_relaxed);
        r->free_frames = &fresh->frames[i];
    }
    return true;
}

void rgm_recorder_own(rgm_recorder *r, uint64_t ticks) {
    rgm_frame *frame =
        r->track ? rgm_innermost_open(atomic_load_explicit(&r->track->top, memory_order_relaxed)) : NULL;
    if (frame) frame->own += ticks;
}

void rgm_recorder_own_record(rgm_recorder *r, uint64_t ticks) {
    rgm_record record = {
        .start = ticks,
        .seq = r->next_seq,
        .parent = RGM_RECORD_NO_PARENT,
        .info = (uint32_t)RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS,
    };
    rgm_recorder_write(r, &record);
}

void rgm_recorder_count_record(rgm_recorder *r, uint64_t instructions) {
    rgm_record record = {
        .value_track = rgm_record_pack(instructions + 1, 0),
        .seq = r->next_seq,
        .parent = RGM_RECORD_NO_PARENT,
        .info = (uint32_t)RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS,
    };
    rgm_recorder_write(r, &record);
}

bool rgm_recorder_next_block(rgm_recorder *r) {
    uint64_t begin = rgm_clock_ticks();
    rgm_block *fresh = rgm_session_take_block(r->session);
    r->full = !fresh;
    if (!fresh) return false;
    rgm_block *full = r->block;
    r->block = fresh;
    r->used = 0;
    if (r->unannounced) fresh->records[r->used++] = rgm_record_of_thread(atomic_load(&r->thread_row));
    r->unannounced = false;
    atomic_store_explicit(&fresh->committed, r->used, memory_order_relaxed);
    atomic_store_explicit(&full->next, fresh, memory_order_release);
    rgm_witness_block(r, begin);
    rgm_session_own(r->session, RGM_OWN_blocks, rgm_clock_ticks() - begin);
    return true;
}

void rgm_recorder_announce(rgm_recorder *r, uint32_t thread_row) {
    rgm_record record = rgm_record_of_thread(thread_row);
    r->unannounced = r->used == RGM_BLOCK_RECORDS;
    if (!r->unannounced) rgm_recorder_write(r, &record);
}

// A scope that began on another thread: recorded here without a parent; its own thread takes the frame off
// its stack when it next ends a scope there.
bool rgm_recorder_end_elsewhere(rgm_recorder *r, rgm_frame *frame, uint64_t now, uint32_t flags) {
    uint64_t start = atomic_load_explicit(&frame->start, memory_order_relaxed);
    uint64_t ticks = now > start ? now - start : 0;
    bool is_long = ticks > RGM_RECORD_VALUE_MAX;
    rgm_record record = {
        .start = start,
        .value_track = rgm_record_pack(is_long ? ticks >> RGM_RECORD_LONG_SHIFT : ticks, 0),
        .seq = r->next_seq++,
        .parent = RGM_RECORD_NO_PARENT,
        .site = atomic_load_explicit(&frame->site, memory_order_relaxed),
        .info = flags | RGM_RECORD_MIGRATED | (is_long ? (uint32_t)RGM_RECORD_LONG : 0u) |
                (atomic_load_explicit(&frame->meta, memory_order_relaxed) << RGM_RECORD_META_SHIFT),
    };
    // The frame may be given back from here on.
    atomic_store_explicit(&frame->closed, true, memory_order_release);
    return rgm_recorder_write(r, &record);
}

void rgm_recorder_forget(rgm_recorder *r, rgm_frame *frame, uint32_t seq) {
    if (atomic_load(&frame->seq) != seq || atomic_load(&frame->closed)) return;
    if (frame->track->recorder != r) {
        rgm_recorder_end_elsewhere(r, frame, atomic_load(&frame->start), RGM_RECORD_FORGOTTEN);
        return;
    }
    rgm_record record = {
        .start = atomic_load(&frame->start),
        .seq = seq,
        .parent = RGM_RECORD_NO_PARENT,
        .site = atomic_load(&frame->site),
        .info = RGM_RECORD_FORGOTTEN,
    };
    rgm_recorder_write(r, &record);
    if (atomic_load(&frame->track->top) == frame)
        rgm_scope_pop(r, frame);
    else // goes with the scopes that stand upon it
        atomic_store(&frame->closed, true);
}

void rgm_recorder_memory(rgm_recorder *r, rgm_record_kind kind, int32_t device, uint64_t first,
                         uint64_t second) {
    // The scope itself may have been dropped; its values must not go to the one before.
    if (r->used == RGM_BLOCK_RECORDS && r->full) return;
    rgm_record record = {
        .start = first,
        .value_track = rgm_record_pack(second, 0),
        .seq = r->next_seq,
        .parent = RGM_RECORD_NO_PARENT,
        .info = ((uint32_t)kind << RGM_RECORD_FLAG_BITS) |
                (((uint32_t)device & 0xFFFFu) << RGM_RECORD_META_SHIFT),
    };
    rgm_recorder_write(r, &record);
}

void rgm_recorder_interval(rgm_recorder *r, uint64_t number) {
    r->on_device = true;
    if (r->used == RGM_BLOCK_RECORDS && r->full) return; // as above
    rgm_record record = {
        .start = number,
        .seq = r->next_seq,
        .parent = RGM_RECORD_NO_PARENT,
        .info = (uint32_t)RGM_RECORD_INTERVAL << RGM_RECORD_FLAG_BITS,
    };
    rgm_recorder_write(r, &record);
}

// As in rgm_scope_end: a scope that ended out of order is no parent any more.
static uint32_t open_parent(const rgm_frame *frame, size_t most) {
    const rgm_frame *above = atomic_load_explicit(&frame->parent, memory_order_relaxed);
    for (; above && most--; above = atomic_load_explicit(&above->parent, memory_order_relaxed))
        if (!atomic_load_explicit(&above->closed, memory_order_relaxed))
            return atomic_load_explicit(&above->seq, memory_order_relaxed);
    return rgm_frame_outer(atomic_load_explicit(&frame->outer, memory_order_relaxed),
                           atomic_load_explicit(&frame->outer_seq, memory_order_relaxed));
}

static size_t copy_open(const rgm_recorder *r, rgm_open_scope *out, size_t room) {
    size_t count = 0;
    for (const rgm_track *track = atomic_load_explicit(&r->tracks, memory_order_acquire); track;
         track = track->next) {
        const rgm_frame *frame = atomic_load_explicit(&track->top, memory_order_relaxed);
        // A torn walk can only meet frames of this recorder; the bound ends it.
        for (size_t steps = 0; frame && count < room && steps < room; steps++) {
            const rgm_frame *parent = atomic_load_explicit(&frame->parent, memory_order_relaxed);
            if (!atomic_load_explicit(&frame->closed, memory_order_relaxed)) {
                out[count++] = (rgm_open_scope){
                    .start = atomic_load_explicit(&frame->start, memory_order_relaxed),
                    .seq = atomic_load_explicit(&frame->seq, memory_order_relaxed),
                    .parent = open_parent(frame, room),
                    .site = atomic_load_explicit(&frame->site, memory_order_relaxed),
                    .track = track->index,
                    .meta = atomic_load_explicit(&frame->meta, memory_order_relaxed),
                };
            }
            frame = parent;
        }
    }
    return count;
}

size_t rgm_recorder_peek(const rgm_recorder *r, rgm_open_scope *out, size_t room) {
    for (int attempt = 0; attempt < 16; attempt++) {
        uint32_t before = atomic_load_explicit(&r->version, memory_order_acquire);
        if (before & 1u) continue;
        size_t count = copy_open(r, out, room);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&r->version, memory_order_relaxed) == before) return count;
    }
    return 0;
}

void rgm_recorder_empty(rgm_recorder *r) {
    for (rgm_block *block = r->first, *next; block; block = next) {
        next = atomic_load(&block->next);
        rgm_free(block);
    }
    for (rgm_track *track = r->tracks, *next; track; track = next) {
        next = track->next;
        rgm_free(track);
    }
    for (slab *at = r->slabs, *next; at; at = next) {
        next = at->next;
        rgm_free(at);
    }
    rgm_free(r->slots);
    r->first = r->block = NULL;
    atomic_store(&r->tracks, NULL);
    r->slabs = NULL;
    r->slots = NULL;
}

void rgm_recorder_release(rgm_recorder *r) {
    if (!r || atomic_fetch_sub(&r->references, 1) != 1) return;
    rgm_recorder_empty(r);
    rgm_free(r);
}
