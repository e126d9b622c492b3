// SPDX-License-Identifier: Apache-2.0
// One table of a run as CSV: a line of column names, then rows; names as text, quoted as RFC 4180 has it
// where they hold a separator, a quote, a line end or a space at an end; floating-point values that are not
// known are empty.
#include <math.h>

#include "base/utf8.h"
#include "io/export/export.h"
#include "io/json/json_write.h"

static bool needs_quotes(rgm_string text) {
    if (!text.length) return false;
    if (text.data[0] == ' ' || text.data[text.length - 1] == ' ') return true;
    for (uint32_t i = 0; i < text.length; i++)
        if (text.data[i] == ',' || text.data[i] == '"' || text.data[i] == '\n' || text.data[i] == '\r')
            return true;
    return false;
}

static void put_text(rgm_output *out, rgm_string text) {
    const unsigned char *at = (const unsigned char *)text.data, *end = at + text.length;
    bool quotes = needs_quotes(text);
    if (quotes) rgm_output_byte(out, '"');
    while (at < end) {
        size_t good = rgm_utf8_length(at, end);
        if (!good) RGM_OUTPUT_LITERAL(out, "\xEF\xBF\xBD");
        if (*at == '"') rgm_output_byte(out, '"');
        rgm_output_append(out, at, good);
        at += good ? good : 1;
    }
    if (quotes) rgm_output_byte(out, '"');
}

static void put_cell(rgm_output *out, const rgm_run *run, rgm_type type, const void *column, size_t row) {
    switch (type) {
    case RGM_TYPE_i64: rgm_write_i64(out, ((const int64_t *)column)[row]); break;
    case RGM_TYPE_u32: rgm_write_i64(out, ((const uint32_t *)column)[row]); break;
    case RGM_TYPE_i32: rgm_write_i64(out, ((const int32_t *)column)[row]); break;
    case RGM_TYPE_i16: rgm_write_i64(out, ((const int16_t *)column)[row]); break;
    case RGM_TYPE_u8: rgm_write_i64(out, ((const uint8_t *)column)[row]); break;
    case RGM_TYPE_name:
        put_text(out, rgm_strings_view(&run->strings, ((const uint32_t *)column)[row]));
        break;
    case RGM_TYPE_f64: {
        double value = ((const double *)column)[row];
        if (isinf(value))
            rgm_output_append(out, value < 0 ? "-inf" : "inf", value < 0 ? 4 : 3);
        else if (!isnan(value))
            rgm_write_f64(out, value);
        break;
    }
    case RGM_TYPE_COUNT: break;
    }
}

static void put_missing(rgm_output *out, const rgm_column_desc *column) {
    if (column->type != RGM_TYPE_name && !isnan(column->missing)) rgm_write_f64(out, column->missing);
}

static void put_row(rgm_output *out, const rgm_run *run, const rgm_table_desc *desc, const void *table,
                    size_t row) {
    for (size_t c = 0; c < desc->n_columns; c++) {
        const void *column = rgm_table_column(desc, table, c);
        if (c) rgm_output_byte(out, ',');
        if (column)
            put_cell(out, run, desc->columns[c].type, column, row);
        else
            put_missing(out, &desc->columns[c]);
    }
    rgm_output_byte(out, '\n');
}

rgm_status rgm_export_csv(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err) {
    const rgm_table_desc *desc = NULL;
    for (size_t t = 0; t < rgm_run_tables_count; t++)
        if (strcmp(rgm_run_tables[t]->name, option ? option : "spans") == 0) desc = rgm_run_tables[t];
    if (!desc) return rgm_error_set(err, RGM_INVALID, "a run has no table '%s'", option);
    const void *table = (const char *)run + desc->offset;
    for (size_t c = 0; c < desc->n_columns; c++) {
        if (c) rgm_output_byte(out, ',');
        rgm_output_append(out, desc->columns[c].name, strlen(desc->columns[c].name));
    }
    rgm_output_byte(out, '\n');
    for (size_t row = 0; row < ((const rgm_table *)table)->rows && out->status == RGM_OK; row++)
        put_row(out, run, desc, table, row);
    return RGM_OK;
}
