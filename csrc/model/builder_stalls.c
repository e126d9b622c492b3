// SPDX-License-Identifier: Apache-2.0
// Samples of instructions, added up: the table `stalls`.
#include <stdlib.h>

#include "model/builder_state.h"

rgm_status rgm_builder_stall(rgm_builder *builder, const rgm_stall_row *row, rgm_error *err) {
    size_t at = builder->stalls.count;
    RGM_TRY(rgm_builder_room(&builder->stalls, at + 1, sizeof *row, err));
    rgm_stall_row *own = (rgm_stall_row *)builder->stalls.rows + at;
    *own = *row;
    own->kernel = rgm_builder_text(builder, row->kernel);
    own->reason = rgm_builder_text(builder, row->reason);
    own->file = row->line ? rgm_builder_text(builder, row->file) : 0;
    return RGM_OK;
}

#define ORDER(member)                                                                                        \
    if (x->member != y->member) return x->member < y->member ? -1 : 1

static int by_place(const void *a, const void *b) {
    const rgm_stall_row *x = a, *y = b;
    ORDER(device);
    ORDER(kernel);
    ORDER(cubin);
    ORDER(offset);
    ORDER(reason);
    ORDER(file);
    ORDER(line);
    return 0;
}

rgm_status rgm_builder_stalls(rgm_builder *builder, rgm_error *err) {
    rgm_stalls *out = &builder->run->stalls;
    rgm_stall_row *rows = builder->stalls.rows;
    size_t count = builder->stalls.count, at = 0;
    if (!count) return RGM_OK;
    qsort(rows, count, sizeof *rows, by_place);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_place(&rows[i - 1], &rows[i]) != 0) {
            RGM_TRY(rgm_table_append(&rgm_stalls_desc, out, RGM_ALL_COLUMNS, &at, err));
            out->kernel[at] = rows[i].kernel;
            out->reason[at] = rows[i].reason;
            out->offset[at] = (rgm_i64)rows[i].offset;
            out->cubin[at] = (rgm_i64)rows[i].cubin;
            out->device[at] = rows[i].device;
            out->file[at] = rows[i].file;
            out->line[at] = rows[i].line;
        }
        out->samples[at] += rows[i].samples;
        out->not_issued[at] += rows[i].not_issued;
    }
    return RGM_OK;
}
