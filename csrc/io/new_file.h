// SPDX-License-Identifier: Apache-2.0
// A file that is written whole or not at all: a temporary file beside the target, which takes its name once
// everything is on the disk.
#ifndef RGM_IO_NEW_FILE_H
#define RGM_IO_NEW_FILE_H

#include <stddef.h>

#include "base/status.h"

typedef struct {
    int fd;
    char *temporary;
    const char *path; // the caller's
} rgm_new_file;

// The file gets the permissions that the umask of the process leaves.
rgm_status rgm_new_file_begin(rgm_new_file *file, const char *path, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_new_file_write(rgm_new_file *file, const void *data, size_t length,
                              rgm_error *err) RGM_NODISCARD;
// With RGM_OK so far the file takes its place; otherwise it is removed. Returns what came of it.
rgm_status rgm_new_file_end(rgm_new_file *file, rgm_status status, rgm_error *err) RGM_NODISCARD;

#endif
