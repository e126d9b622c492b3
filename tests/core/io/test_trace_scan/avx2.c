// SPDX-License-Identifier: Apache-2.0
// The build compiles this file with AVX2 on x86-64; elsewhere it is the portable variant once more.
#ifdef __AVX2__
#define RGM_SCAN_AVX2
#endif
#define SCAN_VARIANT scan_avx2
#include "variant.h"
