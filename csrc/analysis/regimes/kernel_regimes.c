// SPDX-License-Identifier: Apache-2.0
// What limits kernels: the verdicts as a table.
#include <math.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/order.h"
#include "analysis/regimes/kernel_verdicts.h"
#include "base/memory.h"

static void put(const rgm_view *view, const rgm_kernel_verdicts *all, uint32_t group, bool by_name,
                rgm_kernel_regimes *out) {
    const rgm_kernel_verdict *sum = &all->verdicts[group];
    const rgm_regime_verdict *v = &sum->verdict;
    uint32_t row = all->rows[all->groups.items[all->groups.first[group]]];
    out->name[group] = rgm_view_name(view, row);
    if (!by_name) out->span[group] = (rgm_i32)row;
    out->count[group] = sum->count;
    out->total_ns[group] = sum->total_ns;
    out->regime[group] = (rgm_u8)v->regime;
    out->detail[group] = (rgm_u8)v->detail;
    out->leans_to[group] = (rgm_u8)v->leans_to;
    out->reason[group] = (rgm_u8)v->reason;
    out->confidence[group] = v->confidence;
    out->source[group] = sum->source;
    out->known_share[group] = sum->total_ns > 0 ? sum->known_ns / (double)sum->total_ns : 0;
    out->operations[group] = sum->operations;
    out->bytes[group] = sum->bytes;
    out->sol_compute[group] = v->sol_compute;
    out->sol_memory[group] = v->sol_memory;
    out->floor_share[group] = v->floor_share;
    out->floor_assumed[group] = v->floor_assumed;
    out->intensity[group] = v->intensity;
    out->ridge[group] = v->ridge;
    out->model_ns[group] = v->model_ns;
    out->model_low_ns[group] = v->model_low_ns;
    out->model_high_ns[group] = v->model_high_ns;
    out->blocks_per_sm[group] = sum->blocks_per_sm;
    out->overhead_probability[group] = v->overhead_probability;
    out->memory_probability[group] = v->memory_probability;
    out->compute_probability[group] = v->compute_probability;
    out->error_probability[group] = v->error_probability;
}

static int compare(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_kernel_regimes *t = table;
    const rgm_strings *strings = context;
    if (t->total_ns[a] != t->total_ns[b]) return t->total_ns[a] > t->total_ns[b] ? -1 : 1;
    int names =
        strcmp(rgm_strings_view(strings, t->name[a]).data, rgm_strings_view(strings, t->name[b]).data);
    return names ? names : t->span[a] < t->span[b] ? -1 : t->span[a] > t->span[b];
}

rgm_status rgm_kernel_regimes_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_kernel_regimes *out, rgm_error *err) {
    RGM_RELEASED(rgm_kernel_verdicts_release) rgm_kernel_verdicts all = {0};
    bool by_name = question->group_by == RGM_VERDICTS_BY_NAME;
    double total = 0;
    if (question->group_by < RGM_VERDICTS_BY_NAME || question->group_by > RGM_VERDICTS_BY_KERNEL)
        return rgm_error_set(err, RGM_INVALID, "kernel_regimes cannot group by %d", question->group_by);
    RGM_TRY(rgm_kernel_verdicts_init(&all, view, policy, question->ceilings,
                                     (rgm_verdicts_by)question->group_by, err));
    RGM_TRY(rgm_table_rows(&rgm_kernel_regimes_desc, out, all.groups.count, err));
    for (uint32_t g = 0; g < all.groups.count; g++) {
        put(view, &all, g, by_name, out);
        total += (double)out->total_ns[g];
    }
    for (uint32_t g = 0; g < all.groups.count; g++)
        if (total > 0) out->share[g] = (double)out->total_ns[g] / total;
    return rgm_order_rows(&rgm_kernel_regimes_desc, out, compare, &view->run->strings, err);
}
