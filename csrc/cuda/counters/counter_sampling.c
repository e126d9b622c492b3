// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/counter_sampling.h"

#include <stdio.h>

#include "base/memory.h"

struct rgm_counter_sampling {
    rgm_pm_sampling *pm;
    rgm_gpm *gpm;
    rgm_sampling_report report;
};

const rgm_counter_plan *rgm_counter_sampling_plan(const rgm_counter_sampling *sampling) {
    return sampling->pm ? rgm_pm_sampling_plan(sampling->pm) : NULL;
}

static rgm_status start_pm(rgm_counter_sampling *s, const rgm_sampling_options *options, rgm_device_sink sink,
                           rgm_error *err) {
    rgm_pm_options pm = rgm_pm_defaults();
    pm.device = options->device;
    pm.set = options->set;
    if (options->interval_ns) pm.interval_ns = options->interval_ns;
    s->report.feed = RGM_COUNTER_FEED_PM;
    return rgm_pm_sampling_start(&s->pm, &pm, sink, err);
}

static rgm_status start_gpm(rgm_counter_sampling *s, const rgm_sampling_options *options,
                            rgm_device_sink sink, rgm_error *err) {
    rgm_gpm_options gpm = rgm_gpm_defaults();
    gpm.device = options->device;
    if (options->interval_ns)
        gpm.interval_ns = options->interval_ns < RGM_GPM_LEAST_NS ? RGM_GPM_LEAST_NS : options->interval_ns;
    s->report.feed = RGM_COUNTER_FEED_GPM;
    return rgm_gpm_start(&s->gpm, &gpm, sink, err);
}

static rgm_status start_any(rgm_counter_sampling *s, const rgm_sampling_options *options,
                            rgm_device_sink sink, rgm_error *err) {
    rgm_error first = RGM_ERROR_NONE, second = RGM_ERROR_NONE;
    rgm_status status = start_pm(s, options, sink, &first);
    if (status != RGM_UNAVAILABLE) {
        if (err) *err = first;
        return status;
    }
    (void)snprintf(s->report.reason, sizeof s->report.reason, "%s", first.message);
    status = start_gpm(s, options, sink, &second);
    if (status == RGM_UNAVAILABLE)
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s; and not through NVML either: %s", first.message,
                             second.message);
    if (err) *err = second;
    return status;
}

rgm_status rgm_counter_sampling_start(rgm_counter_sampling **out, const rgm_sampling_options *options,
                                      rgm_device_sink sink, rgm_error *err) {
    rgm_status status;
    *out = NULL;
    rgm_counter_sampling *s = rgm_calloc(1, sizeof *s);
    if (!s) return rgm_error_no_memory(err);
    switch (options->feed) {
    case RGM_COUNTER_FEED_PM: status = start_pm(s, options, sink, err); break;
    case RGM_COUNTER_FEED_GPM: status = start_gpm(s, options, sink, err); break;
    default: status = start_any(s, options, sink, err);
    }
    if (status == RGM_OK)
        *out = s;
    else
        rgm_free(s);
    return status;
}

void rgm_counter_sampling_stop(rgm_counter_sampling *s, rgm_sampling_report *report) {
    if (!s) return;
    rgm_pm_sampling_stop(s->pm, &s->report.pm);
    rgm_gpm_stop(s->gpm, &s->report.gpm);
    if (report) *report = s->report;
    rgm_free(s);
}
