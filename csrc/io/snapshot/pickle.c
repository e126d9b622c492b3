// SPDX-License-Identifier: Apache-2.0
#include "io/snapshot/pickle.h"

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "io/snapshot/pickle_opcodes.h"

// Limits. A writer that batches as Python's does leaves some 1,000 values on the stack and marks as deep as
// its data is nested. The memo and the containers may grow by one a few bytes of input, so that a bomb needs
// a file of its own size.
enum {
    PIECE = 1 << 18,       // bytes read at a time
    MOST_VALUES = 1 << 20, // on the stack
    MOST_MARKS = 256,      // nesting
    MOST_TEXT = 1 << 24,   // bytes of one text
    MOST_TEXTS = 1 << 30,  // bytes of all distinct ones
    FREE_SLOTS = 1 << 20,  // of memo and containers
    BYTES_PER_SLOT = 4,    // of input, beyond those
    MOST_LONG = 8,         // bytes of an int
    FIRST_PROTOCOL = 2,
    LAST_PROTOCOL = 5,
};

typedef struct {
    uint32_t payload;
    uint8_t kind;
} memo_slot;

struct rgm_pickle {
    const rgm_source *source;
    rgm_pickle_fill fill;
    void *context;
    uint8_t *buffer;
    size_t at, end;
    int64_t base;   // offset of the buffer in the input
    int64_t offset; // of the instruction
    uint8_t code;
    bool stopped;
    rgm_strings texts;
    rgm_bytes long_text;
    rgm_pickle_value *values;
    size_t depth, room;
    uint32_t marks[MOST_MARKS];
    size_t n_marks;
    rgm_pickle_object *objects;
    size_t n_objects, object_room;
    memo_slot *memo;
    size_t n_memo, memo_room;
    rgm_error *err;
};

static const char *const names[256] = {
#define OPCODE_NAME(byte, name) [byte] = #name,
    RGM_PICKLE_ACCEPTED(OPCODE_NAME) RGM_PICKLE_REFUSED(OPCODE_NAME)
#undef OPCODE_NAME
};

enum {
#define OPCODE_VALUE(byte, name) OP_##name = (byte),
    RGM_PICKLE_ACCEPTED(OPCODE_VALUE)
#undef OPCODE_VALUE
        OP_PROTO = 0x80
};

rgm_string rgm_pickle_text(const rgm_pickle *pickle, uint32_t text) {
    return rgm_strings_view(&pickle->texts, text);
}
rgm_pickle_object *rgm_pickle_object_of(rgm_pickle *pickle, rgm_pickle_value value) {
    return &pickle->objects[value.object];
}
int64_t rgm_pickle_offset(const rgm_pickle *pickle) { return pickle->offset; }

static rgm_status refuse(rgm_pickle *p, const char *why) {
    const char *name = names[p->code];
    (void)rgm_error_at(p->err, RGM_FORMAT, p->offset, "%s at byte %lld: %s", name ? name : "an instruction",
                       (long long)p->offset, why);
    return RGM_FORMAT;
}

// --- input ------------------------------------------------------------------------------------------------

// Makes at least `wanted` bytes available where there are as many; wanted is at most PIECE.
static rgm_status make_available(rgm_pickle *p, size_t wanted) {
    if (p->end - p->at >= wanted) return RGM_OK;
    memmove(p->buffer, p->buffer + p->at, p->end - p->at);
    p->base += (int64_t)p->at;
    p->end -= p->at;
    p->at = 0;
    while (p->end < wanted) {
        size_t filled = 0;
        RGM_TRY(p->source->read(p->source->context, p->buffer + p->end, PIECE - p->end, &filled, p->err));
        if (!filled) break;
        p->end += filled;
    }
    return RGM_OK;
}

static rgm_status cut(rgm_pickle *p) {
    long long end = p->base + (int64_t)p->end;
    (void)rgm_error_at(p->err, RGM_FORMAT, p->offset, "the pickle is cut: it ends at byte %lld, within %s",
                       end, names[p->code] ? names[p->code] : "itself");
    return RGM_FORMAT;
}

