// SPDX-License-Identifier: Apache-2.0
// What the double of the CUDA driver offers beside the driver's own functions. C tests find these with dlsym,
// Python tests with ctypes.
//
// Numbers (FAKE_CUDA=..., fake_cuda_set, fake_cuda_get), see NUMBERS in cuda.c: calls_FUNCTION counts calls;
// fail_FUNCTION is what the function answers instead of working, after skip_FUNCTION more calls have passed.
#ifndef RGM_FAKES_CUDA_H
#define RGM_FAKES_CUDA_H

#include <stddef.h>
#include <stdint.h>

// A call of the driver that the double's listener hears of, at its begin and at its end.
typedef struct {
    const char *symbol; // "cuLaunchKernel"
    int exit;           // 0: begin, 1: end
    int result;         // at the end
    uint32_t correlation;
    void *context;
    void *stream; // as it was handed over
    unsigned context_number, stream_number;
    int device;
    // Of device work, at the end of a call that queued some; else kind is 0.
    int kind;                           // 1 kernel, 2 copy, 3 set
    int copy;                           // 1 host to device, 2 device to host, 3 on the device
    int64_t start_ns, end_ns;           // device clock
    int64_t host_start_ns, host_end_ns; // the same on CLOCK_MONOTONIC
    size_t bytes;
    const char *name;  // of the kernel
    const void *image; // of a module that was loaded, and of that of a kernel; NULL where it is no ELF file
    size_t image_bytes;
    unsigned grid[3], block[3], shared_bytes;
    unsigned multiprocessors; // of a green context that was made: the context of the call
    // Of a call about memory, at its end; else memory is 0. What is freed has neither kind nor bytes.
    int memory;      // FAKE_MEMORY_GIVEN and so on
    int memory_kind; // CUPTI's number of it
    uint64_t address, pool;
    size_t pool_bytes, pool_used; // of the pool after it
} fake_cuda_call;

enum {
    FAKE_MEMORY_GIVEN = 1,
    FAKE_MEMORY_TAKEN,
    FAKE_POOL_MADE,
    FAKE_POOL_ENDED,
    FAKE_POOL_TRIMMED,
};

typedef void (*fake_cuda_listener)(void *arg, const fake_cuda_call *call);
// Runs on the host in place of a kernel.
typedef void (*fake_cuda_body)(void **parameters, const unsigned *grid, const unsigned *block,
                               unsigned shared_bytes);

void fake_cuda_set(const char *name, long long value);
long long fake_cuda_get(const char *name);
// Queues device work of so many nanoseconds in a stream (a handle, or 0, 1, 2); returns a driver's result.
int fake_cuda_work(void *stream, long long ns);
void fake_cuda_advance(long long ns);
long long fake_cuda_now(void); // the device's clock
// What a call that is not safe beside a capture does to the captures of other threads, uncounted as a call.
void fake_cuda_unsafe(void);
// When the stream's queue is empty on the device's clock.
long long fake_cuda_idle_at(void *stream);
// Forgets contexts, streams, events and what a thread has as current (of the calling thread).
void fake_cuda_restart(void);
// Other threads that are in a call of the driver which a listener hears of, and so hold its lock.
int fake_cuda_others_inside(void);
// Whether the calling thread made this context.
int fake_cuda_is_maker(void *context);
// One listener at a time; NULL ends it.
void fake_cuda_subscribe(fake_cuda_listener listener, void *arg);
// What a kernel of that name does and how long it takes; NULL: nothing. ns < 0: the number kernel_ns.
void fake_cuda_kernel(const char *name, fake_cuda_body body, long long ns);
// How long the next kernel that this thread launches takes, whatever is known of its name.
void fake_cuda_lasts(long long ns);

#endif
