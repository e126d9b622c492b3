// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/suffix.h"

enum { LONGEST = 4096 }; // the work is at most the number of kernels times the length that is asked for

// An interval of `order` whose suffixes agree in their first `common` symbols.
typedef struct {
    uint32_t common, from, to;
    int32_t parent;
} node;

typedef struct {
    int32_t node;
    uint32_t length;
} candidate;

typedef struct {
    const rgm_view *view;
    rgm_sequence_list *list;
    uint32_t min_length, max_length;
    int64_t min_count;
    size_t top;
    uint32_t *text, *common, *changes; // changes: how often the symbol in front changed, in `order`
    int64_t *gaps, *durations;         // sums of those before each kernel
    node *nodes;
    size_t n_nodes;
    candidate *again; // periods of repeats that overlap themselves
    size_t n_again;
    rgm_sequence *sequences;
    size_t n_sequences;
    int64_t *places, *scratch;
} work;

static void release(work *w) {
    rgm_free(w->text);
    rgm_free(w->common);
    rgm_free(w->changes);
    rgm_free(w->gaps);
    rgm_free(w->durations);
    rgm_free(w->nodes);
    rgm_free(w->again);
    rgm_free(w->sequences);
    rgm_free(w->places);
    rgm_free(w->scratch);
}

// --- the text ---------------------------------------------------------------------------------------------

static bool is_kernel(const rgm_view *view, uint32_t row) {
    rgm_kind kind = rgm_view_kind(view, row);
    return (kind == RGM_KIND_KERNEL || kind == RGM_KIND_ACCELERATOR) &&
           rgm_view_activity(view, row) == RGM_ACTIVITY_COMPUTE;
}

static rgm_status allocate(work *w, rgm_error *err) {
    size_t room = w->view->n_work + w->view->n_lanes + 1; // one break after each lane
    rgm_sequence_list *list = w->list;
    list->kernels = rgm_malloc(room * sizeof *list->kernels);
    list->order = rgm_malloc(room * sizeof *list->order);
    list->gap = rgm_malloc(room * sizeof *list->gap);
    w->text = rgm_malloc(room * sizeof *w->text);
    w->common = rgm_malloc(room * sizeof *w->common);
    w->changes = rgm_malloc(room * sizeof *w->changes);
    w->gaps = rgm_malloc((room + 1) * sizeof *w->gaps);
    w->durations = rgm_malloc((room + 1) * sizeof *w->durations);
    w->nodes = rgm_malloc(room * sizeof *w->nodes);
    w->again = rgm_malloc(room * sizeof *w->again);
    w->sequences = rgm_malloc(2 * room * sizeof *w->sequences);
    w->places = rgm_malloc(room * sizeof *w->places);
    w->scratch = rgm_malloc(room * sizeof *w->scratch);
    bool ok = list->kernels && list->order && list->gap && w->text && w->common && w->changes && w->gaps &&
              w->durations && w->nodes && w->again && w->sequences && w->places && w->scratch;
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

static void put(work *w, uint32_t row, uint32_t symbol, int64_t gap) {
    size_t at = w->list->n_kernels++;
    w->list->kernels[at] = row;
    w->list->gap[at] = gap;
    w->text[at] = symbol;
}

// Breaks are symbols of their own, each different from all others, so that nothing repeats across them.
static void write_text(work *w) {
    const rgm_view *view = w->view;
    uint32_t breaks = (uint32_t)view->n_strings;
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        bool fresh = true;
        int64_t end = 0;
        if (view->lane_device[lane] < 0) continue;
        for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
            uint32_t row = view->lane_spans[i];
            if (!rgm_kind_is_work(rgm_view_kind(view, row))) continue;
            int64_t start = rgm_view_start(view, row), gap = 0;
            if (!fresh && start > end && __builtin_sub_overflow(start, end, &gap)) gap = INT64_MAX;
            if (fresh || rgm_view_end(view, row) > end) end = rgm_view_end(view, row);
            fresh = false;
            if (is_kernel(view, row))
                put(w, row, rgm_view_name(view, row), gap);
            else
                put(w, UINT32_MAX, breaks++, gap);
        }
        put(w, UINT32_MAX, breaks++, 0);
    }
    w->gaps[0] = w->durations[0] = 0;
    for (size_t i = 0; i < w->list->n_kernels; i++) {
        uint32_t row = w->list->kernels[i];
        int64_t duration = row == UINT32_MAX ? 0 : view->run->spans.duration_ns[row];
        w->gaps[i + 1] = rgm_add_bounded(w->gaps[i], w->list->gap[i]);
        w->durations[i + 1] = rgm_add_bounded(w->durations[i], duration);
    }
}

