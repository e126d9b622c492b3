// SPDX-License-Identifier: Apache-2.0
// Eight floats at once, by the compiler's vector types: AVX2 where the file is compiled for it, pairs of SSE
// registers or whatever there is elsewhere. Included by the files of this folder only.
#ifndef RGM_WORKLOADS_FAST_VECTOR_H
#define RGM_WORKLOADS_FAST_VECTOR_H

#include <stdint.h>
#include <string.h>

enum { LANES = 8 };
typedef float rgm_vec __attribute__((vector_size(32)));
typedef int32_t rgm_veci __attribute__((vector_size(32)));

// Lanes of a, then of b, by number.
#if defined(__clang__) || __GNUC__ >= 12
#define RGM_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define RGM_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (rgm_veci){__VA_ARGS__})
#endif

#define RGM_INLINE static inline __attribute__((always_inline))

RGM_INLINE rgm_vec vec_load(const float *from) {
    rgm_vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

RGM_INLINE void vec_store(float *to, rgm_vec v) { memcpy(to, &v, sizeof v); }

RGM_INLINE rgm_vec vec_of(float value) {
    return (rgm_vec){value, value, value, value, value, value, value, value};
}

RGM_INLINE float vec_sum(rgm_vec v) {
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

RGM_INLINE rgm_vec vec_select(rgm_veci mask, rgm_vec yes, rgm_vec no) {
    return (rgm_vec)((mask & (rgm_veci)yes) | (~mask & (rgm_veci)no));
}

// exp(x) with an error of some 1e-7 of its value: 2^n times the Taylor series of what is left, |r| <=
// ln(2)/2.
RGM_INLINE rgm_vec vec_exp(rgm_vec x) {
    const float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    const float rounder = 12582912.0f; // 1.5 * 2^23: adding it rounds to a whole number
    const float lowest = -87.0f, highest = 88.0f;
    x = vec_select(x < vec_of(lowest), vec_of(lowest), x);
    x = vec_select(x > vec_of(highest), vec_of(highest), x);
    rgm_vec n = (x * log2_e + rounder) - rounder;
    rgm_vec r = (x - n * ln2_high) - n * ln2_low;
    rgm_vec sum = vec_of(1.0f / 5040.0f);
    sum = sum * r + 1.0f / 720.0f;
    sum = sum * r + 1.0f / 120.0f;
    sum = sum * r + 1.0f / 24.0f;
    sum = sum * r + 1.0f / 6.0f;
    sum = sum * r + 0.5f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    rgm_veci power = (__builtin_convertvector(n, rgm_veci) + 127) << 23;
    return sum * (rgm_vec)power;
}

RGM_INLINE rgm_vec vec_sigmoid(rgm_vec x) { return 1.0f / (1.0f + vec_exp(-x)); }

RGM_INLINE rgm_vec vec_tanh(rgm_vec x) { return 1.0f - 2.0f / (1.0f + vec_exp(2.0f * x)); }

#endif
