// SPDX-License-Identifier: Apache-2.0
// Operators so short that calling them is most of their time: by samples where lines call them, by the times
// of modules where those do.
#include <math.h>

#include "analysis/keyed.h"
#include "analysis/stats.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "suggest/verdict_partition.h"

// --- lines ------------------------------------------------------------------------------------------------

// Samples of one line of the program that it called compiled code from.
typedef struct {
    int64_t native, python;
} line_of_calls;

static line_of_calls calls_of(const rgm_partition *p, const rgm_keyed *lines, const uint32_t *rows,
                              size_t g) {
    line_of_calls found = {0};
    for (uint32_t i = lines->first[g]; i < lines->first[g + 1]; i++) {
        bool native = p->seen->cause[rows[lines->items[i]]] == RGM_CAUSE_NATIVE;
        found.native += native;
        found.python += !native;
    }
    return found;
}

// Within one standard error: of a line that was found five times nobody knows more.
bool rgm_verdict_line_calls(const rgm_partition *p, int64_t native, int64_t python) {
    double least = p->facts->policy->verdict_small_native;
    double all = (double)(native + python);
    return native > 0 && (double)native >= least * all - sqrt(least * (1 - least) * all);
}

static bool line_calls(const rgm_partition *p, line_of_calls line) {
    return rgm_verdict_line_calls(p, line.native, line.python);
}

// Whether a line is found in both ways, or so seldom that it may well be: `python` is the share of all such
// lines' samples.
static bool line_is_mixed(const rgm_partition *p, line_of_calls line, double python) {
    double chance = pow(1 - python, (double)line.native);
    return line.python > 0 || chance >= p->facts->policy->verdict_small_chance;
}

// Outside of modules: a line that calls compiled code is found within the code, which has given the
// interpreter's lock up, or before and after it, which takes a microsecond or two. Where several lines are
// found in both ways, and the latter is a large part, the calls are of a few microseconds. What is Python in
// itself is on lines of its own, or is nearly all of its line: half of a call of 2 us is, too.
rgm_status rgm_verdict_small_calls(rgm_partition *p, rgm_error *err) {
    const rgm_view *view = p->facts->view;
    const rgm_policy *policy = p->facts->policy;
    RGM_FREED uint64_t *keys = NULL;
    RGM_FREED uint32_t *rows = NULL;
    RGM_RELEASED(rgm_keyed_release) rgm_keyed lines = {0};
    size_t count = 0, mixed = 0;
    line_of_calls all = {0};
    RGM_TRY(RGM_ROWS(keys, p->seen->count, err));
    RGM_TRY(RGM_ROWS(rows, p->seen->count, err));
    for (size_t i = 0; i < p->seen->count; i++) {
        int32_t stack = p->seen->stack[i];
        bool runs = p->seen->cause[i] == RGM_CAUSE_NATIVE || p->seen->cause[i] == RGM_CAUSE_PYTHON;
        if (!runs || p->seen->bucket[i] != RGM_ROLE_NONE || p->seen->line[i] != stack) continue;
        keys[count] = rgm_line_key(view, stack);
        rows[count++] = (uint32_t)i;
    }
    RGM_TRY(rgm_keyed_init(&lines, keys, count, err));
    for (size_t g = 0; g < lines.count; g++) {
        line_of_calls line = calls_of(p, &lines, rows, g);
        if (!line_calls(p, line)) continue;
        all.native += line.native;
        all.python += line.python;
    }
    double found = fmax(1, (double)(all.native + all.python)), python = (double)all.python / found;
    double surely = python - sqrt(python * (1 - python) / found); // of few samples two or three are chance
    for (size_t g = 0; g < lines.count; g++) {
        line_of_calls line = calls_of(p, &lines, rows, g);
        mixed += line_calls(p, line) && line_is_mixed(p, line, python);
    }
    bool small = (double)mixed >= policy->verdict_small_lines && surely >= policy->verdict_small_calling;
    for (size_t g = 0; small && g < lines.count; g++) {
        line_of_calls line = calls_of(p, &lines, rows, g);
        if (!line_calls(p, line) || !line_is_mixed(p, line, python)) continue;
        for (uint32_t i = lines.first[g]; i < lines.first[g + 1]; i++) {
            uint8_t *cause = &p->seen->cause[rows[lines.items[i]]];
            p->of_cause[RGM_ROLE_NONE][*cause]--;
            p->of_cause[RGM_ROLE_NONE][ *cause = RGM_CAUSE_SMALL_WORK]++;
        }
    }
    return RGM_OK;
}

// --- modules ----------------------------------------------------------------------------------------------

