// SPDX-License-Identifier: Apache-2.0
#include "analysis/counters/counter_item.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

static rgm_status add(rgm_counter_items *items, rgm_counter_item item, rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(items->items, items->count, items->capacity, 64, err));
    items->items[items->count++] = item;
    return RGM_OK;
}

void rgm_counter_items_release(rgm_counter_items *items) {
    rgm_free(items->items);
    *items = (rgm_counter_items){0};
}

rgm_name rgm_counter_item_op(const rgm_view *view, const rgm_counter_item *item) {
    if (item->target >= 0 && rgm_view_kind(view, (size_t)item->target) == RGM_KIND_SCOPE)
        return rgm_view_name(view, (size_t)item->target);
    int32_t op = item->target < 0 ? -1 : view->op[item->target];
    return op < 0 ? 0 : rgm_view_name(view, (size_t)op);
}

// --- ranges -----------------------------------------------------------------------------------------------

// Spans of one sort, by where they belong and then by start.
typedef struct {
    uint32_t *rows;
    uint64_t *places;
    size_t count;
} ordered;

typedef bool (*selector)(const rgm_view *view, size_t row);
typedef uint64_t (*placer)(const rgm_view *view, size_t row);

static bool is_range(const rgm_view *view, size_t row) {
    return rgm_view_kind(view, row) == RGM_KIND_COUNTER_RANGE;
}
static bool is_kernel(const rgm_view *view, size_t row) {
    return rgm_view_kind(view, row) == RGM_KIND_KERNEL;
}
static bool is_launch(const rgm_view *view, size_t row) {
    rgm_string name = rgm_view_text(view, rgm_view_name(view, row));
    return rgm_kind_is_call(rgm_view_kind(view, row)) && strstr(name.data, "Launch") &&
           strstr(name.data, "Kernel");
}

static uint64_t rank_of(const rgm_view *view, size_t row) {
    const rgm_lanes *lanes = &view->run->lanes;
    uint32_t lane = rgm_view_lane(view, row);
    return lane < lanes->rows ? (uint64_t)(RGM_CELL(lanes, rank, lane, -1) + INT64_C(1)) : 0;
}
static uint64_t device_of(const rgm_view *view, size_t row) {
    const rgm_lanes *lanes = &view->run->lanes;
    uint32_t lane = rgm_view_lane(view, row);
    uint64_t process = lane < lanes->rows ? (uint64_t)RGM_CELL(lanes, process, lane, 0) : 0;
    return rgm_hash_mix(process, rank_of(view, row));
}

static void ordered_release(ordered *list) {
    rgm_free(list->rows);
    rgm_free(list->places);
}

static rgm_status reorder(ordered *list, const uint64_t *keys, uint32_t *order, uint32_t *copy,
                          rgm_error *err) {
    RGM_TRY(rgm_sort_order(keys, list->count, order, err));
    memcpy(copy, list->rows, list->count * sizeof *copy);
    for (size_t i = 0; i < list->count; i++) list->rows[i] = copy[order[i]];
    return RGM_OK;
}

static rgm_status collect(ordered *list, const rgm_view *view, selector wanted, placer place,
                          rgm_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < view->n_spans; i++) n += wanted(view, i);
    list->rows = rgm_malloc((n + 1) * sizeof *list->rows);
    list->places = rgm_malloc((n + 1) * sizeof *list->places);
    RGM_FREED uint32_t *order = rgm_malloc((n + 1) * sizeof *order);
    RGM_FREED uint32_t *copy = rgm_malloc((n + 1) * sizeof *copy);
    if (!list->rows || !list->places || !order || !copy) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++)
        if (wanted(view, i)) list->rows[list->count++] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) list->places[i] = rgm_sort_key_i64(rgm_view_start(view, list->rows[i]));
    RGM_TRY(reorder(list, list->places, order, copy, err));
    for (size_t i = 0; i < n; i++) list->places[i] = place(view, list->rows[i]);
    RGM_TRY(reorder(list, list->places, order, copy, err));
    for (size_t i = 0; i < n; i++) list->places[i] = place(view, list->rows[i]);
    return RGM_OK;
}

