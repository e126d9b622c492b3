// SPDX-License-Identifier: Apache-2.0
#include "io/export/stacks.h"

#include "base/hash.h"
#include "base/memory.h"
#include "io/export/span_rows.h"

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

typedef struct {
    int64_t end;
    int32_t node;
} level;

static rgm_status walk_track(rgm_folded *s, size_t track, level *levels, rgm_error *err) {
    const rgm_tracks *t = s->tracks;
    const rgm_run *run = t->run;
    size_t depth = 0;
    int32_t root;
    RGM_TRY(child(s, -1, t->tracks[track].lane, &root, err));
    for (uint32_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
        uint32_t row = t->spans[i];
        if (rgm_span_is_work(run, row) || rgm_span_kind(run, row) == RGM_KIND_WINDOW) continue;
        int64_t start = run->spans.start_ns[row], duration = run->spans.duration_ns[row];
        while (depth && levels[depth - 1].end <= start) depth--;
        int32_t parent = depth ? levels[depth - 1].node : root, node;
        RGM_TRY(child(s, parent, run->spans.name[row], &node, err));
        if (depth) add(&s->nodes[parent].host_ns, -duration);
        add(&s->nodes[node].host_ns, duration);
        s->nodes[node].host_count++;
        s->node_of[row] = node;
        levels[depth++] = (level){start + duration, node};
    }
    return RGM_OK;
}

static rgm_status walk_host(rgm_folded *s, rgm_error *err) {
    const rgm_tracks *t = s->tracks;
    uint32_t longest = 0;
    for (size_t k = 0; k < t->n_tracks; k++)
        if (t->track_first[k + 1] - t->track_first[k] > longest)
            longest = t->track_first[k + 1] - t->track_first[k];
    RGM_FREED level *levels = rgm_malloc((longest + (size_t)1) * sizeof *levels);
    if (!levels) return rgm_error_no_memory(err);
    for (size_t k = 0; k < t->n_tracks; k++) {
        if (!rgm_lane_is_host(t->run, t->tracks[k].lane)) continue;
        RGM_TRY(walk_track(s, k, levels, err));
    }
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
