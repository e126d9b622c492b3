// SPDX-License-Identifier: Apache-2.0
// What lived and was reserved after each event of an allocator.
#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/memory/lifetimes.h"
#include "analysis/order.h"
#include "base/memory.h"

static uint64_t kind_of_block(const rgm_lifetime *block) {
    return (uint64_t)block->place << 32 | block->category;
}

// Fills the levels of each kind of memory on each device: the blocks' own kind decides, so that a block comes
// off the kind on which it was added.
static rgm_status add_kinds(const rgm_lifetimes *l, rgm_memory_levels *out, rgm_error *err) {
    RGM_RELEASED(rgm_groups_release) rgm_groups kinds = {0};
    RGM_FREED uint64_t *keys = NULL;
    // Of each event its block, and the blocks that end there.
    RGM_FREED int32_t *begun = NULL, *ended = NULL, *next = NULL;
    RGM_TRY(RGM_ROWS(keys, l->n_blocks, err));
    RGM_TRY(RGM_ROWS(begun, l->n_events, err));
    RGM_TRY(RGM_ROWS(ended, l->n_events, err));
    RGM_TRY(RGM_ROWS(next, l->n_blocks, err));
    for (size_t i = 0; i < l->n_blocks; i++) keys[i] = kind_of_block(&l->blocks[i]);
    RGM_TRY(rgm_groups_init(&kinds, keys, l->n_blocks, err));
    RGM_FREED int64_t *now = rgm_calloc(kinds.count + 1, sizeof *now);
    if (!now) return rgm_error_no_memory(err);
    for (size_t i = 0; i < l->n_events; i++) begun[i] = ended[i] = -1;
    for (size_t i = 0; i < l->n_blocks; i++) {
        const rgm_lifetime *block = &l->blocks[i];
        if (block->begin < 0)
            now[kinds.of[i]] = rgm_bytes_sum(now[kinds.of[i]], block->bytes);
        else
            begun[block->begin] = (int32_t)i;
        if ((size_t)block->end >= l->n_events) continue;
        next[i] = ended[block->end];
        ended[block->end] = (int32_t)i;
    }
    for (size_t i = 0; i < l->n_events; i++) {
        int32_t of = begun[i] >= 0 ? begun[i] : ended[i];
        for (int32_t b = ended[i]; b >= 0; b = next[b])
            now[kinds.of[b]] = rgm_bytes_sum(now[kinds.of[b]], -l->blocks[b].bytes);
        if (begun[i] >= 0)
            now[kinds.of[begun[i]]] = rgm_bytes_sum(now[kinds.of[begun[i]]], l->blocks[begun[i]].bytes);
        if (of < 0) continue;
        out->category[i] = l->blocks[of].category;
        out->live_of_category[i] = now[kinds.of[of]];
    }
    return RGM_OK;
}

rgm_status rgm_memory_levels_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_memory_levels *out, rgm_error *err) {
    (void)policy;
    (void)question;
    const rgm_memory *memory = &view->run->memory;
    rgm_lifetimes l;
    RGM_TRY(rgm_lifetimes_init(&l, view->run, err));
    rgm_status status = rgm_table_rows(&rgm_memory_levels_desc, out, l.n_events, err);
    for (size_t i = 0; status == RGM_OK && i < l.n_events; i++) {
        out->time_ns[i] = memory->time_ns[l.events[i]];
        out->device[i] = rgm_lifetimes_device(&l, i)->place.device;
        out->rank[i] = rgm_lifetimes_device(&l, i)->place.rank;
        out->process[i] = rgm_lifetimes_device(&l, i)->place.process;
        out->event[i] = l.events[i];
        out->live[i] = l.live[i];
        out->reserved[i] = l.reserved[i];
    }
    if (status == RGM_OK) status = add_kinds(&l, out, err);
    rgm_lifetimes_release(&l);
    return status;
}
