// SPDX-License-Identifier: Apache-2.0
// The document around the events: windows of text, the head, the order of things.
#include "io/trace_import.h"

#include <string.h>

#include "base/memory.h"
#include "io/json_text.h"
#include "io/json_value.h"
#include "io/trace_finish.h"
#include "io/trace_parse.h"
#include "io/trace_scan.h"
#include "io/trace_stripes.h"

enum {
    WINDOW = 256 << 10,
    LONGEST = 64 << 20, // an event or a value of the head
    HEAD_LIMIT = 16 << 20,
};

typedef struct {
    const rgm_source *source;
    bool strict;
    uint8_t *buffer;
    size_t capacity; // without the padding
    rgm_trace_text text;
    rgm_trace_parser *parser;
    rgm_trace_part part;
    rgm_trace_head head;
    bool found_events;
    const rgm_import_options *options;
    int64_t next; // where the next read of a source with places begins
} importer;

static int64_t offset_at(const importer *in, const uint8_t *at) {
    return in->text.offset + (at - in->text.begin);
}

// --- windows ----------------------------------------------------------------------------------------------

static rgm_status grow(importer *in, rgm_error *err) {
    size_t capacity = in->capacity ? in->capacity * 2 : WINDOW;
    size_t held = in->buffer ? (size_t)(in->text.end - in->text.begin) : 0;
    size_t read = in->buffer ? (size_t)(in->text.at - in->text.begin) : 0;
    uint8_t *buffer = rgm_block_realloc(in->buffer, capacity + RGM_TEXT_PADDING);
    if (!buffer) return rgm_error_no_memory(err);
    in->buffer = buffer;
    in->capacity = capacity;
    in->text.begin = buffer;
    in->text.at = buffer + read;
    in->text.end = buffer + held;
    return RGM_OK;
}

static rgm_status read_some(importer *in, uint8_t *buffer, size_t room, size_t *filled, rgm_error *err) {
    const rgm_source *source = in->source;
    if (!source->read_at) return source->read(source->context, buffer, room, filled, err);
    RGM_TRY(source->read_at(source->context, in->next, buffer, room, filled, err));
    in->next += (int64_t)*filled;
    return RGM_OK;
}

// Forgets the window; the next refill reads from that place on.
static void seek(importer *in, int64_t offset) {
    in->text.at = in->text.begin = in->text.end = in->buffer;
    in->text.offset = in->next = offset;
    in->text.final = in->text.full = false;
}

// Drops what was read, reads on behind what was not; the window grows when it is full of unread text.
static rgm_status refill(importer *in, rgm_error *err) {
    rgm_trace_text *text = &in->text;
    size_t left = (size_t)(text->end - text->at);
    text->offset += text->at - text->begin;
    memmove(in->buffer, text->at, left);
    text->begin = text->at = in->buffer;
    text->end = in->buffer + left;
    text->full = false;
    if (left > in->capacity / 2) {
        if (in->capacity >= LONGEST)
            text->full = left == in->capacity;
        else
            RGM_TRY(grow(in, err));
    }
    while (!text->final && left < in->capacity) {
        size_t filled = 0;
        RGM_TRY(read_some(in, in->buffer + left, in->capacity - left, &filled, err));
        if (filled == 0) text->final = true;
        left += filled;
        if (left >= in->capacity / 2) break;
    }
    text->end = in->buffer + left;
    text->stop = text->end + 1;
    in->head.bytes = text->offset + (int64_t)left;
    memset(in->buffer + left, 0, RGM_TEXT_PADDING);
    return RGM_OK;
}

// Moves to the next byte that is no space; *byte is 0 at the end of the input.
static rgm_status peek(importer *in, uint8_t *byte, rgm_error *err) {
    for (;;) {
        in->text.at = rgm_scan_space(in->text.at, in->text.end);
        if (in->text.at < in->text.end) break;
        if (in->text.final) {
            *byte = 0;
            return RGM_OK;
        }
        RGM_TRY(refill(in, err));
    }
    *byte = *in->text.at;
    return RGM_OK;
}

// Makes the whole value at the current place visible; *after is NULL when the text ends inside it.
static rgm_status whole_value(importer *in, const uint8_t **after, rgm_error *err) {
    for (;;) {
        *after = rgm_skip_value(in->text.at, in->text.end);
        if (*after && (*after < in->text.end || in->text.final)) return RGM_OK;
        if (in->text.final || in->text.full) {
            *after = NULL;
            return RGM_OK;
        }
        RGM_TRY(refill(in, err));
    }
}

