// SPDX-License-Identifier: Apache-2.0
#include "capture/sampler.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/thread.h"

static _Atomic(int) statm_fd = -1;

static int statm_open(void) {
    int fd = atomic_load(&statm_fd);
    if (fd >= 0) return fd;
    fd = rgm_descriptor_open("/proc/self/statm", O_RDONLY, 0);
    int expected = -1;
    if (fd >= 0 && !atomic_compare_exchange_strong(&statm_fd, &expected, fd)) {
        close(fd);
        fd = expected;
    }
    return fd;
}

void rgm_memory_reopen(void) {
    int fd = atomic_exchange(&statm_fd, -1);
    if (fd >= 0) close(fd);
}

// Resident pages and those of them that others share, as bytes; false where they cannot be read.
static bool statm_read(int64_t *resident, int64_t *shared) {
    static _Atomic(long) page;
    char text[128];
    int fd = statm_open();
    if (fd < 0) return false;
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = '\0';
    char *at = text;
    while (*at && *at != ' ') at++; // the first number is the virtual size
    if (!atomic_load_explicit(&page, memory_order_relaxed)) atomic_store(&page, sysconf(_SC_PAGESIZE));
    long bytes = atomic_load_explicit(&page, memory_order_relaxed);
    *resident = strtoll(at, &at, 10) * bytes;
    *shared = strtoll(at, &at, 10) * bytes;
    return true;
}

int64_t rgm_memory_resident(void) {
    int64_t resident, shared;
    return statm_read(&resident, &shared) ? resident : -1;
}

int64_t rgm_memory_private(void) {
    int64_t resident, shared;
    return statm_read(&resident, &shared) ? resident - shared : -1;
}

int64_t rgm_memory_resident_peak(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return -1;
    return (int64_t)usage.ru_maxrss * 1024;
}

bool rgm_memory_malloc(int64_t *in_use, int64_t *held) {
    *in_use = *held = -1;
    // glibc has it from 2.33 on, and a wheel is built with an older one: so it is looked for where it runs.
    void *address = dlsym(RTLD_DEFAULT, "mallinfo2");
    if (!address) return false;
    typedef struct {
        size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
    } malloc_counts;
    malloc_counts (*ask)(void);
    memcpy(&ask, &address, sizeof ask);
    malloc_counts info = ask();
    *in_use = (int64_t)(info.uordblks + info.hblkhd);
    *held = (int64_t)(info.arena + info.hblkhd);
    return true;
}

// The last look is taken after the end was asked for: a session that ends before this thread ran has one,
// too.
static void *sample_loop(void *arg) {
    rgm_sampler *sampler = arg;
    int64_t last_bytes = -2, last_ns = 0;
    for (bool ends = false;;) {
        rgm_sample sample = {.ticks = rgm_clock_ticks(),
                             .bytes = rgm_memory_resident(),
                             .allocated = -1,
                             .reserved = -1,
                             .device = -1};
        int64_t now = rgm_clock_monotonic_ns();
        if (sample.bytes >= 0 && (sample.bytes != last_bytes || now - last_ns >= sampler->heartbeat_ns)) {
            sampler->sink(sampler->arg, &sample);
            last_bytes = sample.bytes;
            last_ns = now;
        }
        atomic_store_explicit(&sampler->cpu_ns, rgm_thread_cpu_ns(), memory_order_relaxed);
        if (ends) return NULL;
        uint32_t one_in = atomic_load(&sampler->one_in);
        pthread_mutex_lock(&sampler->mutex);
        if (!sampler->stop)
            rgm_cond_wait(&sampler->wake, &sampler->mutex, sampler->interval_ns * (one_in ? one_in : 1));
        ends = sampler->stop;
        pthread_mutex_unlock(&sampler->mutex);
    }
}

rgm_status rgm_sampler_start(rgm_sampler *sampler, int64_t interval_ns, int64_t heartbeat_ns,
                             rgm_sampler_sink sink, void *arg, rgm_error *err) {
    if (rgm_memory_resident() < 0)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "host memory cannot be sampled: /proc/self/statm is not readable");
    pthread_mutex_init(&sampler->mutex, NULL);
    rgm_cond_init(&sampler->wake);
    sampler->stop = false;
    sampler->interval_ns = interval_ns;
    sampler->heartbeat_ns = heartbeat_ns;
    sampler->sink = sink;
    sampler->arg = arg;
    rgm_status status = rgm_thread_start(&sampler->thread, "rgm-memory", sample_loop, sampler, err);
    sampler->running = status == RGM_OK;
    return status;
}

void rgm_sampler_stop(rgm_sampler *sampler) {
    if (!sampler->running) return;
    pthread_mutex_lock(&sampler->mutex);
    sampler->stop = true;
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->mutex);
    pthread_join(sampler->thread, NULL);
    sampler->running = false;
    pthread_cond_destroy(&sampler->wake);
    pthread_mutex_destroy(&sampler->mutex);
}
