// SPDX-License-Identifier: Apache-2.0
// What the device did for each scope: time between its events where they were recorded, and the device work
// that was launched inside it where that is in the run. A scope is a block of the user's program, or an
// annotation of a trace; what is launched in a nested scope counts for those around it too.
#include <math.h>
#include <stdlib.h>

#include "analysis/analyses.h"
#include "analysis/keyed.h"
#include "analysis/stats.h"
#include "base/memory.h"

// A piece of device work on its device, or a launching call on its thread.
typedef struct {
    int32_t place;
    int64_t start, end;
} piece;

// The scopes, numbered so that those nested in one follow it: scope i holds [i, after[i]).
typedef struct {
    const rgm_view *view;
    int32_t *scope_of; // [n_spans] innermost scope around or at each span, -1 for none, -2 not known yet
    uint32_t *rows;    // span of each scope, by number
    uint32_t *number;  // [n_spans] of spans that are scopes
    uint32_t *after;
    size_t count;
    uint32_t *work_first, *work; // rows of device work by the scope that launched it
    uint32_t *call_first, *calls;
    bool any_work;
    piece *scratch;
} scopes;

static bool is_scope(const rgm_view *view, size_t row) {
    rgm_kind kind = rgm_view_kind(view, row);
    return kind == RGM_KIND_SCOPE ||
           (kind == RGM_KIND_ANNOTATION && view->lane_device[rgm_view_lane(view, row)] < 0);
}

// --- which scope holds what -------------------------------------------------------------------------------

// Walks up to what is known, then back down. A parent chain that is a circle is damage and ends in none.
static void find_scope(scopes *s, uint32_t row, uint32_t *path) {
    size_t depth = 0;
    int32_t at = (int32_t)row, found = -1;
    while (at >= 0 && s->scope_of[at] == -2) {
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

// The nearest scope around a scope.
static int32_t scope_above(const scopes *s, uint32_t row) {
    int32_t parent = rgm_view_parent(s->view, row);
    return parent >= 0 && (size_t)parent < s->view->n_spans ? s->scope_of[parent] : -1;
}

static rgm_status number_scopes(scopes *s, rgm_error *err) {
    size_t n = s->view->n_spans;
    rgm_status status = RGM_OK;
    uint32_t *child = rgm_malloc((n + 1) * sizeof *child), *sibling = rgm_malloc((n + 1) * sizeof *sibling);
    if (!child || !sibling) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    // Place n of `child` is the root; lists are made backwards, so that they come out in order of row.
    for (size_t i = 0; i <= n; i++) child[i] = sibling[i] = UINT32_MAX;
    for (size_t i = n; i-- > 0;) {
        if (s->scope_of[i] != (int32_t)i) continue;
        int32_t above = scope_above(s, (uint32_t)i);
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
                at = (uint32_t)scope_above(s, at);
            }
            s->after[s->number[at]] = (uint32_t)s->count;
            if (at == root) break;
            at = sibling[at];
        }
done:
    rgm_free(child);
    rgm_free(sibling);
    return status;
}

// Rows by the number of their scope: counts first, then places. `pick` tells the scope's row, -1 for none.
static rgm_status sort_into(scopes *s, int32_t (*pick)(const scopes *s, uint32_t row), uint32_t **first,
                            uint32_t **items, rgm_error *err) {
    size_t n = s->view->n_spans;
    *first = rgm_calloc(s->count + 2, sizeof **first);
    *items = rgm_malloc((n + 1) * sizeof **items);
    if (!*first || !*items) return rgm_error_no_memory(err);
    uint32_t *place = *first + 1; // one ahead: when the rows are in, `first` holds the beginnings
    for (uint32_t row = 0; row < n; row++) {
        int32_t scope = pick(s, row);
        if (scope >= 0 && s->number[scope] != UINT32_MAX) place[s->number[scope]]++;
    }
    uint32_t sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t here = place[i];
        place[i] = sum;
        sum += here;
    }
    for (uint32_t row = 0; row < n; row++) {
        int32_t scope = pick(s, row);
        if (scope >= 0 && s->number[scope] != UINT32_MAX) (*items)[place[s->number[scope]]++] = row;
    }
    return RGM_OK;
}

static int32_t scope_of_work(const scopes *s, uint32_t row) {
    int32_t launch = rgm_view_activity(s->view, row) == RGM_ACTIVITY_NONE ? -1 : s->view->launch[row];
    return launch < 0 ? -1 : s->scope_of[launch];
}

static int32_t scope_of_call(const scopes *s, uint32_t row) {
    const uint32_t *first = s->view->launched_first;
    return first && first[row + 1] > first[row] ? s->scope_of[row] : -1;
}

