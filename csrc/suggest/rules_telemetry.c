// SPDX-License-Identifier: Apache-2.0
// Rules about what the device says of itself while the program runs: utilisation, memory, heat, clocks.
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suggest/suggester.h"

// Values of one series on one device, in order of the rows (which is that of time), and sorted.
typedef struct {
    double *values, *sorted;
    size_t count;
} readings;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void readings_release(readings *r) {
    rgm_free(r->values);
    rgm_free(r->sorted);
    *r = (readings){0};
}

static bool has_name(const rgm_facts *facts, size_t row, const char *series) {
    return rgm_text_is(rgm_view_text(facts->view, RGM_CELL(&facts->view->run->counters, series, row, 0)),
                       series);
}

static readings readings_of(rgm_suggester *s, const char *series, int16_t device) {
    const rgm_counters *counters = &s->facts->view->run->counters;
    readings r = {.values = rgm_malloc((counters->rows + 1) * sizeof(double)),
                  .sorted = rgm_malloc((counters->rows + 1) * sizeof(double))};
    if (!r.values || !r.sorted) {
        rgm_suggest_fail(s, rgm_error_no_memory(s->err));
        readings_release(&r);
        return r;
    }
    for (size_t i = 0; i < counters->rows; i++) {
        double value = RGM_CELL(counters, value, i, NAN);
        if (RGM_CELL(counters, device, i, -1) != device || !isfinite(value) || !has_name(s->facts, i, series))
            continue;
        r.sorted[r.count] = value;
        r.values[r.count++] = value;
    }
    qsort(r.sorted, r.count, sizeof *r.sorted, ascending);
    return r;
}

// By the nearest rank; NaN for a series that is too short for a statement.
static double quantile(const rgm_suggester *s, const readings *r, double q) {
    if ((double)r->count < s->facts->policy->suggest_samples || r->count == 0) return NAN;
    size_t at = (size_t)ceil(q * (double)r->count);
    return r->sorted[at > 0 ? at - 1 : 0];
}

#define TAIL 0.95

// Series have no span; the subject is the name of the series where the run has it.
static void open_series(rgm_suggester *s, rgm_suggestion_rule rule, const char *series) {
    const rgm_counters *counters = &s->facts->view->run->counters;
    rgm_suggest_open(s, rule);
    for (size_t i = 0; i < counters->rows && s->open.subject == 0; i++)
        if (has_name(s->facts, i, series)) s->open.subject = RGM_CELL(counters, series, i, 0);
}

static void utilization(rgm_suggester *s, int16_t device) {
    const rgm_policy *policy = s->facts->policy;
    readings load = readings_of(s, "gpu_utilization_percent", device);
    readings used = readings_of(s, "memory_used_bytes", device);
    double high = quantile(s, &load, TAIL), low = quantile(s, &load, 1 - TAIL);
    double memory = quantile(s, &used, TAIL) / s->facts->memory_total;
    if (high < policy->suggest_utilization_percent) {
        open_series(s, RGM_RULE_LOW_UTILIZATION, "gpu_utilization_percent");
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, high, policy->suggest_utilization_percent, -1);
        rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)load.count, policy->suggest_samples, -1);
        rgm_suggest_close_unbounded(s);
    }
    if (high >= policy->suggest_utilization_percent && low < policy->suggest_fluctuation_percent) {
        open_series(s, RGM_RULE_FLUCTUATING_UTILIZATION, "gpu_utilization_percent");
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, low, policy->suggest_fluctuation_percent, -1);
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, high, policy->suggest_utilization_percent, -1);
        rgm_suggest_close_unbounded(s);
    }
    if (high < policy->suggest_utilization_percent && memory < policy->suggest_batch_memory_share) {
        open_series(s, RGM_RULE_BATCH_SIZE, "gpu_utilization_percent");
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, high, policy->suggest_utilization_percent, -1);
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, memory, policy->suggest_batch_memory_share, -1);
        rgm_suggest_close_unbounded(s);
    }
    readings_release(&load);
    readings_release(&used);
}

static double extreme(const double *values, size_t from, size_t to, bool largest) {
    double found = NAN;
    for (size_t i = from; i < to; i++)
        if (isnan(found) || (largest ? values[i] > found : values[i] < found)) found = values[i];
    return found;
}

