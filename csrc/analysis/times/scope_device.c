// SPDX-License-Identifier: Apache-2.0
// What the device did for each scope: time between its events where they were recorded, and the device work
// that was launched inside it where that is in the run. A scope is a block of the user's program, or an
// annotation of a trace; what is launched in a nested scope counts for those around it too.
//
// Work of a CUDA graph has two scopes: that of the launch, which replays it, and that of the capture, in
// which the call stands that made the node. Each piece is booked on one of the two, so no time counts twice.
#include <math.h>
#include <stdlib.h>

#include "analysis/analyses.h"
#include "analysis/keyed.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "analysis/times/scope_tree.h"
#include "base/memory.h"

// The bits of group_by.
enum { BY_SCOPE = 1, BY_CAPTURE = 2, GROUPINGS = 4 };

// A piece of device work on its device, or a launching call on its thread.
typedef struct {
    int32_t place;
    int64_t start, end;
} piece;

typedef struct {
    const rgm_view *view;
    rgm_scope_tree tree;
    bool by_capture;
    int32_t *config;             // [n_spans] of device work: row in `launches`, -1 for none
    int32_t *interval_of;        // [n_spans] of scopes: row in `intervals`, -1 for none
    uint32_t *work_first, *work; // rows of device work by the scope that they are booked on
    uint32_t *call_first, *calls;
    bool any_work;
    piece *scratch, *graph_scratch;
} scopes;

// --- which scope work is booked on ------------------------------------------------------------------------

static bool of_graph(const scopes *s, uint32_t row) {
    const rgm_launches *launches = &s->view->run->launches;
    int32_t config = s->config[row];
    return config >= 0 &&
           (RGM_CELL(launches, graph, config, -1) > 0 || RGM_CELL(launches, graph_node, config, -1) > 0);
}

static int32_t scope_of_launch(const scopes *s, uint32_t row) {
    int32_t launch = s->view->launch[row];
    return launch < 0 ? -1 : s->tree.scope_of[launch];
}

// Of a graph's node the scope of the capture, -1 when the capture is not known or stands in no scope.
static int32_t scope_of_capture(const scopes *s, uint32_t row) {
    int32_t config = s->config[row];
    int64_t capture = config < 0 ? -1 : RGM_CELL(&s->view->run->launches, capture, config, -1);
    return capture < 0 || (uint64_t)capture >= s->view->n_spans ? -1 : s->tree.scope_of[capture];
}

static int32_t scope_of_work(const void *arg, uint32_t row) {
    const scopes *s = arg;
    if (rgm_view_activity(s->view, row) == RGM_ACTIVITY_NONE) return -1;
    int32_t captured = s->by_capture ? scope_of_capture(s, row) : -1;
    return captured >= 0 ? captured : scope_of_launch(s, row);
}

static int32_t scope_of_call(const void *arg, uint32_t row) {
    const scopes *s = arg;
    const uint32_t *first = s->view->launched_first;
    return first && first[row + 1] > first[row] ? s->tree.scope_of[row] : -1;
}

static void release(scopes *s) {
    rgm_scope_tree_release(&s->tree);
    rgm_free(s->config);
    rgm_free(s->interval_of);
    rgm_free(s->work_first);
    rgm_free(s->work);
    rgm_free(s->call_first);
    rgm_free(s->calls);
    rgm_free(s->scratch);
    rgm_free(s->graph_scratch);
}

// Which row of a table each span has; a table names spans in its column `span`.
static int32_t *rows_of_spans(const rgm_view *view, const rgm_u32 *span, size_t rows) {
    int32_t *found = rgm_malloc((view->n_spans + 1) * sizeof *found);
    for (size_t i = 0; found && i < view->n_spans; i++) found[i] = -1;
    for (size_t i = 0; found && i < rows; i++)
        if (span[i] < view->n_spans) found[span[i]] = (int32_t)i;
    return found;
}

static rgm_status init(scopes *s, const rgm_view *view, rgm_error *err) {
    const rgm_run *run = view->run;
    size_t n = view->n_spans;
    s->view = view;
    s->any_work = view->n_work > 0;
    s->config = rows_of_spans(view, run->launches.span, run->launches.rows);
    s->interval_of = rows_of_spans(view, run->intervals.span, run->intervals.rows);
    s->scratch = rgm_malloc((n + 1) * sizeof *s->scratch);
    s->graph_scratch = rgm_malloc((n + 1) * sizeof *s->graph_scratch);
    if (!s->config || !s->interval_of || !s->scratch || !s->graph_scratch) return rgm_error_no_memory(err);
    RGM_TRY(rgm_scope_tree_init(&s->tree, view, err));
    RGM_TRY(rgm_scope_tree_sort(&s->tree, scope_of_work, s, &s->work_first, &s->work, err));
    return rgm_scope_tree_sort(&s->tree, scope_of_call, s, &s->call_first, &s->calls, err);
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

// From the scope's begin to its end at each place of the pieces, which `cover` has put in order; work that
// lies beyond either widens it.
static int64_t window_of(const scopes *s, uint32_t scope, const piece *pieces, size_t count) {
    uint32_t span = s->tree.rows[scope];
    int64_t sum = 0, from = 0, to = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || pieces[i].place != pieces[i - 1].place) {
            sum = rgm_add_bounded(sum, rgm_subtract_bounded(to, from));
            from = rgm_view_start(s->view, span);
            to = rgm_view_end(s->view, span);
            if (pieces[i].start < from) from = pieces[i].start;
        }
        if (pieces[i].end > to) to = pieces[i].end;
    }
    return rgm_add_bounded(sum, rgm_subtract_bounded(to, from));
}

