// SPDX-License-Identifier: Apache-2.0
// The hot path: one recorder per thread and session, written by its thread alone.
//
// A scope that begins takes a frame; a scope that ends writes one record into the recorder's block and gives
// the frame back. The only shared write is a release store of the block's fill count, which the drainer
// reads. Nothing here allocates after warm-up (frames come from a free list, blocks from a pool that the
// drainer keeps filled), takes a lock, or fails: what cannot be recorded is counted.
//
// Open scopes form one stack per context. A context is any pointer that tells tasks of one thread apart (the
// Python layer passes the current contextvars.Context), so scopes of interleaved asyncio tasks nest rightly.
#ifndef RGM_CAPTURE_RECORDER_H
#define RGM_CAPTURE_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "model/record.h"

typedef struct rgm_session rgm_session;
typedef struct rgm_recorder rgm_recorder;
typedef struct rgm_frame rgm_frame;
typedef struct rgm_track rgm_track;

enum { RGM_BLOCK_RECORDS = 2047, RGM_FRAMES_PER_SLAB = 64, RGM_OPEN_SCOPES_SEEN = 1024 };

// Neither the id of a session nor 0, which is what a stopped session answers when asked for its id.
#define RGM_SESSION_ENDED UINT64_MAX

// 64 KiB of records. `committed` is the hand-over point between the thread and the drainer.
typedef struct rgm_block {
    _Atomic(uint32_t) committed;
    uint32_t reserved;
    _Atomic(struct rgm_block *) next;
    uint64_t padding[2];
    rgm_record records[RGM_BLOCK_RECORDS];
} rgm_block;

_Static_assert(sizeof(rgm_block) == 65536, "a block is 64 KiB");

// Atomic where the drainer peeks at scopes that are still open; all stores are relaxed, plain moves on x86.
struct rgm_frame {
    _Atomic(uint64_t) start;
    _Atomic(rgm_frame *) parent; // the next free frame while on the free list
    _Atomic(uint32_t) seq;
    _Atomic(uint32_t) site;
    _Atomic(uint32_t) meta;
    _Atomic(bool) closed; // ended, but a scope that began later is still open above it
    // Of the lowest scope of a stack: the scope around the call that entered this context, NULL for none.
    _Atomic(rgm_frame *) outer;
    _Atomic(uint32_t) outer_seq; // what it was called then; a frame is used again
    rgm_track *track;
    uint64_t own; // ticks that the recorder itself took while this was the innermost scope
};

struct rgm_track {
    _Atomic(rgm_frame *) top;
    const void *context;
    rgm_recorder *recorder;
    rgm_track *around; // stack of the context that entered this one, NULL for none
    rgm_frame *outer;  // its innermost scope at that time
    uint32_t outer_seq;
    rgm_track *next_free;
    rgm_track *next; // all tracks of the recorder, newest first
    uint32_t index;
    uint32_t suppressed; // depth inside a scope that sampling left out
};

typedef struct {
    const void *context;
    rgm_track *track;
} rgm_track_slot;

struct rgm_recorder {
    _Atomic(uint64_t) session_id; // RGM_SESSION_ENDED once the session has ended
    const void *context;
    rgm_track *track; // of that context
    rgm_frame *free_frames;
    rgm_block *block;
    uint32_t used; // records in block
    uint32_t next_seq;
    uint64_t turn_due;         // tick from which on the end of a scope may end the turn (capture/turns.c)
    uint64_t witness_due;      // tick from which on the end of a scope may be a look at the machine
    _Atomic(uint32_t) version; // odd while the stacks change: a sequence lock for the drainer's look
    uint64_t random;
    _Atomic(uint64_t) dropped;
    _Atomic(uint64_t) lost;

