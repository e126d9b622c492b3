// SPDX-License-Identifier: Apache-2.0
// A histogram that slides along a row, as on a device, with two savings: the sum of c log2(c) over its counts
// goes along (in whole numbers, so that nothing drifts), and a pixel that leaves and one of the same level
// that comes in its row change nothing. Levels are kept column by column, so that a column of the window lies
// together.
#ifndef RGM_WORKLOADS_FAST_PIXEL_ENTROPY_H
#define RGM_WORKLOADS_FAST_PIXEL_ENTROPY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "workloads/fast.h"

enum { ENTROPY_LEVELS = 256, ENTROPY_COUNTS = 32 * 32 + 2, ENTROPY_STRIP = 16, ENTROPY_WORD = 8 };
static const double entropy_one = 1099511627776.0; // 2^40; sums stay below 2^54

// Scratch: c log2(c) for every count, then the levels.
typedef struct {
    const uint8_t *levels;
    const int64_t *weighed;
    ptrdiff_t height, width, window, half;
    ptrdiff_t top, bottom; // rows of the window inside the image
} entropy_job;

typedef struct {
    int counts[ENTROPY_LEVELS];
    int64_t sum;
} entropy_histogram;

static size_t pixel_entropy_scratch(const double *p) {
    return ENTROPY_COUNTS * sizeof(int64_t) + (size_t)p[0] * (size_t)p[1];
}

static size_t pixel_entropy_items(const double *p, unsigned phase) {
    if (phase == 0) return ((size_t)p[0] + ENTROPY_STRIP - 1) / ENTROPY_STRIP;
    return phase == 1 ? (size_t)p[0] : 0;
}

static void entropy_levels_of(const float *image, uint8_t *levels, const double *p, size_t strip) {
    ptrdiff_t height = (ptrdiff_t)p[0], width = (ptrdiff_t)p[1], top = (ptrdiff_t)strip * ENTROPY_STRIP;
    ptrdiff_t rows = height - top < ENTROPY_STRIP ? height - top : ENTROPY_STRIP;
    const float scale = (float)ENTROPY_LEVELS / (float)p[3], highest = (float)ENTROPY_LEVELS - 1.0f;
    uint8_t tile[ENTROPY_STRIP][ENTROPY_STRIP];
    for (ptrdiff_t left = 0; left < width; left += ENTROPY_STRIP) {
        ptrdiff_t columns = width - left < ENTROPY_STRIP ? width - left : ENTROPY_STRIP;
        for (ptrdiff_t y = 0; y < rows; y++)
            for (ptrdiff_t x = 0; x < columns; x++) {
                float level = image[(top + y) * width + left + x] * scale;
                level = level > 0.0f ? level : 0.0f; // also what is no number
                tile[y][x] = (uint8_t)(int)(level < highest ? level : highest);
            }
        for (ptrdiff_t x = 0; x < columns; x++)
            for (ptrdiff_t y = 0; y < rows; y++) levels[(left + x) * height + top + y] = tile[y][x];
    }
}

static inline void entropy_put(entropy_histogram *h, const int64_t *weighed, uint8_t level) {
    int count = h->counts[level]++;
    h->sum += weighed[count + 1] - weighed[count];
}

static inline void entropy_take(entropy_histogram *h, const int64_t *weighed, uint8_t level) {
    int count = h->counts[level]--;
    h->sum += weighed[count - 1] - weighed[count];
}

static void entropy_change(entropy_histogram *h, const entropy_job *job, const uint8_t *gone,
                           const uint8_t *come) {
    ptrdiff_t y = job->top;
    while (y < job->bottom) {
        uint64_t before, after;
        if (y + ENTROPY_WORD <= job->bottom) {
            memcpy(&before, gone + y, sizeof before);
            memcpy(&after, come + y, sizeof after);
            if (before == after) {
                y += ENTROPY_WORD;
                continue;
            }
        }
        ptrdiff_t end = y + ENTROPY_WORD < job->bottom ? y + ENTROPY_WORD : job->bottom;
        for (; y < end; y++)
            if (gone[y] != come[y]) {
                entropy_take(h, job->weighed, gone[y]);
                entropy_put(h, job->weighed, come[y]);
            }
    }
}

// Moves the window from x to x + 1.
static void entropy_slide(entropy_histogram *h, const entropy_job *job, ptrdiff_t x) {
    ptrdiff_t gone = x - job->half, come = gone + job->window;
    const uint8_t *before = job->levels + gone * job->height, *after = job->levels + come * job->height;
    if (gone >= 0 && come < job->width) {
        entropy_change(h, job, before, after);
        return;
    }
    for (ptrdiff_t y = job->top; y < job->bottom; y++) {
        if (gone >= 0) entropy_take(h, job->weighed, before[y]);
        if (come < job->width) entropy_put(h, job->weighed, after[y]);
    }
}

static void entropy_row(entropy_job *job, float *out, ptrdiff_t y) {
    entropy_histogram h = {.sum = 0};
    ptrdiff_t first = y - job->half, last = first + job->window;
    job->top = first > 0 ? first : 0;
    job->bottom = last < job->height ? last : job->height;
    for (ptrdiff_t x = 0; x < job->window - job->half && x < job->width; x++)
        for (ptrdiff_t row = job->top; row < job->bottom; row++)
            entropy_put(&h, job->weighed, job->levels[x * job->height + row]);
    ptrdiff_t n = 0;
    double share = 0.0;
    for (ptrdiff_t x = 0; x < job->width; x++) {
        ptrdiff_t left = x - job->half, right = left + job->window;
        ptrdiff_t columns = (right < job->width ? right : job->width) - (left > 0 ? left : 0);
        if (n != columns * (job->bottom - job->top)) { // at the border
            n = columns * (job->bottom - job->top);
            share = 1.0 / (entropy_one * (double)n);
        }
        out[x] = (float)((double)(job->weighed[n] - h.sum) * share);
        if (x + 1 < job->width) entropy_slide(&h, job, x);
    }
}

static void pixel_entropy_run(const double *p, void *const *buffers, void *scratch, unsigned phase,
                              size_t begin, size_t end) {
    int64_t *weighed = scratch;
    uint8_t *levels = (uint8_t *)(weighed + ENTROPY_COUNTS);
    if (phase == 0) {
        if (begin == 0)
            for (int count = 0; count < ENTROPY_COUNTS; count++)
                weighed[count] = count ? llround(entropy_one * count * log2((double)count)) : 0;
        for (size_t strip = begin; strip < end; strip++) entropy_levels_of(buffers[0], levels, p, strip);
        return;
    }
    entropy_job job = {.levels = levels,
                       .weighed = weighed,
                       .height = (ptrdiff_t)p[0],
                       .width = (ptrdiff_t)p[1],
                       .window = (ptrdiff_t)p[2],
                       .half = (ptrdiff_t)p[2] / 2};
    for (size_t y = begin; y < end; y++)
        entropy_row(&job, (float *)buffers[1] + y * (size_t)job.width, (ptrdiff_t)y);
}

#endif
