// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/times/summary.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

// Resident-set samples in time order, with a segment tree of maxima above them.
typedef struct {
    int64_t *times;
    int64_t *tree; // leaves at [count, 2 * count)
    size_t count;
} sample_index;

static void sample_index_release(sample_index *index) {
    rgm_free(index->times);
    rgm_free(index->tree);
}

static rgm_status sample_index_build(const rgm_memory *memory, sample_index *index, rgm_error *err) {
    *index = (sample_index){0};
    size_t count = 0;
    for (size_t i = 0; i < memory->rows; i++)
        count += memory->action[i] == RGM_ACTION_SAMPLE && memory->device[i] < 0;
    if (!count) return RGM_OK;
    rgm_status status = RGM_OK;
    uint32_t *rows = rgm_malloc(count * sizeof *rows), *order = rgm_malloc(count * sizeof *order);
    uint64_t *keys = rgm_malloc(count * sizeof *keys);
    index->times = rgm_malloc(count * sizeof *index->times);
    index->tree = rgm_malloc(2 * count * sizeof *index->tree);
    if (!rows || !order || !keys || !index->times || !index->tree) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    size_t at = 0;
    for (size_t i = 0; i < memory->rows; i++) {
        if (memory->action[i] != RGM_ACTION_SAMPLE || memory->device[i] >= 0) continue;
        rows[at] = (uint32_t)i;
        keys[at++] = rgm_sort_key_i64(memory->time_ns[i]);
    }
    RGM_GOTO(rgm_sort_order(keys, count, order, err));
    for (size_t i = 0; i < count; i++) {
        index->times[i] = memory->time_ns[rows[order[i]]];
        index->tree[count + i] = memory->bytes[rows[order[i]]];
    }
    for (size_t i = count - 1; i > 0; i--) {
        int64_t left = index->tree[2 * i], right = index->tree[2 * i + 1];
        index->tree[i] = left > right ? left : right;
    }
    index->count = count;
done:
    rgm_free(rows);
    rgm_free(order);
    rgm_free(keys);
    if (status != RGM_OK) sample_index_release(index);
    return status;
}

static int64_t tree_max(const sample_index *index, size_t from, size_t to) {
    int64_t best = INT64_MIN;
    for (from += index->count, to += index->count; from < to; from /= 2, to /= 2) {
        if (from & 1u) {
            if (index->tree[from] > best) best = index->tree[from];
            from++;
        }
        if (to & 1u) {
            to--;
            if (index->tree[to] > best) best = index->tree[to];
        }
    }
    return best;
}

static size_t first_after(const sample_index *index, size_t from, int64_t time) {
    rgm_search search = rgm_search_in(from, index->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, index->times[search.middle] <= time);
    return search.low;
}

// The sampler repeats a value only when it changes, so the sample before a scope tells what it began with;
// without any sample inside, nothing was looked at while it ran and nothing is claimed.
static rgm_status sampled_peaks(const rgm_run *run, rgm_entries *entries, rgm_error *err) {
    sample_index index;
    RGM_TRY(sample_index_build(&run->memory, &index, err));
    size_t next = 0;
    for (size_t i = 0; i < entries->rows && index.count; i++) {
        uint32_t span = entries->span[i];
        int64_t start = run->spans.start_ns[span], end = start + run->spans.duration_ns[span];
        while (next < index.count && index.times[next] < start) next++;
        if (next == index.count) break;
        if (index.times[next] > end) continue;
        size_t stop = first_after(&index, next, end);
        int64_t peak = tree_max(&index, next ? next - 1 : 0, stop);
        entries->memory_peak_bytes[i] = (double)peak;
        entries->memory_source[i] = RGM_SOURCE_SAMPLER;
    }
    sample_index_release(&index);
    return RGM_OK;
}

static void raise_peak(rgm_entries *entries, size_t row, int64_t bytes) {
    double value = (double)bytes;
    if (!(entries->memory_peak_bytes[row] >= value)) entries->memory_peak_bytes[row] = value;
}

// Values taken at begin and end of a scope. A device's figures replace the host's.
static void measured_memory(const rgm_run *run, rgm_entries *entries, const uint32_t *row_of_span) {
    const rgm_memory *memory = &run->memory;
    for (size_t i = 0; i < memory->rows; i++) {
        if (memory->span[i] < 0 || (size_t)memory->span[i] >= run->spans.rows) continue;
        uint32_t row = row_of_span[memory->span[i]];
        if (row == UINT32_MAX) continue;
        bool device = memory->device[i] >= 0;
        rgm_memory_source source = device ? RGM_SOURCE_DEVICE : RGM_SOURCE_SCOPE;
        if (entries->memory_source[row] > source) continue;
        if (device && entries->memory_source[row] < source) entries->memory_peak_bytes[row] = NAN;
        entries->memory_source[row] = (rgm_u8)source;
        int64_t bytes = device ? memory->allocated[i] : memory->bytes[i];
        raise_peak(entries, row, bytes);
        // Begin and end rows come as a pair; the end adds what the begin took away.
        if (memory->action[i] == RGM_ACTION_BEGIN) entries->memory_allocated_bytes[row] = -(double)bytes;
        if (memory->action[i] == RGM_ACTION_END) entries->memory_allocated_bytes[row] += (double)bytes;
    }
}

static void device_times(const rgm_run *run, rgm_entries *entries, const uint32_t *row_of_span) {
    const rgm_intervals *intervals = &run->intervals;
    for (size_t i = 0; i < intervals->rows; i++) {
        if (intervals->span[i] >= run->spans.rows || row_of_span[intervals->span[i]] == UINT32_MAX) continue;
        uint32_t row = row_of_span[intervals->span[i]];
        entries->device_state[row] = RGM_CELL(intervals, state, i, RGM_INTERVAL_MEASURED);
        entries->device_ns[row] = RGM_CELL(intervals, duration_ns, i, -1);
        entries->queue_ns[row] = RGM_CELL(intervals, queue_ns, i, -1);
    }
}

