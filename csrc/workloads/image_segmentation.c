// SPDX-License-Identifier: Apache-2.0
#include "workloads/geometry.h"

enum { HEIGHT, WIDTH, THRESHOLD };
enum { IMAGE, LABELS };
enum { LEVELS = 4, WIDE = 32, HIGH = 8, MAJORITY = 5 };

static bool shape(const double *p, rgm_workload_shape *out) {
    out->counts[IMAGE] = out->counts[LABELS] = (size_t)p[HEIGHT] * (size_t)p[WIDTH];
    rgm_set_grid(out, rgm_blocks((size_t)p[WIDTH], WIDE), rgm_blocks((size_t)p[HEIGHT], HIGH));
    rgm_set_block(out, WIDE, HIGH);
    // Three comparisons for the level, eight votes, four counts of votes.
    out->operations = 15.0 * p[HEIGHT] * p[WIDTH];
    return true;
}

static void fill(const double *p, void *const *buffers) {
    float *image = buffers[IMAGE];
    int height = (int)p[HEIGHT], width = (int)p[WIDTH];
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            image[y * width + x] = x < width / 3 ? 50.0f : x < 2 * width / 3 ? 150.0f : 250.0f;
}

static int level_of(float pixel, float threshold) {
    if (pixel < 0.5f * threshold) return 0;
    if (pixel < threshold) return 3;
    return pixel < 1.5f * threshold ? 2 : 1;
}

static void reference(const double *p, void *const *buffers) {
    const float *image = buffers[IMAGE];
    int *labels = buffers[LABELS];
    int height = (int)p[HEIGHT], width = (int)p[WIDTH];
    float threshold = (float)p[THRESHOLD];
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int votes[LEVELS] = {0};
            for (int row = y - 1; row <= y + 1; row++)
                for (int column = x - 1; column <= x + 1; column++)
                    if ((row != y || column != x) && row >= 0 && row < height && column >= 0 &&
                        column < width)
                        votes[level_of(image[row * width + column], threshold)]++;
            int label = level_of(image[y * width + x], threshold);
            for (int level = 0; level < LEVELS; level++)
                if (votes[level] > MAJORITY) label = level;
            labels[y * width + x] = label;
        }
}

const rgm_workload rgm_workload_image_segmentation = {
    .name = "image_segmentation",
    .doc = "Four levels around a threshold, then a vote of the eight neighbours.",
    .unit = "int32",
    .buffers = {{"image", RGM_BUFFER_INPUT, RGM_ELEMENT_FLOAT},
                {"labels", RGM_BUFFER_OUTPUT, RGM_ELEMENT_INT}},
    .parameters = {{"height", 256, 1, 16384, true, "rows"},
                   {"width", 256, 1, 16384, true, "columns"},
                   {"threshold", 100, -1e9, 1e9, false, "between dark and middle"}},
    .shape = shape,
    .fill = fill,
    .reference = reference,
};
