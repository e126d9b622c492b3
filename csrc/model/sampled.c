// SPDX-License-Identifier: Apache-2.0
#include "model/sampled.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

enum { NAME_ROOM = 2200, SCOPES_MOST = 256, APART_MOST = 3 };

typedef struct {
    uint32_t name;
    uint8_t kind;
    size_t span; // row in the new run
} level;

typedef struct {
    const rgm_run *from;
    rgm_run *to;
    rgm_sample_choice choice;
    bool scopes;        // whether they are levels
    uint32_t *order;    // samples by thread, then by time
    uint32_t *label;    // [stacks] name in the new run + 1, 0 while it has none
    int64_t most_ns;    // that a sample stands for
    int64_t typical_ns; // that the last one does
    level *open, *wanted;
    size_t depth, room;
    int64_t end_ns; // of what is open
    uint32_t lane;
} sampling;

static void sampling_release(sampling *s) {
    rgm_free(s->order);
    rgm_free(s->label);
    rgm_free(s->open);
    rgm_free(s->wanted);
}

// --- order ------------------------------------------------------------------------------------------------

// Two stable sorts: by time, then by thread.
static rgm_status sort_samples(sampling *s, rgm_error *err) {
    const rgm_samples *samples = &s->from->samples;
    size_t rows = samples->rows;
    uint64_t *keys = rgm_malloc((rows + 1) * sizeof *keys);
    uint32_t *by_time = rgm_malloc((rows + 1) * sizeof *by_time),
             *by_thread = rgm_malloc((rows + 1) * sizeof *by_thread);
    s->order = rgm_malloc((rows + 1) * sizeof *s->order);
    rgm_status status = keys && by_time && by_thread && s->order ? RGM_OK : rgm_error_no_memory(err);
    for (size_t i = 0; status == RGM_OK && i < rows; i++) keys[i] = rgm_sort_key_i64(samples->time_ns[i]);
    if (status == RGM_OK) status = rgm_sort_order(keys, rows, by_time, err);
    for (size_t i = 0; status == RGM_OK && i < rows; i++)
        keys[i] = rgm_sort_key_i64(samples->thread[by_time[i]]);
    if (status == RGM_OK) status = rgm_sort_order(keys, rows, by_thread, err);
    for (size_t i = 0; status == RGM_OK && i < rows; i++) s->order[i] = by_time[by_thread[i]];
    rgm_free(keys);
    rgm_free(by_time);
    rgm_free(by_thread);
    return status;
}

static bool same_thread(const sampling *s, size_t i) {
    const rgm_samples *samples = &s->from->samples;
    return i + 1 < samples->rows && samples->thread[s->order[i]] == samples->thread[s->order[i + 1]];
}

static int64_t distance(const sampling *s, size_t i) {
    const rgm_samples *samples = &s->from->samples;
    int64_t ns;
    if (__builtin_sub_overflow(samples->time_ns[s->order[i + 1]], samples->time_ns[s->order[i]], &ns))
        return INT64_MAX;
    return ns;
}

static rgm_status find_typical(sampling *s, rgm_error *err) {
    size_t rows = s->from->samples.rows, count = 0;
    uint64_t *apart = rgm_malloc((rows + 1) * sizeof *apart);
    uint32_t *order = rgm_malloc((rows + 1) * sizeof *order);
    rgm_status status = apart && order ? RGM_OK : rgm_error_no_memory(err);
    for (size_t i = 0; status == RGM_OK && i < rows; i++)
        if (same_thread(s, i)) apart[count++] = (uint64_t)distance(s, i);
    if (status == RGM_OK) status = rgm_sort_order(apart, count, order, err);
    if (status == RGM_OK && count) {
        uint64_t median = apart[order[count / 2]];
        s->typical_ns = median > INT64_MAX / APART_MOST ? INT64_MAX / APART_MOST : (int64_t)median;
        s->most_ns = s->typical_ns * APART_MOST;
    }
    rgm_free(apart);
    rgm_free(order);
    return status;
}

// --- names ------------------------------------------------------------------------------------------------

