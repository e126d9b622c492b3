// SPDX-License-Identifier: Apache-2.0
// The merged call tree. Host spans become a node per distinct stack; device work hangs below the call that
// launched it, so that its time is found under the host code that asked for it. Host time is self time
// (self_time.h): a lane's total is the union of its spans even where they overlap, and every total is the
// node's own time plus the totals below it.
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "model/self_time.h"

#define NONE UINT32_MAX

// Values of group_by.
enum { BY_THREAD, ALL_THREADS };

typedef struct {
    uint32_t parent, key; // key: name of a span, row of a lane
    uint8_t role, kind;
    int32_t depth;
    int64_t count, all, grouped; // all: the count and those below
    int64_t self_host, self_device, total_host, total_device;
    int64_t first;           // earliest start, of those below too
    uint32_t child, sibling; // first and next, NONE at the end
} node;

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    node *nodes;
    size_t count, capacity;
    uint32_t *slots; // open addressing over (parent, role, key); node + 1, 0 is free
    size_t mask;
    uint32_t *node_of; // [n_spans]
} tree;

static void tree_release(tree *t) {
    rgm_free(t->nodes);
    rgm_free(t->slots);
    rgm_free(t->node_of);
}

static uint64_t hash_of(uint32_t parent, uint8_t role, uint32_t key) {
    return rgm_hash_mix((uint64_t)parent << 8 | role, rgm_hash_u64(key));
}

static rgm_status rehash(tree *t, rgm_error *err) {
    size_t size = t->mask ? (t->mask + 1) * 2 : 1024;
    uint32_t *slots = rgm_calloc(size, sizeof *slots);
    if (!slots) return rgm_error_no_memory(err);
    for (size_t n = 0; n < t->count; n++) {
        const node *it = &t->nodes[n];
        size_t at = hash_of(it->parent, it->role, it->key) & (size - 1);
        while (slots[at]) at = (at + 1) & (size - 1);
        slots[at] = (uint32_t)n + 1;
    }
    rgm_free(t->slots);
    t->slots = slots;
    t->mask = size - 1;
    return RGM_OK;
}

static rgm_status append(tree *t, uint32_t parent, uint8_t role, uint32_t key, uint8_t kind, uint32_t *found,
                         rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(t->nodes, t->count, t->capacity, 512, err));
    int32_t depth = parent == NONE ? 0 : t->nodes[parent].depth + 1;
    *found = (uint32_t)t->count++;
    t->nodes[*found] = (node){.parent = parent,
                              .key = key,
                              .role = role,
                              .kind = kind,
                              .depth = depth,
                              .first = INT64_MAX,
                              .child = NONE,
                              .sibling = NONE};
    return RGM_OK;
}

// The child of that name, made when it is new.
static rgm_status child_of(tree *t, uint32_t parent, uint8_t role, uint32_t key, rgm_kind kind,
                           uint32_t *found, rgm_error *err) {
    if (!t->slots || (t->count + 1) * 2 > t->mask) RGM_TRY(rehash(t, err));
    size_t at = hash_of(parent, role, key) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask) {
        const node *it = &t->nodes[t->slots[at] - 1];
        if (it->parent != parent || it->role != role || it->key != key) continue;
        *found = t->slots[at] - 1;
        return RGM_OK;
    }
    RGM_TRY(append(t, parent, role, key, (uint8_t)kind, found, err));
    t->slots[at] = *found + 1;
    return RGM_OK;
}

static void begin(node *it, int64_t start) {
    if (start < it->first) it->first = start;
}

