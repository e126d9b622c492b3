// SPDX-License-Identifier: Apache-2.0
// Which Python functions the threads of this process are in, read by a thread that does not take the
// interpreter's lock. Nothing that it looks at has to stay: all of it is read through the system, which
// refuses addresses that are gone, and is used only where its parts fit together.
#include "python/walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/peek.h"
#include "python/frames.h"
#include "python/walk_text.h"
#include "python/walk_threads.h"

enum {
    HEADS_AT_ONCE = 128,
    PLACES = 4096, // a power of two
    LINES_MOST = 4 << 20,
    HEAD_ROOM = 512,
    FRAME_ROOM = 256,
    INNERMOST_MOST = 512,
    ATTEMPTS = 16, // at the frames of one thread
};

// A frame whose code has been looked at: it is the same function's as long as frame, code and caller are the
// same, and is believed for a second. Reading the code of each frame is most of what a walk costs.
typedef struct {
    uintptr_t frame, previous, end;
    int64_t looked_ns;
    rgm_source_frame found;
} place;
static const int64_t believed_ns = 1000000000;

struct rgm_walker {
    rgm_walk_threads all;
    int64_t now_ns;
    rgm_frame_memory lock;
    uintptr_t at[RGM_STACK_DEEPEST], callers[RGM_STACK_DEEPEST]; // of what is walked, innermost first
    uintptr_t codes[RGM_STACK_DEEPEST], instructions[RGM_STACK_DEEPEST];
    place *of_frame[RGM_STACK_DEEPEST];
    uint16_t unknown[RGM_STACK_DEEPEST]; // frames whose codes have to be read
    uintptr_t innermost;                 // function: its frame with its variables and its stack, as they were
    size_t innermost_bytes;
    char innermost_then[INNERMOST_MOST];
    place places[PLACES];
    char heads[HEADS_AT_ONCE * HEAD_ROOM];
    char *lines;
    size_t lines_room;
};

// --- threads ----------------------------------------------------------------------------------------------

static bool walk_begin(rgm_walker *w, const char **reason) {
    *reason = rgm_frames_reason();
    w->now_ns = rgm_clock_monotonic_ns();
    return !**reason && rgm_walk_threads_begin(&w->all);
}

static rgm_walk walk_next(rgm_walker *w, int64_t *thread) { return rgm_walk_threads_next(&w->all, thread); }

static void walk_together(rgm_walker *w, const uint32_t *which, size_t count) {
    rgm_walk_threads_together(&w->all, which, count);
}

// --- frames -----------------------------------------------------------------------------------------------

// Where it is kept what a frame of this address and this caller was; another one's is forgotten.
static place *place_of(rgm_walker *w, uintptr_t frame, uintptr_t previous) {
    place *p = &w->places[rgm_hash_u64(frame) & (PLACES - 1)];
    if (p->frame != frame || p->previous != previous) *p = (place){.frame = frame, .previous = previous};
    return p;
}

// Of a frame with a block the rest of the block, which is what lies above it; of another as much as can be
// read.
static void keep_innermost(rgm_walker *w, uintptr_t frame) {
    w->innermost = frame;
    w->innermost_bytes = 0;
    for (size_t i = 0; i < w->all.block_count; i++) {
        const rgm_walk_block *of = &w->all.blocks[i];
        if (frame < of->begin || frame >= of->end) continue;
        w->innermost_bytes = of->end - frame < INNERMOST_MOST ? of->end - frame : INNERMOST_MOST;
        memcpy(w->innermost_then, w->all.copy + of->at + (frame - of->begin), w->innermost_bytes);
        return;
    }
    if (rgm_walk_read(&w->all, frame, w->innermost_then, FRAME_ROOM)) w->innermost_bytes = FRAME_ROOM;
}