static rgm_status take(rgm_pickle *p, size_t count, const uint8_t **out) {
    *out = p->buffer;
    RGM_TRY(make_available(p, count));
    if (p->end - p->at < count) return cut(p);
    *out = p->buffer + p->at;
    p->at += count;
    return RGM_OK;
}

// A little-endian number of 1, 2, 4 or 8 bytes.
static rgm_status take_number(rgm_pickle *p, size_t bytes, uint64_t *out) {
    const uint8_t *from;
    *out = 0;
    RGM_TRY(take(p, bytes, &from));
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)from[i] << (8 * i);
    return RGM_OK;
}

// --- stack, containers, memo ------------------------------------------------------------------------------

static rgm_status grow(rgm_pickle *p, void **rows, size_t size, size_t *room) {
    size_t wanted = *room ? *room * 2 : 1024;
    void *grown = rgm_block_realloc(*rows, wanted * size);
    if (!grown) return rgm_error_no_memory(p->err);
    *rows = grown;
    *room = wanted;
    return RGM_OK;
}

static rgm_status push(rgm_pickle *p, rgm_pickle_value value) {
    if (p->depth == MOST_VALUES) return refuse(p, "more than 2^20 values wait for their container");
    if (p->depth == p->room) RGM_TRY(grow(p, (void **)&p->values, sizeof *p->values, &p->room));
    p->values[p->depth++] = value;
    return RGM_OK;
}

static rgm_status push_number(rgm_pickle *p, rgm_pickle_kind kind, int64_t number) {
    return push(p, (rgm_pickle_value){.kind = kind, .number = number});
}

static bool slot_is_due(const rgm_pickle *p, size_t count) {
    return count < FREE_SLOTS + (uint64_t)p->offset / BYTES_PER_SLOT && count < UINT32_MAX;
}

static rgm_status push_container(rgm_pickle *p, rgm_pickle_container type) {
    if (!slot_is_due(p, p->n_objects)) return refuse(p, "more containers than a file of this size can hold");
    if (p->n_objects == p->object_room)
        RGM_TRY(grow(p, (void **)&p->objects, sizeof *p->objects, &p->object_room));
    p->objects[p->n_objects] = (rgm_pickle_object){.type = (uint8_t)type};
    return push(p, (rgm_pickle_value){.kind = RGM_PICKLE_CONTAINER, .object = (uint32_t)p->n_objects++});
}

// Values above the innermost mark, or all.
static size_t available(const rgm_pickle *p) {
    return p->depth - (p->n_marks ? p->marks[p->n_marks - 1] : 0);
}

// Hands the topmost values to a container and takes them off the stack.
static rgm_status fill_container(rgm_pickle *p, uint32_t object, size_t count) {
    const rgm_pickle_value *values = p->values + (p->depth - count);
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind != RGM_PICKLE_CONTAINER) continue;
        if (values[i].object == object) return refuse(p, "a container would hold itself");
        p->objects[values[i].object].used = 1;
    }
    if (p->objects[object].used) return refuse(p, "a container changes that is part of another one already");
    RGM_TRY(p->fill(p->context, p, &p->objects[object], values, count, p->err));
    p->depth -= count;
    return RGM_OK;
}

static rgm_status expect_container(rgm_pickle *p, size_t below, rgm_pickle_container type, uint32_t *object) {
    if (p->depth <= below) return refuse(p, "there is no container to fill");
    rgm_pickle_value value = p->values[p->depth - below - 1];
    if (value.kind != RGM_PICKLE_CONTAINER || p->objects[value.object].type != type)
        return refuse(p, type == RGM_PICKLE_LIST ? "what it fills is no list" : "what it fills is no dict");
    *object = value.object;
    return RGM_OK;
}

// APPEND and SETITEM: `count` values for the container below them.
static rgm_status fill_one(rgm_pickle *p, rgm_pickle_container type, size_t count) {
    uint32_t object;
    if (available(p) < count + 1) return refuse(p, "the stack holds too little");
    RGM_TRY(expect_container(p, count, type, &object));
    return fill_container(p, object, count);
}

