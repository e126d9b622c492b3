// SPDX-License-Identifier: Apache-2.0
// Reading journals and saved runs into a Run, and saving a Run. See io/frame.h for the format.
#ifndef RGM_IO_RUN_FILE_H
#define RGM_IO_RUN_FILE_H

#include "model/builder.h"
#include "model/run.h"

typedef enum {
    RGM_LOAD_STRICT,  // a damaged or cut block is an error with its offset
    RGM_LOAD_RECOVER, // damage is skipped and counted in the anomalies
} rgm_load_mode;

rgm_status rgm_run_load(const char *path, rgm_load_mode mode, rgm_run **run, rgm_error *err) RGM_NODISCARD;
// Writes atomically: a temporary file beside the target, then rename.
rgm_status rgm_run_save(rgm_run *run, const char *path, rgm_error *err) RGM_NODISCARD;
// Feeds the frames of a journal to a builder; *complete tells whether it had been closed.
rgm_status rgm_journal_read(const char *path, rgm_load_mode mode, rgm_builder *builder, bool *complete,
                            rgm_error *err) RGM_NODISCARD;

#endif
