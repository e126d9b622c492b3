// SPDX-License-Identifier: Apache-2.0
#include "io/export/nesting.h"

#include "base/list.h"
#include "base/memory.h"

// --- tournament trees -------------------------------------------------------------------------------------

static void raise_leaf(const rgm_nesting *n, int64_t *tree, size_t track, int64_t value) {
    size_t node = n->leaves + track;
    tree[node] = value;
    while (node >>= 1) tree[node] = tree[2 * node] > tree[2 * node + 1] ? tree[2 * node] : tree[2 * node + 1];
}

// A track that does not exist yet takes everything, so that the first fit may be the next new track.
static rgm_status grow(rgm_nesting *n, rgm_error *err) {
    size_t leaves = n->leaves ? 2 * n->leaves : 4;
    rgm_nesting_track *tracks = rgm_realloc(n->tracks, leaves * sizeof *tracks);
    if (!tracks) return rgm_error_no_memory(err);
    n->tracks = tracks;
    int64_t *trees = rgm_malloc(4 * leaves * sizeof *trees);
    if (!trees) return rgm_error_no_memory(err);
    int64_t *fresh[2] = {trees, trees + 2 * leaves}, *old[2] = {n->any, n->work};
    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; i < leaves; i++)
            fresh[t][leaves + i] = i < n->leaves ? old[t][n->leaves + i] : INT64_MAX;
        for (size_t node = leaves - 1; node; node--)
            fresh[t][node] =
                fresh[t][2 * node] > fresh[t][2 * node + 1] ? fresh[t][2 * node] : fresh[t][2 * node + 1];
    }
    for (size_t i = n->leaves; i < leaves; i++) n->tracks[i] = (rgm_nesting_track){0};
    rgm_free(n->any);
    n->any = fresh[0];
    n->work = fresh[1];
    n->leaves = leaves;
    return RGM_OK;
}

static size_t first_fit(const rgm_nesting *n, const int64_t *tree, int64_t end) {
    size_t node = 1;
    while (node < n->leaves) node = tree[2 * node] >= end ? 2 * node : 2 * node + 1;
    return node - n->leaves;
}

// What track `t` takes after its top has changed.
static void refresh(rgm_nesting *n, size_t t) {
    const rgm_nesting_track *track = &n->tracks[t];
    const rgm_nesting_level *top = track->count ? &track->levels[track->count - 1] : NULL;
    raise_leaf(n, n->any, t, top ? top->end : INT64_MAX);
    raise_leaf(n, n->work, t, !top ? INT64_MAX : top->work ? INT64_MIN : top->end);
}

// --- the heap of open spans -------------------------------------------------------------------------------

static rgm_status heap_push(rgm_nesting *n, int64_t end, uint32_t track, rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(n->heap, n->open, n->heap_capacity, 64, err));
    size_t at = n->open++;
    while (at && n->heap[(at - 1) / 2].end > end) {
        n->heap[at] = n->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    n->heap[at] = (rgm_nesting_open){end, track};
    return RGM_OK;
}

static uint32_t heap_pop(rgm_nesting *n) {
    uint32_t track = n->heap[0].track;
    rgm_nesting_open last = n->heap[--n->open];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n->open) break;
        if (child + 1 < n->open && n->heap[child + 1].end < n->heap[child].end) child++;
        if (n->heap[child].end >= last.end) break;
        n->heap[at] = n->heap[child];
        at = child;
    }
    n->heap[at] = last;
    return track;
}

// Spans of one track are nested, so the one that ends first is its top.
static void close_ended(rgm_nesting *n, int64_t start) {
    while (n->open && n->heap[0].end <= start) {
        uint32_t track = heap_pop(n);
        n->tracks[track].count--;
        refresh(n, track);
    }
}

// --- placing ----------------------------------------------------------------------------------------------

static rgm_status level_push(rgm_nesting_track *track, int64_t end, bool work, rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(track->levels, track->count, track->capacity, 4, err));
    bool inside = track->count && track->levels[track->count - 1].work;
    track->levels[track->count++] = (rgm_nesting_level){end, work || inside};
    return RGM_OK;
}

rgm_status rgm_nesting_place(rgm_nesting *n, int64_t start, int64_t end, bool work, uint32_t *track,
                             rgm_error *err) {
    close_ended(n, start);
    // One leaf is always unused, so that there is a fit.
    if (n->n_tracks >= n->leaves) RGM_TRY(grow(n, err));
    size_t found = first_fit(n, work ? n->work : n->any, end);
    RGM_TRY(level_push(&n->tracks[found], end, work, err));
    if (found >= n->n_tracks) n->n_tracks = found + 1;
    RGM_TRY(heap_push(n, end, (uint32_t)found, err));
    refresh(n, found);
    *track = (uint32_t)found;
    return RGM_OK;
}

void rgm_nesting_reset(rgm_nesting *n) {
    close_ended(n, INT64_MAX);
    n->n_tracks = 0;
}

void rgm_nesting_release(rgm_nesting *n) {
    for (size_t i = 0; i < n->leaves; i++) rgm_free(n->tracks[i].levels);
    rgm_free(n->tracks);
    rgm_free(n->any);
    rgm_free(n->heap);
    *n = (rgm_nesting){0};
}
