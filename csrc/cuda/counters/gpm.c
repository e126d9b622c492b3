// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/gpm.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cuda/library/driver.h"
#include "model/counter_roles.h"

// --- NVML's interface -------------------------------------------------------------------------------------

typedef int nvml_result;
typedef struct nvml_device_s *nvml_device;
typedef struct nvml_sample_s *nvml_sample;

enum { NVML_SUCCESS = 0, NVML_NOT_SUPPORTED = 3, NVML_NO_PERMISSION = 4, GPM_VERSION = 1 };

typedef struct {
    unsigned version;
    unsigned supported;
} nvml_gpm_support;

typedef struct {
    unsigned number;
    nvml_result result;
    double value;
    char *names[3]; // short name, long name, unit
} nvml_gpm_metric;

// The library's array is as long as the metrics that it knows (98 at first, 333 later). It reads and writes
// as many as are asked for; room for more is in case it should clear them all.
enum { GPM_ROOM = 512 };
typedef struct {
    unsigned version;
    unsigned count;
    nvml_sample before, after;
    nvml_gpm_metric metrics[GPM_ROOM];
} nvml_gpm_get;

_Static_assert(sizeof(nvml_gpm_metric) == 40 && offsetof(nvml_gpm_get, metrics) == 24, "as NVML lays it out");

// X(CAPABILITY, member, symbol, parameters); all return nvml_result.
#define GPM_SYMBOLS(X)                                                                                       \
    X(BASE, init, "nvmlInit_v2", (void))                                                                     \
    X(BASE, shutdown, "nvmlShutdown", (void))                                                                \
    X(BASE, by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned index, nvml_device *device))                \
    X(BASE, by_uuid, "nvmlDeviceGetHandleByUUID", (const char *uuid, nvml_device *device))                   \
    X(GPM, support, "nvmlGpmQueryDeviceSupport", (nvml_device device, nvml_gpm_support * support))           \
    X(GPM, sample_alloc, "nvmlGpmSampleAlloc", (nvml_sample * sample))                                       \
    X(GPM, sample_free, "nvmlGpmSampleFree", (nvml_sample sample))                                           \
    X(GPM, sample_get, "nvmlGpmSampleGet", (nvml_device device, nvml_sample sample))                         \
    X(GPM, metrics_get, "nvmlGpmMetricsGet", (nvml_gpm_get * get))

enum { GPM_BASE, GPM_GPM };
#define GPM_MEMBER(capability, member, symbol, parameters) nvml_result(*member) parameters;
typedef struct {
    rgm_library library;
    GPM_SYMBOLS(GPM_MEMBER)
} nvml_table;

static const rgm_symbol symbols[] = {
#define GPM_SYMBOL(capability, member, symbol, parameters)                                                   \
    {symbol, offsetof(nvml_table, member), GPM_##capability},
    GPM_SYMBOLS(GPM_SYMBOL)};

static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
static const char *const nowhere[] = {NULL};
static const rgm_library_spec spec = {
    .title = "NVML",
    .variable = "REGIMETER_LIBNVML",
    .sonames = sonames,
    .folders = nowhere,
    .toolkit = nowhere,
    .remedy = "it comes with the NVIDIA driver",
};

// --- sampling ---------------------------------------------------------------------------------------------

struct rgm_gpm {
    nvml_table table;
    rgm_device_sink sink;
    rgm_gpm_options options;
    nvml_device device;
    nvml_sample samples[2];
    pid_t owner;
    bool initialised, running;
    uint32_t *series; // string ids
    // The service thread's; stop's after it has ended.
    bool have; // samples[0] was taken, at taken_ns
    int64_t taken_ns;
    nvml_gpm_get get;
    rgm_counter_row *rows; // [rgm_gpm_metrics_count]
    rgm_gpm_counts counts;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stop; // under the mutex
};

static void emit(rgm_gpm *g) {
    size_t n = 0;
    for (size_t i = 0; i < rgm_gpm_metrics_count; i++) {
        const nvml_gpm_metric *metric = &g->get.metrics[i];
        // Each metric has a result of its own: a device without NVLink has no value there, not a 0.
        if (metric->result != NVML_SUCCESS || !isfinite(metric->value)) continue;
        g->rows[n++] = (rgm_counter_row){.time_ns = g->taken_ns,
                                         .value = metric->value * rgm_gpm_metrics[i].factor,
                                         .series = g->series[i],
                                         .device = (int16_t)g->options.device};
    }
    if (n) g->sink.counters(g->sink.arg, g->rows, n);
    g->counts.samples += n > 0;
}

static void take_sample(rgm_gpm *g) {
    int64_t now = rgm_clock_monotonic_ns();
    if (g->table.sample_get(g->device, g->samples[1]) != NVML_SUCCESS) {
        g->counts.failures++;
        return;
    }
    if (g->have) {
        g->get.version = GPM_VERSION;
        g->get.count = (unsigned)rgm_gpm_metrics_count;
        g->get.before = g->samples[0];
        g->get.after = g->samples[1];
        for (size_t i = 0; i < rgm_gpm_metrics_count; i++)
            g->get.metrics[i] = (nvml_gpm_metric){.number = rgm_gpm_metrics[i].number, .value = NAN};
        if (g->table.metrics_get(&g->get) == NVML_SUCCESS)
            emit(g);
        else
            g->counts.failures++;
    }
    nvml_sample taken = g->samples[1];
    g->samples[1] = g->samples[0];
    g->samples[0] = taken;
    g->taken_ns = now;
    g->have = true;
}

static void *serve(void *arg) {
    rgm_gpm *g = arg;
    pthread_mutex_lock(&g->mutex);
    while (!g->stop) {
        pthread_mutex_unlock(&g->mutex);
        take_sample(g);
        g->counts.cpu_ns = rgm_thread_cpu_ns();
        pthread_mutex_lock(&g->mutex);
        if (!g->stop) (void)rgm_cond_wait(&g->wake, &g->mutex, g->options.interval_ns);
    }
    pthread_mutex_unlock(&g->mutex);
    return NULL;
}

// --- start and stop ---------------------------------------------------------------------------------------

// CUDA's ordinals are not NVML's: CUDA_VISIBLE_DEVICES hides and reorders. Without a driver for CUDA they are
// taken to be the same.
static nvml_result find_device(rgm_gpm *g) {
    const rgm_driver *driver;
    rgm_cu_device device;
    rgm_cu_uuid uuid;
    char text[48];
    int at = 0;
    if (rgm_driver_start(&driver, NULL) != RGM_OK ||
        driver->device_get(&device, g->options.device) != RGM_CU_SUCCESS ||
        driver->device_uuid(&uuid, device) != RGM_CU_SUCCESS)
        return g->table.by_index((unsigned)g->options.device, &g->device);
    at = snprintf(text, sizeof text, "GPU");
    for (int i = 0; i < 16; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid.bytes[i]);
    return g->table.by_uuid(text, &g->device);
}

static rgm_status check(nvml_result result, const char *doing, rgm_error *err) {
    if (result == NVML_SUCCESS) return RGM_OK;
    if (result == NVML_NO_PERMISSION)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "NVML: %s: this user may not; on a MIG device an administrator has to", doing);
    return rgm_error_set(err, RGM_UNAVAILABLE, "NVML: %s: error %d", doing, result);
}

