// SPDX-License-Identifier: Apache-2.0
// The double of a driver from before CUDA 11.1: no ids of contexts, no flags of event records.
#define FAKE_CUDA_OLDER 1
#include "cuda.c"