static void release(scopes *s) {
    rgm_free(s->scope_of);
    rgm_free(s->rows);
    rgm_free(s->number);
    rgm_free(s->after);
    rgm_free(s->work_first);
    rgm_free(s->work);
    rgm_free(s->call_first);
    rgm_free(s->calls);
    rgm_free(s->scratch);
}

static rgm_status init(scopes *s, const rgm_view *view, rgm_error *err) {
    size_t n = view->n_spans;
    s->view = view;
    s->any_work = view->n_work > 0;
    s->scope_of = rgm_malloc((n + 1) * sizeof *s->scope_of);
    s->rows = rgm_malloc((n + 1) * sizeof *s->rows);
    s->number = rgm_malloc((n + 1) * sizeof *s->number);
    s->after = rgm_malloc((n + 1) * sizeof *s->after);
    s->scratch = rgm_malloc((n + 1) * sizeof *s->scratch);
    if (!s->scope_of || !s->rows || !s->number || !s->after || !s->scratch) return rgm_error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        s->scope_of[i] = -2;
        s->number[i] = UINT32_MAX; // also of scopes that are their own parents, which is damage
    }
    for (uint32_t i = 0; i < n; i++) find_scope(s, i, s->rows); // rows are not in use yet
    RGM_TRY(number_scopes(s, err));
    RGM_TRY(sort_into(s, scope_of_work, &s->work_first, &s->work, err));
    return sort_into(s, scope_of_call, &s->call_first, &s->calls, err);
}

// --- one scope --------------------------------------------------------------------------------------------

static int by_place_and_start(const void *a, const void *b) {
    const piece *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return 0;
}

// Union of the pieces at each place, added up; *gaps is what lies between them from first to last.
static int64_t cover(piece *pieces, size_t count, int64_t *gaps) {
    int64_t covered = 0, reach = 0;
    *gaps = 0;
    qsort(pieces, count, sizeof *pieces, by_place_and_start);
    for (size_t i = 0; i < count; i++) {
        int64_t from = pieces[i].start;
        if (i == 0 || pieces[i].place != pieces[i - 1].place)
            reach = from;
        else if (from > reach)
            *gaps = rgm_add_bounded(*gaps, from - reach);
        if (from < reach) from = reach;
        if (pieces[i].end > from) covered = rgm_add_bounded(covered, pieces[i].end - from);
        if (pieces[i].end > reach) reach = pieces[i].end;
    }
    return covered;
}

// What one scope adds to its row.
typedef struct {
    int64_t launches, launch_ns, work, kernels, busy_ns, idle_ns;
} device_share;

static device_share share_of(scopes *s, uint32_t scope) {
    device_share share = {
        .launches = -1, .launch_ns = -1, .work = -1, .kernels = -1, .busy_ns = -1, .idle_ns = -1};
    const rgm_view *view = s->view;
    uint32_t after = s->after[scope];
    int64_t unused;
    size_t count = 0;
    if (!s->any_work) return share;
    share.kernels = 0;
    for (uint32_t i = s->work_first[scope]; i < s->work_first[after]; i++) {
        uint32_t row = s->work[i];
        share.kernels += rgm_view_kind(view, row) == RGM_KIND_KERNEL;
        s->scratch[count++] =
            (piece){rgm_view_device(view, row), rgm_view_start(view, row), rgm_view_end(view, row)};
    }
    share.work = (int64_t)count;
    share.busy_ns = cover(s->scratch, count, &share.idle_ns);
    count = 0;
    for (uint32_t i = s->call_first[scope]; i < s->call_first[after]; i++) {
        uint32_t row = s->calls[i];
        s->scratch[count++] =
            (piece){(int32_t)rgm_view_lane(view, row), rgm_view_start(view, row), rgm_view_end(view, row)};
    }
    share.launches = (int64_t)count;
    share.launch_ns = cover(s->scratch, count, &unused);
    return share;
}

// --- rows -------------------------------------------------------------------------------------------------

// Negative values are not known, and leave the cell as it is.
static void add_count(rgm_i64 *cell, int64_t value) {
    if (value >= 0) *cell = *cell < 0 ? value : rgm_add_bounded(*cell, value);
}
static void add_time(rgm_f64 *cell, int64_t ns) {
    if (ns >= 0) *cell = isnan(*cell) ? (double)ns : *cell + (double)ns;
}

