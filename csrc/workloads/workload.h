// SPDX-License-Identifier: Apache-2.0
// The nine workloads: what each computes, on what inputs, with how much work, and how it runs where.
//
// A workload is a row of data and three functions. Its kernel takes the buffers in the order of the row
// (pointers) and then the parameters in the order of the row (`int` where whole, else `float`); nothing else
// is needed to launch it. Every implementation, on a device or in C, reads and writes the same buffers.
//
// Work is counted by definition, not by instruction: `operations` are the additions, multiplications and
// function values that the result is made of, `bytes` is the traffic that cannot be avoided, each input read
// once and each output written once. Scratch counts nothing. Both are documented, workload by workload, in
// docs/gpu/kernels.md.
#ifndef RGM_WORKLOADS_WORKLOAD_H
#define RGM_WORKLOADS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// X(name): in the order of the documentation.
#define RGM_WORKLOADS(X)                                                                                     \
    X(ar_forecast)                                                                                           \
    X(lstm_cell_forward)                                                                                     \
    X(pixel_entropy)                                                                                         \
    X(conv2d)                                                                                                \
    X(image_segmentation)                                                                                    \
    X(dendritic_integration)                                                                                 \
    X(vector_add)                                                                                            \
    X(matrix_multiply)                                                                                       \
    X(dot_product)

enum { RGM_WORKLOAD_BUFFERS = 8, RGM_WORKLOAD_PARAMETERS = 8 };

// X(NAME, token): elements are four bytes each.
#define RGM_ELEMENTS(X)                                                                                      \
    X(FLOAT, "float32")                                                                                      \
    X(INT, "int32")
#define RGM_BUFFER_ROLES(X)                                                                                  \
    X(INPUT, "input")                                                                                        \
    X(OUTPUT, "output")                                                                                      \
    X(SCRATCH, "scratch") // zero before the first launch, as the kernel leaves it after every other

#define RGM_ELEMENT_ENUM(name, token) RGM_ELEMENT_##name,
#define RGM_BUFFER_ROLE_ENUM(name, token) RGM_BUFFER_##name,
typedef enum { RGM_ELEMENTS(RGM_ELEMENT_ENUM) RGM_ELEMENT_COUNT } rgm_element;
typedef enum { RGM_BUFFER_ROLES(RGM_BUFFER_ROLE_ENUM) RGM_BUFFER_ROLE_COUNT } rgm_buffer_role;

typedef struct {
    const char *name; // NULL ends the list
    rgm_buffer_role role;
    rgm_element element;
} rgm_workload_buffer;

typedef struct {
    const char *name; // NULL ends the list
    double value;     // documented
    double least, most;
    bool whole;
    const char *doc;
} rgm_workload_parameter;

// What follows from the parameters.
typedef struct {
    size_t counts[RGM_WORKLOAD_BUFFERS]; // elements
    uint32_t grid[3], block[3];
    double operations;
    double bytes;
} rgm_workload_shape;

typedef struct {
    const char *name; // of the workload, its kernel and its kernel file
    const char *doc;
    const char *unit; // of `operations`: "fp32" or "int32"
    rgm_workload_buffer buffers[RGM_WORKLOAD_BUFFERS + 1];
    rgm_workload_parameter parameters[RGM_WORKLOAD_PARAMETERS + 1];
    // Elements of the first output that a thread computes, where the kernel takes its block from the launch
    // and any size is right; 0 where the kernel is written for one block.
    uint32_t per_thread;
    // False when the parameters, each within its bounds, do not go together. Fills all but `bytes` where that
    // is the sum of inputs and outputs.
    bool (*shape)(const double *parameters, rgm_workload_shape *shape);
    // The documented inputs; buffers of other roles are left alone.
    void (*fill)(const double *parameters, void *const *buffers);
    // The same computation on the processor: scalar, clear, with sums in double precision.
    void (*reference)(const double *parameters, void *const *buffers);
} rgm_workload;

#define RGM_WORKLOAD_EXTERN(name) extern const rgm_workload rgm_workload_##name;
RGM_WORKLOADS(RGM_WORKLOAD_EXTERN)
extern const rgm_workload *const rgm_workloads[];
extern const size_t rgm_workloads_count;

// NULL when there is none of that name.
const rgm_workload *rgm_workload_find(const char *name);
const char *rgm_element_text(rgm_element element);
const char *rgm_buffer_role_text(rgm_buffer_role role);
// Checks the parameters (as many as the workload has; NULL: the documented ones), copies them to `values` and
// derives the shape. RGM_INVALID names the parameter that is out of bounds.
rgm_status rgm_workload_prepare(const rgm_workload *workload, const double *parameters, double *values,
                                rgm_workload_shape *shape, rgm_error *err) RGM_NODISCARD;
// Replaces the block of a shape, and the grid by what covers the same elements; 0 leaves both. RGM_INVALID
// when the kernel is written for one block, or for a block that no device has (1 to 1024 threads).
rgm_status rgm_workload_set_block(const rgm_workload *workload, uint32_t threads, rgm_workload_shape *shape,
                                  rgm_error *err) RGM_NODISCARD;

#endif
