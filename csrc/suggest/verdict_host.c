// SPDX-License-Identifier: Apache-2.0
// Where the time of the driving thread went. Scopes with a role are exact: each takes its time without the
// scopes within it that have one. What is left between them, and how modules, backward passes and the
// program's own code spent theirs, is divided by samples of the thread's stack: of the time of a bucket a
// cause has as large a part as of its samples.
#include <math.h>
#include <string.h>

#include "analysis/keyed.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "suggest/verdict_displaced.h"
#include "suggest/verdict_partition.h"
#include "suggest/verdict_polls.h"
#include "suggest/verdict_waits.h"

// What a bucket is put down to whatever its thread did; UNKNOWN where samples tell.
static rgm_limit_cause whole_cause(rgm_role role) {
    switch (role) {
    case RGM_ROLE_DATA_WAIT: return RGM_CAUSE_INPUT;
    case RGM_ROLE_OPTIMIZER:
    case RGM_ROLE_ZERO_GRAD: return RGM_CAUSE_OPTIMIZER;
    case RGM_ROLE_GRAD_CLIP: return RGM_CAUSE_GRADIENT_CLIPPING;
    case RGM_ROLE_SYNC: return RGM_CAUSE_SYNCHRONISATION;
    case RGM_ROLE_COPY: return RGM_CAUSE_COPIES;
    case RGM_ROLE_CHECKPOINT: return RGM_CAUSE_CHECKPOINT;
    case RGM_ROLE_COMPILE: return RGM_CAUSE_COMPILE;
    case RGM_ROLE_GC: return RGM_CAUSE_GARBAGE_COLLECTION;
    default: return RGM_CAUSE_UNKNOWN;
    }
}

// A step is only a frame around what is in it.
static rgm_role bucket_of(rgm_role role) { return role == RGM_ROLE_STEP ? RGM_ROLE_NONE : role; }

// --- spans ------------------------------------------------------------------------------------------------

