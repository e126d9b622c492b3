// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/summary.h"

#include <string.h>

#include "analysis/order.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"

#define NONE UINT32_MAX

// Operations are numbered in the order of their first scope.
typedef struct {
    uint32_t *of_row;   // operation of each entry
    uint32_t *first;    // start of each operation's slice of `durations`
    int64_t *durations; // grouped by operation, in order of start
    uint32_t count;
} grouping;

static void grouping_release(grouping *g) {
    rgm_free(g->of_row);
    rgm_free(g->first);
    rgm_free(g->durations);
}

static uint32_t flags_of(const rgm_run *run, uint32_t span) {
    return run->spans.flags ? run->spans.flags[span] : 0;
}

static rgm_device device_of(uint32_t flags) {
    return (rgm_device)(rgm_flags_device(flags) % RGM_DEVICE_COUNT);
}

// The enclosing span; one that does not come first is damage, and is treated as none.
static uint32_t parent_of(const rgm_spans *spans, uint32_t span) {
    int32_t parent = spans->parent ? spans->parent[span] : -1;
    return parent >= 0 && (uint32_t)parent < span ? (uint32_t)parent : UINT32_MAX;
}

static rgm_status number_operations(const rgm_run *run, const rgm_entries *entries, grouping *g,
                                    rgm_error *err) {
    size_t strings = rgm_strings_count(&run->strings);
    uint32_t *known = rgm_calloc(strings * RGM_DEVICE_COUNT, sizeof *known); // operation + 1
    g->of_row = rgm_malloc((entries->rows + 1) * sizeof *g->of_row);
    if (!known || !g->of_row) {
        rgm_free(known);
        return rgm_error_no_memory(err);
    }
    for (size_t i = 0; i < entries->rows; i++) {
        uint32_t span = entries->span[i];
        uint32_t name = run->spans.name[span] < strings ? run->spans.name[span] : 0;
        uint32_t device = device_of(flags_of(run, span));
        uint32_t *slot = &known[name * RGM_DEVICE_COUNT + device];
        if (!*slot) *slot = ++g->count;
        g->of_row[i] = *slot - 1;
    }
    rgm_free(known);
    return RGM_OK;
}

static rgm_status group_durations(const rgm_run *run, const rgm_entries *entries, grouping *g,
                                  rgm_error *err) {
    g->first = rgm_calloc((size_t)g->count + 1, sizeof *g->first);
    g->durations = rgm_malloc((entries->rows + 1) * sizeof *g->durations);
    uint32_t *at = rgm_malloc(((size_t)g->count + 1) * sizeof *at);
    if (!g->first || !g->durations || !at) {
        rgm_free(at);
        return rgm_error_no_memory(err);
    }
    for (size_t i = 0; i < entries->rows; i++) g->first[g->of_row[i] + 1]++;
    for (uint32_t op = 0; op < g->count; op++) g->first[op + 1] += g->first[op];
    memcpy(at, g->first, ((size_t)g->count + 1) * sizeof *at);
    for (size_t i = 0; i < entries->rows; i++)
        g->durations[at[g->of_row[i]]++] = run->spans.duration_ns[entries->span[i]];
    rgm_free(at);
    return RGM_OK;
}

static void add_work(const rgm_entries *entries, size_t i, rgm_summary *s, uint32_t op) {
    int64_t window = entries->window_ns[i]; // 0 of work without a length in a scope without one
    double share = window > 0 ? (double)entries->busy_ns[i] / (double)window : 0.0;
    double before = s->work_count[op]++ ? s->device_share[op] : 0.0;
    s->device_share[op] = before + (share - before) / (double)s->work_count[op];
}

