// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/counter_host.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fork.h"
#include "base/memory.h"
#include "cuda/library/driver.h"

static const rgm_symbol symbols[] = {
#define SYMBOL(capability, member, symbol, parameters)                                                       \
    {symbol, offsetof(rgm_counter_library, member), RGM_COUNTER_##capability},
    RGM_COUNTER_SYMBOLS(SYMBOL)
#undef SYMBOL
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_counter_library table;
static _Atomic(bool) ready;
static int target_users; // under the mutex

static void before_fork(void) { pthread_mutex_lock(&mutex); }
static void after_fork(void) { pthread_mutex_unlock(&mutex); }
// Planning goes on working in a child; measurements of the parent are none of its business.
static void in_child(void) {
    target_users = 0;
    pthread_mutex_unlock(&mutex);
}
static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

// --- the table --------------------------------------------------------------------------------------------

static bool has_driver(void) {
    const rgm_driver *driver;
    return rgm_driver_get(&driver, RGM_LIBRARY_ANYWHERE, NULL) == RGM_OK && driver->init(0) == RGM_CU_SUCCESS;
}

static rgm_status verify(rgm_counter_library *made, bool driver, rgm_error *err) {
    rgm_library *library = &made->library;
    bool marked = !(library->missing & (1u << RGM_COUNTER_NEEDS_DRIVER));
    made->driver = driver;
    if (marked && !made->driver)
        return rgm_error_set(
            err, RGM_UNAVAILABLE,
            "CUPTI: %s is of version 13.2 or later, which works only where a CUDA driver is; "
            "for planning without one set %s to the library of a version from 12.6 to 13.1",
            library->path, rgm_cupti_spec.variable);
    // CUPTI loads its planner by a bare name and brings no search path of its own.
    made->planner = rgm_library_beside(library, "libnvperf_host.so");
    RGM_TRY(rgm_library_needs(library, &rgm_cupti_spec, RGM_COUNTER_BASE, err));
    RGM_TRY(rgm_cupti_check(made->version(&made->api_version), "asking for the version", err));
    if (library->missing & (1u << RGM_COUNTER_HOST))
        return rgm_error_set(
            err, RGM_UNAVAILABLE,
            "CUPTI: %s (API version %u) has no %s; hardware counters need CUPTI 12.6 or later", library->path,
            (unsigned)made->api_version, library->absent[RGM_COUNTER_HOST]);
    return RGM_OK;
}

static void close_library(void) {
    if (table.planner) dlclose(table.planner);
    table.planner = NULL;
    rgm_library_close(&table.library);
}

rgm_status rgm_counter_library_get(const rgm_counter_library **library, rgm_error *err) {
    rgm_status status = RGM_OK;
    *library = NULL;
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        bool driver = has_driver(); // before our mutex, because it takes another that forks take too
        rgm_fork_watch(RGM_FORK_COUNTERS, &hooks);
        pthread_mutex_lock(&mutex);
        if (!atomic_load(&ready)) {
            status = rgm_library_open(&table.library, &rgm_cupti_spec, RGM_LIBRARY_ANYWHERE, symbols,
                                      sizeof symbols / sizeof *symbols, &table, err);
            if (status == RGM_OK) {
                status = verify(&table, driver, err);
                if (status != RGM_OK) close_library();
            }
            if (status == RGM_OK) atomic_store_explicit(&ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&mutex);
    }
    if (status == RGM_OK) *library = &table;
    return status;
}

rgm_status rgm_counter_library_start(const rgm_counter_library **library, uint32_t capability,
                                     rgm_error *err) {
    const rgm_driver *driver;
    RGM_TRY(rgm_driver_start(&driver, err)); // first: it says more about a machine without a device
    RGM_TRY(rgm_counter_library_get(library, err));
    RGM_TRY(rgm_library_needs(&(*library)->library, &rgm_cupti_spec, RGM_COUNTER_TARGET, err));
    return rgm_library_needs(&(*library)->library, &rgm_cupti_spec, capability, err);
}

// --- device -----------------------------------------------------------------------------------------------

rgm_status rgm_counter_target_begin(const rgm_counter_library *library, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_initialize, p, priv);
    rgm_status status = RGM_OK;
    pthread_mutex_lock(&mutex);
    if (!target_users)
        status = rgm_cupti_check(library->initialize(&p), "initialising the profiler interface", err);
    if (status == RGM_OK) target_users++;
    pthread_mutex_unlock(&mutex);
    return status;
}

void rgm_counter_target_end(const rgm_counter_library *library) {
    RGM_PARAMS(rgm_cupti_initialize, p, priv);
    pthread_mutex_lock(&mutex);
    if (--target_users == 0) (void)library->deinitialize(&p);
    pthread_mutex_unlock(&mutex);
}

rgm_status rgm_counter_device_chip(const rgm_counter_library *library, int device, const char **chip,
                                   rgm_error *err) {
    RGM_PARAMS(rgm_cupti_chip_name, p, chip);
    p.device = (size_t)device;
    RGM_TRY(rgm_cupti_check(library->chip_name(&p), "asking for the chip of the device", err));
    *chip = p.chip;
    return RGM_OK;
}

void rgm_counter_library_forget(void) {
    pthread_mutex_lock(&mutex);
    if (atomic_exchange(&ready, false)) close_library();
    pthread_mutex_unlock(&mutex);
}

// --- host -------------------------------------------------------------------------------------------------

rgm_status rgm_counter_chips(const rgm_counter_library *library, const char *const **chips, size_t *count,
                             rgm_error *err) {
    RGM_PARAMS(rgm_cupti_host_chips, p, chips);
    *chips = NULL;
    *count = 0;
    RGM_TRY(rgm_cupti_check(library->host_chips(&p), "asking for the chips", err));
    *chips = p.chips;
    *count = p.count;
    return RGM_OK;
}

static rgm_status unknown_chip(const rgm_counter_library *library, const char *chip, rgm_error *err) {
    const char *const *chips;
    size_t count;
    char list[400] = "";
    RGM_TRY(rgm_counter_chips(library, &chips, &count, err));
    for (size_t i = 0, used = 0; i < count; i++) {
        size_t length = strlen(chips[i]);
        if (strcmp(chips[i], chip) == 0) return RGM_OK;
        if (used + length + 3 > sizeof list) break;
        if (used) list[used++] = ' ';
        memcpy(list + used, chips[i], length + 1);
        used += length;
    }
    return rgm_error_set(err, RGM_INVALID, "unknown chip \"%.40s\"; this CUPTI knows: %s", chip, list);
}

rgm_status rgm_counter_host_open(rgm_counter_host *host, const rgm_counter_library *library, int profiler,
                                 const char *chip, const uint8_t *availability, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_host_initialize, p, host);
    *host = (rgm_counter_host){.library = library};
    p.profiler = profiler;
    p.chip = chip;
    p.availability = availability;
    RGM_TRY(unknown_chip(library, chip, err));
    rgm_cupti_result result = library->host_initialize(&p);
    if (result == RGM_CUPTI_NOT_SUPPORTED)
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s has no %s", chip,
                             profiler == RGM_CUPTI_PM_SAMPLING ? "sampling of counters (PM sampling)"
                                                               : "counters of ranges (Range Profiler)");
    RGM_TRY(rgm_cupti_check(result, "preparing the metrics of the chip", err));
    host->object = p.host;
    return RGM_OK;
}

