// SPDX-License-Identifier: Apache-2.0
// What the name of a copy or set says of it: "Memcpy HtoD (Pinned -> Device)", "Memset (Device)",
// "CopyHostToDevice", "[CUDA memcpy Device-to-Host]".
#ifndef RGM_ANALYSIS_COPIES_H
#define RGM_ANALYSIS_COPIES_H

#include "analysis/view.h"

typedef struct {
    rgm_copy_direction direction;
    rgm_copy_memory source, target;
} rgm_copy;

rgm_copy rgm_copy_of(const rgm_view *view, uint32_t row);

static inline bool rgm_copy_is(const rgm_view *view, uint32_t row) {
    return rgm_view_kind(view, row) == RGM_KIND_MEMCPY || rgm_view_kind(view, row) == RGM_KIND_MEMSET;
}

#endif
