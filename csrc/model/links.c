// SPDX-License-Identifier: Apache-2.0
#include "model/links.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

static uint8_t kind_of(const rgm_run *run, size_t row) {
    return (uint8_t)RGM_CELL(&run->spans, kind, row, RGM_KIND_SCOPE);
}
static uint32_t lane_of(const rgm_run *run, size_t row) { return RGM_CELL(&run->spans, lane, row, 0); }
static int64_t start_of(const rgm_run *run, size_t row) { return run->spans.start_ns[row]; }
static int64_t end_of(const rgm_run *run, size_t row) {
    return run->spans.start_ns[row] + run->spans.duration_ns[row];
}

// --- order ------------------------------------------------------------------------------------------------

rgm_status rgm_links_by_start(const rgm_run *run, uint32_t *by_start, rgm_error *err) {
    return rgm_sort_order_i64(run->spans.start_ns, run->spans.rows, by_start, err);
}

typedef struct {
    int64_t duration_ns;
    uint32_t row;
} timed;

static int longer(const void *a, const void *b) {
    const timed *x = a, *y = b;
    if (x->duration_ns != y->duration_ns) return x->duration_ns > y->duration_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static rgm_status sort_group(const rgm_run *run, uint32_t *rows, size_t count, rgm_error *err) {
    timed *group = rgm_malloc(count * sizeof *group);
    if (!group) return rgm_error_no_memory(err);
    for (size_t i = 0; i < count; i++) group[i] = (timed){run->spans.duration_ns[rows[i]], rows[i]};
    qsort(group, count, sizeof *group, longer);
    for (size_t i = 0; i < count; i++) rows[i] = group[i].row;
    rgm_free(group);
    return RGM_OK;
}

// Within each group of equal starts the longer spans go first. Groups are small; a large one, as a damaged
// or hostile file may have it, is sorted with scratch memory of its own.
static rgm_status longer_first(const rgm_run *run, uint32_t *rows, size_t count, rgm_error *err) {
    const rgm_i64 *duration = run->spans.duration_ns;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && start_of(run, rows[to]) == start_of(run, rows[from]);) to++;
        if (to - from > 64) {
            RGM_TRY(sort_group(run, rows + from, to - from, err));
            continue;
        }
        for (size_t i = from + 1; i < to; i++) {
            uint32_t row = rows[i];
            size_t at = i;
            for (; at > from && duration[row] > duration[rows[at - 1]]; at--) rows[at] = rows[at - 1];
            rows[at] = row;
        }
    }
    return RGM_OK;
}

rgm_status rgm_lane_order_init(rgm_lane_order *order, const rgm_run *run, const uint32_t *by_start,
                               rgm_error *err) {
    size_t count = run->spans.rows;
    size_t n_lanes = run->lanes.rows ? run->lanes.rows : 1; // a run without lanes holds all on lane 0
    uint32_t *first = rgm_calloc(n_lanes + 1, sizeof *first);
    uint32_t *spans = rgm_malloc((count ? count : 1) * sizeof *spans);
    *order = (rgm_lane_order){n_lanes, first, spans};
    if (!first || !spans) return rgm_error_no_memory(err);
    for (size_t i = 0; i < count; i++) first[lane_of(run, i) + 1]++;
    for (size_t lane = 0; lane < n_lanes; lane++) first[lane + 1] += first[lane];
    for (size_t i = 0; i < count; i++) spans[first[lane_of(run, by_start[i])]++] = by_start[i];
    for (size_t lane = n_lanes; lane > 0; lane--) first[lane] = first[lane - 1];
    first[0] = 0;
    for (size_t lane = 0; lane < n_lanes; lane++)
        RGM_TRY(longer_first(run, spans + first[lane], first[lane + 1] - first[lane], err));
    return RGM_OK;
}

void rgm_lane_order_release(rgm_lane_order *order) {
    rgm_free(order->first);
    rgm_free(order->spans);
    *order = (rgm_lane_order){0};
}

