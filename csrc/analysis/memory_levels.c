// SPDX-License-Identifier: Apache-2.0
// What lived and was reserved after each event of an allocator.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/lifetimes.h"
#include "analysis/order.h"

rgm_status rgm_memory_levels_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_memory_levels *out, rgm_error *err) {
    (void)policy;
    (void)question;
    const rgm_memory *memory = &view->run->memory;
    rgm_lifetimes l;
    RGM_TRY(rgm_lifetimes_init(&l, view->run, err));
    rgm_status status = rgm_table_rows(&rgm_memory_levels_desc, out, l.n_events, err);
    for (size_t i = 0; status == RGM_OK && i < l.n_events; i++) {
        out->time_ns[i] = memory->time_ns[l.events[i]];
        out->device[i] = RGM_CELL(memory, device, l.events[i], -1);
        out->event[i] = l.events[i];
        out->live[i] = l.live[i];
        out->reserved[i] = l.reserved[i];
    }
    rgm_lifetimes_release(&l);
    return status;
}
