// SPDX-License-Identifier: Apache-2.0
// Reads memory of this process that may be gone. The system copies it, and refuses an address that nothing
// lies at instead of failing. What is read may change meanwhile.
#ifndef RGM_BASE_PEEK_H
#define RGM_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { RGM_PEEK_MOST = 1024 }; // pieces

// All pieces one after another; false and errno where not all of them can be read. `self` is getpid(), which
// is a system call of its own.
bool rgm_peek_all(pid_t self, const struct iovec *pieces, size_t count, void *to, size_t bytes);
bool rgm_peek(pid_t self, const void *from, void *to, size_t bytes);

#endif