// --- launches ---------------------------------------------------------------------------------------------

typedef struct {
    uint64_t *ids;
    uint32_t *rows, *order;
    size_t count;
} id_list;

static void id_list_release(id_list *list) {
    rgm_free(list->ids);
    rgm_free(list->rows);
    rgm_free(list->order);
}

// Rows of the chosen kinds that carry a correlation, in order of it and, within one, of start.
static rgm_status collect(id_list *list, const rgm_run *run, const uint32_t *by_start,
                          bool (*wanted)(unsigned kind), rgm_error *err) {
    const rgm_i64 *ids = run->spans.correlation;
    size_t count = 0;
    for (size_t i = 0; i < run->spans.rows; i++) count += ids[i] > 0 && wanted(kind_of(run, i));
    list->ids = rgm_malloc((count + 1) * sizeof *list->ids);
    list->rows = rgm_malloc((count + 1) * sizeof *list->rows);
    list->order = rgm_malloc((count + 1) * sizeof *list->order);
    if (!list->ids || !list->rows || !list->order) return rgm_error_no_memory(err);
    for (size_t i = 0; i < run->spans.rows; i++) {
        uint32_t row = by_start[i];
        if (ids[row] <= 0 || !wanted(kind_of(run, row))) continue;
        list->ids[list->count] = (uint64_t)ids[row];
        list->rows[list->count++] = row;
    }
    return rgm_sort_order(list->ids, list->count, list->order, err);
}

static uint32_t row_at(const id_list *list, size_t i) { return list->rows[list->order[i]]; }
static uint64_t id_at(const id_list *list, size_t i) { return list->ids[list->order[i]]; }

// Of the calls from..to with one correlation: the last that starts no later than the work, or else the first.
static uint32_t nearest_call(const rgm_run *run, const id_list *calls, size_t from, size_t to,
                             uint32_t work) {
    size_t low = from, high = to;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (start_of(run, row_at(calls, middle)) <= start_of(run, work))
            low = middle + 1;
        else
            high = middle;
    }
    return row_at(calls, low > from ? low - 1 : from);
}

rgm_status rgm_links_launches(const rgm_run *run, const uint32_t *by_start, rgm_i32 *launch, int64_t *reused,
                              rgm_error *err) {
    memset(launch, 0xFF, run->spans.rows * sizeof *launch);
    *reused = 0;
    if (!run->spans.correlation) return RGM_OK;
    id_list calls = {0}, work = {0};
    rgm_status status;
    RGM_GOTO(collect(&calls, run, by_start, rgm_kind_is_call, err));
    RGM_GOTO(collect(&work, run, by_start, rgm_kind_is_work, err));
    uint64_t last = 0;
    for (size_t w = 0, from = 0, to = 0; w < work.count; w++) {
        uint32_t row = row_at(&work, w);
        if (id_at(&work, w) != last) {
            last = id_at(&work, w);
            for (from = to; from < calls.count && id_at(&calls, from) < last;) from++;
            for (to = from; to < calls.count && id_at(&calls, to) == last;) to++;
            *reused += to > from + 1;
        }
        if (to > from) launch[row] = (rgm_i32)nearest_call(run, &calls, from, to, row);
    }
done:
    id_list_release(&calls);
    id_list_release(&work);
    return status;
}

