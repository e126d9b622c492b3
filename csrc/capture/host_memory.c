// SPDX-License-Identifier: Apache-2.0
#include "capture/host_memory.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"

// Any thread may ask first, and many ask at once: so this is no rgm_kept_file, and that it still is the
// kernel's is seen by what it says.
static _Atomic(int) statm_fd = -1;

// Resident pages and those of them that others share; false where the file says something else, or nothing.
static bool statm_read(int fd, int64_t *resident, int64_t *shared) {
    enum { SIZE, RESIDENT, SHARED, FIELDS = 7, DIGITS = 18 };
    char text[128];
    int64_t found[FIELDS];
    ssize_t length = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    if (length <= 0) return false;
    text[length] = '\0';
    const char *at = text;
    for (int i = 0; i < FIELDS; i++) {
        const char *begin = at;
        for (found[i] = 0; *at >= '0' && *at <= '9' && at - begin < DIGITS; at++)
            found[i] = 10 * found[i] + (*at - '0');
        if (at == begin || *at != (i + 1 < FIELDS ? ' ' : '\n')) return false;
        at++;
    }
    *resident = found[RESIDENT];
    *shared = found[SHARED];
    return at == text + length;
}

static int statm_open(void) {
    rgm_kept_file file;
    return rgm_kept_open(&file, "/proc/self/statm", O_RDONLY, 0) ? rgm_kept_descriptor(&file) : -1;
}

// As above, in bytes. What the program has put in the file's place stays open.
static bool memory_now(int64_t *resident, int64_t *shared) {
    static _Atomic(long) page;
    int fd = atomic_load(&statm_fd);
    if (!statm_read(fd, resident, shared)) {
        int opened = statm_open();
        if (!statm_read(opened, resident, shared) ||
            !atomic_compare_exchange_strong(&statm_fd, &fd, opened)) {
            if (opened >= 0) close(opened);
            if (!statm_read(atomic_load(&statm_fd), resident, shared)) return false;
        }
    }
    if (!atomic_load_explicit(&page, memory_order_relaxed)) atomic_store(&page, sysconf(_SC_PAGESIZE));
    long bytes = atomic_load_explicit(&page, memory_order_relaxed);
    *resident *= bytes;
    *shared *= bytes;
    return true;
}

void rgm_memory_reopen(void) {
    int64_t resident, shared;
    int fd = atomic_exchange(&statm_fd, -1);
    if (statm_read(fd, &resident, &shared)) close(fd);
}

int64_t rgm_memory_resident(void) {
    int64_t resident, shared;
    return memory_now(&resident, &shared) ? resident : -1;
}

int64_t rgm_memory_private(void) {
    int64_t resident, shared;
    return memory_now(&resident, &shared) ? resident - shared : -1;
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
