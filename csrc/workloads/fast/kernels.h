// SPDX-License-Identifier: Apache-2.0
// The fast implementations of all workloads, compiled once for each set (workloads/fast.h). The file that
// includes this one defines RGM_FAST_KERNELS_NAME.
#include "workloads/fast.h"

#include "workloads/fast/ar_forecast.h"
#include "workloads/fast/conv2d.h"
#include "workloads/fast/dendritic_integration.h"
#include "workloads/fast/dot_product.h"
#include "workloads/fast/image_segmentation.h"
#include "workloads/fast/lstm_cell_forward.h"
#include "workloads/fast/matrix_multiply.h"
#include "workloads/fast/pixel_entropy.h"
#include "workloads/fast/vector_add.h"

const rgm_fast_kernel *RGM_FAST_KERNELS_NAME(void) {
    static const rgm_fast_kernel kernels[] = {
#define FAST_ROW(name) {name##_scratch, name##_items, name##_run},
        RGM_WORKLOADS(FAST_ROW)
#undef FAST_ROW
    };
    return kernels;
}
