// SPDX-License-Identifier: Apache-2.0
#include "capture/monitor.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/strings.h"

enum { NAME_BYTES = 16 << 20, OTHERS = 1 }; // the first name after the empty one

struct rgm_monitor {
    pthread_mutex_t mutex;
    rgm_strings names; // id 0, the empty name, is a kernel like others
    uint32_t *kernel_of_name;
    uint32_t *name_of_kernel;
    rgm_monitor_kernel *kernels;
    rgm_monitor_record *ring;
    size_t room, next; // next: where the next record goes
    rgm_monitor_totals totals;
};

static const rgm_monitor_kernel nothing = {.peak_memory_bytes = -1};

static void clear(rgm_monitor *monitor) {
    monitor->totals = (rgm_monitor_totals){.all = nothing, .current_memory_bytes = -1};
    monitor->next = 0;
    memset(monitor->kernel_of_name, 0, (RGM_MONITOR_NAMES) * sizeof *monitor->kernel_of_name);
}

rgm_status rgm_monitor_new(rgm_monitor **out, size_t room, rgm_error *err) {
    *out = NULL;
    if (room > RGM_MONITOR_MOST_ROOM)
        return rgm_error_set(err, RGM_INVALID, "a monitor keeps at most %d executions, not %zu",
                             RGM_MONITOR_MOST_ROOM, room);
    rgm_monitor *monitor = rgm_calloc(1, sizeof *monitor);
    if (!monitor) return rgm_error_no_memory(err);
    pthread_mutex_init(&monitor->mutex, NULL);
    monitor->room = room;
    monitor->ring = rgm_calloc(room, sizeof *monitor->ring);
    monitor->kernels = rgm_calloc(RGM_MONITOR_NAMES, sizeof *monitor->kernels);
    monitor->kernel_of_name = rgm_calloc(RGM_MONITOR_NAMES, sizeof *monitor->kernel_of_name);
    monitor->name_of_kernel = rgm_calloc(RGM_MONITOR_NAMES, sizeof *monitor->name_of_kernel);
    rgm_status status = RGM_OK;
    if (!monitor->ring || !monitor->kernels || !monitor->kernel_of_name || !monitor->name_of_kernel)
        status = rgm_error_no_memory(err);
    uint32_t others;
    if (status == RGM_OK) status = rgm_strings_init(&monitor->names, NAME_BYTES, err);
    if (status == RGM_OK)
        status = rgm_strings_intern(&monitor->names, RGM_MONITOR_OTHERS, sizeof RGM_MONITOR_OTHERS - 1,
                                    &others, err);
    if (status != RGM_OK) {
        rgm_monitor_free(monitor);
        return status;
    }
    clear(monitor);
    *out = monitor;
    return RGM_OK;
}

void rgm_monitor_free(rgm_monitor *monitor) {
    if (!monitor) return;
    rgm_strings_release(&monitor->names);
    pthread_mutex_destroy(&monitor->mutex);
    rgm_free(monitor->ring);
    rgm_free(monitor->kernels);
    rgm_free(monitor->kernel_of_name);
    rgm_free(monitor->name_of_kernel);
    rgm_free(monitor);
}

// The name's id; that of the others past the bound of names, or of the memory that all names together take.
static rgm_status name_id(rgm_monitor *monitor, const char *name, size_t length, uint32_t *id,
                          rgm_error *err) {
    rgm_error full;
    rgm_status status = rgm_strings_intern(&monitor->names, name, length, id, &full);
    if (status == RGM_LIMIT || (status == RGM_OK && *id >= RGM_MONITOR_NAMES)) {
        *id = OTHERS;
        return RGM_OK;
    }
    return status == RGM_OK ? RGM_OK : rgm_error_set(err, status, "%s", full.message);
}

