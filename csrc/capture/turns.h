// SPDX-License-Identifier: Apache-2.0
// Turns: two programs that are compared run at the same time, one of them at a time, and see the same machine
// within milliseconds.
//
// Both have a small table in common, a file without a name that whoever starts them hands down. A program
// joins with its first profiler and waits there until the other has joined and it is its turn. When an
// outermost scope of it has ended and its turn has lasted long enough, it gives the turn to the other and
// sleeps until it gets it back, so nothing of it runs meanwhile and no scope is longer for that. Turns are
// numbered over both programs; the run has the number of each of its turns as it begins, and how long was
// waited for it.
//
// Nobody waits for ever: when the other has left (who started it says so, however it ended) a program runs on
// alone, and a wait that reaches the limit lets both run on, which the table tells. A program that does what
// cannot be interrupted like that (work on a device, scopes in several threads) keeps its turn to its end.
//
// Threads: join by one; scopes may end in any, of which one takes the turns. A forked child has left.
#ifndef RGM_CAPTURE_TURNS_H
#define RGM_CAPTURE_TURNS_H

#include "capture/recorder.h"

typedef struct {
    uint32_t turns; // begun so far by both
    bool joined[2];
    bool overlapped; // a wait reached the limit: they may have run at the same time
    bool device;     // one of them kept its turn, because it had work on a device
    bool threads;    // or because scopes ended in several threads
} rgm_turns_facts;

// Makes a table; *fd is closed on exec. first: which of 0 and 1 begins.
rgm_status rgm_turns_new(uint32_t first, int64_t turn_ns, int64_t limit_ns, int *fd,
                         rgm_error *err) RGM_NODISCARD;
// Says that a program has ended: the other waits for it no longer.
rgm_status rgm_turns_leave(int fd, uint32_t side, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_turns_read(int fd, rgm_turns_facts *facts, rgm_error *err) RGM_NODISCARD;

// Joins as one of the two, and waits for the first turn. The descriptor is the caller's to close. RGM_BUSY
// where this process has joined before.
rgm_status rgm_turns_join(int fd, uint32_t side, rgm_error *err) RGM_NODISCARD;
// In a forked child.
void rgm_turns_forget(void);
// Gives the turn to the other if it has lasted long enough and nothing is open; the slow half of
// rgm_recorder_turns.
void rgm_turns_scope_ended(rgm_recorder *recorder, uint64_t now);

// After a scope has ended at `now` and all that belongs to its end has been done.
static inline void rgm_recorder_turns(rgm_recorder *recorder, uint64_t now) {
    if (RGM_UNLIKELY(now >= recorder->turn_due)) rgm_turns_scope_ended(recorder, now);
}

#endif
