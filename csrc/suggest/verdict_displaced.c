// SPDX-License-Identifier: Apache-2.0
#include "suggest/verdict_displaced.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "analysis/times/stack_line.h"
#include "base/memory.h"

bool rgm_verdict_is_driving(const rgm_verdict_facts *facts, size_t sample) {
    const rgm_samples *samples = &facts->view->run->samples;
    int64_t time = samples->time_ns[sample];
    return rgm_verdict_is_of_driver(facts, sample) && time >= facts->start_ns && time <= facts->end_ns &&
           rgm_stack_of_sample(facts->view, sample) >= 0;
}

// Sums over the window: what the program and its children used, what there was, what of that computed for
// whomever (or was taken by a hypervisor), and what the threads that record ran and waited.
typedef struct {
    double used, there, busy, counted, ran, waited;
} processors;

static processors look_at_processors(const rgm_verdict_facts *facts) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    processors sum = {0};
    for (size_t i = 0; i < pressure->rows; i++) {
        int64_t interval = RGM_CELL(pressure, interval_ns, i, 0), tree = RGM_CELL(pressure, tree_ns, i, -1);
        int64_t running = RGM_CELL(pressure, running_ns, i, -1), busy = RGM_CELL(pressure, busy_ns, i, -1);
        int64_t steal = RGM_CELL(pressure, steal_ns, i, -1);
        double part = rgm_verdict_part(facts, pressure->time_ns[i], interval);
        int32_t of = RGM_CELL(pressure, processors, i, -1);
        if (running >= 0) sum.ran += part * (double)running;
        if (running >= 0) sum.waited += part * (double)RGM_CELL(pressure, waiting_ns, i, 0);
        if (tree < 0 || of <= 0) continue; // a child's, whose parent's has it
        sum.used += part * (double)tree;
        sum.there += part * (double)interval * of;
        if (busy < 0) continue;
        sum.busy += part * of * (double)(busy + (steal > 0 ? steal : 0));
        sum.counted += part * (double)interval * of;
    }
    return sum;
}

// The program has them where it and its children keep most of them busy, or would without other programs.
// They had of each thread's wish the part that the recorded threads had of theirs, so what was used by that
// part is what was wanted; a thread that only waits for others tells nothing of it, nor does a program that
// got next to nothing. Where it cannot be told, they have.
void rgm_verdict_look_at_others(rgm_verdict_facts *facts) {
    const rgm_policy *policy = facts->policy;
    processors sum = look_at_processors(facts);
    bool wanted = sum.ran > 0 && sum.ran >= policy->verdict_own_told * sum.used &&
                  sum.used >= policy->verdict_own_least * sum.there &&
                  sum.used * (sum.ran + sum.waited) >= policy->verdict_own_wanted * sum.there * sum.ran;
    bool itself = !(sum.there > 0) || sum.used >= policy->verdict_own_busy * sum.there || wanted;
    double little = policy->verdict_others_least * sum.there;
    facts->alone =
        !itself && sum.counted >= sum.there && sum.busy - sum.used < little && sum.there - sum.busy >= little;
    facts->crowded = itself || facts->alone;
}

// The part of the window in which the threads that record were ready and others had the processors, by the
// kernel's count; of several threads the sum, so never less than one of them waited. 1 where nothing counts
// it.
static double share_waited(const rgm_verdict_facts *facts) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    double waited = 0, counted = 0;
    for (size_t i = 0; i < facts->n_intervals; i++) {
        uint32_t row = facts->intervals[i];
        int64_t interval = RGM_CELL(pressure, interval_ns, row, 0);
        int64_t waiting = RGM_CELL(pressure, waiting_ns, row, -1);
        int64_t throttled = RGM_CELL(pressure, throttled_ns, row, -1);
        double part = rgm_verdict_part(facts, pressure->time_ns[row], interval);
        if (waiting < 0) continue;
        waited += part * (double)(waiting + (throttled > 0 ? throttled : 0));
        counted += part * (double)interval;
    }
    double window = (double)rgm_verdict_window(facts);
    if (counted > window) counted = window;
    return counted > 0 ? waited / counted : 1;
}

// [stacks] The state in which a stack was found running most often, of those that tell how it ran; RUNNING
// where it never was. Freed by the caller.
static rgm_status find_running(const rgm_verdict_facts *facts, uint8_t **out, rgm_error *err) {
    static const rgm_sample_state told[] = {RGM_SAMPLE_NATIVE, RGM_SAMPLE_CALLING, RGM_SAMPLE_INTERPRETING};
    enum { TOLD = sizeof told / sizeof told[0] };
    const rgm_view *view = facts->view;
    size_t stacks = view->run->stacks.rows;
    RGM_FREED uint32_t *found = NULL; // [TOLD][stacks]
    RGM_TRY(RGM_ROWS(*out, stacks, err));
    RGM_TRY(RGM_ROWS(found, TOLD * stacks, err));
    memset(found, 0, TOLD * stacks * sizeof *found);
    for (size_t i = 0; i < view->run->samples.rows; i++) {
        int32_t stack = rgm_stack_of_sample(view, i);
        rgm_u8 state = RGM_CELL(&view->run->samples, state, i, RGM_SAMPLE_UNKNOWN);
        if (stack < 0 || !(facts->alone || rgm_verdict_is_driving(facts, i))) continue;
        for (size_t kind = 0; kind < TOLD; kind++)
            found[kind * stacks + (size_t)stack] += state == told[kind];
    }
    for (size_t stack = 0; stack < stacks; stack++) {
        uint32_t most = 0;
        (*out)[stack] = RGM_SAMPLE_RUNNING;
        for (size_t kind = 0; kind < TOLD; kind++)
            if (found[kind * stacks + stack] > most) {
                most = found[kind * stacks + stack];
                (*out)[stack] = told[kind];
            }
    }
    return RGM_OK;
}

