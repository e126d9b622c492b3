// SPDX-License-Identifier: Apache-2.0
// A Run: an environment description plus columnar tables. A live capture, an imported trace and a stored
// run are all this type. Built by one owner, read-only afterwards; readers may then share it freely.
#ifndef RGM_MODEL_RUN_H
#define RGM_MODEL_RUN_H

#include "base/status.h"
#include "base/strings.h"
#include "model/table.h"

typedef struct {
    rgm_strings strings;
#define RGM_RUN_MEMBER(table, LIST, doc) rgm_##table table;
    RGM_RUN_TABLES(RGM_RUN_MEMBER)
#undef RGM_RUN_MEMBER
    char *environment;     // JSON object text, never NULL
    char *source;          // live, journal, run, export
    int64_t start_ns;      // CLOCK_MONOTONIC when recording began
    int64_t end_ns;        // and when it ended, or when the last block was written
    int64_t start_unix_ns; // wall clock at start_ns, -1 when unknown
    bool complete;         // the recording was closed properly
} rgm_run;

// Columns of `memory` that snapshots of an allocator and memory of CUDA fill; elsewhere they have no memory
// of their own.
#define RGM_MEMORY_OF_SNAPSHOTS                                                                              \
    (RGM_COLUMN_BIT(memory, stream) | RGM_COLUMN_BIT(memory, stack) | RGM_COLUMN_BIT(memory, device_free) |  \
     RGM_COLUMN_BIT(memory, note) | RGM_COLUMN_BIT(memory, category) | RGM_COLUMN_BIT(memory, pool))

rgm_status rgm_run_new(rgm_run **run, rgm_error *err) RGM_NODISCARD;
void rgm_run_free(rgm_run *run);
rgm_status rgm_run_set_text(char **field, const char *text, size_t length, rgm_error *err) RGM_NODISCARD;
void *rgm_run_table(rgm_run *run, const rgm_table_desc *desc);

// For rows that came from outside: materialises the columns that every analysis relies on and checks that all
// ids and row numbers are in range.
rgm_status rgm_run_check(rgm_run *run, rgm_error *err) RGM_NODISCARD;

// Adds to the anomaly of that code, or appends it; the detail is the code's standing text unless given.
rgm_status rgm_run_note(rgm_run *run, rgm_anomaly code, int64_t count, int64_t first_ns, const char *detail,
                        rgm_error *err) RGM_NODISCARD;
// The same for what was found in an input file: `lost` of its rows are not in the run, `offset` is the first
// place.
rgm_status rgm_run_note_input(rgm_run *run, rgm_anomaly code, int64_t count, int64_t lost, int64_t offset,
                              const char *detail, rgm_error *err) RGM_NODISCARD;
const char *rgm_anomaly_text(rgm_anomaly code);

#endif
