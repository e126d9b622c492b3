// SPDX-License-Identifier: Apache-2.0
// What a thread of this process is doing, asked of the system by another thread.
#ifndef RGM_CAPTURE_THREAD_ACTIVITY_H
#define RGM_CAPTURE_THREAD_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/descriptor.h"

// Processor time of a thread so far in nanoseconds; -1 where there is no such thread (any more).
int64_t rgm_thread_clock_ns(int64_t thread);

typedef enum {
    RGM_WAITS_UNKNOWN,
    RGM_WAITS_FOR_PROCESSOR, // ready to run
    RGM_WAITS_AT_ADDRESS,    // for a word of memory to change: a lock, a condition
    RGM_WAITS_ASLEEP,        // for time to pass
    RGM_WAITS_FOR_FILE,
    RGM_WAITS_FOR_SOCKET,  // or a terminal, or any of several descriptors
    RGM_WAITS_FOR_PIPE,    // but not its standard input or output, which are of who has started the program
    RGM_WAITS_FOR_PROCESS, // to end
    RGM_WAITS_OTHERWISE,
} rgm_thread_wait;

// Of a thread that has no processor. *address: of a lock or condition, where the system tells it. `file` is
// the kernel's about this, and is opened when it is not: that takes three times as long as reading it. NULL
// opens and closes one.
rgm_thread_wait rgm_thread_waits(int64_t thread, rgm_kept_file *file, uint64_t *address);
// Whether the calling thread has the processor that this thread was on last. `file` as above, another one.
bool rgm_thread_displaced(int64_t thread, rgm_kept_file *file);

#endif
