// SPDX-License-Identifier: Apache-2.0
// Records of memory that CUDA gave out and took back, and of its pools. A part of activity_parse.
//
// Memory of the host (pageable, pinned) belongs to no device, whatever context asked for it. What is given
// back is told by its address: the record of the end need not repeat the kind, the device or the size.
#ifndef RGM_CUDA_ACTIVITY_MEMORY_H
#define RGM_CUDA_ACTIVITY_MEMORY_H

#include "cuda/trace/activity_parse.h"

// False when the record is cut off.
bool rgm_activity_memory_read(rgm_activity_parser *parser, const void *record, size_t room);
bool rgm_activity_pool_read(rgm_activity_parser *parser, const void *record, size_t room);
// Gives what has been read to the sink.
void rgm_activity_memory_give(rgm_activity_parser *parser);

#endif
