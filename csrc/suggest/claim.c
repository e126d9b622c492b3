// SPDX-License-Identifier: Apache-2.0
#include "suggest/claim.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analysis/stats.h"
#include "base/list.h"
#include "base/memory.h"

enum { FIRST_CAPACITY = 16 };

rgm_status rgm_claim_add(rgm_claim *claim, int64_t start, int64_t end, rgm_error *err) {
    if (end <= start) return RGM_OK;
    rgm_claim_part *last = claim->count ? &claim->parts[claim->count - 1] : NULL;
    if (last && start >= last->start && start <= last->end) {
        if (end > last->end) last->end = end;
        return RGM_OK;
    }
    RGM_TRY(RGM_LIST_ROOM(claim->parts, claim->count, claim->capacity, FIRST_CAPACITY, err));
    claim->parts[claim->count++] = (rgm_claim_part){start, end};
    return RGM_OK;
}

static int by_start(const void *a, const void *b) {
    const rgm_claim_part *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

// Most rules go through a thread from its first span to its last.
static bool is_sorted(const rgm_claim *claim) {
    for (size_t i = 1; i < claim->count; i++)
        if (by_start(&claim->parts[i - 1], &claim->parts[i]) > 0) return false;
    return true;
}

void rgm_claim_close(rgm_claim *claim) {
    if (claim->count == 0) return;
    if (!is_sorted(claim)) qsort(claim->parts, claim->count, sizeof *claim->parts, by_start);
    size_t kept = 0;
    for (size_t i = 1; i < claim->count; i++) {
        rgm_claim_part *last = &claim->parts[kept];
        if (claim->parts[i].start > last->end)
            claim->parts[++kept] = claim->parts[i];
        else if (claim->parts[i].end > last->end)
            last->end = claim->parts[i].end;
    }
    claim->count = kept + 1;
}

int64_t rgm_claim_total(const rgm_claim *claim) {
    int64_t total = 0;
    for (size_t i = 0; i < claim->count; i++)
        total = rgm_add_bounded(total, rgm_subtract_bounded(claim->parts[i].end, claim->parts[i].start));
    return total;
}

int64_t rgm_claim_shared(const rgm_claim *a, const rgm_claim *b) {
    int64_t shared = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const rgm_claim_part *x = &a->parts[i], *y = &b->parts[k];
        int64_t from = x->start > y->start ? x->start : y->start, to = x->end < y->end ? x->end : y->end;
        if (to > from) shared = rgm_add_bounded(shared, rgm_subtract_bounded(to, from));
        if (x->end < y->end)
            i++;
        else
            k++;
    }
    return shared;
}

static rgm_status add_without(const rgm_claim *a, const rgm_claim *b, rgm_claim *rest, rgm_error *err) {
    for (size_t i = 0, k = 0; i < a->count; i++) {
        int64_t from = a->parts[i].start;
        while (k < b->count && b->parts[k].end <= from) k++;
        for (size_t m = k; m < b->count && b->parts[m].start < a->parts[i].end; m++) {
            RGM_TRY(rgm_claim_add(rest, from, b->parts[m].start, err));
            if (b->parts[m].end > from) from = b->parts[m].end;
            k = m;
        }
        RGM_TRY(rgm_claim_add(rest, from, a->parts[i].end, err));
    }
    return RGM_OK;
}

rgm_status rgm_claim_without(const rgm_claim *a, const rgm_claim *b, rgm_claim *rest, rgm_error *err) {
    *rest = (rgm_claim){0};
    rgm_status status = add_without(a, b, rest, err);
    if (status != RGM_OK) rgm_claim_release(rest);
    return status;
}

// Both are in order, so one pass over both is enough.
rgm_status rgm_claim_join(rgm_claim *claim, const rgm_claim *other, rgm_error *err) {
    rgm_claim both = {0};
    if (other->count == 0) return RGM_OK;
    RGM_TRY(RGM_ROWS(both.parts, claim->count + other->count, err));
    both.capacity = claim->count + other->count + 1;
    for (size_t i = 0, k = 0; i < claim->count || k < other->count;) {
        bool mine = k == other->count || (i < claim->count && claim->parts[i].start <= other->parts[k].start);
        rgm_claim_part part = mine ? claim->parts[i++] : other->parts[k++];
        rgm_claim_part *last = both.count ? &both.parts[both.count - 1] : NULL;
        if (!last || part.start > last->end)
            both.parts[both.count++] = part;
        else if (part.end > last->end)
            last->end = part.end;
    }
    rgm_free(claim->parts);
    *claim = both;
    return RGM_OK;
}

void rgm_claim_release(rgm_claim *claim) {
    rgm_free(claim->parts);
    *claim = (rgm_claim){0};
}
