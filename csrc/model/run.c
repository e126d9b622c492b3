// SPDX-License-Identifier: Apache-2.0
#include "model/run.h"

#include <string.h>

#include "base/memory.h"
#include "model/references.h"

enum { MAX_STRING_BYTES = 1 << 30 };

const char *rgm_anomaly_text(rgm_anomaly code) {
    switch (code) {
#define ANOMALY_TEXT(name, token, text)                                                                      \
    case RGM_ANOMALY_##name: return text;
        RGM_ANOMALY_CODES(ANOMALY_TEXT)
#undef ANOMALY_TEXT
    default: return "";
    }
}

rgm_status rgm_run_new(rgm_run **run, rgm_error *err) {
    rgm_run *fresh = rgm_calloc(1, sizeof *fresh);
    if (!fresh) return rgm_error_no_memory(err);
    rgm_status status = RGM_OK;
    fresh->start_unix_ns = -1;
    RGM_GOTO(rgm_strings_init(&fresh->strings, MAX_STRING_BYTES, err));
    RGM_GOTO(rgm_run_set_text(&fresh->environment, "{}", 2, err));
    RGM_GOTO(rgm_run_set_text(&fresh->source, "live", 4, err));
    *run = fresh;
    return RGM_OK;
done:
    rgm_run_free(fresh);
    return status;
}

void rgm_run_free(rgm_run *run) {
    if (!run) return;
    for (size_t i = 0; i < rgm_run_tables_count; i++)
        rgm_table_release(rgm_run_tables[i], rgm_run_table(run, rgm_run_tables[i]));
    rgm_strings_release(&run->strings);
    rgm_free(run->environment);
    rgm_free(run->source);
    rgm_free(run);
}

rgm_status rgm_run_set_text(char **field, const char *text, size_t length, rgm_error *err) {
    char *copy = rgm_strdup(text, length);
    if (!copy) return rgm_error_no_memory(err);
    rgm_free(*field);
    *field = copy;
    return RGM_OK;
}

void *rgm_run_table(rgm_run *run, const rgm_table_desc *desc) { return (char *)run + desc->offset; }

// Spans may leave columns NULL, and events of memory what only snapshots say; of the short tables every
// column has memory.
static bool is_needed(const rgm_table_desc *desc, size_t column) {
    const uint64_t needed =
        RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns) | RGM_COLUMN_BIT(spans, name);
    if (desc == &rgm_memory_desc) return !(RGM_MEMORY_OF_SNAPSHOTS >> column & 1u);
    return desc != &rgm_spans_desc || (needed >> column & 1u);
}

static rgm_status ensure_columns(rgm_run *run, rgm_error *err) {
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        rgm_table *table = rgm_run_table(run, desc);
        for (size_t c = 0; c < desc->n_columns && table->rows; c++)
            if (is_needed(desc, c)) RGM_TRY(rgm_table_ensure(desc, table, c, err));
    }
    return RGM_OK;
}

static rgm_status check_names(rgm_run *run, rgm_error *err) {
    uint32_t strings = rgm_strings_count(&run->strings);
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        const rgm_table *table = rgm_run_table(run, desc);
        for (size_t c = 0; c < desc->n_columns; c++) {
            const rgm_name *ids = rgm_table_column(desc, table, c);
            for (size_t i = 0; desc->columns[c].type == RGM_TYPE_name && ids && i < table->rows; i++)
                if (ids[i] >= strings)
                    return rgm_error_set(err, RGM_FORMAT, "%s.%s row %zu names string %u of %u", desc->name,
                                         desc->columns[c].name, i, ids[i], strings);
        }
    }
    return RGM_OK;
}

// Walks up from every span, over each span once: who meets a span of his own walk again has found a cycle.
static rgm_status check_parents(const rgm_spans *spans, rgm_error *err) {
    if (!spans->parent || spans->rows == 0) return RGM_OK;
    uint32_t *walk_of = rgm_calloc(spans->rows, sizeof *walk_of);
    if (!walk_of) return rgm_error_no_memory(err);
    rgm_status status = RGM_OK;
    for (uint32_t i = 0; i < spans->rows && status == RGM_OK; i++) {
        int32_t at = (int32_t)i;
        for (; at >= 0 && !walk_of[at]; at = spans->parent[at]) walk_of[at] = i + 1;
        if (at >= 0 && walk_of[at] == i + 1)
            status = rgm_error_set(err, RGM_FORMAT, "span %u is its own ancestor", i);
    }
    rgm_free(walk_of);
    return status;
}

// What has no duration stays in the range of times, too.
static rgm_status check_times(rgm_run *run, rgm_error *err) {
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        const rgm_table *table = rgm_run_table(run, desc);
        size_t c;
        if (!rgm_table_find(desc, "time_ns", &c)) continue;
        const rgm_i64 *times = rgm_table_column(desc, table, c);
        for (size_t i = 0; times && i < table->rows; i++)
            if (times[i] > INT64_MAX / 2 || times[i] < INT64_MIN / 2)
                return rgm_error_set(err, RGM_FORMAT, "%s row %zu lies outside the range of times",
                                     desc->name, i);
    }
    return RGM_OK;
}

