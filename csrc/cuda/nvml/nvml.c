// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml/nvml.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/fork.h"

static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
static const char *const nowhere[] = {NULL};

const rgm_library_spec rgm_nvml_spec = {
    .title = "NVML",
    .variable = "REGIMETER_LIBNVML",
    .sonames = sonames,
    .folders = nowhere,
    // The toolkit brings a stub of this name, which answers nothing.
    .toolkit = nowhere,
    .remedy = "it comes with the NVIDIA driver (containers: NVIDIA_DRIVER_CAPABILITIES needs utility)",
};

static const rgm_symbol symbols[] = {
#define SYMBOL(capability, member, symbol, parameters)                                                       \
    {symbol, offsetof(rgm_nvml, member), RGM_NVML_HAS_##capability},
    RGM_NVML_SYMBOLS(SYMBOL)
#undef SYMBOL
};
_Static_assert((int)RGM_NVML_CAPABILITY_COUNT <= (int)RGM_LIBRARY_CAPABILITIES, "one bit each");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_nvml table;
static _Atomic(bool) ready;

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork(void) { pthread_mutex_unlock(&mutex); }

// Handles of the parent are not used in the child: it initialises again, which counts one more user.
static void in_child(void) {
    atomic_store(&ready, false);
    pthread_mutex_unlock(&mutex);
}

static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

static rgm_status load(rgm_error *err) {
    if (!table.library.handle) {
        RGM_TRY(rgm_library_open(&table.library, &rgm_nvml_spec, RGM_LIBRARY_ANYWHERE, symbols,
                                 sizeof symbols / sizeof *symbols, &table, err));
        rgm_status status = rgm_library_needs(&table.library, &rgm_nvml_spec, RGM_NVML_HAS_BASE, err);
        if (status != RGM_OK) {
            rgm_library_close(&table.library);
            return status;
        }
    }
    int64_t before = rgm_clock_monotonic_ns();
    rgm_nvml_result result = table.init();
    table.init_ns = rgm_clock_monotonic_ns() - before;
    if (result == RGM_NVML_SUCCESS || result == RGM_NVML_ALREADY_INITIALIZED) return RGM_OK;
    return rgm_error_set(err, RGM_UNAVAILABLE, "NVML: nvmlInit_v2 failed with %s: %s", rgm_nvml_name(result),
                         rgm_nvml_text(result));
}

rgm_status rgm_nvml_get(const rgm_nvml **nvml, rgm_error *err) {
    rgm_status status = RGM_OK;
    *nvml = NULL;
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        rgm_fork_watch(RGM_FORK_NVML, &hooks);
        pthread_mutex_lock(&mutex);
        if (!atomic_load(&ready)) {
            status = load(err);
            if (status == RGM_OK) atomic_store_explicit(&ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&mutex);
    }
    if (status == RGM_OK) *nvml = &table;
    return status;
}

bool rgm_nvml_can(const rgm_nvml *nvml, uint32_t capability) {
    return !(nvml->library.missing & (1u << capability));
}

const char *rgm_nvml_text(rgm_nvml_result result) {
    switch (result) {
#define TEXT(name, value, text)                                                                              \
    case value: return text;
        RGM_NVML_RESULTS(TEXT)
#undef TEXT
    default: return "a result that this version of regimeter does not know";
    }
}

const char *rgm_nvml_name(rgm_nvml_result result) {
    switch (result) {
#define NAME(name, value, text)                                                                              \
    case value: return #name;
        RGM_NVML_RESULTS(NAME)
#undef NAME
    default: return "an unknown result";
    }
}

void rgm_nvml_forget(void) {
    pthread_mutex_lock(&mutex);
    if (atomic_exchange(&ready, false)) (void)table.shutdown();
    if (table.library.handle) rgm_library_close(&table.library);
    pthread_mutex_unlock(&mutex);
}
