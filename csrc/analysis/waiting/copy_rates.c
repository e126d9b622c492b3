// SPDX-License-Identifier: Apache-2.0
// The bandwidth of copies, weighted by time.
#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/waiting/bandwidth.h"
#include "analysis/waiting/streams.h"
#include "base/memory.h"
#include "base/sort.h"

typedef struct {
    int64_t bandwidth, length_ns;
} held; // how long a bandwidth held

// The times in which copies of a series ran, ascending by bandwidth; `out` has room for all its steps.
static rgm_status hold(const rgm_bandwidth *bandwidth, const rgm_bandwidth_series *series, held *out,
                       size_t *count, rgm_error *err) {
    size_t steps = series->end - series->first, n = 0;
    uint64_t *keys = rgm_malloc((steps + 1) * sizeof *keys);
    uint32_t *order = rgm_malloc((steps + 1) * sizeof *order);
    rgm_status status = keys && order ? RGM_OK : rgm_error_no_memory(err);
    const rgm_bandwidth_step *step = bandwidth->steps + series->first;
    for (size_t i = 0; status == RGM_OK && i < steps; i++) keys[i] = rgm_sort_key_i64(step[i].bandwidth);
    if (status == RGM_OK) status = rgm_sort_order(keys, steps, order, err);
    for (size_t i = 0; status == RGM_OK && i < steps; i++) {
        const rgm_bandwidth_step *here = &step[order[i]];
        if (here->active)
            out[n++] = (held){here->bandwidth, rgm_subtract_bounded(here[1].time_ns, here->time_ns)};
    }
    *count = n;
    rgm_free(keys);
    rgm_free(order);
    return status;
}

// The smallest bandwidth that is not exceeded for at least the share q of the time.
static double quantile(const held *held_for, size_t count, double active, double q) {
    double passed = 0;
    for (size_t i = 0; i < count; i++) {
        passed += (double)held_for[i].length_ns;
        if (passed >= q * active) return (double)held_for[i].bandwidth;
    }
    return NAN;
}

static rgm_status put(rgm_copy_rates *out, const rgm_view *view, const rgm_policy *policy,
                      const rgm_bandwidth_series *series, const held *held_for, size_t count,
                      rgm_error *err) {
    size_t row;
    double moved = 0;
    RGM_TRY(rgm_table_append(&rgm_copy_rates_desc, out, RGM_ALL_COLUMNS, &row, err));
    RGM_PUT_DEVICE(out, row, view, series->device);
    out->direction[row] = (rgm_u8)series->direction;
    out->left_out[row] = series->left_out;
    if (!count) return RGM_OK;
    for (size_t i = 0; i < count; i++) {
        out->active_ns[row] = rgm_add_bounded(out->active_ns[row], held_for[i].length_ns);
        moved += (double)held_for[i].bandwidth * (double)held_for[i].length_ns;
    }
    double active = (double)out->active_ns[row];
    out->mean[row] = moved / active;
    out->median[row] = quantile(held_for, count, active, 0.5);
    out->p95[row] = quantile(held_for, count, active, policy->percentile_tail);
    out->max[row] = held_for[count - 1].bandwidth;
    return RGM_OK;
}

rgm_status rgm_copy_rates_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_copy_rates *out, rgm_error *err) {
    (void)question;
    RGM_RELEASED(rgm_bandwidth_release) rgm_bandwidth bandwidth = {0};
    RGM_TRY(rgm_bandwidth_init(&bandwidth, view, err));
    size_t steps = bandwidth.count ? bandwidth.series[bandwidth.count - 1].end : 0, count;
    RGM_FREED held *held_for = rgm_malloc((steps + 1) * sizeof *held_for);
    if (!held_for) return rgm_error_no_memory(err);
    for (size_t s = 0; s < bandwidth.count; s++) {
        RGM_TRY(hold(&bandwidth, &bandwidth.series[s], held_for, &count, err));
        RGM_TRY(put(out, view, policy, &bandwidth.series[s], held_for, count, err));
    }
    return RGM_OK;
}
