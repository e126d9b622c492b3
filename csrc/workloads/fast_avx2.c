// SPDX-License-Identifier: Apache-2.0
// The build compiles this file with AVX2 and FMA on x86-64; elsewhere the name leads to the portable kernels.
#ifdef __AVX2__
#define RGM_FAST_KERNELS_NAME rgm_fast_kernels_avx2
#include "workloads/fast/kernels.h"
#else
#include "workloads/fast.h"

const rgm_fast_kernel *rgm_fast_kernels_avx2(void) { return rgm_fast_kernels_portable(); }
#endif
