// SPDX-License-Identifier: Apache-2.0
// Steps of a training loop. A step is a host annotation ProfilerStep#N, or a step that was found; device work
// belongs to the step in which its launch began. Rows are ordered by rank, step and device.

#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "analysis/times/activity_time.h"
#include "analysis/times/op_tree.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

typedef struct {
    uint64_t key; // rank and number
    int64_t start, end, operators_ns, covered;
    uint8_t state;
    bool worked; // launched device work
} step;

typedef struct {
    const rgm_view *view;
    int32_t *numbers; // [n_strings] of the step that is called so, -1 for other texts
    step *steps;      // in order of key
    size_t count;
    uint32_t *work; // rows of device work of any step, by device and start
    uint64_t *keys; // [work] number of the step, device
    size_t n_work;
    rgm_groups groups; // of the work
    uint32_t *seen;    // [n_spans] last group + 1 in which a launch was counted
} stepping;

static void stepping_release(stepping *s) {
    rgm_free(s->numbers);
    rgm_free(s->steps);
    rgm_free(s->work);
    rgm_free(s->keys);
    rgm_free(s->seen);
    rgm_groups_release(&s->groups);
}

static int32_t rank_of(const rgm_view *view, size_t row) {
    const rgm_lanes *lanes = &view->run->lanes;
    uint32_t lane = rgm_view_lane(view, row);
    return lane < lanes->rows ? RGM_CELL(lanes, rank, lane, -1) : -1;
}

static uint64_t key_of(int32_t rank, int32_t number) {
    return (uint64_t)((uint32_t)rank ^ 0x80000000u) << 32 | (uint32_t)number;
}

// --- steps ------------------------------------------------------------------------------------------------

static step step_of(const rgm_view *view, size_t row, int32_t number) {
    uint32_t flags = RGM_CELL(&view->run->spans, flags, row, 0);
    bool unfinished = (flags & RGM_FLAG_OPEN) || view->run->spans.duration_ns[row] == 0;
    return (step){.key = key_of(rank_of(view, row), number),
                  .start = rgm_view_start(view, row),
                  .end = rgm_view_end(view, row),
                  .state = unfinished ? RGM_STEP_UNFINISHED : RGM_STEP_COMPLETE};
}

// Sorts by key. One step that is drawn twice, as on two threads, counts from its first start to its last end.
static rgm_status merge_steps(stepping *s, rgm_error *err) {
    RGM_FREED uint64_t *keys = rgm_malloc((s->count + 1) * sizeof *keys);
    RGM_FREED uint32_t *order = rgm_malloc((s->count + 1) * sizeof *order);
    RGM_FREED step *sorted = rgm_malloc((s->count + 1) * sizeof *sorted);
    if (!keys || !order || !sorted) return rgm_error_no_memory(err);
    for (size_t i = 0; i < s->count; i++) keys[i] = s->steps[i].key;
    RGM_TRY(rgm_sort_order(keys, s->count, order, err));
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        const step *next = &s->steps[order[i]];
        if (!kept || sorted[kept - 1].key != next->key) {
            sorted[kept++] = *next;
            continue;
        }
        step *same = &sorted[kept - 1];
        if (next->start < same->start) same->start = next->start;
        if (next->end > same->end) same->end = next->end;
        if (next->state > same->state) same->state = next->state;
    }
    for (size_t i = 0; i < kept; i++) {
        sorted[i].covered = sorted[i].start;
        bool last = i + 1 == kept || sorted[i].key >> 32 != sorted[i + 1].key >> 32;
        if (last && sorted[i].state == RGM_STEP_COMPLETE) sorted[i].state = RGM_STEP_LAST;
    }
    rgm_free(s->steps);
    s->steps = sorted;
    s->count = kept;
    sorted = NULL;
    return RGM_OK;
}

