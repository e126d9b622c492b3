// SPDX-License-Identifier: Apache-2.0
// What a thread that waits is waiting for, where that is work: of other threads, or of other processes.
#ifndef RGM_SUGGEST_VERDICT_WAITS_H
#define RGM_SUGGEST_VERDICT_WAITS_H

#include "suggest/verdict_facts.h"

// Why the time goes, and the stack that shows it: of the thread that works, or of the one that waits.
typedef struct {
    rgm_limit_cause cause;
    int32_t stack;
    bool elsewhere; // in another thread or process
    bool serving;   // it may have waited for who asks
    rgm_sample_state state;
} rgm_awaited;

// Row `sample` of the driving thread has found it waiting, which is `found`: LOCK or NETWORK. `processes`:
// others of the run are known to work then.
rgm_awaited rgm_verdict_awaited(const rgm_verdict_facts *facts, size_t sample, rgm_limit_cause found,
                                bool processes);
// Row `sample` has found it asleep: what goes on meanwhile in other threads, in `processes` of the run, or in
// other processes; UNKNOWN where nothing does.
rgm_awaited rgm_verdict_polled(const rgm_verdict_facts *facts, size_t sample, bool processes);
// Row `sample` has found it waiting for the interpreter's lock: the stack of a thread of the program that had
// it, -1 where none is known.
int32_t rgm_verdict_lock_holder(const rgm_verdict_facts *facts, size_t sample);
// The process of a sample, -1 where its thread has no lane.
int64_t rgm_verdict_process(const rgm_verdict_facts *facts, size_t sample);
// The line that a sample of another process than `own` found at work; -1 of `own`, of a library's threads,
// and where it waits for work or for its other threads.
int32_t rgm_verdict_line_beside(const rgm_verdict_facts *facts, size_t sample, int64_t own);
// Whether a sample of the driving thread within compiled code of a framework waits for helpers of that code.
bool rgm_verdict_awaits_helpers(const rgm_verdict_facts *facts, rgm_role bucket, size_t sample);

#endif
