// SPDX-License-Identifier: Apache-2.0
// A block of a kernel on one thread of the processor: every CUDA thread is a fiber that runs until it waits
// for the others. One launch at a time; whoever launches holds a mutex.
#ifndef RGM_FAKES_FIBERS_H
#define RGM_FAKES_FIBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { FIBERS = 1024, FIBER_STACK = 64 << 10 };

typedef struct {
    unsigned x, y, z;
} fiber_dim;

typedef enum { FIBER_READY, FIBER_AT_BARRIER, FIBER_AT_EXCHANGE, FIBER_DONE } fiber_state;

// Where to go on: what __builtin_setjmp keeps. swapcontext would ask the system twice for each switch, and
// under AddressSanitizer clear the shadow of a whole stack.
typedef void *fiber_place[5];

typedef struct {
    fiber_place place;
    bool begun;
    fiber_dim index;
    unsigned rank;
    fiber_state state;
    uint32_t mask;   // of the exchange it waits in
    unsigned parity; // of its exchanges: a lane is at most one ahead of another
} fiber;

static fiber fiber_all[FIBERS];
static fiber *fiber_current;
static fiber_dim fiber_block_index, fiber_block_dim, fiber_grid_dim;
static fiber_place fiber_scheduler;
static char *fiber_stacks;
static uint32_t fiber_words[2][FIBERS];
static const char *fiber_kernel;
static void (*fiber_body)(const uint64_t *arguments);
static const uint64_t *fiber_arguments;

// The variables that kernels declare __shared__.
extern char __start_rgm_shared[] __attribute__((visibility("hidden")));
extern char __stop_rgm_shared[] __attribute__((visibility("hidden")));

static inline void fiber_die(const char *what) {
    (void)fprintf(stderr, "fake device: %s, block %u %u: %s\n", fiber_kernel, fiber_block_index.x,
                  fiber_block_index.y, what);
    abort();
}

static inline int64_t fiber_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// A compiler that looked into these would think that registers and variables are as they were.
#ifdef __clang__
#define FIBER_OPAQUE __attribute__((noinline))
#else
#define FIBER_OPAQUE __attribute__((noipa))
#endif

FIBER_OPAQUE static void fiber_go(fiber_place there) { __builtin_longjmp(there, 1); }

// Go on there; return when somebody goes on here.
FIBER_OPAQUE static void fiber_switch(fiber_place here, fiber_place there) {
    if (__builtin_setjmp(here) == 0) fiber_go(there);
}

static inline void fiber_wait(fiber_state state) {
    fiber *self = fiber_current;
    self->state = state;
    fiber_switch(self->place, fiber_scheduler);
}

static inline void fiber_barrier(void) { fiber_wait(FIBER_AT_BARRIER); }

// The word that lane `source` of this warp gives; its own where there is no such lane.
static inline uint32_t fiber_exchange(uint32_t mask, uint32_t word, int source) {
    fiber *self = fiber_current;
    unsigned first = self->rank & ~31u, parity = self->parity ^= 1;
    if (!(mask >> self->rank % 32 & 1)) fiber_die("a lane exchanges under a mask that does not name it");
    fiber_words[parity][self->rank] = word;
    self->mask = mask;
    fiber_wait(FIBER_AT_EXCHANGE);
    if (source < 0 || source > 31) return word;
    if (!(mask >> source & 1)) fiber_die("a lane reads from one that takes no part");
    return fiber_words[parity][first + (unsigned)source];
}

// A fiber stays: it is the thread of its rank in each block of each launch.
static inline void fiber_start(void) {
    for (;;) {
        fiber_body(fiber_arguments);
        fiber_wait(FIBER_DONE);
    }
}

// Begin the current fiber on a stack of its own.
FIBER_OPAQUE static void fiber_begin(void) {
    static ucontext_t left; // nobody comes back to it
    ucontext_t context;
    (void)getcontext(&context);
    context.uc_stack.ss_sp = fiber_stacks + (size_t)fiber_current->rank * FIBER_STACK;
    context.uc_stack.ss_size = FIBER_STACK;
    context.uc_link = NULL;
    makecontext(&context, fiber_start, 0);
    fiber_current->begun = true;
    if (__builtin_setjmp(fiber_scheduler) == 0) (void)swapcontext(&left, &context);
}

static inline void fiber_resume(void) {
    if (fiber_current->begun)
        fiber_switch(fiber_scheduler, fiber_current->place);
    else
        fiber_begin();
}

static inline bool fiber_release_exchange(unsigned first, unsigned threads) {
    uint32_t waiting = 0, mask = 0;
    for (unsigned lane = 0; lane < 32 && first + lane < threads; lane++)
        if (fiber_all[first + lane].state == FIBER_AT_EXCHANGE) {
            waiting |= 1u << lane;
            mask |= fiber_all[first + lane].mask;
        }
    if (!waiting || waiting != mask) return false;
    for (unsigned lane = 0; lane < 32; lane++)
        if (waiting >> lane & 1) fiber_all[first + lane].state = FIBER_READY;
    return true;
}

static inline bool fiber_release_barrier(unsigned threads) {
    for (unsigned i = 0; i < threads; i++)
        if (fiber_all[i].state != FIBER_AT_BARRIER) return false;
    for (unsigned i = 0; i < threads; i++) fiber_all[i].state = FIBER_READY;
    return true;
}

// The k-th thread to run: in the order of the ranks, backwards, or mixed.
static inline unsigned fiber_pick(unsigned k, unsigned threads, int order) {
    if (order == 0) return k;
    return order == 1 ? threads - 1 - k : (k * 397 + 211) % threads;
}

static inline void fiber_run_block(unsigned threads, int order) {
    unsigned done = 0;
    while (done < threads) {
        bool progress = false;
        for (unsigned k = 0; k < threads; k++) {
            fiber_current = &fiber_all[fiber_pick(k, threads, order)];
            if (fiber_current->state != FIBER_READY) continue;
            fiber_resume();
            progress = true;
            done += fiber_current->state == FIBER_DONE;
        }
        for (unsigned first = 0; first < threads; first += 32)
            progress = fiber_release_exchange(first, threads) || progress;
        progress = fiber_release_barrier(threads) || progress;
        if (!progress) fiber_die("not all threads reach a barrier or an exchange");
    }
}

static inline void fiber_prepare(unsigned threads) {
    memset(__start_rgm_shared, 255, (size_t)(__stop_rgm_shared - __start_rgm_shared));
    for (unsigned rank = 0; rank < threads; rank++) {
        fiber *fiber = &fiber_all[rank];
        fiber->rank = rank;
        fiber->state = FIBER_READY;
        fiber->index.x = rank % fiber_block_dim.x;
        fiber->index.y = rank / fiber_block_dim.x % fiber_block_dim.y;
        fiber->index.z = rank / fiber_block_dim.x / fiber_block_dim.y;
    }
}

static inline void fiber_launch(const char *kernel, void (*body)(const uint64_t *), const uint64_t *arguments,
                                fiber_dim grid, fiber_dim block, int order) {
    unsigned threads = block.x * block.y * block.z;
    if (!fiber_stacks)
        fiber_stacks = mmap(NULL, (size_t)FIBERS * FIBER_STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    fiber_kernel = kernel;
    fiber_body = body;
    fiber_arguments = arguments;
    fiber_block_dim = block;
    fiber_grid_dim = grid;
    if (fiber_stacks == MAP_FAILED || threads < 1 || threads > FIBERS)
        fiber_die("no block of this size can run");
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                fiber_block_index = (fiber_dim){x, y, z};
                fiber_prepare(threads);
                fiber_run_block(threads, order);
            }
}

#endif
