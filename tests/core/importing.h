// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests that import traces: text to Run, two Runs compared cell by cell, small random numbers.
#ifndef RGM_TEST_IMPORTING_H
#define RGM_TEST_IMPORTING_H

#include "io/trace/trace_import.h"
#include "random.h"
#include "recording.h"

UNUSED static uint64_t random_state = 1;

UNUSED static uint64_t random_below(uint64_t limit) { return (random_step(&random_state) >> 33) % limit; }

UNUSED static rgm_run *import_with(const char *text, rgm_import_options options) {
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_trace_import_bytes((const uint8_t *)text, strlen(text), "test", &options, &run, &err) != RGM_OK)
        HARNESS_FAIL("not imported: %s", err.message);
    return run;
}

UNUSED static rgm_run *import_text(const char *text) {
    return import_with(text, (rgm_import_options){.threads = 1});
}

// The first difference of two runs that ought to be the same, NULL for none. Strings are compared as text.
UNUSED static const char *difference(rgm_run *a, rgm_run *b) {
    static char what[128];
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        rgm_table *left = rgm_run_table(a, desc), *right = rgm_run_table(b, desc);
        if (left->rows != right->rows) {
            (void)snprintf(what, sizeof what, "rows of %s: %zu and %zu", desc->name, left->rows, right->rows);
            return what;
        }
        for (size_t c = 0; left->rows && c < desc->n_columns; c++) {
            if (!rgm_table_column(desc, left, c) && !rgm_table_column(desc, right, c)) continue;
            if (rgm_table_ensure(desc, left, c, NULL) != RGM_OK ||
                rgm_table_ensure(desc, right, c, NULL) != RGM_OK)
                return "no memory";
            size_t size = rgm_types[desc->columns[c].type].size;
            const char *x = rgm_table_column(desc, left, c), *y = rgm_table_column(desc, right, c);
            bool names = desc->columns[c].type == RGM_TYPE_name;
            for (size_t i = 0; i < left->rows; i++, x += size, y += size) {
                bool same = names ? strcmp(text_of(a, *(const rgm_name *)(const void *)x),
                                           text_of(b, *(const rgm_name *)(const void *)y)) == 0
                                  : memcmp(x, y, size) == 0;
                if (same) continue; // what differs is put in words only where something does: cells are many
                (void)snprintf(what, sizeof what, "%s.%s in row %zu", desc->name, desc->columns[c].name, i);
                return what;
            }
        }
    }
    if (strcmp(a->environment, b->environment) != 0) return "environment";
    if (a->start_ns != b->start_ns || a->end_ns != b->end_ns || a->complete != b->complete) return "bounds";
    return NULL;
}

#define CHECK_SAME_RUN(a, b, ...)                                                                            \
    do {                                                                                                     \
        const char *difference_ = difference(a, b);                                                          \
        if (difference_) {                                                                                   \
            HARNESS_FAIL("runs differ in %s", difference_);                                                  \
            fprintf(stderr, __VA_ARGS__);                                                                    \
            fputc('\n', stderr);                                                                             \
        }                                                                                                    \
    } while (0)

#endif
