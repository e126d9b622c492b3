// SPDX-License-Identifier: Apache-2.0
#include "cuda/library/cupti_library.h"

// Before 12 the name carries the minor version.
static const char *const sonames[] = {
    "libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8", "libcupti.so.11.7", "libcupti.so.11.6",
    "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2", NULL,
};
static const char *const folders[] = {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib", NULL};
static const char *const toolkit[] = {"extras/CUPTI/lib64", "lib64", NULL};

const rgm_library_spec rgm_cupti_spec = {
    .title = "CUPTI",
    .variable = "REGIMETER_LIBCUPTI",
    .sonames = sonames,
    .folders = folders,
    .toolkit = toolkit,
    .remedy =
        "install it with `pip install nvidia-cuda-cupti` (of the CUDA version in use), or set CUDA_HOME to "
        "a toolkit",
};