static size_t group_end(const ordered *list, size_t from) {
    size_t to = from;
    while (to < list->count && list->places[to] == list->places[from]) to++;
    return to;
}

static size_t find_group(const ordered *list, uint64_t place) {
    rgm_search search = rgm_search_in(0, list->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, list->places[search.middle] < place);
    return search.low < list->count && list->places[search.low] == place ? search.low : list->count;
}

typedef struct {
    const rgm_view *view;
    int32_t *target; // [n_spans] of a range: the row it is paired with
    ordered ranges, kernels, launches, scopes;
    uint64_t *keys;
    uint32_t *order, *other;
} pairing;

static bool names_nothing(const rgm_view *view, uint32_t range) {
    rgm_string name = rgm_view_text(view, rgm_view_name(view, range));
    return name.length == 11 && memcmp(name.data, "__missing__", 11) == 0;
}

static void pair_in_order(pairing *p, const uint32_t *ranges, const uint32_t *others, size_t n, bool named) {
    for (size_t i = 0; i < n; i++)
        if (!named || rgm_view_name(p->view, ranges[i]) == rgm_view_name(p->view, others[i]) ||
            names_nothing(p->view, ranges[i]))
            p->target[ranges[i]] = (int32_t)others[i];
}

static rgm_status order_by_name(pairing *p, const uint32_t *rows, size_t n, uint32_t *order, rgm_error *err) {
    for (size_t i = 0; i < n; i++) p->keys[i] = rgm_view_name(p->view, rows[i]);
    return rgm_sort_order(p->keys, n, order, err);
}

static size_t same_name(const pairing *p, const uint32_t *rows, const uint32_t *order, size_t n,
                        size_t from) {
    size_t to = from;
    while (to < n && rgm_view_name(p->view, rows[order[to]]) == rgm_view_name(p->view, rows[order[from]]))
        to++;
    return to;
}

static rgm_status pair_by_name(pairing *p, const uint32_t *ranges, size_t n, const uint32_t *kernels,
                               size_t m, rgm_error *err) {
    RGM_TRY(order_by_name(p, ranges, n, p->order, err));
    RGM_TRY(order_by_name(p, kernels, m, p->other, err));
    for (size_t r = 0, k = 0, r_end, k_end; r < n && k < m;) {
        rgm_name a = rgm_view_name(p->view, ranges[p->order[r]]);
        rgm_name b = rgm_view_name(p->view, kernels[p->other[k]]);
        r_end = same_name(p, ranges, p->order, n, r);
        k_end = same_name(p, kernels, p->other, m, k);
        for (size_t i = 0; a == b && r_end - r == k_end - k && i < r_end - r; i++)
            p->target[ranges[p->order[r + i]]] = (int32_t)kernels[p->other[k + i]];
        if (a <= b) r = r_end;
        if (b <= a) k = k_end;
    }
    return RGM_OK;
}

static rgm_status pair_group(pairing *p, size_t from, size_t to, rgm_error *err) {
    const uint32_t *ranges = p->ranges.rows + from;
    size_t k = find_group(&p->kernels, p->ranges.places[from]), n = to - from;
    size_t kernels = group_end(&p->kernels, k) - k;
    if (kernels == n) pair_in_order(p, ranges, p->kernels.rows + k, n, true);
    if (kernels && kernels != n) return pair_by_name(p, ranges, n, p->kernels.rows + k, kernels, err);
    if (kernels) return RGM_OK;
    size_t l = find_group(&p->launches, rank_of(p->view, ranges[0]));
    if (group_end(&p->launches, l) - l == n) pair_in_order(p, ranges, p->launches.rows + l, n, false);
    return RGM_OK;
}

static bool is_scope(const rgm_view *view, size_t row) { return rgm_view_kind(view, row) == RGM_KIND_SCOPE; }

