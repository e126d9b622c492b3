// SPDX-License-Identifier: Apache-2.0
// The loops that a processor is measured with, once for each width of vectors; which set runs is decided when
// it starts. Addresses are multiples of 64, sizes of RGM_LOOP_UNIT.
#ifndef RGM_CALIBRATE_LOOPS_H
#define RGM_CALIBRATE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

enum { RGM_LOOP_UNIT = 1024, RGM_LOOP_ALIGN = 64 };

typedef struct {
    const char *name; // of the vectors: "avx2"
    void (*copy)(void *to, const void *from, size_t bytes);
    void (*triad)(double *a, const double *b, const double *c, double factor, size_t bytes); // a = b + f c
    void (*fill)(void *to, uint64_t value, size_t bytes);
    void (*update)(double *a, double factor, size_t bytes); // a = f a
    // The same past the caches; NULL where there are no such stores.
    void (*copy_past)(void *to, const void *from, size_t bytes);
    void (*triad_past)(double *a, const double *b, const double *c, double factor, size_t bytes);
    void (*fill_past)(void *to, uint64_t value, size_t bytes);
    uint64_t (*read)(const void *from, size_t bytes); // sum of all words, modulo 2^64
    // Chains of x = x * factor + term, chain k from k; returns the sum of all x less what they started from.
    // With factor and term 1 that is the number of multiply-adds, exact while a chain stays below 2^24.
    double (*chains_fp32)(uint64_t rounds, float factor, float term);
    double (*chains_fp64)(uint64_t rounds, double factor, double term);
    uint64_t steps_fp32, steps_fp64; // multiply-adds of a round
    uint64_t chains;                 // that do not depend on one another
    uint64_t depth;                  // of a chain in a round
} rgm_loops;

extern const rgm_loops rgm_loops_portable;
extern const rgm_loops *const rgm_loops_avx2; // NULL where the build has none
extern const rgm_loops *const rgm_loops_avx512;

// Every set that runs here, the widest last; returns how many there are.
enum { RGM_LOOPS_MOST = 3 };
size_t rgm_loops_here(const rgm_loops *sets[RGM_LOOPS_MOST]);

// Multiply-adds in types that only some processors have: exact count for a round, NULL and 0 where not here.
typedef struct {
    const char *source;
    const char *lacking;                // what it would take
    uint64_t steps;                     // multiply-adds of a round
    int64_t (*chains)(uint64_t rounds); // the number of multiply-adds done, as their sum shows
} rgm_narrow_loop;

rgm_narrow_loop rgm_loop_int8(void);
rgm_narrow_loop rgm_loop_bf16(void);

#endif
