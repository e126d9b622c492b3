// SPDX-License-Identifier: Apache-2.0
// File descriptors that live long. Where a program was started with closed standard streams, the next open
// gives 0, 1 or 2, and whatever anybody prints then goes into that file.
#ifndef RGM_BASE_DESCRIPTOR_H
#define RGM_BASE_DESCRIPTOR_H

#include <fcntl.h>

// open(2) with O_CLOEXEC, never below 3; -1 and errno on failure.
int rgm_descriptor_open(const char *path, int flags, mode_t mode);

#endif
