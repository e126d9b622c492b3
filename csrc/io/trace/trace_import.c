// SPDX-License-Identifier: Apache-2.0
// The document around the events: windows of text, the head, the order of things.
#include "io/trace/trace_import.h"

#include <string.h>

#include "base/memory.h"
#include "io/json/json_text.h"
#include "io/json/json_value.h"
#include "io/trace/trace_finish.h"
#include "io/trace/trace_parse.h"
#include "io/trace/trace_scan.h"
#include "io/trace/trace_stripes.h"
#include "io/trace/trace_window.h"

enum {
    HEAD_LIMIT = 16 << 20,
    CONTEXT = 256, // kept when the window moves on in text that is looked through
};

typedef struct {
    const rgm_source *source;
    bool strict;
    rgm_trace_window window;
    rgm_trace_parser *parser;
    rgm_trace_part part;
    rgm_trace_head head;
    bool found_events;
    const rgm_import_options *options;
} importer;

// --- damage -----------------------------------------------------------------------------------------------

static rgm_status damage(importer *in, rgm_anomaly code, const char *what, rgm_error *err) {
    int64_t offset = rgm_window_offset(&in->window);
    if (in->strict)
        return rgm_error_at(err, RGM_FORMAT, offset, "%s, byte %lld: %s", in->source->name, (long long)offset,
                            what);
    if (code != RGM_ANOMALY_TRUNCATED || in->part.found[code].count == 0) // a text ends once
        rgm_trace_part_note(&in->part, code, 1, 0, offset);
    return RGM_OK;
}

// Counts the events in text that is looked through for something else, up to `to`.
static void count_rows(importer *in, rgm_trace_stretch *stretch, int64_t *counted, const uint8_t *to) {
    const rgm_trace_text *text = &in->window.text;
    rgm_trace_stretch_read(stretch, text->begin + (*counted - text->offset), to, text->begin, text->end);
    *counted = text->offset + (to - text->begin);
}

static void lose_rows(importer *in, rgm_anomaly code, const rgm_trace_stretch *stretch) {
    int64_t rows = rgm_trace_stretch_rows(stretch);
    in->part.events += rows;
    if (rows) rgm_trace_part_note(&in->part, code, 0, rows, -1);
}

// Where the search for a key goes on when there is more text.
static const uint8_t *move_on(importer *in) {
    rgm_trace_text *text = &in->window.text;
    const uint8_t *to = rgm_trace_reach(text->at, text->end, text->end, text->final);
    text->at = to - text->begin > CONTEXT ? to - CONTEXT : text->begin;
    return to;
}

// Looks for a key of the document at which reading can go on; leaves it at the end of the input when there is
// none. Events in the text between are lost once those of the list have been read.
static rgm_status find_key(importer *in, rgm_error *err) {
    static const char *const keys[] = {"\"traceEvents\"", "\"baseTimeNanoseconds\""};
    rgm_trace_text *text = &in->window.text;
    rgm_trace_stretch lost = {0};
    int64_t counted = rgm_window_offset(&in->window);
    for (;;) {
        const uint8_t *at = text->begin + (counted - text->offset), *found = NULL;
        for (; at < text->end && !found; at++) {
            at = memchr(at, '"', (size_t)(text->end - at));
            if (!at) break;
            for (size_t k = in->found_events; k < 2; k++) {
                size_t length = strlen(keys[k]);
                if ((size_t)(text->end - at) >= length && memcmp(at, keys[k], length) == 0) found = at;
            }
        }
        const uint8_t *to = found ? found : move_on(in);
        count_rows(in, &lost, &counted, to);
        if (found || text->final) {
            text->at = found ? found : text->end;
            if (in->found_events) lose_rows(in, RGM_ANOMALY_INVALID_JSON, &lost);
            return RGM_OK;
        }
        RGM_TRY(rgm_window_refill(&in->window, err));
    }
}

