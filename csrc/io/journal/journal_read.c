// SPDX-License-Identifier: Apache-2.0
// Journal frames -> builder calls.
#include <string.h>

#include "base/memory.h"
#include "io/journal/frame.h"
#include "io/journal/run_file.h"

typedef struct {
    rgm_builder *builder;
    int64_t counters[RGM_ANOMALY_COUNT]; // latest totals
    bool complete;
} state;

typedef struct {
    uint32_t first;
    uint32_t count;
    const uint8_t *rows;
    size_t bytes;
} span_of_rows;

static rgm_status bad(const char *what, rgm_error *err) {
    return rgm_error_set(err, RGM_FORMAT, "a %s block is inconsistent", what);
}

// The width of rows in files of before their type grew at its end (stalls got lines of source, pressures what
// all programs did), and of what fills the rest there, the byte: for what is not known 0 stands in the one,
// -1 in the other.
#define WIDTH_BEFORE(type)                                                                                   \
    _Generic((type){0},                                                                                      \
        rgm_stall_row: offsetof(rgm_stall_row, file),                                                        \
        rgm_pressure_row: offsetof(rgm_pressure_row, busy_ns),                                               \
        default: 0)
#define UNKNOWN_BYTE(type) _Generic((type){0}, rgm_pressure_row: 0xFF, default: 0)

static rgm_status take_rows(const uint8_t *payload, size_t length, size_t width, span_of_rows *out,
                            const char *what, rgm_error *err) {
    if (length < 8) return bad(what, err);
    memcpy(&out->first, payload, 4);
    memcpy(&out->count, payload + 4, 4);
    out->rows = payload + 8;
    out->bytes = length - 8;
    if (width && out->bytes != (size_t)out->count * width) return bad(what, err);
    return RGM_OK;
}

static rgm_status on_strings(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    span_of_rows rows = {0};
    RGM_TRY(take_rows(payload, length, 0, &rows, "strings", err));
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t bytes;
        if (rows.bytes < 4) return bad("strings", err);
        memcpy(&bytes, rows.rows, 4);
        if (rows.bytes - 4 < bytes) return bad("strings", err);
        RGM_TRY(rgm_builder_string(s->builder, rows.first + i, (const char *)rows.rows + 4, bytes, err));
        rows.rows += 4 + bytes;
        rows.bytes -= 4 + bytes;
    }
    return RGM_OK;
}

static rgm_status on_sites(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    span_of_rows rows = {0};
    RGM_TRY(take_rows(payload, length, sizeof(rgm_site_row), &rows, "call sites", err));
    for (uint32_t i = 0; i < rows.count; i++) {
        rgm_site_row row;
        memcpy(&row, rows.rows + i * sizeof row, sizeof row);
        RGM_TRY(rgm_builder_site(s->builder, rows.first + i, row, err));
    }
    return RGM_OK;
}

static rgm_status on_threads(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    span_of_rows rows = {0};
    RGM_TRY(take_rows(payload, length, sizeof(rgm_thread_row), &rows, "threads", err));
    for (uint32_t i = 0; i < rows.count; i++) {
        rgm_thread_row row;
        memcpy(&row, rows.rows + i * sizeof row, sizeof row);
        RGM_TRY(rgm_builder_thread(s->builder, rows.first + i, row, err));
    }
    return RGM_OK;
}