// --- damage -----------------------------------------------------------------------------------------------

static rgm_status damage(importer *in, rgm_anomaly code, const char *what, rgm_error *err) {
    int64_t offset = offset_at(in, in->text.at);
    if (in->strict)
        return rgm_error_at(err, RGM_FORMAT, offset, "%s, byte %lld: %s", in->source->name, (long long)offset,
                            what);
    if (code != RGM_ANOMALY_TRUNCATED || in->part.found[code].count == 0) // a text ends once
        rgm_trace_part_note(&in->part, code, 1, 0, offset);
    return RGM_OK;
}

// Looks for a key of the document at which reading can go on; leaves it at the end of the input when there is
// none.
static rgm_status find_key(importer *in, rgm_error *err) {
    static const char *const keys[] = {"\"traceEvents\"", "\"baseTimeNanoseconds\""};
    for (;;) {
        for (const uint8_t *at = in->text.at; at < in->text.end; at++) {
            at = memchr(at, '"', (size_t)(in->text.end - at));
            if (!at) break;
            for (size_t k = in->found_events; k < 2; k++) {
                size_t length = strlen(keys[k]);
                if ((size_t)(in->text.end - at) < length || memcmp(at, keys[k], length) != 0) continue;
                in->text.at = at;
                return RGM_OK;
            }
        }
        if (in->text.final) {
            in->text.at = in->text.end;
            return RGM_OK;
        }
        const uint8_t *keep = in->text.end - in->text.at > 32 ? in->text.end - 32 : in->text.at;
        in->text.at = keep;
        RGM_TRY(refill(in, err));
    }
}

// --- events -----------------------------------------------------------------------------------------------

static rgm_status read_events(importer *in, rgm_error *err) {
    rgm_status status;
    in->found_events = true;
    in->text.at++;
    in->parser->after = 0;
    if (in->source->read_at && in->options->threads != 1 &&
        (in->options->stripe || in->source->size - offset_at(in, in->text.at) >= RGM_STRIPES_WORTH)) {
        int64_t offset = offset_at(in, in->text.at);
        bool closed;
        RGM_TRY(
            rgm_trace_read_stripes(in->source, in->options, in->parser, &in->part, &offset, &closed, err));
        seek(in, offset);
        RGM_TRY(refill(in, err));
        if (closed) return RGM_OK;
    }
    for (;;) {
        switch (in->parser->parse(in->parser, &in->text, &in->part, &status, err)) {
        case RGM_PARSE_CLOSED: return RGM_OK;
        case RGM_PARSE_FAILED: return status;
        case RGM_PARSE_STOP: break;
        case RGM_PARSE_MORE:
            if (in->text.final) {
                in->text.at = in->text.end;
                return damage(in, RGM_ANOMALY_TRUNCATED, "the text ends inside the list of events", err);
            }
        }
        RGM_TRY(refill(in, err));
    }
}

// --- head -------------------------------------------------------------------------------------------------

static bool is_key(const uint8_t *key, size_t length, const char *text) {
    return strlen(text) == length && memcmp(key, text, length) == 0;
}

// The number of a member of a compact JSON object, `missing` when it has none of that name.
static int64_t member_number(const uint8_t *object, size_t length, const char *key, int64_t missing) {
    if (*object != '{') return missing;
    rgm_json_members walk = rgm_json_members_in(object, length);
    while (rgm_json_next(&walk)) {
        uint8_t copy[32] = {0};
        int64_t value;
        size_t size = rgm_json_value_length(&walk);
        if (!is_key(walk.key, walk.key_length, key) || size > 18) continue;
        memcpy(copy, walk.value, size);
        return rgm_scan_int(copy, &value) == copy + size ? value : missing;
    }
    return missing;
}

