// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_FREE = 3, FIRST_KEPT = 200 };

// The same file under a number from `least` on; -1 where there is none.
static int move(int fd, int least) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, least), reason = errno;
    if (moved >= 0 || fd < FIRST_FREE) close(fd);
    errno = reason;
    return moved;
}

int rgm_descriptor_open(const char *path, int flags, mode_t mode) {
    int fd = open(path, flags | O_CLOEXEC, mode);
    return fd < 0 || fd >= FIRST_FREE ? fd : move(fd, FIRST_FREE);
}

bool rgm_kept_open(rgm_kept_file *file, const char *path, int flags, mode_t mode) {
    struct stat of;
    *file = (rgm_kept_file){0};
    int fd = rgm_descriptor_open(path, flags, mode);
    if (fd < 0) return false;
    if (fstat(fd, &of) != 0) { // before it has a number that the program may take
        int reason = errno;
        close(fd);
        errno = reason;
        return false;
    }
    int moved = fd < FIRST_KEPT ? move(fd, FIRST_KEPT) : fd;
    if (moved >= 0) fd = moved; // else no number is so high
    *file = (rgm_kept_file){.number = fd + 1, .device = of.st_dev, .inode = of.st_ino};
    return true;
}

int rgm_kept_descriptor(const rgm_kept_file *file) {
    struct stat of;
    bool ours = file->number && fstat(file->number - 1, &of) == 0 && of.st_dev == file->device &&
                of.st_ino == file->inode;
    return ours ? file->number - 1 : -1;
}

bool rgm_kept_same(const rgm_kept_file *a, const rgm_kept_file *b) {
    return a->device == b->device && a->inode == b->inode;
}

void rgm_kept_close(rgm_kept_file *file) {
    int fd = rgm_kept_descriptor(file);
    if (fd >= 0) close(fd);
    *file = (rgm_kept_file){0};
}

bool rgm_descriptor_text(const char *path, char *text, size_t room) {
    rgm_kept_file file;
    size_t length = 0;
    ssize_t got = rgm_kept_open(&file, path, O_RDONLY, 0) ? 1 : 0;
    // Where the program has put another file in its place, that stays where it is in it.
    while (got > 0 && length + 1 < room) {
        got = pread(file.number - 1, text + length, room - 1 - length, (off_t)length);
        if (got > 0) length += (size_t)got;
    }
    rgm_kept_close(&file);
    text[length] = '\0';
    return length > 0;
}
