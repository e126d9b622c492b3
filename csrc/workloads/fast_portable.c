// SPDX-License-Identifier: Apache-2.0
#define RGM_FAST_KERNELS_NAME rgm_fast_kernels_portable
#include "workloads/fast/kernels.h"
