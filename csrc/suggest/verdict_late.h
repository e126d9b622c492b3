// SPDX-License-Identifier: Apache-2.0
// Time in which a device had nothing to do because the host had not asked: what the host did meanwhile.
#ifndef RGM_SUGGEST_VERDICT_LATE_H
#define RGM_SUGGEST_VERDICT_LATE_H

#include "suggest/verdict_facts.h"

typedef struct {
    int64_t start_ns, end_ns;
    bool after_sync; // the device ran dry because the host had waited for it
} rgm_late_part;

// Adds the parts, which are in order of time and do not overlap, to the causes of the facts. A part as short
// as the call of an operator is one of launching: of synchronisation where the device ran dry by it. Longer
// ones are put down to scopes of the driving thread that say by themselves why nothing was launched, and what
// is left of them is divided by the samples that were taken in them. Where none were, and of recordings
// without samples, nothing more is known than that the host was late.
rgm_status rgm_verdict_of_late(rgm_verdict_facts *facts, const rgm_late_part *parts, size_t count,
                               rgm_error *err) RGM_NODISCARD;

#endif
