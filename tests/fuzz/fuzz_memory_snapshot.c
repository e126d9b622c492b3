// SPDX-License-Identifier: Apache-2.0
// Memory snapshots as somebody with bad intentions would pickle them: read in pieces, analysed, and read
// again in one piece, which must give the same.
#include <stdio.h>
#include <string.h>

#include "../core/analysed.h"
#include "../core/pieces.h"
#include "base/crc32c.h"
#include "io/snapshot/memory_snapshot.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rgm_status read_all(const uint8_t *data, size_t size, size_t piece, rgm_run **run, rgm_error *err) {
    pieces context = {data, size, 0, piece};
    const rgm_source source = {.read = read_piece, .context = &context, .name = "fuzz"};
    rgm_error_clear(err);
    return rgm_memory_snapshot_read(&source, run, err);
}

static void analyse(const rgm_run *run) {
    static const char *const names[] = {"memory_levels", "allocations", "pools", "shortages"};
    rgm_view view = {0};
    MUST(rgm_view_init(&view, run, NULL, 0, NULL) == RGM_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int32_t by = 0; by < 3; by++)
            MUST(analysis_try(analysis_named(names[i]), &view, NULL, (rgm_question){.group_by = by}, NULL,
                              NULL) == RGM_OK);
    rgm_view_release(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rgm_error err;
    rgm_run *run = NULL, *again = NULL;
    size_t piece = 1 + rgm_crc32c(0, data, size) % 97;
    rgm_status status = read_all(data, size, piece, &run, &err);
    MUST(status == RGM_OK ? run != NULL : run == NULL);
    MUST(status == RGM_OK || status == RGM_FORMAT || status == RGM_NO_MEMORY);
    if (status == RGM_FORMAT) MUST(err.message[0] && err.offset >= 0 && err.offset <= (int64_t)size);
    int64_t offset = err.offset;
    MUST(read_all(data, size, SIZE_MAX, &again, &err) == status);
    if (status == RGM_FORMAT) MUST(err.offset == offset);
    if (run) {
        MUST(run->memory.rows == again->memory.rows && run->stacks.rows == again->stacks.rows);
        analyse(run);
    }
    rgm_run_free(run);
    rgm_run_free(again);
    return 0;
}