static void divide_by_spans(rgm_partition *p) {
    rgm_verdict_facts *facts = p->facts;
    const rgm_view *view = facts->view;
    int64_t covered = 0;
    for (uint32_t i = view->lane_first[facts->lane]; i < view->lane_first[facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (facts->inner[row] != (int32_t)row) continue;
        int64_t inside = rgm_verdict_inside(facts, row);
        int32_t parent = rgm_view_parent(view, row), around = parent >= 0 ? facts->inner[parent] : -1;
        p->own[row] += inside;
        p->spans[facts->role[row]] += inside > 0;
        if (around >= 0 && rgm_view_lane(view, (size_t)around) == (uint32_t)facts->lane)
            p->own[around] -= inside;
        else
            covered += inside;
    }
    for (uint32_t i = view->lane_first[facts->lane]; i < view->lane_first[facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (facts->inner[row] != (int32_t)row) continue;
        if (p->own[row] < 0) p->own[row] = 0; // of a damaged file
        p->exclusive[bucket_of(facts->role[row])] += p->own[row];
    }
    int64_t outside = rgm_verdict_seen(facts) - covered;
    if (outside > 0) p->exclusive[RGM_ROLE_NONE] += outside;
}

// The span of these roles with the most time, all of one name together; its share of the roles' time. What
// was found to be plain Python is a cause of its own.
static rgm_status find_subject(rgm_partition *p, uint32_t roles, rgm_cause_time *out, rgm_error *err) {
    rgm_verdict_facts *facts = p->facts;
    const rgm_view *view = facts->view;
    RGM_FREED uint64_t *keys = NULL;
    RGM_FREED uint32_t *rows = NULL;
    RGM_RELEASED(rgm_keyed_release) rgm_keyed groups = {0};
    size_t count = 0;
    int64_t most = 0, total = 0;
    RGM_TRY(RGM_ROWS(keys, view->n_spans, err));
    RGM_TRY(RGM_ROWS(rows, view->n_spans, err));
    for (uint32_t i = view->lane_first[facts->lane]; i < view->lane_first[facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (!(roles >> facts->role[row] & 1) || p->own[row] <= 0) continue;
        keys[count] = rgm_view_name(view, row);
        rows[count++] = row;
    }
    RGM_TRY(rgm_keyed_init(&groups, keys, count, err));
    for (size_t g = 0; g < groups.count; g++) {
        int64_t sum = 0, looks = 0, plain = 0;
        for (uint32_t i = groups.first[g]; i < groups.first[g + 1]; i++) {
            uint32_t row = rows[groups.items[i]];
            sum += p->own[row];
            looks += p->looks[row];
            plain += p->plain[row];
        }
        if (plain) sum -= (int64_t)((double)sum * (double)plain / (double)looks);
        total += sum;
        if (sum <= most) continue;
        most = sum;
        out->subject = (rgm_name)keys[groups.items[groups.first[g]]];
        out->span = rows[groups.items[groups.first[g]]];
        out->count = groups.first[g + 1] - groups.first[g];
    }
    out->subject_share = total > 0 ? (double)most / (double)total : NAN;
    return RGM_OK;
}

// --- samples ----------------------------------------------------------------------------------------------

static rgm_limit_cause running_cause(rgm_role bucket, rgm_sample_state state) {
    switch (bucket) {
    case RGM_ROLE_MODULE:
    case RGM_ROLE_FORWARD: return RGM_CAUSE_FORWARD;
    case RGM_ROLE_BACKWARD: return RGM_CAUSE_BACKWARD;
    default: return state == RGM_SAMPLE_NATIVE ? RGM_CAUSE_NATIVE : RGM_CAUSE_PYTHON;
    }
}

// Of a sample that its bucket and its stack tell nothing of.
static rgm_limit_cause cause_of_state(rgm_role bucket, rgm_sample_state state) {
    switch (state) {
    case RGM_SAMPLE_SLEEPING: return RGM_CAUSE_SLEEP;
    case RGM_SAMPLE_WAITING_FOR_THREAD: return RGM_CAUSE_LOCK;
    case RGM_SAMPLE_WAITING_FOR_FILE: return RGM_CAUSE_FILE;
    case RGM_SAMPLE_WAITING_FOR_SOCKET:
    case RGM_SAMPLE_WAITING_FOR_PIPE: return RGM_CAUSE_NETWORK;
    case RGM_SAMPLE_WAITING_FOR_PROCESS: return RGM_CAUSE_CHILD;
    case RGM_SAMPLE_WAITING: return RGM_CAUSE_WAITING;
    case RGM_SAMPLE_WAITING_FOR_LOCK: return RGM_CAUSE_INTERPRETER_LOCK;
    case RGM_SAMPLE_WAITING_FOR_PROCESSOR: return RGM_CAUSE_PROCESSOR;
    default: return running_cause(bucket, state);
    }
}

// The cause of a sample, and the stack that shows it.
static rgm_awaited told_by(const rgm_partition *p, size_t sample, rgm_sample_state state, rgm_role bucket,
                           int32_t stack) {
    const rgm_view *view = p->facts->view;
    rgm_awaited told = {.cause = whole_cause(bucket), .stack = stack, .state = state};
    if (told.cause == RGM_CAUSE_INPUT) told.elsewhere = rgm_stack_awaits_processes(view, stack);
    // A collection for the objects that an import makes is paid once, with it.
    if (told.cause == RGM_CAUSE_GARBAGE_COLLECTION && rgm_stack_imports(view, stack))
        told.cause = RGM_CAUSE_IMPORTS;
    if (told.cause != RGM_CAUSE_UNKNOWN) return told;
    if (bucket == RGM_ROLE_NONE && p->iterates && rgm_stack_iterates(view, stack))
        return (rgm_awaited){.cause = RGM_CAUSE_INPUT, .stack = stack};
    told.cause = cause_of_state(bucket, state);
    if (told.cause != RGM_CAUSE_PROCESSOR && rgm_stack_imports(view, stack)) told.cause = RGM_CAUSE_IMPORTS;
    bool here = told.cause != RGM_CAUSE_PROCESSOR && told.cause != RGM_CAUSE_IMPORTS;
    if (here && rgm_stack_compiles(view, stack))
        return (rgm_awaited){.cause = RGM_CAUSE_COMPILE, .stack = stack, .state = state};
    // Until the program runs that it starts.
    if (told.cause == RGM_CAUSE_WAITING && rgm_stack_is_in(view, stack, "/subprocess.py"))
        told.cause = RGM_CAUSE_CHILD;
    bool computes = told.cause == RGM_CAUSE_NATIVE || told.cause == RGM_CAUSE_PYTHON;
    if (computes && rgm_stack_passes_on(view, stack)) told.cause = RGM_CAUSE_PICKLING;
    bool pool = state == RGM_SAMPLE_SLEEPING && rgm_stack_polls_processes(view, stack);
    bool processes = pool || p->polls[sample] & RGM_POLLS_PROCESSES;
    if (told.cause != RGM_CAUSE_IMPORTS && (pool || p->polls[sample] & RGM_POLLS)) {
        rgm_awaited polled = rgm_verdict_polled(p->facts, sample, processes);
        if (polled.cause != RGM_CAUSE_UNKNOWN) return polled;
    }
    if (rgm_verdict_awaits_helpers(p->facts, bucket, sample))
        told.cause = running_cause(bucket, RGM_SAMPLE_NATIVE);
    else if (told.cause == RGM_CAUSE_LOCK || told.cause == RGM_CAUSE_NETWORK)
        told = rgm_verdict_awaited(p->facts, sample, told.cause, processes);
    else if (told.cause == RGM_CAUSE_INTERPRETER_LOCK) {
        int32_t holder = rgm_verdict_lock_holder(p->facts, sample);
        if (holder >= 0) told.stack = holder, told.elsewhere = true;
    }
    return told;
}

// The nearest span with a role around a sample, -1 for none.
static int32_t inner_of(const rgm_partition *p, size_t sample) {
    const rgm_view *view = p->facts->view;
    int64_t span = RGM_CELL(&view->run->samples, span, sample, -1);
    return span >= 0 && (size_t)span < view->n_spans ? p->facts->inner[span] : -1;
}

// The bucket of a sample, and its stack; false where it is of another thread or time.
static bool is_seen(const rgm_partition *p, size_t sample, rgm_role *bucket, int32_t *stack) {
    const rgm_view *view = p->facts->view;
    int32_t inner = inner_of(p, sample);
    *bucket = inner >= 0 ? bucket_of((rgm_role)p->facts->role[inner]) : RGM_ROLE_NONE;
    *stack = rgm_stack_of_sample(view, sample);
    return rgm_verdict_is_driving(p->facts, sample);
}

// Whether what hands out items between the steps is where a batch is made, without a DataLoader. Not where
// the steps themselves are within it.
static bool batches_are_handed_out(const rgm_partition *p) {
    rgm_role bucket;
    int32_t stack;
    for (size_t i = 0; i < p->facts->view->run->samples.rows; i++) {
        if (!is_seen(p, i, &bucket, &stack)) continue;
        bool of_step = bucket == RGM_ROLE_OPTIMIZER || bucket == RGM_ROLE_BACKWARD;
        if (of_step && rgm_stack_iterates(p->facts->view, stack)) return false;
    }
    return p->facts->n_steps > 0;
}

// The line of the program: that of who is waited for, or, of a library's thread, the one that waits.
static int32_t line_of(const rgm_view *view, int32_t told, int32_t stack) {
    return rgm_stack_own_line(view, told != stack && !rgm_stack_is_own(view, told) ? stack : told);
}

// Whether the samples stop before the middle of the window, as where the process has begun another
// interpreter.
static bool ends_early(const rgm_partition *p) {
    const rgm_samples *samples = &p->facts->view->run->samples;
    int64_t last = p->facts->start_ns;
    for (size_t i = 0; i < samples->rows; i++)
        if (samples->time_ns[i] > last && rgm_verdict_is_driving(p->facts, i)) last = samples->time_ns[i];
    int64_t unseen = p->facts->end_ns - last;
    return (double)unseen > p->facts->policy->verdict_unseen_ns && 2 * unseen > rgm_verdict_window(p->facts);
}

static rgm_status look_at_samples(rgm_partition *p, rgm_error *err) {
    enum { IMPORTS_TO_ONE = 3 };
    const rgm_samples *samples = &p->facts->view->run->samples;
    rgm_verdict_look_at_others(p->facts);
    bool crowded = p->facts->crowded;
    int64_t imports = 0, most = 0; // of the samples so far, those that import by those that do not
    bool importing = false;
    RGM_TRY(rgm_verdict_states(p->facts, &p->states, err));
    p->facts->states = p->states;
    RGM_TRY(rgm_verdict_find_polls(p->facts, &p->polls, err));
    RGM_TRY(rgm_seen_init(p->seen, samples->rows, err));
    p->iterates = batches_are_handed_out(p);
    if (ends_early(p)) return RGM_OK;
    for (size_t i = 0; i < samples->rows; i++) {
        rgm_role bucket;
        int32_t stack;
        if (!is_seen(p, i, &bucket, &stack)) continue;
        // Imports end before the first sample after them; those count that were held up, too.
        if (importing) p->facts->settled_ns = samples->time_ns[i];
        imports += rgm_stack_imports(p->facts->view, stack) ? 1 : -IMPORTS_TO_ONE;
        importing = imports > most;
        if (importing) most = imports;
        rgm_sample_state state = (rgm_sample_state)p->states[i];
        rgm_awaited told = told_by(p, i, state, bucket, stack);
        rgm_limit_cause cause = told.cause;
        // A collection of garbage or an optimizer's step is held up like the rest, and so is who is waited
        // for.
        if (!crowded && (state == RGM_SAMPLE_WAITING_FOR_PROCESSOR || cause == RGM_CAUSE_PROCESSOR)) {
            p->facts->displaced++;
            p->displaced[bucket]++;
            continue;
        }
        p->of_bucket[bucket]++;
        p->of_cause[bucket][cause]++;
        p->seen->cause[p->seen->count] = (uint8_t)cause;
        p->seen->bucket[p->seen->count] = (uint8_t)bucket;
        p->seen->state[p->seen->count] = (uint8_t)told.state;
        p->seen->time[p->seen->count] = samples->time_ns[i];
        p->seen->inner[p->seen->count] = inner_of(p, i);
        p->seen->line[p->seen->count] = line_of(p->facts->view, told.stack, stack);
        p->seen->stack[p->seen->count++] = told.stack;
        p->facts->causes[cause].elsewhere += told.elsewhere;
        p->facts->causes[cause].serving += told.serving;
    }
    p->facts->samples = (int64_t)p->seen->count;
    return RGM_OK;
}

static void divide_by_samples(rgm_partition *p) {
    for (int bucket = 0; bucket < RGM_ROLE_COUNT; bucket++) {
        double there = (double)p->exclusive[bucket], samples = (double)p->of_bucket[bucket];
        double whole = rgm_verdict_given(p->facts, there, p->of_bucket[bucket], p->displaced[bucket]);
        if (!p->facts->samples) whole = there; // others had the processors whenever it was looked at
        if (!(whole > 0)) continue;
        double variance = 0; // of what others took of it
        if (whole < there)
            variance = rgm_verdict_variance(there, whole / there, samples + (double)p->displaced[bucket]);
        rgm_limit_cause fixed = whole_cause((rgm_role)bucket);
        if (fixed == RGM_CAUSE_UNKNOWN && !(samples > 0) && bucket != RGM_ROLE_NONE)
            fixed = running_cause((rgm_role)bucket, RGM_SAMPLE_RUNNING);
        if (fixed != RGM_CAUSE_UNKNOWN || !(samples > 0)) p->facts->causes[fixed].count += p->spans[bucket];
        if (p->of_cause[bucket][fixed] == p->of_bucket[bucket]) { // no sample tells otherwise
            rgm_cause_time_add(&p->facts->causes[fixed], whole, variance);
            continue;
        }
        for (int cause = 0; cause < RGM_CAUSE_COUNT; cause++) {
            double share = (double)p->of_cause[bucket][cause] / samples;
            if (share > 0)
                rgm_cause_time_add(&p->facts->causes[cause], whole * share,
                                   rgm_verdict_variance(whole, share, samples) + share * share * variance);
        }
    }
}

// Whether a scope is the part of a backward pass that belongs to a module.
static bool is_backward_of(const rgm_view *view, rgm_name part, rgm_name module) {
    static const char suffix[] = " backward"; // as capture/structure names them
    rgm_string whole = rgm_view_text(view, part), begin = rgm_view_text(view, module);
    return whole.length == begin.length + sizeof suffix - 1 &&
           memcmp(whole.data, begin.data, begin.length) == 0 &&
           memcmp(whole.data + begin.length, suffix, sizeof suffix - 1) == 0;
}

static bool has_most(const rgm_partition *p, const rgm_cause_time *time) {
    return time->subject && time->subject_share >= p->facts->policy->verdict_layer_share;
}

// Not what the outermost module does itself: that is the whole model.
static bool is_layer(const rgm_partition *p, const rgm_cause_time *forward) {
    return has_most(p, forward) && p->facts->role[forward->span] == RGM_ROLE_MODULE;
}

// One module that has most of the forward pass is what limits it, and the backward pass where it has most of
// that, too.
static void find_layer(rgm_partition *p) {
    rgm_cause_time *forward = &p->facts->causes[RGM_CAUSE_FORWARD],
                   *backward = &p->facts->causes[RGM_CAUSE_BACKWARD],
                   *layer = &p->facts->causes[RGM_CAUSE_LAYER];
    if (!is_layer(p, forward)) return;
    *layer = *forward;
    *forward = RGM_NO_CAUSE_TIME;
    if (!has_most(p, backward) || !is_backward_of(p->facts->view, backward->subject, layer->subject)) return;
    double time = (double)layer->time_ns + (double)backward->time_ns;
    layer->subject_share = ((double)layer->time_ns * layer->subject_share +
                            (double)backward->time_ns * backward->subject_share) /
                           time;
    rgm_cause_time_add(layer, (double)backward->time_ns, backward->variance);
    *backward = RGM_NO_CAUSE_TIME;
}

// --- scopes of the program's own --------------------------------------------------------------------------

// Without samples the scopes that the program has marked are all that tells: the one with the most time.
static rgm_status find_scope(rgm_partition *p, rgm_error *err) {
    rgm_verdict_facts *facts = p->facts;
    const rgm_view *view = facts->view;
    rgm_cause_time *unknown = &facts->causes[RGM_CAUSE_UNKNOWN], *scope = &facts->causes[RGM_CAUSE_SCOPE];
    if (p->seen->count || !unknown->found) return RGM_OK;
    for (uint32_t i = view->lane_first[facts->lane]; i < view->lane_first[facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        int32_t parent = rgm_view_parent(view, row);
        if (facts->role[row] == RGM_ROLE_STEP) p->own[row] = 0;
        if (facts->role[row] != RGM_ROLE_NONE) continue;
        p->own[row] += rgm_verdict_inside(facts, row);
        if (parent >= 0 && facts->role[parent] == RGM_ROLE_NONE)
            p->own[parent] -= rgm_verdict_inside(facts, row);
    }
    RGM_TRY(find_subject(p, RGM_ROLE_BIT(NONE), scope, err));
    if (!scope->subject) return RGM_OK;
    int64_t time = 0;
    for (uint32_t i = view->lane_first[facts->lane]; i < view->lane_first[facts->lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (facts->role[row] == RGM_ROLE_NONE && rgm_view_name(view, row) == scope->subject &&
            p->own[row] > 0)
            time += p->own[row];
    }
    if (time > unknown->time_ns) time = unknown->time_ns;
    unknown->time_ns -= time;
    unknown->found = unknown->time_ns > 0;
    rgm_cause_time_add(scope, (double)time, 0);
    scope->subject_share = NAN;
    return RGM_OK;
}

// --- together ---------------------------------------------------------------------------------------------

// A batch that the loader makes in this process has the line that makes it; else it is waited for.
static rgm_status name_input(rgm_partition *p, rgm_error *err) {
    rgm_cause_time *input = &p->facts->causes[RGM_CAUSE_INPUT];
    RGM_TRY(find_subject(p, RGM_ROLE_BIT(DATA_WAIT), input, err));
    if (2 * input->elsewhere > p->of_bucket[RGM_ROLE_DATA_WAIT])
        input->elsewhere = input->count;
    else if (input->stack >= 0 && rgm_stack_passes(p->facts->view, input->stack, "/torch/utils/data/"))
        input->subject = 0, input->subject_share = input->line_share;
    return RGM_OK;
}

// Which objects are collected, the line tells in which they are made, rather than the generation.
static void name_collections(rgm_cause_time *collections) {
    if (collections->stack < 0) return;
    collections->subject = 0;
    collections->subject_share = collections->line_share;
}

static rgm_status name_subjects(rgm_partition *p, rgm_error *err) {
    static const struct {
        rgm_role role;  // that names a part of the cause
        uint32_t roles; // whose time the cause is
        rgm_limit_cause cause;
    } named[] = {
        {RGM_ROLE_MODULE, RGM_ROLE_BIT(MODULE) | RGM_ROLE_BIT(FORWARD), RGM_CAUSE_FORWARD},
        {RGM_ROLE_BACKWARD, RGM_ROLE_BIT(BACKWARD), RGM_CAUSE_BACKWARD},
        {RGM_ROLE_OPTIMIZER, RGM_ROLE_BIT(OPTIMIZER), RGM_CAUSE_OPTIMIZER},
        {RGM_ROLE_CHECKPOINT, RGM_ROLE_BIT(CHECKPOINT), RGM_CAUSE_CHECKPOINT},
        {RGM_ROLE_COMPILE, RGM_ROLE_BIT(COMPILE), RGM_CAUSE_COMPILE},
        {RGM_ROLE_GC, RGM_ROLE_BIT(GC), RGM_CAUSE_GARBAGE_COLLECTION},
        {RGM_ROLE_SYNC, RGM_ROLE_BIT(SYNC), RGM_CAUSE_SYNCHRONISATION},
        {RGM_ROLE_COPY, RGM_ROLE_BIT(COPY), RGM_CAUSE_COPIES},
        {RGM_ROLE_GRAD_CLIP, RGM_ROLE_BIT(GRAD_CLIP), RGM_CAUSE_GRADIENT_CLIPPING},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (p->facts->causes[named[i].cause].found && p->spans[named[i].role])
            RGM_TRY(find_subject(p, named[i].roles, &p->facts->causes[named[i].cause], err));
    name_collections(&p->facts->causes[RGM_CAUSE_GARBAGE_COLLECTION]);
    return p->facts->causes[RGM_CAUSE_INPUT].found && p->spans[RGM_ROLE_DATA_WAIT] ? name_input(p, err)
                                                                                   : RGM_OK;
}

rgm_status rgm_verdict_of_host(rgm_verdict_facts *facts, rgm_error *err) {
    rgm_partition p = {.facts = facts, .seen = &facts->seen};
    rgm_status status;
    if (facts->lane < 0 || rgm_verdict_window(facts) <= 0) return RGM_OK;
    p.own = rgm_calloc(facts->view->n_spans + 1, sizeof *p.own);
    p.looks = rgm_calloc(facts->view->n_spans + 1, sizeof *p.looks);
    p.plain = rgm_calloc(facts->view->n_spans + 1, sizeof *p.plain);
    RGM_GOTO(p.own && p.looks && p.plain ? RGM_OK : rgm_error_no_memory(err));
    divide_by_spans(&p);
    RGM_GOTO(look_at_samples(&p, err));
    RGM_GOTO(rgm_verdict_plain(&p, err));
    RGM_GOTO(rgm_verdict_small_calls(&p, err));
    divide_by_samples(&p);
    RGM_GOTO(rgm_verdict_find_lines(facts, p.seen, UINT64_MAX, err));
    RGM_GOTO(name_subjects(&p, err));
    RGM_GOTO(rgm_verdict_small_work(&p, err));
    find_layer(&p);
    RGM_GOTO(find_scope(&p, err));
    RGM_GOTO(rgm_verdict_of_processes(&p, err));
done:
    rgm_free(p.own);
    rgm_free(p.looks);
    rgm_free(p.plain);
    rgm_free(p.states);
    rgm_free(p.polls);
    facts->states = NULL;
    return status;
}