// What one scope adds to its row.
typedef struct {
    int64_t launches, launch_ns, work, kernels, busy_ns, idle_ns;
    int64_t graph_work, graph_ns, captured;
    int64_t window_ns, copies, copy_ns, copy_bytes;
} device_share;

static const device_share share_unknown = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

// Whether the call that launched the work stands in the scope, as the times between pieces of work tell
// nothing of a scope that had ended before the graph was replayed.
static bool launched_inside(const scopes *s, uint32_t scope, uint32_t row) {
    int32_t by = scope_of_launch(s, row);
    uint32_t number = by < 0 ? UINT32_MAX : s->tree.number[by];
    return number >= scope && number < s->tree.after[scope];
}

static void share_work(scopes *s, uint32_t scope, device_share *share) {
    const rgm_view *view = s->view;
    uint32_t from = s->work_first[scope], to = s->work_first[s->tree.after[scope]];
    size_t count = 0, graphs = 0;
    bool elsewhere = false;
    int64_t unused;
    share->kernels = share->captured = 0;
    for (uint32_t i = from; i < to; i++) {
        uint32_t row = s->work[i];
        piece at = {rgm_view_device(view, row), rgm_view_start(view, row), rgm_view_end(view, row)};
        share->kernels += rgm_view_kind(view, row) == RGM_KIND_KERNEL;
        s->scratch[count++] = at;
        if (!of_graph(s, row)) continue;
        s->graph_scratch[graphs++] = at;
        if (!s->by_capture || scope_of_capture(s, row) < 0) continue;
        share->captured++;
        elsewhere = elsewhere || !launched_inside(s, scope, row);
    }
    share->work = (int64_t)count;
    share->busy_ns = cover(s->scratch, count, &share->idle_ns);
    share->window_ns = window_of(s, scope, s->scratch, count);
    if (elsewhere) share->idle_ns = share->window_ns = -1;
    share->graph_work = (int64_t)graphs;
    share->graph_ns = cover(s->graph_scratch, graphs, &unused);
}

static void share_copies(scopes *s, uint32_t scope, device_share *share) {
    const rgm_view *view = s->view;
    size_t count = 0;
    int64_t unused;
    bool sized = true;
    share->copy_bytes = 0;
    for (uint32_t i = s->work_first[scope]; i < s->work_first[s->tree.after[scope]]; i++) {
        uint32_t row = s->work[i];
        if (rgm_view_kind(view, row) != RGM_KIND_MEMCPY) continue;
        int64_t bytes = rgm_view_bytes(view, row);
        s->scratch[count++] =
            (piece){rgm_view_device(view, row), rgm_view_start(view, row), rgm_view_end(view, row)};
        sized = sized && bytes >= 0;
        share->copy_bytes = rgm_add_bounded(share->copy_bytes, bytes);
    }
    if (!sized) share->copy_bytes = -1;
    share->copies = (int64_t)count;
    share->copy_ns = cover(s->scratch, count, &unused);
}

