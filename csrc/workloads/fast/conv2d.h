// SPDX-License-Identifier: Apache-2.0
// An item is a row of the result. Where the kernel lies inside the image, eight results at once; at the
// border one by one.
#ifndef RGM_WORKLOADS_FAST_CONV2D_H
#define RGM_WORKLOADS_FAST_CONV2D_H

#include "workloads/fast.h"
#include "workloads/fast/vector.h"

typedef struct {
    const float *image, *kernel;
    int height, width, side, stride, padding;
    int out_height, out_width;
} conv2d_job;

static conv2d_job conv2d_of(const double *p, void *const *buffers) {
    conv2d_job job = {.height = (int)p[0],
                      .width = (int)p[1],
                      .side = (int)p[2],
                      .stride = (int)p[3],
                      .padding = (int)p[4]};
    job.image = buffers ? buffers[0] : NULL;
    job.kernel = buffers ? buffers[1] : NULL;
    job.out_height = (job.height + 2 * job.padding - job.side) / job.stride + 1;
    job.out_width = (job.width + 2 * job.padding - job.side) / job.stride + 1;
    return job;
}

static size_t conv2d_scratch(const double *p) {
    (void)p;
    return 0;
}

static size_t conv2d_items(const double *p, unsigned phase) {
    return phase == 0 ? (size_t)conv2d_of(p, NULL).out_height : 0;
}

// Rows [first, last) of the kernel lie inside the image.
static float conv2d_at(const conv2d_job *job, int top, int left, int first, int last) {
    float sum = 0.0f;
    for (int i = first; i < last; i++)
        for (int j = 0; j < job->side; j++) {
            int column = left + j;
            if (column < 0 || column >= job->width) continue;
            sum += job->image[(ptrdiff_t)(top + i) * job->width + column] * job->kernel[i * job->side + j];
        }
    return sum;
}

// Eight results from `left` on, with the kernel inside the image and a stride of one.
RGM_INLINE rgm_vec conv2d_eight(const conv2d_job *job, int top, int left, int first, int last, int side) {
    rgm_vec sum = {0};
    for (int i = first; i < last; i++) {
        const float *row = job->image + (ptrdiff_t)(top + i) * job->width + left;
        for (int j = 0; j < side; j++) sum += vec_load(row + j) * job->kernel[i * side + j];
    }
    return sum;
}

// Results [from, to) of a row; returns where it stopped, less than eight before the end.
RGM_INLINE int conv2d_inside(const conv2d_job *job, float *out, int top, int from, int to, int first,
                             int last, int side) {
    int x = from;
    for (; x + LANES <= to; x += LANES)
        vec_store(out + x, conv2d_eight(job, top, x - job->padding, first, last, side));
    return x;
}

static void conv2d_row(const conv2d_job *job, float *out, int y) {
    int top = y * job->stride - job->padding;
    int first = top < 0 ? -top : 0, over = top + job->side - job->height;
    int last = over > 0 ? job->side - over : job->side;
    int from = job->padding < job->out_width ? job->padding : job->out_width;
    int to = job->width - job->side + job->padding + 1;
    int x = 0;
    if (to > job->out_width) to = job->out_width;
    if (job->stride == 1) {
        for (; x < from; x++) out[x] = conv2d_at(job, top, x - job->padding, first, last);
        if (job->side == 3 && first == 0 && last == 3)
            x = conv2d_inside(job, out, top, x, to, 0, 3, 3); // unrolled
        else
            x = conv2d_inside(job, out, top, x, to, first, last, job->side);
    }
    for (; x < job->out_width; x++) out[x] = conv2d_at(job, top, x * job->stride - job->padding, first, last);
}

static void conv2d_run(const double *p, void *const *buffers, void *scratch, unsigned phase, size_t begin,
                       size_t end) {
    const conv2d_job job = conv2d_of(p, buffers);
    float *out = buffers[2];
    (void)scratch;
    (void)phase;
    for (size_t y = begin; y < end; y++) conv2d_row(&job, out + y * (size_t)job.out_width, (int)y);
}

#endif
