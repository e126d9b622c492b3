// SPDX-License-Identifier: Apache-2.0
// The build compiles this file with AVX2 and FMA on x86-64.
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define STREAM(to, value) _mm256_stream_si256((__m256i *)(to), (__m256i)(value))
#define CHAINS 12 // of 16 registers; two units with a latency of 4 or 5 need 10
#define WIDTH 32
#define SET static const rgm_loops set
#define SET_NAME "avx2"
#include "calibrate/loops_body.h"
const rgm_loops *const rgm_loops_avx2 = &set;
#else
#include "calibrate/loops.h"
const rgm_loops *const rgm_loops_avx2 = NULL;
#endif