static rgm_status kernel_index(rgm_monitor *monitor, const char *name, size_t length, uint32_t *index,
                               rgm_error *err) {
    uint32_t id;
    RGM_TRY(name_id(monitor, name, length, &id, err));
    if (monitor->kernel_of_name[id] == 0) {
        monitor->name_of_kernel[monitor->totals.kernels] = id;
        monitor->kernels[monitor->totals.kernels] = nothing;
        monitor->kernel_of_name[id] = ++monitor->totals.kernels;
    }
    *index = monitor->kernel_of_name[id] - 1;
    return RGM_OK;
}

static void count(rgm_monitor_kernel *kernel, const rgm_monitor_record *record) {
    bool first = kernel->call_count++ == 0;
    kernel->failed_calls += !record->success;
    if (__builtin_add_overflow(kernel->total_ns, record->duration_ns, &kernel->total_ns))
        kernel->total_ns = INT64_MAX;
    if (first || record->duration_ns < kernel->min_ns) kernel->min_ns = record->duration_ns;
    if (record->duration_ns > kernel->max_ns) kernel->max_ns = record->duration_ns;
    if (record->memory_bytes > kernel->peak_memory_bytes) kernel->peak_memory_bytes = record->memory_bytes;
}

static void keep(rgm_monitor *monitor, const rgm_monitor_record *record) {
    if (monitor->totals.kept == (int64_t)monitor->room)
        monitor->totals.dropped++;
    else
        monitor->totals.kept++;
    if (monitor->room == 0) return;
    monitor->ring[monitor->next] = *record;
    monitor->next = (monitor->next + 1) % monitor->room;
}

rgm_status rgm_monitor_add(rgm_monitor *monitor, const char *name, size_t length,
                           const rgm_monitor_record *record, rgm_error *err) {
    rgm_monitor_record own = *record;
    if (record->duration_ns < 0)
        return rgm_error_set(err, RGM_INVALID, "a duration is not negative, got %lld ns",
                             (long long)record->duration_ns);
    if (record->memory_bytes < -1)
        return rgm_error_set(err, RGM_INVALID, "memory is not negative, got %lld bytes",
                             (long long)record->memory_bytes);
    pthread_mutex_lock(&monitor->mutex);
    rgm_status status = kernel_index(monitor, name, length, &own.kernel, err);
    if (status == RGM_OK) {
        count(&monitor->kernels[own.kernel], &own);
        count(&monitor->totals.all, &own);
        if (own.memory_bytes >= 0) monitor->totals.current_memory_bytes = own.memory_bytes;
        keep(monitor, &own);
    }
    pthread_mutex_unlock(&monitor->mutex);
    return status;
}

rgm_monitor_totals rgm_monitor_totals_of(rgm_monitor *monitor) {
    pthread_mutex_lock(&monitor->mutex);
    rgm_monitor_totals totals = monitor->totals;
    pthread_mutex_unlock(&monitor->mutex);
    return totals;
}

bool rgm_monitor_kernel_of(rgm_monitor *monitor, uint32_t kernel, const char **name, size_t *length,
                           rgm_monitor_kernel *out) {
    pthread_mutex_lock(&monitor->mutex);
    bool found = kernel < monitor->totals.kernels;
    if (found) {
        rgm_string text = rgm_strings_view(&monitor->names, monitor->name_of_kernel[kernel]);
        *name = text.data;
        *length = text.length;
        *out = monitor->kernels[kernel];
    }
    pthread_mutex_unlock(&monitor->mutex);
    return found;
}

size_t rgm_monitor_records(rgm_monitor *monitor, rgm_monitor_record *out, size_t room) {
    pthread_mutex_lock(&monitor->mutex);
    size_t kept = (size_t)monitor->totals.kept, n = kept < room ? kept : room;
    for (size_t i = 0; i < n; i++)
        out[i] = monitor->ring[(monitor->next + monitor->room - n + i) % monitor->room];
    pthread_mutex_unlock(&monitor->mutex);
    return n;
}

void rgm_monitor_reset(rgm_monitor *monitor) {
    pthread_mutex_lock(&monitor->mutex);
    clear(monitor);
    pthread_mutex_unlock(&monitor->mutex);
}
