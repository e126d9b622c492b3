// SPDX-License-Identifier: Apache-2.0
#include "capture/thread_activity.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"

int64_t rgm_thread_clock_ns(int64_t thread) {
    // How the kernel numbers the clock of a thread: its id inverted, then "of a thread" and "as scheduled".
    enum { OF_A_THREAD = 4, AS_SCHEDULED = 2 };
    clockid_t clock = (clockid_t)(~(uint32_t)thread << 3 | OF_A_THREAD | AS_SCHEDULED);
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : -1;
}

typedef char task_path[64];

static const char *path_of(int64_t thread, const char *file, task_path path) {
    (void)snprintf(path, sizeof(task_path), "/proc/self/task/%lld/%s", (long long)thread, file);
    return path;
}

static bool read_text(int fd, char *text, size_t room) {
    ssize_t length = fd >= 0 ? pread(fd, text, room - 1, 0) : -1;
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool read_of(int64_t thread, const char *file, char *text, size_t room) {
    task_path path;
    return rgm_descriptor_text(path_of(thread, file, path), text, room);
}

// Field 3 of stat is its state; the name before it may hold anything but ends with the last parenthesis.
static rgm_thread_wait by_state(int64_t thread) {
    char text[512];
    if (!read_of(thread, "stat", text, sizeof text)) return RGM_WAITS_UNKNOWN;
    const char *at = strrchr(text, ')');
    if (!at || !at[1] || !at[2]) return RGM_WAITS_UNKNOWN;
    return at[2] == 'R' ? RGM_WAITS_FOR_PROCESSOR : RGM_WAITS_OTHERWISE;
}

// From its beginning, of a file that stays open, or of one opened for this where `file` is NULL.
static bool read_kept(int64_t thread, const char *name, rgm_kept_file *file, char *text, size_t room) {
    task_path path;
    if (!file) return read_of(thread, name, text, room);
    int fd = rgm_kept_descriptor(file);
    if (fd < 0 && rgm_kept_open(file, path_of(thread, name, path), O_RDONLY, 0)) fd = file->number - 1;
    return read_text(fd, text, room);
}

// A call on one descriptor waits for what that is of.
static rgm_thread_wait by_descriptor(const char *arguments) {
    struct stat of;
    int fd = (int)strtol(arguments, NULL, 16);
    if (fstat(fd, &of) != 0) return RGM_WAITS_OTHERWISE;
    if (S_ISFIFO(of.st_mode) && fd > STDERR_FILENO) return RGM_WAITS_FOR_PIPE;
    if (S_ISSOCK(of.st_mode) || S_ISFIFO(of.st_mode) || S_ISCHR(of.st_mode)) return RGM_WAITS_FOR_SOCKET;
    return RGM_WAITS_FOR_FILE;
}

// Calls that wait for a file whatever their arguments are.
static bool is_of_file(long call) {
    switch (call) {
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync:
    case SYS_syncfs:
    case SYS_msync:
    case SYS_sync_file_range:
    case SYS_openat:
    case SYS_close: // of a file on a network, which is written by then
    case SYS_flock:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fadvise64:
    case SYS_readahead:
    case SYS_statx:
    case SYS_newfstatat:
    case SYS_getdents64:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_renameat2:
    case SYS_io_getevents:
#ifdef SYS_io_pgetevents
    case SYS_io_pgetevents:
#endif
#ifdef SYS_open // the older forms, which newer architectures are without
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rename:
#endif
        return true;
    default: return false;
    }
}

static rgm_thread_wait by_call(long call, const char *arguments) {
    if (is_of_file(call)) return RGM_WAITS_FOR_FILE;
    switch (call) {
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return RGM_WAITS_ASLEEP;
    case SYS_wait4:
    case SYS_waitid: return RGM_WAITS_FOR_PROCESS;
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_copy_file_range:
    case SYS_sendfile: return by_descriptor(arguments);
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
#ifdef SYS_poll // the older forms, as above
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
        return RGM_WAITS_FOR_SOCKET;
    default: return RGM_WAITS_OTHERWISE;
    }
}

// In no call: it has touched a page. The page is being read, of a mapped file or back from the disk, unless
// the kernel names another place that it waits at: the lock of the process's memory.
static rgm_thread_wait by_page(int64_t thread) {
    char text[128];
    if (!read_of(thread, "wchan", text, sizeof text) || strcmp(text, "0") == 0) return RGM_WAITS_FOR_FILE;
    return strstr(text, "folio") || strstr(text, "page") ? RGM_WAITS_FOR_FILE : RGM_WAITS_OTHERWISE;
}

// "running", or the number of the system call that it waits in and the call's arguments.
rgm_thread_wait rgm_thread_waits(int64_t thread, rgm_kept_file *file, uint64_t *address) {
    char text[256], *end;
    *address = 0;
    bool some = read_kept(thread, "syscall", file, text, sizeof text);
    if (some && strncmp(text, "running", 7) == 0) return RGM_WAITS_FOR_PROCESSOR;
    long call = some ? strtol(text, &end, 10) : 0;
    if (!some || end == text) return by_state(thread);
    if (call < 0) return by_page(thread);
    if (call != SYS_futex) return by_call(call, end);
    *address = strtoull(end, NULL, 16);
    return RGM_WAITS_AT_ADDRESS;
}

bool rgm_thread_displaced(int64_t thread, rgm_kept_file *file) {
    enum { PROCESSOR = 39 };
    char text[512];
    int here = sched_getcpu();
    if (!read_kept(thread, "stat", file, text, sizeof text)) return false;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < PROCESSOR; field++) at = strchr(at + 1, ' ');
    return at && here >= 0 && atoi(at) == here;
}
