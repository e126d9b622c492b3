// SPDX-License-Identifier: Apache-2.0
// Snapshots of torch's caching allocator (torch.cuda.memory._dump_snapshot) -> Run.
//
// The history of the allocator becomes `memory`, what it held at the end `segments` and `blocks`, call stacks
// `stacks`. Times are those of the allocator, from the first one on. The snapshot is a pickle, which is read
// without executing anything (pickle.h); memory is bounded by the columns, the distinct texts and stacks, and
// 16 bytes a container of the pickle.
#ifndef RGM_IO_MEMORY_SNAPSHOT_H
#define RGM_IO_MEMORY_SNAPSHOT_H

#include "io/source.h"
#include "model/run.h"

// RGM_FORMAT with a byte offset for a pickle that is damaged, refused or no snapshot.
rgm_status rgm_memory_snapshot_read(const rgm_source *source, rgm_run **run, rgm_error *err) RGM_NODISCARD;

#endif
