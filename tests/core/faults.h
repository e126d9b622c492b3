// SPDX-License-Identifier: Apache-2.0
// One allocation refused at every place in turn:
//
//     EACH_FAULT("a monitor") {
//         rgm_monitor *monitor = NULL;
//         FAULTY(rgm_monitor_new(&monitor, 10, &err));
//         rgm_monitor_free(monitor);
//     }
//
// The block is repeated, and the n-th allocation within FAULTY refused, with a later n each time, until a
// round has so few that none is. The call has to say RGM_NO_MEMORY where one was refused and RGM_OK in the
// last round, and no round may leave a block behind. FAULTY gives the status of the call. A call that may do
// without some of the memory it asks for has `fault_.goes_without = true;` in the block.
#ifndef RGM_TEST_FAULTS_H
#define RGM_TEST_FAULTS_H

#include "base/memory.h"
#include "base/status.h"
#include "harness.h"

typedef struct {
    const char *what;
    bool goes_without;
    int64_t n, live;
    uint64_t calls;
    bool refused;
    rgm_status status;
} fault;

#define EACH_FAULT(what) for (fault fault_ = {what, .n = -1}; fault_next(&fault_);)
#define FAULTY(call) fault_end(&fault_, (fault_begin(&fault_), (call)))

static inline void fault_begin(fault *f) {
    f->calls = rgm_memory_calls();
    rgm_memory_fail_after(f->n);
}

static inline rgm_status fault_end(fault *f, rgm_status status) {
    f->refused = rgm_memory_calls() - f->calls > (uint64_t)f->n;
    rgm_memory_fail_after(-1);
    return f->status = status;
}

// Whether the round that was the last one, if any, is as it should be.
static inline bool fault_met_well(const fault *f) {
    int64_t left = rgm_memory_live() - f->live;
    bool expected = f->status == (f->refused ? RGM_NO_MEMORY : RGM_OK) || (f->goes_without && !f->status);
    if (expected && !left) return true;
    HARNESS_FAIL("%s with %s allocation %" PRId64 " refused: status %d, %" PRId64 " blocks left", f->what,
                 f->refused ? "its" : "no", f->n, (int)f->status, left);
    return false;
}

static inline bool fault_next(fault *f) {
    enum { MOST = 100000 }; // bounds the loop, not the truth
    if (f->n >= 0 && (!fault_met_well(f) || !f->refused)) return false;
    if (++f->n == MOST) {
        HARNESS_FAIL("%s fails for ever", f->what);
        return false;
    }
    f->live = rgm_memory_live();
    return true;
}

#endif
