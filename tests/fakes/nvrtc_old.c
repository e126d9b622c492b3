// SPDX-License-Identifier: Apache-2.0
// NVRTC before 11.1: no machine code, no list of architectures.
#define FAKE_NVRTC_OLD
#include "nvrtc.c"
