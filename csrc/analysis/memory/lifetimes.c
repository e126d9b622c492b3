// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory/lifetimes.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

void rgm_lifetimes_release(rgm_lifetimes *l) {
    rgm_block_free(l->events);
    rgm_block_free(l->blocks);
    rgm_block_free(l->live);
    rgm_block_free(l->reserved);
    rgm_memory_places_release(&l->places);
    rgm_free(l->devices);
    *l = (rgm_lifetimes){0};
}

// Columns that nobody has filled have no memory.
static uint8_t event_action(const rgm_memory *memory, uint32_t row) {
    return RGM_CELL(memory, action, row, 0);
}
static int64_t event_bytes(const rgm_memory *memory, uint32_t row) {
    int64_t bytes = RGM_CELL(memory, bytes, row, -1);
    return bytes > 0 ? bytes : 0;
}

static rgm_status room(void *pointer, size_t count, size_t size, rgm_error *err) {
    void *made = rgm_block_realloc(NULL, (count + 1) * size);
    if (!made) return rgm_error_no_memory(err);
    memcpy(pointer, &made, sizeof made);
    return RGM_OK;
}

// Rows of allocators by time; those of one time in the order of their table.
static rgm_status order_events(rgm_lifetimes *l, rgm_error *err) {
    const rgm_memory *memory = &l->run->memory;
    RGM_BLOCK_FREED uint32_t *order = NULL;
    RGM_TRY(room(&l->events, memory->rows, sizeof *l->events, err));
    RGM_TRY(room(&order, memory->rows, sizeof *order, err));
    if (memory->time_ns) RGM_TRY(rgm_sort_order_i64(memory->time_ns, memory->rows, order, err));
    for (size_t i = 0; memory->time_ns && i < memory->rows; i++)
        if (rgm_memory_is_of_allocator(event_action(memory, order[i]))) l->events[l->n_events++] = order[i];
    return l->n_events < INT32_MAX ? RGM_OK
                                   : rgm_error_set(err, RGM_LIMIT, "more than 2^31 events of memory");
}

static rgm_status find_devices(rgm_lifetimes *l, rgm_error *err) {
    size_t held = l->n_events + l->run->blocks.rows;
    RGM_TRY(rgm_memory_places_init(&l->places, l->run, l->events, l->n_events, err));
    l->devices = rgm_calloc(l->places.count + 1, sizeof *l->devices);
    if (!l->devices) return rgm_error_no_memory(err);
    for (size_t i = 0; i < l->places.count; i++) l->devices[i].place = l->places.places[i];
    for (size_t i = 0; i < l->run->segments.rows; i++)
        rgm_lifetimes_device(l, held + i)->reserved_known = true;
    return RGM_OK;
}

// --- blocks -----------------------------------------------------------------------------------------------

// What happened at an address: events, and after them what was held there at the end.
typedef struct {
    rgm_lifetimes *lifetimes;
    uint32_t *items; // positions of events; n_events + row for blocks that were held
    size_t n_items;
} happenings;

static bool is_held(const rgm_blocks *blocks, size_t row) {
    return blocks->state[row] == RGM_BLOCK_ALLOCATED || blocks->state[row] == RGM_BLOCK_PENDING_FREE;
}

static int64_t held_bytes(const rgm_blocks *blocks, size_t row) {
    return blocks->requested[row] > 0 ? blocks->requested[row] : 0;
}

static int64_t address_of(const happenings *h, uint32_t item) {
    const rgm_lifetimes *l = h->lifetimes;
    return item < l->n_events ? RGM_CELL(&l->run->memory, address, l->events[item], 0)
                              : l->run->blocks.address[item - l->n_events];
}

static rgm_status sort_items(happenings *h, int64_t (*key)(const happenings *h, uint32_t item),
                             rgm_error *err) {
    RGM_BLOCK_FREED int64_t *keys = NULL;
    RGM_BLOCK_FREED uint32_t *order = NULL;
    RGM_TRY(room(&keys, h->n_items, sizeof *keys, err));
    RGM_TRY(room(&order, h->n_items, sizeof *order, err));
    for (size_t i = 0; i < h->n_items; i++) keys[i] = key(h, h->items[i]);
    if (h->n_items) RGM_TRY(rgm_sort_order_i64(keys, h->n_items, order, err));
    for (size_t i = 0; i < h->n_items; i++) order[i] = h->items[order[i]];
    rgm_block_free(h->items);
    h->items = order;
    order = NULL;
    return RGM_OK;
}

static int64_t place_of(const happenings *h, uint32_t item) { return h->lifetimes->places.of[item]; }

