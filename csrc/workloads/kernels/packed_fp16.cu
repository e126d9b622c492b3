// SPDX-License-Identifier: Apache-2.0
// Peak of the packed half-precision pipe. As in arithmetic.cu, but every instruction works on two values: one
// thread does 8 * 16 * rounds packed multiply-adds, four operations each. `factor` and `term` are pairs of
// halves.
#include "device/kernel.cuh"

#define CHAINS 8
#define STEPS 16

RGM_KERNEL rgm_fma_fp16(unsigned *__restrict__ out, unsigned factor, unsigned term, int rounds) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x[CHAINS], mixed = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++) x[chain] = (thread % 64 + chain) * 0x00010001u;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
#pragma unroll
            for (int chain = 0; chain < CHAINS; chain++)
                asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x[chain]) : "r"(factor), "r"(term));
        }
    }
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++) mixed ^= x[chain];
    out[thread] = mixed;
}
