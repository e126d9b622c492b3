// SPDX-License-Identifier: Apache-2.0
// 16 bytes: what every 64-bit processor has. The build lets a multiply and an add become one instruction.
#if defined(__x86_64__)
#include <immintrin.h>
#define STREAM(to, value) _mm_stream_si128((__m128i *)(to), (__m128i)(value))
#define CHAINS 12 // of 16 registers
#else
#define CHAINS 24 // of 32
#endif
#define WIDTH 16
#define SET const rgm_loops rgm_loops_portable
#define SET_NAME "16-byte vectors"
#include "calibrate/loops_body.h"
