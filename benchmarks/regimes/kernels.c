// SPDX-License-Identifier: Apache-2.0
// Loops whose limit is known by construction: built by cases_c.py with the system's compiler.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n) {
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}

void copy(double *a, const double *b, size_t n) { memcpy(a, b, n * sizeof *a); }
void fill(double *a, size_t n) { memset(a, 1, n * sizeof *a); }

void scale(float *restrict a, const float *restrict b, size_t n) {
    for (size_t i = 0; i < n; i++) a[i] = 3.0f * b[i];
}

// Thirty-two sums, so that no addition waits for the one before.
double total(const float *a, size_t n) {
    float sums[32] = {0};
    for (size_t i = 0; i + 32 <= n; i += 32)
        for (size_t k = 0; k < 32; k++) sums[k] += a[i + k];
    double sum = 0;
    for (size_t k = 0; k < 32; k++) sum += sums[k];
    return sum;
}

// Each load gives the address of the next. A call goes on where the last one ended: one that began anew would go over
// the same lines again, which by then are in a cache.
uint32_t chase(const uint32_t *next, uint32_t *at, size_t steps) {
    uint32_t here = *at;
    for (size_t i = 0; i < steps; i++) here = next[here];
    return *at = here;
}

// Eight independent chains of multiply-adds in vector registers, no memory traffic: 64 operations a turn.
typedef double lane __attribute__((vector_size(32)));
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define START(k) lane v##k = {1.0 + k, 1.1 + k, 1.2 + k, 1.3 + k};
#define STEP(k) v##k = v##k * 0.999 + 0.001;
#define ADD(k) +v##k[0] + v##k[1] + v##k[2] + v##k[3]
double arithmetic(size_t turns) {
    CHAINS(START)
    for (size_t t = 0; t < turns; t++) {
        CHAINS(STEP)
    }
    return 0.0 CHAINS(ADD);
}

int nothing(void) { return 0; }
