// SPDX-License-Identifier: Apache-2.0
// Peak of the scalar pipes: eight independent chains of fused multiply-adds a thread, enough to cover the
// latency of four to six cycles with one warp a scheduler. One thread does 8 * 16 * rounds multiply-adds, two
// operations each; the loop over rounds is not unrolled, so that its body stays in the cache of instructions.
// A chain is x = x * factor + term from x = thread % 64 + chain / 8, so its value has a closed form.
#include "device/kernel.cuh"

#define CHAINS 8
#define STEPS 16

#define PEAK_FMA(name, type, fused)                                                                          \
    RGM_KERNEL name(type *__restrict__ out, type factor, type term, int rounds) {                            \
        unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        type x[CHAINS], sum = 0;                                                                             \
        _Pragma("unroll") for (int chain = 0; chain < CHAINS; chain++) x[chain] =                            \
            (type)(thread % 64) + (type)chain / CHAINS;                                                      \
        _Pragma("unroll 1") for (int round = 0; round < rounds; round++) {                                   \
            _Pragma("unroll") for (int step = 0; step < STEPS; step++) {                                     \
                _Pragma("unroll") for (int chain = 0; chain < CHAINS; chain++) x[chain] =                    \
                    fused(x[chain], factor, term);                                                           \
            }                                                                                                \
        }                                                                                                    \
        _Pragma("unroll") for (int chain = 0; chain < CHAINS; chain++) sum += x[chain];                      \
        out[thread] = sum;                                                                                   \
    }

PEAK_FMA(rgm_fma_fp32, float, fmaf)
PEAK_FMA(rgm_fma_fp64, double, fma)
