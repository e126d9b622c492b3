// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory/places.h"

#include <stdlib.h>

#include "analysis/groups.h"
#include "base/list.h"
#include "base/memory.h"

enum { ORDINALS = 65536, MOST_OWNERS = 16384 };

// A rank, else a process; -1 and -1 for nobody.
typedef struct {
    int32_t rank;
    int64_t process;
} owner;

static owner owner_of(const rgm_run *run, size_t lane) {
    owner o = {RGM_CELL(&run->lanes, rank, lane, -1), -1};
    if (o.rank < 0 && RGM_CELL(&run->lanes, device, lane, -1) < 0)
        o.process = RGM_CELL(&run->lanes, process, lane, -1);
    return o;
}

static bool is_nobody(owner o) { return o.rank < 0 && o.process < 0; }

void rgm_memory_places_release(rgm_memory_places *found) {
    rgm_free(found->places);
    rgm_block_free(found->of);
    *found = (rgm_memory_places){0};
}

// --- owners -----------------------------------------------------------------------------------------------

// Owners of lanes, numbered from 1 on; 0 is nobody.
typedef struct {
    uint32_t *of_lane;
    owner *owners;
    size_t count;
} owners;

static void owners_release(owners *all) {
    rgm_free(all->of_lane);
    rgm_free(all->owners);
}

static rgm_status find_owners(owners *all, const rgm_run *run, rgm_error *err) {
    RGM_FREED uint64_t *keys = NULL;
    RGM_RELEASED(rgm_groups_release) rgm_groups groups = {0};
    RGM_TRY(RGM_ROWS(keys, run->lanes.rows, err));
    for (size_t i = 0; i < run->lanes.rows; i++) {
        owner o = owner_of(run, i);
        keys[i] = o.rank >= 0 ? (uint64_t)o.rank << 1 : (uint64_t)o.process << 1 | 1;
    }
    RGM_TRY(rgm_groups_init(&groups, keys, run->lanes.rows, err));
    RGM_TRY(RGM_ROWS(all->owners, groups.count + 1, err));
    all->owners[0] = (owner){-1, -1};
    all->count = (size_t)groups.count + 1;
    for (uint32_t g = 0; g < groups.count; g++)
        all->owners[g + 1] = owner_of(run, groups.items[groups.first[g]]);
    RGM_TRY(RGM_ROWS(all->of_lane, run->lanes.rows, err));
    for (size_t i = 0; i < run->lanes.rows; i++)
        all->of_lane[i] = is_nobody(owner_of(run, i)) ? 0 : groups.of[i] + 1;
    return RGM_OK;
}

static uint32_t owner_at(const owners *all, const rgm_run *run, int32_t lane) {
    return lane >= 0 && (size_t)lane < run->lanes.rows ? all->of_lane[lane] : 0;
}

static uint32_t owner_of_event(const owners *all, const rgm_run *run, size_t row) {
    return owner_at(all, run, RGM_CELL(&run->memory, lane, row, -1));
}
static uint32_t owner_of_block(const owners *all, const rgm_run *run, size_t row) {
    return owner_at(all, run, RGM_CELL(&run->blocks, lane, row, -1));
}
static uint32_t owner_of_segment(const owners *all, const rgm_run *run, size_t row) {
    return owner_at(all, run, RGM_CELL(&run->segments, lane, row, -1));
}

static bool is_another(uint32_t *first, uint32_t number) {
    if (!*first) *first = number;
    return number && number != *first;
}

bool rgm_memory_is_of_allocator(uint8_t action) {
    switch (action) {
    case RGM_ACTION_ALLOC:
    case RGM_ACTION_FREE:
    case RGM_ACTION_FREE_REQUESTED:
    case RGM_ACTION_SEGMENT_ALLOC:
    case RGM_ACTION_SEGMENT_FREE:
    case RGM_ACTION_SEGMENT_MAP:
    case RGM_ACTION_SEGMENT_UNMAP:
    case RGM_ACTION_OOM:
    case RGM_ACTION_SNAPSHOT: return true;
    default: return false;
    }
}

