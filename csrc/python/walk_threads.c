// SPDX-License-Identifier: Apache-2.0
#include "python/walk_threads.h"

#include <unistd.h>

#include "base/memory.h"
#include "base/peek.h"
#include "python/frames.h"

enum {
    SLACK = 256, // by how many bytes a stack may have grown since the list was read
    PIECES = 3,  // of a thread: its state, which frame is the innermost, the newest block of frames
};

bool rgm_walk_read(const rgm_walk_threads *all, uintptr_t from, void *to, size_t bytes) {
    return from && rgm_peek(all->process, (const void *)from, to, bytes);
}

bool rgm_walk_room(char **bytes, size_t *room, size_t wanted) {
    if (wanted <= *room) return true;
    char *grown = rgm_realloc(*bytes, wanted + wanted / 2);
    if (!grown) return false;
    *bytes = grown;
    *room = wanted + wanted / 2;
    return true;
}

// --- the list ---------------------------------------------------------------------------------------------

// The head of the list, and with it the states that were in it last time: most of them still are.
bool rgm_walk_threads_begin(rgm_walk_threads *all) {
    struct iovec pieces[1 + RGM_WALK_AT_ONCE] = {
        {(void *)(all->interpreter + rgm_layout.interpreter.threads), sizeof all->next}};
    size_t bytes = rgm_layout.state.bytes;
    char *to = all->states; // the head lies before the first state
    all->read_count = all->count < RGM_WALK_AT_ONCE ? all->count : RGM_WALK_AT_ONCE;
    for (size_t i = 0; i < all->read_count; i++)
        pieces[1 + i] = (struct iovec){(void *)all->listed[i].state, bytes};
    all->count = all->together = 0;
    all->next = 0;
    if (!rgm_peek_all(all->process, pieces, 1 + all->read_count, to,
                      sizeof all->next + all->read_count * bytes)) {
        all->read_count = 0;
        if (!rgm_peek_all(all->process, pieces, 1, to, sizeof all->next)) return false;
    }
    all->next = rgm_word_at(to, 0);
    return true;
}

// Whether what was read there is still a state of the list.
static bool is_listed(const rgm_walk_threads *all, const rgm_walk_thread *t, const char *state) {
    return rgm_word_at(state, rgm_layout.state.interpreter) == all->interpreter &&
           rgm_word_at(state, rgm_layout.state.previous) == t->before;
}

static void note(rgm_walk_thread *t, const char *state) {
    t->link = rgm_word_at(state, rgm_layout.state.frame);
    t->block = rgm_word_at(state, rgm_layout.state.block);
    t->top = rgm_word_at(state, rgm_layout.state.from_top);
    t->limit = rgm_word_at(state, rgm_layout.state.limit);
}

static bool read_state(const rgm_walk_threads *all, const rgm_walk_thread *t, char *state) {
    return rgm_walk_read(all, t->state, state, rgm_layout.state.bytes) && is_listed(all, t, state);
}

rgm_walk rgm_walk_threads_next(rgm_walk_threads *all, int64_t *thread) {
    char alone[RGM_WALK_STATE];
    size_t at = all->count;
    if (!all->next) return RGM_WALK_END;
    if (at == RGM_WALK_THREADS) return RGM_WALK_TORN;
    bool was_read = at < all->read_count && all->listed[at].state == all->next;
    const char *state = all->states + sizeof all->next + at * rgm_layout.state.bytes;
    rgm_walk_thread *t = &all->listed[at];
    *t = (rgm_walk_thread){.state = all->next, .before = at ? t[-1].state : 0};
    all->next = 0;
    if (!was_read || !is_listed(all, t, state)) {
        if (!read_state(all, t, alone)) return RGM_WALK_TORN;
        state = alone;
    }
    note(t, state);
    all->count++;
    all->next = rgm_word_at(state, rgm_layout.state.next);
    t->thread = rgm_word_at(state, rgm_layout.state.thread);
    *thread = (int64_t)t->thread;
    return RGM_WALK_FOUND;
}

// --- frames -----------------------------------------------------------------------------------------------

// Of its newest block: what is read by what its state said last.
static uintptr_t begin_of(const rgm_walk_thread *t) {
    return t->block ? t->block + rgm_layout.block.data : 0;
}
static uintptr_t end_of(const rgm_walk_thread *t) {
    if (!t->block) return 0;
    return t->limit - t->top < SLACK ? t->limit : t->top + SLACK;
}

// Where what is read of a thread lies; 0 bytes: nowhere.
static size_t pieces_of(const rgm_walk_thread *t, struct iovec *pieces) {
    size_t bytes = rgm_layout.state.bytes;
    uintptr_t begin = begin_of(t), end = end_of(t);
    if (!t->link || end < begin || end - begin > RGM_WALK_COPY) return 0;
    pieces[0] = (struct iovec){(void *)t->state, bytes};
    pieces[1] = (struct iovec){(void *)(rgm_layout.frame_is_indirect ? t->link + rgm_layout.frame_of_that
                                                                     : t->state + rgm_layout.state.frame),
                               sizeof(uintptr_t)};
    pieces[2] = (struct iovec){(void *)begin, end - begin};
    return bytes + sizeof(uintptr_t) + (end - begin);
}

// Of all copies: what was read of several threads, and the blocks of one.
static bool room_for(rgm_walk_threads *all, size_t bytes) {
    return bytes <= 2 * RGM_WALK_COPY && rgm_walk_room(&all->copy, &all->room, bytes);
}

