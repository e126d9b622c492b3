// SPDX-License-Identifier: Apache-2.0
// Rows of a comparison: what belongs together is collected under one key, with sums on both sides.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "analysis/stats.h"
#include "base/hash.h"
#include "base/memory.h"

enum { BY_OPERATOR, BY_KERNEL, BY_SEQUENCE };

typedef struct {
    uint64_t key;                           // what is collected in one row
    int32_t baseline, current;              // rows of spans, -1 for none
    int64_t host[2], device[2], kernels[2]; // baseline, current
    uint8_t elsewhere; // the other side has the same kernel where it replaced, or was replaced
    uint8_t changed;   // the sequence or the name is another one
} item;

typedef struct {
    item *items;
    size_t count;
} collection;

static rgm_status new_items(collection *c, size_t most, rgm_error *err) {
    *c = (collection){rgm_malloc((most + 1) * sizeof *c->items), 0};
    return c->items ? RGM_OK : rgm_error_no_memory(err);
}

static void put_side(item *it, const rgm_forest *f, int32_t node, int side) {
    if (node < 0) return;
    it->host[side] = f->span[node] < 0 ? 0 : f->self_ns[node];
    it->device[side] = f->device_ns[node];
    it->kernels[side] = f->work_first[node + 1] - f->work_first[node];
}

// Roots have no figures of their own, except the one that carries the work without an operator.
static bool is_empty_root(const rgm_forest *f, int32_t node) {
    return node < 0 || (f->span[node] < 0 && f->work_first[node] == f->work_first[node + 1]);
}

static void collect_operators(const rgm_diff *diff, collection *c) {
    const rgm_forest *a = &diff->baseline, *b = &diff->current;
    for (size_t i = 0; i < diff->nodes.count; i++) {
        rgm_match m = diff->nodes.items[i];
        if (is_empty_root(a, m.baseline) && is_empty_root(b, m.current)) continue;
        item it = {.baseline = m.baseline < 0 ? -1 : a->span[m.baseline],
                   .current = m.current < 0 ? -1 : b->span[m.current]};
        it.key = m.current >= 0 ? b->weak[m.current] : a->weak[m.baseline];
        put_side(&it, a, m.baseline, 0);
        put_side(&it, b, m.current, 1);
        c->items[c->count++] = it;
    }
}

static void put_work(item *it, const rgm_forest *f, int32_t row, int side) {
    if (row < 0) return;
    it->device[side] = f->view->run->spans.duration_ns[row];
    it->kernels[side] = 1;
}

// Which kernels each side has at all: bit 0 the baseline, bit 1 the current run; by joint id of the name.
static uint8_t *sides_of_kernels(const rgm_diff *diff) {
    const rgm_forest *a = &diff->baseline, *b = &diff->current;
    uint8_t *sides = rgm_calloc((size_t)rgm_strings_count(&diff->names) + 1, 1);
    for (size_t i = 0; sides && i < diff->work.count; i++) {
        rgm_match m = diff->work.items[i];
        if (m.baseline >= 0) sides[a->full[rgm_view_name(a->view, (size_t)m.baseline)]] |= 1;
        if (m.current >= 0) sides[b->full[rgm_view_name(b->view, (size_t)m.current)]] |= 2;
    }
    return sides;
}

static rgm_status collect_work(const rgm_diff *diff, collection *c, rgm_error *err) {
    const rgm_forest *a = &diff->baseline, *b = &diff->current;
    uint8_t *sides = sides_of_kernels(diff);
    if (!sides) return rgm_error_no_memory(err);
    for (size_t i = 0; i < diff->work.count; i++) {
        rgm_match m = diff->work.items[i];
        uint32_t before = UINT32_MAX, after = UINT32_MAX; // every name has its key by now
        if (m.baseline >= 0) before = a->full[rgm_view_name(a->view, (size_t)m.baseline)];
        if (m.current >= 0) after = b->full[rgm_view_name(b->view, (size_t)m.current)];
        item it = {.baseline = m.baseline, .current = m.current};
        it.changed = m.baseline >= 0 && m.current >= 0 && before != after;
        // Added and removed calls of a kernel that is on both sides count in that kernel's row.
        it.key = it.changed ? (uint64_t)before << 32 | after : m.current >= 0 ? after : before;
        it.elsewhere = !it.changed && sides[it.key] == 3;
        put_work(&it, a, m.baseline, 0);
        put_work(&it, b, m.current, 1);
        c->items[c->count++] = it;
    }
    rgm_free(sides);
    return RGM_OK;
}