static bool is_module(const rgm_partition *p, uint32_t row) {
    return p->facts->role[row] == RGM_ROLE_MODULE && p->own[row] > 0;
}

// took[row]: how long a call of a module took. Where other programs had the processors for a part of the
// time, a call that took 20 times as long as most of its name was interrupted, and counts as they do.
static rgm_status calls_of_modules(const rgm_partition *p, int64_t *took, rgm_error *err) {
    enum { INTERRUPTED = 20 };
    const rgm_view *view = p->facts->view;
    RGM_FREED uint64_t *keys = NULL;
    RGM_FREED uint32_t *rows = NULL;
    RGM_FREED int64_t *values = NULL, *scratch = NULL;
    RGM_RELEASED(rgm_keyed_release) rgm_keyed names = {0};
    size_t count = 0;
    RGM_TRY(RGM_ROWS(keys, view->n_spans, err));
    RGM_TRY(RGM_ROWS(rows, view->n_spans, err));
    RGM_TRY(RGM_ROWS(values, view->n_spans, err));
    RGM_TRY(RGM_ROWS(scratch, view->n_spans, err));
    for (uint32_t i = view->lane_first[p->facts->lane]; i < view->lane_first[p->facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (!is_module(p, row)) continue;
        took[row] = p->own[row];
        keys[count] = rgm_view_name(view, row);
        rows[count++] = row;
    }
    if (!p->facts->displaced) return RGM_OK;
    RGM_TRY(rgm_keyed_init(&names, keys, count, err));
    for (size_t g = 0; g < names.count; g++) {
        const uint32_t *items = &names.items[names.first[g]];
        size_t calls = names.first[g + 1] - names.first[g];
        for (size_t i = 0; i < calls; i++) values[i] = p->own[rows[items[i]]];
        int64_t usual = (int64_t)rgm_spread_of(values, calls, scratch, 1).median;
        for (size_t i = 0; i < calls; i++)
            if (took[rows[items[i]]] / INTERRUPTED > usual) took[rows[items[i]]] = usual;
    }
    return RGM_OK;
}

// Calls of modules that each one makes itself.
static void modules_within(const rgm_partition *p, int64_t *within) {
    const rgm_view *view = p->facts->view;
    for (size_t i = 0; i < view->n_spans; i++) within[i] = 0;
    for (uint32_t i = view->lane_first[p->facts->lane]; i < view->lane_first[p->facts->lane + 1]; i++) {
        int32_t parent = rgm_view_parent(view, view->lane_spans[i]);
        if (parent >= 0 && p->facts->role[view->lane_spans[i]] == RGM_ROLE_MODULE) within[parent]++;
    }
}

// How much of the time of modules is in calls so short that calling is most of it: of what a module does
// itself, by the calls that it makes.
rgm_status rgm_verdict_small_work(rgm_partition *p, rgm_error *err) {
    rgm_verdict_facts *facts = p->facts;
    const rgm_view *view = facts->view;
    int64_t small = 0, all = 0, calls = 0;
    RGM_FREED int64_t *took = NULL, *within = NULL;
    RGM_TRY(RGM_ROWS(took, view->n_spans, err));
    RGM_TRY(RGM_ROWS(within, view->n_spans, err));
    RGM_TRY(calls_of_modules(p, took, err));
    modules_within(p, within);
    for (uint32_t i = view->lane_first[facts->lane]; i < view->lane_first[facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (!is_module(p, row)) continue;
        all += took[row];
        calls += !within[row];
        if ((double)took[row] < facts->policy->verdict_small_ns * (double)(1 + within[row]))
            small += took[row];
    }
    rgm_cause_time *forward = &facts->causes[RGM_CAUSE_FORWARD],
                   *backward = &facts->causes[RGM_CAUSE_BACKWARD];
    bool many =
        (double)calls >= facts->policy->verdict_small_calls * (double)(facts->n_steps ? facts->n_steps : 1);
    if (!all || !many || (double)small < facts->policy->verdict_small_share * (double)all) return RGM_OK;
    rgm_cause_time *cause = &facts->causes[RGM_CAUSE_SMALL_WORK];
    rgm_cause_time outside = *cause; // of modules, found by samples
    *cause = *forward;
    rgm_cause_time_add(cause, (double)backward->time_ns, backward->variance);
    rgm_cause_time_add(cause, (double)outside.time_ns, outside.variance);
    cause->count = calls;
    cause->figure = (double)all / (double)calls;
    cause->subject = 0;
    cause->subject_share = forward->line_share;
    *forward = *backward = RGM_NO_CAUSE_TIME;
    return RGM_OK;
}