static rgm_status collect(happenings *h, rgm_error *err) {
    const rgm_lifetimes *l = h->lifetimes;
    const rgm_run *run = l->run;
    if (l->n_events + run->blocks.rows >= UINT32_MAX)
        return rgm_error_set(err, RGM_LIMIT, "more than 2^32 events and blocks");
    RGM_TRY(room(&h->items, l->n_events + run->blocks.rows, sizeof *h->items, err));
    for (size_t i = 0; i < l->n_events; i++) {
        uint8_t action = event_action(&run->memory, l->events[i]);
        if (action == RGM_ACTION_ALLOC || action == RGM_ACTION_FREE) h->items[h->n_items++] = (uint32_t)i;
    }
    for (size_t i = 0; i < run->blocks.rows; i++)
        if (is_held(&run->blocks, i)) h->items[h->n_items++] = (uint32_t)(l->n_events + i);
    RGM_TRY(sort_items(h, address_of, err));
    return sort_items(h, place_of, err);
}

static void add_block(rgm_lifetimes *l, rgm_lifetime block) { l->blocks[l->n_blocks++] = block; }

static rgm_lifetime block_of_event(const rgm_lifetimes *l, uint32_t position, int32_t begin, int32_t end) {
    const rgm_memory *memory = &l->run->memory;
    uint32_t row = l->events[position];
    return (rgm_lifetime){.bytes = event_bytes(memory, row),
                          .begin = begin,
                          .end = end,
                          .stack = begin >= 0 ? RGM_CELL(memory, stack, row, -1) : -1,
                          .category = RGM_CELL(memory, category, row, 0),
                          .place = l->places.of[position],
                          .span = begin >= 0 ? RGM_CELL(memory, span, row, -1) : -1};
}

// Events that name no address are changes of what lives: nothing tells which block a free is of.
static void change_without_address(rgm_lifetimes *l, uint32_t item) {
    const int32_t never = (int32_t)l->n_events;
    rgm_lifetime block = block_of_event(l, item, (int32_t)item, never);
    if (event_action(&l->run->memory, l->events[item]) == RGM_ACTION_FREE) block.bytes = -block.bytes;
    add_block(l, block);
}

// One address of one device, its items in order.
static void live_at_address(const happenings *h, size_t first, size_t end) {
    rgm_lifetimes *l = h->lifetimes;
    const rgm_run *run = l->run;
    int64_t open = -1;
    const int32_t never = (int32_t)l->n_events;
    for (size_t i = first; i < end; i++) {
        uint32_t item = h->items[i];
        if (item < l->n_events && address_of(h, item) == 0) {
            change_without_address(l, item);
        } else if (item >= l->n_events) {
            size_t row = item - l->n_events;
            rgm_lifetime block = {
                held_bytes(&run->blocks, row), -1, never, run->blocks.stack[row], 0, l->places.of[item], -1};
            if (open >= 0) block = block_of_event(l, (uint32_t)open, (int32_t)open, never);
            if (open >= 0 && block.stack < 0) block.stack = run->blocks.stack[row];
            add_block(l, block);
            open = -1;
        } else if (event_action(&run->memory, l->events[item]) == RGM_ACTION_ALLOC) {
            // Asked for twice without a free between: the history lacks the free.
            if (open >= 0) add_block(l, block_of_event(l, (uint32_t)open, (int32_t)open, (int32_t)item));
            open = item;
        } else if (open >= 0) {
            add_block(l, block_of_event(l, (uint32_t)open, (int32_t)open, (int32_t)item));
            open = -1;
        } else {
            add_block(l, block_of_event(l, item, -1, (int32_t)item));
        }
    }
    if (open < 0) return;
    // Not freed, and not among the blocks that the device holds: it went without an event, at the very end.
    bool held = !rgm_lifetimes_device(l, (size_t)open)->reserved_known;
    add_block(l, block_of_event(l, (uint32_t)open, (int32_t)open, held ? never : never - 1));
}

static rgm_status find_blocks(rgm_lifetimes *l, rgm_error *err) {
    happenings h = {.lifetimes = l};
    rgm_status status;
    RGM_GOTO(collect(&h, err));
    RGM_GOTO(room(&l->blocks, h.n_items + l->places.count, sizeof *l->blocks, err));
    for (size_t first = 0, end; first < h.n_items; first = end) {
        for (end = first + 1; end < h.n_items; end++)
            if (address_of(&h, h.items[end]) != address_of(&h, h.items[first]) ||
                place_of(&h, h.items[end]) != place_of(&h, h.items[first]))
                break;
        live_at_address(&h, first, end);
    }
done:
    rgm_block_free(h.items);
    return status;
}

// --- levels -----------------------------------------------------------------------------------------------

static int64_t change_of_reserved(const rgm_memory *memory, uint32_t row) {
    switch (event_action(memory, row)) {
    case RGM_ACTION_SEGMENT_ALLOC:
    case RGM_ACTION_SEGMENT_MAP: return event_bytes(memory, row);
    case RGM_ACTION_SEGMENT_FREE:
    case RGM_ACTION_SEGMENT_UNMAP: return -event_bytes(memory, row);
    default: return 0;
    }
}

