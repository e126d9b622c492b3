// SPDX-License-Identifier: Apache-2.0
// Lines and functions by how often samples of host stacks found a thread there. A function that is several
// times in a stack counts once.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/order.h"
#include "analysis/times/stack_places.h"
#include "base/memory.h"

typedef struct {
    const rgm_view *view;
    const rgm_run *run;
    rgm_stack_places places;
    int64_t *found;  // [stacks * RGM_SAMPLE_STATE_COUNT] samples in a stack and state
    int64_t *states; // [places * RGM_SAMPLE_STATE_COUNT] samples of the total
} counting;

static void counting_release(counting *c) {
    rgm_stack_places_release(&c->places);
    rgm_free(c->found);
    rgm_free(c->states);
}

static rgm_status counting_init(counting *c, rgm_place_kind kind, rgm_error *err) {
    size_t rows = c->run->stacks.rows;
    RGM_TRY(rgm_stack_places_init(&c->places, c->view, kind, err));
    c->found = rgm_calloc((rows + 1) * RGM_SAMPLE_STATE_COUNT, sizeof *c->found);
    c->states = rgm_calloc((c->places.count + 1) * RGM_SAMPLE_STATE_COUNT, sizeof *c->states);
    return c->found && c->states ? RGM_OK : rgm_error_no_memory(err);
}

static void add_stack(counting *c, size_t stack, rgm_lines *out) {
    const int64_t *found = &c->found[stack * RGM_SAMPLE_STATE_COUNT];
    int64_t sum = 0;
    for (int state = 0; state < RGM_SAMPLE_STATE_COUNT; state++) sum += found[state];
    if (!sum) return;
    out->self[c->places.of_stack[stack]] += sum;
    const int32_t *parent = c->run->stacks.parent;
    for (int64_t at = (int64_t)stack; (at = rgm_stack_places_next(&c->places, stack, at)) >= 0;
         at = parent[at]) {
        uint32_t g = c->places.of_stack[at];
        out->total[g] += sum;
        for (int state = 0; state < RGM_SAMPLE_STATE_COUNT; state++)
            c->states[g * RGM_SAMPLE_STATE_COUNT + (size_t)state] += found[state];
    }
}

static double part(int64_t of, int64_t whole) { return whole ? (double)of / (double)whole : NAN; }

static void finish(const counting *c, rgm_lines *out) {
    for (size_t g = 0; g < c->places.count; g++) {
        const int64_t *states = &c->states[g * RGM_SAMPLE_STATE_COUNT];
        out->function[g] = c->run->stacks.function[c->places.first[g]];
        out->file[g] = c->run->stacks.file[c->places.first[g]];
        out->line[g] = rgm_stack_place_line(&c->places, g);
        out->self_share[g] = part(out->self[g], (int64_t)c->run->samples.rows);
        out->total_share[g] = part(out->total[g], (int64_t)c->run->samples.rows);
        int64_t running = 0;
        for (int state = 0; state < RGM_SAMPLE_STATE_COUNT; state++)
            if (rgm_sample_runs((rgm_sample_state)state)) running += states[state];
        int64_t rest = states[RGM_SAMPLE_WAITING_FOR_LOCK] + states[RGM_SAMPLE_WAITING_FOR_PROCESSOR] +
                       states[RGM_SAMPLE_UNKNOWN];
        out->running_share[g] = part(running, out->total[g]);
        out->lock_share[g] = part(states[RGM_SAMPLE_WAITING_FOR_LOCK], out->total[g]);
        out->processor_share[g] = part(states[RGM_SAMPLE_WAITING_FOR_PROCESSOR], out->total[g]);
        out->waiting_share[g] = part(out->total[g] - running - rest, out->total[g]);
    }
}

static int compare(const void *table, const void *context, uint32_t x, uint32_t y) {
    const rgm_lines *t = table;
    const rgm_strings *strings = context;
    if (t->self[x] != t->self[y]) return t->self[x] > t->self[y] ? -1 : 1;
    if (t->total[x] != t->total[y]) return t->total[x] > t->total[y] ? -1 : 1;
    int by_file =
        strcmp(rgm_strings_view(strings, t->file[x]).data, rgm_strings_view(strings, t->file[y]).data);
    return by_file ? by_file : (t->line[x] > t->line[y]) - (t->line[x] < t->line[y]);
}

rgm_status rgm_lines_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                             rgm_lines *out, rgm_error *err) {
    (void)policy;
    RGM_RELEASED(counting_release) counting c = {.view = view, .run = view->run};
    const rgm_samples *samples = &view->run->samples;
    RGM_TRY(counting_init(&c, (rgm_place_kind)question->group_by, err));
    RGM_TRY(rgm_table_rows(&rgm_lines_desc, out, c.places.count, err));
    for (size_t i = 0; i < samples->rows; i++)
        c.found[samples->stack[i] * (size_t)RGM_SAMPLE_STATE_COUNT + samples->state[i]]++;
    for (size_t i = 0; c.places.count && i < view->run->stacks.rows; i++) add_stack(&c, i, out);
    finish(&c, out);
    return rgm_order_rows(&rgm_lines_desc, out, compare, &view->run->strings, err);
}
