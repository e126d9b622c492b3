// SPDX-License-Identifier: Apache-2.0
#include "cuda/library/driver.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/fork.h"

static const char *const sonames[] = {"libcuda.so.1", NULL};
// A toolkit's copy (CUDA_HOME/compat) belongs to another kernel driver unless the loader is told to take it;
// a process that has loaded it where the loader would not cannot use its GPUs any more.
static const char *const nowhere[] = {NULL};

const rgm_library_spec rgm_driver_spec = {
    .title = "CUDA driver",
    .variable = "REGIMETER_LIBCUDA",
    .sonames = sonames,
    .folders = nowhere,
    .toolkit = nowhere,
    .remedy = "install the NVIDIA driver, or run where the device is visible (containers: --gpus all)",
};

static const rgm_symbol symbols[] = {
#define SYMBOL(capability, member, symbol, parameters)                                                       \
    {symbol, offsetof(rgm_driver, member), RGM_DRIVER_##capability},
    RGM_DRIVER_SYMBOLS(SYMBOL)
#undef SYMBOL
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_driver table;
static _Atomic(bool) ready;
static _Atomic(bool) lost;

static bool used_at_fork;

// Asked in the parent, because a child must not call the driver.
static void before_fork(void) {
    rgm_cu_context context = NULL;
    pthread_mutex_lock(&mutex);
    used_at_fork = atomic_load(&ready) && table.context_current(&context) != RGM_CU_NOT_INITIALIZED;
}
static void after_fork(void) { pthread_mutex_unlock(&mutex); }

// A driver that had not been initialised can still be used; one that had cannot, and does not say so.
static void in_child(void) {
    if (used_at_fork) atomic_store(&lost, true);
    pthread_mutex_unlock(&mutex);
}

static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

bool rgm_driver_lost_by_fork(void) { return atomic_load(&lost); }

rgm_status rgm_driver_get(const rgm_driver **driver, rgm_library_reach reach, rgm_error *err) {
    rgm_status status = RGM_OK;
    *driver = NULL;
    if (RGM_UNLIKELY(atomic_load_explicit(&lost, memory_order_relaxed)))
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "CUDA driver: this process was forked from one that used CUDA, which the driver "
                             "does not support; start it with spawn or forkserver");
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        rgm_fork_watch(RGM_FORK_DRIVER, &hooks);
        pthread_mutex_lock(&mutex);
        if (!atomic_load(&ready)) {
            status = rgm_library_open(&table.library, &rgm_driver_spec, reach, symbols,
                                      sizeof symbols / sizeof *symbols, &table, err);
            if (status == RGM_OK) {
                status = rgm_library_needs(&table.library, &rgm_driver_spec, RGM_DRIVER_BASE, err);
                if (status != RGM_OK) rgm_library_close(&table.library);
            }
            if (status == RGM_OK) atomic_store_explicit(&ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&mutex);
    }
    if (status == RGM_OK) *driver = &table;
    return status;
}

bool rgm_driver_used(const rgm_driver **driver, uint64_t *seen) {
    rgm_cu_context context = NULL;
    bool open = atomic_load_explicit(&ready, memory_order_acquire);
    if (!open && !rgm_library_is_loaded(&rgm_driver_spec, seen)) return false;
    if (rgm_driver_get(driver, RGM_LIBRARY_IF_LOADED, NULL) != RGM_OK) return false;
    return (*driver)->context_current(&context) == RGM_CU_SUCCESS;
}

rgm_status rgm_driver_start(const rgm_driver **driver, rgm_error *err) {
    int count = 0;
    RGM_TRY(rgm_driver_get(driver, RGM_LIBRARY_ANYWHERE, err));
    rgm_cu_result result = (*driver)->init(0);
    if (result != RGM_CU_SUCCESS)
        return rgm_error_set(err, RGM_UNAVAILABLE, "CUDA driver: cuInit failed with %s",
                             rgm_driver_text(*driver, result));
    result = (*driver)->device_count(&count);
    if (result != RGM_CU_SUCCESS || count < 1)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "CUDA driver: no device is visible (%s); look at CUDA_VISIBLE_DEVICES",
                             rgm_driver_text(*driver, result));
    return RGM_OK;
}

const char *rgm_driver_text(const rgm_driver *driver, rgm_cu_result result) {
    const char *text = NULL;
    if (driver->error_name(result, &text) == RGM_CU_SUCCESS && text) return text;
    return "an unknown error";
}

void rgm_driver_forget(void) {
    pthread_mutex_lock(&mutex);
    if (atomic_exchange(&ready, false)) rgm_library_close(&table.library);
    atomic_store(&lost, false);
    pthread_mutex_unlock(&mutex);
}
