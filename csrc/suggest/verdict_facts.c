// SPDX-License-Identifier: Apache-2.0
#include "suggest/verdict_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "base/tokens.h"
#include "model/record.h"
#include "suggest/environment.h"
#include "suggest/facts.h"

// --- intervals --------------------------------------------------------------------------------------------

bool rgm_verdict_is_process(const rgm_verdict_facts *facts, int32_t lane) {
    const rgm_lanes *lanes = &facts->view->run->lanes;
    return lane < 0 || (size_t)lane >= lanes->rows || facts->lane < 0 ||
           RGM_CELL(lanes, process, lane, -1) == RGM_CELL(lanes, process, facts->lane, -1);
}

static rgm_status find_intervals(rgm_verdict_facts *facts, rgm_error *err) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    RGM_TRY(RGM_ROWS(facts->intervals, pressure->rows, err));
    RGM_TRY(rgm_sort_order_i64(pressure->time_ns, pressure->rows, facts->intervals, err));
    for (size_t i = 0; i < pressure->rows; i++)
        if (rgm_verdict_is_process(facts, RGM_CELL(pressure, lane, facts->intervals[i], -1)))
            facts->intervals[facts->n_intervals++] = facts->intervals[i];
    return RGM_OK;
}

size_t rgm_verdict_interval_at(const rgm_verdict_facts *facts, int64_t time) {
    rgm_search search = rgm_search_in(0, facts->n_intervals);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, facts->view->run->pressure.time_ns[facts->intervals[search.middle]] < time);
    return search.low;
}

// --- roles ------------------------------------------------------------------------------------------------

static const char *const role_tokens[RGM_ROLE_COUNT] = {RGM_ROLES(RGM_TOKEN)};

// How other recorders name what has a role: X(ROLE, beginning of the name).
#define FOREIGN_NAMES(X)                                                                                     \
    X(STEP, "ProfilerStep#")                                                                                 \
    X(DATA_WAIT, "enumerate(DataLoader)#")                                                                   \
    X(OPTIMIZER, "Optimizer.step#")                                                                          \
    X(ZERO_GRAD, "Optimizer.zero_grad#")                                                                     \
    X(BACKWARD, "autograd::engine::evaluate_function")                                                       \
    X(MODULE, "nn.Module: ")

static rgm_role of_category(rgm_string text) {
    for (int role = RGM_ROLE_NONE + 1; role < RGM_ROLE_COUNT; role++)
        if (rgm_text_is(text, role_tokens[role])) return (rgm_role)role;
    return RGM_ROLE_NONE;
}

static rgm_role of_name(rgm_string text) {
#define FOREIGN_NAME(role, head)                                                                             \
    if (rgm_text_begins(text, head)) return RGM_ROLE_##role;
    FOREIGN_NAMES(FOREIGN_NAME)
#undef FOREIGN_NAME
    return RGM_ROLE_NONE;
}

// Roles of texts, found once each.
typedef struct {
    uint8_t *of_category, *of_name; // [n_strings], UNKNOWN until somebody asks
} text_roles;
enum { UNASKED = 0xFF };

static uint8_t asked(const rgm_view *view, uint8_t *known, rgm_name name, rgm_role (*of)(rgm_string)) {
    if (known[name] == UNASKED) known[name] = (uint8_t)of(rgm_view_text(view, name));
    return known[name];
}

static uint8_t role_of(const rgm_view *view, text_roles *texts, size_t row) {
    switch (rgm_view_kind(view, row)) {
    case RGM_KIND_SCOPE:
        return asked(view, texts->of_category, RGM_CELL(&view->run->spans, category, row, 0), of_category);
    case RGM_KIND_ANNOTATION:
    case RGM_KIND_CPU_OP:
    case RGM_KIND_PYTHON: return asked(view, texts->of_name, rgm_view_name(view, row), of_name);
    default: return RGM_ROLE_NONE;
    }
}

// A span begins no earlier than its parent, so in the order of a lane the parent comes first; a parent on
// another lane is followed by hand.
static int32_t nearest(const rgm_verdict_facts *facts, size_t row) {
    int32_t at = (int32_t)row;
    enum { DEEPEST = 10000 };
    for (int depth = 0; at >= 0 && depth < DEEPEST; depth++) {
        if (facts->role[at] != RGM_ROLE_NONE) return at;
        at = rgm_view_parent(facts->view, (size_t)at);
        if (at >= 0 && facts->inner[at] >= -1) return facts->inner[at];
    }
    return -1;
}

