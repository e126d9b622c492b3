// SPDX-License-Identifier: Apache-2.0
// The bandwidth of copies, change by change.
#include "analysis/analyses.h"
#include "analysis/waiting/bandwidth.h"
#include "analysis/waiting/streams.h"
#include "base/memory.h"

rgm_status rgm_copy_bandwidth_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_copy_bandwidth *out, rgm_error *err) {
    (void)policy;
    (void)question;
    RGM_RELEASED(rgm_bandwidth_release) rgm_bandwidth bandwidth = {0};
    RGM_TRY(rgm_bandwidth_init(&bandwidth, view, err));
    for (size_t s = 0; s < bandwidth.count; s++) {
        const rgm_bandwidth_series *series = &bandwidth.series[s];
        for (size_t i = series->first; i < series->end; i++) {
            size_t row;
            RGM_TRY(rgm_table_append(&rgm_copy_bandwidth_desc, out, RGM_ALL_COLUMNS, &row, err));
            RGM_PUT_DEVICE(out, row, view, series->device);
            out->direction[row] = (rgm_u8)series->direction;
            out->time_ns[row] = bandwidth.steps[i].time_ns;
            out->bandwidth[row] = bandwidth.steps[i].bandwidth;
            out->active[row] = bandwidth.steps[i].active;
        }
    }
    return RGM_OK;
}
