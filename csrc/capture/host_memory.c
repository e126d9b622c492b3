// SPDX-License-Identifier: Apache-2.0
#include "capture/host_memory.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"

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

bool rgm_memory_look(rgm_memory_watch *watch, rgm_sample *sample) {
    *sample = (rgm_sample){.ticks = rgm_clock_ticks(),
                           .bytes = rgm_memory_resident(),
                           .allocated = -1,
                           .reserved = -1,
                           .device = -1};
    int64_t now_ns = rgm_clock_monotonic_ns();
    if (sample->bytes < 0 ||
        (sample->bytes == watch->bytes && watch->told_ns && now_ns - watch->told_ns < watch->heartbeat_ns))
        return false;
    watch->bytes = sample->bytes;
    watch->told_ns = now_ns;
    return true;
}
