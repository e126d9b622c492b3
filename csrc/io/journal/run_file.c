// SPDX-License-Identifier: Apache-2.0
// Saved runs: one TABLE frame per column that holds anything but its default.
#include "io/journal/run_file.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/memory.h"
#include "io/journal/frame.h"
#include "io/new_file.h"
#include "model/references.h"

typedef struct {
    uint64_t rows;
    uint16_t type;
    uint16_t encoding; // 0: raw values
    uint16_t table_length;
    uint16_t column_length;
    char names[48]; // table, then column, unterminated
} column_head;
_Static_assert(sizeof(column_head) == 64, "file format");

typedef struct {
    int64_t start_ns;
    int64_t end_ns;
    int64_t start_unix_ns;
    uint64_t complete;
} info_payload;

// --- write ------------------------------------------------------------------------------------------------

static rgm_status flush(rgm_new_file *file, rgm_bytes *out, rgm_frame_series *series, rgm_error *err) {
    if (out->failed) return rgm_error_no_memory(err);
    rgm_frame_number(out, series);
    RGM_TRY(rgm_new_file_write(file, out->data, out->length, err));
    rgm_bytes_reset(out);
    return RGM_OK;
}

static void put_strings(const rgm_run *run, rgm_bytes *out) {
    uint32_t count = rgm_strings_count(&run->strings);
    size_t mark = rgm_frame_begin(out, RGM_FRAME_STRINGS);
    rgm_bytes_u32(out, 0);
    rgm_bytes_u32(out, count);
    for (uint32_t id = 0; id < count; id++) {
        rgm_string text = rgm_strings_view(&run->strings, id);
        rgm_bytes_u32(out, text.length);
        rgm_bytes_append(out, text.data, text.length);
    }
    rgm_frame_end(out, mark);
}

static void put_head(const rgm_run *run, rgm_bytes *out) {
    info_payload info = {run->start_ns, run->end_ns, run->start_unix_ns, run->complete};
    size_t mark = rgm_frame_begin(out, RGM_FRAME_INFO);
    rgm_bytes_append(out, &info, sizeof info);
    rgm_frame_end(out, mark);
    mark = rgm_frame_begin(out, RGM_FRAME_ENVIRONMENT);
    rgm_bytes_text(out, run->environment);
    rgm_frame_end(out, mark);
    put_strings(run, out);
}

static void put_column(const rgm_table_desc *desc, const void *table, size_t column, rgm_bytes *out) {
    const rgm_column_desc *c = &desc->columns[column];
    const rgm_table *head = table;
    column_head h = {.rows = head->rows, .type = (uint16_t)c->type};
    h.table_length = (uint16_t)strlen(desc->name);
    h.column_length = (uint16_t)strlen(c->name);
    memcpy(h.names, desc->name, h.table_length);
    memcpy(h.names + h.table_length, c->name, h.column_length);
    size_t mark = rgm_frame_begin(out, RGM_FRAME_TABLE);
    rgm_bytes_append(out, &h, sizeof h);
    rgm_bytes_append(out, rgm_table_column(desc, table, column), head->rows * rgm_types[c->type].size);
    rgm_frame_end(out, mark);
}

// The same run gives the same file.
static uint32_t id_of(const rgm_run *run) {
    uint32_t crc = rgm_crc32c(0, run->environment, strlen(run->environment));
    return rgm_crc32c(crc, &run->start_ns, sizeof run->start_ns) | 1u;
}

static rgm_status put_run(rgm_run *run, rgm_new_file *file, rgm_error *err) {
    RGM_RELEASED(rgm_bytes_release) rgm_bytes out = {0};
    rgm_frame_series series = {.file = id_of(run)};
    rgm_frame_write_head(&out, RGM_FILE_RUN, series.file, false);
    put_head(run, &out);
    RGM_TRY(flush(file, &out, &series, err));
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        const void *table = rgm_run_table(run, desc);
        for (size_t c = 0; ((const rgm_table *)table)->rows && c < desc->n_columns; c++) {
            if (!rgm_table_column(desc, table, c)) continue;
            put_column(desc, table, c, &out);
            RGM_TRY(flush(file, &out, &series, err));
        }
    }
    size_t mark = rgm_frame_begin(&out, RGM_FRAME_END);
    rgm_bytes_u64(&out, 0);
    rgm_frame_end(&out, mark);
    return flush(file, &out, &series, err);
}

rgm_status rgm_run_save(rgm_run *run, const char *path, rgm_error *err) {
    rgm_new_file file;
    RGM_TRY(rgm_new_file_begin(&file, path, err));
    return rgm_new_file_end(&file, put_run(run, &file, err), err);
}

// --- read -------------------------------------------------------------------------------------------------

