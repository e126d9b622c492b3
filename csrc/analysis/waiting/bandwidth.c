// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/bandwidth.h"

#include "analysis/keyed.h"
#include "base/memory.h"
#include "base/sort.h"

typedef struct {
    const rgm_view *view;
    uint32_t *rows, *by_end; // of copies; and item numbers of one group in order of end
    uint64_t *keys;
    size_t count;
    rgm_keyed groups;
} collected;

// Bytes a second. No real copy moves a petabyte a second; the bound keeps damaged files in range.
static int64_t rate_of(const rgm_view *view, uint32_t row) {
    const double most = 1e15;
    double rate = (double)rgm_view_bytes(view, row) / (double)view->run->spans.duration_ns[row] * 1e9;
    return rate < most ? (int64_t)(rate + 0.5) : (int64_t)most;
}

// Wraps where thousands of absurd copies run at once; what was added is taken away again exactly all the
// same.
static int64_t sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static bool counts(const rgm_view *view, uint32_t row) {
    return rgm_view_bytes(view, row) >= 0 && view->run->spans.duration_ns[row] > 0;
}

static rgm_status collect(collected *c, rgm_error *err) {
    const rgm_view *view = c->view;
    c->rows = rgm_malloc((view->n_work + 1) * sizeof *c->rows);
    c->by_end = rgm_malloc((view->n_work + 1) * sizeof *c->by_end);
    c->keys = rgm_malloc((view->n_work + 1) * sizeof *c->keys);
    if (!c->rows || !c->by_end || !c->keys) return rgm_error_no_memory(err);
    for (size_t w = 0; w < view->n_work; w++) {
        uint32_t row = view->work[w];
        if (!rgm_copy_is(view, row)) continue;
        c->rows[c->count] = row;
        c->keys[c->count++] =
            (uint64_t)rgm_view_device(view, row) << 8 | (uint64_t)rgm_copy_of(view, row).direction;
    }
    return rgm_keyed_init(&c->groups, c->keys, c->count, err);
}

// Of the items of a group those that count, in place; returns how many.
static size_t choose(const collected *c, uint32_t *items, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (counts(c->view, c->rows[items[i]])) items[kept++] = items[i];
    return kept;
}

static size_t follow(const collected *c, const uint32_t *items, size_t count, rgm_bandwidth_step *steps) {
    const rgm_view *view = c->view;
    size_t n = 0;
    rgm_bandwidth_step now = {0};
    for (size_t started = 0, ended = 0; ended < count;) {
        now.time_ns = rgm_view_end(view, c->rows[items[c->by_end[ended]]]);
        if (started < count && rgm_view_start(view, c->rows[items[started]]) < now.time_ns)
            now.time_ns = rgm_view_start(view, c->rows[items[started]]);
        for (; ended < count && rgm_view_end(view, c->rows[items[c->by_end[ended]]]) == now.time_ns;
             ended++) {
            now.bandwidth = sum(now.bandwidth, -rate_of(view, c->rows[items[c->by_end[ended]]]));
            now.active--;
        }
        for (; started < count && rgm_view_start(view, c->rows[items[started]]) == now.time_ns; started++) {
            now.bandwidth = sum(now.bandwidth, rate_of(view, c->rows[items[started]]));
            now.active++;
        }
        if (!n || steps[n - 1].bandwidth != now.bandwidth || steps[n - 1].active != now.active)
            steps[n++] = now;
    }
    return n;
}

static rgm_status add_series(collected *c, rgm_bandwidth *out, size_t group, size_t *steps, rgm_error *err) {
    uint32_t *items = c->groups.items + c->groups.first[group];
    size_t all = c->groups.first[group + 1] - c->groups.first[group];
    uint64_t key = c->keys[items[0]];
    size_t count = choose(c, items, all);
    uint64_t *ends = rgm_malloc((count + 1) * sizeof *ends);
    rgm_status status = ends ? RGM_OK : rgm_error_no_memory(err);
    for (size_t i = 0; ends && i < count; i++)
        ends[i] = rgm_sort_key_i64(rgm_view_end(c->view, c->rows[items[i]]));
    if (ends) status = rgm_sort_order(ends, count, c->by_end, err);
    rgm_free(ends);
    RGM_TRY(status);
    rgm_bandwidth_series *series = &out->series[out->count++];
    *series = (rgm_bandwidth_series){.device = (int32_t)(key >> 8),
                                     .direction = (rgm_copy_direction)(key & 0xFF),
                                     .first = *steps,
                                     .left_out = (int64_t)(all - count)};
    *steps += follow(c, items, count, out->steps + *steps);
    series->end = *steps;
    return RGM_OK;
}

rgm_status rgm_bandwidth_init(rgm_bandwidth *bandwidth, const rgm_view *view, rgm_error *err) {
    collected c = {.view = view};
    size_t steps = 0;
    rgm_status status;
    *bandwidth = (rgm_bandwidth){0};
    RGM_GOTO(collect(&c, err));
    bandwidth->steps = rgm_malloc((2 * c.count + 1) * sizeof *bandwidth->steps);
    bandwidth->series = rgm_malloc((c.groups.count + 1) * sizeof *bandwidth->series);
    status = bandwidth->steps && bandwidth->series ? RGM_OK : rgm_error_no_memory(err);
    for (size_t g = 0; status == RGM_OK && g < c.groups.count; g++)
        status = add_series(&c, bandwidth, g, &steps, err);
done:
    rgm_free(c.rows);
    rgm_free(c.by_end);
    rgm_free(c.keys);
    rgm_keyed_release(&c.groups);
    if (status != RGM_OK) rgm_bandwidth_release(bandwidth);
    return status;
}

void rgm_bandwidth_release(rgm_bandwidth *bandwidth) {
    rgm_free(bandwidth->steps);
    rgm_free(bandwidth->series);
    *bandwidth = (rgm_bandwidth){0};
}