    // Off the hot path.
    rgm_session *session;
    rgm_recorder *next;          // in the session
    rgm_recorder *next_local;    // in the thread
    _Atomic(rgm_track *) tracks; // the drainer walks it
    rgm_track *free_tracks;
    rgm_track_slot *slots; // context -> track, open addressing
    uint32_t slot_mask, slot_used;
    uint32_t track_count;
    void *slabs;
    uint32_t index; // stream number
    // Of capture/witness.c: when it is late, the depth of the last look, the least at which a scope ended
    // since it was due, and when the next block gets a mark.
    uint64_t witness_late, witness_mark;
    uint32_t witness_level, witness_least;
    bool unannounced;        // its thread's row did not fit; it goes first into the next block
    bool full;               // the last record was dropped
    bool on_device;          // a scope of it had work on a device
    bool named;              // the Python layer has given the thread its name
    _Atomic(int) references; // session and thread
    _Atomic(bool) orphaned;  // its thread has ended
    // The drainer's side.
    rgm_block *first;
    uint32_t flushed; // records of `first` that have moved on
    bool open_written;
    uint32_t base_thread;         // thread row in force at `first`, UINT32_MAX when a record says so
    _Atomic(uint32_t) thread_row; // of the thread that owns the recorder now
};

extern _Thread_local rgm_recorder *rgm_recorder_cached __attribute__((tls_model("initial-exec")));

// Slow halves.
rgm_recorder *rgm_recorder_find(rgm_session *session, uint64_t session_id);
bool rgm_recorder_switch(rgm_recorder *recorder, const void *context);
// Whether a scope of the calling thread is open, in any session and any context.
bool rgm_recorder_any_open(void);
bool rgm_recorder_more_frames(rgm_recorder *recorder);
bool rgm_recorder_next_block(rgm_recorder *recorder);
void rgm_recorder_retire_track(rgm_recorder *recorder, rgm_track *track);
// For a recorder whose thread has ended: takes off its stacks what others ended for it. True while a scope is
// still open, one that sampling left out too: its end counts on its track.
bool rgm_recorder_settle(rgm_recorder *recorder);
// The stack of a context, NULL when it has none.
rgm_track *rgm_recorder_track_of(rgm_recorder *recorder, const void *context);
// Tells that the current context runs inside a call from another one, whose stack is `around` (NULL: from
// none). A scope at the bottom of the current stack then has the innermost scope of `around` as its parent.
void rgm_recorder_nest(rgm_recorder *recorder, rgm_track *around);
bool rgm_recorder_end_elsewhere(rgm_recorder *recorder, rgm_frame *frame, uint64_t now, uint32_t flags);
// Writes how much of the scope that has just ended was the recorder's own time.
void rgm_recorder_own_record(rgm_recorder *recorder, uint64_t ticks);
// Writes how many instructions the scope that has just ended was.
void rgm_recorder_count_record(rgm_recorder *recorder, uint64_t instructions);
// Books time of the recorder's own on the innermost open scope, whose exclusive time it is not.
void rgm_recorder_own(rgm_recorder *recorder, uint64_t ticks);
// Ends a scope of which nothing is to be known: what was recorded inside it stands by itself.
void rgm_recorder_forget(rgm_recorder *recorder, rgm_frame *frame, uint32_t seq);
// Ends the frame of a scope that others stand upon, which is noted when one of them is open: they overlap.
// Returns the top of the stack then.
rgm_frame *rgm_recorder_end_below(rgm_recorder *recorder, rgm_frame *frame);
// Writes from which thread the records that follow are.
void rgm_recorder_announce(rgm_recorder *recorder, uint32_t thread_row);
// Frees what the recorder holds; release frees the recorder itself with its last reference.
void rgm_recorder_empty(rgm_recorder *recorder);
void rgm_recorder_release(rgm_recorder *recorder);

static inline rgm_record rgm_record_of_thread(uint32_t row) {
    return (rgm_record){.parent = RGM_RECORD_NO_PARENT,
                        .site = row,
                        .info = (uint32_t)RGM_RECORD_THREAD << RGM_RECORD_FLAG_BITS};
}

