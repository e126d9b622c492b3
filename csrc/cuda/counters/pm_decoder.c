// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/pm_decoder.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"

// Between the end of the last sample and its decoding, when both are told by one clock.
enum { EARLIEST_NS = 2000000, LATEST_NS = 250000000 };

static void hand_over(rgm_pm_decoder *d) {
    if (d->n_rows) d->sink.counters(d->sink.arg, d->rows, d->n_rows);
    d->n_rows = 0;
}

// What to add to a time of the library to have CLOCK_MONOTONIC; the tightest of some brackets.
static int64_t clock_offset(const rgm_pm_decoder *d) {
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t theirs = 0;
        int64_t before = rgm_clock_monotonic_ns();
        if (d->library->timestamp(&theirs) != RGM_CUPTI_SUCCESS) continue;
        int64_t after = rgm_clock_monotonic_ns();
        if (after - before >= best) continue;
        best = after - before;
        offset = before + (after - before) / 2 - (int64_t)theirs;
    }
    return offset;
}

static int by_start(const void *a, const void *b) {
    const rgm_pm_place *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void lose(rgm_pm_decoder *d, int64_t samples) {
    d->overflow = false;
    d->counts.dropped += samples;
    d->sink.note(d->sink.arg, RGM_ANOMALY_DROPPED_COUNTERS, samples);
}

// Samples between the last one and this one that never came. Where the interval is one of cycles there is
// only the hardware's word that it lost some.
static void look_for_gap(rgm_pm_decoder *d, const rgm_pm_place *sample) {
    int64_t interval = d->interval_ns, gap = sample->start_ns - d->last_end;
    if (d->by_time && gap > interval / 2)
        lose(d, (gap + interval / 2) / interval);
    else if (!d->by_time && d->overflow)
        lose(d, 1);
}

static void emit(rgm_pm_decoder *d, const rgm_pm_place *sample, int64_t offset) {
    RGM_PARAMS(rgm_cupti_host_evaluate, p, values);
    double values[RGM_PLAN_ROLES];
    p.host = d->host;
    p.data = d->data;
    p.data_size = d->data_size;
    p.index = sample->index;
    p.metrics = d->metrics;
    p.count = d->n_metrics;
    p.values = values;
    if (d->library->host_evaluate(&p) != RGM_CUPTI_SUCCESS) {
        d->counts.failures++;
        return;
    }
    d->counts.samples++;
    for (size_t m = 0; m < d->n_metrics; m++) {
        if (!isfinite(values[m])) continue; // a rate of a sample in which its clock stood still
        if (d->n_rows == RGM_PM_ROWS) hand_over(d);
        d->rows[d->n_rows++] = (rgm_counter_row){.time_ns = sample->start_ns + offset,
                                                 .value = values[m],
                                                 .series = d->series[m],
                                                 .device = (int16_t)d->device};
    }
}

// CUPTI's guide has sample times on the device's clock in one place and on cuptiGetTimestamp's in another.
// The latter is taken when it puts the last sample of the first batch where a batch ends: shortly before its
// decoding, which is asked for every few milliseconds. Else the first batch is put as if it had been decoded
// at once, and what follows it at the same distance, so that the order of times is that of the samples.
static int64_t align(rgm_pm_decoder *d, int64_t last_end, int64_t now) {
    if (!d->any) {
        int64_t delay = now - (last_end + clock_offset(d));
        d->counts.guessed = delay < -EARLIEST_NS || delay > LATEST_NS;
        d->lag = now - last_end;
    }
    return d->counts.guessed ? d->lag : clock_offset(d);
}

static void take_sample(rgm_pm_decoder *d, const rgm_pm_place *sample, int64_t offset) {
    if (d->any && sample->start_ns <= d->last_start) {
        d->counts.late++;
        return;
    }
    // The first sample began before the counters were set up.
    if (d->any) {
        look_for_gap(d, sample);
        emit(d, sample, offset);
    }
    d->any = true;
    d->last_start = sample->start_ns;
    d->last_end = sample->end_ns;
}

static void read_samples(rgm_pm_decoder *d, size_t completed, int64_t now) {
    size_t n = 0;
    for (size_t i = 0; i < completed && i < d->max_samples; i++) {
        RGM_PARAMS(rgm_cupti_pm_sample_info, p, end);
        p.pm = d->object;
        p.data = d->data;
        p.data_size = d->data_size;
        p.index = i;
        if (d->library->pm_sample_info(&p) == RGM_CUPTI_SUCCESS)
            d->places[n++] = (rgm_pm_place){(int64_t)p.start, (int64_t)p.end, i};
        else
            d->counts.failures++;
    }
    if (!n) return;
    qsort(d->places, n, sizeof *d->places, by_start);
    int64_t offset = align(d, d->places[n - 1].end_ns, now);
    for (size_t i = 0; i < n; i++) take_sample(d, &d->places[i], offset);
    hand_over(d);
}

rgm_cupti_result rgm_pm_decoder_clear(const rgm_pm_decoder *d) {
    RGM_PARAMS(rgm_cupti_pm_data_initialize, p, data);
    p.pm = d->object;
    p.data_size = d->data_size;
    p.data = d->data;
    return d->library->pm_data_initialize(&p);
}

// True when there is more to decode at once.
static bool decode(rgm_pm_decoder *d) {
    RGM_PARAMS(rgm_cupti_pm_decode, p, overflow);
    RGM_PARAMS(rgm_cupti_pm_data_info, info, completed);
    p.pm = d->object;
    p.data = d->data;
    p.data_size = d->data_size;
    rgm_cupti_result result = d->library->pm_decode(&p);
    int64_t now = rgm_clock_monotonic_ns();
    if (p.overflow || result == RGM_CUPTI_OUT_OF_MEMORY) {
        d->counts.overflows++;
        d->overflow = true;
    }
    if (result != RGM_CUPTI_SUCCESS) d->counts.failures++;
    info.data = d->data;
    info.data_size = d->data_size;
    if (d->library->pm_data_info(&info) != RGM_CUPTI_SUCCESS) info.completed = 0;
    read_samples(d, info.completed, now);
    if (info.completed && rgm_pm_decoder_clear(d) != RGM_CUPTI_SUCCESS) {
        d->counts.failures++;
        return false;
    }
    return result == RGM_CUPTI_SUCCESS && p.stopped == RGM_CUPTI_STOPPED_FULL;
}

// False when there is more than one run takes.
static bool run(rgm_pm_decoder *d) {
    for (int i = 0; i < RGM_PM_DECODES; i++)
        if (!decode(d)) return true;
    return false;
}

void rgm_pm_decoder_run(rgm_pm_decoder *d) { (void)run(d); }

void rgm_pm_decoder_finish(rgm_pm_decoder *d) {
    bool all = run(d);
    if (!all || d->overflow) lose(d, 1); // at least, no later sample tells how many
}
