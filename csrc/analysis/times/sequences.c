// SPDX-License-Identifier: Apache-2.0
// The kernel sequences of sequence.h as tables: one row a pattern, and one row a kernel of a pattern.
#include "analysis/times/sequence.h"

#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "base/hash.h"

static rgm_name op_name(const rgm_view *view, uint32_t row) {
    int32_t op = view->op[row];
    return op < 0 ? 0 : rgm_view_name(view, (size_t)op);
}

// Of the names themselves, not of their ids: the same in every run.
static int64_t hash_names(const rgm_view *view, const uint32_t *kernels, uint32_t length) {
    uint64_t hash = length;
    for (uint32_t i = 0; i < length; i++) {
        rgm_string text = rgm_view_text(view, rgm_view_name(view, kernels[i]));
        hash = rgm_hash_mix(hash, rgm_hash_bytes(text.data, text.length));
    }
    return (int64_t)hash;
}

static int64_t count_ops(const rgm_view *view, const uint32_t *kernels, uint32_t length) {
    int64_t count = 0;
    for (uint32_t i = 0; i < length; i++)
        count += view->op[kernels[i]] >= 0 && (!i || view->op[kernels[i]] != view->op[kernels[i - 1]]);
    return count;
}

static rgm_status append(const rgm_view *view, const rgm_sequence_list *list, const rgm_sequence *s,
                         rgm_sequences *out, rgm_error *err) {
    size_t row;
    const uint32_t *kernels = list->kernels + s->at;
    RGM_TRY(rgm_table_append(&rgm_sequences_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->hash[row] = hash_names(view, kernels, s->length);
    out->length[row] = (int32_t)s->length;
    out->cut[row] = s->cut;
    out->count[row] = s->count;
    out->occurrences[row] = s->to - s->from;
    out->kernel_ns[row] = s->kernel_ns;
    out->gap_ns[row] = s->gap_ns;
    out->first_span[row] = kernels[0];
    out->last_span[row] = kernels[s->length - 1];
    out->first_name[row] = rgm_view_name(view, kernels[0]);
    out->last_name[row] = rgm_view_name(view, kernels[s->length - 1]);
    out->first_operator[row] = op_name(view, kernels[0]);
    out->last_operator[row] = op_name(view, kernels[s->length - 1]);
    out->operators[row] = count_ops(view, kernels, s->length);
    return RGM_OK;
}

rgm_status rgm_sequences_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                                 rgm_sequences *out, rgm_error *err) {
    (void)question;
    rgm_sequence_list list;
    rgm_status status = RGM_OK;
    RGM_TRY(rgm_sequence_list_find(&list, view, policy, err));
    for (size_t i = 0; i < list.count && status == RGM_OK; i++)
        status = append(view, &list, &list.found[i], out, err);
    rgm_sequence_list_release(&list);
    return status;
}