// Whether memory is of more than one of them: events as far as they say whose they are, blocks and segments
// only where all do.
static bool are_several(const owners *all, const rgm_run *run) {
    uint32_t first = 0;
    bool several = false;
    if (all->count > MOST_OWNERS) return false;
    for (size_t i = 0; i < run->blocks.rows; i++) {
        if (!owner_of_block(all, run, i)) return false;
        several |= is_another(&first, owner_of_block(all, run, i));
    }
    for (size_t i = 0; i < run->segments.rows; i++) {
        if (!owner_of_segment(all, run, i)) return false;
        several |= is_another(&first, owner_of_segment(all, run, i));
    }
    for (size_t i = 0; !several && i < run->memory.rows; i++)
        if (rgm_memory_is_of_allocator(RGM_CELL(&run->memory, action, i, 0)))
            several = is_another(&first, owner_of_event(all, run, i));
    return several;
}

// --- places -----------------------------------------------------------------------------------------------

typedef struct {
    rgm_memory_place place;
    uint32_t number; // in the order of their first rows
} numbered;

typedef struct {
    const owners *owners;
    uint32_t *number; // [owners][ORDINALS] of the place and 1, 0 where there is none; what is not used is not
                      // touched
    numbered *found;
    size_t count, room;
} search;

static rgm_status add(search *s, uint32_t owner_number, int16_t device, uint32_t *number, rgm_error *err) {
    uint32_t *known = &s->number[(size_t)owner_number * ORDINALS + (uint16_t)device];
    if (!*known) {
        RGM_TRY(RGM_LIST_ROOM(s->found, s->count, s->room, 8, err));
        owner o = s->owners->owners[owner_number];
        s->found[s->count] = (numbered){{device, o.rank, o.process}, (uint32_t)s->count};
        *known = (uint32_t)++s->count;
    }
    *number = *known - 1;
    return RGM_OK;
}

static int by_place(const void *a, const void *b) {
    const rgm_memory_place *x = &((const numbered *)a)->place, *y = &((const numbered *)b)->place;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

// In order, and what was numbered as it came gets the numbers of that order.
static rgm_status order_places(search *s, rgm_memory_places *out, size_t n, rgm_error *err) {
    RGM_FREED uint32_t *ordered = NULL;
    RGM_TRY(RGM_ROWS(ordered, s->count, err));
    RGM_TRY(RGM_ROWS(out->places, s->count, err));
    if (s->count) qsort(s->found, s->count, sizeof *s->found, by_place);
    for (size_t i = 0; i < s->count; i++) {
        out->places[i] = s->found[i].place;
        ordered[s->found[i].number] = (uint32_t)i;
    }
    out->count = s->count;
    for (size_t i = 0; i < n; i++) out->of[i] = ordered[out->of[i]];
    return RGM_OK;
}

rgm_status rgm_memory_places_init(rgm_memory_places *found, const rgm_run *run, const uint32_t *events,
                                  size_t n_events, rgm_error *err) {
    const rgm_blocks *blocks = &run->blocks;
    const rgm_segments *segments = &run->segments;
    size_t n = n_events + blocks->rows + segments->rows;
    RGM_RELEASED(owners_release) owners all = {0};
    search s = {.owners = &all};
    rgm_status status;
    *found = (rgm_memory_places){0};
    RGM_GOTO(find_owners(&all, run, err));
    bool several = are_several(&all, run);
    s.number = rgm_calloc((several ? all.count : 1) * ORDINALS, sizeof *s.number);
    found->of = rgm_block_realloc(NULL, (n + 1) * sizeof *found->of);
    RGM_GOTO(s.number && found->of ? RGM_OK : rgm_error_no_memory(err));
    uint32_t *of = found->of;
    for (size_t i = 0; i < n_events; i++) {
        uint32_t number = several ? owner_of_event(&all, run, events[i]) : 0;
        RGM_GOTO(add(&s, number, RGM_CELL(&run->memory, device, events[i], -1), of++, err));
    }
    for (size_t i = 0; i < blocks->rows; i++)
        RGM_GOTO(add(&s, several ? owner_of_block(&all, run, i) : 0, blocks->device[i], of++, err));
    for (size_t i = 0; i < segments->rows; i++)
        RGM_GOTO(add(&s, several ? owner_of_segment(&all, run, i) : 0, segments->device[i], of++, err));
    RGM_GOTO(order_places(&s, found, n, err));
done:
    rgm_free(s.number);
    rgm_free(s.found);
    if (status != RGM_OK) rgm_memory_places_release(found);
    return status;
}
