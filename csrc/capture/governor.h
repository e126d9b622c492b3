// SPDX-License-Identifier: Apache-2.0
// The governor: keeps what recording costs under a part of the time, by making what can be made rarer without
// a count or a duration becoming wrong rarer: one in so many, a power of two. It reads no clock and starts
// nothing: it is told the time and the cost so far, and says what is to be taken from now on.
//
// Dearer than allowed: at once as rare as the last window says is needed. Cheaper: half as rare, look by
// look, once a part of the room was enough for several looks in a row. What was spent beyond the budget is
// saved again over the next seconds, out of half of what is allowed in them.
#ifndef RGM_CAPTURE_GOVERNOR_H
#define RGM_CAPTURE_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

// What is governed: X(name, series in the table of counters, what it is).
#define RGM_GOVERNED(X)                                                                                      \
    X(stacks, "budget/stacks_one_in", "looks at the call stacks of all threads")                             \
    X(machine, "budget/machine_one_in", "questions to the system what else ran")                             \
    X(resident, "budget/resident_one_in", "looks at the resident set")                                       \
    X(scope_memory, "budget/scope_memory_one_in", "scopes whose memory is read")

#define RGM_GOVERNED_ENUM(name, series, doc) RGM_GOVERNED_##name,
typedef enum { RGM_GOVERNED(RGM_GOVERNED_ENUM) RGM_GOVERNED_COUNT } rgm_governed;

#define RGM_GOVERNOR_LOOK_NS INT64_C(1000000000)
#define RGM_GOVERNOR_EASY 0.7                      // of the room: what fits into it may become denser
#define RGM_GOVERNOR_REPAY_NS INT64_C(10000000000) // a debt is paid back in about this time
enum { RGM_GOVERNOR_RAREST = 256, RGM_GOVERNOR_CALM = 4 };

// Nanoseconds since some begin, which only grow.
typedef struct {
    int64_t governed_ns[RGM_GOVERNED_COUNT];
    int64_t rest_ns; // what cannot be made rarer
} rgm_governor_cost;

typedef struct {
    double share; // of the time that may be spent, 0: nothing is governed
    int64_t last_ns;
    rgm_governor_cost last;
    double debt_ns; // spent beyond the budget, never below 0
    uint32_t one_in[RGM_GOVERNED_COUNT];
    uint32_t calm[RGM_GOVERNED_COUNT]; // looks in a row at which more would have been affordable
    double spent;                      // share of the last window
    bool looked;
} rgm_governor;

void rgm_governor_start(rgm_governor *governor, double share);
// The cost so far at this time. True where a window has ended; governor->one_in holds from now on. A cost
// that has shrunk (the recording was reset) begins a new window.
bool rgm_governor_look(rgm_governor *governor, int64_t now_ns, const rgm_governor_cost *cost);

#endif
