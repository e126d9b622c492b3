// SPDX-License-Identifier: Apache-2.0
// How fast the machine was, look by look: what a picture shows.
#include "analysis/analyses.h"
#include "analysis/machine/looks.h"
#include "base/memory.h"

rgm_status rgm_machine_levels_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_machine_levels *out, rgm_error *err) {
    (void)question;
    RGM_RELEASED(rgm_looks_release) rgm_looks looks = {0};
    RGM_TRY(rgm_looks_init(&looks, view->run, policy, err));
    for (size_t s = 0; s < looks.count; s++) {
        const rgm_machine_series *series = &looks.series[s];
        for (size_t i = 0, row; i < series->count; i++) {
            RGM_TRY(rgm_table_append(&rgm_machine_levels_desc, out, RGM_ALL_COLUMNS, &row, err));
            out->sign[row] = (uint8_t)series->sign;
            out->time_ns[row] = series->time_ns[i];
            out->level[row] = series->level[i];
        }
    }
    return RGM_OK;
}