static rgm_status label_of(sampling *s, uint32_t stack, uint32_t *name, rgm_error *err) {
    const rgm_stacks *stacks = &s->from->stacks;
    if (!s->label[stack]) {
        char text[NAME_ROOM];
        rgm_string function = rgm_strings_view(&s->from->strings, stacks->function[stack]);
        rgm_string file = rgm_strings_view(&s->from->strings, stacks->file[stack]);
        bool known = stacks->line[stack] >= 0;
        int length = !file.length ? snprintf(text, sizeof text, "%.1024s", function.data)
                     : known ? snprintf(text, sizeof text, "%.1024s (%.1024s:%d)", function.data, file.data,
                                        stacks->line[stack])
                             : snprintf(text, sizeof text, "%.1024s (%.1024s)", function.data, file.data);
        RGM_TRY(rgm_strings_intern(&s->to->strings, text, (size_t)length, name, err));
        s->label[stack] = *name + 1;
    }
    *name = s->label[stack] - 1;
    return RGM_OK;
}

static rgm_status copy_name(sampling *s, uint32_t from, uint32_t *to, rgm_error *err) {
    rgm_string text = rgm_strings_view(&s->from->strings, from);
    return rgm_strings_intern(&s->to->strings, text.data, text.length, to, err);
}

// --- levels -----------------------------------------------------------------------------------------------

static rgm_status make_room(sampling *s, size_t depth, rgm_error *err) {
    if (depth <= s->room) return RGM_OK;
    size_t room = depth * 2;
    level *open = rgm_realloc(s->open, room * sizeof *open);
    if (open) s->open = open;
    level *wanted = rgm_realloc(s->wanted, room * sizeof *wanted);
    if (wanted) s->wanted = wanted;
    if (!open || !wanted) return rgm_error_no_memory(err);
    s->room = room;
    return RGM_OK;
}

static rgm_status want_scopes(sampling *s, int64_t span, size_t *depth, rgm_error *err) {
    const rgm_spans *spans = &s->from->spans;
    int64_t path[SCOPES_MOST];
    size_t count = 0;
    for (; s->scopes && span >= 0 && count < SCOPES_MOST; span = RGM_CELL(spans, parent, span, -1))
        path[count++] = span;
    RGM_TRY(make_room(s, count + 1, err));
    while (count-- > 0) {
        level *l = &s->wanted[(*depth)++];
        l->kind = RGM_KIND_SCOPE;
        RGM_TRY(copy_name(s, spans->name[path[count]], &l->name, err));
    }
    return RGM_OK;
}

static rgm_status want_functions(sampling *s, uint32_t stack, size_t *depth, rgm_error *err) {
    const rgm_stacks *stacks = &s->from->stacks;
    size_t count = 0, first = *depth;
    for (int64_t at = stack; at >= 0; at = stacks->parent[at]) count++;
    RGM_TRY(make_room(s, first + count, err));
    *depth += count;
    for (int64_t at = stack; at >= 0; at = stacks->parent[at]) {
        level *l = &s->wanted[first + --count];
        l->kind = RGM_KIND_PYTHON;
        RGM_TRY(label_of(s, (uint32_t)at, &l->name, err));
    }
    return RGM_OK;
}

static void close_to(sampling *s, size_t depth, int64_t end_ns) {
    rgm_spans *spans = &s->to->spans;
    for (; s->depth > depth; s->depth--) {
        size_t row = s->open[s->depth - 1].span;
        spans->duration_ns[row] = end_ns - spans->start_ns[row];
    }
}

static rgm_status open_level(sampling *s, const level *l, int64_t start_ns, rgm_error *err) {
    rgm_spans *spans = &s->to->spans;
    const uint64_t columns = RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns) |
                             RGM_COLUMN_BIT(spans, name) | RGM_COLUMN_BIT(spans, kind) |
                             RGM_COLUMN_BIT(spans, lane) | RGM_COLUMN_BIT(spans, parent);
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_spans_desc, spans, columns, &row, err));
    spans->start_ns[row] = start_ns;
    spans->duration_ns[row] = 0;
    spans->name[row] = l->name;
    spans->kind[row] = l->kind;
    spans->lane[row] = s->lane;
    spans->parent[row] = s->depth ? (rgm_i32)s->open[s->depth - 1].span : -1;
    s->open[s->depth] = *l;
    s->open[s->depth++].span = row;
    return RGM_OK;
}

