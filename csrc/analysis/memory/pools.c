// SPDX-License-Identifier: Apache-2.0
// What an allocator had reserved at the end of a recording, and how much of it was of use.
#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/memory/lifetimes.h"
#include "analysis/memory/places.h"
#include "analysis/order.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

// Values of group_by.
enum { BY_DEVICE, BY_POOL };

typedef struct {
    const rgm_run *run;
    rgm_memory_places places;
    const uint32_t *of_block, *of_segment; // [rows] places
    uint32_t *segments;                    // rows by place, then by address
    uint32_t *pool;                        // [segments] row of the result
    int64_t *free;                         // [segments] bytes of free blocks
    uint8_t *held;                         // [segments] a block of it is in use
} pooling;

static void pooling_release(pooling *p) {
    rgm_memory_places_release(&p->places);
    rgm_free(p->segments);
    rgm_free(p->pool);
    rgm_free(p->free);
    rgm_free(p->held);
}

static rgm_status order_segments(pooling *p, rgm_error *err) {
    const rgm_segments *segments = &p->run->segments;
    RGM_FREED uint32_t *by_address = NULL, *by_place = NULL;
    RGM_FREED int64_t *place = NULL;
    RGM_TRY(RGM_ROWS(by_address, segments->rows, err));
    RGM_TRY(RGM_ROWS(by_place, segments->rows, err));
    RGM_TRY(RGM_ROWS(place, segments->rows, err));
    RGM_TRY(RGM_ROWS(p->segments, segments->rows, err));
    RGM_TRY(rgm_sort_order_i64(segments->address, segments->rows, by_address, err));
    for (size_t i = 0; i < segments->rows; i++) place[i] = p->of_segment[by_address[i]];
    RGM_TRY(rgm_sort_order_i64(place, segments->rows, by_place, err));
    for (size_t i = 0; i < segments->rows; i++) p->segments[i] = by_address[by_place[i]];
    return RGM_OK;
}

static bool lies_before(const pooling *p, uint32_t row, uint32_t place, int64_t address) {
    return p->of_segment[row] != place ? p->of_segment[row] < place : p->run->segments.address[row] < address;
}

// Row of a segment; `rows` where there is none.
static size_t find_segment(const pooling *p, uint32_t place, int64_t address) {
    const rgm_segments *segments = &p->run->segments;
    rgm_search search = rgm_search_in(0, segments->rows);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, lies_before(p, p->segments[search.middle], place, address));
    if (search.low == segments->rows) return search.low;
    uint32_t row = p->segments[search.low];
    return p->of_segment[row] == place && segments->address[row] == address ? row : segments->rows;
}

// Pools are told apart by five numbers, which are gathered one after the other.
static rgm_status group_segments(const pooling *p, int32_t group_by, rgm_groups *groups, rgm_error *err) {
    const rgm_segments *segments = &p->run->segments;
    rgm_groups fields[4] = {{0}};
    uint64_t *keys = NULL;
    rgm_status status;
    RGM_GOTO(RGM_ROWS(keys, segments->rows, err));
    const int64_t *columns[3] = {segments->pool_graph, segments->pool_user, segments->stream};
    for (size_t f = 0; f < 3; f++)
        RGM_GOTO(rgm_groups_init(&fields[f], (const uint64_t *)columns[f], segments->rows, err));
    for (size_t i = 0; i < segments->rows; i++) keys[i] = (uint64_t)fields[0].of[i] << 32 | fields[1].of[i];
    RGM_GOTO(rgm_groups_init(&fields[3], keys, segments->rows, err));
    for (size_t i = 0; i < segments->rows; i++) keys[i] = (uint64_t)fields[3].of[i] << 32 | fields[2].of[i];
    rgm_groups_release(&fields[0]);
    RGM_GOTO(rgm_groups_init(&fields[0], keys, segments->rows, err));
    for (size_t i = 0; i < segments->rows; i++) {
        keys[i] = (uint64_t)p->of_segment[i] << 40;
        if (group_by == BY_POOL) keys[i] |= (uint64_t)fields[0].of[i] << 8 | segments->kind[i];
    }
    RGM_GOTO(rgm_groups_init(groups, keys, segments->rows, err));
done:
    for (size_t f = 0; f < 4; f++) rgm_groups_release(&fields[f]);
    rgm_free(keys);
    return status;
}

