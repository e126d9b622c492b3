// SPDX-License-Identifier: Apache-2.0
// Memory that only grows.
#include <math.h>
#include <string.h>

#include "analysis/memory/lifetimes.h"
#include "analysis/stats.h"
#include "analysis/times/stack_places.h"
#include "base/memory.h"
#include "suggest/verdict_facts.h"
#include "suggest/verdict_partition.h"

typedef struct {
    int64_t *time, *bytes;
    size_t count;
} series;

// Imports and the first step make what stays.
static int64_t begins(const rgm_verdict_facts *facts) {
    int64_t second = facts->n_steps > 1 ? rgm_view_start(facts->view, facts->steps[1]) : facts->start_ns;
    return second > facts->settled_ns ? second : facts->settled_ns;
}

static rgm_status resident(const rgm_verdict_facts *facts, series *out, rgm_error *err) {
    const rgm_memory *memory = &facts->view->run->memory;
    RGM_TRY(RGM_ROWS(out->time, memory->rows, err));
    RGM_TRY(RGM_ROWS(out->bytes, memory->rows, err));
    for (size_t i = 0; i < memory->rows; i++) {
        if (RGM_CELL(memory, device, i, -1) >= 0 ||
            !rgm_verdict_is_process(facts, RGM_CELL(memory, lane, i, -1)) ||
            RGM_CELL(memory, action, i, RGM_ACTION_SAMPLE) != RGM_ACTION_SAMPLE || memory->bytes[i] <= 0 ||
            memory->time_ns[i] < begins(facts) || memory->time_ns[i] > facts->end_ns)
            continue;
        out->time[out->count] = memory->time_ns[i];
        out->bytes[out->count++] = memory->bytes[i];
    }
    return RGM_OK;
}

// Medians of the fifths of the window: memory that grows is larger in each, and at the end not four times
// slower than in the middle. So is the least of each, which what comes and goes with a step leaves alone.
// Fifths of the time: of the samples, there are more where memory moves.
static void growth(rgm_verdict_facts *facts, series *s, int64_t *scratch) {
    enum { PARTS = 5, LEAST = 25, LEAST_OF_PART = 3, SLOWER = 4 };
    int64_t begin = begins(facts), length = facts->end_ns - begin;
    double level[PARTS], low[PARTS], seconds = (double)length * 1e-9;
    if (s->count < LEAST || !(seconds > 0)) return;
    for (size_t i = 0, from = 0, to = 0; i < PARTS; i++, from = to) {
        int64_t until = begin + length / PARTS * (int64_t)(i + 1);
        while (to < s->count && (i + 1 == PARTS || s->time[to] < until)) to++;
        if (to - from < LEAST_OF_PART) return;
        level[i] = rgm_spread_of(s->bytes + from, to - from, scratch, 1).median;
        low[i] = (double)s->bytes[from];
        for (size_t k = from + 1; k < to; k++) low[i] = fmin(low[i], (double)s->bytes[k]);
    }
    double early = level[2] - level[1], late = level[4] - level[3], whole = level[4] - level[1];
    for (int i = 2; i < PARTS; i++)
        if (!(level[i] > level[i - 1])) return;
    double least = fmax(facts->policy->verdict_growth_bytes, facts->policy->verdict_growth_share * level[1]);
    if (!(whole >= least) || !(late >= early / (double)SLOWER) || !(low[4] - low[1] >= whole / 2)) return;
    double rate = whole / (seconds * 3 / (double)PARTS);
    facts->causes[RGM_CAUSE_MEMORY_GROWTH] = (rgm_cause_time){.count = (int64_t)s->count,
                                                              .figure = rate,
                                                              .subject_share = whole / level[1],
                                                              .stack = -1,
                                                              .span = -1,
                                                              .found = true};
}

// Blocks that were asked for in the window and live on, by line of the program.
static void sum_kept(const rgm_verdict_facts *facts, const rgm_lifetimes *l, const rgm_stack_places *places,
                     int64_t *of_place, int64_t *total) {
    const rgm_memory *memory = &facts->view->run->memory;
    for (size_t i = 0; i < l->n_blocks; i++) {
        const rgm_lifetime *block = &l->blocks[i];
        bool kept = l->devices[block->place].place.device < 0 && block->begin >= 0 &&
                    (size_t)block->end == l->n_events;
        uint32_t event = kept ? l->events[block->begin] : 0;
        if (!kept || memory->time_ns[event] < begins(facts) ||
            !rgm_verdict_is_process(facts, RGM_CELL(memory, lane, event, -1)))
            continue;
        *total = rgm_bytes_sum(*total, block->bytes);
        if (block->stack < 0) continue;
        int64_t *of = &of_place[places->of_stack[block->stack]];
        *of = rgm_bytes_sum(*of, block->bytes);
    }
}

// Where allocations were recorded, the line that asked for most of what has stayed.
static rgm_status place_growth(rgm_verdict_facts *facts, rgm_error *err) {
    rgm_cause_time *cause = &facts->causes[RGM_CAUSE_MEMORY_GROWTH];
    RGM_RELEASED(rgm_lifetimes_release) rgm_lifetimes l = {0};
    RGM_RELEASED(rgm_stack_places_release) rgm_stack_places places = {0};
    int64_t total = 0, most = 0;
    if (!cause->found) return RGM_OK;
    RGM_TRY(rgm_lifetimes_init(&l, facts->view->run, err));
    RGM_TRY(rgm_stack_places_init(&places, facts->view, RGM_PLACES_ARE_OWN_LINES, err));
    RGM_FREED int64_t *of_place = rgm_calloc(places.count + 1, sizeof *of_place);
    RGM_TRY(of_place ? RGM_OK : rgm_error_no_memory(err));
    sum_kept(facts, &l, &places, of_place, &total);
    for (size_t i = 0; i < places.count; i++) {
        if (of_place[i] <= most) continue;
        most = of_place[i];
        cause->stack = (int32_t)places.first[i];
        cause->subject_share = (double)most / (double)total;
    }
    return RGM_OK;
}

rgm_status rgm_verdict_of_memory(rgm_verdict_facts *facts, rgm_error *err) {
    series s = {0};
    int64_t *scratch = NULL;
    rgm_status status;
    RGM_GOTO(resident(facts, &s, err));
    RGM_GOTO(RGM_ROWS(scratch, s.count, err));
    growth(facts, &s, scratch);
    RGM_GOTO(place_growth(facts, err));
done:
    rgm_free(s.time);
    rgm_free(s.bytes);
    rgm_free(scratch);
    return status;
}
