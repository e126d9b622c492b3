// SPDX-License-Identifier: Apache-2.0
#include "model/datasheets.h"

#define GIGA 1e9
#define TERA 1e12

const rgm_datasheet rgm_datasheets[] = {
#define DATASHEET_ROW(name, bandwidth, fp64, fp32, tf32, fp16, bf16, fp8, int8)                              \
    {name,                                                                                                   \
     (bandwidth) * GIGA,                                                                                     \
     {[RGM_PIPE_FP64] = (fp64) * TERA,                                                                       \
      [RGM_PIPE_FP32] = (fp32) * TERA,                                                                       \
      [RGM_PIPE_TF32] = (tf32) * TERA,                                                                       \
      [RGM_PIPE_FP16] = (fp16) * TERA,                                                                       \
      [RGM_PIPE_BF16] = (bf16) * TERA,                                                                       \
      [RGM_PIPE_FP8] = (fp8) * TERA,                                                                         \
      [RGM_PIPE_INT8] = (int8) * TERA}},
    RGM_DATASHEETS(DATASHEET_ROW)
#undef DATASHEET_ROW
};
const size_t rgm_datasheets_count = sizeof rgm_datasheets / sizeof *rgm_datasheets;
