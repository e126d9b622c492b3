// SPDX-License-Identifier: Apache-2.0
// The line of source of an instruction, where its binary was kept and has line information (nvcc -lineinfo,
// NVRTC's --generate-line-info, Triton's kernels by default). CUPTI reads it from the binary; each
// instruction is asked for once.
//
// Threads: one at a time.
#ifndef RGM_CUDA_SOURCE_LINES_H
#define RGM_CUDA_SOURCE_LINES_H

#include "cuda/sink.h"
#include "cuda/trace/cupti.h"
#include "cuda/trace/id_map.h"

enum { RGM_SOURCE_LINES_KNOWN = 1 << 20 };

typedef struct {
    const rgm_cupti *cupti;
    rgm_device_sink sink;
    rgm_id_map known; // of binary, function and offset -> file, line
    bool on;          // binaries are watched
} rgm_source_lines;

void rgm_source_lines_start(rgm_source_lines *lines, const rgm_cupti *cupti, rgm_device_sink sink);
void rgm_source_lines_stop(rgm_source_lines *lines);
// Without a call, in a child of fork.
void rgm_source_lines_release(rgm_source_lines *lines);
// Puts the string id of the file and the line, 0 and 0 where nobody knows.
void rgm_source_lines_find(rgm_source_lines *lines, const rgm_cupti_pc *pc, uint32_t *file, uint32_t *line);

#endif
