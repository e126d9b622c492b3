// SPDX-License-Identifier: Apache-2.0
// Where CUPTI is looked for, and what its results mean to a user. Only one copy of it may live in a process,
// so every user of it takes this spec.
#ifndef RGM_CUDA_CUPTI_LIBRARY_H
#define RGM_CUDA_CUPTI_LIBRARY_H

#include "cuda/library/cupti_results.h"
#include "cuda/library/library.h"

extern const rgm_library_spec rgm_cupti_spec;

const char *rgm_cupti_text(rgm_cupti_result result);
// RGM_OK for success; else the status that the result calls for, with `doing` in the message and, where
// rights are missing, how to get them.
rgm_status rgm_cupti_check(rgm_cupti_result result, const char *doing, rgm_error *err) RGM_NODISCARD;

#endif
