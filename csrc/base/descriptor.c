// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.h"

#include <errno.h>
#include <unistd.h>

enum { FIRST_FREE = 3 };

int rgm_descriptor_open(const char *path, int flags, mode_t mode) {
    int fd = open(path, flags | O_CLOEXEC, mode);
    if (fd < 0 || fd >= FIRST_FREE) return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE), reason = errno;
    close(fd);
    errno = reason;
    return moved;
}
