// SPDX-License-Identifier: Apache-2.0
// Device work by name, by type, by operator or by module. Rows are ordered by total time, the longest first,
// ties by name; what is beyond the N longest is merged call by call, not row by row, so that the figures of
// "others" are those of its calls.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "analysis/times/enclosing.h"
#include "analysis/times/kernel_types.h"
#include "base/memory.h"
#include "base/sort.h"

enum { BY_NAME, BY_TYPE, BY_OPERATOR, BY_MODULE };

typedef struct {
    const rgm_view *view;
    int by;
    size_t count;   // of work
    uint64_t *keys; // [count] what the work is grouped by: a name, or a type
    uint8_t *type;  // [n_strings] of work of that name, MIXED when not yet asked
    rgm_groups groups;
    int32_t *config; // [n_spans] row in `launches`, -1 for none
} kernels;

static void kernels_release(kernels *k) {
    rgm_free(k->keys);
    rgm_free(k->type);
    rgm_free(k->config);
    rgm_groups_release(&k->groups);
}

// A name that is at once that of a kernel and of a copy is not known to occur; the first decides.
static uint8_t type_of(kernels *k, uint32_t row) {
    rgm_name name = rgm_view_name(k->view, row);
    if (k->type[name] == RGM_KERNEL_TYPE_MIXED) k->type[name] = (uint8_t)rgm_kernel_type_of(k->view, row);
    return k->type[name];
}

static bool is_module(const rgm_view *view, size_t row, const void *names) {
    return rgm_view_kind(view, row) == RGM_KIND_PYTHON && ((const uint8_t *)names)[rgm_view_name(view, row)];
}

// Marks the names of modules, so that each is looked at once.
static void find_modules(const rgm_view *view, uint8_t *names) {
    static const char prefix[] = "nn.Module: ";
    for (size_t i = 0; i < view->n_strings; i++) {
        rgm_string text = rgm_view_text(view, (rgm_name)i);
        names[i] = text.length > sizeof prefix - 1 && memcmp(text.data, prefix, sizeof prefix - 1) == 0;
    }
}

// The module of work: that of the Python frame around its operator, or else around its launch; without
// frames, the hierarchy that was recorded with the operator.
static rgm_status module_keys(kernels *k, rgm_error *err) {
    const rgm_view *view = k->view;
    const rgm_operators *operators = &view->run->operators;
    RGM_FREED uint8_t *names = rgm_calloc(view->n_strings + 1, 1);
    RGM_FREED int32_t *frame = rgm_malloc((view->n_spans + 1) * sizeof *frame);
    RGM_FREED rgm_name *recorded = rgm_calloc(view->n_spans + 1, sizeof *recorded);
    if (!names || !frame || !recorded) return rgm_error_no_memory(err);
    find_modules(view, names);
    rgm_enclosing(view, is_module, names, frame);
    for (size_t i = 0; operators->module && i < operators->rows; i++)
        if (operators->span[i] < view->n_spans) recorded[operators->span[i]] = operators->module[i];
    for (size_t w = 0; w < k->count; w++) {
        uint32_t row = view->work[w];
        int32_t op = view->op[row], from = op >= 0 ? op : view->launch[row];
        int32_t module = from >= 0 ? frame[from] : -1;
        k->keys[w] = module >= 0 ? rgm_view_name(view, (size_t)module) : op >= 0 ? recorded[op] : 0;
    }
    return RGM_OK;
}

static rgm_status find_keys(kernels *k, rgm_error *err) {
    const rgm_view *view = k->view;
    if (k->by == BY_MODULE) return module_keys(k, err);
    for (size_t w = 0; w < k->count; w++) {
        uint32_t row = view->work[w];
        int32_t op = view->op[row];
        switch (k->by) {
        case BY_TYPE: k->keys[w] = type_of(k, row); break;
        case BY_OPERATOR: k->keys[w] = op >= 0 ? rgm_view_name(view, (size_t)op) : 0; break;
        default: k->keys[w] = rgm_view_name(view, row);
        }
    }
    return RGM_OK;
}

// --- order and others -------------------------------------------------------------------------------------

static uint64_t key_of(const kernels *k, uint32_t group) {
    return k->keys[k->groups.items[k->groups.first[group]]];
}

