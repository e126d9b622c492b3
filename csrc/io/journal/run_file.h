// SPDX-License-Identifier: Apache-2.0
// Reading journals and saved runs into a Run, and saving a Run. See io/journal/frame.h for the format.
#ifndef RGM_IO_RUN_FILE_H
#define RGM_IO_RUN_FILE_H

#include "io/journal/frame.h"
#include "model/builder.h"
#include "model/run.h"

rgm_status rgm_run_load(const char *path, rgm_load_mode mode, rgm_run **run, rgm_error *err) RGM_NODISCARD;
// Writes atomically: a temporary file beside the target, then rename.
rgm_status rgm_run_save(rgm_run *run, const char *path, rgm_error *err) RGM_NODISCARD;
// Counts what a reader that recovers has found in the anomalies.
#define RGM_FRAME_DAMAGE(X)                                                                                  \
    X(bytes, CORRUPT_BYTES)                                                                                  \
    X(missing, MISSING_BLOCKS)                                                                               \
    X(doubled, DOUBLED_BLOCKS)                                                                               \
    X(displaced, DISPLACED_BLOCKS)                                                                           \
    X(foreign, FOREIGN_BLOCKS)
// Feeds the frames of an open journal to a builder; *complete tells whether it had been closed.
rgm_status rgm_journal_read(rgm_frame_reader *reader, rgm_builder *builder, bool *complete,
                            rgm_error *err) RGM_NODISCARD;

#endif
