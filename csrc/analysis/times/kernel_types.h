// SPDX-License-Identifier: Apache-2.0
// What kind of algorithm a piece of device work is, told by its name: a finer division than rules.h, which
// says what it is for. The rules are a table.
#ifndef RGM_ANALYSIS_KERNEL_TYPES_H
#define RGM_ANALYSIS_KERNEL_TYPES_H

#include "analysis/view.h"

// X(NAME, token); MIXED is the type of a group whose members differ. ROUTING is what a mixture of experts
// does beside its products, LAYOUT changes the order of elements alone, PROGRAM is work of an accelerator
// that is recorded as a whole, WAIT a kernel that only passes time.
#define RGM_KERNEL_TYPES(X)                                                                                  \
    X(MIXED, "mixed")                                                                                        \
    X(GEMM, "gemm")                                                                                          \
    X(CONVOLUTION, "convolution")                                                                            \
    X(ATTENTION, "attention")                                                                                \
    X(NORMALIZATION, "normalization")                                                                        \
    X(REDUCTION, "reduction")                                                                                \
    X(ELEMENTWISE, "elementwise")                                                                            \
    X(INDEXING, "indexing")                                                                                  \
    X(SORT, "sort")                                                                                          \
    X(OPTIMIZER, "optimizer")                                                                                \
    X(ROUTING, "routing")                                                                                    \
    X(QUANTIZATION, "quantization")                                                                          \
    X(LAYOUT, "layout")                                                                                      \
    X(FFT, "fft")                                                                                            \
    X(TRITON, "triton")                                                                                      \
    X(PROGRAM, "program")                                                                                    \
    X(WAIT, "wait")                                                                                          \
    X(COMMUNICATION, "communication")                                                                        \
    X(MEMCPY_HTOD, "memcpy_htod")                                                                            \
    X(MEMCPY_DTOH, "memcpy_dtoh")                                                                            \
    X(MEMCPY_DTOD, "memcpy_dtod")                                                                            \
    X(MEMCPY_PTOP, "memcpy_ptop")                                                                            \
    X(MEMCPY, "memcpy")                                                                                      \
    X(MEMSET, "memset")                                                                                      \
    X(OTHER, "other")

#define RGM_KERNEL_TYPE_ENUM(name, token) RGM_KERNEL_TYPE_##name,
typedef enum { RGM_KERNEL_TYPES(RGM_KERNEL_TYPE_ENUM) RGM_KERNEL_TYPE_COUNT } rgm_kernel_type;

// Of a kernel that is no communication, by its name alone.
rgm_kernel_type rgm_kernel_type_of_name(const char *name, size_t length);
// Of device work: kind and activity are asked first, so that the user's rules are respected.
rgm_kernel_type rgm_kernel_type_of(const rgm_view *view, size_t row);

#endif
