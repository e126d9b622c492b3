// SPDX-License-Identifier: Apache-2.0
// The first lags are sums over the whole series. Where the window is longer, as that of a machine that
// drifts, all lags below a power of two come at once from Fourier transforms of blocks that long: each block
// is correlated with what begins where it begins, twice as long, and the spectra are added up.
#include "compare/autocorrelation.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "compare/ranks.h"

enum { DIRECT = 64, FURTHER = 4 };
static const double pi = 3.14159265358979323846;

typedef struct {
    double re, im;
} point;

typedef struct {
    const double *values;
    size_t count;
    double *sums; // of the products at each lag below `lags`, a power of two
    size_t lags;
} lagged;

// --- Fourier transform ------------------------------------------------------------------------------------

static void reverse_bits(point *z, size_t count) {
    for (size_t i = 1, j = 0; i < count; i++) {
        size_t bit = count >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        point kept = z[i];
        z[i] = z[j];
        z[j] = kept;
    }
}

// Cooley and Tukey 1965, in place; the count is a power of two, and half as many roots of one are given.
static void transform(point *z, size_t count, const point *roots) {
    reverse_bits(z, count);
    for (size_t half = 1, step = count / 2; half < count; half *= 2, step /= 2)
        for (size_t from = 0; from < count; from += 2 * half)
            for (size_t k = 0; k < half; k++) {
                point *low = &z[from + k], *high = low + half, root = roots[k * step];
                point turned = {high->re * root.re - high->im * root.im,
                                high->re * root.im + high->im * root.re};
                *high = (point){low->re - turned.re, low->im - turned.im};
                *low = (point){low->re + turned.re, low->im + turned.im};
            }
}

// --- sums of products -------------------------------------------------------------------------------------

// The block is the real part, what it is correlated with the imaginary one: two transforms in one.
static void fill(const lagged *l, size_t from, point *z) {
    for (size_t i = 0; i < 2 * l->lags; i++) {
        double value = from + i < l->count ? l->values[from + i] : 0;
        z[i] = (point){i < l->lags ? value : 0, value};
    }
}

static void add_spectrum(const point *z, size_t size, point *total) {
    for (size_t k = 0; k < size; k++) {
        point one = z[k], mirrored = z[(size - k) & (size - 1)];
        point block = {(one.re + mirrored.re) / 2, (one.im - mirrored.im) / 2};
        point series = {(one.im + mirrored.im) / 2, (mirrored.re - one.re) / 2};
        total[k].re += block.re * series.re + block.im * series.im;
        total[k].im += block.re * series.im - block.im * series.re;
    }
}

static rgm_status sum_products(lagged *l, rgm_error *err) {
    size_t size = 2 * l->lags;
    point *roots = rgm_malloc(size / 2 * sizeof *roots), *z = rgm_malloc(size * sizeof *z);
    point *total = rgm_calloc(size, sizeof *total);
    double *sums = rgm_realloc(l->sums, l->lags * sizeof *sums);
    l->sums = sums ? sums : l->sums;
    bool enough = roots && z && total && sums;
    for (size_t k = 0; enough && k < size / 2; k++)
        roots[k] = (point){cos(2 * pi * (double)k / (double)size), -sin(2 * pi * (double)k / (double)size)};
    for (size_t from = 0; enough && from < l->count; from += l->lags) {
        fill(l, from, z);
        transform(z, size, roots);
        add_spectrum(z, size, total);
    }
    if (enough) {
        for (size_t k = 0; k < size; k++) total[k].im = -total[k].im; // backward is forward of the conjugates
        transform(total, size, roots);
        for (size_t lag = 0; lag < l->lags; lag++) sums[lag] = total[lag].re / (double)size;
    }
    rgm_free(roots);
    rgm_free(z);
    rgm_free(total);
    return enough ? RGM_OK : rgm_error_no_memory(err);
}

static rgm_status product_at(lagged *l, size_t lag, double *product, rgm_error *err) {
    *product = 0;
    if (lag < DIRECT) {
        for (size_t i = 0; i + lag < l->count; i++) *product += l->values[i] * l->values[i + lag];
        return RGM_OK;
    }
    if (lag >= l->lags) {
        l->lags = (l->lags ? l->lags : DIRECT) * FURTHER;
        RGM_TRY(sum_products(l, err));
    }
    *product = l->sums[lag];
    return RGM_OK;
}

// --- time -------------------------------------------------------------------------------------------------

rgm_status rgm_autocorrelation_time(const double *values, size_t count, double *time, rgm_error *err) {
    *time = 1.0;
    if (count < 4) return RGM_OK;
    double *ranks = rgm_malloc(count * sizeof *ranks), ties, variance = 0, product;
    if (!ranks) return rgm_error_no_memory(err);
    lagged l = {.values = ranks, .count = count};
    rgm_status status;
    RGM_GOTO(rgm_mid_ranks(values, count, ranks, &ties, err));
    double mean = (double)(count + 1) / 2;
    for (size_t i = 0; i < count; i++) {
        ranks[i] -= mean;
        variance += ranks[i] * ranks[i];
    }
    for (size_t lag = 1; variance > 0 && lag < count / 2; lag++) {
        RGM_GOTO(product_at(&l, lag, &product, err));
        *time += 2 * product / variance;
        if ((double)lag >= 5 * *time) break;
    }
    *time = fmax(*time, 1.0);
done:
    rgm_free(l.sums);
    rgm_free(ranks);
    return status;
}