// A generator is called by somebody: one without a caller has just given a value back, and stands where the
// thread was a moment ago.
static rgm_walk follow(rgm_walker *w, uintptr_t frame, size_t *count, bool *cut) {
    char alone[FRAME_ROOM];
    size_t foreign = 0;
    int outermost = rgm_layout.frame.of_thread;
    for (*count = 0; frame;) {
        const char *found = rgm_walk_frame(&w->all, frame, alone);
        if (!found || foreign > RGM_STACK_DEEPEST) return RGM_WALK_TORN;
        if (found[rgm_layout.frame.owner] >= rgm_layout.frame.foreign || found[rgm_layout.frame.owner] < 0) {
            foreign++;
        } else if (*count == RGM_STACK_DEEPEST) {
            *cut = true;
            return RGM_WALK_FOUND;
        } else {
            if (!*count) keep_innermost(w, frame);
            outermost = found[rgm_layout.frame.owner];
            // The lowest bits tell who owns the code.
            w->codes[*count] = rgm_word_at(found, rgm_layout.frame.code) & ~(uintptr_t)7;
            w->instructions[*count] = rgm_word_at(found, rgm_layout.frame.instruction);
            w->at[*count] = frame;
            w->callers[(*count)++] = rgm_word_at(found, rgm_layout.frame.previous);
        }
        frame = rgm_word_at(found, rgm_layout.frame.previous);
    }
    return outermost == rgm_layout.frame.of_thread ? RGM_WALK_FOUND : RGM_WALK_TORN;
}

enum { UNIT = sizeof(uint16_t) };

static bool is_inside(const place *p, uintptr_t instruction) {
    uintptr_t begin = p->found.code + rgm_layout.code.bytes;
    return instruction + UNIT >= begin && instruction < p->end;
}

static rgm_source_frame at_instruction(const place *p, uintptr_t instruction) {
    uintptr_t begin = p->found.code + rgm_layout.code.bytes;
    rgm_source_frame frame = p->found;
    frame.unit = instruction < begin ? -1 : (int32_t)((instruction - begin) / UNIT);
    return frame;
}

// Whether these are the first bytes of a code object that the instruction is in.
static bool fits(place *p, const char *head, uintptr_t code, uintptr_t instruction, int64_t now_ns) {
    uintptr_t units = rgm_word_at(head, rgm_layout.code.units);
    if (rgm_word_at(head, rgm_layout.code.type) != (uintptr_t)&PyCode_Type || units > INT32_MAX / 2)
        return false;
    p->end = code + rgm_layout.code.bytes + units * UNIT;
    p->looked_ns = now_ns;
    p->found = (rgm_source_frame){.code = code,
                                  .name = rgm_word_at(head, rgm_layout.code.name),
                                  .file = rgm_word_at(head, rgm_layout.code.file),
                                  .lines = rgm_word_at(head, rgm_layout.code.lines)};
    memcpy(&p->found.first_line, head + rgm_layout.code.first_line, sizeof p->found.first_line);
    return is_inside(p, instruction);
}

static rgm_walk read_codes(rgm_walker *w, const uint16_t *which, size_t count, rgm_source_frame *frames) {
    struct iovec pieces[HEADS_AT_ONCE];
    size_t bytes = rgm_layout.code.bytes;
    for (size_t i = 0; i < count; i++) pieces[i] = (struct iovec){(void *)w->codes[which[i]], bytes};
    if (!rgm_peek_all(w->all.process, pieces, count, w->heads, count * bytes)) return RGM_WALK_TORN;
    for (size_t i = 0; i < count; i++) {
        uint16_t at = which[i];
        place own = {.frame = 0};
        if (!fits(&own, w->heads + i * bytes, w->codes[at], w->instructions[at], w->now_ns))
            return RGM_WALK_TORN;
        frames[at] = at_instruction(&own, w->instructions[at]);
        own.frame = w->of_frame[at]->frame;
        own.previous = w->of_frame[at]->previous;
        *w->of_frame[at] = own;
    }
    return RGM_WALK_FOUND;
}

// How many of the functions, from the outermost on, are where they were.
static size_t as_they_were(const rgm_walker *w, const rgm_kept_stack *kept, size_t count) {
    size_t same = 0;
    for (size_t i = count; i-- > 0 && same < kept->count; same++) {
        const rgm_kept_frame *k = &kept->frames[same];
        if (k->frame != w->at[i] || k->code != w->codes[i] || k->instruction != w->instructions[i]) break;
    }
    return same;
}