// Columns whose values are numbers of a list: X(table, column, how many the list has).
#define ENUMERATED_COLUMNS(X)                                                                                \
    X(spans, kind, RGM_KIND_COUNT)                                                                           \
    X(launches, occupancy_limit, RGM_OCCUPANCY_LIMIT_COUNT)                                                  \
    X(samples, state, RGM_SAMPLE_STATE_COUNT)                                                                \
    X(memory, action, RGM_ACTION_COUNT)                                                                      \
    X(segments, kind, RGM_SEGMENT_KIND_COUNT)                                                                \
    X(blocks, state, RGM_BLOCK_STATE_COUNT)                                                                  \
    X(flows, kind, RGM_FLOW_KIND_COUNT)                                                                      \
    X(flows, phase, RGM_FLOW_PHASE_COUNT)                                                                    \
    X(intervals, state, RGM_INTERVAL_STATE_COUNT)                                                            \
    X(anomalies, code, RGM_ANOMALY_COUNT)

static rgm_status check_enumeration(const char *table, const char *column, const rgm_u8 *cells, size_t rows,
                                    unsigned count, rgm_error *err) {
    for (size_t i = 0; cells && i < rows; i++)
        if (cells[i] >= count)
            return rgm_error_set(err, RGM_FORMAT, "%s.%s row %zu is %u, and %u are known", table, column, i,
                                 cells[i], count);
    return RGM_OK;
}

static rgm_status check_enumerations(const rgm_run *run, rgm_error *err) {
#define CHECK(table, column, count)                                                                          \
    RGM_TRY(check_enumeration(#table, #column, run->table.column, run->table.rows, count, err));
    ENUMERATED_COLUMNS(CHECK)
#undef CHECK
    const rgm_spans *spans = &run->spans;
    for (size_t i = 0; spans->flags && i < spans->rows; i++)
        if (rgm_flags_device(spans->flags[i]) >= RGM_DEVICE_COUNT ||
            rgm_flags_backend(spans->flags[i]) >= RGM_BACKEND_COUNT)
            return rgm_error_set(err, RGM_FORMAT, "span %zu is of an unknown device or backend", i);
    return RGM_OK;
}

rgm_status rgm_run_check(rgm_run *run, rgm_error *err) {
    RGM_TRY(ensure_columns(run, err));
    RGM_TRY(check_names(run, err));
    RGM_TRY(check_enumerations(run, err));
    const int64_t bounds[] = {run->start_ns, run->end_ns, run->start_unix_ns};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i] > INT64_MAX / 2 || bounds[i] < INT64_MIN / 2)
            return rgm_error_set(err, RGM_FORMAT, "the recording lies outside the range of times");
    const rgm_spans *spans = &run->spans;
    if (spans->rows > INT32_MAX) return rgm_error_set(err, RGM_LIMIT, "%zu spans are too many", spans->rows);
    RGM_TRY(rgm_references_check(run, err));
    for (size_t i = 0; i < spans->rows; i++) {
        if (spans->duration_ns[i] < 0)
            return rgm_error_set(err, RGM_FORMAT, "span %zu has a negative duration", i);
        if (spans->start_ns[i] > INT64_MAX / 2 || spans->start_ns[i] < INT64_MIN / 2 ||
            spans->duration_ns[i] > INT64_MAX / 4)
            return rgm_error_set(err, RGM_FORMAT, "span %zu lies outside the range of times", i);
    }
    RGM_TRY(check_times(run, err));
    return check_parents(spans, err);
}

static rgm_status note(rgm_run *run, rgm_anomaly code, int64_t count, const char *detail, size_t *at,
                       bool *fresh, rgm_error *err) {
    rgm_anomalies *table = &run->anomalies;
    for (size_t c = 0; c < rgm_anomalies_desc.n_columns && table->rows; c++)
        RGM_TRY(rgm_table_ensure(&rgm_anomalies_desc, table, c, err)); // a file may lack some
    *fresh = false;
    for (*at = 0; *at < table->rows; (*at)++) {
        if (table->code[*at] != code) continue;
        if (__builtin_add_overflow(table->count[*at], count, &table->count[*at]))
            table->count[*at] = INT64_MAX;
        return RGM_OK;
    }
    const char *text = detail ? detail : rgm_anomaly_text(code);
    uint32_t id;
    RGM_TRY(rgm_strings_intern(&run->strings, text, strlen(text), &id, err));
    RGM_TRY(rgm_table_append(&rgm_anomalies_desc, table, RGM_ALL_COLUMNS, at, err));
    *fresh = true;
    table->code[*at] = (rgm_u8)code;
    table->count[*at] = count;
    table->detail[*at] = id;
    return RGM_OK;
}

rgm_status rgm_run_note(rgm_run *run, rgm_anomaly code, int64_t count, int64_t first_ns, const char *detail,
                        rgm_error *err) {
    size_t row;
    bool fresh;
    RGM_TRY(note(run, code, count, detail, &row, &fresh, err));
    if (fresh) run->anomalies.first_ns[row] = first_ns;
    return RGM_OK;
}

rgm_status rgm_run_note_input(rgm_run *run, rgm_anomaly code, int64_t count, int64_t lost, int64_t offset,
                              const char *detail, rgm_error *err) {
    size_t row;
    bool fresh;
    RGM_TRY(note(run, code, count, detail, &row, &fresh, err));
    run->anomalies.lost[row] += lost;
    if (fresh) run->anomalies.first_offset[row] = offset;
    return RGM_OK;
}
