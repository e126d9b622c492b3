// SPDX-License-Identifier: Apache-2.0
// int8 and bf16 on processors: only where one instruction multiplies and adds in the type.
#include "calibrate/loops.h"

#if defined(__x86_64__) && ((defined(__GNUC__) && __GNUC__ >= 12) || defined(__clang__))
#define NARROW 1
#include <immintrin.h>
#endif

#ifdef NARROW
enum { CHAINS = 16, INT8_PAIRS = 64, INT8_LANES = 16, BF16_PAIRS = 32 };

// Chain k starts from k, or a compiler makes one of all. A 32-bit lane adds four products of 1 and 1 a step.
__attribute__((target("avx512f,avx512vnni"))) static int64_t chains_int8(uint64_t rounds) {
    __m512i x[CHAINS], ones = _mm512_set1_epi8(1);
    for (int chain = 0; chain < CHAINS; chain++) x[chain] = _mm512_set1_epi32(chain);
    for (uint64_t round = 0; round < rounds; round++) {
        for (int chain = 0; chain < CHAINS; chain++) x[chain] = _mm512_dpbusd_epi32(x[chain], ones, ones);
        __asm__ volatile("" : "+v"(ones));
    }
    int64_t sum = 0;
    for (int chain = 0; chain < CHAINS; chain++)
        sum += _mm512_reduce_add_epi32(x[chain]) - INT8_LANES * chain;
    return sum;
}

// A 32-bit lane adds two products of 1 and 1 a step, exact below 2^24.
__attribute__((target("avx512f,avx512bf16"))) static int64_t chains_bf16(uint64_t rounds) {
    __m512i bits = _mm512_set1_epi16(0x3f80); // 1 in bfloat16
    __m512 x[CHAINS];
    for (int chain = 0; chain < CHAINS; chain++) x[chain] = _mm512_set1_ps((float)chain);
    for (uint64_t round = 0; round < rounds; round++) {
        for (int chain = 0; chain < CHAINS; chain++)
            x[chain] = _mm512_dpbf16_ps(x[chain], (__m512bh)bits, (__m512bh)bits);
        __asm__ volatile("" : "+v"(bits));
    }
    double sum = 0;
    for (int chain = 0; chain < CHAINS; chain++)
        for (int lane = 0; lane < 16; lane++) sum += (double)x[chain][lane] - chain;
    return (int64_t)sum;
}
#endif

rgm_narrow_loop rgm_loop_int8(void) {
    rgm_narrow_loop loop = {.source = "own loop (avx512 vnni)",
                            .lacking = "this processor has no dot product of 8-bit integers (AVX-512 VNNI)"};
#ifdef NARROW
    if (__builtin_cpu_supports("avx512vnni")) {
        loop.chains = chains_int8;
        loop.steps = (uint64_t)CHAINS * INT8_PAIRS;
    }
#endif
    return loop;
}

rgm_narrow_loop rgm_loop_bf16(void) {
    rgm_narrow_loop loop = {.source = "own loop (avx512 bf16)",
                            .lacking = "this processor has no dot product in bfloat16 (AVX-512 BF16)"};
#ifdef NARROW
    if (__builtin_cpu_supports("avx512bf16")) {
        loop.chains = chains_bf16;
        loop.steps = (uint64_t)CHAINS * BF16_PAIRS;
    }
#endif
    return loop;
}
