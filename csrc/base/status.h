// SPDX-License-Identifier: Apache-2.0
// Status codes, the error that travels with them, and the early-return macro.
//
// Every fallible function of the core returns rgm_status (0 is success) and takes a trailing
// rgm_error * that may be NULL. The function that finds the problem writes the message; callers
// only pass the status on. An rgm_error owns nothing and needs no clean-up.
#ifndef RGM_BASE_STATUS_H
#define RGM_BASE_STATUS_H

#include <stdint.h>

// X(NAME, text): text is what a user sees when no better message was written.
#define RGM_STATUS_LIST(X)                                                                                   \
    X(OK, "success")                                                                                         \
    X(NO_MEMORY, "out of memory")                                                                            \
    X(INVALID, "invalid argument")                                                                           \
    X(FORMAT, "unreadable input")                                                                            \
    X(IO, "input/output error")                                                                              \
    X(BUSY, "resource in use")                                                                               \
    X(UNAVAILABLE, "not available on this machine")                                                          \
    X(LIMIT, "limit reached")

typedef enum {
#define RGM_STATUS_ENUM(name, text) RGM_##name,
    RGM_STATUS_LIST(RGM_STATUS_ENUM)
#undef RGM_STATUS_ENUM
        RGM_STATUS_COUNT
} rgm_status;

typedef struct {
    rgm_status status;
    int os_errno;   // errno of a failed system call, 0 otherwise
    int64_t offset; // byte offset in the input, -1 when it has no place
    char message[512];
} rgm_error;

#define RGM_NODISCARD __attribute__((warn_unused_result))
#define RGM_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define RGM_LIKELY(x) __builtin_expect(!!(x), 1)
#define RGM_UNLIKELY(x) __builtin_expect(!!(x), 0)

// Returns from the enclosing function with the status of a failed call.
#define RGM_TRY(call)                                                                                        \
    do {                                                                                                     \
        rgm_status rgm_try_status = (call);                                                                  \
        if (RGM_UNLIKELY(rgm_try_status != RGM_OK)) return rgm_try_status;                                   \
    } while (0)

// Jumps to the clean-up label `done` of a function that keeps its result in `status`: where what is given
// back depends on the result, or lies within a structure. Elsewhere RGM_FREED of base/memory.h does, with
// RGM_TRY.
#define RGM_GOTO(call)                                                                                       \
    do {                                                                                                     \
        status = (call);                                                                                     \
        if (RGM_UNLIKELY(status != RGM_OK)) goto done;                                                       \
    } while (0)

const char *rgm_status_name(rgm_status status);
const char *rgm_status_text(rgm_status status);

// What an error starts as, `rgm_error err = RGM_ERROR_NONE;`, and the same for one that is used again.
#define RGM_ERROR_NONE {.offset = -1}
void rgm_error_clear(rgm_error *err);
// Each writes the message (err may be NULL) and returns the status, so that it can end a function.
rgm_status rgm_error_set(rgm_error *err, rgm_status status, const char *format, ...) RGM_PRINTF(3, 4);
rgm_status rgm_error_at(rgm_error *err, rgm_status status, int64_t offset, const char *format, ...)
    RGM_PRINTF(4, 5);
rgm_status rgm_error_os(rgm_error *err, rgm_status status, int os_errno, const char *format, ...)
    RGM_PRINTF(4, 5);
// Inline, so that a compiler or an analyser of the caller sees that it never returns RGM_OK.
static inline rgm_status rgm_error_no_memory(rgm_error *err) {
    (void)rgm_error_set(err, RGM_NO_MEMORY, "%s", rgm_status_text(RGM_NO_MEMORY));
    return RGM_NO_MEMORY;
}

#endif