static void add_entry(const rgm_run *run, const rgm_entries *entries, size_t i, rgm_summary *s, uint32_t op) {
    uint32_t span = entries->span[i], flags = flags_of(run, span);
    int64_t start = run->spans.start_ns[span], duration = run->spans.duration_ns[span];
    if (!s->call_count[op]++) {
        s->operation[op] = run->spans.name[span];
        s->device[op] = (rgm_u8)device_of(flags);
        s->first_ns[op] = start;
        s->min_ns[op] = duration;
        s->last_ns[op] = start + duration;
    }
    if (rgm_flags_backend(flags) != RGM_BACKEND_UNKNOWN) s->backend[op] = (rgm_u8)rgm_flags_backend(flags);
    s->failed_count[op] += (flags & RGM_FLAG_FAILED) != 0;
    s->exclusive_ns[op] = rgm_add_bounded(s->exclusive_ns[op], entries->exclusive_ns[i]);
    if (duration < s->min_ns[op]) s->min_ns[op] = duration;
    if (duration > s->max_ns[op]) s->max_ns[op] = duration;
    if (start + duration > s->last_ns[op]) s->last_ns[op] = start + duration;
    double peak = entries->memory_peak_bytes[i], allocated = entries->memory_allocated_bytes[i];
    if (peak == peak) { // not NaN
        if (!(s->memory_peak_bytes[op] >= peak)) s->memory_peak_bytes[op] = peak;
    }
    if (allocated == allocated) {
        double before = s->memory_count[op] ? s->memory_allocated_bytes[op] : 0.0;
        s->memory_count[op]++;
        s->memory_allocated_bytes[op] = before + (allocated - before) / (double)s->memory_count[op];
    }
    if (entries->busy_ns[i] >= 0) add_work(entries, i, s, op);
}

// The scopes as a forest, by rows of `entries`; NONE where there is none.
typedef struct {
    uint32_t *parent;
    uint32_t *child;   // first
    uint32_t *sibling; // next
} forest;

static void forest_release(forest *f) {
    rgm_free(f->parent);
    rgm_free(f->child);
    rgm_free(f->sibling);
}

static rgm_status forest_grow(const rgm_run *run, const rgm_entries *entries, forest *f, rgm_error *err) {
    size_t rows = entries->rows;
    uint32_t *row_of_span = rgm_malloc((run->spans.rows + 1) * sizeof *row_of_span);
    f->parent = rgm_malloc((rows + 1) * sizeof *f->parent);
    f->child = rgm_malloc((rows + 1) * sizeof *f->child);
    f->sibling = rgm_malloc((rows + 1) * sizeof *f->sibling);
    if (!row_of_span || !f->parent || !f->child || !f->sibling) {
        rgm_free(row_of_span);
        return rgm_error_no_memory(err);
    }
    memset(row_of_span, 0xFF, (run->spans.rows + 1) * sizeof *row_of_span);
    memset(f->child, 0xFF, (rows + 1) * sizeof *f->child);
    memset(f->sibling, 0xFF, (rows + 1) * sizeof *f->sibling);
    for (size_t i = 0; i < rows; i++) row_of_span[entries->span[i]] = (uint32_t)i;
    for (size_t i = rows; i-- > 0;) {
        uint32_t span = parent_of(&run->spans, entries->span[i]);
        f->parent[i] = span == NONE ? NONE : row_of_span[span];
        if (f->parent[i] == NONE) continue;
        f->sibling[i] = f->child[f->parent[i]];
        f->child[f->parent[i]] = (uint32_t)i;
    }
    rgm_free(row_of_span);
    return RGM_OK;
}

// Of a call with events the time between them, else that of its work, where it is recorded.
static void add_device(const rgm_entries *entries, size_t i, int64_t host_ns, rgm_summary *s, uint32_t op) {
    int64_t device_ns = entries->device_ns[i] >= 0 ? entries->device_ns[i] : entries->busy_ns[i];
    if (entries->copy_ns[i] >= 0) {
        int64_t copied = s->copy_ns[op] < 0 ? 0 : s->copy_ns[op];
        s->copy_ns[op] = rgm_add_bounded(copied, entries->copy_ns[i]);
    }
    if (device_ns < 0) return;
    s->event_count[op] += entries->device_ns[i] >= 0;
    s->device_ns[op] = s->device_count[op]++ ? rgm_add_bounded(s->device_ns[op], device_ns) : device_ns;
    if (host_ns < device_ns) return;
    int64_t before = s->overhead_ns[op] < 0 ? 0 : s->overhead_ns[op];
    s->overhead_ns[op] = rgm_add_bounded(before, host_ns - device_ns);
}

