// SPDX-License-Identifier: Apache-2.0
// What the user or a library named: time on the host, and device work launched inside on the same thread.
// Rows are ordered by host time, the longest first, then by device time, ties by name.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "analysis/times/enclosing.h"
#include "base/memory.h"

typedef struct {
    const rgm_view *view;
    size_t count;    // of annotations, host and device
    uint32_t *rows;  // [count]
    uint64_t *keys;  // [count] names
    int32_t *around; // [n_spans] innermost host annotation at the span
    int32_t *group;  // [n_spans] of a host annotation, -1
    rgm_groups groups;
    uint32_t *seen;   // [groups] last piece of work + 1 or launch + 1 that was counted
    int64_t *covered; // [groups] end of what is counted as busy on the device of the moment
    int32_t *device;  // [groups] that device
    uint8_t *cut;     // [groups] an annotation lies too deep to be followed
} annotations;

static void annotations_release(annotations *a) {
    rgm_free(a->rows);
    rgm_free(a->keys);
    rgm_free(a->around);
    rgm_free(a->group);
    rgm_free(a->seen);
    rgm_free(a->covered);
    rgm_free(a->device);
    rgm_free(a->cut);
    rgm_groups_release(&a->groups);
}

static bool is_annotation(rgm_kind kind) {
    return kind == RGM_KIND_ANNOTATION || kind == RGM_KIND_DEVICE_ANNOTATION;
}

static rgm_status find(annotations *a, rgm_error *err) {
    const rgm_view *view = a->view;
    size_t most = 0;
    for (size_t i = 0; i < view->n_spans; i++) most += is_annotation(rgm_view_kind(view, i));
    a->rows = rgm_malloc((most + 1) * sizeof *a->rows);
    a->keys = rgm_malloc((most + 1) * sizeof *a->keys);
    a->around = rgm_malloc((view->n_spans + 1) * sizeof *a->around);
    a->group = rgm_malloc((view->n_spans + 1) * sizeof *a->group);
    if (!a->rows || !a->keys || !a->around || !a->group) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++) {
        a->group[i] = -1;
        if (!is_annotation(rgm_view_kind(view, i))) continue;
        a->keys[a->count] = rgm_view_name(view, i);
        a->rows[a->count++] = (uint32_t)i;
    }
    RGM_TRY(rgm_groups_init(&a->groups, a->keys, a->count, err));
    for (size_t i = 0; i < a->count; i++) a->group[a->rows[i]] = (int32_t)a->groups.of[i];
    const rgm_kind kind = RGM_KIND_ANNOTATION;
    rgm_enclosing(view, rgm_is_kind, &kind, a->around);
    size_t groups = (size_t)a->groups.count + 1;
    a->seen = rgm_calloc(groups, sizeof *a->seen);
    a->covered = rgm_calloc(groups, sizeof *a->covered);
    a->device = rgm_malloc(groups * sizeof *a->device);
    a->cut = rgm_calloc(groups, 1);
    if (!a->seen || !a->covered || !a->device || !a->cut) return rgm_error_no_memory(err);
    memset(a->device, 0xFF, groups * sizeof *a->device);
    return RGM_OK;
}

static void add_annotation(const annotations *a, size_t i, rgm_annotation_times *out) {
    uint32_t row = a->rows[i], g = a->groups.of[i];
    int64_t duration = a->view->run->spans.duration_ns[row];
    bool host = rgm_view_kind(a->view, row) == RGM_KIND_ANNOTATION;
    rgm_i64 *count = host ? out->calls : out->device_calls;
    rgm_i64 *total = host ? out->total_ns : out->device_total_ns;
    rgm_i64 *min = host ? out->min_ns : out->device_min_ns;
    rgm_i64 *max = host ? out->max_ns : out->device_max_ns;
    out->name[g] = rgm_view_name(a->view, row);
    if (!count[g]++) min[g] = duration;
    if (duration < min[g]) min[g] = duration;
    if (duration > max[g]) max[g] = duration;
    total[g] = rgm_add_bounded(total[g], duration);
}

// Work comes by device and in order of start, so that of a name is covered up to one end.
static void add_busy(annotations *a, uint32_t g, uint32_t row, rgm_annotation_times *out) {
    int64_t start = rgm_view_start(a->view, row), end = rgm_view_end(a->view, row);
    int32_t device = rgm_view_device(a->view, row);
    if (a->device[g] == device && start < a->covered[g]) start = a->covered[g];
    if (a->device[g] != device || end > a->covered[g]) a->covered[g] = end;
    a->device[g] = device;
    if (end > start) out->busy_ns[g] = rgm_add_bounded(out->busy_ns[g], end - start);
}

