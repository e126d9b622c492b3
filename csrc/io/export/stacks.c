// SPDX-License-Identifier: Apache-2.0
#include "io/export/stacks.h"

#include "base/hash.h"
#include "base/memory.h"
#include "io/export/span_rows.h"
#include "model/lane_order.h"
#include "model/self_time.h"

bool rgm_lane_is_host(const rgm_run *run, uint32_t lane) { return RGM_LANE_CELL(run, device, lane, -1) < 0; }

static uint64_t key_of(int32_t parent, uint32_t frame) { return (uint64_t)(uint32_t)parent << 32 | frame; }

static void insert(rgm_folded *s, uint32_t node) {
    size_t slot = rgm_hash_u64(key_of(s->nodes[node].parent, s->nodes[node].frame)) & (s->n_slots - 1);
    while (s->slots[slot]) slot = (slot + 1) & (s->n_slots - 1);
    s->slots[slot] = node + 1;
}

static rgm_status grow(rgm_folded *s, rgm_error *err) {
    size_t capacity = s->capacity ? 2 * s->capacity : 256;
    rgm_stack_node *nodes = rgm_realloc(s->nodes, capacity * sizeof *nodes);
    if (!nodes) return rgm_error_no_memory(err);
    s->nodes = nodes;
    uint32_t *slots = rgm_calloc(2 * capacity, sizeof *slots);
    if (!slots) return rgm_error_no_memory(err);
    rgm_free(s->slots);
    s->slots = slots;
    s->n_slots = 2 * capacity;
    s->capacity = capacity;
    for (size_t i = 0; i < s->count; i++) insert(s, (uint32_t)i);
    return RGM_OK;
}

static rgm_status child(rgm_folded *s, int32_t parent, uint32_t frame, int32_t *node, rgm_error *err) {
    if (s->count == s->capacity) RGM_TRY(grow(s, err));
    uint32_t depth = parent < 0 ? 0 : s->nodes[parent].depth + 1;
    *node = parent;
    if (depth > RGM_STACK_DEPTH) return RGM_OK;
    size_t slot = rgm_hash_u64(key_of(parent, frame)) & (s->n_slots - 1);
    for (; s->slots[slot]; slot = (slot + 1) & (s->n_slots - 1)) {
        *node = (int32_t)s->slots[slot] - 1;
        if (s->nodes[*node].parent == parent && s->nodes[*node].frame == frame) return RGM_OK;
    }
    *node = (int32_t)s->count++;
    s->nodes[*node] = (rgm_stack_node){.parent = parent, .frame = frame, .depth = depth};
    s->slots[slot] = (uint32_t)*node + 1;
    return RGM_OK;
}

// Sums of hostile durations wrap; real ones are far from that.
static void add(int64_t *sum, int64_t value) { *sum = (int64_t)((uint64_t)*sum + (uint64_t)value); }

static void take(void *context, uint32_t row, int64_t ns) {
    rgm_folded *s = context;
    add(&s->nodes[s->node_of[row]].host_ns, ns);
}

// Below the span that contains it, where that is on the same lane; else below the lane. What is no host time
// passes on what is above it.
static rgm_status add_span(rgm_folded *s, uint32_t row, int32_t root, rgm_error *err) {
    const rgm_run *run = s->tracks->run;
    int32_t parent = RGM_CELL(&run->spans, parent, row, -1);
    bool nested =
        parent >= 0 && (size_t)parent < run->spans.rows && s->node_of[parent] >= 0 &&
        RGM_CELL(&run->spans, lane, (size_t)parent, 0) == RGM_CELL(&run->spans, lane, (size_t)row, 0);
    int32_t above = nested ? s->node_of[parent] : root;
    s->node_of[row] = above;
    if (!rgm_kind_is_host_time(rgm_span_kind(run, row))) return RGM_OK;
    RGM_TRY(child(s, above, run->spans.name[row], &s->node_of[row], err));
    s->nodes[s->node_of[row]].host_count++;
    return RGM_OK;
}

