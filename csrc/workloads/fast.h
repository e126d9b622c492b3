// SPDX-License-Identifier: Apache-2.0
// The workloads on the processor, fast: vectors and threads. Each is a row of three functions beside the
// scalar reference, which stays what they are checked against.
//
// A computation is cut into phases, and a phase into items that do not depend on each other, so that threads
// can share them; phase n begins when all of phase n - 1 is done. The result does not depend on how the items
// were shared. Like the kernels of a device, the functions take the buffers in the order of the workload's
// row.
#ifndef RGM_WORKLOADS_FAST_H
#define RGM_WORKLOADS_FAST_H

#include "workloads/workload.h"

typedef struct {
    size_t (*scratch)(const double *parameters);               // bytes that `run` needs beside the buffers
    size_t (*items)(const double *parameters, unsigned phase); // none ends the phases
    void (*run)(const double *parameters, void *const *buffers, void *scratch, unsigned phase, size_t begin,
                size_t end);
} rgm_fast_kernel;

// X(name, what it is compiled for). Best first.
#define RGM_FAST_SETS(X)                                                                                     \
    X(avx2, "AVX2 and FMA")                                                                                  \
    X(portable, "the baseline of the architecture")

typedef struct {
    const char *name;
    const rgm_fast_kernel *(*kernels)(void); // one a workload, in the order of RGM_WORKLOADS
} rgm_fast_set;

#define RGM_FAST_KERNELS(name, doc) const rgm_fast_kernel *rgm_fast_kernels_##name(void);
RGM_FAST_SETS(RGM_FAST_KERNELS)
#undef RGM_FAST_KERNELS

// The set of that name, NULL when there is none or this processor cannot run it; without a name the best.
const rgm_fast_set *rgm_fast_set_find(const char *name);
const rgm_fast_kernel *rgm_fast_find(const rgm_fast_set *set, const rgm_workload *workload);

#endif
