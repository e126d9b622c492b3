// SPDX-License-Identifier: Apache-2.0
// One step of an LSTM cell. Gates in the order input, forget, cell, output; weights_ih is (4 hidden) x
// inputs, weights_hh is (4 hidden) x hidden, bias has 4 hidden values (the sum of both biases where there are
// two):
//   i, f, o = sigmoid(...), g = tanh(...), c' = f c + i g, h' = o tanh(c').
// A block of 8 x 8 threads makes 8 units of 8 samples; each thread keeps the four gates of its element in
// registers.
#include "device/kernel.cuh"

#define SIDE 8
#define DEPTH 32
#define GATES 4

RGM_DEVICE float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Adds rows of `weights` times rows of `from` (samples x depth) to the four gates.
RGM_DEVICE void accumulate(float *gates, const float *from, const float *weights, int batch, int depth,
                           int hidden) {
    __shared__ float tile_from[SIDE][DEPTH + 1], tile_weights[GATES][SIDE][DEPTH + 1];
    int x = threadIdx.x, y = threadIdx.y, thread = y * SIDE + x;
    int unit = blockIdx.x * SIDE, sample = blockIdx.y * SIDE;
    for (int begin = 0; begin < depth; begin += DEPTH) {
        for (int at = thread; at < SIDE * DEPTH; at += SIDE * SIDE) {
            int row = at / DEPTH, column = at % DEPTH, inside = begin + column < depth;
            tile_from[row][column] =
                inside && sample + row < batch ? from[(sample + row) * depth + begin + column] : 0.0f;
            for (int gate = 0; gate < GATES; gate++)
                tile_weights[gate][row][column] =
                    inside && unit + row < hidden
                        ? weights[(gate * hidden + unit + row) * depth + begin + column]
                        : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
            for (int gate = 0; gate < GATES; gate++)
                gates[gate] = fmaf(tile_from[y][i], tile_weights[gate][x][i], gates[gate]);
        __syncthreads();
    }
}

RGM_KERNEL lstm_cell_forward(const float *__restrict__ input, const float *__restrict__ hidden_state,
                             const float *__restrict__ cell_state, const float *__restrict__ weights_ih,
                             const float *__restrict__ weights_hh, const float *__restrict__ bias,
                             float *__restrict__ hidden_out, float *__restrict__ cell_out, int batch,
                             int inputs, int hidden) {
    int unit = blockIdx.x * SIDE + threadIdx.x, sample = blockIdx.y * SIDE + threadIdx.y;
    float gates[GATES];
    for (int gate = 0; gate < GATES; gate++) gates[gate] = unit < hidden ? bias[gate * hidden + unit] : 0.0f;
    accumulate(gates, input, weights_ih, batch, inputs, hidden);
    accumulate(gates, hidden_state, weights_hh, batch, hidden, hidden);
    if (unit >= hidden || sample >= batch) return;
    int at = sample * hidden + unit;
    float cell = sigmoid(gates[1]) * cell_state[at] + sigmoid(gates[0]) * tanhf(gates[2]);
    cell_out[at] = cell;
    hidden_out[at] = sigmoid(gates[3]) * tanhf(cell);
}
