// SPDX-License-Identifier: Apache-2.0
// A measured figure, and how one is made of samples.
//
// Samples come in batches, each of which gives its best. The value is the best of all: a ceiling is what can
// be reached, and what disturbs a sample only ever makes it slower. The spread is how far the median of the
// batches' bests stays behind, as a part of the value: what a batch reaches where nothing special happens.
// A probe may tell which part of a sample's time others had the processor. Samples of which that is little
// count before all others, and are looked for until there are enough, a limit of tries or the deadline; where
// there are none the least disturbed counts, and the spread is at least what was taken of it.
// Probes that are measured together take turns, a batch each, so that the batches of one lie apart in time
// and their spread tells of the machine, not of one moment.
#ifndef RGM_CALIBRATE_FIGURE_H
#define RGM_CALIBRATE_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "calibrate/policy.h"
#include "model/regimes.h"

typedef struct {
    double value, spread; // NAN: not measured
    uint32_t samples;
    char source[64];  // what was run
    char reason[256]; // why there is no value
} rgm_figure;

typedef struct {
    rgm_figure at[RGM_CEILING_COUNT];
} rgm_figures;

// How much is measured. goes_on (NULL: always) is asked before each sample; false ends the measurement. After
// deadline_ns of the monotonic clock (0: never) each probe takes one sample, if it has none yet.
typedef struct {
    const rgm_calibrate_policy *policy;
    bool quick;
    bool (*goes_on)(void *arg);
    void *arg;
    int64_t deadline_ns;
} rgm_effort;

// The value of a policy's field for this effort.
#define RGM_EFFORT(effort, field)                                                                            \
    ((effort)->quick ? (effort)->policy->field##_quick : (effort)->policy->field)

// What gives samples of one figure.
typedef struct {
    rgm_ceiling_id id;
    bool least; // a time: less is better
    rgm_status (*sample)(void *arg, int what, double *value, rgm_error *err);
    void *arg;
    int what; // for the use of `sample`
    const char *source;
    const double *stolen; // part of the last sample's time that others took; NULL: not known
    bool shared;          // other processors use what is measured, too: others disturb it from there as well
} rgm_probe;

// RGM_LIMIT where goes_on has ended the measurement: to be asked every tenth of a second of what prepares it,
// too.
rgm_status rgm_effort_goes_on(const rgm_effort *effort, rgm_error *err) RGM_NODISCARD;
void rgm_figures_clear(rgm_figures *figures);
void rgm_figure_refuse(rgm_figures *figures, rgm_ceiling_id id, const char *format, ...) RGM_PRINTF(3, 4);
// Of the best of each batch, which get sorted.
rgm_figure rgm_figure_of(double *bests, size_t count, bool least, double least_spread);
// Of probes for one figure, the place of the best by two samples each.
rgm_status rgm_probes_choose(const rgm_probe *probes, size_t count, const rgm_effort *effort, size_t *best,
                             rgm_error *err) RGM_NODISCARD;
// Measures probes of different figures in turns. RGM_LIMIT when goes_on ended it.
rgm_status rgm_probes_measure(const rgm_probe *probes, size_t count, const rgm_effort *effort,
                              rgm_figures *figures, rgm_error *err) RGM_NODISCARD;

#endif