// The child for a span, or the one node that takes everything below the greatest depth.
static rgm_status enter(tree *t, uint32_t parent, uint32_t row, uint32_t *found, rgm_error *err) {
    const node *above = &t->nodes[parent];
    bool again = t->policy->flame_collapse > 0 && above->role == RGM_FLAME_SPAN &&
                 above->key == rgm_view_name(t->view, row) && !rgm_kind_is_work(rgm_view_kind(t->view, row));
    if (above->role == RGM_FLAME_DEEPER || again)
        *found = parent;
    else if (above->depth >= t->policy->flame_max_depth)
        RGM_TRY(child_of(t, parent, RGM_FLAME_DEEPER, 0, rgm_view_kind(t->view, row), found, err));
    else
        RGM_TRY(child_of(t, parent, RGM_FLAME_SPAN, rgm_view_name(t->view, row), rgm_view_kind(t->view, row),
                         found, err));
    t->nodes[*found].count++;
    begin(&t->nodes[*found], rgm_view_start(t->view, row));
    return RGM_OK;
}

// --- host -------------------------------------------------------------------------------------------------

static bool is_host_lane(const rgm_view *view, size_t lane) {
    return view->lane_device[lane] < 0 && RGM_CELL(&view->run->lanes, device, lane, -1) < 0;
}

static rgm_status add_span(tree *t, uint32_t row, uint32_t bottom, rgm_error *err) {
    int32_t parent = rgm_view_parent(t->view, row);
    bool nested = parent >= 0 && (size_t)parent < t->view->n_spans && t->node_of[parent] != NONE &&
                  rgm_view_lane(t->view, (size_t)parent) == rgm_view_lane(t->view, row);
    uint32_t above = nested ? t->node_of[parent] : bottom;
    t->node_of[row] = above; // what is no part of a stack passes its children on
    return rgm_kind_is_host_time(rgm_view_kind(t->view, row)) ? enter(t, above, row, &t->node_of[row], err)
                                                              : RGM_OK;
}

static void take(void *context, uint32_t row, int64_t ns) {
    tree *t = context;
    node *own = &t->nodes[t->node_of[row]];
    own->self_host = rgm_add_bounded(own->self_host, ns);
}

static rgm_status add_lane(tree *t, size_t lane, uint32_t bottom, rgm_self_time *self, rgm_error *err) {
    for (uint32_t i = t->view->lane_first[lane]; i < t->view->lane_first[lane + 1]; i++) {
        uint32_t row = t->view->lane_spans[i];
        RGM_TRY(add_span(t, row, bottom, err));
        if (rgm_kind_is_host_time(rgm_view_kind(t->view, row))) rgm_self_time_begin(self, row);
    }
    rgm_self_time_end(self);
    return RGM_OK;
}

static rgm_status add_host(tree *t, int32_t group_by, rgm_error *err) {
    RGM_FREED uint32_t *open = rgm_malloc((t->view->n_spans + 1) * sizeof *open);
    if (!open) return rgm_error_no_memory(err);
    rgm_self_time self = {.run = t->view->run, .open = open, .take = take, .context = t, .now = INT64_MIN};
    for (size_t lane = 0; lane < t->view->n_lanes; lane++) {
        uint32_t bottom = 0;
        if (!is_host_lane(t->view, lane) || t->view->lane_first[lane] == t->view->lane_first[lane + 1])
            continue;
        if (group_by == BY_THREAD)
            RGM_TRY(child_of(t, 0, RGM_FLAME_LANE, (uint32_t)lane, RGM_KIND_OTHER, &bottom, err));
        begin(&t->nodes[bottom], rgm_view_start(t->view, t->view->lane_spans[t->view->lane_first[lane]]));
        RGM_TRY(add_lane(t, lane, bottom, &self, err));
    }
    return RGM_OK;
}

// --- device -----------------------------------------------------------------------------------------------

