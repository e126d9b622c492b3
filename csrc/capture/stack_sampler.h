// SPDX-License-Identifier: Apache-2.0
// The stack sampler: looks where all threads of the process are, from the sampling thread (sampling.h). The
// threads that it looks at do nothing for it.
//
// A look: the clocks of all threads are read, then at once where those stand whose clocks went on, then what
// each of them does, the one with the language's lock last: it may have to be waited for. A thread that has
// used no processor time since the last look stands where it stood then, and is not walked again. A walk that
// contradicts itself is left out and counted.
#ifndef RGM_CAPTURE_STACK_SAMPLER_H
#define RGM_CAPTURE_STACK_SAMPLER_H

#include <pthread.h>
#include <stdatomic.h>

#include "capture/session.h"
#include "capture/stack_tree.h"
#include "capture/thread_activity.h"

enum { RGM_STACK_THREADS = 512, RGM_STACK_FILES = 16 }; // looked at; with a file kept open

// What is kept of a thread from one look to the next.
typedef struct {
    int64_t thread, cpu_ns, at_ns; // its clock at the last look
    int64_t now_cpu_ns, now_ns;    // at this one
    uint64_t ticks;
    rgm_kept_file wait_file, place_file; // what it waits for, where it ran last
    rgm_kept_stack kept;
    uint32_t stack, number; // number: the walker's
    uint8_t state;
    bool seen, due, fresh; // in this look; to be walked in it; `stack` is of the tree as it is
} rgm_sampled_thread;

typedef struct {
    const rgm_stack_source *source; // NULL: never
    rgm_session *session;
    rgm_stack_tree *tree;
    rgm_walker *walker;         // of the thread that looks
    pthread_mutex_t rows_mutex; // of the tree and what is kept of threads, while rows are on their way
    bool watches_heap;
    rgm_sampled_thread *known;
    size_t known_count;
    rgm_source_frame *frames;
    uint32_t due[RGM_STACK_THREADS]; // numbers
    _Atomic(const char *) refused;   // why stacks are not sampled (any more), NULL where they are
} rgm_stack_sampler;

void rgm_stack_sampler_init(rgm_stack_sampler *stacks);
void rgm_stack_sampler_release(rgm_stack_sampler *stacks);
// Before the thread that looks is started, and when it has ended.
rgm_status rgm_stack_sampler_begin(rgm_stack_sampler *stacks, rgm_session *session);
void rgm_stack_sampler_end(rgm_stack_sampler *stacks);
// Of the thread that looks: false where there is nothing to be sampled, or nothing any more.
bool rgm_stack_sampler_open(rgm_stack_sampler *stacks);
bool rgm_stack_sampler_look(rgm_stack_sampler *stacks);
void rgm_stack_sampler_close(rgm_stack_sampler *stacks);
// While held, no rows of samples or stacks come.
void rgm_stack_sampler_hold(rgm_stack_sampler *stacks);
void rgm_stack_sampler_release_hold(rgm_stack_sampler *stacks);
// While held: numbers of stacks begin anew.
void rgm_stack_sampler_clear(rgm_stack_sampler *stacks);
// In the child of a fork, while held.
void rgm_stack_sampler_forked(rgm_stack_sampler *stacks);

#endif
