// SPDX-License-Identifier: Apache-2.0
// Memory at the peak and at the end, by who asked for it or by what it is.
#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/memory/lifetimes.h"
#include "analysis/order.h"
#include "analysis/times/stack_places.h"
#include "base/memory.h"

// Values of group_by.
enum { BY_STACK, BY_LINE, BY_CATEGORY, BY_OWN_LINE, BY_SCOPE };

// Keys of blocks without a stack.
#define NOT_RECORDED UINT32_MAX
#define THERE_BEFORE (UINT32_MAX - 1)

// places: without any for stacks and categories.
static uint64_t key_of(const rgm_view *view, const rgm_lifetime *block, int32_t group_by,
                       const rgm_stack_places *places) {
    bool in_scope = block->span >= 0 && (size_t)block->span < view->n_spans;
    uint64_t what = group_by == BY_CATEGORY ? block->category
                    : group_by == BY_SCOPE  ? in_scope ? rgm_view_name(view, (size_t)block->span) : 0
                    : block->stack < 0      ? block->begin < 0 ? THERE_BEFORE : NOT_RECORDED
                    : places->of_stack      ? places->of_stack[block->stack]
                                            : (uint32_t)block->stack;
    return (uint64_t)block->place << 32 | what;
}

static void name_row(const rgm_view *view, const rgm_lifetimes *l, const rgm_lifetime *block,
                     int32_t group_by, const rgm_stack_places *places, rgm_allocations *out, size_t row) {
    const rgm_run *run = view->run;
    out->device[row] = l->devices[block->place].place.device;
    out->rank[row] = l->devices[block->place].place.rank;
    out->process[row] = l->devices[block->place].place.process;
    out->category[row] = block->category;
    if (group_by == BY_SCOPE)
        out->scope[row] = (rgm_name)(key_of(view, block, group_by, places) & UINT32_MAX);
    if (group_by == BY_CATEGORY || group_by == BY_SCOPE || block->stack < 0) return;
    int32_t stack = places->of_stack ? (int32_t)places->first[places->of_stack[block->stack]] : block->stack;
    out->stack[row] = stack;
    out->function[row] = run->stacks.function[stack];
    out->file[row] = run->stacks.file[stack];
    out->line[row] = RGM_CELL(&run->stacks, line, stack, -1);
}

static void count(int64_t *bytes, int64_t *blocks, int64_t change) {
    *bytes = rgm_bytes_sum(*bytes, change);
    *blocks += change < 0 ? -1 : 1;
}

static void add_block(const rgm_lifetimes *l, const rgm_lifetime *block, rgm_allocations *out, size_t row) {
    const rgm_memory_device *device = &l->devices[block->place];
    bool lives_on = (size_t)block->end == l->n_events;
    if (block->begin <= device->peak_at && device->peak_at < block->end)
        count(&out->peak_bytes[row], &out->peak_blocks[row], block->bytes);
    if (lives_on) count(&out->end_bytes[row], &out->end_blocks[row], block->bytes);
    if (lives_on && block->begin >= 0) count(&out->kept_bytes[row], &out->kept_blocks[row], block->bytes);
    if (block->begin >= 0 && block->bytes >= 0)
        count(&out->allocated_bytes[row], &out->allocations[row], block->bytes);
    if (out->category[row] != block->category) out->category[row] = 0;
}

static int compare(const void *table, const void *context, uint32_t x, uint32_t y) {
    const rgm_allocations *t = table;
    (void)context;
    if (t->peak_bytes[x] != t->peak_bytes[y]) return t->peak_bytes[x] > t->peak_bytes[y] ? -1 : 1;
    if (t->end_bytes[x] != t->end_bytes[y]) return t->end_bytes[x] > t->end_bytes[y] ? -1 : 1;
    return (t->allocated_bytes[x] < t->allocated_bytes[y]) - (t->allocated_bytes[x] > t->allocated_bytes[y]);
}

rgm_status rgm_allocations_compute(const rgm_view *view, const rgm_policy *policy,
                                   const rgm_question *question, rgm_allocations *out, rgm_error *err) {
    (void)policy;
    int32_t group_by = question->group_by > BY_SCOPE ? BY_STACK : question->group_by;
    RGM_RELEASED(rgm_lifetimes_release) rgm_lifetimes l = {0};
    RGM_RELEASED(rgm_groups_release) rgm_groups groups = {0};
    RGM_RELEASED(rgm_stack_places_release) rgm_stack_places places = {0};
    RGM_FREED uint64_t *keys = NULL;
    RGM_TRY(rgm_lifetimes_init(&l, view->run, err));
    if (group_by == BY_LINE) RGM_TRY(rgm_stack_places_init(&places, view, RGM_PLACES_ARE_LINES, err));
    if (group_by == BY_OWN_LINE) RGM_TRY(rgm_stack_places_init(&places, view, RGM_PLACES_ARE_OWN_LINES, err));
    RGM_TRY(RGM_ROWS(keys, l.n_blocks, err));
    for (size_t i = 0; i < l.n_blocks; i++) keys[i] = key_of(view, &l.blocks[i], group_by, &places);
    RGM_TRY(rgm_groups_init(&groups, keys, l.n_blocks, err));
    RGM_TRY(rgm_table_rows(&rgm_allocations_desc, out, groups.count, err));
    for (size_t g = 0; g < groups.count; g++) {
        const rgm_lifetime *first = &l.blocks[groups.items[groups.first[g]]];
        name_row(view, &l, first, group_by, &places, out, g);
        for (uint32_t i = groups.first[g]; i < groups.first[g + 1]; i++)
            add_block(&l, &l.blocks[groups.items[i]], out, g);
        int64_t peak = l.devices[first->place].peak;
        if (peak > 0) out->peak_share[g] = (double)out->peak_bytes[g] / (double)peak;
    }
    return rgm_order_rows(&rgm_allocations_desc, out, compare, NULL, err);
}
