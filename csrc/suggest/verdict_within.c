// SPDX-License-Identifier: Apache-2.0
// Where within a line of the program its time goes: a library's function that most of its samples are in.
#include "analysis/keyed.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "base/text.h"
#include "suggest/verdict_partition.h"

// Functions that samples of a line were within, each once a sample: its row of stacks, how many calls below
// the line, and a key of it.
typedef struct {
    size_t samples, count;
    int32_t *stack;
    uint32_t *depth;
    uint64_t *key;
} within;

// Of a line, so many samples tell a share to 2 points; calls further in than so many are not looked at.
enum { LOOKED_AT = 2000, DEEPEST = 100 };

static uint64_t function_key(const rgm_view *view, int32_t stack) {
    const rgm_stacks *stacks = &view->run->stacks;
    return (uint64_t)RGM_CELL(stacks, file, stack, 0) << 32 | (uint64_t)RGM_CELL(stacks, function, stack, 0);
}

// What decorators put around functions says less than those, and what was made from a text nothing.
static bool is_told(const rgm_view *view, int32_t stack) {
    rgm_name name = RGM_CELL(&view->run->stacks, function, stack, 0);
    return rgm_stack_is_readable(view, stack) && !rgm_text_has(rgm_view_text(view, name), "<locals>");
}

// Where a stack is no longer within the line: at it, or, of a thread that works for it, at what has handed
// that its work.
static int32_t end_of(const rgm_view *view, int32_t stack, int32_t line) {
    for (int32_t at = stack; at >= 0; at = rgm_stack_caller(view, at))
        if (at == line) return at;
    while (stack >= 0 && rgm_stack_line_of_work(view, stack) >= 0 && !rgm_stack_awaits_work(view, stack))
        stack = rgm_stack_caller(view, stack);
    return stack;
}

// Of a function that calls itself, the innermost.
static void add_functions(const rgm_view *view, int32_t stack, int32_t line, within *w) {
    size_t begin = w->count;
    uint32_t depth = 0;
    int32_t end = end_of(view, stack, line);
    for (int32_t at = stack; at != end; at = rgm_stack_caller(view, at)) depth++;
    for (int32_t at = stack; at != end; at = rgm_stack_caller(view, at), depth--) {
        uint64_t key = function_key(view, at);
        bool known = depth > DEEPEST || !is_told(view, at);
        for (size_t i = begin; i < w->count && !known; i++) known = w->key[i] == key;
        if (known) continue;
        w->stack[w->count] = at;
        w->depth[w->count] = depth;
        w->key[w->count++] = key;
    }
    w->samples++;
}

// The samples that show a cause at its line; of one that was moved from another cause, that one's.
static size_t take_samples(const rgm_verdict_facts *facts, rgm_limit_cause cause, uint32_t *rows) {
    const rgm_seen *seen = &facts->seen;
    uint64_t line = rgm_line_key(facts->view, facts->causes[cause].stack);
    size_t count = 0;
    bool moved = true;
    for (size_t i = 0; i < seen->count && moved; i++) moved = seen->cause[i] != cause;
    for (size_t i = 0; i < seen->count; i++)
        if ((moved || seen->cause[i] == cause) && rgm_line_key(facts->view, seen->line[i]) == line)
            rows[count++] = (uint32_t)i;
    return count;
}

static rgm_status look_within(const rgm_verdict_facts *facts, rgm_limit_cause cause, within *w,
                              rgm_error *err) {
    const rgm_seen *seen = &facts->seen;
    RGM_FREED uint32_t *rows = NULL;
    RGM_TRY(RGM_ROWS(rows, seen->count, err));
    size_t count = take_samples(facts, cause, rows), step = count / LOOKED_AT + 1;
    size_t most = (count / step + 1) * DEEPEST;
    RGM_TRY(RGM_ROWS(w->stack, most, err));
    RGM_TRY(RGM_ROWS(w->depth, most, err));
    RGM_TRY(RGM_ROWS(w->key, most, err));
    for (size_t i = 0; i < count; i += step)
        add_functions(facts->view, seen->stack[rows[i]], seen->line[rows[i]], w);
    return RGM_OK;
}

// The group that the fewest samples are in, of those that have enough of them; of several the innermost.
static size_t narrowest(const within *w, const rgm_keyed *groups, double enough) {
    size_t best = groups->count, fewest = 0;
    uint64_t deepest = 0;
    for (size_t g = 0; g < groups->count; g++) {
        size_t count = groups->first[g + 1] - groups->first[g];
        uint64_t depth = 0;
        for (uint32_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            depth += w->depth[groups->items[i]];
        bool narrower = best == groups->count || count < fewest || (count == fewest && depth > deepest);
        if ((double)count < enough || !narrower) continue;
        best = g, fewest = count, deepest = depth;
    }
    return best;
}

// The line that the rows of a group are at most often.
static rgm_status commonest(const rgm_view *view, const within *w, const rgm_keyed *groups, size_t g,
                            int32_t *out, rgm_error *err) {
    size_t count = groups->first[g + 1] - groups->first[g], most = 0;
    const uint32_t *items = groups->items + groups->first[g];
    RGM_FREED uint64_t *keys = NULL;
    RGM_RELEASED(rgm_keyed_release) rgm_keyed lines = {0};
    RGM_TRY(RGM_ROWS(keys, count, err));
    for (size_t i = 0; i < count; i++) keys[i] = rgm_line_key(view, w->stack[items[i]]);
    RGM_TRY(rgm_keyed_init(&lines, keys, count, err));
    for (size_t l = 0; l < lines.count; l++) {
        size_t here = lines.first[l + 1] - lines.first[l];
        if (here <= most) continue;
        most = here;
        *out = w->stack[items[lines.items[lines.first[l]]]];
    }
    return RGM_OK;
}

rgm_status rgm_verdict_find_inner(const rgm_verdict_facts *facts, rgm_limit_cause cause, int32_t *stack,
                                  double *share, rgm_error *err) {
    const rgm_cause_time *time = &facts->causes[cause];
    within w = {0};
    rgm_keyed groups = {0};
    rgm_status status;
    if (!rgm_cause_is_what(cause) || time->stack < 0 || time->subject || time->process) return RGM_OK;
    RGM_GOTO(look_within(facts, cause, &w, err));
    RGM_GOTO(rgm_keyed_init(&groups, w.key, w.count, err));
    size_t g = narrowest(&w, &groups, facts->policy->verdict_inner_share * (double)w.samples);
    if (g == groups.count) goto done;
    RGM_GOTO(commonest(facts->view, &w, &groups, g, stack, err));
    *share = (double)(groups.first[g + 1] - groups.first[g]) / (double)w.samples;
done:
    rgm_keyed_release(&groups);
    rgm_free(w.stack);
    rgm_free(w.depth);
    rgm_free(w.key);
    return status;
}
