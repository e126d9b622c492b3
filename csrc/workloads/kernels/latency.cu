// SPDX-License-Identifier: Apache-2.0
// The shortest kernel, the latency of memory, the clocks, and a kernel that holds a stream back.
#include "device/kernel.cuh"

// The floor under every kernel's duration, and the cost of launching.
RGM_KERNEL rgm_empty(void) {}

// One thread follows a chain of indices: every load waits for the one before. *cycles / steps is the latency
// of the level of memory that the chain fits in; *last is where the chain ends.
RGM_KERNEL rgm_chase(const unsigned *__restrict__ next, unsigned first, int steps,
                     unsigned *__restrict__ last, long long *__restrict__ cycles) {
    const volatile unsigned *chain = next;
    unsigned at = first;
    long long begin = rgm_cycles();
    for (int step = 0; step < steps; step++) at = chain[at];
    long long end = rgm_cycles();
    *last = at;
    *cycles = end - begin;
}

// Nanoseconds of the device's clock and cycles of one multiprocessor: two calls give the clock rate between.
RGM_KERNEL rgm_timestamp(long long *out) {
    out[0] = (long long)rgm_global_ns();
    out[1] = rgm_cycles();
}

// Holds its stream until the host sets *released, so that what is enqueued meanwhile runs back to back; at
// most timeout_ns, so that a host that dies or stalls cannot block the device. *gave_up: the time passed
// first, and gaps of the host may be in what was measured behind it.
RGM_KERNEL rgm_hold(const volatile int *released, int *gave_up, unsigned long long timeout_ns) {
    unsigned long long begin = rgm_global_ns();
    int over = 0;
    while (!over && !rgm_load_host_flag(released)) over = rgm_global_ns() - begin > timeout_ns;
    *gave_up = over;
}