// --- sequences --------------------------------------------------------------------------------------------

typedef struct {
    uint64_t *hash; // [n_nodes] of the kernels below, in order of the tree
    int64_t *device, *kernels;
} below;

static void below_release(below *s) {
    rgm_free(s->hash);
    rgm_free(s->device);
    rgm_free(s->kernels);
}

// Sums and the sequence over a subtree. Children have higher numbers than their parents.
static rgm_status sum_below(const rgm_forest *f, below *s, rgm_error *err) {
    *s = (below){rgm_calloc(f->n_nodes + 1, 8), rgm_calloc(f->n_nodes + 1, 8), rgm_calloc(f->n_nodes + 1, 8)};
    if (!s->hash || !s->device || !s->kernels) return rgm_error_no_memory(err);
    for (size_t n = f->n_nodes; n-- > 0;) {
        s->device[n] = rgm_add_bounded(s->device[n], f->device_ns[n]);
        s->kernels[n] += f->work_first[n + 1] - f->work_first[n];
        for (uint32_t w = f->work_first[n + 1]; w-- > f->work_first[n];)
            s->hash[n] = rgm_hash_mix(s->hash[n], f->full[rgm_view_name(f->view, f->work[w])]);
        int32_t above = f->parent[n];
        if (above < 0 || !s->kernels[n]) continue;
        s->device[above] = rgm_add_bounded(s->device[above], s->device[n]);
        s->kernels[above] += s->kernels[n];
        s->hash[above] = rgm_hash_mix(s->hash[above], s->hash[n]);
    }
    return RGM_OK;
}

static bool is_operator(const rgm_forest *f, int32_t node) {
    return f->span[node] >= 0 && rgm_view_kind(f->view, (size_t)f->span[node]) == RGM_KIND_CPU_OP;
}

// An operator below no other operator; annotations around it do not count.
static bool is_outermost(const rgm_forest *f, int32_t node) {
    if (node < 0) return false;
    if (f->span[node] < 0) return f->work_first[node] < f->work_first[node + 1];
    if (!is_operator(f, node)) return false;
    while ((node = f->parent[node]) >= 0 && f->span[node] >= 0) {
        if (is_operator(f, node)) return false;
        if (rgm_view_kind(f->view, (size_t)f->span[node]) != RGM_KIND_ANNOTATION) break;
    }
    return true;
}

static void put_below(item *it, const rgm_forest *f, const below *s, int32_t node, int side) {
    if (node < 0) return;
    it->host[side] = f->span[node] < 0 ? 0 : f->view->run->spans.duration_ns[f->span[node]];
    it->device[side] = s->device[node];
    it->kernels[side] = s->kernels[node];
}

static rgm_status collect_sequences(const rgm_diff *diff, collection *c, rgm_error *err) {
    const rgm_forest *a = &diff->baseline, *b = &diff->current;
    RGM_RELEASED(below_release) below x = {0}, y = {0};
    RGM_TRY(sum_below(a, &x, err));
    RGM_TRY(sum_below(b, &y, err));
    for (size_t i = 0; i < diff->nodes.count; i++) {
        rgm_match m = diff->nodes.items[i];
        if (!is_outermost(m.current >= 0 ? b : a, m.current >= 0 ? m.current : m.baseline)) continue;
        uint64_t before = m.baseline < 0 ? 0 : x.hash[m.baseline],
                 after = m.current < 0 ? 0 : y.hash[m.current];
        if ((m.baseline < 0 || !x.kernels[m.baseline]) && (m.current < 0 || !y.kernels[m.current])) continue;
        item it = {.baseline = m.baseline < 0 ? -1 : a->span[m.baseline],
                   .current = m.current < 0 ? -1 : b->span[m.current]};
        it.changed = m.baseline >= 0 && m.current >= 0 && before != after;
        uint64_t name = m.current >= 0 ? b->weak[m.current] : a->weak[m.baseline];
        it.key = rgm_hash_mix(name, it.changed       ? rgm_hash_mix(before, after)
                                    : m.current >= 0 ? after
                                                     : before);
        put_below(&it, a, &x, m.baseline, 0);
        put_below(&it, b, &y, m.current, 1);
        c->items[c->count++] = it;
    }
    return RGM_OK;
}

// --- rows -------------------------------------------------------------------------------------------------

static int by_key(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->current != y->current) return (uint32_t)x->current < (uint32_t)y->current ? -1 : 1;
    return (uint32_t)x->baseline<(uint32_t)y->baseline ? -1 : (uint32_t)x->baseline>(uint32_t) y->baseline;
}

