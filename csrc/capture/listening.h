// SPDX-License-Identifier: Apache-2.0
// Whether this process is a server: an event loop of it (an epoll set) watches a socket that listens. Where
// nothing comes, such a loop has nothing to run because nobody asks. And whether it is its own client: one of
// its sockets is connected to one of its own that listens. Who waits for an answer then waits for a thread or
// a task of this process. Read by the drainer.
#ifndef RGM_CAPTURE_LISTENING_H
#define RGM_CAPTURE_LISTENING_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    RGM_LISTENING_SHARE = 2000,          // one part in so many of the time at most, of the drainer's
    RGM_LISTENING_EVERY_NS = 1000000000, // between two looks
    RGM_LISTENING_DESCRIPTORS = 4096,    // that a look takes in
};

typedef struct {
    int64_t due_ns;
    atomic_uint found; // stays: a server that is closed has been one
} rgm_listening;

// What is found.
enum { RGM_LISTENING_LOOP = 1, RGM_LISTENING_TO_ITSELF = 2 };

// Looks, where that is due and not all was found yet. What this look found that none before it did.
unsigned rgm_listening_look(rgm_listening *state);
// As in a process that has just begun.
void rgm_listening_reset(rgm_listening *state);

#endif