#define ON_ROWS(frames, name, type, anomaly)                                                                 \
    static rgm_status on_##name(state *s, const uint8_t *payload, size_t length, rgm_error *err) {           \
        span_of_rows rows = {0};                                                                             \
        uint32_t count = 0;                                                                                  \
        if (length >= 8) memcpy(&count, payload + 4, 4);                                                     \
        bool before = WIDTH_BEFORE(type) && length - 8 == (uint64_t)count * WIDTH_BEFORE(type);              \
        size_t width = before ? WIDTH_BEFORE(type) : sizeof(type);                                           \
        RGM_TRY(take_rows(payload, length, width, &rows, #name, err));                                       \
        for (uint32_t i = 0; i < rows.count; i++) {                                                          \
            type row;                                                                                        \
            memset(&row, UNKNOWN_BYTE(type), sizeof row);                                                    \
            memcpy(&row, rows.rows + i * width, width);                                                      \
            RGM_TRY(rgm_builder_##name(s->builder, &row, err));                                              \
        }                                                                                                    \
        return RGM_OK;                                                                                       \
    }
RGM_ROW_LOGS(ON_ROWS)
#undef ON_ROWS

// The payload of a frame begins at a multiple of eight in memory, so its rows may be used in place.
static rgm_status on_records(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    span_of_rows rows = {0};
    RGM_TRY(take_rows(payload, length, sizeof(rgm_record), &rows, "records", err));
    return rgm_builder_records(s->builder, rows.first, (const rgm_record *)(const void *)rows.rows,
                               rows.count, err);
}

static rgm_status on_open(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    span_of_rows rows = {0};
    RGM_TRY(take_rows(payload, length, sizeof(rgm_open_scope), &rows, "open scopes", err));
    return rgm_builder_open(s->builder, rows.first, (const rgm_open_scope *)(const void *)rows.rows,
                            rows.count, err);
}

static rgm_status on_counters(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    span_of_rows rows = {0};
    RGM_TRY(take_rows(payload, length, 16, &rows, "counters", err));
    for (uint32_t i = 0; i < rows.count; i++) {
        uint64_t pair[2];
        memcpy(pair, rows.rows + i * sizeof pair, sizeof pair);
        if (pair[0] < RGM_ANOMALY_COUNT) s->counters[pair[0]] = (int64_t)pair[1];
    }
    return RGM_OK;
}

static rgm_status on_anchor(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    rgm_anchor anchor;
    if (length != sizeof anchor) return bad("anchor", err);
    memcpy(&anchor, payload, sizeof anchor);
    return rgm_builder_anchor(s->builder, anchor, err);
}

static rgm_status on_environment(state *s, const uint8_t *payload, size_t length, rgm_error *err) {
    return rgm_run_set_text(&rgm_builder_run(s->builder)->environment, (const char *)payload, length, err);
}

static rgm_status dispatch(state *s, unsigned type, const uint8_t *payload, size_t length, rgm_error *err) {
    switch (type) {
    case RGM_FRAME_ENVIRONMENT: return on_environment(s, payload, length, err);
    case RGM_FRAME_STRINGS: return on_strings(s, payload, length, err);
    case RGM_FRAME_SITES: return on_sites(s, payload, length, err);
    case RGM_FRAME_THREADS: return on_threads(s, payload, length, err);
    case RGM_FRAME_RECORDS: return on_records(s, payload, length, err);
#define FRAME_CASE(frames, name, type, anomaly)                                                              \
    case RGM_FRAME_##frames: return on_##name(s, payload, length, err);
        RGM_ROW_LOGS(FRAME_CASE)
#undef FRAME_CASE
    case RGM_FRAME_ANCHOR: return on_anchor(s, payload, length, err);
    case RGM_FRAME_OPEN: return on_open(s, payload, length, err);
    case RGM_FRAME_COUNTERS: return on_counters(s, payload, length, err);
    case RGM_FRAME_RESET:
        rgm_builder_reset(s->builder);
        memset(s->counters, 0, sizeof s->counters);
        return RGM_OK;
    case RGM_FRAME_END: s->complete = true; return RGM_OK;
    default: return RGM_OK;
    }
}

static rgm_status read_frames(rgm_frame_reader *reader, state *s, rgm_error *err) {
    for (;;) {
        unsigned type = 0;
        const uint8_t *payload = NULL;
        size_t length = 0;
        RGM_TRY(rgm_frame_next(reader, &type, &payload, &length, err));
        if (!type) return RGM_OK;
        rgm_status status = dispatch(s, type, payload, length, err);
        if (status == RGM_FORMAT && reader->mode == RGM_LOAD_RECOVER) {
            // A sound block can depend on one that was lost; it is lost with it.
            RGM_TRY(rgm_builder_note(s->builder, RGM_ANOMALY_CORRUPT_BYTES, (int64_t)length, err));
            continue;
        }
        if (status == RGM_FORMAT) return rgm_frame_blame(reader, err);
        RGM_TRY(status);
    }
}

static rgm_status note_damage(const rgm_frame_damage *damage, rgm_builder *builder, rgm_error *err) {
#define NOTE(field, code) RGM_TRY(rgm_builder_note(builder, RGM_ANOMALY_##code, damage->field, err));
    RGM_FRAME_DAMAGE(NOTE)
#undef NOTE
    return RGM_OK;
}

rgm_status rgm_journal_read(rgm_frame_reader *reader, rgm_builder *builder, bool *complete, rgm_error *err) {
    state s = {.builder = builder};
    if (reader->kind != RGM_FILE_JOURNAL)
        return rgm_error_at(err, RGM_FORMAT, 16, "%s: a saved run where a journal was expected",
                            reader->path);
    RGM_TRY(read_frames(reader, &s, err));
    RGM_TRY(note_damage(&reader->damage, builder, err));
    // The frame that tells it may have found no room either.
    if (reader->lacking && !s.complete && !s.counters[RGM_ANOMALY_JOURNAL_FAILED])
        s.counters[RGM_ANOMALY_JOURNAL_FAILED] = 1;
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++)
        RGM_TRY(rgm_builder_note(builder, (rgm_anomaly)code, s.counters[code], err));
    *complete = s.complete;
    return RGM_OK;
}