static void look_at(importer *in, const uint8_t *key, size_t length, const uint8_t *value, size_t size) {
    static const char *const kineto[] = {"schemaVersion", "deviceProperties", "distributedInfo",
                                         "baseTimeNanoseconds", "traceName"};
    for (size_t i = 0; i < sizeof kineto / sizeof kineto[0]; i++)
        in->head.is_kineto = in->head.is_kineto || is_key(key, length, kineto[i]);
    if (is_key(key, length, "distributedInfo")) {
        int64_t rank = member_number(value, size, "rank", -1);
        in->head.rank = rank >= 0 && rank < INT32_MAX ? (int32_t)rank : -1;
    }
    if (is_key(key, length, "baseTimeNanoseconds")) {
        uint8_t copy[32] = {0};
        uint64_t base;
        memcpy(copy, value, size < 19 ? size : 19); // as many digits as are exact
        if (size <= 19 && rgm_scan_unsigned(copy, &base) == copy + size && base < INT64_MAX / 4)
            in->head.base_ns = (int64_t)base;
    }
}

static rgm_status keep_member(importer *in, const rgm_bytes *key, const uint8_t *value, size_t size,
                              rgm_error *err) {
    rgm_bytes *out = &in->head.members;
    if (out->length + size > HEAD_LIMIT) return damage(in, RGM_ANOMALY_TOO_LONG, "the head is too long", err);
    size_t before = out->length;
    if (before) rgm_bytes_append(out, ",", 1);
    rgm_json_quote(out, key->data, key->length, true);
    rgm_bytes_append(out, ":", 1);
    size_t from = out->length;
    bool good = rgm_json_compact(out, value, size);
    if (out->failed) return rgm_error_no_memory(err); // what is there may end in the middle
    if (good) {
        look_at(in, key->data, key->length, out->data + from, out->length - from);
        return RGM_OK;
    }
    rgm_json_quote(out, value, size, false); // what is no JSON is kept as text
    return damage(in, RGM_ANOMALY_INVALID_JSON, "a value of the head is not JSON", err);
}

// Reads `"key": value`; *good is false when the text is not of that form.
static rgm_status read_member(importer *in, rgm_bytes *key, bool *good, rgm_error *err) {
    const uint8_t *after;
    uint8_t byte;
    *good = false;
    RGM_TRY(whole_value(in, &after, err));
    if (!after) return RGM_OK;
    rgm_bytes_reset(key);
    rgm_bytes_append(key, in->text.at + 1, (size_t)(after - in->text.at) - 2);
    if (key->failed) return rgm_error_no_memory(err);
    in->text.at = after;
    RGM_TRY(peek(in, &byte, err));
    if (byte != ':') return RGM_OK;
    in->text.at++;
    RGM_TRY(peek(in, &byte, err));
    if (byte == '[' && key->length && is_key(key->data, key->length, "traceEvents")) {
        *good = true;
        return read_events(in, err);
    }
    RGM_TRY(whole_value(in, &after, err));
    if (!after) return RGM_OK;
    *good = true;
    size_t size = (size_t)(after - in->text.at);
    RGM_TRY(keep_member(in, key, in->text.at, size, err));
    in->text.at = after;
    return RGM_OK;
}

static rgm_status read_head(importer *in, rgm_error *err) {
    rgm_bytes key = {0};
    rgm_status status = RGM_OK;
    bool first = true;
    in->text.at++;
    for (;; first = false) {
        uint8_t byte;
        bool good = true;
        RGM_GOTO(peek(in, &byte, err));
        if (byte == '}') {
            in->text.at++;
            break;
        }
        if (byte == ',' && !first) {
            in->text.at++;
            RGM_GOTO(peek(in, &byte, err));
        }
        if (byte == 0) {
            RGM_GOTO(damage(in, RGM_ANOMALY_TRUNCATED, "the text ends before the document does", err));
            break;
        }
        if (byte == '"') RGM_GOTO(read_member(in, &key, &good, err));
        if (byte == '"' && good) continue;
        bool over = in->text.final && in->text.at >= in->text.end;
        RGM_GOTO(damage(in, over ? RGM_ANOMALY_TRUNCATED : RGM_ANOMALY_INVALID_JSON,
                        "expected a key and its value", err));
        if (in->text.at < in->text.end) in->text.at++;
        RGM_GOTO(find_key(in, err));
    }
done:
    rgm_bytes_release(&key);
    return status;
}

// --- document ---------------------------------------------------------------------------------------------

static rgm_status refuse(const importer *in, const char *why, rgm_error *err) {
    return rgm_error_at(err, RGM_FORMAT, offset_at(in, in->text.at), "%s is not a trace: %s",
                        in->source->name, why);
}

