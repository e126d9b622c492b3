// SPDX-License-Identifier: Apache-2.0
// C = A B in single precision, row by row in memory: A is m x k, B is k x n. A block of 16 x 16 threads makes
// a tile of 32 x 32, four elements a thread, from tiles of A and B in shared memory. The tile is small
// because the documented size has few of them: 256 x 256 gives 64 blocks.
#include "device/kernel.cuh"

#define TILE 32
#define SIDE 16

RGM_KERNEL matrix_multiply(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                           int m, int n, int k) {
    __shared__ float tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
    for (int from = 0; from < k; from += TILE) {
        for (int i = y; i < TILE; i += SIDE)
            for (int j = x; j < TILE; j += SIDE) {
                tile_a[i][j] = row + i < m && from + j < k ? a[(row + i) * k + from + j] : 0.0f;
                tile_b[i][j] = from + i < k && column + j < n ? b[(from + i) * n + column + j] : 0.0f;
            }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            float a0 = tile_a[y][i], a1 = tile_a[y + SIDE][i];
            float b0 = tile_b[i][x], b1 = tile_b[i][x + SIDE];
            sum[0][0] = fmaf(a0, b0, sum[0][0]);
            sum[0][1] = fmaf(a0, b1, sum[0][1]);
            sum[1][0] = fmaf(a1, b0, sum[1][0]);
            sum[1][1] = fmaf(a1, b1, sum[1][1]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (row + y + i * SIDE < m && column + x + j * SIDE < n)
                c[(row + y + i * SIDE) * n + column + x + j * SIDE] = sum[i][j];
}
