// SPDX-License-Identifier: Apache-2.0
#include "model/links.h"
#include "model/numbered_calls.h"

rgm_status rgm_links_captures(rgm_run *run, rgm_error *err) {
    rgm_launches *launches = &run->launches;
    rgm_numbered_calls calls;
    bool any = false;
    for (size_t i = 0; i < launches->rows && launches->capture; i++) any = any || launches->capture[i] > 0;
    if (!any || !run->spans.correlation) return RGM_OK;
    RGM_TRY(rgm_numbered_calls_init(&calls, run, err));
    for (size_t i = 0; i < launches->rows; i++)
        if (launches->capture[i] > 0)
            launches->capture[i] = rgm_numbered_calls_find(&calls, (uint64_t)launches->capture[i]);
    rgm_numbered_calls_release(&calls);
    return RGM_OK;
}
