// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels.h"

#include <stdio.h>
#include <string.h>

const rgm_kernel_file rgm_kernel_files[] = {
#define FILE_ROW(name, lowest, doc) {#name, lowest, doc},
    RGM_KERNEL_FILES(FILE_ROW)
#undef FILE_ROW
};
const size_t rgm_kernel_files_count = sizeof rgm_kernel_files / sizeof *rgm_kernel_files;

const rgm_calibration_kernel rgm_calibration_kernels[] = {
#define KERNEL_ROW(file, entry, unit, work, doc) {#file, #entry, unit, work, doc},
    RGM_CALIBRATION_KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};
const size_t rgm_calibration_kernels_count = sizeof rgm_calibration_kernels / sizeof *rgm_calibration_kernels;

static const char *text_of(const char *file) {
    for (size_t i = 0; i < rgm_kernel_sources_count; i++)
        if (strcmp(rgm_kernel_sources[i].file, file) == 0) return rgm_kernel_sources[i].text;
    return NULL;
}

static const rgm_kernel_file *row_of(const char *file) {
    for (size_t i = 0; i < rgm_kernel_files_count; i++)
        if (strcmp(rgm_kernel_files[i].name, file) == 0) return &rgm_kernel_files[i];
    return NULL;
}

rgm_status rgm_kernel_compile(const char *file, const char *arch, rgm_cubin_cache *cache, rgm_bytes *image,
                              rgm_error *err) {
    const rgm_kernel_file *row = row_of(file);
    const char *text = text_of(file);
    char name[64];
    if (!row || !text) return rgm_error_set(err, RGM_INVALID, "there is no kernel file \"%.64s\"", file);
    int number = rgm_arch_number(arch);
    if (number >= 0 && number < row->lowest)
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s needs compute capability %d.%d, %s is below", file,
                             row->lowest / 10, row->lowest % 10, arch);
    (void)snprintf(name, sizeof name, "%s.cu", file);
    rgm_compilation what = {
        .name = name,
        .source = text,
        .header = rgm_kernel_header,
        .header_name = "device/kernel.cuh",
        .arch = arch,
    };
    return rgm_cubin_get(cache, &what, image, err);
}
