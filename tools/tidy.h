// SPDX-License-Identifier: Apache-2.0
// `make tidy` includes this before each file. The analyser looks at one file at a time and cannot see that
// these never return RGM_OK, so without it every RGM_TRY is followed by a path on which nothing was written.
#include "base/status.h"

#define rgm_error_set(err, status, ...) ((void)(rgm_error_set)(err, status, __VA_ARGS__), (status))
#define rgm_error_no_memory(err) ((void)(rgm_error_no_memory)(err), RGM_NO_MEMORY)
#define rgm_error_os(err, status, os_errno, ...)                                                             \
    ((void)(rgm_error_os)(err, status, os_errno, __VA_ARGS__), (status))
