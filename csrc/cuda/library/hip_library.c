// SPDX-License-Identifier: Apache-2.0
#include "cuda/library/hip_library.h"

#include <pthread.h>

static const char *const sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                      "libamdhip64.so", NULL};
static const char *const nowhere[] = {NULL};
static const char *const toolkit[] = {"lib", NULL};

const rgm_library_spec rgm_hip_spec = {
    .title = "HIP runtime",
    .variable = "REGIMETER_LIBHIP",
    .sonames = sonames,
    .folders = nowhere,
    .toolkit = toolkit,
    .remedy = "install ROCm, or run where the device is visible (/dev/kfd)",
};

static const rgm_symbol symbols[] = {
#define SYMBOL(capability, member, symbol, parameters)                                                       \
    {symbol, offsetof(rgm_hip, member), RGM_HIP_##capability},
    RGM_HIP_SYMBOLS(SYMBOL)
#undef SYMBOL
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_hip table;

rgm_status rgm_hip_get(const rgm_hip **hip, rgm_error *err) {
    rgm_status status = RGM_OK;
    *hip = NULL;
    pthread_mutex_lock(&mutex);
    if (!table.library.handle) {
        status = rgm_library_open(&table.library, &rgm_hip_spec, RGM_LIBRARY_IF_LOADED, symbols,
                                  sizeof symbols / sizeof *symbols, &table, err);
        static const uint32_t needed[] = {RGM_HIP_EVENTS, RGM_HIP_CAPTURE};
        for (size_t i = 0; status == RGM_OK && i < sizeof needed / sizeof *needed; i++)
            status = rgm_library_needs(&table.library, &rgm_hip_spec, needed[i], err);
        if (status != RGM_OK) rgm_library_close(&table.library);
    }
    pthread_mutex_unlock(&mutex);
    if (status == RGM_OK) *hip = &table;
    return status;
}

void rgm_hip_forget(void) {
    pthread_mutex_lock(&mutex);
    rgm_library_close(&table.library);
    pthread_mutex_unlock(&mutex);
}
