// SPDX-License-Identifier: Apache-2.0
// Which Python functions the threads of this process are in, read by a thread that does not take the
// interpreter's lock. Nothing that it looks at has to stay: all of it is read through the system, which
// refuses addresses that are gone, and is used only where its parts fit together.
#include "python/walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "python/frames.h"

enum {
    BLOCKS_MOST = 16,
    COPY_MOST = 1 << 20, // of blocks of frames, in bytes
    HEADS_AT_ONCE = 128,
    PLACES = 4096, // a power of two
    LINES_MOST = 4 << 20,
    THREADS_MOST = 4096,
    STATE_ROOM = 1024,
    HEAD_ROOM = 512,
    FRAME_ROOM = 256,
    INNERMOST_MOST = 512,
    ATTEMPTS = 4, // at the frames of one thread
};

// A piece of a thread's frames as it was a moment ago.
typedef struct {
    uintptr_t begin, end;
    size_t at; // where its copy begins
} block;

// A frame whose code has been looked at: it is the same function's as long as frame, code and caller are the
// same, and is believed for a second. Reading the code of each frame is most of what a walk costs.
typedef struct {
    uintptr_t frame, previous, end;
    int64_t looked_ns;
    rgm_source_frame found;
} place;
static const int64_t believed_ns = 1000000000;

