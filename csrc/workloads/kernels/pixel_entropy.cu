// SPDX-License-Identifier: Apache-2.0
// Shannon entropy, in bits, of the levels in a window around every pixel. A pixel p has level p * 256 /
// range, cut to 0..255; the window of a pixel (y, x) is the rows y - w/2 .. y - w/2 + w - 1 and the columns
// likewise, as far as they are in the image. Side of the window up to 32.
//
// A thread goes down a column and keeps the histogram of its window in shared memory: a step takes one row in
// and one row out, 2 w updates instead of w * w. With n pixels in the window and c of a level, H = log2 n -
// (sum of c log2 c) / n; the sum is kept in fixed point, in units of 2^-16, so that updates lose nothing and
// their order does not matter.
#include "device/kernel.cuh"

#define LEVELS 256
#define COLUMNS 64
#define ROWS 16
#define MOST_WINDOW 32
#define TILE_HIGH (ROWS + MOST_WINDOW - 1)
#define TILE_WIDE (COLUMNS + MOST_WINDOW - 1)
#define UNIT 65536.0f

RGM_KERNEL pixel_entropy(const float *__restrict__ image, float *__restrict__ entropy, int height, int width,
                         int window, float range) {
    __shared__ unsigned short counts[LEVELS][COLUMNS];
    __shared__ unsigned char tile[TILE_HIGH][TILE_WIDE];
    __shared__ int weight[MOST_WINDOW * MOST_WINDOW + 1]; // c log2 c
    int thread = threadIdx.x, half = window / 2;
    int first_row = blockIdx.y * ROWS, top = first_row - half, left = (int)(blockIdx.x * COLUMNS) - half;
    for (int count = thread; count <= window * window; count += COLUMNS)
        weight[count] = count < 2 ? 0 : (int)(UNIT * (float)count * log2f((float)count) + 0.5f);
    for (int level = 0; level < LEVELS; level++) counts[level][thread] = 0;
    for (int at = thread; at < (ROWS + window - 1) * (COLUMNS + window - 1); at += COLUMNS) {
        int y = at / (COLUMNS + window - 1), x = at % (COLUMNS + window - 1), row = top + y,
            column = left + x;
        int inside = row >= 0 && row < height && column >= 0 && column < width;
        float level = inside ? image[row * width + column] * (LEVELS / range) : 0.0f;
        tile[y][x] = (unsigned char)fminf(fmaxf(level, 0.0f), LEVELS - 1.0f);
    }
    __syncthreads();
    int column = blockIdx.x * COLUMNS + thread;
    if (column >= width) return;
    // The columns of this thread's window, in the tile.
    int begin = thread + (column < half ? half - column : 0);
    int past = column - half + window - width;
    int end = thread + window - (past > 0 ? past : 0);
    int sum = 0, rows = 0;
    for (int row = first_row - half; row < first_row + ROWS - 1 - half + window; row++) {
        int center = row - window + 1 + half; // the pixel whose window ends with this row
        int leaving = row - window;
        // Out before in: no count is ever above the size of the window.
        if (leaving >= top && leaving >= 0 && leaving < height) {
            for (int x = begin; x < end; x++) {
                unsigned short *count = &counts[tile[leaving - top][x]][thread];
                sum += weight[*count - 1] - weight[*count];
                --*count;
            }
            rows--;
        }
        if (row >= 0 && row < height) {
            for (int x = begin; x < end; x++) {
                unsigned short *count = &counts[tile[row - top][x]][thread];
                sum += weight[*count + 1] - weight[*count];
                ++*count;
            }
            rows++;
        }
        if (center < first_row || center >= height) continue;
        float n = (float)(rows * (end - begin));
        entropy[center * width + column] = log2f(n) - (float)sum / (UNIT * n);
    }
}
