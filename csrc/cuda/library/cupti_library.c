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

const char *rgm_cupti_text(rgm_cupti_result result) {
    switch (result) {
#define RESULT_TEXT(name, value, text)                                                                       \
    case value: return text;
        RGM_CUPTI_RESULTS(RESULT_TEXT)
#undef RESULT_TEXT
    default: return "an error that this version does not know";
    }
}

static const char privileges[] =
    "run as root, or with CAP_PERFMON (driver R565 and later) or CAP_SYS_ADMIN, or load the kernel module "
    "with "
    "NVreg_RestrictProfilingToAdminUsers=0 (a container gets these from its host)";
static const char exclusive[] =
    "the hardware has one set of counters: end ncu, nsys or another profiler, or pause DCGM's "
    "(dcgmi profile --pause)";

rgm_status rgm_cupti_check(rgm_cupti_result result, const char *doing, rgm_error *err) {
    switch (result) {
    case RGM_CUPTI_SUCCESS: return RGM_OK;
    case RGM_CUPTI_OUT_OF_MEMORY:
        return rgm_error_set(err, RGM_NO_MEMORY, "CUPTI: %s: %s", doing, rgm_cupti_text(result));
    case RGM_CUPTI_INSUFFICIENT_PRIVILEGES:
    case RGM_CUPTI_VIRTUAL_PRIVILEGES:
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "hardware counters: this user may not read them (CUPTI error %d); %s", result,
                             privileges);
    case RGM_CUPTI_NOT_INITIALIZED:
        return rgm_error_set(
            err, RGM_UNAVAILABLE,
            "CUPTI: %s: %s (error %d); mostly libnvperf_host.so is missing, which lies beside "
            "libcupti in NVIDIA's packages and which CUPTI loads by its name: %s",
            doing, rgm_cupti_text(result), result, rgm_cupti_spec.remedy);
    case RGM_CUPTI_HARDWARE_BUSY:
    case RGM_CUPTI_INVALID_OPERATION:
        return rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: %s: %s (error %d); %s", doing,
                             rgm_cupti_text(result), result, exclusive);
    default:
        return rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: %s: %s (error %d)", doing, rgm_cupti_text(result),
                             result);
    }
}