// Writes which part of so many rows each has of `due`: by its weight, and no more than all of its own.
static void share_by_weight(double due, const double *weights, const double *rows, size_t count,
                            double *part) {
    enum { ROUNDS = 16 };
    memset(part, 0, count * sizeof *part);
    bool more = true;
    for (int round = 0; round < ROUNDS && more; round++) {
        double left = due, weight = 0;
        for (size_t k = 0; k < count; k++) {
            if (part[k] >= 1)
                left -= rows[k];
            else
                weight += weights[k];
        }
        more = false;
        for (size_t k = 0; k < count; k++) {
            if (part[k] >= 1 || !(rows[k] > 0)) continue;
            part[k] = fmin(1, left * weights[k] / (weight * rows[k]));
            more |= part[k] >= 1;
        }
    }
}

// [stacks] Which part of the driver's samples that found it ready at a stack was held up by the sampler;
// `due` in all. Who is held up so had a processor, so it stood where it is found running. One that others
// hold up stands where it let go of the processor, which is where it calls the system more often than
// elsewhere; where it was seldom found running, those tell as well. Freed by the caller.
static rgm_status find_held_up(const rgm_verdict_facts *facts, double due, double **out, rgm_error *err) {
    const rgm_view *view = facts->view;
    size_t stacks = view->run->stacks.rows;
    RGM_FREED double *weights = NULL, *ready = NULL;
    double seen = 0;
    RGM_TRY(RGM_ROWS(*out, stacks, err));
    RGM_TRY(RGM_ROWS(weights, stacks, err));
    RGM_TRY(RGM_ROWS(ready, stacks, err));
    memset(weights, 0, stacks * sizeof *weights);
    memset(ready, 0, stacks * sizeof *ready);
    for (size_t i = 0; i < view->run->samples.rows; i++) {
        if (!rgm_verdict_is_driving(facts, i)) continue;
        rgm_u8 state = RGM_CELL(&view->run->samples, state, i, RGM_SAMPLE_UNKNOWN);
        size_t stack = (size_t)rgm_stack_of_sample(view, i);
        weights[stack] += rgm_sample_runs((rgm_sample_state)state);
        ready[stack] += state == RGM_SAMPLE_WAITING_FOR_PROCESSOR;
        seen += state == RGM_SAMPLE_WAITING_FOR_PROCESSOR;
    }
    double told = fmax(facts->policy->verdict_held_up, DBL_EPSILON);
    for (size_t stack = 0; stack < stacks; stack++)
        weights[stack] = ready[stack] > 0 ? weights[stack] + told * ready[stack] / seen : 0;
    share_by_weight(due, weights, ready, stacks, *out);
    return RGM_OK;
}

rgm_status rgm_verdict_states(const rgm_verdict_facts *facts, uint8_t **out, rgm_error *err) {
    const rgm_view *view = facts->view;
    const rgm_samples *samples = &view->run->samples;
    uint8_t *ran_as = NULL;
    double *held_up = NULL, seen = 0, ready = 0;
    rgm_status status;
    *out = NULL;
    RGM_GOTO(RGM_ROWS(*out, samples->rows, err));
    RGM_GOTO(find_running(facts, &ran_as, err));
    for (size_t i = 0; i < samples->rows; i++) {
        rgm_u8 state = (*out)[i] = RGM_CELL(samples, state, i, RGM_SAMPLE_UNKNOWN);
        if (!rgm_verdict_is_driving(facts, i)) continue;
        seen++;
        ready += state == RGM_SAMPLE_WAITING_FOR_PROCESSOR;
    }
    RGM_GOTO(find_held_up(facts, fmax(0, ready - share_waited(facts) * seen), &held_up, err));
    double due = 0.5;
    for (size_t i = 0; i < samples->rows; i++) {
        int32_t stack = rgm_stack_of_sample(view, i);
        bool driving = rgm_verdict_is_driving(facts, i);
        if ((*out)[i] != RGM_SAMPLE_WAITING_FOR_PROCESSOR || stack < 0 || !(driving || facts->alone))
            continue;
        if (driving) due += 1 - held_up[stack];
        if (driving && due >= 1)
            due -= 1;
        else
            (*out)[i] = ran_as[stack];
    }
done:
    rgm_free(ran_as);
    rgm_free(held_up);
    if (status) {
        rgm_free(*out);
        *out = NULL;
    }
    return status;
}
