// SPDX-License-Identifier: Apache-2.0
// Tensor cores of compute capability 8.9 and 12.x: 8-bit floating point (e4m3). It compiles for 9.0 and 10.x too, into
// fp16 products whose rate says nothing of fp8 (calibrate/device_compute.c leaves it out there).
//
// A warp-wide mma.sync multiplies an M x K by a K x N fragment and adds it to one of eight accumulators, so
// eight products are under way. Every register of both fragments holds `pattern`, equal finite values v: an
// element of the result is then rounds * K * v * v, and a thread's sum over its accumulators is known. The
// rate of this instruction is the whole peak. Operations of one warp and round are 8 * 2 * M * N * K: rgm_mma_fp8: 65536.
#include "device/kernel.cuh"

#define CHAINS 8

RGM_KERNEL rgm_mma_fp8(float *__restrict__ out, unsigned pattern, int rounds) {
    float x[CHAINS][4], sum = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
        for (int i = 0; i < 4; i++) x[chain][i] = 0;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int chain = 0; chain < CHAINS; chain++)
            asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(x[chain][0]), "+f"(x[chain][1]), "+f"(x[chain][2]), "+f"(x[chain][3])
                         : "r"(pattern), "r"(pattern), "r"(pattern), "r"(pattern), "r"(pattern),
                           "r"(pattern));
    }
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
        for (int i = 0; i < 4; i++) sum += x[chain][i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