typedef struct {
    item sum;
    int64_t calls[2], matched, matched_ns[2];
    rgm_change change;
    const rgm_diff *diff;
} line;

static bool has_side(const item *it, int side, bool rootless) {
    return side ? it->current >= 0 || (rootless && it->kernels[1])
                : it->baseline >= 0 || (rootless && it->kernels[0]);
}

static void add_item(line *l, const item *it) {
    bool rootless = it->baseline < 0 && it->current < 0; // work without an operator
    for (int side = 0; side < 2; side++) {
        l->sum.host[side] = rgm_add_bounded(l->sum.host[side], it->host[side]);
        l->sum.device[side] = rgm_add_bounded(l->sum.device[side], it->device[side]);
        l->sum.kernels[side] += it->kernels[side];
        l->calls[side] += has_side(it, side, rootless);
    }
    if (l->sum.baseline < 0) l->sum.baseline = it->baseline;
    if (l->sum.current < 0) l->sum.current = it->current;
    l->sum.changed |= it->changed;
    l->sum.elsewhere |= it->elsewhere;
    if (!has_side(it, 0, rootless) || !has_side(it, 1, rootless)) return;
    l->matched++;
    for (int side = 0; side < 2; side++)
        l->matched_ns[side] =
            rgm_add_bounded(l->matched_ns[side], rgm_add_bounded(it->host[side], it->device[side]));
}

static rgm_change change_of(const line *l, const rgm_policy *policy) {
    if (l->sum.changed) return RGM_CHANGE_REPLACED;
    if (!l->calls[0] && l->sum.elsewhere) return RGM_CHANGE_MORE;
    if (!l->calls[1] && l->sum.elsewhere) return RGM_CHANGE_FEWER;
    if (!l->calls[0]) return RGM_CHANGE_ADDED;
    if (!l->calls[1]) return RGM_CHANGE_REMOVED;
    if (l->calls[0] != l->calls[1]) return l->calls[1] > l->calls[0] ? RGM_CHANGE_MORE : RGM_CHANGE_FEWER;
    double before = (double)l->sum.host[0] + (double)l->sum.device[0];
    double after = (double)l->sum.host[1] + (double)l->sum.device[1];
    if (fabs(after - before) <= policy->diff_least_ns ||
        fabs(after - before) <= policy->diff_least_share * before)
        return RGM_CHANGE_SAME;
    return after > before ? RGM_CHANGE_SLOWER : RGM_CHANGE_FASTER;
}

static int64_t difference(const line *l) {
    int64_t before = rgm_add_bounded(l->sum.host[0], l->sum.device[0]);
    int64_t after = rgm_add_bounded(l->sum.host[1], l->sum.device[1]);
    return after - before; // both are between 0 and INT64_MAX
}

static rgm_string name_of(const rgm_forest *f, int32_t row) {
    return rgm_view_text(f->view, row < 0 ? 0 : rgm_view_name(f->view, (size_t)row));
}

static int by_difference(const void *a, const void *b) {
    const line *x = a, *y = b;
    int64_t dx = difference(x), dy = difference(y);
    dx = dx < 0 ? -dx : dx;
    dy = dy < 0 ? -dy : dy;
    if (dx != dy) return dx > dy ? -1 : 1;
    int order = strcmp(name_of(&x->diff->current, x->sum.current).data,
                       name_of(&y->diff->current, y->sum.current).data);
    if (order) return order;
    order = strcmp(name_of(&x->diff->baseline, x->sum.baseline).data,
                   name_of(&y->diff->baseline, y->sum.baseline).data);
    if (order) return order;
    return x->sum.key < y->sum.key ? -1 : x->sum.key > y->sum.key;
}

static rgm_status make_lines(const rgm_diff *diff, const rgm_policy *policy, collection *c, line **lines,
                             size_t *count, rgm_error *err) {
    *count = 0;
    *lines = rgm_malloc((c->count + 1) * sizeof **lines);
    if (!*lines) return rgm_error_no_memory(err);
    if (c->count) qsort(c->items, c->count, sizeof *c->items, by_key);
    for (size_t i = 0; i < c->count; i++) {
        if (!i || c->items[i].key != c->items[i - 1].key)
            (*lines)[(*count)++] =
                (line){.sum = {.key = c->items[i].key, .baseline = -1, .current = -1}, .diff = diff};
        add_item(&(*lines)[*count - 1], &c->items[i]);
    }
    for (size_t i = 0; i < *count; i++) (*lines)[i].change = change_of(&(*lines)[i], policy);
    if (*count) qsort(*lines, *count, sizeof **lines, by_difference);
    return RGM_OK;
}

