// SPDX-License-Identifier: Apache-2.0
// Histogram of kernel durations in classes that double, and how many kernels their launch outlasts.
#include "analysis/analyses.h"
#include "analysis/waiting/launched.h"
#include "analysis/waiting/streams.h"
#include "base/memory.h"

enum { CLASSES = 56, FIRST_NS = 1000 };

typedef struct {
    int64_t count, total_ns, launched, launch_bound;
} bucket;

// Class 0 is below FIRST_NS; class c holds FIRST_NS << (c - 1) up to FIRST_NS << c.
static int class_of(int64_t duration) {
    int class = 0;
    for (int64_t thousands = duration / FIRST_NS; thousands; thousands >>= 1) class ++;
    return class;
}

static int64_t low_of(int class) { return class ? (int64_t)FIRST_NS << (class - 1) : 0; }

static bool is_kernel(const rgm_view *view, uint32_t row) {
    rgm_kind kind = rgm_view_kind(view, row);
    return kind == RGM_KIND_KERNEL || kind == RGM_KIND_ACCELERATOR;
}

static bucket *bucket_of(const rgm_view *view, bucket *buckets, uint32_t row) {
    size_t first = (size_t)rgm_view_device(view, row) * CLASSES;
    return &buckets[first + (size_t)class_of(view->run->spans.duration_ns[row])];
}

static void count_kernels(const rgm_view *view, bucket *buckets) {
    for (size_t w = 0; w < view->n_work; w++) {
        uint32_t row = view->work[w];
        if (!is_kernel(view, row)) continue;
        bucket *b = bucket_of(view, buckets, row);
        b->count++;
        b->total_ns = rgm_add_bounded(b->total_ns, view->run->spans.duration_ns[row]);
        b->launched += view->launch[row] >= 0;
    }
    for (size_t call = 0; call < view->n_spans; call++) {
        if (!rgm_launched_count(view, call) || !rgm_launched_is_bound(view, call)) continue;
        for (uint32_t i = view->launched_first[call]; i < view->launched_first[call + 1]; i++)
            if (is_kernel(view, view->launched[i]))
                bucket_of(view, buckets, view->launched[i])->launch_bound++;
    }
}

static rgm_status put_device(const rgm_view *view, size_t d, const bucket *buckets, rgm_short_kernels *out,
                             rgm_error *err) {
    int64_t count = 0, total = 0;
    int classes = 0;
    for (int c = 0; c < CLASSES; c++) {
        count += buckets[c].count;
        total = rgm_add_bounded(total, buckets[c].total_ns);
        if (buckets[c].count) classes = c + 1;
    }
    for (int c = 0; c < classes; c++) {
        size_t row;
        RGM_TRY(rgm_table_append(&rgm_short_kernels_desc, out, RGM_ALL_COLUMNS, &row, err));
        RGM_PUT_DEVICE(out, row, view, d);
        out->low_ns[row] = low_of(c);
        out->high_ns[row] = low_of(c + 1);
        out->count[row] = buckets[c].count;
        out->total_ns[row] = buckets[c].total_ns;
        out->count_share[row] = (double)buckets[c].count / (double)count;
        if (total) out->time_share[row] = (double)buckets[c].total_ns / (double)total;
        out->launched[row] = buckets[c].launched;
        out->launch_bound[row] = buckets[c].launch_bound;
        if (buckets[c].launched)
            out->launch_bound_share[row] = (double)buckets[c].launch_bound / (double)buckets[c].launched;
    }
    return RGM_OK;
}

rgm_status rgm_short_kernels_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_short_kernels *out, rgm_error *err) {
    (void)policy;
    (void)question;
    bucket *buckets = rgm_calloc(view->n_devices * CLASSES + 1, sizeof *buckets);
    if (!buckets) return rgm_error_no_memory(err);
    count_kernels(view, buckets);
    rgm_status status = RGM_OK;
    for (size_t d = 0; status == RGM_OK && d < view->n_devices; d++)
        status = put_device(view, d, buckets + d * CLASSES, out, err);
    rgm_free(buckets);
    return status;
}
