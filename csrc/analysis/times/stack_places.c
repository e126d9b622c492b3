// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/stack_places.h"

#include "analysis/times/stack_line.h"
#include "base/hash.h"
#include "base/memory.h"

void rgm_stack_places_release(rgm_stack_places *places) {
    rgm_free(places->of_stack);
    rgm_free(places->first);
    rgm_free(places->seen);
    *places = (rgm_stack_places){0};
}

static int32_t line_of(const rgm_stack_places *p, size_t stack) {
    return p->kind == RGM_PLACES_ARE_FUNCTIONS ? RGM_CELL(p->stacks, first_line, stack, -1)
                                               : RGM_CELL(p->stacks, line, stack, -1);
}

int32_t rgm_stack_place_line(const rgm_stack_places *places, size_t place) {
    return line_of(places, places->first[place]);
}

static bool same_place(const rgm_stack_places *p, size_t a, size_t b) {
    return p->stacks->function[a] == p->stacks->function[b] && p->stacks->file[a] == p->stacks->file[b] &&
           line_of(p, a) == line_of(p, b);
}

// slots: place + 1, 0 is free.
static void group(rgm_stack_places *p, uint32_t *slots, size_t mask) {
    for (size_t i = 0; i < p->stacks->rows; i++) {
        uint64_t names = (uint64_t)p->stacks->function[i] << 32 | p->stacks->file[i];
        size_t slot = rgm_hash_mix(names, (uint32_t)line_of(p, i)) & mask;
        while (slots[slot] && !same_place(p, p->first[slots[slot] - 1], i)) slot = (slot + 1) & mask;
        if (!slots[slot]) {
            p->first[p->count++] = (uint32_t)i;
            slots[slot] = (uint32_t)p->count;
        }
        p->of_stack[i] = slots[slot] - 1;
    }
}

// Callers stand before what they call.
static void move_to_own_lines(rgm_stack_places *p, const rgm_view *view) {
    for (size_t i = p->stacks->rows; i-- > 0;)
        p->of_stack[i] = p->of_stack[rgm_stack_own_line(view, (int32_t)i)];
}

rgm_status rgm_stack_places_init(rgm_stack_places *places, const rgm_view *view, rgm_place_kind kind,
                                 rgm_error *err) {
    const rgm_stacks *stacks = &view->run->stacks;
    size_t room = 16;
    while (room < 2 * stacks->rows) room *= 2;
    *places = (rgm_stack_places){.stacks = stacks, .kind = kind};
    uint32_t *slots = rgm_calloc(room, sizeof *slots);
    places->of_stack = rgm_calloc(stacks->rows + 1, sizeof *places->of_stack);
    places->first = rgm_calloc(stacks->rows + 1, sizeof *places->first);
    places->seen = rgm_calloc(stacks->rows + 1, sizeof *places->seen);
    bool made = slots && places->of_stack && places->first && places->seen;
    if (made && stacks->rows) group(places, slots, room - 1);
    if (made && kind == RGM_PLACES_ARE_OWN_LINES) move_to_own_lines(places, view);
    rgm_free(slots);
    if (made) return RGM_OK;
    rgm_stack_places_release(places);
    return rgm_error_no_memory(err);
}

int64_t rgm_stack_places_next(rgm_stack_places *places, size_t stack, int64_t at) {
    for (int64_t before = INT64_MAX; at >= 0 && at < before; before = at, at = places->stacks->parent[at]) {
        uint32_t *seen = &places->seen[places->of_stack[at]];
        if (*seen == stack + 1) continue;
        *seen = (uint32_t)stack + 1;
        return at;
    }
    return -1;
}
