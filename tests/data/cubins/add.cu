// SPDX-License-Identifier: Apache-2.0
// nvcc -arch=sm_90 -cubin -lineinfo add.cu -o add_with_lines.cubin, and without -lineinfo: add.cubin.
extern "C" __global__ void add(float *x, const float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] + y[i];
}
