// SPDX-License-Identifier: Apache-2.0
// The time series of a run as a page draws them: of a long one the first, lowest, highest and last sample of
// each of a number of equal stretches of time. No extreme is lost, so that a peak of one sample is still
// seen, and no value is made up: every point is a sample.
#include <math.h>

#include "analysis/analyses.h"
#include "base/memory.h"
#include "base/sort.h"

enum { POINTS_PER_STRETCH = 4 };

typedef struct {
    const rgm_counters *samples;
    uint32_t *order; // samples to draw, by series, device and time
    size_t count;
} sorted;

static int64_t time_of(const sorted *s, size_t i) { return RGM_CELL(s->samples, time_ns, s->order[i], 0); }
static double value_of(const sorted *s, size_t i) { return RGM_CELL(s->samples, value, s->order[i], NAN); }
static rgm_name name_of(const sorted *s, size_t i) { return RGM_CELL(s->samples, series, s->order[i], 0); }
static int16_t device_of(const sorted *s, size_t i) { return RGM_CELL(s->samples, device, s->order[i], -1); }

// A value that was measured over a span belongs to the span, not to a moment.
static bool is_sample(const rgm_counters *samples, size_t row) {
    return RGM_CELL(samples, span, row, -1) < 0 && !isnan(RGM_CELL(samples, value, row, NAN));
}

// Two stable sorts: by time, then by series and device.
static rgm_status sort_samples(sorted *s, rgm_error *err) {
    size_t rows = s->samples->rows, kept = 0;
    RGM_FREED uint32_t *by_time = rgm_malloc((rows + 1) * sizeof *by_time);
    RGM_FREED uint32_t *by_key = rgm_malloc((rows + 1) * sizeof *by_key);
    RGM_FREED uint64_t *keys = rgm_malloc((rows + 1) * sizeof *keys);
    s->order = rgm_malloc((rows + 1) * sizeof *s->order);
    if (!by_time || !by_key || !keys || !s->order) return rgm_error_no_memory(err);
    for (size_t i = 0; i < rows; i++) keys[i] = rgm_sort_key_i64(RGM_CELL(s->samples, time_ns, i, 0));
    RGM_TRY(rgm_sort_order(keys, rows, by_time, err));
    for (size_t i = 0; i < rows; i++)
        if (is_sample(s->samples, by_time[i])) by_time[kept++] = by_time[i];
    for (size_t i = 0; i < kept; i++)
        keys[i] = (uint64_t)RGM_CELL(s->samples, series, by_time[i], 0) << 16 |
                  (uint16_t)(RGM_CELL(s->samples, device, by_time[i], -1) + 1);
    RGM_TRY(rgm_sort_order(keys, kept, by_key, err));
    for (size_t i = 0; i < kept; i++) s->order[i] = by_time[by_key[i]];
    s->count = kept;
    return RGM_OK;
}

// `since` is the number of samples that the row stands for.
static rgm_status add_point(const sorted *s, size_t i, size_t since, rgm_counter_points *out,
                            rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_counter_points_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->series[row] = name_of(s, i);
    out->device[row] = device_of(s, i);
    out->time_ns[row] = time_of(s, i);
    out->value[row] = value_of(s, i);
    out->count[row] = (rgm_i64)since;
    return RGM_OK;
}

// First, lowest, highest and last of the samples [from, to) in order, each once.
static rgm_status add_stretch(const sorted *s, size_t from, size_t to, rgm_counter_points *out,
                              rgm_error *err) {
    size_t low = from, high = from;
    for (size_t i = from; i < to; i++) {
        if (value_of(s, i) < value_of(s, low)) low = i;
        if (value_of(s, i) > value_of(s, high)) high = i;
    }
    const size_t chosen[POINTS_PER_STRETCH] = {from, low < high ? low : high, low < high ? high : low,
                                               to - 1};
    size_t last = from - 1; // wraps for the very first, and back by the addition below
    for (int k = 0; k < POINTS_PER_STRETCH; k++) {
        if (k > 0 && chosen[k] == chosen[k - 1]) continue;
        RGM_TRY(add_point(s, chosen[k], chosen[k] - last, out, err));
        last = chosen[k];
    }
    return RGM_OK;
}

static rgm_status add_series(const sorted *s, size_t from, size_t to, size_t most, rgm_counter_points *out,
                             rgm_error *err) {
    if (to - from <= most) {
        for (size_t i = from; i < to; i++) RGM_TRY(add_point(s, i, 1, out, err));
        return RGM_OK;
    }
    size_t stretches = most / POINTS_PER_STRETCH ? most / POINTS_PER_STRETCH : 1;
    double begin = (double)time_of(s, from), whole = (double)time_of(s, to - 1) - begin;
    double scale = whole > 0 ? (double)stretches / whole : 0;
    while (from < to) {
        double stretch = floor(((double)time_of(s, from) - begin) * scale);
        size_t next = from + 1;
        while (next < to && floor(((double)time_of(s, next) - begin) * scale) <= stretch) next++;
        RGM_TRY(add_stretch(s, from, next, out, err));
        from = next;
    }
    return RGM_OK;
}

rgm_status rgm_counter_points_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_counter_points *out, rgm_error *err) {
    (void)question;
    sorted s = {.samples = &view->run->counters};
    rgm_status status = RGM_OK;
    size_t most = policy->counter_max_points > 1 ? (size_t)policy->counter_max_points : 1;
    RGM_GOTO(sort_samples(&s, err));
    for (size_t from = 0, to; from < s.count; from = to) {
        for (to = from + 1; to < s.count; to++)
            if (name_of(&s, to) != name_of(&s, from) || device_of(&s, to) != device_of(&s, from)) break;
        RGM_GOTO(add_series(&s, from, to, most, out, err));
    }
done:
    rgm_free(s.order);
    return status;
}