static void add_work(annotations *a, uint32_t g, uint32_t row, rgm_annotation_times *out) {
    rgm_kind kind = rgm_view_kind(a->view, row);
    if (kind == RGM_KIND_MEMCPY || kind == RGM_KIND_MEMSET)
        out->copies[g]++;
    else
        out->kernels[g]++;
    out->device_ns[g] = rgm_add_bounded(out->device_ns[g], a->view->run->spans.duration_ns[row]);
    add_busy(a, g, row, out);
}

// Every name around `at`, once, is given to the work (or the launch, where `work` is false). What is nested
// deeper than the policy allows is not followed, or a hostile file would cost depth times launches.
static void climb(annotations *a, int32_t at, uint32_t row, bool work, int64_t deepest, uint32_t mark,
                  rgm_annotation_times *out) {
    for (int64_t depth = 0; at >= 0; depth++) {
        uint32_t g = (uint32_t)a->group[at];
        if (depth >= deepest) {
            a->cut[g] = 1;
            return;
        }
        if (a->seen[g] != mark) {
            a->seen[g] = mark;
            if (work)
                add_work(a, g, row, out);
            else
                out->launches[g]++;
        }
        at = rgm_enclosing_parent(a->view, a->around, (size_t)at);
    }
}

static void add_device_work(annotations *a, int64_t deepest, rgm_annotation_times *out) {
    const rgm_view *view = a->view;
    uint32_t mark = 0;
    for (size_t w = 0; w < view->n_work; w++) {
        int32_t launch = view->launch[view->work[w]];
        if (launch >= 0) climb(a, a->around[launch], view->work[w], true, deepest, ++mark, out);
    }
    for (size_t row = 0; row < view->n_spans; row++)
        if (view->launched_first[row + 1] > view->launched_first[row])
            climb(a, a->around[row], 0, false, deepest, ++mark, out);
}

// A name around one that was cut is cut too.
static void spread_cut(annotations *a) {
    for (size_t i = a->view->n_spans; i-- > 0;) {
        uint32_t row = a->view->lane_spans[i];
        if (a->around[row] != (int32_t)row || !a->cut[a->group[row]]) continue;
        int32_t around = rgm_enclosing_parent(a->view, a->around, row);
        if (around >= 0) a->cut[a->group[around]] = 1;
    }
}

static void finish(const annotations *a, rgm_annotation_times *out) {
    for (size_t g = 0; g < out->rows; g++) {
        if (out->calls[g]) out->mean_ns[g] = (double)out->total_ns[g] / (double)out->calls[g];
        if (!a->cut[g]) continue;
        out->launches[g] = out->kernels[g] = out->copies[g] = out->device_ns[g] = out->busy_ns[g] = -1;
    }
}

static int compare(const void *table, const void *context, uint32_t x, uint32_t y) {
    const rgm_annotation_times *t = table;
    const rgm_strings *strings = context;
    if (t->total_ns[x] != t->total_ns[y]) return t->total_ns[x] > t->total_ns[y] ? -1 : 1;
    if (t->device_total_ns[x] != t->device_total_ns[y])
        return t->device_total_ns[x] > t->device_total_ns[y] ? -1 : 1;
    return strcmp(rgm_strings_view(strings, t->name[x]).data, rgm_strings_view(strings, t->name[y]).data);
}

rgm_status rgm_annotation_times_compute(const rgm_view *view, const rgm_policy *policy,
                                        const rgm_question *question, rgm_annotation_times *out,
                                        rgm_error *err) {
    (void)question;
    RGM_RELEASED(annotations_release) annotations a = {.view = view};
    RGM_TRY(find(&a, err));
    RGM_TRY(rgm_table_rows(&rgm_annotation_times_desc, out, a.groups.count, err));
    for (size_t i = 0; i < a.count; i++) add_annotation(&a, i, out);
    add_device_work(&a, policy->annotation_depth < 1e6 ? (int64_t)policy->annotation_depth : 1000000, out);
    spread_cut(&a);
    finish(&a, out);
    return rgm_order_rows(&rgm_annotation_times_desc, out, compare, &view->run->strings, err);
}
