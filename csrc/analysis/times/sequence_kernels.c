// SPDX-License-Identifier: Apache-2.0
// The kernels of each pattern of the sequences analysis, in order, with what each of them takes over all
// occurrences.
#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/times/sequence.h"
#include "base/memory.h"
#include "base/sort.h"

// Adds up over the occurrences without overlaps, from the left; places are in order.
static void add_up(const rgm_view *view, const rgm_sequence_list *list, const rgm_sequence *s,
                   const int64_t *places, rgm_sequence_kernels *out, size_t first) {
    int64_t end = 0;
    for (size_t i = 0; i < s->to - s->from; i++) {
        if (places[i] < end) continue;
        end = places[i] + s->length;
        for (uint32_t k = 0; k < s->length; k++) {
            size_t at = (size_t)places[i] + k;
            out->total_ns[first + k] =
                rgm_add_bounded(out->total_ns[first + k], view->run->spans.duration_ns[list->kernels[at]]);
            if (k) out->gap_ns[first + k] = rgm_add_bounded(out->gap_ns[first + k], list->gap[at]);
        }
    }
}

static rgm_status append(const rgm_view *view, const rgm_sequence_list *list, size_t index, int64_t *places,
                         rgm_sequence_kernels *out, rgm_error *err) {
    const rgm_sequence *s = &list->found[index];
    size_t first = out->rows, row, n = s->to - s->from;
    for (uint32_t k = 0; k < s->length; k++) {
        uint32_t span = list->kernels[s->at + k];
        RGM_TRY(rgm_table_append(&rgm_sequence_kernels_desc, out, RGM_ALL_COLUMNS, &row, err));
        out->sequence[row] = (int32_t)index;
        out->position[row] = (int32_t)k;
        out->name[row] = rgm_view_name(view, span);
        out->span[row] = span;
        if (view->op[span] >= 0) out->op[row] = rgm_view_name(view, (size_t)view->op[span]);
        out->count[row] = s->count;
    }
    for (size_t i = 0; i < n; i++) places[i] = list->order[s->from + i];
    rgm_sort_i64(places, n, places + n);
    add_up(view, list, s, places, out, first);
    return RGM_OK;
}

rgm_status rgm_sequence_kernels_compute(const rgm_view *view, const rgm_policy *policy,
                                        const rgm_question *question, rgm_sequence_kernels *out,
                                        rgm_error *err) {
    (void)question;
    rgm_sequence_list list;
    RGM_TRY(rgm_sequence_list_find(&list, view, policy, err));
    int64_t *places = rgm_malloc((2 * list.n_kernels + 1) * sizeof *places);
    rgm_status status = places ? RGM_OK : rgm_error_no_memory(err);
    for (size_t i = 0; i < list.count && status == RGM_OK; i++)
        status = append(view, &list, i, places, out, err);
    rgm_free(places);
    rgm_sequence_list_release(&list);
    return status;
}
