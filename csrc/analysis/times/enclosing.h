// SPDX-License-Identifier: Apache-2.0
// The innermost span of a chosen sort around each span.
#ifndef RGM_ANALYSIS_ENCLOSING_H
#define RGM_ANALYSIS_ENCLOSING_H

#include "analysis/view.h"

typedef bool (*rgm_span_selector)(const rgm_view *view, size_t row, const void *context);

// out[row]: the nearest of the span itself and its parents that is chosen, -1 for none. One pass over the
// lanes, in which parents come before their children; a parent that does not is damage and counts as none.
static inline void rgm_enclosing(const rgm_view *view, rgm_span_selector chosen, const void *context,
                                 int32_t *out) {
    for (size_t i = 0; i < view->n_spans; i++) out[i] = -1;
    for (size_t i = 0; i < view->n_spans; i++) {
        uint32_t row = view->lane_spans[i];
        int32_t parent = rgm_view_parent(view, row);
        out[row] = chosen(view, row, context) ? (int32_t)row : parent >= 0 ? out[parent] : -1;
    }
}
// The same without the span itself, from the result of the above.
static inline int32_t rgm_enclosing_parent(const rgm_view *view, const int32_t *enclosing, size_t row) {
    int32_t parent = rgm_view_parent(view, row);
    return parent >= 0 ? enclosing[parent] : -1;
}

static inline bool rgm_is_kind(const rgm_view *view, size_t row, const void *kind) {
    return rgm_view_kind(view, row) == *(const rgm_kind *)kind;
}

#endif