static rgm_status add_device(tree *t, rgm_error *err) {
    const rgm_view *view = t->view;
    for (size_t w = 0; w < view->n_work; w++) {
        uint32_t row = view->work[w], above = NONE, own;
        int32_t launch = view->launch[row], op = view->op[row];
        if (launch >= 0) above = t->node_of[launch];
        if (above == NONE && op >= 0) above = t->node_of[op];
        if (above == NONE) RGM_TRY(child_of(t, 0, RGM_FLAME_UNLAUNCHED, 0, RGM_KIND_OTHER, &above, err));
        RGM_TRY(enter(t, above, row, &own, err));
        t->nodes[own].self_device =
            rgm_add_bounded(t->nodes[own].self_device, view->run->spans.duration_ns[row]);
    }
    return RGM_OK;
}

// --- totals and rows --------------------------------------------------------------------------------------

// A parent is made before its children, so one pass from the last node to the first is enough.
static void add_totals(tree *t) {
    for (size_t n = t->count; n-- > 0;) {
        node *it = &t->nodes[n];
        it->all += it->count;
        it->total_host = rgm_add_bounded(it->total_host, it->self_host);
        it->total_device = rgm_add_bounded(it->total_device, it->self_device);
        if (it->parent == NONE) continue;
        node *above = &t->nodes[it->parent];
        above->all += it->all;
        above->total_host = rgm_add_bounded(above->total_host, it->total_host);
        above->total_device = rgm_add_bounded(above->total_device, it->total_device);
        begin(above, it->first);
        it->sibling = above->child;
        above->child = (uint32_t)n;
    }
}

static bool is_small(const tree *t, const node *it) {
    if (it->role != RGM_FLAME_SPAN) return false;
    double least = t->policy->flame_min_duration_ns, share = t->policy->flame_small_share;
    if ((double)it->total_host < least && (double)it->total_device < least) return true;
    return rgm_kind_is_work((rgm_kind)it->kind) &&
           (double)it->total_device < share * (double)t->nodes[0].total_device;
}

typedef struct {
    int64_t host, device;
    rgm_string name;
    uint32_t node;
    bool last; // after all others
} ranked;

static int by_time(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->last != y->last) return x->last ? 1 : -1;
    if (x->host != y->host) return x->host > y->host ? -1 : 1;
    if (x->device != y->device) return x->device > y->device ? -1 : 1;
    size_t shorter = x->name.length < y->name.length ? x->name.length : y->name.length;
    int order = shorter ? memcmp(x->name.data, y->name.data, shorter) : 0;
    if (order) return order;
    if (x->name.length != y->name.length) return x->name.length < y->name.length ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static ranked rank_of(const tree *t, uint32_t n) {
    const node *it = &t->nodes[n];
    bool named = it->role == RGM_FLAME_SPAN;
    return (ranked){it->total_host, it->total_device, rgm_view_text(t->view, named ? it->key : 0), n,
                    it->role == RGM_FLAME_SMALL || it->role == RGM_FLAME_DEEPER ||
                        it->role == RGM_FLAME_UNLAUNCHED};
}

// Gathers the small children of a node, when there are several, in one new node. Times and counts of what
// is below them go with them.
static rgm_status gather_small(tree *t, uint32_t parent, uint32_t *small, rgm_error *err) {
    int64_t found = 0, host = 0, device = 0, count = 0, first = INT64_MAX;
    for (uint32_t c = t->nodes[parent].child; c != NONE; c = t->nodes[c].sibling) {
        if (!is_small(t, &t->nodes[c])) continue;
        found++;
        count += t->nodes[c].all;
        if (t->nodes[c].first < first) first = t->nodes[c].first;
        host = rgm_add_bounded(host, t->nodes[c].total_host);
        device = rgm_add_bounded(device, t->nodes[c].total_device);
    }
    *small = NONE;
    if (found < 2) return RGM_OK;
    RGM_TRY(append(t, parent, RGM_FLAME_SMALL, 0, RGM_KIND_OTHER, small, err));
    node *it = &t->nodes[*small];
    it->grouped = found;
    it->count = count;
    it->first = first;
    it->self_host = it->total_host = host;
    it->self_device = it->total_device = device;
    return RGM_OK;
}

