// SPDX-License-Identifier: Apache-2.0
// Four levels around a threshold t, then a vote. Level of a pixel p: 0 (background) below t/2, 3 (dark) below
// t, 2 (middle) below 1.5 t, 1 (bright) from there. A pixel takes the level that more than five of its eight
// neighbours have; neighbours vote with the level before the vote, so the result does not depend on the
// order.
#include "device/kernel.cuh"

#define WIDE 32
#define HIGH 8

RGM_DEVICE unsigned char level_of(float pixel, float threshold) {
    if (pixel < 0.5f * threshold) return 0;
    if (pixel < threshold) return 3;
    return pixel < 1.5f * threshold ? 2 : 1;
}

RGM_KERNEL image_segmentation(const float *__restrict__ image, int *__restrict__ labels, int height,
                              int width, float threshold) {
    __shared__ unsigned char tile[HIGH + 2][WIDE + 2];
    int top = (int)blockIdx.y * HIGH - 1, left = (int)blockIdx.x * WIDE - 1;
    for (int at = threadIdx.y * WIDE + threadIdx.x; at < (HIGH + 2) * (WIDE + 2); at += WIDE * HIGH) {
        int y = at / (WIDE + 2), x = at % (WIDE + 2), row = top + y, column = left + x;
        int inside = row >= 0 && row < height && column >= 0 && column < width;
        tile[y][x] = inside ? level_of(image[row * width + column], threshold) : 255; // 255 votes for nobody
    }
    __syncthreads();
    int row = blockIdx.y * HIGH + threadIdx.y, column = blockIdx.x * WIDE + threadIdx.x;
    if (row >= height || column >= width) return;
    // One byte of votes a level.
    unsigned votes = 0;
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++) {
            unsigned level = tile[threadIdx.y + y][threadIdx.x + x];
            if ((y != 1 || x != 1) && level < 4) votes += 1u << 8 * level;
        }
    int label = tile[threadIdx.y + 1][threadIdx.x + 1];
    for (int level = 0; level < 4; level++)
        if ((votes >> 8 * level & 255u) > 5) label = level;
    labels[row * width + column] = label;
}