static bool room_for(rgm_kept_stack *kept, size_t count) {
    while (kept->room < count)
        if (rgm_list_grow(&kept->frames, &kept->room, 64, sizeof *kept->frames, NULL) != RGM_OK) return false;
    return true;
}

static void keep(const rgm_walker *w, rgm_kept_stack *kept, size_t same, size_t count) {
    for (size_t i = same; i < count; i++) {
        size_t at = count - 1 - i;
        kept->frames[i] = (rgm_kept_frame){w->at[at], w->codes[at], w->instructions[at], 0};
    }
    kept->count = count;
}

// What the first frames are of, from where it was noted, or else from their code.
static rgm_walk tell(rgm_walker *w, size_t count, bool anew, rgm_source_frame *frames, int64_t *since_ns) {
    size_t unknown = 0;
    rgm_walk found = RGM_WALK_FOUND;
    for (size_t i = 0; i < count; i++) {
        place *p = w->of_frame[i] = place_of(w, w->at[i], w->callers[i]);
        if (!anew && p->found.code == w->codes[i] && w->now_ns - p->looked_ns < believed_ns &&
            is_inside(p, w->instructions[i])) {
            frames[i] = at_instruction(p, w->instructions[i]);
            if (p->looked_ns < *since_ns) *since_ns = p->looked_ns;
        } else {
            w->unknown[unknown++] = (uint16_t)i;
        }
    }
    for (size_t from = 0; found == RGM_WALK_FOUND && from < unknown; from += HEADS_AT_ONCE)
        found = read_codes(w, w->unknown + from,
                           unknown - from < HEADS_AT_ONCE ? unknown - from : HEADS_AT_ONCE, frames);
    return found;
}

static rgm_walk look_once(rgm_walker *w, uint32_t which, rgm_kept_stack *kept, rgm_source_frame *frames,
                          size_t *count, bool *cut) {
    uintptr_t frame;
    *count = 0;
    *cut = false;
    rgm_walk found = rgm_walk_innermost(&w->all, which, &frame);
    if (found == RGM_WALK_FOUND) found = follow(w, frame, count, cut);
    if (found != RGM_WALK_FOUND) return found;
    bool anew = w->now_ns - kept->since_ns >= believed_ns;
    bool kept_too = !*cut && room_for(kept, *count);
    size_t all = *count, same = anew || !kept_too ? 0 : as_they_were(w, kept, all);
    int64_t since_ns = same ? kept->since_ns : w->now_ns;
    *count = all - same;
    found = tell(w, *count, anew, frames, &since_ns);
    if (found != RGM_WALK_FOUND) return found;
    kept->since_ns = since_ns;
    keep(w, kept, same, kept_too ? all : 0);
    return all ? RGM_WALK_FOUND : RGM_WALK_END;
}

// Whoever calls and returns all the time is met in the middle of it more often than others. Left out at once,
// it would be found too seldom.
static rgm_walk walk_frames(rgm_walker *w, uint32_t which, rgm_kept_stack *kept, rgm_source_frame *frames,
                            size_t *count, bool *cut) {
    rgm_walk found = look_once(w, which, kept, frames, count, cut);
    for (int i = 1; i < ATTEMPTS && found == RGM_WALK_TORN; i++)
        found = look_once(w, which, kept, frames, count, cut);
    if (found != RGM_WALK_FOUND) kept->count = 0;
    return found;
}

// The line of a frame whose code stays meanwhile.
static int32_t line_now(const rgm_source_frame *frame) {
    const char *table = (const char *)(uintptr_t)frame->lines;
    if (rgm_word_at(table, rgm_layout.bytes.type) != (uintptr_t)&PyBytes_Type) return 0;
    return rgm_line_of_unit((const uint8_t *)table + rgm_layout.bytes.data,
                            rgm_word_at(table, rgm_layout.bytes.size), frame->first_line, frame->unit);
}