static void write_line(const line *l, rgm_trace_diff *out, size_t row) {
    const rgm_diff *diff = l->diff;
    int32_t before = l->sum.baseline, after = l->sum.current;
    out->name[row] = after < 0 ? 0 : rgm_view_name(diff->current.view, (size_t)after);
    out->baseline_name[row] = before < 0 ? 0 : rgm_view_name(diff->baseline.view, (size_t)before);
    out->change[row] = (rgm_u8)l->change;
    out->baseline_calls[row] = l->calls[0];
    out->calls[row] = l->calls[1];
    out->matched[row] = l->matched;
    out->baseline_host_ns[row] = l->sum.host[0];
    out->host_ns[row] = l->sum.host[1];
    out->baseline_device_ns[row] = l->sum.device[0];
    out->device_ns[row] = l->sum.device[1];
    out->baseline_kernels[row] = l->sum.kernels[0];
    out->kernels[row] = l->sum.kernels[1];
    out->difference_ns[row] = difference(l);
    out->baseline_matched_ns[row] = l->matched_ns[0];
    out->matched_ns[row] = l->matched_ns[1];
    out->baseline_span[row] = before;
    out->span[row] = after;
}

rgm_status rgm_trace_diff_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_trace_diff *out, rgm_error *err) {
    rgm_diff diff;
    collection c = {0};
    line *lines = NULL;
    size_t count;
    rgm_status status;
    RGM_TRY(rgm_diff_build(&diff, view, question, err));
    RGM_GOTO(new_items(&c, diff.nodes.count > diff.work.count ? diff.nodes.count : diff.work.count, err));
    if (question->group_by == BY_KERNEL)
        RGM_GOTO(collect_work(&diff, &c, err));
    else if (question->group_by == BY_SEQUENCE)
        RGM_GOTO(collect_sequences(&diff, &c, err));
    else
        collect_operators(&diff, &c);
    RGM_GOTO(make_lines(&diff, policy, &c, &lines, &count, err));
    RGM_GOTO(rgm_table_reserve(&rgm_trace_diff_desc, out, RGM_ALL_COLUMNS, count + 1, err));
    for (size_t i = 0; i < count; i++) write_line(&lines[i], out, i);
    out->rows = count;
done:
    rgm_free(lines);
    rgm_free(c.items);
    rgm_diff_release(&diff);
    return status;
}

// --- pairs ------------------------------------------------------------------------------------------------

static int32_t depth_of(const rgm_forest *f, int32_t node, const int32_t *depth) {
    int32_t above = f->parent[node];
    return above < 0 || f->span[above] < 0 ? 0 : depth[above] + 1;
}

// Every pair of spans that belong together, and with kernels (group_by 1) of device work.
rgm_status rgm_trace_diff_pairs_compute(const rgm_view *view, const rgm_policy *policy,
                                        const rgm_question *question, rgm_trace_diff_pairs *out,
                                        rgm_error *err) {
    (void)policy;
    RGM_RELEASED(rgm_diff_release) rgm_diff diff = {0};
    RGM_TRY(rgm_diff_build(&diff, view, question, err));
    bool kernels = question->group_by == BY_KERNEL;
    const rgm_matches *found = kernels ? &diff.work : &diff.nodes;
    RGM_TRY(rgm_table_reserve(&rgm_trace_diff_pairs_desc, out, RGM_ALL_COLUMNS, found->count + 1, err));
    RGM_FREED int32_t *depth = rgm_calloc(diff.baseline.n_nodes + 1, sizeof *depth);
    if (!depth) return rgm_error_no_memory(err);
    for (size_t i = 0; i < found->count; i++) {
        rgm_match m = found->items[i];
        if (m.baseline < 0 || m.current < 0) continue;
        if (!kernels) {
            if (diff.baseline.span[m.baseline] < 0) continue;
            depth[m.baseline] = depth_of(&diff.baseline, m.baseline, depth);
        }
        out->baseline_span[out->rows] = kernels ? m.baseline : diff.baseline.span[m.baseline];
        out->span[out->rows] = kernels ? m.current : diff.current.span[m.current];
        out->depth[out->rows++] = kernels ? -1 : depth[m.baseline];
    }
    return RGM_OK;
}
