// SPDX-License-Identifier: Apache-2.0
// What a thread of this process is doing, asked of the system by another thread.
#ifndef RGM_CAPTURE_THREAD_ACTIVITY_H
#define RGM_CAPTURE_THREAD_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

// Processor time of a thread so far in nanoseconds; -1 where there is no such thread (any more).
int64_t rgm_thread_clock_ns(int64_t thread);

typedef enum {
    RGM_WAITS_UNKNOWN,
    RGM_WAITS_FOR_PROCESSOR, // ready to run
    RGM_WAITS_AT_ADDRESS,    // for a word of memory to change: a lock, a condition
    RGM_WAITS_ASLEEP,        // for time to pass
    RGM_WAITS_FOR_FILE,
    RGM_WAITS_FOR_SOCKET,  // or for a pipe, or for any of several descriptors
    RGM_WAITS_FOR_PROCESS, // to end
    RGM_WAITS_OTHERWISE,
} rgm_thread_wait;

// One of the kernel's files about a thread, kept open where that is worth it: opening it takes three times as
// long as reading it. Zero is none.
typedef struct {
    int fd; // plus 1
    uint64_t device, inode;
} rgm_thread_file;

// Of a thread that has no processor. *address: of a lock or condition, where the system tells it. `file` is
// opened when it is not; NULL opens and closes one.
rgm_thread_wait rgm_thread_waits(int64_t thread, rgm_thread_file *file, uint64_t *address);
// A descriptor that the program has closed, and that is another file's now, is left alone.
void rgm_thread_file_close(rgm_thread_file *file);
// Whether the calling thread has the processor that this thread was on last. `file` as above, another one.
bool rgm_thread_displaced(int64_t thread, rgm_thread_file *file);

#endif
