// SPDX-License-Identifier: Apache-2.0
// Sizes of element types, under the names that torch records.
#ifndef RGM_ANALYSIS_DTYPE_H
#define RGM_ANALYSIS_DTYPE_H

#include <stddef.h>

// Bytes of one element, 0 when the name is not known. "Float", "c10::Half" and "torch.float32" are
// understood.
int rgm_dtype_bytes(const char *name, size_t length);

#endif