// All that lies above the innermost mark, which goes.
static rgm_status take_marked(rgm_pickle *p, size_t *count) {
    if (!p->n_marks) return refuse(p, "there is no mark");
    *count = available(p);
    p->n_marks--;
    return RGM_OK;
}

static rgm_status fill_marked(rgm_pickle *p, rgm_pickle_container type) {
    size_t count = 0;
    uint32_t object;
    RGM_TRY(take_marked(p, &count));
    if (type == RGM_PICKLE_DICT && count % 2) return refuse(p, "a key has no value");
    if (available(p) < count + 1) return refuse(p, "there is no container to fill");
    RGM_TRY(expect_container(p, count, type, &object));
    return count ? fill_container(p, object, count) : RGM_OK;
}

// A container of the topmost values, in their place.
static rgm_status make_of(rgm_pickle *p, rgm_pickle_container type, size_t count) {
    if (available(p) < count) return refuse(p, "the stack holds too little");
    if (type == RGM_PICKLE_DICT && count % 2) return refuse(p, "a key has no value");
    RGM_TRY(push_container(p, type));
    rgm_pickle_value made = p->values[--p->depth];
    if (count) RGM_TRY(fill_container(p, made.object, count));
    return push(p, made);
}

static rgm_status make_of_marked(rgm_pickle *p, rgm_pickle_container type) {
    size_t count = 0;
    RGM_TRY(take_marked(p, &count));
    return make_of(p, type, count);
}

static rgm_status memo_put(rgm_pickle *p, uint64_t number) {
    if (!available(p)) return refuse(p, "there is nothing to remember");
    if (number != p->n_memo) return refuse(p, "the numbers of the memo are not in order");
    if (!slot_is_due(p, p->n_memo)) return refuse(p, "more memo entries than a file of this size can hold");
    rgm_pickle_value value = p->values[p->depth - 1];
    if (value.kind != RGM_PICKLE_TEXT && value.kind != RGM_PICKLE_BYTES && value.kind != RGM_PICKLE_CONTAINER)
        return refuse(p, "a number is put into the memo");
    if (p->n_memo == p->memo_room) RGM_TRY(grow(p, (void **)&p->memo, sizeof *p->memo, &p->memo_room));
    uint32_t payload = value.kind == RGM_PICKLE_CONTAINER ? value.object : value.text;
    p->memo[p->n_memo++] = (memo_slot){payload, (uint8_t)value.kind};
    return RGM_OK;
}

static rgm_status memo_get(rgm_pickle *p, uint64_t number) {
    if (number >= p->n_memo) return refuse(p, "the memo has no such number");
    memo_slot slot = p->memo[number];
    rgm_pickle_value value = {.kind = (rgm_pickle_kind)slot.kind};
    if (slot.kind == RGM_PICKLE_CONTAINER)
        value.object = slot.payload;
    else
        value.text = slot.payload;
    return push(p, value);
}

// --- values -----------------------------------------------------------------------------------------------

static rgm_status push_long(rgm_pickle *p, size_t length_bytes) {
    uint64_t length, bits;
    RGM_TRY(take_number(p, length_bytes, &length));
    if (length > MOST_LONG) return refuse(p, "an int of more than 64 bits");
    RGM_TRY(take_number(p, (size_t)length, &bits));
    size_t unused = 64 - 8 * (size_t)length;
    int64_t number = unused == 64 ? 0 : (int64_t)(bits << unused) >> unused;
    return push_number(p, RGM_PICKLE_INT, number);
}

static rgm_status push_float(rgm_pickle *p) {
    const uint8_t *from;
    uint64_t bits = 0;
    rgm_pickle_value value = {.kind = RGM_PICKLE_FLOAT};
    RGM_TRY(take(p, 8, &from));
    for (size_t i = 0; i < 8; i++) bits = bits << 8 | from[i];
    memcpy(&value.real, &bits, sizeof value.real);
    return push(p, value);
}

