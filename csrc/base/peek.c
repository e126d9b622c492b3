// SPDX-License-Identifier: Apache-2.0
#include "base/peek.h"

#include <sys/syscall.h>
#include <unistd.h>

// To this process itself: of what is written the kernel has to find the page of each piece, 1.5 us a piece,
// while those that it takes from are copied at 0.06 us. The call is made directly, because tools that look
// for errors of memory take the pieces for reads of the program's.
bool rgm_peek_all(pid_t self, const struct iovec *pieces, size_t count, void *to, size_t bytes) {
    struct iovec target = {to, bytes};
    return syscall(SYS_process_vm_writev, self, pieces, count, &target, 1UL, 0UL) == (ssize_t)bytes;
}

bool rgm_peek(pid_t self, const void *from, void *to, size_t bytes) {
    struct iovec piece = {(void *)(size_t)from, bytes};
    return rgm_peek_all(self, &piece, 1, to, bytes);
}
