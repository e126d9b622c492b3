// SPDX-License-Identifier: Apache-2.0
// Votes are counted in the four bytes of a word, one a level: a pixel is a one in the byte of its level,
// eight neighbours fill no byte, and 122 added to a byte sets its highest bit where more than five voted.
#ifndef RGM_WORKLOADS_FAST_IMAGE_SEGMENTATION_H
#define RGM_WORKLOADS_FAST_IMAGE_SEGMENTATION_H

#include "workloads/fast.h"

enum { SEGMENTATION_TILE = 1024, SEGMENTATION_ROWS = 3 };

typedef struct {
    const float *image;
    int *labels;
    ptrdiff_t height, width;
    float threshold;
} segmentation_job;

static size_t image_segmentation_scratch(const double *p) {
    (void)p;
    return 0;
}

static size_t image_segmentation_items(const double *p, unsigned phase) {
    return phase == 0 ? (size_t)p[0] : 0;
}

// Votes of columns [left, left + count) of a row; none outside the image.
static void segmentation_votes(const segmentation_job *job, uint32_t *restrict votes, ptrdiff_t y,
                               ptrdiff_t left, ptrdiff_t count) {
    const uint32_t level0 = 1u, level1 = 1u << 8, level2 = 1u << 16, level3 = 1u << 24;
    const float low = 0.5f * job->threshold, middle = job->threshold, high = 1.5f * job->threshold;
    if (y < 0 || y >= job->height) {
        for (ptrdiff_t i = 0; i < count; i++) votes[i] = 0;
        return;
    }
    ptrdiff_t first = left < 0 ? -left : 0, last = left + count > job->width ? job->width - left : count;
    const float *restrict row = job->image + y * job->width + left;
    for (ptrdiff_t i = 0; i < first; i++) votes[i] = 0;
    for (ptrdiff_t i = first; i < last; i++) {
        float pixel = row[i];
        uint32_t vote = pixel < high ? level2 : level1;
        vote = pixel < middle ? level3 : vote;
        votes[i] = pixel < low ? level0 : vote;
    }
    for (ptrdiff_t i = last; i < count; i++) votes[i] = 0;
}

static void segmentation_labels(const uint32_t *restrict above, const uint32_t *restrict here,
                                const uint32_t *restrict below, int *restrict labels, ptrdiff_t count) {
    uint32_t columns[SEGMENTATION_TILE + 2];
    const uint32_t up_to_bit_7 = 0x7a7a7a7au, bit_7 = 0x80808080u;
    for (ptrdiff_t i = 0; i < count + 2; i++) columns[i] = above[i] + here[i] + below[i];
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t own = here[i + 1], votes = columns[i] + columns[i + 1] + columns[i + 2] - own;
        uint32_t most = (votes + up_to_bit_7) & bit_7;
        uint32_t chosen = most ? most >> 7 : own;
        labels[i] = (int)((chosen >> 8 & 1u) + (chosen >> 15 & 2u) + (chosen >> 24 & 1u) * 3u);
    }
}

static void image_segmentation_run(const double *p, void *const *buffers, void *scratch, unsigned phase,
                                   size_t begin, size_t end) {
    const segmentation_job job = {buffers[0], buffers[1], (ptrdiff_t)p[0], (ptrdiff_t)p[1], (float)p[2]};
    uint32_t rows[SEGMENTATION_ROWS][SEGMENTATION_TILE + 2]; // of y - 1, y and y + 1, in turn
    (void)scratch;
    (void)phase;
    for (ptrdiff_t x = 0; x < job.width; x += SEGMENTATION_TILE) {
        ptrdiff_t count = job.width - x < SEGMENTATION_TILE ? job.width - x : SEGMENTATION_TILE;
        for (size_t y = begin; y < end + 2; y++) {
            segmentation_votes(&job, rows[y % SEGMENTATION_ROWS], (ptrdiff_t)y - 1, x - 1, count + 2);
            if (y < begin + 2) continue;
            const size_t done = y - 2;
            segmentation_labels(rows[done % SEGMENTATION_ROWS], rows[(done + 1) % SEGMENTATION_ROWS],
                                rows[y % SEGMENTATION_ROWS], job.labels + (ptrdiff_t)done * job.width + x,
                                count);
        }
    }
}

#endif