void rgm_counter_host_close(rgm_counter_host *host) {
    RGM_PARAMS(rgm_cupti_host_deinitialize, p, host);
    if (!host->object) return;
    p.host = host->object;
    (void)host->library->host_deinitialize(&p);
    host->object = NULL;
}

static bool has_sub(const rgm_cupti_host_sub_metrics *found, const char *sub) {
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->names[i], sub) == 0) return true;
    return false;
}

bool rgm_counter_host_has(const rgm_counter_host *host, const char *metric) {
    // A base name may hold dots itself ("PCI.TriageCompute.pcie__read_bytes"), but none after its "__".
    const char *dot = strstr(metric, "__");
    char base[128];
    dot = dot ? strchr(dot, '.') : NULL;
    if (!dot || (size_t)(dot - metric) >= sizeof base) return false;
    memcpy(base, metric, (size_t)(dot - metric));
    base[dot - metric] = '\0';
    for (int type = 0; type < RGM_CUPTI_METRIC_TYPES; type++) {
        RGM_PARAMS(rgm_cupti_host_sub_metrics, p, names);
        p.host = host->object;
        p.type = type;
        p.metric = base;
        if (host->library->host_sub_metrics(&p) == RGM_CUPTI_SUCCESS && has_sub(&p, dot)) return true;
    }
    return false;
}

size_t rgm_counter_host_count(const rgm_counter_host *host, int type) {
    RGM_PARAMS(rgm_cupti_host_base_metrics, p, count);
    p.host = host->object;
    p.type = type;
    return host->library->host_base_metrics(&p) == RGM_CUPTI_SUCCESS ? p.count : 0;
}

rgm_status rgm_counter_host_configure(rgm_counter_host *host, const char *const *metrics, size_t count,
                                      uint8_t **image, size_t *image_size, size_t *passes, rgm_error *err) {
    const rgm_counter_library *library = host->library;
    RGM_PARAMS(rgm_cupti_host_add_metrics, add, count);
    RGM_PARAMS(rgm_cupti_host_image_size, room, image_size);
    RGM_PARAMS(rgm_cupti_host_image, made, image);
    RGM_PARAMS(rgm_cupti_host_passes, needed, passes);
    rgm_status status;
    *image = NULL;
    add.host = room.host = made.host = host->object;
    add.metrics = (const char **)(uintptr_t)metrics; // the library does not write there
    add.count = count;
    RGM_TRY(rgm_cupti_check(library->host_add_metrics(&add), "choosing metrics", err));
    RGM_TRY(rgm_cupti_check(library->host_image_size(&room), "sizing the configuration", err));
    made.image_size = needed.image_size = *image_size = room.image_size;
    made.image = needed.image = rgm_calloc(1, room.image_size + 1);
    if (!made.image) return rgm_error_no_memory(err);
    RGM_GOTO(rgm_cupti_check(library->host_image(&made), "making the configuration", err));
    RGM_GOTO(rgm_cupti_check(library->host_passes(&needed), "counting passes", err));
    *passes = needed.passes;
    *image = made.image;
    made.image = NULL;
done:
    rgm_free(made.image);
    return status;
}