// --- repeats ----------------------------------------------------------------------------------------------

// Whether the suffixes at a and b are preceded by different symbols.
static bool preceded_differently(const work *w, uint32_t a, uint32_t b) {
    return a == 0 || b == 0 || w->text[a - 1] != w->text[b - 1];
}

// The tree of intervals, with a stack of those that are still open (linked through `parent`).
static void build_nodes(work *w) {
    size_t n = w->list->n_kernels;
    int32_t open = -1;
    w->changes[0] = 0;
    for (size_t i = 1; i <= n; i++) {
        uint32_t common = i < n ? w->common[i] : 0, from = (uint32_t)i - 1;
        int32_t last = -1;
        if (i < n)
            w->changes[i] =
                w->changes[i - 1] + preceded_differently(w, w->list->order[i - 1], w->list->order[i]);
        while (open >= 0 && w->nodes[open].common > common) {
            last = open;
            w->nodes[open].to = (uint32_t)i;
            from = w->nodes[open].from;
            open = w->nodes[open].parent;
            // The parent on the stack is the right one unless an interval between the two is opened below.
        }
        if (common == 0 || (open >= 0 && w->nodes[open].common == common)) continue;
        w->nodes[w->n_nodes] = (node){common, from, 0, open};
        open = (int32_t)w->n_nodes++;
        if (last >= 0) w->nodes[last].parent = open;
    }
}

static bool can_grow_left(const work *w, const node *n) {
    return w->changes[n->to - 1] == w->changes[n->from];
}

static void sort_places(work *w, const node *n) {
    for (uint32_t i = n->from; i < n->to; i++) w->places[i - n->from] = w->list->order[i];
    rgm_sort_i64(w->places, n->to - n->from, w->scratch);
}

// Smallest distance of two occurrences, which is a period of the pattern where it is below its length; and
// how many of them there are without overlaps.
static uint32_t closest(const work *w, const node *n, int64_t *apart) {
    int64_t distance = INT64_MAX, end = 0;
    *apart = 0;
    for (size_t i = 0; i < n->to - n->from; i++) {
        if (i && w->places[i] - w->places[i - 1] < distance) distance = w->places[i] - w->places[i - 1];
        if (w->places[i] < end) continue;
        end = w->places[i] + n->common;
        ++*apart;
    }
    return distance > UINT32_MAX ? UINT32_MAX : (uint32_t)distance;
}

static void measure(work *w, const node *n, uint32_t length) {
    rgm_sequence s = {.at = (uint32_t)w->places[0], .length = length, .from = n->from, .to = n->to};
    s.cut = length == w->max_length && n->common == w->max_length;
    int64_t end = 0;
    for (size_t i = 0; i < n->to - n->from; i++) {
        int64_t at = w->places[i];
        if (at < end) continue;
        end = at + length;
        s.count++;
        s.gap_ns = rgm_add_bounded(s.gap_ns, w->gaps[end] - w->gaps[at + 1]);
        s.kernel_ns = rgm_add_bounded(s.kernel_ns, w->durations[end] - w->durations[at]);
    }
    if (s.count >= w->min_count) w->sequences[w->n_sequences++] = s;
}

static void look_again(work *w, int32_t at, uint32_t length) {
    while (w->nodes[at].parent >= 0 && w->nodes[w->nodes[at].parent].common >= length)
        at = w->nodes[at].parent;
    w->again[w->n_again++] = (candidate){at, length};
}

