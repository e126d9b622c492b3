// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "workloads/geometry.h"

enum { HEIGHT, WIDTH, WINDOW, RANGE };
enum { IMAGE, ENTROPY };
enum { LEVELS = 256, COLUMNS = 64, ROWS = 16 };

static bool shape(const double *p, rgm_workload_shape *out) {
    size_t height = (size_t)p[HEIGHT], width = (size_t)p[WIDTH];
    out->counts[IMAGE] = out->counts[ENTROPY] = height * width;
    rgm_set_grid(out, rgm_blocks(width, COLUMNS), rgm_blocks(height, ROWS));
    rgm_set_block(out, COLUMNS, 1);
    // Of the sliding histogram, not of the definition, which would count every pixel of every window: one row
    // in and one row out, three operations a pixel, and three for the entropy. Windows at the border are
    // counted whole.
    out->operations = p[HEIGHT] * p[WIDTH] * (2.0 * p[WINDOW] * 3.0 + 3.0);
    return true;
}

static void fill(const double *p, void *const *buffers) {
    float *image = buffers[IMAGE];
    int height = (int)p[HEIGHT], width = (int)p[WIDTH];
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            image[y * width + x] = y >= 200 && y < 300 && x >= 200 && x < 300 ? 5000.0f : 100.0f;
}

static int level_of(float pixel, double range) {
    // In single precision as the kernel, so that both put a pixel on the same level.
    float level = pixel * ((float)LEVELS / (float)range);
    return (int)fminf(fmaxf(level, 0.0f), (float)LEVELS - 1.0f);
}

static double entropy_at(const float *image, const double *p, int y, int x) {
    int counts[LEVELS] = {0}, n = 0, half = (int)p[WINDOW] / 2;
    for (int row = y - half; row < y - half + (int)p[WINDOW]; row++)
        for (int column = x - half; column < x - half + (int)p[WINDOW]; column++) {
            if (row < 0 || row >= (int)p[HEIGHT] || column < 0 || column >= (int)p[WIDTH]) continue;
            counts[level_of(image[row * (int)p[WIDTH] + column], p[RANGE])]++;
            n++;
        }
    double entropy = 0.0;
    for (int level = 0; level < LEVELS; level++) {
        double share = (double)counts[level] / n;
        if (counts[level]) entropy -= share * log2(share);
    }
    return entropy;
}

static void reference(const double *p, void *const *buffers) {
    const float *image = buffers[IMAGE];
    float *entropy = buffers[ENTROPY];
    for (int y = 0; y < (int)p[HEIGHT]; y++)
        for (int x = 0; x < (int)p[WIDTH]; x++)
            entropy[y * (int)p[WIDTH] + x] = (float)entropy_at(image, p, y, x);
}

const rgm_workload rgm_workload_pixel_entropy = {
    .name = "pixel_entropy",
    .doc = "Shannon entropy in bits of the levels in a window around every pixel.",
    .unit = "int32",
    .buffers = {{"image", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"entropy", RGM_BUFFER_OUTPUT, RGM_ELEMENT_FLOAT}},
    .parameters = {{"height", 512, 1, 16384, true, "rows"},
                   {"width", 512, 1, 16384, true, "columns"},
                   {"window", 16, 1, 32, true, "side of the window"},
                   {"range", 65536, 1e-3, 1e9, false, "value that is level 256: a 16-bit sensor"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