static rgm_status find_steps(stepping *s, rgm_error *err) {
    const rgm_view *view = s->view;
    RGM_TRY(rgm_links_step_numbers(view->run, &s->numbers, err));
    for (int fill = 0; fill < 2; fill++) {
        s->count = 0;
        for (size_t row = 0; row < view->n_spans; row++) {
            int32_t number = rgm_links_is_step(view->run, row) ? rgm_view_step(view, row)
                             : rgm_kind_may_be_step(rgm_view_kind(view, row))
                                 ? s->numbers[rgm_view_name(view, row)]
                                 : -1;
            if (number < 0) continue;
            if (fill) s->steps[s->count] = step_of(view, row, number);
            s->count++;
        }
        if (!fill) s->steps = rgm_malloc((s->count + 1) * sizeof *s->steps);
        if (!s->steps) break;
    }
    return s->steps ? merge_steps(s, err) : rgm_error_no_memory(err);
}

static step *find_step(const stepping *s, size_t row) {
    int32_t number = rgm_view_step(s->view, row);
    if (number < 0) return NULL;
    uint64_t key = key_of(rank_of(s->view, row), number);
    rgm_search search = rgm_search_in(0, s->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, s->steps[search.middle].key < key);
    return search.low < s->count && s->steps[search.low].key == key ? &s->steps[search.low] : NULL;
}

// --- operators --------------------------------------------------------------------------------------------

static bool is_step(const stepping *s, uint32_t row) { return s->numbers[rgm_view_name(s->view, row)] >= 0; }

// Union of the outermost operators of each step over all its threads; a step that is itself an operator is
// none of them.
static rgm_status add_operators(stepping *s, rgm_error *err) {
    RGM_RELEASED(rgm_op_tree_release) rgm_op_tree tree = {0};
    RGM_FREED uint64_t *starts = NULL;
    RGM_FREED uint32_t *order = NULL, *rows = NULL;
    RGM_TRY(rgm_op_tree_init(&tree, s->view, err));
    RGM_TRY(RGM_ROWS(starts, tree.count, err));
    RGM_TRY(RGM_ROWS(order, tree.count, err));
    RGM_TRY(RGM_ROWS(rows, tree.count, err));
    size_t count = 0;
    for (size_t i = 0; i < tree.count; i++)
        if (!is_step(s, tree.rows[i]) && (tree.parent[i] < 0 || is_step(s, tree.rows[tree.parent[i]])))
            rows[count++] = tree.rows[i];
    for (size_t i = 0; i < count; i++) starts[i] = rgm_sort_key_i64(rgm_view_start(s->view, rows[i]));
    RGM_TRY(rgm_sort_order(starts, count, order, err));
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[order[i]];
        step *in = find_step(s, row);
        if (!in) continue;
        int64_t start = rgm_view_start(s->view, row), end = rgm_view_end(s->view, row);
        if (start < in->covered) start = in->covered;
        if (end > in->end) end = in->end;
        if (end <= start) continue;
        in->operators_ns = rgm_add_bounded(in->operators_ns, rgm_subtract_bounded(end, start));
        in->covered = end;
    }
    return RGM_OK;
}

// --- device work ------------------------------------------------------------------------------------------

static rgm_status find_work(stepping *s, rgm_error *err) {
    const rgm_view *view = s->view;
    s->work = rgm_malloc((view->n_work + 1) * sizeof *s->work);
    s->keys = rgm_malloc((view->n_work + 1) * sizeof *s->keys);
    s->seen = rgm_calloc(view->n_spans + 1, sizeof *s->seen);
    if (!s->work || !s->keys || !s->seen) return rgm_error_no_memory(err);
    for (size_t w = 0; w < view->n_work; w++) {
        step *in = find_step(s, view->work[w]);
        if (!in) continue;
        in->worked = true;
        s->keys[s->n_work] = (uint64_t)(in - s->steps) << 32 | (uint32_t)rgm_view_device(view, view->work[w]);
        s->work[s->n_work++] = view->work[w];
    }
    return rgm_groups_init(&s->groups, s->keys, s->n_work, err);
}

static void add_piece(stepping *s, uint32_t group, uint32_t row, int64_t host_end, rgm_step_times *out,
                      size_t to) {
    const rgm_view *view = s->view;
    rgm_kind kind = rgm_view_kind(view, row);
    int64_t end = rgm_view_end(view, row), bytes = rgm_view_bytes(view, row);
    int32_t launch = view->launch[row];
    if (launch >= 0 && s->seen[launch] != group + 1) {
        s->seen[launch] = group + 1;
        out->launches[to]++;
    }
    if (kind == RGM_KIND_MEMCPY || kind == RGM_KIND_MEMSET)
        out->copies[to]++;
    else
        out->kernels[to]++;
    if (bytes > 0) out->bytes[to] = rgm_add_bounded(out->bytes[to], bytes);
    out->device_ns[to] = rgm_add_bounded(out->device_ns[to], view->run->spans.duration_ns[row]);
    if (end > out->device_end_ns[to]) out->device_end_ns[to] = end;
    if (end > host_end) {
        out->late[to]++;
        int64_t late = rgm_subtract_bounded(end, host_end);
        if (late > out->late_ns[to]) out->late_ns[to] = late;
    }
}