// A range of a recording is that of a scope: the first that begins within it, has its name, and ends within
// it.
static void pair_scope(pairing *p, uint32_t range) {
    const rgm_view *view = p->view;
    rgm_search search = rgm_search_in(0, p->scopes.count);
    while (rgm_search_on(&search))
        rgm_search_tell(&search,
                        rgm_view_start(view, p->scopes.rows[search.middle]) < rgm_view_start(view, range));
    for (; search.low < p->scopes.count; search.low++) {
        uint32_t scope = p->scopes.rows[search.low];
        if (rgm_view_start(view, scope) > rgm_view_end(view, range)) return;
        if (rgm_view_name(view, scope) != rgm_view_name(view, range)) continue;
        if (rgm_view_end(view, scope) > rgm_view_end(view, range)) continue;
        p->target[range] = (int32_t)scope;
        return;
    }
}

static uint64_t anywhere(const rgm_view *view, size_t row) {
    (void)view;
    (void)row;
    return 0;
}

static rgm_status pair_ranges(pairing *p, rgm_error *err) {
    const rgm_view *view = p->view;
    RGM_TRY(RGM_ROWS(p->target, view->n_spans, err));
    RGM_TRY(RGM_ROWS(p->keys, view->n_spans, err));
    RGM_TRY(RGM_ROWS(p->order, view->n_spans, err));
    RGM_TRY(RGM_ROWS(p->other, view->n_spans, err));
    memset(p->target, 0xFF, view->n_spans * sizeof *p->target);
    RGM_TRY(collect(&p->ranges, view, is_range, device_of, err));
    RGM_TRY(collect(&p->kernels, view, is_kernel, device_of, err));
    RGM_TRY(collect(&p->launches, view, is_launch, rank_of, err));
    RGM_TRY(collect(&p->scopes, view, is_scope, anywhere, err));
    for (size_t i = 0; i < p->ranges.count && p->scopes.count; i++) pair_scope(p, p->ranges.rows[i]);
    if (p->scopes.count) return RGM_OK;
    for (size_t from = 0, to; from < p->ranges.count; from = to) {
        to = group_end(&p->ranges, from);
        RGM_TRY(pair_group(p, from, to, err));
    }
    return RGM_OK;
}

static rgm_status find_ranges(rgm_counter_items *items, const rgm_view *view, rgm_error *err) {
    const rgm_counters *counters = &view->run->counters;
    pairing p = {.view = view};
    rgm_status status = RGM_OK;
    bool any = false;
    for (size_t i = 0; i < counters->rows && !any; i++) any = RGM_CELL(counters, span, i, -1) >= 0;
    if (!any) return RGM_OK;
    RGM_GOTO(pair_ranges(&p, err));
    for (size_t i = 0; i < counters->rows; i++) {
        int64_t span = RGM_CELL(counters, span, i, -1);
        if (span < 0 || (size_t)span >= view->n_spans || !is_range(view, (size_t)span)) continue;
        rgm_counter_item item = {.series = RGM_CELL(counters, series, i, 0), .span = (uint32_t)span};
        item.target = p.target[span];
        item.value = RGM_CELL(counters, value, i, NAN);
        bool kernel = item.target >= 0 && is_kernel(view, (size_t)item.target);
        item.kernel = rgm_view_name(view, kernel ? (size_t)item.target : (size_t)span);
        if (!isnan(item.value)) RGM_GOTO(add(items, item, err));
    }
done:
    ordered_release(&p.ranges);
    ordered_release(&p.kernels);
    ordered_release(&p.launches);
    ordered_release(&p.scopes);
    rgm_free(p.target);
    rgm_free(p.keys);
    rgm_free(p.order);
    rgm_free(p.other);
    return status;
}

// --- samples ----------------------------------------------------------------------------------------------

typedef struct {
    int16_t device;
    rgm_name series;
    int64_t time_ns;
    double value;
    double integral; // of the series up to here, value times ns
} sample;