// --- samples ----------------------------------------------------------------------------------------------

static bool counts(const sampling *s, uint8_t state) {
    bool running = rgm_sample_runs((rgm_sample_state)state);
    return s->choice == RGM_SAMPLES_ALL || running == (s->choice == RGM_SAMPLES_RUNNING);
}

static rgm_status add_sample(sampling *s, size_t i, rgm_error *err) {
    const rgm_samples *samples = &s->from->samples;
    uint32_t row = s->order[i];
    int64_t at_ns = samples->time_ns[row], lasts_ns = same_thread(s, i) ? distance(s, i) : s->typical_ns;
    if (lasts_ns > s->most_ns) lasts_ns = s->most_ns;
    size_t depth = 0, same = 0;
    if (s->end_ns != at_ns || !counts(s, samples->state[row])) close_to(s, 0, s->end_ns);
    if (!counts(s, samples->state[row])) return RGM_OK;
    RGM_TRY(want_scopes(s, samples->span[row], &depth, err));
    RGM_TRY(want_functions(s, samples->stack[row], &depth, err));
    while (same < depth && same < s->depth && s->open[same].name == s->wanted[same].name &&
           s->open[same].kind == s->wanted[same].kind)
        same++;
    close_to(s, same, at_ns);
    for (; same < depth; same++) RGM_TRY(open_level(s, &s->wanted[same], at_ns, err));
    if (__builtin_add_overflow(at_ns, lasts_ns, &s->end_ns)) s->end_ns = INT64_MAX;
    return RGM_OK;
}

static rgm_status add_lane(sampling *s, uint32_t row, rgm_error *err) {
    const rgm_lanes *from = &s->from->lanes;
    rgm_lanes *to = &s->to->lanes;
    int32_t known = s->from->samples.lane[row];
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_lanes_desc, to, RGM_ALL_COLUMNS, &at, err));
    to->thread[at] = s->from->samples.thread[row];
    if (known < 0 && from->rows) to->process[at] = RGM_CELL(from, process, 0, 0);
    if (known >= 0) {
        to->process[at] = RGM_CELL(from, process, known, 0);
        to->rank[at] = RGM_CELL(from, rank, known, -1);
        RGM_TRY(copy_name(s, RGM_CELL(from, name, known, 0), &to->name[at], err));
    }
    s->lane = (uint32_t)at;
    return RGM_OK;
}

static rgm_status add_samples(sampling *s, rgm_error *err) {
    size_t rows = s->from->samples.rows;
    for (size_t i = 0; i < rows; i++) {
        if (i == 0 || !same_thread(s, i - 1)) {
            close_to(s, 0, s->end_ns);
            RGM_TRY(add_lane(s, s->order[i], err));
        }
        RGM_TRY(add_sample(s, i, err));
    }
    close_to(s, 0, s->end_ns);
    return RGM_OK;
}

rgm_status rgm_run_sampled(const rgm_run *run, rgm_sample_choice choice, rgm_run **out, rgm_error *err) {
    sampling s = {.from = run, .choice = choice, .scopes = run->spans.rows > 1};
    rgm_status status = RGM_OK;
    RGM_GOTO(rgm_run_new(&s.to, err));
    s.label = rgm_calloc(run->stacks.rows + 1, sizeof *s.label);
    if (!s.label) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    RGM_GOTO(sort_samples(&s, err));
    RGM_GOTO(find_typical(&s, err));
    RGM_GOTO(add_samples(&s, err));
    RGM_GOTO(rgm_run_set_text(&s.to->environment, run->environment, strlen(run->environment), err));
    RGM_GOTO(rgm_run_set_text(&s.to->source, "samples", 7, err));
    s.to->start_ns = run->start_ns;
    s.to->end_ns = run->end_ns;
    s.to->start_unix_ns = run->start_unix_ns;
    s.to->complete = run->complete;
    RGM_GOTO(rgm_run_check(s.to, err));
    *out = s.to;
    s.to = NULL;
done:
    sampling_release(&s);
    rgm_run_free(s.to);
    return status;
}
