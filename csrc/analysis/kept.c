// SPDX-License-Identifier: Apache-2.0
#include "analysis/kept.h"

#include "base/memory.h"

typedef struct {
    rgm_once once;
    const rgm_kept_kind *kind;
    void *made;
} slot;

struct rgm_kept {
    slot slots[RGM_KEPT_COUNT];
};

rgm_status rgm_kept_init(rgm_kept **kept, rgm_error *err) {
    *kept = rgm_calloc(1, sizeof **kept);
    if (!*kept) return rgm_error_no_memory(err);
    return RGM_OK;
}

void rgm_kept_release(rgm_kept *kept) {
    for (int i = 0; kept && i < RGM_KEPT_COUNT; i++) {
        slot *s = &kept->slots[i];
        if (s->made) s->kind->release(s->made);
    }
    rgm_free(kept);
}

typedef struct {
    slot *slot;
    const rgm_kept_kind *kind;
    const void *of;
} wanted;

static rgm_status make_slot(void *owner, rgm_error *err) {
    const wanted *w = owner;
    w->slot->kind = w->kind;
    return w->kind->make(w->of, &w->slot->made, err);
}

rgm_status rgm_kept_get(rgm_kept *kept, rgm_kept_thing thing, const rgm_kept_kind *kind, const void *of,
                        const void **out, rgm_error *err) {
    slot *s = &kept->slots[thing];
    RGM_TRY(rgm_once_make(&s->once, make_slot, &(wanted){s, kind, of}, err));
    *out = s->made;
    return RGM_OK;
}
