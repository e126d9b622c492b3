// SPDX-License-Identifier: Apache-2.0
// Names of device work as users know them: kernels demangled, copies and sets as torch.profiler writes them.
//
// Threads: one at a time.
#ifndef RGM_CUDA_ACTIVITY_NAMES_H
#define RGM_CUDA_ACTIVITY_NAMES_H

#include "cuda/sink.h"
#include "cuda/trace/id_map.h"

enum { RGM_ACTIVITY_KERNELS_KNOWN = 65536, RGM_ACTIVITY_NAME_MOST = 4096 };

typedef struct {
    rgm_device_sink sink;
    rgm_id_map kernels;       // address of the name -> string id, hash of the text
    uint32_t copies[11 * 64]; // string id + 1 by kind of copy and of the two memories
    uint32_t sets[8];
    uint32_t syncs[5];
    uint32_t overheads[10];
    uint32_t memories[8];
} rgm_activity_names;

void rgm_activity_names_init(rgm_activity_names *names, rgm_device_sink sink);
void rgm_activity_names_release(rgm_activity_names *names);
// String ids of the sink. `address` tells names apart quickly; a text that has changed there is noticed.
uint32_t rgm_activity_kernel_name(rgm_activity_names *names, uint64_t address, const char *text);
uint32_t rgm_activity_copy_name(rgm_activity_names *names, unsigned copy, unsigned from, unsigned to);
uint32_t rgm_activity_set_name(rgm_activity_names *names, unsigned memory);
uint32_t rgm_activity_memory_name(rgm_activity_names *names, unsigned memory);
uint32_t rgm_activity_sync_name(rgm_activity_names *names, unsigned type);
uint32_t rgm_activity_overhead_name(rgm_activity_names *names, unsigned kind);
uint32_t rgm_activity_graph_name(rgm_activity_names *names, uint32_t graph);

// Writes the demangled name, or the name itself where it is not mangled, too long, or no demangler is there.
// Returns the length; the text is cut at `room`.
size_t rgm_activity_demangle(const char *name, char *text, size_t room);

#endif