// Reads to the end of the input, so that its size is known; events there are lost.
static rgm_status read_rest(importer *in, rgm_error *err) {
    rgm_trace_stretch lost = {0};
    int64_t counted = rgm_window_offset(&in->window);
    for (;;) {
        count_rows(in, &lost, &counted, move_on(in));
        if (in->window.text.final) break;
        RGM_TRY(rgm_window_refill(&in->window, err));
    }
    lose_rows(in, RGM_ANOMALY_TRAILING_BYTES, &lost);
    return RGM_OK;
}

// --- events -----------------------------------------------------------------------------------------------

static rgm_status read_events(importer *in, rgm_error *err) {
    rgm_status status;
    in->found_events = true;
    in->window.text.at++;
    in->parser->after = 0;
    if (in->source->read_at && in->options->threads != 1 &&
        (in->options->stripe || in->source->size - rgm_window_offset(&in->window) >= RGM_STRIPES_WORTH)) {
        int64_t offset = rgm_window_offset(&in->window);
        bool closed;
        RGM_TRY(
            rgm_trace_read_stripes(in->source, in->options, in->parser, &in->part, &offset, &closed, err));
        int64_t back = in->parser->lost ? (offset < CONTEXT ? offset : CONTEXT) : 0; // what stands before
        rgm_window_seek(&in->window, offset - back);
        RGM_TRY(rgm_window_refill(&in->window, err));
        in->window.text.at += back;
        if (closed) return RGM_OK;
    }
    for (;;) {
        switch (in->parser->parse(in->parser, &in->window.text, &in->part, &status, err)) {
        case RGM_PARSE_CLOSED: return RGM_OK;
        case RGM_PARSE_FAILED: return status;
        case RGM_PARSE_STOP: break;
        case RGM_PARSE_MORE:
            if (in->window.text.final) {
                in->window.text.at = in->window.text.end;
                return damage(in, RGM_ANOMALY_TRUNCATED, "the text ends inside the list of events", err);
            }
        }
        RGM_TRY(rgm_window_refill(&in->window, err));
    }
}

// --- head -------------------------------------------------------------------------------------------------

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
        rgm_trace_drop_variables(out, before);
        rgm_trace_head_look(&in->head, key->data, key->length, out->data + from, out->length - from);
        return RGM_OK;
    }
    rgm_json_quote(out, value, size, false); // what is no JSON is kept as text
    return damage(in, RGM_ANOMALY_INVALID_JSON, "a value of the head is not JSON", err);
}

// Reads `"key": value`; *good is false when the text is not of that form.
static rgm_status read_member(importer *in, rgm_bytes *key, bool *good, rgm_error *err) {
    static const char list[] = "traceEvents";
    const uint8_t *after;
    uint8_t byte;
    *good = false;
    RGM_TRY(rgm_window_value(&in->window, &after, err));
    if (!after) return RGM_OK;
    rgm_bytes_reset(key);
    rgm_bytes_append(key, in->window.text.at + 1, (size_t)(after - in->window.text.at) - 2);
    if (key->failed) return rgm_error_no_memory(err);
    in->window.text.at = after;
    RGM_TRY(rgm_window_peek(&in->window, &byte, err));
    if (byte != ':') return RGM_OK;
    in->window.text.at++;
    RGM_TRY(rgm_window_peek(&in->window, &byte, err));
    if (byte == '[' && key->length == strlen(list) && memcmp(key->data, list, key->length) == 0) {
        *good = true;
        return read_events(in, err);
    }
    RGM_TRY(rgm_window_value(&in->window, &after, err));
    if (!after) return RGM_OK;
    *good = true;
    size_t size = (size_t)(after - in->window.text.at);
    RGM_TRY(keep_member(in, key, in->window.text.at, size, err));
    in->window.text.at = after;
    return RGM_OK;
}

