// SPDX-License-Identifier: Apache-2.0
// Runs of few rows, put together by hand. Columns that are not named here have their defaults.
#ifndef RGM_TEST_SMALL_RUNS_H
#define RGM_TEST_SMALL_RUNS_H

#include <stdlib.h>
#include <string.h>

#include "model/run.h"

static inline rgm_run *run_of_lanes(size_t lanes) {
    rgm_run *run = NULL;
    size_t row;
    if (rgm_run_new(&run, NULL) != RGM_OK) abort();
    for (size_t i = 0; i < lanes; i++)
        if (rgm_table_append(&rgm_lanes_desc, &run->lanes, RGM_ALL_COLUMNS, &row, NULL) != RGM_OK) abort();
    return run;
}

// For tests in which an allocation may fail.
static inline rgm_status span_try(rgm_run *run, rgm_kind kind, const char *name, uint32_t lane, int64_t start,
                                  int64_t duration, size_t *row) {
    rgm_spans *s = &run->spans;
    RGM_TRY(rgm_table_append(&rgm_spans_desc, s, RGM_ALL_COLUMNS, row, NULL));
    s->kind[*row] = (rgm_u8)kind;
    s->lane[*row] = lane;
    s->start_ns[*row] = start;
    s->duration_ns[*row] = duration;
    return rgm_strings_intern(&run->strings, name, strlen(name), &s->name[*row], NULL);
}

static inline size_t span_add(rgm_run *run, rgm_kind kind, const char *name, uint32_t lane, int64_t start,
                              int64_t duration) {
    size_t row;
    if (span_try(run, kind, name, lane, start, duration, &row) != RGM_OK) abort();
    return row;
}

#endif
