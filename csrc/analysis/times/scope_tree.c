// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/scope_tree.h"

#include "base/memory.h"

enum { UNKNOWN = -2 };

static bool is_scope(const rgm_view *view, size_t row) {
    rgm_kind kind = rgm_view_kind(view, row);
    return kind == RGM_KIND_SCOPE ||
           (kind == RGM_KIND_ANNOTATION && view->lane_device[rgm_view_lane(view, row)] < 0);
}

// Walks up to what is known, then back down. A parent chain that is a circle is damage and ends in none.
static void find_scope(rgm_scope_tree *s, uint32_t row, uint32_t *path) {
    size_t depth = 0;
    int32_t at = (int32_t)row, found = -1;
    while (at >= 0 && s->scope_of[at] == UNKNOWN) {
        path[depth++] = (uint32_t)at;
        s->scope_of[at] = -1;
        at = rgm_view_parent(s->view, (size_t)at);
        if (at >= 0 && (size_t)at >= s->view->n_spans) at = -1;
    }
    if (at >= 0) found = s->scope_of[at];
    while (depth-- > 0) {
        if (is_scope(s->view, path[depth])) found = (int32_t)path[depth];
        s->scope_of[path[depth]] = found;
    }
}

int32_t rgm_scope_tree_above(const rgm_scope_tree *s, uint32_t row) {
    int32_t parent = rgm_view_parent(s->view, row);
    return parent >= 0 && (size_t)parent < s->view->n_spans ? s->scope_of[parent] : -1;
}

static rgm_status number_scopes(rgm_scope_tree *s, rgm_error *err) {
    size_t n = s->view->n_spans;
    RGM_FREED uint32_t *child = rgm_malloc((n + 1) * sizeof *child);
    RGM_FREED uint32_t *sibling = rgm_malloc((n + 1) * sizeof *sibling);
    if (!child || !sibling) return rgm_error_no_memory(err);
    // Place n of `child` is the root; lists are made backwards, so that they come out in order of row.
    for (size_t i = 0; i <= n; i++) child[i] = sibling[i] = UINT32_MAX;
    for (size_t i = n; i-- > 0;) {
        if (s->scope_of[i] != (int32_t)i) continue;
        int32_t above = rgm_scope_tree_above(s, (uint32_t)i);
        size_t list = above < 0 || (size_t)above == i ? n : (size_t)above;
        sibling[i] = child[list];
        child[list] = (uint32_t)i;
    }
    for (uint32_t root = child[n]; root != UINT32_MAX; root = sibling[root])
        for (uint32_t at = root;;) {
            s->number[at] = (uint32_t)s->count;
            s->rows[s->count++] = at;
            if (child[at] != UINT32_MAX) {
                at = child[at];
                continue;
            }
            while (at != root && sibling[at] == UINT32_MAX) {
                s->after[s->number[at]] = (uint32_t)s->count;
                at = (uint32_t)rgm_scope_tree_above(s, at);
            }
            s->after[s->number[at]] = (uint32_t)s->count;
            if (at == root) break;
            at = sibling[at];
        }
    return RGM_OK;
}

// Counts first, then places.
rgm_status rgm_scope_tree_sort(const rgm_scope_tree *s, rgm_scope_pick pick, const void *arg,
                               uint32_t **first, uint32_t **items, rgm_error *err) {
    size_t n = s->view->n_spans;
    *first = rgm_calloc(s->count + 2, sizeof **first);
    *items = rgm_malloc((n + 1) * sizeof **items);
    if (!*first || !*items) return rgm_error_no_memory(err);
    uint32_t *place = *first + 1; // one ahead: when the rows are in, `first` holds the beginnings
    for (uint32_t row = 0; row < n; row++) {
        int32_t scope = pick(arg, row);
        if (scope >= 0 && s->number[scope] != UINT32_MAX) place[s->number[scope]]++;
    }
    uint32_t sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t here = place[i];
        place[i] = sum;
        sum += here;
    }
    for (uint32_t row = 0; row < n; row++) {
        int32_t scope = pick(arg, row);
        if (scope >= 0 && s->number[scope] != UINT32_MAX) (*items)[place[s->number[scope]]++] = row;
    }
    return RGM_OK;
}

void rgm_scope_tree_release(rgm_scope_tree *s) {
    rgm_free(s->scope_of);
    rgm_free(s->rows);
    rgm_free(s->number);
    rgm_free(s->after);
    *s = (rgm_scope_tree){0};
}

rgm_status rgm_scope_tree_init(rgm_scope_tree *s, const rgm_view *view, rgm_error *err) {
    size_t n = view->n_spans;
    *s = (rgm_scope_tree){.view = view};
    s->scope_of = rgm_malloc((n + 1) * sizeof *s->scope_of);
    s->rows = rgm_malloc((n + 1) * sizeof *s->rows);
    s->number = rgm_malloc((n + 1) * sizeof *s->number);
    s->after = rgm_malloc((n + 1) * sizeof *s->after);
    if (!s->scope_of || !s->rows || !s->number || !s->after) return rgm_error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        s->scope_of[i] = UNKNOWN;
        s->number[i] = UINT32_MAX; // also of scopes that are their own parents, which is damage
    }
    for (uint32_t i = 0; i < n; i++) find_scope(s, i, s->rows); // rows are not in use yet
    return number_scopes(s, err);
}