static rgm_status emit(const tree *t, uint32_t n, int32_t parent, rgm_flame *out, size_t *row,
                       rgm_error *err) {
    const node *it = &t->nodes[n];
    RGM_TRY(rgm_table_append(&rgm_flame_desc, out, RGM_ALL_COLUMNS, row, err));
    bool lane = it->role == RGM_FLAME_LANE;
    const rgm_lanes *lanes = &t->view->run->lanes;
    if (it->role == RGM_FLAME_SPAN) out->name[*row] = it->key;
    if (lane && it->key < lanes->rows) out->name[*row] = RGM_CELL(lanes, name, it->key, 0);
    if (lane) out->lane[*row] = (rgm_i32)it->key;
    out->role[*row] = it->role;
    out->kind[*row] = it->kind;
    out->parent[*row] = parent;
    out->depth[*row] = it->depth;
    out->count[*row] = it->count;
    out->grouped[*row] = it->grouped;
    out->first_ns[*row] = it->first;
    out->total_host_ns[*row] = it->total_host;
    out->self_host_ns[*row] = it->self_host;
    out->total_device_ns[*row] = it->total_device;
    out->self_device_ns[*row] = it->self_device;
    return RGM_OK;
}

typedef struct {
    uint32_t node;
    int32_t parent; // row
} waiting;

// Puts the children of a node that is a row now on the stack, the one to come first on top.
static rgm_status push_children(tree *t, uint32_t parent, int32_t row, waiting *stack, size_t *depth,
                                ranked *scratch, rgm_error *err) {
    uint32_t small;
    size_t count = 0;
    RGM_TRY(gather_small(t, parent, &small, err));
    for (uint32_t c = t->nodes[parent].child; c != NONE; c = t->nodes[c].sibling)
        if (small == NONE || !is_small(t, &t->nodes[c])) scratch[count++] = rank_of(t, c);
    if (small != NONE) scratch[count++] = rank_of(t, small);
    if (count > 1) qsort(scratch, count, sizeof *scratch, by_time);
    while (count > 0) stack[(*depth)++] = (waiting){scratch[--count].node, row};
    return RGM_OK;
}

static rgm_status emit_all(tree *t, rgm_flame *out, rgm_error *err) {
    // A small node takes the place of two others, so neither array can run over.
    RGM_FREED waiting *stack = rgm_malloc((t->count + 1) * sizeof *stack);
    RGM_FREED ranked *scratch = rgm_malloc((t->count + 1) * sizeof *scratch);
    size_t depth = 0;
    if (!stack || !scratch) return rgm_error_no_memory(err);
    stack[depth++] = (waiting){0, -1};
    while (depth) {
        waiting next = stack[--depth];
        size_t row;
        RGM_TRY(emit(t, next.node, next.parent, out, &row, err));
        RGM_TRY(push_children(t, next.node, (int32_t)row, stack, &depth, scratch, err));
    }
    return RGM_OK;
}

// Rows in preorder; below one row by host time, then device time, the longest first, ties by name; gathered
// rows come last. group_by: 0 a tree for each thread, 1 all threads in one.
rgm_status rgm_flame_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                             rgm_flame *out, rgm_error *err) {
    if (!view->n_spans) return RGM_OK;
    RGM_RELEASED(tree_release) tree t = {.view = view, .policy = policy};
    uint32_t all;
    t.node_of = rgm_malloc(view->n_spans * sizeof *t.node_of);
    if (!t.node_of) return rgm_error_no_memory(err);
    memset(t.node_of, 0xFF, view->n_spans * sizeof *t.node_of);
    RGM_TRY(append(&t, NONE, RGM_FLAME_ALL, 0, RGM_KIND_OTHER, &all, err));
    RGM_TRY(add_host(&t, question->group_by, err));
    RGM_TRY(add_device(&t, err));
    add_totals(&t);
    return emit_all(&t, out, err);
}
