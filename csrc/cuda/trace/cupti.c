// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"

static const rgm_symbol symbols[] = {
#define SYMBOL(capability, member, symbol, parameters)                                                       \
    {symbol, offsetof(rgm_cupti, member), RGM_CUPTI_##capability},
    RGM_CUPTI_SYMBOLS(SYMBOL)
#undef SYMBOL
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_cupti table;
static _Atomic(bool) ready;

// A fork does not wait for a library that is being loaded or that hangs. Nobody in the child needs the table
// then: the driver was in use, and cannot be used there.
static bool held_at_fork;
static void before_fork(void) { held_at_fork = pthread_mutex_trylock(&mutex) == 0; }
static void after_fork(void) {
    if (held_at_fork) pthread_mutex_unlock(&mutex);
}
static void in_child(void) {
    if (held_at_fork)
        pthread_mutex_unlock(&mutex);
    else
        pthread_mutex_init(&mutex, NULL);
}
static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

int rgm_cupti_major(uint32_t version) {
    // Before 13 the interface counted its releases: 19 came with 12.0.
    if (version >= 100000) return (int)(version / 10000);
    return version >= 19 ? 12 : version >= 13 ? 11 : 10;
}

int rgm_cupti_runtime_major(void) {
    static const struct {
        const char *soname;
        int major;
    } runtimes[] = {{"libcudart.so.13", 13}, {"libcudart.so.12", 12}, {"libcudart.so.11.0", 11}};
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        void *handle = dlopen(runtimes[i].soname, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle) continue;
        dlclose(handle);
        return runtimes[i].major;
    }
    return 0;
}

bool rgm_cupti_can(const rgm_cupti *cupti, uint32_t capability) {
    return !(cupti->library.missing & (1u << capability));
}

const char *rgm_cupti_result_text(const rgm_cupti *cupti, rgm_cupti_result result) {
    const char *text = NULL;
    if (cupti->result_string(result, &text) == RGM_CUPTI_SUCCESS && text) return text;
    return "an unknown error";
}

static int major_of_soname(const char *soname) {
    const char *number = strstr(soname, ".so.");
    return number ? atoi(number + 4) : 0;
}

// Looks for the copies of one major version first, so that the newest on the machine does not win over the
// one that fits.
static rgm_status open_library(int major, rgm_error *err) {
    rgm_library_spec spec = rgm_cupti_spec;
    const char *fitting[16];
    size_t count = 0;
    for (const char *const *name = spec.sonames; *name && count + 1 < sizeof fitting / sizeof *fitting;
         name++)
        if (!major || major_of_soname(*name) == major) fitting[count++] = *name;
    fitting[count] = NULL;
    if (count) spec.sonames = fitting;
    return rgm_library_open(&table.library, &spec, RGM_LIBRARY_ANYWHERE, symbols,
                            sizeof symbols / sizeof *symbols, &table, err);
}

// A second copy beside the one that another tool has loaded would do harm, so that one decides.
static rgm_status refuse_second_copy(int major, rgm_error *err) {
    for (const char *const *name = rgm_cupti_spec.sonames; *name; name++) {
        if (!major || major_of_soname(*name) == major) continue;
        void *other = dlopen(*name, RTLD_LAZY | RTLD_NOLOAD);
        if (!other) continue;
        dlclose(other);
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "CUPTI: the process has loaded %s, but its CUDA runtime is of version %d; start "
                             "it without what brings the other version",
                             *name, major);
    }
    return RGM_OK;
}

static rgm_status check(const rgm_driver *driver, int major, rgm_error *err) {
    int driver_version = 0;
    RGM_TRY(rgm_library_needs(&table.library, &rgm_cupti_spec, RGM_CUPTI_BASE, err));
    rgm_cupti_result result = table.get_version(&table.version);
    if (result != RGM_CUPTI_SUCCESS)
        return rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: %s does not tell its version (%d)",
                             table.library.path, result);
    int own = rgm_cupti_major(table.version);
    if (major && own != major)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "CUPTI: %s is of CUDA %d, but the program's runtime is of CUDA %d; install the "
                             "CUPTI of that version",
                             table.library.path, own, major);
    if (driver->driver_version(&driver_version) == RGM_CU_SUCCESS && own > driver_version / 1000)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "CUPTI: %s is of CUDA %d, but the driver serves up to CUDA %d; install an older "
                             "CUPTI or a newer driver",
                             table.library.path, own, driver_version / 1000);
    return RGM_OK;
}

rgm_status rgm_cupti_get(const rgm_cupti **cupti, const rgm_driver *driver, rgm_error *err) {
    rgm_status status = RGM_OK;
    *cupti = NULL;
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        int driver_version = 0, major = rgm_cupti_runtime_major();
        rgm_fork_watch(RGM_FORK_CUPTI, &hooks);
        pthread_mutex_lock(&mutex);
        if (!atomic_load(&ready)) {
            status = refuse_second_copy(major, err);
            // With no runtime to see, the driver's version is the best guess.
            if (!major && driver->driver_version(&driver_version) == RGM_CU_SUCCESS) {
                if (status == RGM_OK) status = open_library(driver_version / 1000, err);
                if (status == RGM_UNAVAILABLE) status = open_library(0, err);
            } else if (status == RGM_OK) {
                status = open_library(major, err);
            }
            if (status == RGM_OK) {
                status = check(driver, major, err);
                if (status != RGM_OK) rgm_library_close(&table.library);
            }
            if (status == RGM_OK) atomic_store_explicit(&ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&mutex);
    }
    if (status == RGM_OK) *cupti = &table;
    return status;
}

void rgm_cupti_forget(void) {
    pthread_mutex_lock(&mutex);
    if (atomic_exchange(&ready, false)) rgm_library_close(&table.library);
    pthread_mutex_unlock(&mutex);
}