// First of the calls that carry the correlation, or the number of calls.
static size_t first_with(const id_list *calls, uint64_t correlation) {
    size_t low = 0, high = calls->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (id_at(calls, middle) < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < calls->count && id_at(calls, low) == correlation ? low : calls->count;
}

rgm_status rgm_links_captures(rgm_run *run, const uint32_t *by_start, rgm_error *err) {
    rgm_launches *launches = &run->launches;
    if (!launches->capture || !run->spans.correlation) return RGM_OK;
    id_list calls = {0};
    rgm_status status;
    RGM_GOTO(collect(&calls, run, by_start, rgm_kind_is_call, err));
    for (size_t i = 0; i < launches->rows; i++) {
        if (launches->capture[i] <= 0) continue;
        size_t at = first_with(&calls, (uint64_t)launches->capture[i]);
        launches->capture[i] = at < calls.count ? (rgm_i64)row_at(&calls, at) : -1;
    }
done:
    id_list_release(&calls);
    return status;
}

// --- nesting ----------------------------------------------------------------------------------------------

// How many spans of the stack reach at least to `end`. Ends never grow towards the top.
static size_t enclosing(const rgm_run *run, const uint32_t *stack, size_t depth, int64_t end) {
    if (depth == 0 || end_of(run, stack[depth - 1]) >= end) return depth;
    size_t low = 0, high = depth - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (end_of(run, stack[middle]) >= end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Nests the spans of one lane. `stack` has room for all of them. A span that reaches beyond an enclosing one
// is not that one's child, and from then on the stack holds only what encloses it.
static int64_t nest_lane(rgm_run *run, const uint32_t *rows, size_t count, uint32_t *stack) {
    rgm_spans *spans = &run->spans;
    size_t depth = 0;
    int64_t overlaps = 0, work_end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        int64_t start = start_of(run, row), end = end_of(run, row);
        bool work = rgm_kind_is_work(kind_of(run, row)), overlap = work && start < work_end;
        while (depth && end_of(run, stack[depth - 1]) <= start) depth--;
        size_t around = enclosing(run, stack, depth, end);
        overlap = overlap || around < depth;
        if (overlap) spans->flags[row] |= RGM_FLAG_OVERLAPS;
        overlaps += overlap;
        spans->parent[row] = around ? (rgm_i32)stack[around - 1] : -1;
        if (work) {
            if (end > work_end) work_end = end;
        } else if (kind_of(run, row) != RGM_KIND_INSTANT) {
            depth = around;
            stack[depth++] = row;
        }
    }
    return overlaps;
}

static rgm_status nest(rgm_run *run, const rgm_lane_order *order, rgm_error *err) {
    uint32_t *stack = rgm_malloc((run->spans.rows + 1) * sizeof *stack);
    if (!stack) return rgm_error_no_memory(err);
    int64_t overlaps = 0;
    for (size_t lane = 0; lane < order->n_lanes; lane++) {
        const uint32_t *rows = order->spans + order->first[lane];
        overlaps += nest_lane(run, rows, order->first[lane + 1] - order->first[lane], stack);
    }
    rgm_free(stack);
    return overlaps ? rgm_run_note(run, RGM_ANOMALY_OVERLAPPING_SPANS, overlaps, -1, NULL, err) : RGM_OK;
}

// --- device work ------------------------------------------------------------------------------------------

rgm_status rgm_links_note_work(rgm_run *run, int64_t reused, rgm_error *err) {
    const rgm_spans *spans = &run->spans;
    int64_t orphans = 0, steps = 0, first = -1;
    for (size_t i = 0; i < spans->rows; i++) {
        if (!rgm_kind_is_work(kind_of(run, i)) || kind_of(run, i) == RGM_KIND_ACCELERATOR) continue;
        if (spans->launch[i] < 0) {
            spans->flags[i] |= RGM_FLAG_ORPHAN;
            orphans++;
        } else if (spans->start_ns[i] < spans->start_ns[spans->launch[i]]) {
            if (steps++ == 0) first = spans->start_ns[i];
        }
    }
    if (orphans) RGM_TRY(rgm_run_note(run, RGM_ANOMALY_ORPHAN_KERNELS, orphans, -1, NULL, err));
    if (steps) RGM_TRY(rgm_run_note(run, RGM_ANOMALY_CLOCK_STEP, steps, first, NULL, err));
    if (reused) RGM_TRY(rgm_run_note(run, RGM_ANOMALY_REUSED_CORRELATIONS, reused, -1, NULL, err));
    return RGM_OK;
}

// --- steps ------------------------------------------------------------------------------------------------

typedef struct {
    int64_t start, end;
    int32_t rank, number;
} step_range;

// N of "ProfilerStep#N" or "ProfilerStep #N", -1 for any other name.
static int32_t step_number(rgm_string name) {
    static const char word[] = "ProfilerStep";
    size_t at = sizeof word - 1;
    if (name.length <= at || memcmp(name.data, word, at) != 0) return -1;
    while (at < name.length && name.data[at] == ' ') at++;
    if (at >= name.length || name.data[at] != '#') return -1;
    at++;
    while (at < name.length && name.data[at] == ' ') at++;
    int32_t number = -1;
    for (; at < name.length && name.data[at] >= '0' && name.data[at] <= '9' && number < 100000000; at++)
        number = (number < 0 ? 0 : number * 10) + (name.data[at] - '0');
    return number;
}

static int32_t rank_of(const rgm_run *run, size_t row) {
    return lane_of(run, row) < run->lanes.rows ? RGM_CELL(&run->lanes, rank, lane_of(run, row), -1) : -1;
}

static int by_rank_and_start(const void *a, const void *b) {
    const step_range *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

// The range of that rank that begins last at or before the time and has not ended, -1 for none.
static int32_t step_at(const step_range *steps, size_t count, int32_t rank, int64_t time) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const step_range *step = &steps[middle];
        if (step->rank < rank || (step->rank == rank && step->start <= time))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return -1;
    const step_range *step = &steps[low - 1];
    return step->rank == rank && time < step->end ? step->number : -1;
}

static rgm_status set_steps(rgm_run *run, rgm_error *err) {
    rgm_spans *spans = &run->spans;
    uint32_t n_strings = rgm_strings_count(&run->strings);
    int32_t *numbers = rgm_malloc(n_strings * sizeof *numbers);
    step_range *steps = NULL;
    size_t count = 0;
    if (!numbers) return rgm_error_no_memory(err);
    for (uint32_t id = 0; id < n_strings; id++)
        numbers[id] = step_number(rgm_strings_view(&run->strings, id));
    for (size_t i = 0; i < spans->rows; i++)
        count += kind_of(run, i) == RGM_KIND_ANNOTATION && numbers[spans->name[i]] >= 0;
    if (count) steps = rgm_malloc(count * sizeof *steps);
    if (count && !steps) {
        rgm_free(numbers);
        return rgm_error_no_memory(err);
    }
    count = 0;
    for (size_t i = 0; steps && i < spans->rows; i++)
        if (kind_of(run, i) == RGM_KIND_ANNOTATION && numbers[spans->name[i]] >= 0)
            steps[count++] =
                (step_range){start_of(run, i), end_of(run, i), rank_of(run, i), numbers[spans->name[i]]};
    if (steps) qsort(steps, count, sizeof *steps, by_rank_and_start);
    for (size_t i = 0; steps && i < spans->rows; i++)
        if (!rgm_kind_is_work(kind_of(run, i)) && kind_of(run, i) != RGM_KIND_DEVICE_ANNOTATION)
            spans->step[i] = step_at(steps, count, rank_of(run, i), start_of(run, i));
    for (size_t i = 0; steps && i < spans->rows; i++)
        if (spans->launch[i] >= 0) spans->step[i] = spans->step[spans->launch[i]];
    rgm_free(steps);
    rgm_free(numbers);
    return RGM_OK;
}

// --- what points to spans ---------------------------------------------------------------------------------

typedef struct {
    const rgm_i64 *time_ns;
    size_t rows;
    uint32_t (*lane)(const rgm_run *run, size_t row);
    void (*bind)(rgm_run *run, size_t row, int64_t span);
} pointing;

static uint32_t flow_lane(const rgm_run *run, size_t row) { return run->flows.lane[row]; }
static void flow_bind(rgm_run *run, size_t row, int64_t span) { run->flows.span[row] = (rgm_i32)span; }
static uint32_t memory_lane(const rgm_run *run, size_t row) {
    return run->memory.lane[row] < 0 ? UINT32_MAX : (uint32_t)run->memory.lane[row];
}
static void memory_bind(rgm_run *run, size_t row, int64_t span) { run->memory.span[row] = span; }

// Binds each row to the innermost span of its lane around its time: one walk over rows and spans in order.
static rgm_status bind(rgm_run *run, const rgm_lane_order *order, const pointing *table, rgm_error *err) {
    if (table->rows == 0) return RGM_OK;
    uint32_t *rows = rgm_malloc(table->rows * sizeof *rows);
    uint32_t *next = rgm_malloc(order->n_lanes * sizeof *next);
    int32_t *last = rgm_malloc(order->n_lanes * sizeof *last);
    rgm_status status = RGM_OK;
    if (!rows || !next || !last) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    memcpy(next, order->first, order->n_lanes * sizeof *next);
    memset(last, 0xFF, order->n_lanes * sizeof *last);
    RGM_GOTO(rgm_sort_order_i64(table->time_ns, table->rows, rows, err));
    for (size_t i = 0; i < table->rows; i++) {
        uint32_t row = rows[i], lane = table->lane(run, row);
        if (lane >= order->n_lanes) continue;
        int64_t time = table->time_ns[row];
        while (next[lane] < order->first[lane + 1] && start_of(run, order->spans[next[lane]]) <= time)
            last[lane] = (int32_t)order->spans[next[lane]++];
        int32_t span = last[lane];
        while (span >= 0 && end_of(run, (size_t)span) < time) span = run->spans.parent[span];
        last[lane] = span; // what ended before this time has ended before the next, too
        table->bind(run, row, span);
    }
done:
    rgm_free(rows);
    rgm_free(next);
    rgm_free(last);
    return status;
}

static rgm_status bind_all(rgm_run *run, const rgm_lane_order *order, rgm_error *err) {
    const pointing flows = {run->flows.time_ns, run->flows.rows, flow_lane, flow_bind};
    const pointing memory = {run->memory.time_ns, run->memory.rows, memory_lane, memory_bind};
    RGM_TRY(bind(run, order, &flows, err));
    return bind(run, order, &memory, err);
}

rgm_status rgm_run_link(rgm_run *run, rgm_error *err) {
    const uint64_t needed = RGM_COLUMN_BIT(spans, parent) | RGM_COLUMN_BIT(spans, launch) |
                            RGM_COLUMN_BIT(spans, step) | RGM_COLUMN_BIT(spans, flags);
    rgm_lane_order order = {0};
    uint32_t *by_start = rgm_malloc((run->spans.rows + 1) * sizeof *by_start);
    int64_t reused;
    rgm_status status;
    if (!by_start) return rgm_error_no_memory(err);
    for (size_t c = 0; c < rgm_spans_desc.n_columns && run->spans.rows; c++)
        if (needed >> c & 1u) RGM_GOTO(rgm_table_ensure(&rgm_spans_desc, &run->spans, c, err));
    status = RGM_OK;
    if (run->spans.rows == 0) goto done;
    RGM_GOTO(rgm_links_by_start(run, by_start, err));
    RGM_GOTO(rgm_lane_order_init(&order, run, by_start, err));
    RGM_GOTO(nest(run, &order, err));
    RGM_GOTO(rgm_links_launches(run, by_start, run->spans.launch, &reused, err));
    RGM_GOTO(rgm_links_note_work(run, reused, err));
    RGM_GOTO(set_steps(run, err));
    RGM_GOTO(bind_all(run, &order, err));
done:
    rgm_lane_order_release(&order);
    rgm_free(by_start);
    return status;
}
