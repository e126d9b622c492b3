// SPDX-License-Identifier: Apache-2.0
// Copies and sets of each device by direction and kind of memory.
#include "analysis/analyses.h"
#include "analysis/keyed.h"
#include "analysis/stats.h"
#include "analysis/waiting/copies.h"
#include "analysis/waiting/hosts.h"
#include "analysis/waiting/streams.h"
#include "base/memory.h"

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    rgm_hosts hosts;
    uint32_t *rows; // of copies, by device, in order of start
    uint64_t *keys;
    size_t count;
    rgm_keyed groups;
    int64_t *values, *scratch;
} copies;

static uint64_t key_of(const rgm_view *view, uint32_t row) {
    rgm_copy copy = rgm_copy_of(view, row);
    return (uint64_t)rgm_view_device(view, row) << 24 | (uint64_t)copy.direction << 16 |
           (uint64_t)copy.source << 8 | (uint64_t)copy.target;
}

static rgm_status copies_init(copies *c, rgm_error *err) {
    const rgm_view *view = c->view;
    RGM_TRY(RGM_ROWS(c->rows, view->n_work, err));
    RGM_TRY(RGM_ROWS(c->keys, view->n_work, err));
    RGM_TRY(RGM_ROWS(c->values, view->n_work, err));
    RGM_TRY(RGM_ROWS(c->scratch, view->n_work, err));
    for (size_t w = 0; w < view->n_work; w++) {
        if (!rgm_copy_is(view, view->work[w])) continue;
        c->rows[c->count] = view->work[w];
        c->keys[c->count++] = key_of(view, view->work[w]);
    }
    RGM_TRY(rgm_hosts_init(&c->hosts, view, err));
    return rgm_keyed_init(&c->groups, c->keys, c->count, err);
}

static void copies_release(copies *c) {
    rgm_hosts_release(&c->hosts);
    rgm_keyed_release(&c->groups);
    rgm_free(c->rows);
    rgm_free(c->keys);
    rgm_free(c->values);
    rgm_free(c->scratch);
}

static void count_copy(const copies *c, rgm_copy_times *out, size_t row, uint32_t copy) {
    const rgm_view *view = c->view;
    int64_t bytes = rgm_view_bytes(view, copy), duration = view->run->spans.duration_ns[copy];
    int32_t launch = view->launch[copy];
    out->count[row]++;
    out->total_ns[row] = rgm_add_bounded(out->total_ns[row], duration);
    if (launch >= 0) {
        out->synchronous[row] += c->hosts.call_class[rgm_view_name(view, (size_t)launch)] == RGM_CALL_COPY;
        out->blocking[row] += rgm_hosts_blocks_for(&c->hosts, (uint32_t)launch, copy);
    }
    if (bytes < 0) {
        out->unknown_bytes[row]++;
        return;
    }
    out->bytes[row] = rgm_add_bounded(out->bytes[row], bytes);
    out->small[row] += (double)bytes < c->policy->small_copy_bytes;
    double rate = (double)bytes / (double)duration * 1e9;
    if (duration > 0 && !(rate <= out->peak_bandwidth[row])) out->peak_bandwidth[row] = rate;
}

static rgm_status put_unions(copies *c, rgm_copy_times *out, size_t row, const uint32_t *items, size_t count,
                             rgm_error *err) {
    const rgm_view *view = c->view;
    RGM_RELEASED(rgm_coverage_release) rgm_coverage all = {0}, known = {0};
    size_t n_known = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t copy = c->rows[items[i]];
        RGM_TRY(rgm_coverage_add(&all, rgm_view_start(view, copy), rgm_view_end(view, copy), err));
        if (rgm_view_bytes(view, copy) < 0) continue;
        RGM_TRY(rgm_coverage_add(&known, rgm_view_start(view, copy), rgm_view_end(view, copy), err));
        c->values[n_known++] = rgm_view_bytes(view, copy);
    }
    out->union_ns[row] = rgm_coverage_total(&all);
    int64_t active = rgm_coverage_total(&known);
    if (active) out->bandwidth[row] = (double)out->bytes[row] / (double)active * 1e9;
    out->median_bytes[row] = rgm_spread_of(c->values, n_known, c->scratch, 1).median;
    return RGM_OK;
}

static rgm_status put_group(copies *c, rgm_copy_times *out, size_t group, rgm_error *err) {
    const uint32_t *items = c->groups.items + c->groups.first[group];
    size_t count = c->groups.first[group + 1] - c->groups.first[group], row;
    rgm_copy copy = rgm_copy_of(c->view, c->rows[items[0]]);
    RGM_TRY(rgm_table_append(&rgm_copy_times_desc, out, RGM_ALL_COLUMNS, &row, err));
    RGM_PUT_DEVICE(out, row, c->view, rgm_view_device(c->view, c->rows[items[0]]));
    out->direction[row] = (rgm_u8)copy.direction;
    out->source[row] = (rgm_u8)copy.source;
    out->target[row] = (rgm_u8)copy.target;
    for (size_t i = 0; i < count; i++) count_copy(c, out, row, c->rows[items[i]]);
    return put_unions(c, out, row, items, count, err);
}

rgm_status rgm_copy_times_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_copy_times *out, rgm_error *err) {
    (void)question;
    copies c = {.view = view, .policy = policy};
    rgm_status status = copies_init(&c, err);
    for (size_t g = 0; status == RGM_OK && g < c.groups.count; g++) status = put_group(&c, out, g, err);
    copies_release(&c);
    return status;
}