// A total that the allocator stated with an event, -1 when it did not. Of a pool of CUDA it is that pool's
// alone.
static int64_t stated_allocated(const rgm_memory *memory, uint32_t row) {
    return RGM_CELL(memory, pool, row, 0) ? -1 : RGM_CELL(memory, allocated, row, -1);
}
// Torch states 0 for the host, whose allocator reserves nothing.
static int64_t stated_reserved(const rgm_memory *memory, uint32_t row) {
    int64_t reserved = RGM_CELL(memory, pool, row, 0) ? -1 : RGM_CELL(memory, reserved, row, -1);
    return reserved > 0 ? reserved : -1;
}

// What lived before the events and was neither freed nor listed is told by the first total that an event
// states: a block of its own, which nobody is known to have asked for.
static void find_rest(rgm_lifetimes *l, rgm_memory_device *now) {
    const rgm_memory *memory = &l->run->memory;
    for (size_t i = 0; i < l->n_events; i++) {
        int64_t stated = stated_allocated(memory, l->events[i]);
        rgm_memory_device *device = rgm_lifetimes_device(l, i), *level = &now[l->places.of[i]];
        level->live_before = rgm_bytes_sum(level->live_before, l->live[i]);
        if (stated < 0 || level->rest_known) continue;
        level->rest_known = true;
        int64_t rest = rgm_bytes_sum(stated, -rgm_bytes_sum(device->live_before, level->live_before));
        if (rest <= 0) continue;
        device->live_before = rgm_bytes_sum(device->live_before, rest);
        add_block(l, (rgm_lifetime){rest, -1, (int32_t)l->n_events, -1, 0, l->places.of[i], -1});
    }
}

static rgm_status find_levels(rgm_lifetimes *l, rgm_error *err) {
    const rgm_run *run = l->run;
    RGM_TRY(room(&l->live, l->n_events, sizeof *l->live, err));
    RGM_TRY(room(&l->reserved, l->n_events, sizeof *l->reserved, err));
    memset(l->live, 0, l->n_events * sizeof *l->live);
    for (size_t i = 0; i < l->n_blocks; i++) {
        const rgm_lifetime *block = &l->blocks[i];
        rgm_memory_device *device = &l->devices[block->place];
        int64_t *begin = block->begin < 0 ? &device->live_before : &l->live[block->begin];
        *begin = rgm_bytes_sum(*begin, block->bytes);
        if ((size_t)block->end < l->n_events)
            l->live[block->end] = rgm_bytes_sum(l->live[block->end], -block->bytes);
    }
    for (size_t i = 0; i < run->segments.rows; i++) {
        rgm_memory_device *device = rgm_lifetimes_device(l, l->n_events + run->blocks.rows + i);
        device->reserved_before =
            rgm_bytes_sum(device->reserved_before, run->segments.bytes[i] > 0 ? run->segments.bytes[i] : 0);
    }
    for (size_t i = 0; i < l->n_events; i++) {
        rgm_memory_device *device = rgm_lifetimes_device(l, i);
        device->reserved_before =
            rgm_bytes_sum(device->reserved_before, -change_of_reserved(&run->memory, l->events[i]));
    }
    return RGM_OK;
}

// Changes become levels; `now` has a row a device.
static void add_up(rgm_lifetimes *l, rgm_memory_device *now) {
    for (size_t d = 0; d < l->places.count; d++) {
        l->devices[d].peak = l->devices[d].live_before;
        l->devices[d].peak_at = -1;
        now[d] = l->devices[d];
    }
    for (size_t i = 0; i < l->n_events; i++) {
        rgm_memory_device *device = rgm_lifetimes_device(l, i), *level = &now[l->places.of[i]];
        level->live_before = rgm_bytes_sum(level->live_before, l->live[i]);
        level->reserved_before =
            rgm_bytes_sum(level->reserved_before, change_of_reserved(&l->run->memory, l->events[i]));
        l->live[i] = level->live_before;
        l->reserved[i] =
            device->reserved_known ? level->reserved_before : stated_reserved(&l->run->memory, l->events[i]);
        if (l->live[i] <= device->peak) continue;
        device->peak = l->live[i];
        device->peak_at = (int32_t)i;
    }
}

rgm_status rgm_lifetimes_init(rgm_lifetimes *l, const rgm_run *run, rgm_error *err) {
    rgm_memory_device *now = NULL;
    rgm_status status;
    *l = (rgm_lifetimes){.run = run};
    RGM_GOTO(order_events(l, err));
    RGM_GOTO(find_devices(l, err));
    RGM_GOTO(find_blocks(l, err));
    RGM_GOTO(find_levels(l, err));
    now = rgm_calloc(l->places.count + 1, sizeof *now);
    RGM_GOTO(now ? RGM_OK : rgm_error_no_memory(err));
    find_rest(l, now);
    add_up(l, now);
done:
    rgm_free(now);
    if (status != RGM_OK) rgm_lifetimes_release(l);
    return status;
}