static void describe_host(const step *in, rgm_step_times *out, size_t to) {
    out->rank[to] = (int32_t)((uint32_t)(in->key >> 32) ^ 0x80000000u);
    out->step[to] = (int32_t)(uint32_t)in->key;
    out->state[to] = in->state;
    out->start_ns[to] = in->start;
    out->duration_ns[to] = rgm_subtract_bounded(in->end, in->start);
    out->operators_ns[to] = in->operators_ns;
}

static void describe_device(stepping *s, uint32_t group, rgm_step_times *out, size_t to, uint32_t *rows) {
    const rgm_groups *g = &s->groups;
    uint32_t from = g->first[group], count = g->first[group + 1] - from;
    const step *in = &s->steps[s->keys[g->items[from]] >> 32];
    int64_t in_state[RGM_ACTIVITY_STATES] = {0};
    for (uint32_t i = 0; i < count; i++) rows[i] = s->work[g->items[from + i]];
    describe_host(in, out, to);
    out->device[to] = s->view->devices[(uint32_t)s->keys[g->items[from]]].device;
    out->device_start_ns[to] = rgm_view_start(s->view, rows[0]);
    out->device_end_ns[to] = rgm_view_end(s->view, rows[0]);
    for (uint32_t i = 0; i < count; i++) add_piece(s, group, rows[i], in->end, out, to);
    rgm_activity_time(s->view, rows, count, in_state);
    out->busy_ns[to] = rgm_activity_sum(in_state, 0, 0);
    out->compute_ns[to] = rgm_activity_sum(in_state, RGM_DOES_COMPUTE, 0);
    out->exposed_comm_ns[to] = rgm_activity_sum(in_state, RGM_DOES_COMMUNICATION, RGM_DOES_COMPUTE);
    out->exposed_mem_ns[to] =
        rgm_activity_sum(in_state, RGM_DOES_MEMORY, RGM_DOES_COMPUTE | RGM_DOES_COMMUNICATION);
    out->idle_ns[to] =
        rgm_subtract_bounded(out->device_end_ns[to], out->device_start_ns[to]) - out->busy_ns[to];
}

static int compare(const void *table, const void *context, uint32_t a, uint32_t b) {
    (void)context;
    const rgm_step_times *t = table;
    if (t->rank[a] != t->rank[b]) return t->rank[a] < t->rank[b] ? -1 : 1;
    if (t->step[a] != t->step[b]) return t->step[a] < t->step[b] ? -1 : 1;
    return (int)t->device[a] - (int)t->device[b];
}

rgm_status rgm_step_times_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_step_times *out, rgm_error *err) {
    (void)policy;
    (void)question;
    RGM_RELEASED(stepping_release) stepping s = {.view = view};
    RGM_TRY(find_steps(&s, err));
    if (s.count) RGM_TRY(add_operators(&s, err));
    RGM_TRY(find_work(&s, err));
    RGM_FREED uint32_t *rows = rgm_malloc((s.n_work + 1) * sizeof *rows);
    size_t bare = 0, to = s.groups.count;
    for (size_t i = 0; i < s.count; i++) bare += !s.steps[i].worked;
    RGM_TRY(rows ? RGM_OK : rgm_error_no_memory(err));
    RGM_TRY(rgm_table_rows(&rgm_step_times_desc, out, to + bare, err));
    for (uint32_t group = 0; group < s.groups.count; group++) describe_device(&s, group, out, group, rows);
    for (size_t i = 0; i < s.count; i++)
        if (!s.steps[i].worked) describe_host(&s.steps[i], out, to++);
    return rgm_order_rows(&rgm_step_times_desc, out, compare, NULL, err);
}
