// SPDX-License-Identifier: Apache-2.0
#include "workloads/geometry.h"

enum { HEIGHT, WIDTH, SIDE, STRIDE, PADDING };
enum { IMAGE, KERNEL, OUT };
enum { WIDE = 32, HIGH = 8 };

static int out_size(double size, const double *p) {
    double left = size + 2.0 * p[PADDING] - p[SIDE];
    return left < 0.0 ? 0 : (int)left / (int)p[STRIDE] + 1;
}

static bool shape(const double *p, rgm_workload_shape *out) {
    int height = out_size(p[HEIGHT], p), width = out_size(p[WIDTH], p);
    out->counts[IMAGE] = (size_t)p[HEIGHT] * (size_t)p[WIDTH];
    out->counts[KERNEL] = (size_t)p[SIDE] * (size_t)p[SIDE];
    out->counts[OUT] = (size_t)height * (size_t)width;
    rgm_set_grid(out, rgm_blocks((size_t)width, WIDE), rgm_blocks((size_t)height, HIGH));
    rgm_set_block(out, WIDE, HIGH);
    out->operations = 2.0 * p[SIDE] * p[SIDE] * (double)out->counts[OUT];
    return height > 0 && width > 0 && p[PADDING] < p[SIDE];
}

static void fill(const double *p, void *const *buffers) {
    static const float sobel[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
    float *image = buffers[IMAGE], *kernel = buffers[KERNEL];
    int side = (int)p[SIDE];
    for (size_t i = 0; i < (size_t)p[HEIGHT] * (size_t)p[WIDTH]; i++) image[i] = (float)(i * 7 % 256);
    // The documented kernel, in the corner of a larger one.
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) kernel[y * side + x] = y < 3 && x < 3 ? sobel[y * 3 + x] : 0.0f;
}

static void reference(const double *p, void *const *buffers) {
    const float *image = buffers[IMAGE], *kernel = buffers[KERNEL];
    float *out = buffers[OUT];
    int height = (int)p[HEIGHT], width = (int)p[WIDTH], side = (int)p[SIDE],
        out_width = out_size(p[WIDTH], p);
    for (int y = 0; y < out_size(p[HEIGHT], p); y++)
        for (int x = 0; x < out_width; x++) {
            int top = y * (int)p[STRIDE] - (int)p[PADDING], left = x * (int)p[STRIDE] - (int)p[PADDING];
            double sum = 0.0;
            for (int i = 0; i < side; i++)
                for (int j = 0; j < side; j++) {
                    int row = top + i, column = left + j;
                    if (row < 0 || row >= height || column < 0 || column >= width) continue;
                    sum += (double)image[row * width + column] * (double)kernel[i * side + j];
                }
            out[y * out_width + x] = (float)sum;
        }
}

const rgm_workload rgm_workload_conv2d = {
    .name = "conv2d",
    .doc = "Two-dimensional convolution of one channel, kernel not turned, border of zeros.",
    .unit = "fp32",
    .buffers = {{"image", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"kernel", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"out", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT}},
    .parameters = {{"height", 256, 1, 16384, true, "rows"},
                   {"width", 256, 1, 16384, true, "columns"},
                   {"side", 3, 1, 7, true, "side of the kernel"},
                   {"stride", 1, 1, 2, true, "step of the kernel"},
                   {"padding", 1, 0, 6, true, "zeros around the image"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