static int compare(const kernels *k, const int64_t *totals, uint32_t a, uint32_t b) {
    if (totals[a] != totals[b]) return totals[a] > totals[b] ? -1 : 1;
    if (k->by == BY_TYPE) return key_of(k, a) < key_of(k, b) ? -1 : 1;
    return strcmp(rgm_view_text(k->view, (rgm_name)key_of(k, a)).data,
                  rgm_view_text(k->view, (rgm_name)key_of(k, b)).data);
}

// Merge sort, bottom up; half has room for as many.
static void sort_groups(const kernels *k, const int64_t *totals, uint32_t *order, uint32_t *half) {
    size_t rows = k->groups.count;
    for (size_t width = 1; width < rows; width *= 2) {
        for (size_t from = 0; from < rows; from += 2 * width) {
            size_t middle = from + width < rows ? from + width : rows;
            size_t to = from + 2 * width < rows ? from + 2 * width : rows;
            for (size_t i = from, a = from, b = middle; i < to; i++)
                half[i] = a < middle && (b >= to || compare(k, totals, order[a], order[b]) <= 0) ? order[a++]
                                                                                                 : order[b++];
        }
        memcpy(order, half, rows * sizeof *order);
    }
}

// Numbers the groups by their rank; all from `top` on become one.
static rgm_status rank(kernels *k, uint32_t top, rgm_error *err) {
    uint32_t count = k->groups.count;
    RGM_FREED int64_t *totals = rgm_calloc((size_t)count + 1, sizeof *totals);
    RGM_FREED uint32_t *order = rgm_malloc(((size_t)count + 1) * sizeof *order);
    RGM_FREED uint32_t *place = rgm_malloc(((size_t)count + 1) * sizeof *place);
    if (!totals || !order || !place) return rgm_error_no_memory(err);
    for (size_t w = 0; w < k->count; w++) {
        uint32_t group = k->groups.of[w];
        totals[group] = rgm_add_bounded(totals[group], k->view->run->spans.duration_ns[k->view->work[w]]);
    }
    for (uint32_t g = 0; g < count; g++) order[g] = g;
    sort_groups(k, totals, order, place);
    for (uint32_t r = 0; r < count; r++) place[order[r]] = r < top ? r : top;
    return rgm_groups_merge(&k->groups, place, count > top ? top + 1 : count, k->count, err);
}

// --- figures ----------------------------------------------------------------------------------------------

typedef struct {
    double occupied_ns, known_ns;          // estimated occupancy times duration, duration where it is known
    double resident_ns, resident_known_ns; // of the theoretical one
    double limited_ns[RGM_OCCUPANCY_LIMIT_COUNT]; // of that, by what limits it
    double few_ns, grid_ns;
} configured;

static void add_config(const rgm_launches *launches, int32_t config, double duration, configured *sum) {
    if (config < 0) return;
    double occupancy = RGM_CELL(launches, estimated_occupancy, config, NAN);
    double theoretical = RGM_CELL(launches, occupancy, config, NAN);
    uint8_t limit = RGM_CELL(launches, occupancy_limit, config, 0);
    double blocks = RGM_CELL(launches, blocks_per_sm, config, NAN);
    if (!isnan(occupancy)) {
        sum->occupied_ns += occupancy * duration;
        sum->known_ns += duration;
    }
    if (!isnan(theoretical)) {
        sum->resident_ns += theoretical * duration;
        sum->resident_known_ns += duration;
        if (limit < RGM_OCCUPANCY_LIMIT_COUNT) sum->limited_ns[limit] += duration;
    }
    if (!isnan(blocks)) {
        sum->few_ns += blocks < 1 ? duration : 0;
        sum->grid_ns += duration;
    }
}

// What limits the occupancy for most of the time, of what is known.
static rgm_occupancy_limit most_limiting(const configured *sum) {
    rgm_occupancy_limit most = RGM_OCCUPANCY_LIMIT_UNKNOWN;
    for (int i = RGM_OCCUPANCY_LIMIT_UNKNOWN + 1; i < RGM_OCCUPANCY_LIMIT_COUNT; i++)
        if (sum->limited_ns[i] > (most == RGM_OCCUPANCY_LIMIT_UNKNOWN ? 0 : sum->limited_ns[most]))
            most = (rgm_occupancy_limit)i;
    return most;
}