// The text's bytes in one piece; memory grows with what is really there.
static rgm_status collect(rgm_pickle *p, size_t length, const uint8_t **out) {
    if (length <= PIECE) return take(p, length, out);
    rgm_bytes_reset(&p->long_text);
    while (p->long_text.length < length) {
        RGM_TRY(make_available(p, 1));
        size_t left = length - p->long_text.length, here = p->end - p->at;
        if (!here) return cut(p);
        if (here > left) here = left;
        rgm_bytes_append(&p->long_text, p->buffer + p->at, here);
        if (p->long_text.failed) return rgm_error_no_memory(p->err);
        p->at += here;
    }
    *out = p->long_text.data;
    return RGM_OK;
}

static rgm_status push_text(rgm_pickle *p, size_t length_bytes, rgm_pickle_kind kind) {
    uint64_t length;
    const uint8_t *from = p->buffer;
    rgm_pickle_value value = {.kind = kind};
    RGM_TRY(take_number(p, length_bytes, &length));
    if (length > MOST_TEXT) return refuse(p, "a text or bytes of more than 16 MiB");
    RGM_TRY(collect(p, (size_t)length, &from));
    if (kind == RGM_PICKLE_TEXT) {
        rgm_status status =
            rgm_strings_intern(&p->texts, (const char *)from, (size_t)length, &value.text, p->err);
        if (status == RGM_LIMIT) return refuse(p, "more than 1 GiB of distinct texts");
        RGM_TRY(status);
    }
    return push(p, value);
}

// --- the machine ------------------------------------------------------------------------------------------

static rgm_status mark(rgm_pickle *p) {
    if (p->n_marks == MOST_MARKS) return refuse(p, "nested more than 256 deep");
    p->marks[p->n_marks++] = (uint32_t)p->depth;
    return RGM_OK;
}

static rgm_status put_numbered(rgm_pickle *p, size_t bytes) {
    uint64_t number;
    RGM_TRY(take_number(p, bytes, &number));
    return memo_put(p, number);
}

static rgm_status get_numbered(rgm_pickle *p, size_t bytes) {
    uint64_t number;
    RGM_TRY(take_number(p, bytes, &number));
    return memo_get(p, number);
}

static rgm_status push_fixed(rgm_pickle *p, size_t bytes, bool is_signed) {
    uint64_t bits;
    RGM_TRY(take_number(p, bytes, &bits));
    return push_number(p, RGM_PICKLE_INT, is_signed ? (int32_t)(uint32_t)bits : (int64_t)bits);
}

static rgm_status stop(rgm_pickle *p) {
    if (p->n_marks || p->depth != 1) return refuse(p, "the pickle ends with other than one value");
    p->stopped = true;
    return RGM_OK;
}

static rgm_status carry_out_container(rgm_pickle *p) {
    switch (p->code) {
    case OP_EMPTY_LIST: return push_container(p, RGM_PICKLE_LIST);
    case OP_LIST: return make_of_marked(p, RGM_PICKLE_LIST);
    case OP_APPEND: return fill_one(p, RGM_PICKLE_LIST, 1);
    case OP_APPENDS: return fill_marked(p, RGM_PICKLE_LIST);
    case OP_EMPTY_DICT: return push_container(p, RGM_PICKLE_DICT);
    case OP_DICT: return make_of_marked(p, RGM_PICKLE_DICT);
    case OP_SETITEM: return fill_one(p, RGM_PICKLE_DICT, 2);
    case OP_SETITEMS: return fill_marked(p, RGM_PICKLE_DICT);
    case OP_EMPTY_TUPLE: return push_container(p, RGM_PICKLE_TUPLE);
    case OP_TUPLE: return make_of_marked(p, RGM_PICKLE_TUPLE);
    case OP_TUPLE1: return make_of(p, RGM_PICKLE_TUPLE, 1);
    case OP_TUPLE2: return make_of(p, RGM_PICKLE_TUPLE, 2);
    case OP_TUPLE3: return make_of(p, RGM_PICKLE_TUPLE, 3);
    default: break;
    }
    if (!names[p->code])
        return rgm_error_at(p->err, RGM_FORMAT, p->offset, "byte %lld is 0x%02x, which is no instruction",
                            (long long)p->offset, p->code);
    return refuse(p, "refused: only plain values are read, and nothing is imported, called or changed");
}

