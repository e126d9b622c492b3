// SPDX-License-Identifier: Apache-2.0
#include "capture/disk_budget.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"

// The file system may round both ends up to its pages, and need some for the list of what the file has.
enum { ROUNDING = 3 * 4096 };

enum { TRIES = 5, PAUSE_NS = 1000000 }; // of the lock: who has it needs microseconds

static int64_t room_of(const struct stat *info) { return (int64_t)info->st_blocks * 512; }

// The name of RUN: without .PID, .N and .rankN, which python/regimeter/capture/recording.py appends.
static size_t stem_of(const char *name) {
    size_t length = strlen(name);
    for (int parts = 0; parts < 3; parts++) {
        size_t at = length;
        while (at > 0 && isdigit((unsigned char)name[at - 1])) at--;
        if (at == length || at < 2) break;
        if (at > 5 && !memcmp(name + at - 5, ".rank", 5)) at -= 4;
        if (name[at - 1] != '.') break;
        length = at - 1;
    }
    return length;
}

// Where the open file is now, whatever its name was when it was opened; the folder ends before *name.
static bool place_of(int fd, char *path, size_t room, char **name) {
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, room - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash) return false;
    *slash = '\0';
    *name = slash + 1;
    return true;
}

// What all files of the recording take; place: the descriptor of their folder.
static int64_t used(DIR *folder, int place, const char *name, int fd) {
    struct stat own, info;
    if (fstat(fd, &own) != 0) return 0;
    int64_t total = room_of(&own);
    size_t stem = stem_of(name);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *found = entry->d_name;
        if (strncmp(found, name, stem) != 0 || (found[stem] && found[stem] != '.')) continue;
        if (fstatat(place, found, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
        if (info.st_ino != own.st_ino) total += room_of(&info);
    }
    return total;
}

static int reserve(int fd, int64_t offset, int64_t length) {
    return fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, length) == 0 ? 0 : errno;
}

// Takes the lock of the folder: a file of ours in it, there only while it is held, for the folder itself may
// be locked by anybody and for long. One that a killed process has left is taken and removed like any other.
// False where others have it all the time. Where none can be made, as by a user who may not write here any
// more, all goes on without: the files then get at most one promise each too much.
static bool take_lock(const char *path, rgm_kept_file *lock) {
    for (int tries = 0; tries < TRIES; tries++) {
        struct stat named;
        if (!rgm_kept_open(lock, path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666)) return true;
        bool locked = flock(rgm_kept_descriptor(lock), LOCK_EX | LOCK_NB) == 0;
        int reason = errno;
        // Whoever had it may have removed it since it was opened.
        if (locked && lstat(path, &named) == 0 && named.st_ino == lock->inode) return true;
        rgm_kept_close(lock);
        if (!locked && reason != EWOULDBLOCK && reason != EINTR) return true; // nothing is locked here
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return false;
}

static void drop_lock(const char *path, rgm_kept_file *lock) {
    if (rgm_kept_descriptor(lock) >= 0) (void)unlink(path);
    rgm_kept_close(lock);
}

static int reserve_below(int64_t limit_bytes, const char *path, const char *name, int fd, int64_t offset,
                         int64_t length) {
    int place = rgm_descriptor_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (place < 0) return errno;
    DIR *folder = fdopendir(place);
    if (!folder) {
        int reason = errno;
        close(place);
        return reason;
    }
    bool full = used(folder, place, name, fd) + length + ROUNDING > limit_bytes;
    (void)closedir(folder);
    return full ? EDQUOT : reserve(fd, offset, length);
}

int rgm_disk_budget_reserve(int64_t limit_bytes, int fd, int64_t offset, int64_t length) {
    if (!limit_bytes) return reserve(fd, offset, length);
    char path[PATH_MAX], lock_path[PATH_MAX + sizeof RGM_DISK_BUDGET_LOCK + 1], *name;
    rgm_kept_file lock = {0};
    if (!place_of(fd, path, sizeof path, &name)) return EDQUOT;
    (void)snprintf(lock_path, sizeof lock_path, "%s/%s", path, RGM_DISK_BUDGET_LOCK);
    if (!take_lock(lock_path, &lock)) return EDQUOT;
    int reason = reserve_below(limit_bytes, path[0] ? path : "/", name, fd, offset, length);
    drop_lock(lock_path, &lock);
    return reason;
}