static rgm_status find_roles(rgm_verdict_facts *facts, rgm_error *err) {
    enum { NOT_YET = -2 };
    const rgm_view *view = facts->view;
    text_roles texts = {NULL, NULL};
    rgm_status status = RGM_OK;
    RGM_GOTO(RGM_ROWS(texts.of_category, view->n_strings, err));
    RGM_GOTO(RGM_ROWS(texts.of_name, view->n_strings, err));
    RGM_GOTO(RGM_ROWS(facts->role, view->n_spans, err));
    RGM_GOTO(RGM_ROWS(facts->inner, view->n_spans, err));
    memset(texts.of_category, UNASKED, view->n_strings);
    memset(texts.of_name, UNASKED, view->n_strings);
    for (size_t i = 0; i < view->n_spans; i++) {
        facts->role[i] = role_of(view, &texts, i);
        facts->inner[i] = NOT_YET;
    }
    for (size_t i = 0; i < view->n_spans; i++) {
        uint32_t row = view->lane_spans[i];
        facts->inner[row] = nearest(facts, row);
    }
done:
    rgm_free(texts.of_category);
    rgm_free(texts.of_name);
    return status;
}

// --- the thread that drives the program -------------------------------------------------------------------

// A lane as the driver: its spans together and its samples, its steps, and how many samples found it at work
// in one. Its steps are counted without the first of several, in which processes that step together meet.
typedef struct {
    int64_t total, first_sample, sampled, steps, begin, end, worked;
    uint32_t at; // of the lane's spans, those before are over
} candidate;

static candidate candidate_of(const rgm_verdict_facts *facts, size_t lane) {
    const rgm_view *view = facts->view;
    candidate c = {.first_sample = -1, .at = view->lane_first[lane]};
    int64_t until = INT64_MIN, n = 0;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
        if (facts->role[row] == RGM_ROLE_STEP) {
            if (n < 2) c.steps = 0, c.begin = start;
            c.steps += end - start;
            c.end = end;
            n++;
        }
        if (end <= until) continue;
        c.total += end - (start > until ? start : until);
        until = end;
    }
    return c;
}

// Whether a time lies in a step of a lane; asked for in order.
static bool is_in_step(const rgm_verdict_facts *facts, size_t lane, int64_t time, uint32_t *at) {
    const rgm_view *view = facts->view;
    for (; *at < view->lane_first[lane + 1]; ++*at) {
        uint32_t row = view->lane_spans[*at];
        if (facts->role[row] == RGM_ROLE_STEP && rgm_view_end(view, row) > time)
            return rgm_view_start(view, row) <= time;
    }
    return false;
}

static void add_samples(const rgm_verdict_facts *facts, candidate *lanes) {
    const rgm_samples *samples = &facts->view->run->samples;
    for (size_t i = 0; i < samples->rows; i++) {
        int32_t lane = RGM_CELL(samples, lane, i, -1);
        if (lane < 0 || (size_t)lane >= facts->view->n_lanes) continue;
        int64_t time = samples->time_ns[i]; // in order
        candidate *of = &lanes[lane];
        if (of->first_sample < 0) of->first_sample = time;
        if (time - of->first_sample > of->sampled) of->sampled = time - of->first_sample;
        if (rgm_sample_works((rgm_sample_state)RGM_CELL(samples, state, i, RGM_SAMPLE_UNKNOWN)))
            of->worked += is_in_step(facts, (size_t)lane, time, &of->at);
    }
}

// Whether the steps of two lanes go on at the same time, as those of processes do that wait for each other.
static bool step_together(const rgm_verdict_facts *facts, const candidate *a, const candidate *b) {
    double both =
        (double)(a->end < b->end ? a->end : b->end) - (double)(a->begin > b->begin ? a->begin : b->begin);
    double either =
        (double)(a->end > b->end ? a->end : b->end) - (double)(a->begin < b->begin ? a->begin : b->begin);
    return both >= facts->policy->verdict_together * either;
}

static int64_t longest(const candidate *c) {
    return c->steps ? c->steps : c->total > c->sampled ? c->total : c->sampled;
}