static int by_series(const void *a, const void *b) {
    const sample *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->series != y->series) return x->series < y->series ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

// Through integers: times since 1970 in nanoseconds are not exact as doubles.
static double apart(int64_t later, int64_t earlier) {
    int64_t difference;
    bool far = __builtin_sub_overflow(later, earlier, &difference);
    return far ? (double)later - (double)earlier : (double)difference;
}

// The integral of a series up to a time between its first and its last sample.
static double integral_to(const sample *samples, size_t count, int64_t time) {
    size_t low = 0, high = count; // the last sample at or before `time`
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (samples[middle].time_ns <= time)
            low = middle;
        else
            high = middle;
    }
    return samples[low].integral + samples[low].value * apart(time, samples[low].time_ns);
}

static rgm_status sample_kernels(rgm_counter_items *items, const rgm_view *view, size_t device,
                                 const sample *samples, size_t count, rgm_error *err) {
    int64_t first = samples[0].time_ns, last = samples[count - 1].time_ns;
    for (uint32_t w = view->device_first[device]; w < view->device_first[device + 1]; w++) {
        uint32_t row = view->work[w];
        int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
        if (start >= last) break; // work is in order of start
        if (start < first) start = first;
        if (end > last) end = last;
        if (!is_kernel(view, row) || end <= start) continue;
        double mean = integral_to(samples, count, end) - integral_to(samples, count, start);
        mean /= (double)(end - start);
        RGM_TRY(add(items,
                    (rgm_counter_item){samples->series, rgm_view_name(view, row), row, (int32_t)row,
                                       RGM_COUNTER_SAMPLE, end - start, mean},
                    err));
    }
    return RGM_OK;
}

// A sample names a device by its ordinal. Of several ranks that have one of that ordinal none can be chosen.
static int64_t device_with_ordinal(const rgm_view *view, int16_t ordinal) {
    int64_t found = -1;
    for (size_t d = 0; d < view->n_devices; d++) {
        if (view->devices[d].device != ordinal) continue;
        if (found >= 0) return -1;
        found = (int64_t)d;
    }
    return found;
}

static rgm_status find_samples(rgm_counter_items *items, const rgm_view *view, rgm_error *err) {
    const rgm_counters *counters = &view->run->counters;
    RGM_FREED sample *samples = rgm_malloc((counters->rows + 1) * sizeof *samples);
    size_t n = 0;
    if (!samples) return rgm_error_no_memory(err);
    for (size_t i = 0; i < counters->rows; i++) {
        int16_t device = RGM_CELL(counters, device, i, -1);
        double value = RGM_CELL(counters, value, i, NAN);
        if (device < 0 || RGM_CELL(counters, span, i, -1) >= 0 || isnan(value)) continue;
        samples[n++] =
            (sample){device, RGM_CELL(counters, series, i, 0), RGM_CELL(counters, time_ns, i, 0), value, 0};
    }
    qsort(samples, n, sizeof *samples, by_series);
    int64_t device = -1;
    for (size_t from = 0, to; from < n; from = to) {
        if (!from || samples[from].device != samples[from - 1].device)
            device = device_with_ordinal(view, samples[from].device);
        for (to = from + 1; to < n && samples[to].device == samples[from].device &&
                            samples[to].series == samples[from].series;
             to++)
            samples[to].integral =
                samples[to - 1].integral +
                samples[to - 1].value * apart(samples[to].time_ns, samples[to - 1].time_ns);
        if (device >= 0) RGM_TRY(sample_kernels(items, view, (size_t)device, samples + from, to - from, err));
    }
    return RGM_OK;
}

rgm_status rgm_counter_items_find(rgm_counter_items *items, const rgm_view *view, rgm_error *err) {
    rgm_status status;
    *items = (rgm_counter_items){0};
    RGM_GOTO(find_ranges(items, view, err));
    RGM_GOTO(find_samples(items, view, err));
done:
    if (status != RGM_OK) rgm_counter_items_release(items);
    return status;
}