static rgm_i64 whole(rgm_f64 value) { return value >= 0 ? (rgm_i64)value : -1; } // NaN is not known

// What the device did for each scope; nothing for those in which no recorded work was launched.
static rgm_status device_work(const rgm_view *view, rgm_entries *entries, const uint32_t *row_of_span,
                              rgm_error *err) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    const rgm_question by_scope = {.group_by = 1};
    rgm_scope_device found = {0};
    rgm_status status = rgm_scope_device_compute(view, &policy, &by_scope, &found, err);
    for (size_t i = 0; status == RGM_OK && i < found.rows; i++) {
        uint32_t row = row_of_span[found.span[i]];
        if (row == UINT32_MAX || found.work[i] <= 0) continue; // an annotation, or without work
        entries->busy_ns[row] = whole(found.busy_ns[i]);
        entries->window_ns[row] = whole(found.window_ns[i]);
        entries->copy_ns[row] = whole(found.copy_ns[i]);
        entries->copy_bytes[row] = found.copy_bytes[i];
    }
    rgm_table_release(&rgm_scope_device_desc, &found);
    return status;
}

static bool is_scope(const rgm_spans *spans, size_t i) {
    return !spans->kind || spans->kind[i] == RGM_KIND_SCOPE;
}

bool rgm_entries_need_view(const rgm_run *run) {
    bool scopes = false;
    for (size_t i = 0; i < run->spans.rows && !scopes; i++) scopes = is_scope(&run->spans, i);
    return scopes && rgm_run_has_work(run);
}

static uint32_t lane_of(const rgm_spans *spans, size_t i) { return spans->lane ? spans->lane[i] : 0; }

// Takes the child's time off its parent's. Children come in order of start, so what is covered already is
// everything up to `covered`: tasks that ran at the same time count once, and a child that outlives its
// parent counts only as far as it lies inside.
static void take_from_parent(const rgm_spans *spans, rgm_entries *entries, size_t child, uint32_t parent,
                             uint32_t above, int64_t *covered) {
    int64_t from = spans->start_ns[child], to = from + spans->duration_ns[child];
    int64_t end = spans->start_ns[parent] + spans->duration_ns[parent];
    if (from < covered[above]) from = covered[above];
    if (to > end) to = end;
    if (to <= from) return;
    entries->exclusive_ns[above] -= to - from;
    covered[above] = to;
}

// What the profiler did inside a scope is no time of the scope; it overlaps no nested one.
static void take_own(const rgm_spans *spans, rgm_entries *entries) {
    for (size_t row = 0; spans->own_ns && row < entries->rows; row++) {
        int64_t rest = entries->exclusive_ns[row] - spans->own_ns[entries->span[row]];
        entries->exclusive_ns[row] = rest > 0 ? rest : 0;
    }
}

static void derive(const rgm_spans *spans, rgm_entries *entries, uint32_t *row_of_span, int64_t *covered) {
    for (size_t i = 0; i < spans->rows; i++) {
        row_of_span[i] = UINT32_MAX;
        if (!is_scope(spans, i)) continue;
        size_t row = entries->rows++;
        row_of_span[i] = (uint32_t)row;
        covered[row] = spans->start_ns[i];
        entries->span[row] = (rgm_u32)i;
        entries->depth[row] = 0;
        entries->exclusive_ns[row] = spans->duration_ns[i];
        entries->memory_allocated_bytes[row] = NAN;
        entries->memory_peak_bytes[row] = NAN;
        entries->memory_source[row] = RGM_SOURCE_NONE;
        entries->device_ns[row] = entries->queue_ns[row] = -1;
        entries->device_state[row] = UINT8_MAX;
        entries->busy_ns[row] = entries->window_ns[row] = -1;
        entries->copy_ns[row] = entries->copy_bytes[row] = -1;
        int32_t parent = spans->parent ? spans->parent[i] : -1;
        // Parents come first; one that does not is damage, and is treated as none.
        if (parent < 0 || (size_t)parent >= i || row_of_span[parent] == UINT32_MAX) continue;
        uint32_t above = row_of_span[parent];
        if (lane_of(spans, i) == lane_of(spans, (size_t)parent))
            entries->depth[row] = entries->depth[above] + 1;
        take_from_parent(spans, entries, i, (uint32_t)parent, above, covered);
    }
}

rgm_status rgm_entries_compute(const rgm_run *run, const rgm_view *view, rgm_entries *entries,
                               rgm_error *err) {
    const rgm_spans *spans = &run->spans;
    size_t scopes = 0;
    for (size_t i = 0; i < spans->rows; i++) scopes += is_scope(spans, i);
    RGM_TRY(rgm_table_reserve(&rgm_entries_desc, entries, RGM_ALL_COLUMNS, scopes ? scopes : 1, err));
    RGM_FREED uint32_t *row_of_span = rgm_malloc((spans->rows + 1) * sizeof *row_of_span);
    RGM_FREED int64_t *covered = rgm_malloc((scopes + 1) * sizeof *covered);
    if (!row_of_span || !covered) return rgm_error_no_memory(err);
    entries->rows = 0;
    derive(spans, entries, row_of_span, covered);
    take_own(spans, entries);
    RGM_TRY(sampled_peaks(run, entries, err));
    measured_memory(run, entries, row_of_span);
    device_times(run, entries, row_of_span);
    if (view && view->n_work > 0) RGM_TRY(device_work(view, entries, row_of_span, err));
    return RGM_OK;
}
