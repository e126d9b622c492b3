// SPDX-License-Identifier: Apache-2.0
// Where CUPTI is looked for. Only one copy of it may live in a process, so every user of it takes this spec.
#ifndef RGM_CUDA_CUPTI_LIBRARY_H
#define RGM_CUDA_CUPTI_LIBRARY_H

#include "cuda/library/library.h"

extern const rgm_library_spec rgm_cupti_spec;

#endif