static rgm_status carry_out(rgm_pickle *p) {
    uint64_t length;
    switch (p->code) {
    case OP_MARK: return mark(p);
    case OP_STOP: return stop(p);
    case OP_NONE: return push_number(p, RGM_PICKLE_NONE, 0);
    case OP_NEWTRUE: return push_number(p, RGM_PICKLE_BOOL, 1);
    case OP_NEWFALSE: return push_number(p, RGM_PICKLE_BOOL, 0);
    case OP_BININT: return push_fixed(p, 4, true);
    case OP_BININT1: return push_fixed(p, 1, false);
    case OP_BININT2: return push_fixed(p, 2, false);
    case OP_LONG1: return push_long(p, 1);
    case OP_LONG4: return push_long(p, 4);
    case OP_BINFLOAT: return push_float(p);
    case OP_SHORT_BINUNICODE: return push_text(p, 1, RGM_PICKLE_TEXT);
    case OP_BINUNICODE: return push_text(p, 4, RGM_PICKLE_TEXT);
    case OP_BINUNICODE8: return push_text(p, 8, RGM_PICKLE_TEXT);
    case OP_SHORT_BINBYTES: return push_text(p, 1, RGM_PICKLE_BYTES);
    case OP_BINBYTES: return push_text(p, 4, RGM_PICKLE_BYTES);
    case OP_BINBYTES8: return push_text(p, 8, RGM_PICKLE_BYTES);
    case OP_BINPUT: return put_numbered(p, 1);
    case OP_LONG_BINPUT: return put_numbered(p, 4);
    case OP_MEMOIZE: return memo_put(p, p->n_memo);
    case OP_BINGET: return get_numbered(p, 1);
    case OP_LONG_BINGET: return get_numbered(p, 4);
    case OP_FRAME: return take_number(p, 8, &length); // how a writer grouped its output: nothing to do
    default: return carry_out_container(p);
    }
}

static rgm_status run(rgm_pickle *p) {
    const uint8_t *code;
    p->code = OP_PROTO;
    RGM_TRY(take(p, 2, &code));
    if (code[0] != OP_PROTO || code[1] < FIRST_PROTOCOL || code[1] > LAST_PROTOCOL)
        return rgm_error_at(p->err, RGM_FORMAT, 0, "no pickle of protocol %d to %d", FIRST_PROTOCOL,
                            LAST_PROTOCOL);
    while (!p->stopped) {
        p->offset = p->base + (int64_t)p->at;
        p->code = OP_STOP; // what is missing where nothing follows
        RGM_TRY(take(p, 1, &code));
        p->code = *code;
        RGM_TRY(carry_out(p));
    }
    p->offset = p->base + (int64_t)p->at;
    return RGM_OK;
}

rgm_status rgm_pickle_read(const rgm_source *source, rgm_pickle_fill fill, void *context,
                           rgm_status (*finish)(void *context, rgm_pickle *pickle, rgm_pickle_value value,
                                                rgm_error *err),
                           rgm_error *err) {
    rgm_status status;
    rgm_pickle *p = rgm_calloc(1, sizeof *p);
    if (!p) return rgm_error_no_memory(err);
    p->source = source;
    p->fill = fill;
    p->context = context;
    p->err = err;
    p->buffer = rgm_malloc(PIECE);
    RGM_GOTO(p->buffer ? RGM_OK : rgm_error_no_memory(err));
    RGM_GOTO(rgm_strings_init(&p->texts, MOST_TEXTS, err));
    RGM_GOTO(run(p));
    status = finish(context, p, p->values[0], err);
done:
    rgm_free(p->buffer);
    rgm_strings_release(&p->texts);
    rgm_bytes_release(&p->long_text);
    rgm_block_free(p->values);
    rgm_block_free(p->objects);
    rgm_block_free(p->memo);
    rgm_free(p);
    return status;
}