typedef struct {
    rgm_run *run;
    uint32_t *strings; // file id -> run id
    uint32_t string_count;
    int64_t lost; // bytes of sound blocks that depend on lost ones
    bool ended;
} loading;

static rgm_status take_strings(loading *l, const uint8_t *payload, size_t length, rgm_error *err) {
    uint32_t count;
    if (length < 8) return rgm_error_set(err, RGM_FORMAT, "a strings block is inconsistent");
    memcpy(&count, payload + 4, 4);
    if (count > (length - 8) / 4) return rgm_error_set(err, RGM_FORMAT, "a strings block is inconsistent");
    uint32_t *ids = rgm_calloc((size_t)count + 1, sizeof *ids);
    if (!ids) return rgm_error_no_memory(err);
    rgm_free(l->strings);
    l->strings = ids;
    l->string_count = count;
    const uint8_t *at = payload + 8, *end = payload + length;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes;
        if ((size_t)(end - at) < 4) return rgm_error_set(err, RGM_FORMAT, "a strings block is inconsistent");
        memcpy(&bytes, at, 4);
        at += 4;
        if ((size_t)(end - at) < bytes)
            return rgm_error_set(err, RGM_FORMAT, "a strings block is inconsistent");
        RGM_TRY(rgm_strings_intern(&l->run->strings, (const char *)at, bytes, &ids[i], err));
        at += bytes;
    }
    return RGM_OK;
}

static bool name_is(const char *name, const char *at, size_t length) {
    return strlen(name) == length && memcmp(name, at, length) == 0;
}

static rgm_status take_column(loading *l, const uint8_t *payload, size_t length, rgm_error *err) {
    column_head h;
    if (length < sizeof h)
        return rgm_error_set(err, RGM_FORMAT, "a column block of %zu bytes is too short", length);
    memcpy(&h, payload, sizeof h);
    if (h.table_length + h.column_length > (int)sizeof h.names || h.encoding != 0 ||
        h.type >= RGM_TYPE_COUNT || h.rows > INT32_MAX ||
        (length - sizeof h) != h.rows * rgm_types[h.type].size)
        return rgm_error_set(err, RGM_FORMAT, "a column block is inconsistent");
    for (size_t t = 0; h.rows && t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        if (!name_is(desc->name, h.names, h.table_length)) continue;
        for (size_t c = 0; c < desc->n_columns; c++) {
            if (!name_is(desc->columns[c].name, h.names + h.table_length, h.column_length)) continue;
            rgm_table *table = rgm_run_table(l->run, desc);
            if ((unsigned)desc->columns[c].type != h.type || (table->rows && table->rows != h.rows))
                return rgm_error_set(err, RGM_FORMAT, "column %s.%s has another type or length than expected",
                                     desc->name, desc->columns[c].name);
            RGM_TRY(rgm_table_reserve(desc, table, UINT64_C(1) << c, (size_t)h.rows, err));
            table->rows = (size_t)h.rows;
            memcpy(rgm_table_column(desc, table, c), payload + sizeof h, length - sizeof h);
        }
    }
    return RGM_OK; // columns of a later version are skipped
}

static rgm_status take_info(loading *l, const uint8_t *payload, size_t length, rgm_error *err) {
    info_payload info;
    if (length < sizeof info) return rgm_error_set(err, RGM_FORMAT, "the info block is inconsistent");
    memcpy(&info, payload, sizeof info);
    l->run->start_ns = info.start_ns;
    l->run->end_ns = info.end_ns;
    l->run->start_unix_ns = info.start_unix_ns;
    l->run->complete = info.complete != 0;
    return RGM_OK;
}

static rgm_status take_frame(loading *l, unsigned type, const uint8_t *payload, size_t length,
                             rgm_error *err) {
    switch (type) {
    case RGM_FRAME_INFO: return take_info(l, payload, length, err);
    case RGM_FRAME_ENVIRONMENT:
        return rgm_run_set_text(&l->run->environment, (const char *)payload, length, err);
    case RGM_FRAME_STRINGS: return take_strings(l, payload, length, err);
    case RGM_FRAME_TABLE: return take_column(l, payload, length, err);
    case RGM_FRAME_END: l->ended = true; return RGM_OK;
    default: return RGM_OK;
    }
}