static void add_block(rgm_walk_threads *all, uintptr_t begin, uintptr_t end, size_t at) {
    all->blocks[all->block_count++] = (rgm_walk_block){begin, end, at};
}

// One that has the lock moves on at once, and is better read when it is looked at.
void rgm_walk_threads_together(rgm_walk_threads *all, const uint32_t *which, size_t count) {
    struct iovec pieces[RGM_WALK_AT_ONCE * PIECES];
    size_t begins[RGM_WALK_AT_ONCE], used = 0, total = 0;
    uint32_t whose[RGM_WALK_AT_ONCE];
    for (size_t i = 0; i < count && used < RGM_WALK_AT_ONCE; i++) {
        const rgm_walk_thread *t = &all->listed[which[i]];
        size_t bytes = rgm_frames_has_lock(t->state) ? 0 : pieces_of(t, &pieces[used * PIECES]);
        if (!bytes || total + bytes > RGM_WALK_COPY) continue;
        whose[used] = which[i];
        begins[used++] = total;
        total += bytes;
    }
    if (used < 2 || !room_for(all, total)) return;
    if (!rgm_peek_all(all->process, pieces, used * PIECES, all->copy, total)) return;
    all->together = total;
    for (size_t i = 0; i < used; i++) all->listed[whose[i]].at = begins[i] + 1;
}

// Of what was read of a thread the innermost frame and the newest block. False where they no longer are where
// its state said before.
static bool take(rgm_walk_threads *all, const rgm_walk_thread *t, size_t at, uintptr_t *frame) {
    const char *state = all->copy + at;
    uintptr_t begin = begin_of(t), end = end_of(t);
    uintptr_t top = t->block ? rgm_word_at(state, rgm_layout.state.from_top) : 0;
    *frame = rgm_word_at(state, rgm_layout.state.bytes);
    all->newest = t->block;
    all->block_count = 0;
    if (top < begin || top > end) return false;
    if (top > begin) add_block(all, begin, top, at + rgm_layout.state.bytes + sizeof *frame);
    return is_listed(all, t, state) && rgm_word_at(state, rgm_layout.state.thread) == t->thread &&
           rgm_word_at(state, rgm_layout.state.block) == t->block &&
           (!rgm_layout.frame_is_indirect || rgm_word_at(state, rgm_layout.state.frame) == t->link);
}

static bool take_alone(rgm_walk_threads *all, const rgm_walk_thread *t, uintptr_t *frame) {
    struct iovec pieces[PIECES];
    size_t bytes = pieces_of(t, pieces), at = all->together;
    if (!bytes || !room_for(all, at + bytes)) return false;
    if (!rgm_peek_all(all->process, pieces, PIECES, all->copy + at, bytes)) return false;
    all->copied = at + bytes;
    return take(all, t, at, frame);
}

// Who has come to have the lock since it was read with others has moved on.
rgm_walk rgm_walk_innermost(rgm_walk_threads *all, size_t which, uintptr_t *frame) {
    char state[RGM_WALK_STATE];
    rgm_walk_thread *t = &all->listed[which];
    size_t at = rgm_frames_has_lock(t->state) ? 0 : t->at;
    t->at = 0;
    all->copied = all->together;
    bool found = at ? take(all, t, at - 1, frame) : take_alone(all, t, frame);
    if (!found) {
        if (!read_state(all, t, state)) return RGM_WALK_TORN;
        note(t, state);
        if (!t->link) return RGM_WALK_END;
        if (!take_alone(all, t, frame)) return RGM_WALK_TORN;
    }
    return *frame ? RGM_WALK_FOUND : RGM_WALK_END;
}

static const char *copied(const rgm_walk_threads *all, uintptr_t frame) {
    for (size_t i = all->block_count; i-- > 0;) {
        const rgm_walk_block *of =
            &all->blocks[i]; // the address may be anything that was read while it changed
        if (frame >= of->begin && frame < of->end && of->end - frame >= rgm_layout.frame.bytes)
            return all->copy + of->at + (frame - of->begin);
    }
    return NULL;
}

static bool copy_block(rgm_walk_threads *all, uintptr_t begin, uintptr_t end) {
    if (end < begin || end - begin > RGM_WALK_COPY || all->block_count == RGM_WALK_BLOCKS) return false;
    if (!room_for(all, all->copied + (end - begin))) return false;
    if (end > begin && !rgm_walk_read(all, begin, all->copy + all->copied, end - begin)) return false;
    add_block(all, begin, end, all->copied);
    all->copied += end - begin;
    return true;
}

// The blocks before the newest, from which it goes on, as far as they hold the frame.
static bool copy_older(rgm_walk_threads *all, uintptr_t frame) {
    char head[64];
    if (!all->newest || !rgm_walk_read(all, all->newest, head, rgm_layout.block.data)) return false;
    uintptr_t older = rgm_word_at(head, rgm_layout.block.previous);
    if (!older || !rgm_walk_read(all, older, head, rgm_layout.block.data)) return false;
    uintptr_t begin = older + rgm_layout.block.data;
    uintptr_t end = begin + rgm_word_at(head, rgm_layout.block.top) * sizeof(uintptr_t);
    if (frame < begin || frame >= end || !copy_block(all, begin, end)) return false;
    all->newest = older;
    return true;
}

// Frames of generators lie elsewhere and are read one by one.
const char *rgm_walk_frame(rgm_walk_threads *all, uintptr_t frame, char *alone) {
    const char *found = copied(all, frame);
    if (!found && copy_older(all, frame)) found = copied(all, frame);
    if (!found && rgm_walk_read(all, frame, alone, rgm_layout.frame.bytes)) found = alone;
    return found;
}
