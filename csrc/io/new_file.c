// SPDX-License-Identifier: Apache-2.0
#include "io/new_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"

enum { ATTEMPTS = 100, SUFFIX_ROOM = 32 };

static rgm_status cannot(const rgm_new_file *file, int reason, rgm_error *err) {
    return rgm_error_os(err, RGM_IO, reason, "cannot write %s", file->path);
}

// The kernel applies the umask to what open makes; asking for the umask would mean to change it for a moment,
// for every thread of the process.
rgm_status rgm_new_file_begin(rgm_new_file *file, const char *path, rgm_error *err) {
    size_t room = strlen(path) + SUFFIX_ROOM;
    *file = (rgm_new_file){.fd = -1, .path = path, .temporary = rgm_malloc(room)};
    if (!file->temporary) return rgm_error_no_memory(err);
    int reason = EEXIST;
    for (unsigned i = 0; file->fd < 0 && reason == EEXIST && i < ATTEMPTS; i++) {
        (void)snprintf(file->temporary, room, "%s.tmp%d-%08x", path, (int)getpid(),
                       (unsigned)rgm_clock_monotonic_ns() + i);
        file->fd = rgm_descriptor_open(file->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        reason = errno;
    }
    if (file->fd >= 0) return RGM_OK;
    rgm_free(file->temporary);
    file->temporary = NULL;
    return cannot(file, reason, err);
}

rgm_status rgm_new_file_write(rgm_new_file *file, const void *data, size_t length, rgm_error *err) {
    const char *at = data;
    while (length) {
        ssize_t wrote = write(file->fd, at, length);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return cannot(file, wrote < 0 ? errno : ENOSPC, err);
        at += wrote;
        length -= (size_t)wrote;
    }
    return RGM_OK;
}

// The new name, too, is on the disk only when its folder is. Some file systems cannot do that; no harm.
// `folder` is a copy of the file's path, which is cut.
static void sync_folder(char *folder) {
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int fd = rgm_descriptor_open(slash ? folder : ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0) (void)fsync(fd);
    if (fd >= 0) close(fd);
}

rgm_status rgm_new_file_end(rgm_new_file *file, rgm_status status, rgm_error *err) {
    if (file->fd < 0) return status;
    // EINVAL and EROFS: the file system has nothing that could be synchronised.
    if (status == RGM_OK && fsync(file->fd) != 0 && errno != EINVAL && errno != EROFS)
        status = cannot(file, errno, err);
    if (close(file->fd) != 0 && status == RGM_OK) status = cannot(file, errno, err);
    if (status == RGM_OK && rename(file->temporary, file->path) != 0) status = cannot(file, errno, err);
    if (status != RGM_OK) {
        (void)unlink(file->temporary);
    } else { // the temporary name has gone, and its room holds the path
        memcpy(file->temporary, file->path, strlen(file->path) + 1);
        sync_folder(file->temporary);
    }
    rgm_free(file->temporary);
    *file = (rgm_new_file){.fd = -1};
    return status;
}