static void device_memory(rgm_suggester *s, int16_t device) {
    const rgm_policy *policy = s->facts->policy;
    readings used = readings_of(s, "memory_used_bytes", device);
    double total = s->facts->memory_total, most = quantile(s, &used, 1) / total;
    size_t third = used.count / 3;
    double before = third ? extreme(used.values, 0, third, true) : (double)NAN;
    double grown = third ? extreme(used.values, used.count - third, used.count, false) - before : (double)NAN;
    if (most >= policy->suggest_memory_full_share) {
        open_series(s, RGM_RULE_DEVICE_MEMORY_FULL, "memory_used_bytes");
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, most, policy->suggest_memory_full_share, -1);
        rgm_suggest_note(s, RGM_QUANTITY_LIMIT_BYTES, total, NAN, -1);
        rgm_suggest_close_unbounded(s);
    }
    if (!isnan(most) && grown >= policy->suggest_growth_share * total) {
        open_series(s, RGM_RULE_DEVICE_MEMORY_GROWTH, "memory_used_bytes");
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, grown / total, policy->suggest_growth_share, -1);
        rgm_suggest_note(s, RGM_QUANTITY_BYTES, grown, NAN, -1);
        rgm_suggest_close_unbounded(s);
    }
    readings_release(&used);
}

static void heat(rgm_suggester *s, int16_t device) {
    readings celsius = readings_of(s, "temperature_gpu_celsius", device);
    double limit = s->facts->policy->suggest_hot_celsius, most = quantile(s, &celsius, 1);
    if (most >= limit) {
        open_series(s, RGM_RULE_HOT_DEVICE, "temperature_gpu_celsius");
        rgm_suggest_note(s, RGM_QUANTITY_CELSIUS, most, limit, -1);
        rgm_suggest_close_unbounded(s);
    }
    readings_release(&celsius);
}

// Bits of NVML's clock event reasons: power cap and brake; heat, as driver and hardware see it.
enum { REASON_POWER = 1 << 2 | 1 << 7, REASON_HEAT = 1 << 5 | 1 << 6 };

static void slowed(rgm_suggester *s, int16_t device, rgm_suggestion_rule rule, unsigned bits) {
    readings reasons = readings_of(s, "clock_reasons", device);
    double limit = s->facts->policy->suggest_slowed_share, slow = 0;
    for (size_t i = 0; i < reasons.count; i++)
        slow += reasons.values[i] >= 0 && reasons.values[i] < (double)UINT32_MAX &&
                ((uint32_t)reasons.values[i] & bits) != 0;
    double share = reasons.count ? slow / (double)reasons.count : 0;
    if (!isnan(quantile(s, &reasons, 1)) && share >= limit) {
        open_series(s, rule, "clock_reasons");
        s->open.confidence = RGM_DEGREE_HIGH;
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, share, limit, -1);
        rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)reasons.count, NAN, -1);
        rgm_suggest_close_unbounded(s);
    }
    readings_release(&reasons);
}

static void clock_drop(rgm_suggester *s, int16_t device) {
    readings clock = readings_of(s, "clock_sm_mhz", device);
    readings load = readings_of(s, "gpu_utilization_percent", device);
    double usual = quantile(s, &clock, 0.5), highest = quantile(s, &clock, 1);
    double busy = quantile(s, &load, 0.5), limit = s->facts->policy->suggest_clock_share;
    if (usual < limit * highest && busy >= s->facts->policy->suggest_utilization_percent) {
        open_series(s, RGM_RULE_CLOCK_DROP, "clock_sm_mhz");
        rgm_suggest_note(s, RGM_QUANTITY_SHARE, usual / highest, limit, -1);
        rgm_suggest_note(s, RGM_QUANTITY_MEGAHERTZ, usual, NAN, -1);
        rgm_suggest_note(s, RGM_QUANTITY_PERCENT, busy, s->facts->policy->suggest_utilization_percent, -1);
        rgm_suggest_close_unbounded(s);
    }
    readings_release(&clock);
    readings_release(&load);
}

static bool has_series(const rgm_facts *facts, int16_t device) {
    const rgm_counters *counters = &facts->view->run->counters;
    for (size_t i = 0; i < counters->rows; i++)
        if (RGM_CELL(counters, device, i, -1) == device) return true;
    return false;
}

void rgm_suggest_telemetry(rgm_suggester *s) {
    enum { MOST_DEVICES = 64 };
    for (int16_t device = 0; device < MOST_DEVICES && s->status == RGM_OK; device++) {
        if (!has_series(s->facts, device)) continue;
        utilization(s, device);
        device_memory(s, device);
        heat(s, device);
        slowed(s, device, RGM_RULE_POWER_LIMITED, REASON_POWER);
        slowed(s, device, RGM_RULE_THERMAL_SLOWDOWN, REASON_HEAT);
        clock_drop(s, device);
    }
}
