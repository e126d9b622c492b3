// SPDX-License-Identifier: Apache-2.0
// The build compiles this file with AVX-512 on x86-64.
#if defined(__AVX512F__)
#include <immintrin.h>
#define STREAM(to, value) _mm512_stream_si512((void *)(to), (__m512i)(value))
#define CHAINS 16 // of 32 registers
#define WIDTH 64
#define SET static const rgm_loops set
#define SET_NAME "avx512"
#include "calibrate/loops_body.h"
const rgm_loops *const rgm_loops_avx512 = &set;
#else
#include "calibrate/loops.h"
const rgm_loops *const rgm_loops_avx512 = NULL;
#endif