static bool drives(const rgm_verdict_facts *facts, const candidate *a, const candidate *b) {
    if (!a->steps != !b->steps) return a->steps;
    if (a->steps && a->worked != b->worked && step_together(facts, a, b)) return a->worked > b->worked;
    return longest(a) > longest(b);
}

// That of the steps, else the one that was there longest: by its samples, or by its spans together. Of
// several the first; of processes that step together the one that works, for which the others wait.
static rgm_status find_driving_lane(rgm_verdict_facts *facts, rgm_error *err) {
    const rgm_view *view = facts->view;
    candidate *lanes = NULL;
    RGM_TRY(RGM_ROWS(lanes, view->n_lanes, err));
    for (size_t lane = 0; lane < view->n_lanes; lane++) lanes[lane] = candidate_of(facts, lane);
    add_samples(facts, lanes);
    for (size_t lane = 0; lane < view->n_lanes; lane++)
        if (view->lane_device[lane] < 0 &&
            (facts->lane < 0 || drives(facts, &lanes[lane], &lanes[facts->lane])))
            facts->lane = (int32_t)lane;
    rgm_free(lanes);
    return RGM_OK;
}

// A process that was forked may hold no scope, so no lane: the thread that has its number, else the first
// that was sampled. -1 without samples.
static int64_t sampled_thread(const rgm_run *run) {
    double process = rgm_environment_number(run, "\"pid\":");
    int64_t first = -1;
    for (size_t i = 0; i < run->samples.rows; i++) {
        int64_t thread = RGM_CELL(&run->samples, thread, i, -1);
        if ((double)thread == process) return thread;
        if (first < 0 || thread < first) first = thread;
    }
    return first;
}

static rgm_status find_steps(rgm_verdict_facts *facts, rgm_error *err) {
    const rgm_view *view = facts->view;
    size_t count = 0;
    uint32_t first = view->lane_first[facts->lane], end = view->lane_first[facts->lane + 1];
    for (uint32_t i = first; i < end; i++) count += facts->role[view->lane_spans[i]] == RGM_ROLE_STEP;
    RGM_TRY(RGM_ROWS(facts->steps, count, err));
    for (uint32_t i = first; i < end; i++) {
        uint32_t row = view->lane_spans[i];
        if (facts->role[row] == RGM_ROLE_STEP) facts->steps[facts->n_steps++] = row;
    }
    return RGM_OK;
}

// Other processes of a recording may have run before or after the one that drives it: their time is not its.
static bool of_other_process(const rgm_verdict_facts *facts, size_t row) {
    const rgm_run *run = facts->view->run;
    uint32_t lane = rgm_view_lane(facts->view, row);
    return facts->lane >= 0 && facts->view->lane_device[lane] < 0 &&
           RGM_CELL(&run->lanes, process, lane, -1) != RGM_CELL(&run->lanes, process, facts->lane, -1);
}

static bool of_one_process(const rgm_run *run) {
    for (size_t i = 1; i < run->lanes.rows; i++)
        if (RGM_CELL(&run->lanes, process, i, -1) != RGM_CELL(&run->lanes, process, 0, -1) &&
            RGM_CELL(&run->lanes, device, i, -1) < 0)
            return false;
    return true;
}

static bool is_of_thread(const rgm_verdict_facts *facts, size_t lane) {
    const rgm_lanes *lanes = &facts->view->run->lanes;
    return (int32_t)lane == facts->lane ||
           (facts->view->lane_device[lane] < 0 && RGM_CELL(lanes, thread, lane, -1) == facts->thread &&
            RGM_CELL(lanes, process, lane, -1) == RGM_CELL(lanes, process, facts->lane, -1) &&
            RGM_CELL(lanes, rank, lane, -1) == RGM_CELL(lanes, rank, facts->lane, -1));
}

bool rgm_verdict_is_of_driver(const rgm_verdict_facts *facts, size_t sample) {
    const rgm_run *run = facts->view->run;
    int32_t lane = RGM_CELL(&run->samples, lane, sample, -1);
    if (RGM_CELL(&run->samples, thread, sample, -1) != facts->thread) return false;
    return lane < 0 || facts->lane < 0 || !run->lanes.rows || is_of_thread(facts, (size_t)lane);
}

static void reach(rgm_verdict_facts *facts, int64_t start, int64_t end) {
    if (start < facts->start_ns) facts->start_ns = start;
    if (end > facts->end_ns) facts->end_ns = end;
}

