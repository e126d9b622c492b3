// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/sort.h"

static rgm_status add(rgm_matches *matches, int64_t baseline, int64_t current, rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(matches->items, matches->count, matches->capacity, 1024, err));
    matches->items[matches->count++] = (rgm_match){(int32_t)baseline, (int32_t)current};
    return RGM_OK;
}

// --- threads ----------------------------------------------------------------------------------------------

static size_t child_count(const rgm_forest *f, size_t node) {
    return f->child_first[node + 1] - f->child_first[node];
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

// Names of the outermost spans of each thread, sorted within it, in the places of their nodes.
static uint32_t *sorted_names(const rgm_forest *f) {
    uint32_t *names = rgm_malloc((f->n_nodes + 1) * sizeof *names);
    for (size_t i = 0; names && i < f->child_first[f->n_roots]; i++) names[i] = f->weak[f->children[i]];
    for (size_t r = 0; names && r + 1 < f->n_roots; r++)
        if (child_count(f, r) > 1)
            qsort(names + f->child_first[r], child_count(f, r), sizeof *names, by_value);
    return names;
}

static size_t in_common(const uint32_t *a, size_t n, const uint32_t *b, size_t m) {
    size_t common = 0;
    for (size_t i = 0, j = 0; i < n && j < m;) {
        common += a[i] == b[j];
        bool a_first = a[i] <= b[j], b_first = b[j] <= a[i];
        i += a_first;
        j += b_first;
    }
    return common;
}

typedef struct {
    size_t common, distance;
    uint32_t a, b;
} likeness;

static int most_alike(const void *a, const void *b) {
    const likeness *x = a, *y = b;
    if (x->common != y->common) return x->common > y->common ? -1 : 1;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

enum { MOST_THREADS = 64 }; // of each side that are compared with all of the other; further ones stay alone

static size_t busy_threads(const rgm_forest *f, uint32_t *threads) {
    size_t count = 0;
    for (size_t r = 0; r + 1 < f->n_roots && count < MOST_THREADS; r++)
        if (child_count(f, r)) threads[count++] = (uint32_t)r;
    return count;
}

static rgm_status take_pairs(rgm_diff *diff, const likeness *likes, size_t count, int32_t *partner,
                             bool *taken, rgm_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (!likes[i].common || partner[likes[i].a] >= 0 || taken[likes[i].b]) continue;
        partner[likes[i].a] = (int32_t)likes[i].b;
        taken[likes[i].b] = true;
    }
    for (size_t r = 0; r + 1 < diff->baseline.n_roots; r++)
        RGM_TRY(add(&diff->nodes, (int64_t)r, partner[r], err));
    for (size_t r = 0; r + 1 < diff->current.n_roots; r++)
        if (!taken[r]) RGM_TRY(add(&diff->nodes, -1, (int64_t)r, err));
    return add(&diff->nodes, (int64_t)diff->baseline.n_roots - 1, (int64_t)diff->current.n_roots - 1, err);
}

// Threads have other numbers in another run. Those go together that share most names of outermost spans; of
// equals the ones at similar places in the trace.
static rgm_status pair_threads(rgm_diff *diff, rgm_error *err) {
    const rgm_forest *a = &diff->baseline, *b = &diff->current;
    uint32_t left[MOST_THREADS], right[MOST_THREADS];
    size_t n = busy_threads(a, left), m = busy_threads(b, right), count = 0;
    RGM_FREED uint32_t *names_a = sorted_names(a), *names_b = sorted_names(b);
    RGM_FREED likeness *likes = rgm_malloc((n * m + 1) * sizeof *likes);
    RGM_FREED int32_t *partner = rgm_malloc(a->n_roots * sizeof *partner);
    RGM_FREED bool *taken = rgm_calloc(b->n_roots, sizeof *taken);
    if (!names_a || !names_b || !likes || !partner || !taken) return rgm_error_no_memory(err);
    for (size_t r = 0; r < a->n_roots; r++) partner[r] = -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            likes[count++] =
                (likeness){in_common(names_a + a->child_first[left[i]], child_count(a, left[i]),
                                     names_b + b->child_first[right[j]], child_count(b, right[j])),
                           i > j ? i - j : j - i, left[i], right[j]};
    qsort(likes, count, sizeof *likes, most_alike);
    return take_pairs(diff, likes, count, partner, taken, err);
}

// --- lists ------------------------------------------------------------------------------------------------

typedef struct {
    rgm_align_key *a, *b;
    int32_t *partner;
} scratch;

static rgm_status scratch_new(scratch *s, const rgm_diff *diff, rgm_error *err) {
    size_t n = diff->baseline.n_nodes + diff->baseline.view->n_work + 1;
    size_t m = diff->current.n_nodes + diff->current.view->n_work + 1;
    *s = (scratch){rgm_malloc(n * sizeof *s->a), rgm_malloc(m * sizeof *s->b),
                   rgm_malloc(n * sizeof *s->partner)};
    return s->a && s->b && s->partner ? RGM_OK : rgm_error_no_memory(err);
}

static void scratch_release(scratch *s) {
    rgm_free(s->a);
    rgm_free(s->b);
    rgm_free(s->partner);
}

static void child_keys(const rgm_forest *f, const uint32_t *children, size_t count, rgm_align_key *keys) {
    for (size_t i = 0; i < count; i++)
        keys[i] = (rgm_align_key){f->strong[children[i]], f->weak[children[i]]};
}

static rgm_status work_keys(rgm_forest *f, rgm_strings *names, const uint32_t *work, size_t count,
                            rgm_align_key *keys, rgm_error *err) {
    for (size_t i = 0; i < count; i++) {
        uint32_t full;
        RGM_TRY(rgm_forest_work_key(f, names, work[i], false, &full, err));
        RGM_TRY(rgm_forest_work_key(f, names, work[i], true, &keys[i].weak, err));
        keys[i].strong = full;
    }
    return RGM_OK;
}

// Both lists in order, partners side by side. With `replace`, what stands alone between the same neighbours
// on both sides goes together too.
static rgm_status add_aligned(rgm_matches *out, const uint32_t *a, size_t n, const uint32_t *b, size_t m,
                              const int32_t *partner, bool replace, rgm_error *err) {
    for (size_t i = 0, j = 0; i < n || j < m;) {
        size_t next = i;
        while (next < n && partner[next] < 0) next++;
        size_t end = next < n ? (size_t)partner[next] : m;
        while (replace && i < next && j < end) RGM_TRY(add(out, a[i++], b[j++], err));
        while (i < next) RGM_TRY(add(out, a[i++], -1, err));
        while (j < end) RGM_TRY(add(out, -1, b[j++], err));
        if (next < n) RGM_TRY(add(out, a[i++], b[j++], err));
    }
    return RGM_OK;
}

static rgm_status align_node(rgm_diff *diff, scratch *s, rgm_match match, rgm_error *err) {
    rgm_forest *a = &diff->baseline, *b = &diff->current;
    size_t none = 0, x = match.baseline < 0 ? none : (size_t)match.baseline;
    size_t y = match.current < 0 ? none : (size_t)match.current;
    const uint32_t *left = a->children + a->child_first[x], *right = b->children + b->child_first[y];
    size_t n = match.baseline < 0 ? 0 : child_count(a, x), m = match.current < 0 ? 0 : child_count(b, y);
    child_keys(a, left, n, s->a);
    child_keys(b, right, m, s->b);
    RGM_TRY(rgm_align(s->a, n, s->b, m, s->partner, err));
    RGM_TRY(add_aligned(&diff->nodes, left, n, right, m, s->partner, false, err));
    left = a->work + a->work_first[x];
    right = b->work + b->work_first[y];
    n = match.baseline < 0 ? 0 : a->work_first[x + 1] - a->work_first[x];
    m = match.current < 0 ? 0 : b->work_first[y + 1] - b->work_first[y];
    RGM_TRY(work_keys(a, &diff->names, left, n, s->a, err));
    RGM_TRY(work_keys(b, &diff->names, right, m, s->b, err));
    RGM_TRY(rgm_align(s->a, n, s->b, m, s->partner, err));
    bool below_operator = match.baseline >= 0 && a->span[x] >= 0;
    return add_aligned(&diff->work, left, n, right, m, s->partner, below_operator, err);
}

// --- the whole --------------------------------------------------------------------------------------------

static bool has_shapes(const rgm_view *view) {
    const rgm_operators *ops = &view->run->operators;
    for (size_t i = 0; ops->shapes && i < ops->rows; i++)
        if (ops->shapes[i]) return true;
    return false;
}

static rgm_status wanted_step(const rgm_question *question, int32_t *step, rgm_error *err) {
    int64_t number = 0;
    *step = -1;
    if (!question->text) return RGM_OK;
    for (size_t i = 0; i < question->length; i++) {
        char c = question->text[i];
        number = number * 10 + (c - '0');
        if (c < '0' || c > '9' || number > INT32_MAX)
            return rgm_error_set(err, RGM_INVALID, "'%.*s' is no step number", (int)question->length,
                                 question->text);
    }
    *step = (int32_t)number;
    return RGM_OK;
}

rgm_status rgm_diff_build(rgm_diff *diff, const rgm_view *current, const rgm_question *question,
                          rgm_error *err) {
    *diff = (rgm_diff){0};
    scratch s = {0};
    rgm_status status;
    int32_t step;
    if (!question->other)
        return rgm_error_set(err, RGM_INVALID, "a comparison needs another run as the baseline");
    RGM_TRY(wanted_step(question, &step, err));
    RGM_TRY(rgm_strings_init(&diff->names, SIZE_MAX / 2, err));
    bool shapes = has_shapes(current) && has_shapes(question->other);
    RGM_GOTO(rgm_forest_build(&diff->baseline, question->other, &diff->names, step, shapes, err));
    RGM_GOTO(rgm_forest_build(&diff->current, current, &diff->names, step, shapes, err));
    RGM_GOTO(scratch_new(&s, diff, err));
    RGM_GOTO(pair_threads(diff, err));
    for (size_t i = 0; i < diff->nodes.count; i++) RGM_GOTO(align_node(diff, &s, diff->nodes.items[i], err));
done:
    scratch_release(&s);
    if (status != RGM_OK) rgm_diff_release(diff);
    return status;
}

void rgm_diff_release(rgm_diff *diff) {
    rgm_forest_release(&diff->baseline);
    rgm_forest_release(&diff->current);
    rgm_free(diff->nodes.items);
    rgm_free(diff->work.items);
    rgm_strings_release(&diff->names);
    *diff = (rgm_diff){0};
}
