// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define RGM_STATUS_NAME(name, text) #name,
    RGM_STATUS_LIST(RGM_STATUS_NAME)
#undef RGM_STATUS_NAME
};

static const char *const texts[] = {
#define RGM_STATUS_TEXT(name, text) text,
    RGM_STATUS_LIST(RGM_STATUS_TEXT)
#undef RGM_STATUS_TEXT
};

const char *rgm_status_name(rgm_status status) {
    return (unsigned)status < RGM_STATUS_COUNT ? names[status] : "UNKNOWN";
}

const char *rgm_status_text(rgm_status status) {
    return (unsigned)status < RGM_STATUS_COUNT ? texts[status] : "unknown status";
}

void rgm_error_clear(rgm_error *err) {
    if (!err) return;
    err->status = RGM_OK;
    err->os_errno = 0;
    err->offset = -1;
    err->message[0] = '\0';
}

static void write_message(rgm_error *err, rgm_status status, int os_errno, int64_t offset, const char *format,
                          va_list args) {
    if (!err) return;
    err->status = status;
    err->os_errno = os_errno;
    err->offset = offset;
    (void)vsnprintf(err->message, sizeof err->message, format, args);
}

rgm_status rgm_error_set(rgm_error *err, rgm_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message(err, status, 0, -1, format, args);
    va_end(args);
    return status;
}

rgm_status rgm_error_at(rgm_error *err, rgm_status status, int64_t offset, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message(err, status, 0, offset, format, args);
    va_end(args);
    return status;
}

rgm_status rgm_error_os(rgm_error *err, rgm_status status, int os_errno, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_message(err, status, os_errno, -1, format, args);
    va_end(args);
    if (err) {
        size_t used = strlen(err->message);
        char text[128];
        // The GNU strerror_r may return a static string instead of filling the buffer.
        const char *reason = strerror_r(os_errno, text, sizeof text);
        (void)snprintf(err->message + used, sizeof err->message - used, ": %s", reason);
    }
    return status;
}