static rgm_status read_head(importer *in, rgm_error *err) {
    RGM_RELEASED(rgm_bytes_release) rgm_bytes key = {0};
    bool first = true;
    in->window.text.at++;
    for (;; first = false) {
        uint8_t byte;
        bool good = true;
        RGM_TRY(rgm_window_peek(&in->window, &byte, err));
        if (byte == '}') {
            in->window.text.at++;
            break;
        }
        if (byte == ',' && !first) {
            in->window.text.at++;
            RGM_TRY(rgm_window_peek(&in->window, &byte, err));
        }
        if (byte == 0) {
            RGM_TRY(damage(in, RGM_ANOMALY_TRUNCATED, "the text ends before the document does", err));
            break;
        }
        if (byte == '"') RGM_TRY(read_member(in, &key, &good, err));
        if (byte == '"' && good) continue;
        bool over = in->window.text.final && in->window.text.at >= in->window.text.end;
        RGM_TRY(damage(in, over ? RGM_ANOMALY_TRUNCATED : RGM_ANOMALY_INVALID_JSON,
                       "expected a key and its value", err));
        if (in->window.text.at < in->window.text.end) in->window.text.at++;
        RGM_TRY(find_key(in, err));
    }
    return RGM_OK;
}

// --- document ---------------------------------------------------------------------------------------------

static rgm_status refuse(const importer *in, const char *why, rgm_error *err) {
    return rgm_error_at(err, RGM_FORMAT, rgm_window_offset(&in->window), "%s is not a trace: %s",
                        in->source->name, why);
}

static rgm_status read_document(importer *in, rgm_error *err) {
    uint8_t byte;
    RGM_TRY(rgm_window_open(&in->window, in->source, err));
    const uint8_t *at = in->window.text.at;
    if (in->window.text.end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) in->window.text.at += 3;
    if (in->window.text.end - at >= 2 && (at[0] == 0 || at[1] == 0 || at[0] >= 0xFE))
        return refuse(in, "the text is UTF-16 or binary; save it as UTF-8", err);
    RGM_TRY(rgm_window_peek(&in->window, &byte, err));
    if (byte == '[') {
        RGM_TRY(read_events(in, err));
    } else if (byte == '{') {
        RGM_TRY(read_head(in, err));
        if (!in->found_events) return refuse(in, "its JSON object has no list \"traceEvents\"", err);
    } else {
        return refuse(in, byte ? "it begins neither with { nor with [" : "it is empty", err);
    }
    RGM_TRY(rgm_window_peek(&in->window, &byte, err));
    if (byte || in->window.text.at < in->window.text.end)
        RGM_TRY(damage(in, RGM_ANOMALY_TRAILING_BYTES, "text follows the end of the document", err));
    return read_rest(in, err);
}

// Events that are JSON but cannot be kept as they stand are damage as well: strict reading names the first.
static rgm_status refuse_repairs(const importer *in, rgm_error *err) {
    static const rgm_anomaly repairs[] = {RGM_ANOMALY_BAD_EVENT,         RGM_ANOMALY_MISSING_TIME,
                                          RGM_ANOMALY_UNKNOWN_PHASE,     RGM_ANOMALY_DUPLICATE_KEYS,
                                          RGM_ANOMALY_NEGATIVE_DURATION, RGM_ANOMALY_ABSURD_DURATION,
                                          RGM_ANOMALY_UNMATCHED_END,     RGM_ANOMALY_MISSING_DURATION};
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
    RGM_GOTO(rgm_trace_parser_init(in.parser, (rgm_scan_choice)options->scan, options->strict, options->waste,
                                   err));
    RGM_GOTO(rgm_trace_part_init(&in.part, err));
    RGM_GOTO(read_document(&in, err));
    in.head.bytes = in.window.text.offset + (in.window.text.end - in.window.text.begin);
    RGM_GOTO(rgm_trace_finish(&in.part, &in.head, source->name, options->threads, run, err));
    status = refuse_repairs(&in, err);
    if (status != RGM_OK) {
        rgm_run_free(*run);
        *run = NULL;
    }
done:
    rgm_trace_part_release(&in.part);
    rgm_trace_parser_release(in.parser);
    rgm_free(in.parser);
    rgm_bytes_release(&in.head.members);
    rgm_window_release(&in.window);
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