struct rgm_walker {
    pid_t process;
    int64_t now_ns;
    uintptr_t interpreter, state, before,
        next; // of the list of threads: the one that is looked at, its neighbours
    size_t threads;
    rgm_frame_memory lock;
    char copied_state[STATE_ROOM];
    char *copy;
    size_t copied, room;
    block blocks[BLOCKS_MOST];
    size_t block_count;
    uintptr_t newest; // of the blocks that have been copied, the last; what is older comes after it
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

// --- reading ----------------------------------------------------------------------------------------------

static bool read_memory(const rgm_walker *w, uintptr_t from, void *to, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    return from && process_vm_readv(w->process, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static uintptr_t word_at(const char *bytes, size_t at) {
    uintptr_t word;
    memcpy(&word, bytes + at, sizeof word);
    return word;
}

static bool make_room(char **bytes, size_t *room, size_t wanted) {
    if (wanted <= *room) return true;
    char *grown = rgm_realloc(*bytes, wanted + wanted / 2);
    if (!grown) return false;
    *bytes = grown;
    *room = wanted + wanted / 2;
    return true;
}

// --- threads ----------------------------------------------------------------------------------------------

static bool walk_begin(rgm_walker *w, const char **reason) {
    *reason = rgm_frames_reason();
    w->process = getpid();
    w->next = 0;
    w->state = 0;
    w->threads = 0;
    w->now_ns = rgm_clock_monotonic_ns();
    if (**reason) return false;
    return read_memory(w, w->interpreter + rgm_layout.interpreter.threads, &w->next, sizeof w->next);
}

// Whether what lies there is still a state of the list.
static bool read_state(rgm_walker *w) {
    return read_memory(w, w->state, w->copied_state, rgm_layout.state.bytes) &&
           word_at(w->copied_state, rgm_layout.state.interpreter) == w->interpreter &&
           word_at(w->copied_state, rgm_layout.state.previous) == w->before;
}

static rgm_walk walk_next(rgm_walker *w, int64_t *thread) {
    if (!w->next) return RGM_WALK_END;
    w->before = w->state;
    w->state = w->next;
    w->next = 0;
    if (++w->threads > THREADS_MOST || !read_state(w)) return RGM_WALK_TORN;
    w->next = word_at(w->copied_state, rgm_layout.state.next);
    *thread = (int64_t)word_at(w->copied_state, rgm_layout.state.thread);
    return RGM_WALK_FOUND;
}

// --- frames -----------------------------------------------------------------------------------------------

static bool block_room(rgm_walker *w, uintptr_t begin, uintptr_t end) {
    return end >= begin && end - begin <= COPY_MOST - w->copied && w->block_count < BLOCKS_MOST &&
           make_room(&w->copy, &w->room, w->copied + (end - begin));
}

static void block_add(rgm_walker *w, uintptr_t begin, uintptr_t end) {
    w->blocks[w->block_count++] = (block){begin, end, w->copied};
    w->copied += end - begin;
}

static bool copy_block(rgm_walker *w, uintptr_t begin, uintptr_t end) {
    if (!block_room(w, begin, end)) return false;
    if (end > begin && !read_memory(w, begin, w->copy + w->copied, end - begin)) return false;
    block_add(w, begin, end);
    return true;
}

static const char *copied(const rgm_walker *w, uintptr_t frame) {
    for (size_t i = w->block_count; i-- > 0;) {
        const block *of = &w->blocks[i]; // the address may be anything that was read while it changed
        if (frame >= of->begin && frame < of->end && of->end - frame >= rgm_layout.frame.bytes)
            return w->copy + of->at + (frame - of->begin);
    }
    return NULL;
}

// The blocks before the newest, from which it goes on, as far as they hold the frame.
static bool copy_older(rgm_walker *w, uintptr_t frame) {
    char head[64];
    if (!w->newest || !read_memory(w, w->newest, head, rgm_layout.block.data)) return false;
    uintptr_t older = word_at(head, rgm_layout.block.previous);
    if (!older || !read_memory(w, older, head, rgm_layout.block.data)) return false;
    uintptr_t begin = older + rgm_layout.block.data;
    uintptr_t end = begin + word_at(head, rgm_layout.block.top) * sizeof(uintptr_t);
    if (frame < begin || frame >= end || !copy_block(w, begin, end)) return false;
    w->newest = older;
    return true;
}

// Frames of generators lie elsewhere and are read one by one.
static const char *frame_at(rgm_walker *w, uintptr_t frame, char *alone) {
    const char *found = copied(w, frame);
    if (!found && copy_older(w, frame)) found = copied(w, frame);
    if (!found && read_memory(w, frame, alone, rgm_layout.frame.bytes)) found = alone;
    return found;
}

// Copies the newest block, and finds the innermost frame, 0 for none.
static rgm_walk copy_first(rgm_walker *w, uintptr_t *frame) {
    uintptr_t at = word_at(w->copied_state, rgm_layout.state.frame);
    uintptr_t top = word_at(w->copied_state, rgm_layout.state.from_top);
    w->block_count = w->copied = 0;
    w->newest = word_at(w->copied_state, rgm_layout.state.block);
    uintptr_t begin = w->newest ? w->newest + rgm_layout.block.data : 0, end = w->newest ? top : 0;
    *frame = at;
    if (!at) return RGM_WALK_END;
    if (!block_room(w, begin, end)) return RGM_WALK_TORN;
    struct iovec local[2] = {{frame, sizeof *frame}, {w->copy, end - begin}},
                 remote[2] = {{(void *)(at + rgm_layout.frame_of_that), sizeof *frame},
                              {(void *)begin, end - begin}};
    bool direct = !rgm_layout.frame_is_indirect;
    size_t bytes = end - begin + (direct ? 0 : sizeof *frame);
    if (bytes && process_vm_readv(w->process, local + direct, 2u - direct, remote + direct, 2u - direct, 0) !=
                     (ssize_t)bytes)
        return RGM_WALK_TORN;
    if (end > begin) block_add(w, begin, end);
    return *frame ? RGM_WALK_FOUND : RGM_WALK_END;
}

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
    for (size_t i = 0; i < w->block_count; i++) {
        const block *of = &w->blocks[i];
        if (frame < of->begin || frame >= of->end) continue;
        w->innermost_bytes = of->end - frame < INNERMOST_MOST ? of->end - frame : INNERMOST_MOST;
        memcpy(w->innermost_then, w->copy + of->at + (frame - of->begin), w->innermost_bytes);
        return;
    }
    if (read_memory(w, frame, w->innermost_then, FRAME_ROOM)) w->innermost_bytes = FRAME_ROOM;
}

static rgm_walk follow(rgm_walker *w, uintptr_t frame, size_t *count, bool *cut) {
    char alone[FRAME_ROOM];
    size_t foreign = 0;
    for (*count = 0; frame;) {
        const char *found = frame_at(w, frame, alone);
        if (!found || foreign > RGM_STACK_DEEPEST) return RGM_WALK_TORN;
        if (found[rgm_layout.frame.owner] >= rgm_layout.frame.foreign || found[rgm_layout.frame.owner] < 0) {
            foreign++;
        } else if (*count == RGM_STACK_DEEPEST) {
            *cut = true;
            return RGM_WALK_FOUND;
        } else {
            if (!*count) keep_innermost(w, frame);
            // The lowest bits tell who owns the code.
            w->codes[*count] = word_at(found, rgm_layout.frame.code) & ~(uintptr_t)7;
            w->instructions[*count] = word_at(found, rgm_layout.frame.instruction);
            w->of_frame[(*count)++] = place_of(w, frame, word_at(found, rgm_layout.frame.previous));
        }
        frame = word_at(found, rgm_layout.frame.previous);
    }
    return RGM_WALK_FOUND;
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
    uintptr_t units = word_at(head, rgm_layout.code.units);
    if (word_at(head, rgm_layout.code.type) != (uintptr_t)&PyCode_Type || units > INT32_MAX / 2) return false;
    p->end = code + rgm_layout.code.bytes + units * UNIT;
    p->looked_ns = now_ns;
    p->found = (rgm_source_frame){.code = code,
                                  .name = word_at(head, rgm_layout.code.name),
                                  .file = word_at(head, rgm_layout.code.file),
                                  .lines = word_at(head, rgm_layout.code.lines)};
    memcpy(&p->found.first_line, head + rgm_layout.code.first_line, sizeof p->found.first_line);
    return is_inside(p, instruction);
}

static rgm_walk read_codes(rgm_walker *w, const uint16_t *which, size_t count, rgm_source_frame *frames) {
    struct iovec local = {w->heads, count * rgm_layout.code.bytes}, remote[HEADS_AT_ONCE];
    for (size_t i = 0; i < count; i++)
        remote[i] = (struct iovec){(void *)w->codes[which[i]], rgm_layout.code.bytes};
    if (process_vm_readv(w->process, &local, 1, remote, count, 0) != (ssize_t)local.iov_len)
        return RGM_WALK_TORN;
    for (size_t i = 0; i < count; i++) {
        uint16_t at = which[i];
        place own = {.frame = 0};
        if (!fits(&own, w->heads + i * rgm_layout.code.bytes, w->codes[at], w->instructions[at], w->now_ns))
            return RGM_WALK_TORN;
        frames[at] = at_instruction(&own, w->instructions[at]);
        own.frame = w->of_frame[at]->frame;
        own.previous = w->of_frame[at]->previous;
        *w->of_frame[at] = own;
    }
    return RGM_WALK_FOUND;
}

static rgm_walk look_once(rgm_walker *w, rgm_source_frame *frames, size_t *count, bool *cut) {
    uintptr_t frame;
    size_t unknown = 0;
    *count = 0;
    *cut = false;
    rgm_walk found = copy_first(w, &frame);
    if (found == RGM_WALK_FOUND) found = follow(w, frame, count, cut);
    for (size_t i = 0; found == RGM_WALK_FOUND && i < *count; i++) {
        const place *p = w->of_frame[i];
        bool known = p->found.code == w->codes[i] && w->now_ns - p->looked_ns < believed_ns &&
                     is_inside(p, w->instructions[i]);
        if (known)
            frames[i] = at_instruction(p, w->instructions[i]);
        else
            w->unknown[unknown++] = (uint16_t)i;
    }
    for (size_t from = 0; found == RGM_WALK_FOUND && from < unknown; from += HEADS_AT_ONCE)
        found = read_codes(w, w->unknown + from,
                           unknown - from < HEADS_AT_ONCE ? unknown - from : HEADS_AT_ONCE, frames);
    return found == RGM_WALK_FOUND && !*count ? RGM_WALK_END : found;
}

// Whoever calls and returns all the time is met in the middle of it more often than others. Left out at once,
// it would be found too seldom.
static rgm_walk walk_frames(rgm_walker *w, rgm_source_frame *frames, size_t *count, bool *cut) {
    uintptr_t thread = word_at(w->copied_state, rgm_layout.state.thread);
    rgm_walk found = look_once(w, frames, count, cut);
    for (int i = 1; i < ATTEMPTS && found == RGM_WALK_TORN; i++) {
        if (!read_state(w) || word_at(w->copied_state, rgm_layout.state.thread) != thread) return found;
        found = look_once(w, frames, count, cut);
    }
    return found;
}

// What a thread is in stays while it looks.
static void walk_own(rgm_source_frame *frames, size_t most, size_t *count, bool *cut) {
    const PyThreadState *state = PyGILState_GetThisThreadState();
    const char *frame = state ? rgm_frame_of(state) : NULL;
    *count = 0;
    *cut = false;
    for (; frame; frame = (const char *)word_at(frame, rgm_layout.frame.previous)) {
        uintptr_t code = word_at(frame, rgm_layout.frame.code) & ~(uintptr_t)7;
        uintptr_t instruction = word_at(frame, rgm_layout.frame.instruction);
        place own = {.frame = 0};
        if (frame[rgm_layout.frame.owner] >= rgm_layout.frame.foreign || frame[rgm_layout.frame.owner] < 0 ||
            !code || !fits(&own, (const char *)code, code, instruction, 0))
            continue;
        *cut = *count == most;
        if (*cut) return;
        frames[(*count)++] = at_instruction(&own, instruction);
    }
}

// --- names ------------------------------------------------------------------------------------------------

static size_t put_character(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c >= 0xD800 && c < 0xE000) c = 0xFFFD; // a file name that is no text
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t marks[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(marks[more] | (c >> (6 * more)));
    for (size_t i = 1; i <= more; i++) out[i] = (char)(0x80 | ((c >> (6 * (more - i))) & 0x3F));
    return more + 1;
}

static bool read_text(const rgm_walker *w, uintptr_t at, char *out, size_t *length) {
    enum { CHARACTERS = RGM_STACK_TEXT };
    char head[RGM_TEXT_HEAD], raw[CHARACTERS * 4];
    size_t from, count, width;
    if (!read_memory(w, at, head, sizeof head) || !rgm_frames_text(head, &from, &count, &width)) return false;
    if (count > CHARACTERS) count = CHARACTERS;
    if (count && !read_memory(w, at + from, raw, count * width)) return false;
    *length = 0;
    for (size_t i = 0; i < count && *length + 4 <= RGM_STACK_TEXT; i++) {
        uint32_t c = 0;
        memcpy(&c, raw + i * width, width); // little-endian
        if (c > 0x10FFFF) return false;
        *length += put_character(out + *length, c);
    }
    return true;
}

static bool walk_names(rgm_walker *w, const rgm_source_frame *frame, char *function, size_t *function_length,
                       char *file, size_t *file_length) {
    return read_text(w, frame->name, function, function_length) &&
           read_text(w, frame->file, file, file_length);
}

// --- lines ------------------------------------------------------------------------------------------------

typedef struct {
    const uint8_t *at, *end;
} location_reader;

static uint32_t varint(location_reader *r) {
    uint32_t value = 0;
    for (int shift = 0; r->at < r->end && shift < 30; shift += 6) {
        uint8_t byte = *r->at++;
        value |= (uint32_t)(byte & 0x3F) << shift;
        if (!(byte & 0x40)) break;
    }
    return value;
}

// Entries begin with a byte whose highest bit is set: four bits of kind, three of length less one. What
// follows tells of lines and columns, as the kind says.
int32_t rgm_line_of_unit(const uint8_t *table, size_t length, int32_t first_line, int32_t unit) {
    enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    location_reader r = {table, table + length};
    int64_t line = first_line, begin = 0;
    if (unit < 0) return first_line;
    while (r.at < r.end) {
        uint8_t first = *r.at++;
        int kind = (first >> 3) & 15;
        if (kind == NO_COLUMNS || kind == LONG) {
            uint32_t value = varint(&r);
            line += value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
        } else if (kind >= ONE_LINE && kind < NO_COLUMNS) {
            line += kind - ONE_LINE;
        }
        begin += (first & 7) + 1;
        if (unit < begin) return kind == NONE || line < 0 || line > INT32_MAX ? -1 : (int32_t)line;
        while (r.at < r.end && !(*r.at & 0x80)) r.at++;
    }
    return -1;
}

static int32_t walk_line(rgm_walker *w, const rgm_source_frame *frame) {
    char head[64];
    if (!read_memory(w, frame->lines, head, rgm_layout.bytes.data) ||
        word_at(head, rgm_layout.bytes.type) != (uintptr_t)&PyBytes_Type)
        return -1;
    size_t length = word_at(head, rgm_layout.bytes.size);
    if (length > LINES_MOST || !make_room(&w->lines, &w->lines_room, length + 1)) return -1;
    if (!read_memory(w, frame->lines + rgm_layout.bytes.data, w->lines, length)) return -1;
    return rgm_line_of_unit((const uint8_t *)w->lines, length, frame->first_line, frame->unit);
}

static bool walk_is_lock(const rgm_walker *w, uint64_t address) {
    return address >= (uintptr_t)w->lock.begin && address < (uintptr_t)w->lock.end;
}

static bool walk_has_lock(const rgm_walker *w) { return rgm_frames_has_lock(w->state); }

// Each step of a function writes where it is, and most write its stack or a variable.
static bool walk_moved(rgm_walker *w) {
    char now[INNERMOST_MOST];
    if (!w->innermost_bytes || !read_memory(w, w->innermost, now, w->innermost_bytes)) return true;
    if (memcmp(now, w->innermost_then, w->innermost_bytes) == 0) return false;
    memcpy(w->innermost_then, now, w->innermost_bytes);
    return true;
}

// --- life -------------------------------------------------------------------------------------------------

static void walk_stop(rgm_walker *w) {
    if (!w) return;
    rgm_free(w->copy);
    rgm_free(w->lines);
    rgm_free(w);
}

static rgm_walker *walk_start(const char **reason) {
    static char text[160];
    *reason = rgm_frames_reason();
    if (**reason) return NULL;
    if (rgm_layout.state.bytes > STATE_ROOM || rgm_layout.code.bytes > HEAD_ROOM ||
        rgm_layout.frame.bytes > FRAME_ROOM) {
        *reason = "the structures of this Python are larger than expected";
        return NULL;
    }
    rgm_walker *w = rgm_calloc(1, sizeof *w);
    if (!w) {
        *reason = "there is no memory for it";
        return NULL;
    }
    w->process = getpid();
    w->interpreter = rgm_frames_interpreter();
    w->lock = rgm_frames_lock();
    uintptr_t head;
    if (read_memory(w, rgm_frames_interpreters(), &head, sizeof head)) return w;
    (void)snprintf(text, sizeof text,
                   "the system does not let a process read its own memory (process_vm_readv: %s)",
                   strerror(errno));
    *reason = text;
    walk_stop(w);
    return NULL;
}

const rgm_stack_source rgm_python_stacks = {walk_start,   walk_stop,     walk_begin, walk_next,
                                            walk_frames,  walk_own,      walk_names, walk_line,
                                            walk_is_lock, walk_has_lock, walk_moved};

// --- the self-test ----------------------------------------------------------------------------------------

static bool same_text(const char *text, size_t length, PyObject *str) {
    Py_ssize_t size;
    const char *expected = PyUnicode_AsUTF8AndSize(str, &size);
    if (!expected) PyErr_Clear();
    return expected && ((size_t)size == length || length + 4 > RGM_STACK_TEXT) &&
           memcmp(expected, text, length < (size_t)size ? length : (size_t)size) == 0;
}

static bool same_frame(rgm_walker *w, const rgm_source_frame *frame, PyFrameObject *expected) {
    char function[RGM_STACK_TEXT], file[RGM_STACK_TEXT];
    size_t function_length, file_length;
    PyCodeObject *code = PyFrame_GetCode(expected);
    bool same = walk_names(w, frame, function, &function_length, file, &file_length) &&
                frame->code == (uintptr_t)code && same_text(function, function_length, code->co_qualname) &&
                same_text(file, file_length, code->co_filename) &&
                walk_line(w, frame) == PyFrame_GetLineNumber(expected);
    Py_DECREF(code);
    return same;
}

// The calling thread's stack, as the walk sees it and as Python tells it.
static bool agrees(rgm_walker *w, rgm_source_frame *frames) {
    const char *reason;
    int64_t thread;
    size_t count, at = 0;
    bool cut, same = true;
    if (!walk_begin(w, &reason)) return false;
    while (w->state != (uintptr_t)PyThreadState_Get())
        if (walk_next(w, &thread) != RGM_WALK_FOUND) return false;
    if (walk_frames(w, frames, &count, &cut) != RGM_WALK_FOUND) return false;
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame && same && at < count) {
        same = same_frame(w, &frames[at++], frame);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    same = same && (cut || (!frame && at == count));
    Py_XDECREF(frame);
    return same;
}

const char *rgm_walk_reason(void) {
    const char *reason;
    rgm_walker *w = walk_start(&reason);
    if (!w) return reason;
    rgm_source_frame *frames = rgm_malloc(RGM_STACK_DEEPEST * sizeof *frames);
    if (!frames) reason = "there is no memory for it";
    if (frames && !agrees(w, frames))
        reason = "a walk through the frames of this Python did not find what Python tells";
    rgm_free(frames);
    walk_stop(w);
    return reason;
}