static rgm_status prepare(rgm_gpm *g, rgm_error *err) {
    nvml_gpm_support support = {.version = GPM_VERSION};
    RGM_TRY(rgm_library_open(&g->table.library, &spec, RGM_LIBRARY_ANYWHERE, symbols,
                             sizeof symbols / sizeof *symbols, &g->table, err));
    RGM_TRY(rgm_library_needs(&g->table.library, &spec, GPM_BASE, err));
    RGM_TRY(rgm_library_needs(&g->table.library, &spec, GPM_GPM, err));
    RGM_TRY(check(g->table.init(), "initialising", err));
    g->initialised = true;
    RGM_TRY(check(find_device(g), "looking for the device", err));
    nvml_result result = g->table.support(g->device, &support);
    if (result == NVML_NOT_SUPPORTED || (result == NVML_SUCCESS && !support.supported))
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "NVML: the device has no performance monitoring (GPM); it begins with Hopper");
    RGM_TRY(check(result, "asking for performance monitoring", err));
    for (int i = 0; i < 2; i++)
        RGM_TRY(check(g->table.sample_alloc(&g->samples[i]), "allocating a sample", err));
    g->series = rgm_malloc(rgm_gpm_metrics_count * sizeof *g->series);
    g->rows = rgm_malloc(rgm_gpm_metrics_count * sizeof *g->rows);
    if (!g->series || !g->rows) return rgm_error_no_memory(err);
    for (size_t i = 0; i < rgm_gpm_metrics_count; i++) {
        const char *name = rgm_gpm_metrics[i].series;
        g->series[i] = g->sink.intern(g->sink.arg, name, strlen(name));
    }
    return RGM_OK;
}

rgm_status rgm_gpm_start(rgm_gpm **out, const rgm_gpm_options *options, rgm_device_sink sink,
                         rgm_error *err) {
    *out = NULL;
    if (options->device < 0 || options->device > INT16_MAX || options->interval_ns < 1)
        return rgm_error_set(err, RGM_INVALID, "NVML: sampling needs a device and an interval");
    rgm_gpm *g = rgm_calloc(1, sizeof *g);
    if (!g) return rgm_error_no_memory(err);
    g->options = *options;
    g->sink = sink;
    g->owner = getpid();
    pthread_mutex_init(&g->mutex, NULL);
    rgm_cond_init(&g->wake);
    rgm_status status = prepare(g, err);
    if (status == RGM_OK) status = rgm_thread_start(&g->thread, "rgm-gpm", serve, g, err);
    g->running = status == RGM_OK;
    if (status == RGM_OK)
        *out = g;
    else
        rgm_gpm_stop(g, NULL);
    return status;
}

static void end_sampling(rgm_gpm *g) {
    if (g->running) {
        pthread_mutex_lock(&g->mutex);
        g->stop = true;
        pthread_cond_signal(&g->wake);
        pthread_mutex_unlock(&g->mutex);
        pthread_join(g->thread, NULL);
        if (rgm_clock_monotonic_ns() - g->taken_ns >= RGM_GPM_LEAST_NS) take_sample(g);
    }
    for (int i = 0; i < 2; i++)
        if (g->samples[i]) (void)g->table.sample_free(g->samples[i]);
    if (g->initialised) (void)g->table.shutdown(); // counted by NVML: others keep theirs
    rgm_library_close(&g->table.library);
    pthread_cond_destroy(&g->wake);
    pthread_mutex_destroy(&g->mutex);
}

void rgm_gpm_stop(rgm_gpm *g, rgm_gpm_counts *counts) {
    if (!g) return;
    if (g->owner == getpid()) end_sampling(g);
    if (counts) *counts = g->counts;
    rgm_free(g->series);
    rgm_free(g->rows);
    rgm_free(g);
}
