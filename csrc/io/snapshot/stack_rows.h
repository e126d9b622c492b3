// SPDX-License-Identifier: Apache-2.0
// Call stacks given as lists of frames -> rows of `stacks`, each distinct one once: a row is a function at a
// line, whose parent is the row of its caller.
#ifndef RGM_IO_STACK_ROWS_H
#define RGM_IO_STACK_ROWS_H

#include "model/run.h"

typedef struct {
    rgm_name function, file;
    int32_t line;
} rgm_stack_frame;

typedef struct {
    rgm_run *run;
    uint32_t *slots; // row + 1, 0 is free
    size_t slot_mask;
    rgm_stack_frame *frames; // distinct ones
    uint32_t *frame_slots;
    size_t n_frames, frame_room, frame_mask;
} rgm_stack_rows;

// Zero-initialised memory with a run is ready for use.
void rgm_stack_rows_release(rgm_stack_rows *rows);
// Number of a frame; equal frames have one.
rgm_status rgm_stack_rows_frame(rgm_stack_rows *rows, rgm_stack_frame frame, uint32_t *number,
                                rgm_error *err) RGM_NODISCARD;
// Row of a frame that the stack of row `parent` (-1 for none) has called.
rgm_status rgm_stack_rows_find(rgm_stack_rows *rows, int32_t parent, uint32_t frame, int32_t *row,
                               rgm_error *err) RGM_NODISCARD;

#endif