static int64_t positive(int64_t bytes) { return bytes > 0 ? bytes : 0; }

static void add(int64_t *to, int64_t bytes) { *to = rgm_bytes_sum(*to, positive(bytes)); }

static void add_block(const pooling *p, size_t block, rgm_pools *out) {
    const rgm_blocks *blocks = &p->run->blocks;
    size_t segment = find_segment(p, p->of_block[block], blocks->segment_address[block]);
    if (segment == p->run->segments.rows) return;
    size_t row = p->pool[segment];
    int64_t bytes = blocks->bytes[block];
    if (blocks->state[block] == RGM_BLOCK_INACTIVE) {
        add(&p->free[segment], bytes);
        out->free_blocks[row]++;
        if (bytes > out->largest_free[row]) out->largest_free[row] = bytes;
        return;
    }
    p->held[segment] = 1;
    add(&out->active[row], bytes);
    add(&out->requested[row], blocks->requested[block]);
    if (blocks->state[block] == RGM_BLOCK_PENDING_FREE) add(&out->pending[row], bytes);
}

static double part(int64_t of, int64_t whole) { return whole > 0 ? (double)of / (double)whole : NAN; }

static void finish(const pooling *p, const rgm_groups *groups, int32_t group_by, rgm_pools *out) {
    const rgm_segments *segments = &p->run->segments;
    for (size_t i = 0; i < segments->rows; i++) {
        size_t g = p->pool[i];
        out->segments[g]++;
        add(&out->reserved[g], segments->bytes[i]);
        add(p->held[i] ? &out->inactive_split[g] : &out->free_segments[g], p->free[i]);
    }
    for (size_t g = 0; g < out->rows; g++) {
        uint32_t first = groups->items[groups->first[g]];
        const rgm_memory_place *place = &p->places.places[p->of_segment[first]];
        out->device[g] = place->device;
        out->rank[g] = place->rank;
        out->process[g] = place->process;
        if (group_by == BY_POOL) {
            out->pool_graph[g] = segments->pool_graph[first];
            out->pool_user[g] = segments->pool_user[first];
            out->stream[g] = segments->stream[first];
            out->kind[g] = segments->kind[first];
        }
        out->idle_share[g] = part(out->reserved[g] - out->active[g], out->reserved[g]);
        out->rounding_share[g] = part(out->active[g] - out->requested[g], out->active[g]);
        out->split_share[g] = part(out->inactive_split[g], out->reserved[g]);
    }
}

static int compare(const void *table, const void *context, uint32_t x, uint32_t y) {
    const rgm_pools *t = table;
    (void)context;
    return (t->reserved[x] < t->reserved[y]) - (t->reserved[x] > t->reserved[y]);
}

rgm_status rgm_pools_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                             rgm_pools *out, rgm_error *err) {
    (void)policy;
    int32_t group_by = question->group_by == BY_POOL ? BY_POOL : BY_DEVICE;
    const rgm_segments *segments = &view->run->segments;
    RGM_RELEASED(pooling_release) pooling p = {.run = view->run};
    RGM_RELEASED(rgm_groups_release) rgm_groups groups = {0};
    RGM_TRY(rgm_table_rows(&rgm_pools_desc, out, 0, err));
    if (!segments->rows) return RGM_OK;
    RGM_TRY(rgm_memory_places_init(&p.places, view->run, NULL, 0, err));
    p.of_block = p.places.of;
    p.of_segment = p.places.of + view->run->blocks.rows;
    RGM_TRY(order_segments(&p, err));
    RGM_TRY(group_segments(&p, group_by, &groups, err));
    p.pool = groups.of;
    groups.of = NULL;
    p.free = rgm_calloc(segments->rows, sizeof *p.free);
    p.held = rgm_calloc(segments->rows, sizeof *p.held);
    RGM_TRY(p.free && p.held ? RGM_OK : rgm_error_no_memory(err));
    RGM_TRY(rgm_table_rows(&rgm_pools_desc, out, groups.count, err));
    for (size_t i = 0; i < view->run->blocks.rows; i++) add_block(&p, i, out);
    finish(&p, &groups, group_by, out);
    return rgm_order_rows(&rgm_pools_desc, out, compare, NULL, err);
}