static void examine(work *w, int32_t index) {
    const node *n = &w->nodes[index];
    if (n->common < w->min_length || n->to - n->from < w->min_count || can_grow_left(w, n)) return;
    sort_places(w, n);
    int64_t apart, all = n->to - n->from;
    uint32_t period = closest(w, n, &apart), length = n->common;
    bool periodic = period <= length / 2 || (period < length && 4 * apart <= 3 * all);
    if (periodic) length = (w->min_length + period - 1) / period * period;
    if (length >= n->common)
        measure(w, n, n->common);
    else
        look_again(w, index, length);
}

static int by_candidate(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->length < y->length ? -1 : x->length > y->length;
}

static void examine_all(work *w) {
    for (size_t i = 0; i < w->n_nodes; i++) examine(w, (int32_t)i);
    qsort(w->again, w->n_again, sizeof *w->again, by_candidate);
    for (size_t i = 0; i < w->n_again; i++) {
        if (i && by_candidate(&w->again[i], &w->again[i - 1]) == 0) continue;
        const node *n = &w->nodes[w->again[i].node];
        sort_places(w, n);
        measure(w, n, w->again[i].length);
    }
}

// --- choice -----------------------------------------------------------------------------------------------

static int most_gap_first(const void *a, const void *b) {
    const rgm_sequence *x = a, *y = b;
    if (x->gap_ns != y->gap_ns) return x->gap_ns > y->gap_ns ? -1 : 1;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool contains(const work *w, const rgm_sequence *longer, const rgm_sequence *shorter) {
    if (shorter->length > longer->length) return false;
    return memmem(w->text + longer->at, longer->length * sizeof *w->text, w->text + shorter->at,
                  shorter->length * sizeof *w->text) != NULL;
}

// A part of a pattern that occurs no more often says nothing new; the whole has at least its gaps, so it
// comes first.
static rgm_status choose(work *w, rgm_error *err) {
    rgm_sequence_list *list = w->list;
    qsort(w->sequences, w->n_sequences, sizeof *w->sequences, most_gap_first);
    size_t room = w->top < w->n_sequences ? w->top : w->n_sequences;
    list->found = rgm_malloc((room + 1) * sizeof *list->found);
    if (!list->found) return rgm_error_no_memory(err);
    for (size_t i = 0; i < w->n_sequences && list->count < room; i++) {
        bool fresh = true;
        for (size_t j = 0; j < list->count && fresh; j++)
            fresh = list->found[j].count != w->sequences[i].count ||
                    !contains(w, &list->found[j], &w->sequences[i]);
        if (fresh) list->found[list->count++] = w->sequences[i];
    }
    return RGM_OK;
}

static uint32_t bounded(double value, double low, double high) {
    return (uint32_t)(value >= low ? value <= high ? value : high : low);
}

rgm_status rgm_sequence_list_find(rgm_sequence_list *list, const rgm_view *view, const rgm_policy *policy,
                                  rgm_error *err) {
    work w = {.view = view, .list = list};
    rgm_status status;
    *list = (rgm_sequence_list){0};
    w.max_length = bounded(policy->sequences_max_length, 1, LONGEST);
    w.min_length = bounded(policy->sequences_min_length, 1, w.max_length);
    w.min_count = bounded(policy->sequences_min_count, 2, UINT32_MAX);
    w.top = bounded(policy->sequences_top, 0, 1 << 16);
    if (view->n_strings + view->n_work + view->n_lanes > UINT32_MAX / 2)
        return rgm_error_set(err, RGM_LIMIT, "%zu pieces of device work are too many", view->n_work);
    RGM_GOTO(allocate(&w, err));
    write_text(&w);
    RGM_GOTO(rgm_suffix_sort(w.text, list->n_kernels, w.max_length, list->order, w.common, err));
    if (list->n_kernels) {
        build_nodes(&w);
        examine_all(&w);
    }
    RGM_GOTO(choose(&w, err));
done:
    release(&w);
    if (status != RGM_OK) rgm_sequence_list_release(list);
    return status;
}

void rgm_sequence_list_release(rgm_sequence_list *list) {
    rgm_free(list->kernels);
    rgm_free(list->order);
    rgm_free(list->gap);
    rgm_free(list->found);
    *list = (rgm_sequence_list){0};
}