// What a recovered file refers to may be among the blocks that were lost.
static rgm_status mend_rows(loading *l, const rgm_frame_damage *found, rgm_error *err) {
    rgm_frame_damage damage = *found;
    damage.bytes += l->lost;
#define NOTE(field, code)                                                                                    \
    if (damage.field) RGM_TRY(rgm_run_note(l->run, RGM_ANOMALY_##code, damage.field, -1, NULL, err));
    RGM_FRAME_DAMAGE(NOTE)
#undef NOTE
    rgm_spans *spans = &l->run->spans;
    size_t row;
    if (!l->ended) RGM_TRY(rgm_run_note(l->run, RGM_ANOMALY_UNFINISHED, 1, -1, NULL, err));
    if (spans->rows && !l->run->lanes.rows)
        RGM_TRY(rgm_table_append(&rgm_lanes_desc, &l->run->lanes, RGM_ALL_COLUMNS, &row, err));
    int64_t removed;
    RGM_TRY(rgm_references_mend(l->run, &removed, err));
    if (removed) RGM_TRY(rgm_run_note(l->run, RGM_ANOMALY_LOST_ROWS, removed, -1, NULL, err));
    return RGM_OK;
}

// String ids of the file become those of the run.
static rgm_status map_names(loading *l, rgm_load_mode mode, rgm_error *err) {
    rgm_run *run = l->run;
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        void *table = rgm_run_table(run, desc);
        size_t rows = ((rgm_table *)table)->rows;
        for (size_t c = 0; c < desc->n_columns; c++) {
            rgm_name *ids = rgm_table_column(desc, table, c);
            if (desc->columns[c].type != RGM_TYPE_name || !ids) continue;
            for (size_t i = 0; i < rows; i++) {
                if (ids[i] >= l->string_count && mode == RGM_LOAD_STRICT)
                    return rgm_error_set(err, RGM_FORMAT, "%s.%s names string %u of %u", desc->name,
                                         desc->columns[c].name, ids[i], l->string_count);
                ids[i] = ids[i] < l->string_count ? l->strings[ids[i]] : 0;
            }
        }
    }
    return RGM_OK;
}

static rgm_status load_saved(rgm_frame_reader *reader, rgm_load_mode mode, loading *l, rgm_error *err) {
    RGM_TRY(rgm_run_set_text(&l->run->source, "run", 3, err));
    for (;;) {
        unsigned type = 0;
        const uint8_t *payload = NULL;
        size_t length = 0;
        RGM_TRY(rgm_frame_next(reader, &type, &payload, &length, err));
        if (!type) break;
        rgm_status status = take_frame(l, type, payload, length, err);
        if (status == RGM_FORMAT && mode == RGM_LOAD_RECOVER) {
            l->lost += (int64_t)length;
            continue;
        }
        if (status == RGM_FORMAT) return rgm_frame_blame(reader, err);
        RGM_TRY(status);
    }
    if (!l->ended && mode == RGM_LOAD_STRICT)
        return rgm_error_at(err, RGM_FORMAT, reader->size,
                            "%s: the file ends at byte %lld; expected its closing block. "
                            "`regimeter recover %s -o OUT` keeps what is intact",
                            reader->path, (long long)reader->size, reader->path);
    RGM_TRY(map_names(l, mode, err));
    if (mode == RGM_LOAD_RECOVER) RGM_TRY(mend_rows(l, &reader->damage, err));
    rgm_status status = rgm_run_check(l->run, err);
    return status == RGM_FORMAT ? rgm_frame_blame(reader, err) : status;
}

static rgm_status load_journal(rgm_frame_reader *reader, rgm_run **run, rgm_error *err) {
    rgm_builder *builder = NULL;
    bool complete = false;
    rgm_status status = RGM_OK;
    RGM_TRY(rgm_builder_new(&builder, err));
    RGM_GOTO(rgm_journal_read(reader, builder, &complete, err));
    RGM_GOTO(rgm_run_set_text(&rgm_builder_run(builder)->source, "journal", 7, err));
    if (!complete) RGM_GOTO(rgm_builder_note(builder, RGM_ANOMALY_UNFINISHED, 1, err));
    RGM_GOTO(rgm_builder_finish(builder, true, run, err));
    (*run)->complete = complete;
    status = rgm_run_check(*run, err);
    if (status == RGM_FORMAT) status = rgm_frame_blame(reader, err);
    if (status != RGM_OK) {
        rgm_run_free(*run);
        *run = NULL;
    }
done:
    rgm_builder_free(builder);
    return status;
}

rgm_status rgm_run_load(const char *path, rgm_load_mode mode, rgm_run **run, rgm_error *err) {
    rgm_frame_reader reader;
    RGM_TRY(rgm_frame_open(&reader, path, mode, err));
    loading l = {0};
    rgm_status status = RGM_OK;
    if (reader.kind == RGM_FILE_JOURNAL) {
        status = load_journal(&reader, run, err);
        goto done;
    }
    RGM_GOTO(rgm_run_new(&l.run, err));
    RGM_GOTO(load_saved(&reader, mode, &l, err));
    *run = l.run;
    l.run = NULL;
done:
    rgm_free(l.strings);
    rgm_run_free(l.run);
    rgm_frame_close(&reader);
    return status;
}