static device_share share_of(scopes *s, uint32_t scope) {
    device_share share = share_unknown;
    const rgm_view *view = s->view;
    int64_t unused;
    size_t count = 0;
    if (!s->any_work) return share;
    share_work(s, scope, &share);
    share_copies(s, scope, &share);
    for (uint32_t i = s->call_first[scope]; i < s->call_first[s->tree.after[scope]]; i++) {
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

// What of a scope's work is not known, so that no sum over scopes is.
enum { KNOWN = 0, NO_IDLE = 1, NO_BYTES = 2 };

static int add_scope(scopes *s, rgm_scope_device *out, size_t row, uint32_t scope) {
    const rgm_intervals *intervals = &s->view->run->intervals;
    uint32_t span = s->tree.rows[scope];
    device_share share = share_of(s, scope);
    out->host_ns[row] = rgm_add_bounded(out->host_ns[row], s->view->run->spans.duration_ns[span]);
    add_count(&out->launches[row], share.launches);
    add_time(&out->launch_ns[row], share.launch_ns);
    add_count(&out->work[row], share.work);
    add_count(&out->kernels[row], share.kernels);
    add_time(&out->busy_ns[row], share.busy_ns);
    add_count(&out->graph_work[row], share.graph_work);
    add_time(&out->graph_ns[row], share.graph_ns);
    add_count(&out->captured[row], share.captured);
    add_time(&out->idle_ns[row], share.idle_ns);
    add_time(&out->window_ns[row], share.window_ns);
    add_count(&out->copies[row], share.copies);
    add_time(&out->copy_ns[row], share.copy_ns);
    add_count(&out->copy_bytes[row], share.copy_bytes);
    if (share.work > 0) out->source[row] |= RGM_SCOPE_FROM_KERNELS;
    int32_t interval = s->interval_of[span];
    if (interval >= 0 && RGM_CELL(intervals, duration_ns, interval, -1) >= 0) {
        out->source[row] |= RGM_SCOPE_FROM_EVENTS;
        out->measured[row]++;
        add_time(&out->device_ns[row], intervals->duration_ns[interval]);
        add_time(&out->queue_ns[row], RGM_CELL(intervals, queue_ns, interval, -1));
    }
    if (share.work < 0) return KNOWN;
    return (share.idle_ns < 0 ? NO_IDLE : KNOWN) | (share.copy_bytes < 0 ? NO_BYTES : KNOWN);
}

// Whether the scope lies inside another call of its operation.
static bool is_nested_call(const scopes *s, uint32_t scope) {
    uint32_t row = s->tree.rows[scope];
    rgm_name name = rgm_view_name(s->view, row);
    for (int32_t at = rgm_scope_tree_above(&s->tree, row); at >= 0;
         at = rgm_scope_tree_above(&s->tree, (uint32_t)at))
        if (rgm_view_name(s->view, (size_t)at) == name) return true;
    return false;
}

static rgm_status put_operation(scopes *s, const uint32_t *items, size_t count, rgm_scope_device *out,
                                rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_scope_device_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->operation[row] = rgm_view_name(s->view, s->tree.rows[items[0]]);
    out->calls[row] = (rgm_i64)count;
    int unknown = KNOWN;
    for (size_t i = 0; i < count; i++)
        if (!is_nested_call(s, items[i])) unknown |= add_scope(s, out, row, items[i]);
    if (unknown & NO_IDLE) out->idle_ns[row] = out->window_ns[row] = NAN;
    if (unknown & NO_BYTES) out->copy_bytes[row] = -1;
    return RGM_OK;
}

static void put_scope(scopes *s, uint32_t scope, rgm_scope_device *out) {
    const size_t row = scope;
    out->span[row] = (rgm_i32)s->tree.rows[scope];
    out->operation[row] = rgm_view_name(s->view, s->tree.rows[scope]);
    out->calls[row] = 1;
    (void)add_scope(s, out, row, scope); // leaves what is not known as it is
}

static rgm_status put_operations(scopes *s, rgm_scope_device *out, rgm_error *err) {
    RGM_RELEASED(rgm_keyed_release) rgm_keyed groups = {0};
    RGM_FREED uint64_t *keys = rgm_malloc((s->tree.count + 1) * sizeof *keys);
    RGM_FREED rgm_ranked *ranked = rgm_malloc((s->tree.count + 1) * sizeof *ranked);
    if (!keys || !ranked) return rgm_error_no_memory(err);
    for (size_t i = 0; i < s->tree.count; i++) keys[i] = rgm_view_name(s->view, s->tree.rows[i]);
    RGM_TRY(rgm_keyed_init(&groups, keys, s->tree.count, err));
    for (size_t g = 0; g < groups.count; g++) {
        ranked[g] =
            (rgm_ranked){.text = rgm_view_text(s->view, (rgm_name)keys[groups.items[groups.first[g]]]),
                         .second = {.data = ""},
                         .group = (uint32_t)g};
        for (uint32_t i = groups.first[g]; i < groups.first[g + 1]; i++) {
            int64_t duration = s->view->run->spans.duration_ns[s->tree.rows[groups.items[i]]];
            if (!is_nested_call(s, groups.items[i]))
                ranked[g].weight = rgm_add_bounded(ranked[g].weight, duration);
        }
    }
    rgm_ranked_sort(ranked, groups.count);
    for (size_t i = 0; i < groups.count; i++) {
        uint32_t g = ranked[i].group;
        RGM_TRY(put_operation(s, groups.items + groups.first[g], groups.first[g + 1] - groups.first[g], out,
                              err));
    }
    return RGM_OK;
}

rgm_status rgm_scope_device_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_scope_device *out, rgm_error *err) {
    (void)policy;
    RGM_RELEASED(release) scopes s = {.by_capture = (question->group_by & BY_CAPTURE) != 0};
    if (question->group_by < 0 || question->group_by >= GROUPINGS)
        return rgm_error_set(err, RGM_INVALID, "scope_device cannot group by %d", question->group_by);
    RGM_TRY(init(&s, view, err));
    if (!(question->group_by & BY_SCOPE)) return put_operations(&s, out, err);
    RGM_TRY(rgm_table_rows(&rgm_scope_device_desc, out, s.tree.count, err));
    for (uint32_t i = 0; i < s.tree.count; i++) put_scope(&s, i, out);
    return RGM_OK;
}