// All steps, where there are enough to be the program; else everything that was recorded of its process: its
// scopes, and the samples of its thread, which was there before the first of them and after the last.
static void find_window(rgm_verdict_facts *facts) {
    const rgm_view *view = facts->view;
    facts->start_ns = INT64_MAX, facts->end_ns = INT64_MIN;
    bool by_steps = (double)facts->n_steps >= facts->policy->verdict_steps_least;
    for (size_t i = 0; i < (by_steps ? facts->n_steps : view->n_spans); i++) {
        size_t row = by_steps ? facts->steps[i] : i;
        if (!by_steps && of_other_process(facts, row)) continue;
        reach(facts, rgm_view_start(view, row), rgm_view_end(view, row));
    }
    if (!by_steps) facts->n_steps = 0;
    const rgm_samples *samples = &view->run->samples;
    for (size_t i = 0; i < samples->rows && !by_steps; i++)
        if (rgm_verdict_is_of_driver(facts, i)) reach(facts, samples->time_ns[i], samples->time_ns[i]);
    if (facts->end_ns < facts->start_ns) facts->start_ns = facts->end_ns = 0;
}

// One recording of a process may follow another, with a lane each.
static int64_t find_marked(const rgm_verdict_facts *facts) {
    const rgm_view *view = facts->view;
    int64_t total = 0;
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        int64_t until = facts->start_ns;
        if (facts->lane < 0 || !is_of_thread(facts, lane)) continue;
        for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
            uint32_t row = view->lane_spans[i];
            int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
            if (facts->role[row] != RGM_ROLE_NONE || rgm_view_kind(view, row) != RGM_KIND_SCOPE) continue;
            if (start < until) start = until;
            if (end > facts->end_ns) end = facts->end_ns;
            if (end <= start) continue;
            total += end - start;
            until = end;
        }
    }
    return total < rgm_verdict_window(facts) ? total : rgm_verdict_window(facts);
}

rgm_status rgm_verdict_facts_init(rgm_verdict_facts *facts, const rgm_view *view, const rgm_policy *policy,
                                  rgm_error *err) {
    *facts = (rgm_verdict_facts){.view = view, .policy = policy, .lane = -1, .thread = -1};
    for (int i = 0; i < RGM_CAUSE_COUNT; i++) facts->causes[i] = RGM_NO_CAUSE_TIME;
    RGM_TRY(find_roles(facts, err));
    RGM_TRY(find_driving_lane(facts, err));
    if (facts->lane >= 0) {
        facts->thread = view->run->lanes.rows ? RGM_CELL(&view->run->lanes, thread, facts->lane, -1)
                                              : sampled_thread(view->run);
        RGM_TRY(find_steps(facts, err));
    }
    RGM_TRY(find_intervals(facts, err));
    find_window(facts);
    facts->marked_ns = find_marked(facts);
    facts->listening = rgm_first_value(view->run, RGM_LISTENING_SERIES) > 0;
    facts->asks_itself = rgm_first_value(view->run, RGM_ASKS_ITSELF_SERIES) > 0;
    facts->several = !of_one_process(view->run);
    facts->ranks = rgm_environment_number(view->run, "\"world_size\":") > 1;
    facts->settled_ns = facts->start_ns;
    return rgm_verdict_find_unseen(facts, err);
}

double rgm_verdict_part(const rgm_verdict_facts *facts, int64_t time, int64_t interval) {
    int64_t start = time - interval > facts->start_ns ? time - interval : facts->start_ns;
    int64_t end = time < facts->end_ns ? time : facts->end_ns;
    return interval > 0 && end > start ? (double)(end - start) / (double)interval : 0;
}

void rgm_verdict_facts_release(rgm_verdict_facts *facts) {
    rgm_seen_release(&facts->seen);
    rgm_free(facts->intervals);
    rgm_free(facts->unseen);
    rgm_free(facts->steps);
    rgm_free(facts->role);
    rgm_free(facts->inner);
    *facts = (rgm_verdict_facts){0};
}

double rgm_verdict_whole(const rgm_verdict_facts *facts) {
    double sum = 0;
    for (int i = 0; rgm_cause_is_what((rgm_limit_cause)i); i++)
        if (facts->causes[i].time_ns > 0) sum += (double)facts->causes[i].time_ns;
    return sum;
}
