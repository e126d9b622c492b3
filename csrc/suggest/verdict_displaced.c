// SPDX-License-Identifier: Apache-2.0
#include "suggest/verdict_displaced.h"

#include "analysis/times/stack_line.h"
#include "base/memory.h"

bool rgm_verdict_is_driving(const rgm_verdict_facts *facts, size_t sample) {
    const rgm_samples *samples = &facts->view->run->samples;
    int64_t time = samples->time_ns[sample];
    return RGM_CELL(samples, thread, sample, -1) == facts->thread && time >= facts->start_ns &&
           time <= facts->end_ns && rgm_stack_of_sample(facts->view, sample) >= 0;
}

// The part of the window in which the threads that record were ready and others had the processors, by the
// kernel's count; of several threads the sum, so never less than one of them waited. 1 where nothing counts
// it.
static double share_waited(const rgm_verdict_facts *facts) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    double waited = 0, counted = 0;
    for (size_t i = 0; i < pressure->rows; i++) {
        int64_t interval = RGM_CELL(pressure, interval_ns, i, 0);
        int64_t waiting = RGM_CELL(pressure, waiting_ns, i, -1);
        int64_t throttled = RGM_CELL(pressure, throttled_ns, i, -1);
        double part = rgm_verdict_part(facts, pressure->time_ns[i], interval);
        if (waiting < 0) continue;
        waited += part * (double)(waiting + (throttled > 0 ? throttled : 0));
        counted += part * (double)interval;
    }
    double window = (double)rgm_verdict_window(facts);
    if (counted > window) counted = window; // of several processes
    return counted > 0 ? waited / counted : 1;
}

rgm_status rgm_verdict_states(const rgm_verdict_facts *facts, uint8_t **out, rgm_error *err) {
    const rgm_view *view = facts->view;
    const rgm_samples *samples = &view->run->samples;
    uint8_t *ran_as = NULL; // [stacks] the state in which a stack was last found running
    double seen = 0, ready = 0;
    rgm_status status;
    *out = NULL;
    RGM_GOTO(RGM_ROWS(*out, samples->rows, err));
    RGM_GOTO(RGM_ROWS(ran_as, view->run->stacks.rows, err));
    for (size_t i = 0; i < view->run->stacks.rows; i++) ran_as[i] = RGM_SAMPLE_RUNNING;
    for (size_t i = 0; i < samples->rows; i++) {
        rgm_u8 state = (*out)[i] = RGM_CELL(samples, state, i, RGM_SAMPLE_UNKNOWN);
        if (!rgm_verdict_is_driving(facts, i)) continue;
        if (rgm_sample_runs((rgm_sample_state)state)) ran_as[rgm_stack_of_sample(view, i)] = state;
        seen++;
        ready += state == RGM_SAMPLE_WAITING_FOR_PROCESSOR;
    }
    double kept = ready > 0 ? share_waited(facts) * seen / ready : 1, due = 0.5;
    for (size_t i = 0; i < samples->rows && kept < 1; i++) {
        if ((*out)[i] != RGM_SAMPLE_WAITING_FOR_PROCESSOR || !rgm_verdict_is_driving(facts, i)) continue;
        due += kept;
        if (due >= 1)
            due -= 1;
        else
            (*out)[i] = ran_as[rgm_stack_of_sample(view, i)];
    }
done:
    rgm_free(ran_as);
    if (status) {
        rgm_free(*out);
        *out = NULL;
    }
    return status;
}
