// SPDX-License-Identifier: Apache-2.0
// The loops of one width. Included by the file of each, which is compiled for it and defines WIDTH (bytes of
// a vector), CHAINS (independent multiply-adds), SET (name of the table), SET_NAME, and STREAM(to, vector)
// where stores can go past the caches.
#include "calibrate/loops.h"

#define VECTOR(type) __attribute__((vector_size(WIDTH), may_alias)) type
#define KEEP_LOOP __asm__ volatile("" ::: "memory") // else a compiler makes a call of memcpy of it
#define STEPS 8

typedef VECTOR(uint64_t) vector_u64;
typedef VECTOR(double) vector_f64;
typedef VECTOR(float) vector_f32;

enum { LANES_32 = WIDTH / 4, LANES_64 = WIDTH / 8, AT_ONCE = RGM_LOOP_UNIT / WIDTH };

#define STORE(to, value) (*(to) = (value))

#define COPY(name, PUT)                                                                                      \
    static void name(void *to, const void *from, size_t bytes) {                                             \
        vector_u64 *out = to;                                                                                \
        const vector_u64 *in = from;                                                                         \
        for (size_t i = 0; i < bytes / WIDTH; i += 4) {                                                      \
            vector_u64 a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];                               \
            PUT(&out[i], a);                                                                                 \
            PUT(&out[i + 1], b);                                                                             \
            PUT(&out[i + 2], c);                                                                             \
            PUT(&out[i + 3], d);                                                                             \
            KEEP_LOOP;                                                                                       \
        }                                                                                                    \
        FENCE;                                                                                               \
    }

#define TRIAD(name, PUT)                                                                                     \
    static void name(double *a, const double *b, const double *c, double factor, size_t bytes) {             \
        vector_u64 *out = (vector_u64 *)(void *)a;                                                           \
        const vector_f64 *x = (const vector_f64 *)(const void *)b, *y = (const vector_f64 *)(const void *)c; \
        vector_f64 factors = (vector_f64){0} + factor;                                                       \
        for (size_t i = 0; i < bytes / WIDTH; i += 2) {                                                      \
            vector_f64 first = x[i] + factors * y[i], second = x[i + 1] + factors * y[i + 1];                \
            PUT(&out[i], (vector_u64)first);                                                                 \
            PUT(&out[i + 1], (vector_u64)second);                                                            \
            KEEP_LOOP;                                                                                       \
        }                                                                                                    \
        FENCE;                                                                                               \
    }

#define FILL(name, PUT)                                                                                      \
    static void name(void *to, uint64_t value, size_t bytes) {                                               \
        vector_u64 *out = to, words = (vector_u64){0} + value;                                               \
        for (size_t i = 0; i < bytes / WIDTH; i += 4) {                                                      \
            PUT(&out[i], words);                                                                             \
            PUT(&out[i + 1], words);                                                                         \
            PUT(&out[i + 2], words);                                                                         \
            PUT(&out[i + 3], words);                                                                         \
            KEEP_LOOP;                                                                                       \
        }                                                                                                    \
        FENCE;                                                                                               \
    }

static void update(double *a, double factor, size_t bytes) {
    vector_f64 *x = (vector_f64 *)(void *)a;
    vector_f64 factors = (vector_f64){0} + factor;
    for (size_t i = 0; i < bytes / WIDTH; i += 8) {
        for (size_t k = 0; k < 8; k++) x[i + k] *= factors;
        KEEP_LOOP;
    }
}

#define NOTHING ((void)0)
#define FENCE NOTHING
COPY(copy, STORE)
TRIAD(triad, STORE)
FILL(fill, STORE)
#undef FENCE
#ifdef STREAM
#define FENCE _mm_sfence()
COPY(copy_past, STREAM)
TRIAD(triad_past, STREAM)
FILL(fill_past, STREAM)
#undef FENCE
#else
#define copy_past NULL
#define triad_past NULL
#define fill_past NULL
#endif

static uint64_t read_words(const void *from, size_t bytes) {
    const vector_u64 *in = from;
    vector_u64 sums[8] = {{0}};
    for (size_t i = 0; i < bytes / WIDTH; i += 8)
        for (size_t k = 0; k < 8; k++) sums[k] += in[i + k];
    for (size_t k = 1; k < 8; k++) sums[0] += sums[k];
    uint64_t sum = 0;
    for (size_t lane = 0; lane < LANES_64; lane++) sum += sums[0][lane];
    return sum;
}

// Chain k starts from k: of chains that are equal a compiler makes one, which looks like many times the work.
#define CHAIN_LOOP(name, type, vector, lanes)                                                                \
    static double name(uint64_t rounds, type factor, type term) {                                            \
        vector x[CHAINS], factors = (vector){0} + factor, terms = (vector){0} + term;                        \
        for (int chain = 0; chain < CHAINS; chain++) x[chain] = (vector){0} + (type)chain;                   \
        for (uint64_t round = 0; round < rounds; round++) {                                                  \
            UNROLL for (int step = 0; step < STEPS; step++) {                                                \
                UNROLL for (int chain = 0; chain < CHAINS; chain++) x[chain] = x[chain] * factors + terms;   \
            }                                                                                                \
        }                                                                                                    \
        double sum = 0;                                                                                      \
        for (int chain = 0; chain < CHAINS; chain++)                                                         \
            for (int lane = 0; lane < (lanes); lane++) sum += (double)x[chain][lane] - chain;                \
        return sum;                                                                                          \
    }

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
CHAIN_LOOP(chains_fp32, float, vector_f32, LANES_32)
CHAIN_LOOP(chains_fp64, double, vector_f64, LANES_64)

SET = {.name = SET_NAME,
       .copy = copy,
       .triad = triad,
       .fill = fill,
       .copy_past = copy_past,
       .triad_past = triad_past,
       .fill_past = fill_past,
       .update = update,
       .read = read_words,
       .chains_fp32 = chains_fp32,
       .chains_fp64 = chains_fp64,
       .steps_fp32 = (uint64_t)CHAINS * STEPS * LANES_32,
       .steps_fp64 = (uint64_t)CHAINS * STEPS * LANES_64,
       .chains = CHAINS,
       .depth = STEPS};