// The calling thread's recorder for the session, made on first use; NULL when that failed or the session
// has ended.
static inline rgm_recorder *rgm_recorder_get(rgm_session *session, uint64_t session_id) {
    rgm_recorder *recorder = rgm_recorder_cached;
    if (RGM_LIKELY(recorder &&
                   atomic_load_explicit(&recorder->session_id, memory_order_relaxed) == session_id))
        return recorder;
    return rgm_recorder_find(session, session_id);
}

static inline void rgm_recorder_change_begin(rgm_recorder *r) {
    atomic_store_explicit(&r->version, atomic_load_explicit(&r->version, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}
static inline void rgm_recorder_change_end(rgm_recorder *r) {
    atomic_store_explicit(&r->version, atomic_load_explicit(&r->version, memory_order_relaxed) + 1,
                          memory_order_release);
}

static inline void rgm_recorder_count(_Atomic(uint64_t) *counter) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

// Switches to the stack of the context; false when that was not possible.
static inline bool rgm_recorder_enter(rgm_recorder *r, const void *context) {
    return RGM_LIKELY(r->context == context && r->track) || rgm_recorder_switch(r, context);
}

// The innermost scope that is still open, from this frame outwards; NULL for none.
static inline rgm_frame *rgm_innermost_open(rgm_frame *frame) {
    while (RGM_UNLIKELY(frame && atomic_load_explicit(&frame->closed, memory_order_relaxed)))
        frame = atomic_load_explicit(&frame->parent, memory_order_relaxed);
    return frame;
}

// Number of the scope around the stack's lowest one, if it is still open.
static inline uint32_t rgm_frame_outer(const rgm_frame *outer, uint32_t seq) {
    bool open = outer && atomic_load_explicit(&outer->seq, memory_order_relaxed) == seq &&
                !atomic_load_explicit(&outer->closed, memory_order_relaxed);
    return open ? seq : RGM_RECORD_NO_PARENT;
}

// Begins a scope; NULL when it cannot be recorded (counted). *seq names the scope to rgm_scope_end.
static inline rgm_frame *rgm_scope_begin(rgm_recorder *r, const void *context, uint32_t site, uint32_t meta,
                                         uint32_t *seq) {
    if (RGM_UNLIKELY(!rgm_recorder_enter(r, context))) return NULL;
    if (RGM_UNLIKELY(!r->free_frames) && !rgm_recorder_more_frames(r)) return NULL;
    rgm_track *track = r->track;
    rgm_frame *frame = r->free_frames;
    rgm_frame *below = atomic_load_explicit(&track->top, memory_order_relaxed);
    r->free_frames = atomic_load_explicit(&frame->parent, memory_order_relaxed);
    *seq = r->next_seq++;
    rgm_recorder_change_begin(r);
    frame->track = track;
    atomic_store_explicit(&frame->parent, below, memory_order_relaxed);
    atomic_store_explicit(&frame->outer, below ? NULL : track->outer, memory_order_relaxed);
    atomic_store_explicit(&frame->outer_seq, track->outer_seq, memory_order_relaxed);
    atomic_store_explicit(&frame->seq, *seq, memory_order_relaxed);
    atomic_store_explicit(&frame->site, site, memory_order_relaxed);
    atomic_store_explicit(&frame->meta, meta, memory_order_relaxed);
    atomic_store_explicit(&frame->closed, false, memory_order_relaxed);
    frame->own = 0;
    atomic_store_explicit(&frame->start, rgm_clock_ticks(), memory_order_relaxed);
    atomic_store_explicit(&track->top, frame, memory_order_relaxed);
    rgm_recorder_change_end(r);
    return frame;
}

// Appends a record; false when there is no room (counted).
static inline bool rgm_recorder_write(rgm_recorder *r, const rgm_record *record) {
    if (RGM_UNLIKELY(r->used == RGM_BLOCK_RECORDS) && !rgm_recorder_next_block(r)) {
        rgm_recorder_count(&r->dropped);
        return false;
    }
    r->block->records[r->used++] = *record;
    atomic_store_explicit(&r->block->committed, r->used, memory_order_release);
    return true;
}

// Gives a frame back; returns the one below it.
static inline rgm_frame *rgm_frame_free(rgm_recorder *r, rgm_frame *frame) {
    rgm_frame *below = atomic_load_explicit(&frame->parent, memory_order_relaxed);
    atomic_store_explicit(&frame->parent, r->free_frames, memory_order_relaxed);
    atomic_store_explicit(&frame->closed, true, memory_order_relaxed);
    r->free_frames = frame;
    return below;
}

// Takes a frame that has ended off its stack, with those below it that ended before.
static inline void rgm_scope_pop(rgm_recorder *r, rgm_frame *frame) {
    rgm_track *track = frame->track;
    rgm_recorder_change_begin(r);
    if (RGM_LIKELY(atomic_load_explicit(&track->top, memory_order_relaxed) == frame)) {
        do {
            frame = rgm_frame_free(r, frame);
        } while (RGM_UNLIKELY(frame && atomic_load_explicit(&frame->closed, memory_order_relaxed)));
        atomic_store_explicit(&track->top, frame, memory_order_relaxed);
    } else {
        frame = rgm_recorder_end_below(r, frame);
    }
    rgm_recorder_change_end(r);
    // A track whose scopes are being left out is still in use; what ends the last of them retires it.
    if (RGM_UNLIKELY(!frame && track != r->track && !track->suppressed)) rgm_recorder_retire_track(r, track);
}

// Ends a scope at `now` (ticks read by the caller, as early as it could). `flags` are RGM_RECORD_FAILED or 0.
// Returns the duration in ticks.
static inline uint64_t rgm_scope_end(rgm_recorder *r, rgm_frame *frame, uint32_t seq, uint64_t now,
                                     uint32_t flags) {
    if (RGM_UNLIKELY(atomic_load_explicit(&frame->seq, memory_order_relaxed) != seq ||
                     atomic_load_explicit(&frame->closed, memory_order_relaxed))) {
        rgm_recorder_count(&r->lost);
        return 0;
    }
    uint64_t start = atomic_load_explicit(&frame->start, memory_order_relaxed);
    uint64_t ticks = now > start ? now - start : 0; // counters of two processors may differ by a few ticks
    if (RGM_UNLIKELY(frame->track->recorder != r)) {
        rgm_recorder_end_elsewhere(r, frame, now, flags);
        return ticks;
    }
    rgm_frame *parent = rgm_innermost_open(atomic_load_explicit(&frame->parent, memory_order_relaxed));
    if (RGM_UNLIKELY(ticks > RGM_RECORD_VALUE_MAX)) flags |= RGM_RECORD_LONG;
    uint32_t above = parent ? atomic_load_explicit(&parent->seq, memory_order_relaxed)
                            : rgm_frame_outer(atomic_load_explicit(&frame->outer, memory_order_relaxed),
                                              atomic_load_explicit(&frame->outer_seq, memory_order_relaxed));
    rgm_record record = {
        .start = start,
        .value_track = rgm_record_pack(flags & RGM_RECORD_LONG ? ticks >> RGM_RECORD_LONG_SHIFT : ticks,
                                       frame->track->index),
        .seq = seq,
        .parent = above,
        .site = atomic_load_explicit(&frame->site, memory_order_relaxed),
        .info = flags | (atomic_load_explicit(&frame->meta, memory_order_relaxed) << RGM_RECORD_META_SHIFT),
    };
    if (rgm_recorder_write(r, &record) && RGM_UNLIKELY(frame->own)) rgm_recorder_own_record(r, frame->own);
    rgm_scope_pop(r, frame);
    return ticks;
}

// Writes memory values of the scope that has just ended on this recorder.
void rgm_recorder_memory(rgm_recorder *recorder, rgm_record_kind kind, int32_t device, uint64_t first,
                         uint64_t second);
// Ties a device interval to the scope that has just ended on this recorder.
void rgm_recorder_interval(rgm_recorder *recorder, uint64_t number);
// Copies the open scopes of all tracks for the drainer; returns how many, 0 when the stacks kept changing.
size_t rgm_recorder_peek(const rgm_recorder *recorder, rgm_open_scope *out, size_t room);

#endif
