// SPDX-License-Identifier: Apache-2.0
// A claim: the stretches of the critical path that a suggestion is about, as a set of times. Claims are added
// to in any order, closed once, and then subtracted from each other, so that no time is promised twice.
#ifndef RGM_SUGGEST_CLAIM_H
#define RGM_SUGGEST_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t start, end;
} rgm_claim_part;

// Zero-initialised memory is the empty claim.
typedef struct {
    rgm_claim_part *parts;
    size_t count, capacity;
} rgm_claim;

rgm_status rgm_claim_add(rgm_claim *claim, int64_t start, int64_t end, rgm_error *err) RGM_NODISCARD;
// Sorts the parts and joins those that overlap or touch; what follows needs closed claims.
void rgm_claim_close(rgm_claim *claim);
int64_t rgm_claim_total(const rgm_claim *claim);
// Time that both have.
int64_t rgm_claim_shared(const rgm_claim *a, const rgm_claim *b);
// The time of `a` that `b` has not; the caller releases it, unless it fails.
rgm_status rgm_claim_without(const rgm_claim *a, const rgm_claim *b, rgm_claim *rest,
                             rgm_error *err) RGM_NODISCARD;
// Adds all of `other`; both are closed before and after.
rgm_status rgm_claim_join(rgm_claim *claim, const rgm_claim *other, rgm_error *err) RGM_NODISCARD;
void rgm_claim_release(rgm_claim *claim);

#endif
