// SPDX-License-Identifier: Apache-2.0
// The scopes of each operation and declared device, found once for all rules about operations.
#ifndef RGM_SUGGEST_SCOPES_OF_H
#define RGM_SUGGEST_SCOPES_OF_H

#include "analysis/keyed.h"
#include "suggest/suggester.h"

typedef struct {
    const rgm_facts *facts;
    uint32_t *rows; // spans of scopes, by operation and device, within these by lane and start
    uint64_t *keys; // [groups.count], ascending
    rgm_keyed groups;
    size_t claimed;  // the group that was claimed last, plus one; rules ask for the same several times
    rgm_claim last;  // what it claims
    int64_t example; // and its example
    bool any_device; // some scope was declared to be of a GPU, or the run has device work
} rgm_scopes_of;

rgm_status rgm_scopes_of_init(rgm_scopes_of *scopes, const rgm_facts *facts, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_scopes_of_release(rgm_scopes_of *scopes);

static inline bool rgm_scopes_on_device(rgm_device device) {
    return device == RGM_DEVICE_GPU || device == RGM_DEVICE_CUDA || device == RGM_DEVICE_ROCM;
}

// Claims the path while scopes of the operation are open: of host work that of their own threads. The
// earliest becomes the example. Takes steps in proportion to these scopes and to the path within them.
void rgm_scopes_of_claim(rgm_scopes_of *scopes, rgm_suggester *s, rgm_name operation, rgm_device device);

#endif
