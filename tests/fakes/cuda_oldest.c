// SPDX-License-Identifier: Apache-2.0
// The double of a driver from before CUDA 10.1, which also cannot query events beside a stream capture.
#define FAKE_CUDA_OLDER 1
#define FAKE_CUDA_OLDEST 1
#include "cuda.c"
