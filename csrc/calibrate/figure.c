// SPDX-License-Identifier: Apache-2.0
#include "calibrate/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"

enum { TRIALS = 2, MOST_BATCHES = 1000, MOST_SAMPLES = 1000 };

void rgm_figures_clear(rgm_figures *figures) {
    for (size_t i = 0; i < RGM_CEILING_COUNT; i++) figures->at[i] = (rgm_figure){.value = NAN, .spread = NAN};
}

void rgm_figure_refuse(rgm_figures *figures, rgm_ceiling_id id, const char *format, ...) {
    rgm_figure *figure = &figures->at[id];
    va_list arguments;
    *figure = (rgm_figure){.value = NAN, .spread = NAN};
    va_start(arguments, format);
    (void)vsnprintf(figure->reason, sizeof figure->reason, format, arguments);
    va_end(arguments);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

rgm_figure rgm_figure_of(double *bests, size_t count, bool least, double least_spread) {
    rgm_figure figure = {.value = NAN, .spread = NAN};
    if (!count) return figure;
    qsort(bests, count, sizeof *bests, ascending);
    double typical = (bests[(count - 1) / 2] + bests[count / 2]) / 2;
    figure.value = least ? bests[0] : bests[count - 1];
    figure.spread = fmax(fabs(typical - figure.value) / figure.value, least_spread);
    return figure;
}

static bool better(const rgm_probe *probe, double value, double than) {
    return probe->least ? value < than : value > than;
}

static size_t bounded(double number, size_t most) {
    return number >= (double)most ? most : number >= 1 ? (size_t)number : 1;
}

// The best of a batch.
typedef struct {
    double value, stolen;
    uint32_t samples, disturbed;
    bool clean; // little was taken of it
} batch_best;

rgm_status rgm_effort_goes_on(const rgm_effort *effort, rgm_error *err) {
    bool on = !effort->goes_on || effort->goes_on(effort->arg);
    return on ? RGM_OK : rgm_error_set(err, RGM_LIMIT, "calibration: interrupted");
}

static bool is_late(const rgm_effort *effort) {
    return effort->deadline_ns && rgm_clock_monotonic_ns() > effort->deadline_ns;
}

// A value that is no positive number is an error of ours.
static rgm_status take(const rgm_probe *probe, const rgm_effort *effort, batch_best *sample, rgm_error *err) {
    double value = NAN;
    RGM_TRY(rgm_effort_goes_on(effort, err));
    RGM_TRY(probe->sample(probe->arg, probe->what, &value, err));
    if (!(value > 0) || isinf(value))
        return rgm_error_set(err, RGM_INVALID, "calibration: %s gave %g", probe->source, value);
    double stolen = probe->stolen ? *probe->stolen : 0;
    *sample = (batch_best){.value = value, .stolen = stolen, .clean = stolen <= effort->policy->stolen};
    return RGM_OK;
}

static bool is_before(const rgm_probe *probe, const batch_best *a, const batch_best *b) {
    if (a->clean != b->clean) return a->clean;
    return a->clean ? better(probe, a->value, b->value) : a->stolen < b->stolen;
}

// Of so many samples of which little was taken; of fewer where the tries or the time end before.
static rgm_status best_of(const rgm_probe *probe, size_t wanted, const rgm_effort *effort, batch_best *best,
                          rgm_error *err) {
    size_t most = wanted * bounded(effort->policy->tries, MOST_SAMPLES), clean = 0;
    uint32_t taken = 0;
    while (clean < wanted && taken < most && !(taken && is_late(effort))) {
        batch_best sample;
        RGM_TRY(take(probe, effort, &sample, err));
        if (!taken++ || is_before(probe, &sample, best)) *best = sample;
        clean += sample.clean;
    }
    best->samples = taken;
    best->disturbed = taken - (uint32_t)clean;
    return RGM_OK;
}

rgm_status rgm_probes_choose(const rgm_probe *probes, size_t count, const rgm_effort *effort, size_t *best,
                             rgm_error *err) {
    batch_best found, chosen;
    for (size_t i = 0; i < count; i++) {
        RGM_TRY(best_of(&probes[i], TRIALS, effort, &found, err));
        if (i && !better(&probes[i], found.value, chosen.value)) continue;
        chosen = found;
        *best = i;
    }
    return RGM_OK;
}

// Returns how many batches there are of each: fewer than wanted where time ends.
static rgm_status run_batches(const rgm_probe *probes, size_t count, const rgm_effort *effort,
                              batch_best *bests, size_t *batches, rgm_error *err) {
    size_t batch = bounded(RGM_EFFORT(effort, batch), MOST_SAMPLES), wanted = *batches;
    for (*batches = 0; *batches < wanted && !(*batches && is_late(effort)); ++*batches)
        for (size_t i = 0; i < count; i++)
            RGM_TRY(best_of(&probes[i], batch, effort, &bests[*batches * count + i], err));
    return RGM_OK;
}

// Of batches `step` apart. Two clean ones are enough to leave the others out; without any the least disturbed
// one is the value, and what was taken of it may be missing in it.
static rgm_figure figure_of(const batch_best *bests, size_t step, size_t batches, const rgm_probe *probe,
                            const rgm_effort *effort, double *values) {
    size_t clean = 0, count = 0;
    const batch_best *best = bests;
    uint32_t samples = 0, disturbed = 0;
    for (size_t b = 0; b < batches; b++) {
        const batch_best *one = &bests[b * step];
        clean += one->clean;
        samples += one->samples;
        disturbed += one->disturbed;
        if (is_before(probe, one, best)) best = one;
    }
    for (size_t b = 0; b < batches; b++)
        if (clean < 2 || bests[b * step].clean) values[count++] = bests[b * step].value;
    rgm_figure figure = rgm_figure_of(values, count, probe->least, effort->policy->least_spread);
    if (clean < 2) {
        double typical = figure.value * (1 + (probe->least ? figure.spread : -figure.spread));
        figure.spread = fmax(fabs(typical - best->value) / best->value, effort->policy->least_spread);
        figure.value = best->value;
    }
    if (!clean) figure.spread = fmax(figure.spread, best->stolen);
    if (probe->shared)
        figure.spread = fmax(figure.spread, effort->policy->disturbed_spread * disturbed / samples);
    figure.samples = samples;
    (void)snprintf(figure.source, sizeof figure.source, "%s", probe->source);
    return figure;
}

rgm_status rgm_probes_measure(const rgm_probe *probes, size_t count, const rgm_effort *effort,
                              rgm_figures *figures, rgm_error *err) {
    size_t batches = bounded(RGM_EFFORT(effort, batches), MOST_BATCHES);
    double *values = NULL;
    batch_best *bests = NULL;
    rgm_status status = RGM_OK;
    status = RGM_ROWS(values, batches, err);
    if (status == RGM_OK) status = RGM_ROWS(bests, count * batches, err);
    if (status == RGM_OK) status = run_batches(probes, count, effort, bests, &batches, err);
    for (size_t i = 0; status == RGM_OK && i < count; i++)
        figures->at[probes[i].id] = figure_of(&bests[i], count, batches, &probes[i], effort, values);
    rgm_free(values);
    rgm_free(bests);
    return status;
}