static void describe(kernels *k, uint32_t group, rgm_kernel_times *out, int64_t *values) {
    const rgm_view *view = k->view;
    configured sum = {0};
    int32_t device = -1;
    uint32_t from = k->groups.first[group], to = k->groups.first[group + 1];
    for (uint32_t i = from; i < to; i++) {
        uint32_t row = view->work[k->groups.items[i]];
        uint8_t type = type_of(k, row), activity = (uint8_t)rgm_view_activity(view, row);
        int64_t bytes = rgm_view_bytes(view, row);
        if (i == from) {
            out->type[group] = type;
            out->activity[group] = activity;
        }
        if (out->type[group] != type) out->type[group] = RGM_KERNEL_TYPE_MIXED;
        if (out->activity[group] != activity) out->activity[group] = RGM_ACTIVITY_NONE;
        // Work is in order of device, so each device shows as one stretch.
        if (rgm_view_device(view, row) != device) out->devices[group]++;
        device = rgm_view_device(view, row);
        if (bytes >= 0)
            out->bytes[group] = rgm_add_bounded(out->bytes[group] < 0 ? 0 : out->bytes[group], bytes);
        values[i - from] = view->run->spans.duration_ns[row];
        add_config(&view->run->launches, k->config[row], (double)values[i - from], &sum);
    }
    if (sum.known_ns > 0) out->occupancy[group] = sum.occupied_ns / sum.known_ns;
    if (sum.resident_known_ns > 0)
        out->theoretical_occupancy[group] = sum.resident_ns / sum.resident_known_ns;
    out->occupancy_limit[group] = (uint8_t)most_limiting(&sum);
    if (sum.grid_ns > 0) out->few_blocks_share[group] = sum.few_ns / sum.grid_ns;
}

static rgm_status fill(kernels *k, const rgm_policy *policy, uint32_t top, uint32_t distinct,
                       rgm_kernel_times *out, rgm_error *err) {
    int64_t *values = rgm_malloc((2 * k->count + 2) * sizeof *values);
    if (!values) return rgm_error_no_memory(err);
    double all = 0;
    for (uint32_t g = 0; g < k->groups.count; g++) {
        describe(k, g, out, values);
        size_t count = k->groups.first[g + 1] - k->groups.first[g];
        rgm_distribution d = rgm_distribution_of(values, count, policy->percentile_tail, values + count);
        bool others = g == top;
        out->name[g] = others || k->by == BY_TYPE ? 0 : (rgm_name)key_of(k, g);
        out->others[g] = others;
        out->groups[g] = others ? distinct - top : 1;
        out->count[g] = d.count;
        out->total_ns[g] = d.total;
        out->min_ns[g] = d.min;
        out->max_ns[g] = d.max;
        out->mean_ns[g] = d.mean;
        out->std_dev_ns[g] = d.std_dev;
        out->median_ns[g] = d.median;
        out->p95_ns[g] = d.p95;
        all += (double)d.total;
    }
    for (uint32_t g = 0; g < k->groups.count; g++)
        if (all > 0) out->share[g] = (double)out->total_ns[g] / all;
    rgm_free(values);
    return RGM_OK;
}

static rgm_status kernels_init(kernels *k, rgm_error *err) {
    const rgm_launches *launches = &k->view->run->launches;
    k->keys = rgm_malloc((k->count + 1) * sizeof *k->keys);
    k->type = rgm_calloc(k->view->n_strings + 1, 1);
    k->config = rgm_malloc((k->view->n_spans + 1) * sizeof *k->config);
    if (!k->keys || !k->type || !k->config) return rgm_error_no_memory(err);
    memset(k->config, 0xFF, (k->view->n_spans + 1) * sizeof *k->config);
    for (size_t i = 0; i < launches->rows; i++)
        if (launches->span[i] < k->view->n_spans) k->config[launches->span[i]] = (int32_t)i;
    RGM_TRY(find_keys(k, err));
    return rgm_groups_init(&k->groups, k->keys, k->count, err);
}

rgm_status rgm_kernel_times_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_kernel_times *out, rgm_error *err) {
    RGM_RELEASED(kernels_release) kernels k = {.view = view, .by = question->group_by, .count = view->n_work};
    if (k.by < BY_NAME || k.by > BY_MODULE)
        return rgm_error_set(err, RGM_INVALID, "kernel_times cannot group by %d", k.by);
    RGM_TRY(kernels_init(&k, err));
    uint32_t distinct = k.groups.count;
    bool all = policy->kernels_top < 1 || policy->kernels_top >= distinct;
    uint32_t top = all ? distinct : (uint32_t)policy->kernels_top;
    RGM_TRY(rank(&k, top, err));
    RGM_TRY(rgm_table_rows(&rgm_kernel_times_desc, out, k.groups.count, err));
    return fill(&k, policy, top, distinct, out, err);
}
