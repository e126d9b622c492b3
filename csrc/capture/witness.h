// SPDX-License-Identifier: Apache-2.0
// The machine witness: a small fixed piece of work that a recording thread does itself now and then, beside
// the program's own work, on the same processor at the same moment. How long it takes tells how fast the
// machine was.
//
//   throughput  eight independent chains of multiply, shift and add: the width of the processor, which is
//   what its
//               sibling thread takes, and its clock
//   memory      one read per line of a buffer that the look before has put out of the caches, so the lines
//   come from
//               main memory whatever the program has done in between: what other processes take of its
//               bandwidth
//
// A look is taken when a scope has ended, never inside the time of one: at the end of an outermost scope, or,
// where none ends for an interval, at the end of the shallowest that does; the scope around it then has it
// booked as own time, which is not exclusive time. One look of a session is due an interval after the last,
// and no sooner than the last has come to RGM_WITNESS_SHARE of the time, whatever the number of threads.
//
// Where no scope ends for two intervals, the thread that samples call stacks takes the look, beside the
// program.
//
// Threads: a look by the recorder's thread; the time of the next one is shared by all of the session.
#ifndef RGM_CAPTURE_WITNESS_H
#define RGM_CAPTURE_WITNESS_H

#include "capture/recorder.h"

enum {
    RGM_WITNESS_ROUNDS = 500, // of eight chains: 4,000 steps
    RGM_WITNESS_LINES = 1024, // of 64 bytes
    RGM_WITNESS_SHARE = 2000, // one part in so many of the time at most: 0.05 %
    RGM_WITNESS_DEEPEST = 64, // scopes further in are as good as each other
};
#define RGM_WITNESS_NO_THREAD UINT32_MAX // of a row: of no thread that records
#define RGM_WITNESS_MARK_NS                                                                                  \
    10000000 // at most one mark of a thread in this time, however many blocks it fills
#define RGM_WITNESS_LEAST_NS 1000000 // between the last look and the one that ends a recording

// What a session keeps of it.
typedef struct {
    int64_t interval_ns; // 0: never
    rgm_anchor origin;   // what ticks are worth
    _Atomic(int64_t) last_ns, next_ns;
} rgm_witness_state;

void rgm_witness_start(rgm_witness_state *witness, int64_t interval_ns, rgm_anchor origin);
// Ticks of a time; one a nanosecond until enough has passed to know, which is early rather than late.
uint64_t rgm_witness_ticks(const rgm_witness_state *witness, uint64_t now, int64_t ns);
// The work itself, in ticks. *memory is 0 where a line cannot be put out of the caches by a program.
void rgm_witness_work(uint64_t *throughput, uint64_t *memory);
// A row about the calling thread, which the recorder belongs to.
rgm_witness_row rgm_witness_mark(const rgm_recorder *recorder, uint64_t ticks);
// A look if it is due now and here; the slow half of rgm_recorder_witness.
void rgm_witness_turn(rgm_recorder *recorder, uint64_t now);
// The look that ends a recording, by the calling thread if it has recorded.
void rgm_witness_last(rgm_session *session, uint64_t session_id);
// A look by a thread that records nothing, where none was taken for an interval after it was due.
void rgm_witness_beside(rgm_session *session);
// Where the next block begins: on which processor its thread is, and how much it has worked.
void rgm_witness_block(rgm_recorder *recorder, uint64_t now);

// After a scope has ended at `now` and all that belongs to its end has been done.
static inline void rgm_recorder_witness(rgm_recorder *recorder, uint64_t now) {
    if (RGM_UNLIKELY(now >= recorder->witness_due)) rgm_witness_turn(recorder, now);
}

#endif