static rgm_status walk_lane(rgm_folded *s, const rgm_lane_order *order, size_t lane, rgm_self_time *self,
                            rgm_error *err) {
    const rgm_run *run = s->tracks->run;
    int32_t root;
    RGM_TRY(child(s, -1, (uint32_t)lane, &root, err));
    for (uint32_t i = order->first[lane]; i < order->first[lane + 1]; i++) {
        uint32_t row = order->rows[i];
        if (rgm_span_is_work(run, row)) continue;
        RGM_TRY(add_span(s, row, root, err));
        if (rgm_kind_is_host_time(rgm_span_kind(run, row))) rgm_self_time_begin(self, row);
    }
    rgm_self_time_end(self);
    return RGM_OK;
}

static rgm_status walk_host(rgm_folded *s, rgm_error *err) {
    const rgm_run *run = s->tracks->run;
    RGM_RELEASED(rgm_lane_order_release) rgm_lane_order order = {0};
    size_t most = 0;
    RGM_TRY(rgm_lane_order_init(&order, run, err));
    RGM_FREED uint32_t *open = rgm_malloc((rgm_lane_order_largest(&order, &most) + 1) * sizeof *open);
    if (!open) return rgm_error_no_memory(err);
    rgm_self_time self = {.run = run, .open = open, .take = take, .context = s, .now = INT64_MIN};
    for (size_t lane = 0; lane < order.n_lanes; lane++)
        if (order.first[lane] < order.first[lane + 1] && rgm_lane_is_host(run, (uint32_t)lane))
            RGM_TRY(walk_lane(s, &order, lane, &self, err));
    return RGM_OK;
}

static rgm_status add_work(rgm_folded *s, const int32_t *launch, rgm_error *err) {
    const rgm_tracks *t = s->tracks;
    const rgm_run *run = t->run;
    for (size_t i = 0; i < t->n_spans; i++) {
        uint32_t row = t->spans[i];
        if (!rgm_span_is_work(run, row)) continue;
        int32_t parent = launch[row] >= 0 ? s->node_of[launch[row]] : -1, node;
        if (parent < 0) RGM_TRY(child(s, -1, RGM_CELL(&run->spans, lane, row, 0), &parent, err));
        RGM_TRY(child(s, parent, run->spans.name[row], &node, err));
        add(&s->nodes[node].device_ns, run->spans.duration_ns[row]);
        s->nodes[node].device_count++;
        s->node_of[row] = node;
    }
    return RGM_OK;
}

rgm_status rgm_stacks_init(rgm_folded *s, const rgm_tracks *tracks, rgm_error *err) {
    rgm_status status = RGM_OK;
    int32_t *launch = NULL;
    *s = (rgm_folded){.tracks = tracks};
    s->node_of = rgm_malloc((tracks->n_spans + 1) * sizeof *s->node_of);
    if (!s->node_of) return rgm_error_no_memory(err);
    for (size_t i = 0; i < tracks->n_spans; i++) s->node_of[i] = -1;
    RGM_GOTO(rgm_span_launches(tracks->run, &launch, err));
    RGM_GOTO(walk_host(s, err));
    status = add_work(s, launch, err);
done:
    rgm_free(launch);
    if (status != RGM_OK) rgm_stacks_release(s);
    return status;
}

void rgm_stacks_release(rgm_folded *s) {
    rgm_free(s->nodes);
    rgm_free(s->slots);
    rgm_free(s->node_of);
    *s = (rgm_folded){0};
}

size_t rgm_stack_root(const rgm_folded *s, const rgm_stack_node *node, char *text, size_t room) {
    const rgm_tracks *t = s->tracks;
    uint32_t track = t->lane_track[node->frame];
    size_t used = 0;
    if (t->n_processes > 1 && room > 2) {
        used = rgm_process_name(t, t->tracks[track].process, text, room / 2);
        text[used++] = ' ';
    }
    return used + rgm_track_name(t, track, text + used, room - used);
}