// What a thread is in stays while it looks.
static void walk_own(rgm_source_frame *frames, size_t most, size_t *count, bool *cut) {
    const PyThreadState *state = PyGILState_GetThisThreadState();
    const char *frame = state ? rgm_frame_of(state) : NULL;
    *count = 0;
    *cut = false;
    for (; frame; frame = (const char *)rgm_word_at(frame, rgm_layout.frame.previous)) {
        uintptr_t code = rgm_word_at(frame, rgm_layout.frame.code) & ~(uintptr_t)7;
        uintptr_t instruction = rgm_word_at(frame, rgm_layout.frame.instruction);
        place own = {.frame = 0};
        if (frame[rgm_layout.frame.owner] >= rgm_layout.frame.foreign || frame[rgm_layout.frame.owner] < 0 ||
            !code || !fits(&own, (const char *)code, code, instruction, 0))
            continue;
        *cut = *count == most;
        if (*cut) return;
        frames[*count] = at_instruction(&own, instruction);
        frames[*count].line = line_now(&frames[*count]);
        (*count)++;
    }
}

// --- names ------------------------------------------------------------------------------------------------

static bool walk_names(rgm_walker *w, const rgm_source_frame *frame, char *function, size_t *function_length,
                       char *file, size_t *file_length) {
    return rgm_walk_text(w->all.process, frame->name, function, function_length) &&
           rgm_walk_text(w->all.process, frame->file, file, file_length);
}

static int32_t walk_line(rgm_walker *w, const rgm_source_frame *frame) {
    char head[64];
    if (!rgm_walk_read(&w->all, frame->lines, head, rgm_layout.bytes.data) ||
        rgm_word_at(head, rgm_layout.bytes.type) != (uintptr_t)&PyBytes_Type)
        return -1;
    size_t length = rgm_word_at(head, rgm_layout.bytes.size);
    if (length > LINES_MOST || !rgm_walk_room(&w->lines, &w->lines_room, length + 1)) return -1;
    if (!rgm_walk_read(&w->all, frame->lines + rgm_layout.bytes.data, w->lines, length)) return -1;
    return rgm_line_of_unit((const uint8_t *)w->lines, length, frame->first_line, frame->unit);
}

static bool walk_is_lock(const rgm_walker *w, uint64_t address) {
    return address >= (uintptr_t)w->lock.begin && address < (uintptr_t)w->lock.end;
}

static bool walk_has_lock(const rgm_walker *w, uint32_t which) {
    return rgm_frames_has_lock(w->all.listed[which].state);
}

// Each step of a function writes where it is, and most write its stack or a variable.
static bool walk_moved(rgm_walker *w) {
    char now[INNERMOST_MOST];
    if (!w->innermost_bytes || !rgm_walk_read(&w->all, w->innermost, now, w->innermost_bytes)) return true;
    if (memcmp(now, w->innermost_then, w->innermost_bytes) == 0) return false;
    memcpy(w->innermost_then, now, w->innermost_bytes);
    return true;
}

// --- life -------------------------------------------------------------------------------------------------

static void walk_stop(rgm_walker *w) {
    if (!w) return;
    rgm_free(w->all.copy);
    rgm_free(w->lines);
    rgm_free(w);
}

static rgm_walker *walk_start(const char **reason) {
    static char text[160];
    *reason = rgm_frames_reason();
    if (**reason) return NULL;
    if (rgm_layout.state.bytes > RGM_WALK_STATE || rgm_layout.code.bytes > HEAD_ROOM ||
        rgm_layout.frame.bytes > FRAME_ROOM) {
        *reason = "the structures of this Python are larger than expected";
        return NULL;
    }
    rgm_walker *w = rgm_calloc(1, sizeof *w);
    if (!w) {
        *reason = "there is no memory for it";
        return NULL;
    }
    w->all.process = getpid();
    w->all.interpreter = rgm_frames_interpreter();
    w->lock = rgm_frames_lock();
    uintptr_t head;
    if (rgm_walk_read(&w->all, rgm_frames_interpreters(), &head, sizeof head)) return w;
    (void)snprintf(text, sizeof text,
                   "the system does not let a process read its own memory (process_vm_writev: %s)",
                   strerror(errno));
    *reason = text;
    walk_stop(w);
    return NULL;
}

const rgm_stack_source rgm_python_stacks = {walk_start,    walk_stop,    walk_begin,    walk_next,
                                            walk_together, walk_frames,  walk_own,      walk_names,
                                            walk_line,     walk_is_lock, walk_has_lock, walk_moved};
