// SPDX-License-Identifier: Apache-2.0
#include "model/run.h"

#include <string.h>

#include "base/memory.h"

enum { MAX_STRING_BYTES = 1 << 30 };

static const char *const anomaly_texts[] = {
#define ANOMALY_TEXT(name, token, text) text,
    RGM_ANOMALY_CODES(ANOMALY_TEXT)
#undef ANOMALY_TEXT
};

const char *rgm_anomaly_text(rgm_anomaly code) {
    return (unsigned)code < RGM_ANOMALY_COUNT ? anomaly_texts[code] : "";
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

static rgm_status ensure_columns(rgm_run *run, rgm_error *err) {
    const uint64_t needed =
        RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns) | RGM_COLUMN_BIT(spans, name);
    for (size_t c = 0; c < rgm_spans_desc.n_columns; c++)
        if ((needed >> c) & 1u && run->spans.rows)
            RGM_TRY(rgm_table_ensure(&rgm_spans_desc, &run->spans, c, err));
    for (size_t c = 0; c < rgm_memory_desc.n_columns && run->memory.rows; c++)
        RGM_TRY(rgm_table_ensure(&rgm_memory_desc, &run->memory, c, err));
    for (size_t c = 0; c < rgm_anomalies_desc.n_columns && run->anomalies.rows; c++)
        RGM_TRY(rgm_table_ensure(&rgm_anomalies_desc, &run->anomalies, c, err));
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

rgm_status rgm_run_check(rgm_run *run, rgm_error *err) {
    RGM_TRY(ensure_columns(run, err));
    RGM_TRY(check_names(run, err));
    const rgm_spans *spans = &run->spans;
    if (spans->rows > INT32_MAX) return rgm_error_set(err, RGM_LIMIT, "%zu spans are too many", spans->rows);
    for (size_t i = 0; i < spans->rows; i++) {
        if (spans->lane && spans->lane[i] >= run->lanes.rows)
            return rgm_error_set(err, RGM_FORMAT, "span %zu is on lane %u of %zu", i, spans->lane[i],
                                 run->lanes.rows);
        if (spans->parent && (spans->parent[i] < -1 || spans->parent[i] >= (int64_t)spans->rows))
            return rgm_error_set(err, RGM_FORMAT, "span %zu has parent %d", i, spans->parent[i]);
        if (spans->duration_ns[i] < 0)
            return rgm_error_set(err, RGM_FORMAT, "span %zu has a negative duration", i);
        if (spans->start_ns[i] > INT64_MAX / 2 || spans->start_ns[i] < INT64_MIN / 2 ||
            spans->duration_ns[i] > INT64_MAX / 4)
            return rgm_error_set(err, RGM_FORMAT, "span %zu lies outside the range of times", i);
    }
    return RGM_OK;
}

rgm_status rgm_run_note(rgm_run *run, rgm_anomaly code, int64_t count, int64_t first_ns, const char *detail,
                        rgm_error *err) {
    rgm_anomalies *table = &run->anomalies;
    for (size_t c = 0; c < rgm_anomalies_desc.n_columns && table->rows; c++)
        RGM_TRY(rgm_table_ensure(&rgm_anomalies_desc, table, c, err)); // a file may lack some
    for (size_t i = 0; i < table->rows; i++) {
        if (table->code[i] != code) continue;
        if (__builtin_add_overflow(table->count[i], count, &table->count[i])) table->count[i] = INT64_MAX;
        return RGM_OK;
    }
    const char *text = detail ? detail : rgm_anomaly_text(code);
    uint32_t id;
    size_t row;
    RGM_TRY(rgm_strings_intern(&run->strings, text, strlen(text), &id, err));
    RGM_TRY(rgm_table_append(&rgm_anomalies_desc, table, RGM_ALL_COLUMNS, &row, err));
    table->code[row] = (rgm_u8)code;
    table->count[row] = count;
    table->first_ns[row] = first_ns;
    table->detail[row] = id;
    return RGM_OK;
}