static void add_scope(scopes *s, const int32_t *interval_of, rgm_scope_device *out, size_t row,
                      uint32_t scope) {
    const rgm_intervals *intervals = &s->view->run->intervals;
    uint32_t span = s->rows[scope];
    device_share share = share_of(s, scope);
    out->host_ns[row] = rgm_add_bounded(out->host_ns[row], s->view->run->spans.duration_ns[span]);
    add_count(&out->launches[row], share.launches);
    add_time(&out->launch_ns[row], share.launch_ns);
    add_count(&out->work[row], share.work);
    add_count(&out->kernels[row], share.kernels);
    add_time(&out->busy_ns[row], share.busy_ns);
    add_time(&out->idle_ns[row], share.idle_ns);
    if (share.work > 0) out->source[row] |= RGM_SCOPE_FROM_KERNELS;
    int32_t interval = interval_of[span];
    if (interval < 0 || RGM_CELL(intervals, duration_ns, interval, -1) < 0) return;
    out->source[row] |= RGM_SCOPE_FROM_EVENTS;
    out->measured[row]++;
    add_time(&out->device_ns[row], intervals->duration_ns[interval]);
    add_time(&out->queue_ns[row], RGM_CELL(intervals, queue_ns, interval, -1));
}

// Whether the scope lies inside another call of its operation.
static bool is_nested_call(const scopes *s, uint32_t scope) {
    uint32_t row = s->rows[scope];
    rgm_name name = rgm_view_name(s->view, row);
    for (int32_t at = scope_above(s, row); at >= 0; at = scope_above(s, (uint32_t)at))
        if (rgm_view_name(s->view, (size_t)at) == name) return true;
    return false;
}

static rgm_status put_operation(scopes *s, const int32_t *interval_of, const uint32_t *items, size_t count,
                                rgm_scope_device *out, rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_scope_device_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->operation[row] = rgm_view_name(s->view, s->rows[items[0]]);
    out->calls[row] = (rgm_i64)count;
    for (size_t i = 0; i < count; i++)
        if (!is_nested_call(s, items[i])) add_scope(s, interval_of, out, row, items[i]);
    return RGM_OK;
}

static rgm_status put_scope(scopes *s, const int32_t *interval_of, uint32_t scope, rgm_scope_device *out,
                            rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_scope_device_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->span[row] = (rgm_i32)s->rows[scope];
    out->operation[row] = rgm_view_name(s->view, s->rows[scope]);
    out->calls[row] = 1;
    add_scope(s, interval_of, out, row, scope);
    return RGM_OK;
}

static rgm_status put_operations(scopes *s, const int32_t *interval_of, rgm_scope_device *out,
                                 rgm_error *err) {
    rgm_keyed groups = {0};
    rgm_status status = RGM_OK;
    uint64_t *keys = rgm_malloc((s->count + 1) * sizeof *keys);
    rgm_ranked *ranked = rgm_malloc((s->count + 1) * sizeof *ranked);
    if (!keys || !ranked) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < s->count; i++) keys[i] = rgm_view_name(s->view, s->rows[i]);
    RGM_GOTO(rgm_keyed_init(&groups, keys, s->count, err));
    for (size_t g = 0; g < groups.count; g++) {
        ranked[g] =
            (rgm_ranked){.text = rgm_view_text(s->view, (rgm_name)keys[groups.items[groups.first[g]]]),
                         .second = {.data = ""},
                         .group = (uint32_t)g};
        for (uint32_t i = groups.first[g]; i < groups.first[g + 1]; i++) {
            int64_t duration = s->view->run->spans.duration_ns[s->rows[groups.items[i]]];
            if (!is_nested_call(s, groups.items[i]))
                ranked[g].weight = rgm_add_bounded(ranked[g].weight, duration);
        }
    }
    rgm_ranked_sort(ranked, groups.count);
    for (size_t i = 0; i < groups.count; i++) {
        uint32_t g = ranked[i].group;
        RGM_GOTO(put_operation(s, interval_of, groups.items + groups.first[g],
                               groups.first[g + 1] - groups.first[g], out, err));
    }
done:
    rgm_free(keys);
    rgm_free(ranked);
    rgm_keyed_release(&groups);
    return status;
}

rgm_status rgm_scope_device_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_scope_device *out, rgm_error *err) {
    (void)policy;
    const rgm_intervals *intervals = &view->run->intervals;
    scopes s = {0};
    rgm_status status = RGM_OK;
    int32_t *interval_of = rgm_malloc((view->n_spans + 1) * sizeof *interval_of);
    if (!interval_of) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++) interval_of[i] = -1;
    for (size_t i = 0; i < intervals->rows; i++)
        if (intervals->span[i] < view->n_spans) interval_of[intervals->span[i]] = (int32_t)i;
    RGM_GOTO(init(&s, view, err));
    if (question->group_by == 1)
        for (uint32_t i = 0; status == RGM_OK && i < s.count; i++)
            status = put_scope(&s, interval_of, i, out, err);
    else
        status = put_operations(&s, interval_of, out, err);
done:
    release(&s);
    rgm_free(interval_of);
    return status;
}
