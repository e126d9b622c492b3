// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution as neural networks mean it: the kernel is not turned, the border is zeros. Side
// of the kernel up to 7, stride up to 2. A block makes 32 x 8 outputs from a tile of the image in shared
// memory.
#include "device/kernel.cuh"

#define WIDE 32
#define HIGH 8
#define MOST_SIDE 7
#define MOST_STRIDE 2
#define TILE_WIDE ((WIDE - 1) * MOST_STRIDE + MOST_SIDE)
#define TILE_HIGH ((HIGH - 1) * MOST_STRIDE + MOST_SIDE)

RGM_KERNEL conv2d(const float *__restrict__ image, const float *__restrict__ kernel, float *__restrict__ out,
                  int height, int width, int side, int stride, int padding) {
    __shared__ float tile[TILE_HIGH][TILE_WIDE], weights[MOST_SIDE * MOST_SIDE];
    int out_height = (height + 2 * padding - side) / stride + 1;
    int out_width = (width + 2 * padding - side) / stride + 1;
    int thread = threadIdx.y * WIDE + threadIdx.x;
    int top = (int)blockIdx.y * HIGH * stride - padding, left = (int)blockIdx.x * WIDE * stride - padding;
    int tile_high = (HIGH - 1) * stride + side, tile_wide = (WIDE - 1) * stride + side;
    if (thread < side * side) weights[thread] = kernel[thread];
    for (int at = thread; at < tile_high * tile_wide; at += WIDE * HIGH) {
        int y = at / tile_wide, x = at % tile_wide, row = top + y, column = left + x;
        int inside = row >= 0 && row < height && column >= 0 && column < width;
        tile[y][x] = inside ? image[row * width + column] : 0.0f;
    }
    __syncthreads();
    int row = blockIdx.y * HIGH + threadIdx.y, column = blockIdx.x * WIDE + threadIdx.x;
    if (row >= out_height || column >= out_width) return;
    float sum = 0.0f;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            sum = fmaf(tile[threadIdx.y * stride + y][threadIdx.x * stride + x], weights[y * side + x], sum);
    out[row * out_width + column] = sum;
}
