// SPDX-License-Identifier: Apache-2.0
// What recording costs beyond the begin and the end of a scope with warm caches, which is calibrated: each of
// these is measured where it happens, by the two ticks around it. X(name, doc); the counters of a session and
// the keys of its stats are expansions of the list.
#ifndef RGM_CAPTURE_OWN_COST_H
#define RGM_CAPTURE_OWN_COST_H

#define RGM_OWN_COSTS(X)                                                                                     \
    X(names, "finding an operation that the cache of names does not hold, and numbering it at first use")    \
    X(looks, "looks at which library a block used")                                                          \
    X(memory, "reading memory at begin and end of scopes")                                                   \
    X(threads, "the first scope of each thread: its recorder, its name, the start of the service threads")   \
    X(blocks, "taking the next block of records")                                                            \
    X(witness, "looks at how fast the machine is")                                                           \
    X(forks, "holding still for a fork, the part of it that shares our blocks, starting anew in the child")

#define RGM_OWN_COST_ENUM(name, doc) RGM_OWN_##name,
typedef enum { RGM_OWN_COSTS(RGM_OWN_COST_ENUM) RGM_OWN_COUNT } rgm_own_cost;

#endif