static rgm_status read_document(importer *in, rgm_error *err) {
    uint8_t byte;
    RGM_TRY(grow(in, err));
    RGM_TRY(refill(in, err));
    const uint8_t *at = in->text.at;
    if (in->text.end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) in->text.at += 3;
    if (in->text.end - at >= 2 && (at[0] == 0 || at[1] == 0 || at[0] >= 0xFE))
        return refuse(in, "the text is UTF-16 or binary; save it as UTF-8", err);
    RGM_TRY(peek(in, &byte, err));
    if (byte == '[') {
        RGM_TRY(read_events(in, err));
    } else if (byte == '{') {
        RGM_TRY(read_head(in, err));
        if (!in->found_events) return refuse(in, "its JSON object has no list \"traceEvents\"", err);
    } else {
        return refuse(in, byte ? "it begins neither with { nor with [" : "it is empty", err);
    }
    RGM_TRY(peek(in, &byte, err));
    if (byte || in->text.at < in->text.end)
        RGM_TRY(damage(in, RGM_ANOMALY_TRAILING_BYTES, "text follows the end of the document", err));
    while (!in->text.final) { // so that the size of the input is known
        in->text.at = in->text.end;
        RGM_TRY(refill(in, err));
    }
    return RGM_OK;
}

// Events that are JSON but cannot be kept as they stand are damage as well: strict reading names the first.
static rgm_status refuse_repairs(const importer *in, rgm_error *err) {
    static const rgm_anomaly repairs[] = {RGM_ANOMALY_BAD_EVENT, RGM_ANOMALY_MISSING_TIME,
                                          RGM_ANOMALY_NEGATIVE_DURATION, RGM_ANOMALY_ABSURD_DURATION};
    rgm_anomaly code = RGM_ANOMALY_COUNT;
    int64_t offset = INT64_MAX;
    for (size_t i = 0; i < sizeof repairs / sizeof *repairs; i++) {
        if (!in->part.found[repairs[i]].count || in->part.found[repairs[i]].offset >= offset) continue;
        code = repairs[i];
        offset = in->part.found[code].offset;
    }
    if (!in->strict || code == RGM_ANOMALY_COUNT) return RGM_OK;
    return rgm_error_at(err, RGM_FORMAT, offset,
                        "%s, byte %lld: this cannot be kept as it stands (without strict=True, %s)",
                        in->source->name, (long long)offset, rgm_anomaly_text(code));
}

rgm_status rgm_trace_import(const rgm_source *source, const rgm_import_options *options, rgm_run **run,
                            rgm_error *err) {
    importer in = {.source = source, .strict = options->strict, .head = {.rank = -1}, .options = options};
    rgm_status status;
    *run = NULL;
    in.parser = rgm_malloc(sizeof *in.parser);
    if (!in.parser) return rgm_error_no_memory(err);
    memset(in.parser, 0, sizeof *in.parser);
    RGM_GOTO(rgm_trace_parser_init(in.parser, (rgm_scan_choice)options->scan, options->strict, err));
    RGM_GOTO(rgm_trace_part_init(&in.part, err));
    RGM_GOTO(read_document(&in, err));
    RGM_GOTO(refuse_repairs(&in, err));
    RGM_GOTO(rgm_trace_finish(&in.part, &in.head, source->name, options->threads, run, err));
done:
    rgm_trace_part_release(&in.part);
    rgm_trace_parser_release(in.parser);
    rgm_free(in.parser);
    rgm_bytes_release(&in.head.members);
    rgm_block_free(in.buffer);
    return status;
}

// --- text in memory ---------------------------------------------------------------------------------------

typedef struct {
    const uint8_t *data;
    int64_t length;
} memory_source;

static rgm_status read_memory(void *context, int64_t offset, uint8_t *buffer, size_t room, size_t *filled,
                              rgm_error *err) {
    (void)err;
    const memory_source *memory = context;
    size_t left = offset < memory->length ? (size_t)(memory->length - offset) : 0;
    *filled = left < room ? left : room;
    if (*filled) memcpy(buffer, memory->data + offset, *filled);
    return RGM_OK;
}

rgm_status rgm_trace_import_bytes(const uint8_t *data, size_t length, const char *name,
                                  const rgm_import_options *options, rgm_run **run, rgm_error *err) {
    memory_source memory = {data, (int64_t)length};
    const rgm_source source = {
        .read_at = read_memory, .size = (int64_t)length, .context = &memory, .name = name};
    return rgm_trace_import(&source, options, run, err);
}