// One tree, from the top down and back, keeping how many calls of each operation are open on the way.
static void walk_tree(const rgm_run *run, const rgm_entries *entries, const grouping *g, const forest *f,
                      uint32_t root, uint32_t *open, rgm_summary *s) {
    for (uint32_t i = root;;) {
        uint32_t op = g->of_row[i];
        if (open[op]++)
            s->recursive_count[op]++;
        else {
            int64_t host_ns = run->spans.duration_ns[entries->span[i]];
            s->total_ns[op] = rgm_add_bounded(s->total_ns[op], host_ns);
            add_device(entries, i, host_ns, s, op);
        }
        if (f->child[i] != NONE) {
            i = f->child[i];
            continue;
        }
        for (;;) {
            open[g->of_row[i]]--;
            if (i == root) return;
            if (f->sibling[i] != NONE) break;
            i = f->parent[i];
        }
        i = f->sibling[i];
    }
}

// Total time without what is inside another call of the same operation.
static rgm_status totals(const rgm_run *run, const rgm_entries *entries, const grouping *g, rgm_summary *s,
                         rgm_error *err) {
    RGM_RELEASED(forest_release) forest f = {0};
    RGM_FREED uint32_t *open = rgm_calloc((size_t)g->count + 1, sizeof *open);
    if (!open) return rgm_error_no_memory(err);
    RGM_TRY(forest_grow(run, entries, &f, err));
    for (size_t i = 0; i < entries->rows; i++)
        if (f.parent[i] == NONE) walk_tree(run, entries, g, &f, (uint32_t)i, open, s);
    return RGM_OK;
}

static rgm_status moments(const grouping *g, const rgm_policy *policy, rgm_summary *s, rgm_error *err) {
    size_t most = 1;
    for (uint32_t op = 0; op < g->count; op++)
        if (g->first[op + 1] - g->first[op] > most) most = g->first[op + 1] - g->first[op];
    int64_t *scratch = rgm_malloc(most * sizeof *scratch);
    if (!scratch) return rgm_error_no_memory(err);
    double all = 0;
    for (uint32_t op = 0; op < g->count; op++) all += (double)s->exclusive_ns[op];
    for (uint32_t op = 0; op < g->count; op++) {
        int64_t *values = g->durations + g->first[op];
        size_t count = g->first[op + 1] - g->first[op];
        rgm_moments m = {0};
        for (size_t i = 0; i < count; i++) rgm_moments_add(&m, (double)values[i]);
        rgm_sort_i64(values, count, scratch);
        s->mean_ns[op] = m.mean;
        s->std_dev_ns[op] = rgm_moments_std_dev(&m);
        s->cv[op] = m.mean > 0 ? s->std_dev_ns[op] / m.mean : NAN;
        s->median_ns[op] = rgm_quantile_sorted(values, count, 0.5);
        s->p95_ns[op] = rgm_quantile_sorted(values, count, policy->percentile_tail);
        s->p99_ns[op] = rgm_quantile_sorted(values, count, policy->percentile_extreme);
        s->share[op] = all > 0 ? (double)s->exclusive_ns[op] / all : NAN;
    }
    rgm_free(scratch);
    return RGM_OK;
}

static int compare_rows(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_summary *s = table;
    const rgm_strings *strings = context;
    if (s->exclusive_ns[a] != s->exclusive_ns[b]) return s->exclusive_ns[a] > s->exclusive_ns[b] ? -1 : 1;
    int names = strcmp(rgm_strings_view(strings, s->operation[a]).data,
                       rgm_strings_view(strings, s->operation[b]).data);
    return names ? names : (int)s->device[a] - (int)s->device[b];
}

rgm_status rgm_summary_compute(const rgm_run *run, const rgm_entries *entries, const rgm_policy *policy,
                               rgm_summary *summary, rgm_error *err) {
    RGM_RELEASED(grouping_release) grouping g = {0};
    RGM_TRY(number_operations(run, entries, &g, err));
    RGM_TRY(group_durations(run, entries, &g, err));
    RGM_TRY(rgm_table_rows(&rgm_summary_desc, summary, g.count, err));
    for (size_t i = 0; i < entries->rows; i++) add_entry(run, entries, i, summary, g.of_row[i]);
    RGM_TRY(totals(run, entries, &g, summary, err));
    RGM_TRY(moments(&g, policy, summary, err));
    return rgm_order_rows(&rgm_summary_desc, summary, compare_rows, &run->strings, err);
}
