// SPDX-License-Identifier: Apache-2.0
// Samples of stacks: the tree of stacks, and the sampler over a scripted source in place of an interpreter.
#include "base/thread.h"
#include "capture/stack_tree.h"
#include "recording.h"

// --- a source that tells what it is told ------------------------------------------------------------------

struct rgm_walker {
    int looks;
};
static struct rgm_walker the_walker;
static rgm_source_frame scripted[RGM_STACK_DEEPEST];
static _Atomic(size_t) scripted_count;
static _Atomic(bool) scripted_torn;
static _Atomic(int) scripted_moves, moves_left; // of each look
static int64_t scripted_thread;
static bool told_thread;
static const char *named = "f";
static _Atomic(int) walks;

static rgm_walker *on_start(const char **reason) {
    *reason = "";
    return &the_walker;
}
static void on_stop(rgm_walker *walker) { (void)walker; }
static bool on_begin(rgm_walker *walker, const char **reason) {
    (void)walker;
    *reason = "";
    told_thread = false;
    return true;
}
static rgm_walk on_next(rgm_walker *walker, int64_t *thread) {
    (void)walker;
    if (told_thread) return RGM_WALK_END;
    told_thread = true;
    *thread = scripted_thread;
    return RGM_WALK_FOUND;
}
static rgm_walk on_frames(rgm_walker *walker, rgm_source_frame *frames, size_t *count, bool *cut) {
    (void)walker;
    atomic_fetch_add(&walks, 1);
    atomic_store(&moves_left, scripted_moves);
    if (scripted_torn) return RGM_WALK_TORN;
    *count = scripted_count;
    *cut = false;
    memcpy(frames, scripted, *count * sizeof *frames);
    return *count ? RGM_WALK_FOUND : RGM_WALK_END;
}
static bool on_names(rgm_walker *walker, const rgm_source_frame *frame, char *function,
                     size_t *function_length, char *file, size_t *file_length) {
    walker->looks++;
    *function_length = (size_t)snprintf(function, RGM_STACK_TEXT, "%s%d", named, (int)frame->code);
    *file_length = (size_t)snprintf(file, RGM_STACK_TEXT, "file");
    return frame->code != 13;
}
static int32_t on_line(rgm_walker *walker, const rgm_source_frame *frame) {
    (void)walker;
    return frame->first_line + frame->unit / 4;
}
static bool on_is_lock(const rgm_walker *walker, uint64_t address) {
    (void)walker, (void)address;
    return false;
}
static bool on_has_lock(const rgm_walker *walker) {
    (void)walker;
    return true;
}
static bool on_moved(rgm_walker *walker) {
    (void)walker;
    return atomic_fetch_sub(&moves_left, 1) > 0;
}
static const rgm_stack_source source = {on_start, on_stop, on_begin,   on_next,     on_frames, NULL,
                                        on_names, on_line, on_is_lock, on_has_lock, on_moved};

static rgm_source_frame frame_of(uint64_t code, int32_t unit) {
    return (rgm_source_frame){
        .code = code, .name = code, .file = 1, .lines = code, .first_line = 10, .unit = unit};
}

// --- the tree ---------------------------------------------------------------------------------------------

enum { TAKEN_MOST = 64 };
static rgm_stack_row taken[TAKEN_MOST];
static size_t taken_count, taken_room = TAKEN_MOST;

static bool take(void *arg, const rgm_stack_row *row) {
    (void)arg;
    if (taken_count == taken_room) return false;
    taken[taken_count++] = *row;
    return true;
}

typedef struct {
    rgm_strings strings;
    rgm_stack_tree *tree;
    int64_t now_ns;
} grown;

static bool grow(grown *g) {
    *g = (grown){.now_ns = 1};
    taken_count = 0;
    taken_room = TAKEN_MOST;
    named = "f";
    return rgm_strings_init(&g->strings, 1 << 20, NULL) == RGM_OK &&
           rgm_stack_tree_new(&g->tree, &g->strings, take, NULL, NULL) == RGM_OK;
}

static void fell(grown *g) {
    rgm_stack_tree_free(g->tree);
    rgm_strings_release(&g->strings);
}

static rgm_stack_found find(grown *g, const rgm_source_frame *frames, size_t count, bool cut,
                            uint32_t *node) {
    return rgm_stack_tree_find(g->tree, &source, &the_walker, frames, count, cut, g->now_ns, node);
}

TEST(stacks_share_their_callers) {
    grown g;
    uint32_t first, again, other_line, deeper;
    REQUIRE(grow(&g));
    rgm_source_frame stack[] = {frame_of(2, 0), frame_of(1, 0)},
                     inner[] = {frame_of(3, 0), frame_of(2, 0), frame_of(1, 0)};
    CHECK(find(&g, stack, 2, false, &first) == RGM_STACK_KNOWN);
    CHECK(find(&g, stack, 2, false, &again) == RGM_STACK_KNOWN);
    CHECK_EQ_U64(first, again);
    stack[0].unit = 3; // another instruction of the same line
    CHECK(find(&g, stack, 2, false, &again) == RGM_STACK_KNOWN);
    CHECK_EQ_U64(first, again);
    stack[0].unit = 4;
    CHECK(find(&g, stack, 2, false, &other_line) == RGM_STACK_KNOWN);
    CHECK(other_line != first);
    CHECK(find(&g, inner, 3, false, &deeper) == RGM_STACK_KNOWN);
    CHECK_EQ_U64(taken_count, 4);
    CHECK_EQ_U64(taken[deeper].parent, first);
    CHECK_EQ_U64(taken[first].parent, 0);
    CHECK_EQ_U64(taken[0].parent, RGM_STACK_NONE);
    CHECK(taken[other_line].line == 11 && taken[first].line == 10);
    fell(&g);
}

TEST(what_lies_at_an_address_is_looked_at_again) {
    grown g;
    uint32_t before, after;
    REQUIRE(grow(&g));
    rgm_source_frame stack[] = {frame_of(1, 0)};
    CHECK(find(&g, stack, 1, false, &before) == RGM_STACK_KNOWN);
    int looks = the_walker.looks;
    g.now_ns += 900000000;
    CHECK(find(&g, stack, 1, false, &after) == RGM_STACK_KNOWN);
    CHECK_EQ_I64(the_walker.looks, looks);
    named = "another";
    g.now_ns += 200000000;
    CHECK(find(&g, stack, 1, false, &after) == RGM_STACK_KNOWN);
    CHECK(after != before);
    CHECK(strcmp(rgm_strings_view(&g.strings, taken[after].function).data, "another1") == 0);
    fell(&g);
}

TEST(names_that_cannot_be_read_and_no_room) {
    grown g;
    uint32_t node;
    REQUIRE(grow(&g));
    rgm_source_frame unreadable[] = {frame_of(13, 0)}, stack[] = {frame_of(2, 0), frame_of(1, 0)};
    CHECK(find(&g, unreadable, 1, false, &node) == RGM_STACK_UNREADABLE);
    taken_room = 1;
    CHECK(find(&g, stack, 2, false, &node) == RGM_STACK_NO_ROOM);
    taken_room = TAKEN_MOST;
    CHECK(find(&g, stack, 2, false, &node) == RGM_STACK_KNOWN);
    CHECK_EQ_U64(node, 1);
    rgm_stack_tree_clear(g.tree);
    CHECK(find(&g, stack, 2, true, &node) == RGM_STACK_KNOWN);
    CHECK_EQ_U64(node, 2); // numbers begin anew, below what has been left out
    fell(&g);
}

TEST(many_stacks) {
    enum { DEEP = 600 };
    static rgm_source_frame stack[DEEP];
    grown g;
    uint32_t node, again;
    REQUIRE(grow(&g));
    taken_room = SIZE_MAX;
    for (uint64_t i = 0; i < DEEP; i++) stack[i] = frame_of(100 + i, 0);
    taken_count = 0;
    taken_room = TAKEN_MOST;
    CHECK(find(&g, stack, DEEP, false, &node) == RGM_STACK_NO_ROOM);
    rgm_stack_tree_clear(g.tree);
    taken_count = 0;
    CHECK(find(&g, stack + DEEP - 60, 60, false, &node) == RGM_STACK_KNOWN);
    CHECK(find(&g, stack + DEEP - 60, 60, false, &again) == RGM_STACK_KNOWN);
    CHECK_EQ_U64(node, 59);
    CHECK_EQ_U64(again, 59);
    fell(&g);
}

// --- the sampler ------------------------------------------------------------------------------------------

static rgm_session *sampled_session(const char *path) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.stacks_interval_ns = 1000000;
    rgm_session *session = session_with(options, path);
    if (session) rgm_session_stacks(session, &source);
    return session;
}

static void wait_for_walks(int more) {
    int until = atomic_load(&walks) + more;
    while (atomic_load(&walks) < until) continue; // this thread works, so that each look is a walk
}

TEST(samples_are_rows_in_the_scope_that_is_open) {
    const char *path = temp_path("stacks.rgm");
    scripted_thread = rgm_thread_native_id();
    scripted[0] = frame_of(2, 0), scripted[1] = frame_of(1, 4);
    scripted_count = 2;
    named = "f";
    for (int journalled = 0; journalled < 2; journalled++) {
        rgm_session *session = sampled_session(journalled ? path : NULL);
        REQUIRE(session);
        open_scope outer = scope_begin(session, "outer"), inner = scope_begin(session, "inner");
        wait_for_walks(20);
        scope_end(session, inner);
        scope_end(session, outer);
        rgm_session_stop(session);
        rgm_run *run = journalled ? load_of(path, RGM_LOAD_STRICT) : snapshot_of(session);
        REQUIRE(run);
        CHECK(run->samples.rows >= 10 && run->stacks.rows == 2);
        int32_t expected = span_of(run, "inner");
        REQUIRE(expected >= 0);
        int64_t from = run->spans.start_ns[expected], to = from + run->spans.duration_ns[expected];
        for (size_t i = 0; i < run->samples.rows; i++) {
            uint32_t stack = run->samples.stack[i];
            bool inside = run->samples.time_ns[i] >= from && run->samples.time_ns[i] < to;
            CHECK_EQ_I64(run->samples.thread[i], scripted_thread);
            CHECK_EQ_I64(run->samples.span[i] == expected, inside);
            CHECK(strcmp(text_of(run, run->stacks.function[stack]), "f2") == 0);
            CHECK(strcmp(text_of(run, run->stacks.function[run->stacks.parent[stack]]), "f1") == 0);
            CHECK_EQ_I64(run->stacks.line[run->stacks.parent[stack]], 11);
        }
        run_check_sound(run, true);
        rgm_run_free(run);
        rgm_session_free(session);
    }
    unlink(path);
}

TEST(calls_of_compiled_code_are_told_from_the_interpreters_own_steps) {
    scripted_thread = rgm_thread_native_id();
    scripted[0] = frame_of(3, 0);
    scripted_count = 1;
    for (int script = 0; script < 3; script++) {
        enum { ALWAYS = 1000000 };
        scripted_moves = script == 2 ? ALWAYS : script; // none, the end of one call, steps
        rgm_session *session = sampled_session(NULL);
        REQUIRE(session);
        open_scope scope = scope_begin(session, "scope");
        wait_for_walks(20);
        scope_end(session, scope);
        rgm_session_stop(session);
        rgm_run *run = snapshot_of(session);
        REQUIRE(run);
        size_t ran = 0;
        for (size_t i = 0; i < run->samples.rows; i++) {
            ran += rgm_sample_runs((rgm_sample_state)run->samples.state[i]);
            CHECK(run->samples.state[i] != (script == 2 ? RGM_SAMPLE_CALLING : RGM_SAMPLE_INTERPRETING));
        }
        CHECK(ran > 0);
        rgm_run_free(run);
        rgm_session_free(session);
    }
    scripted_moves = 0;
}

TEST(torn_walks_are_counted_and_left_out) {
    rgm_session *session = sampled_session(NULL);
    REQUIRE(session);
    scripted_thread = rgm_thread_native_id();
    scripted_torn = true;
    open_scope scope = scope_begin(session, "scope");
    wait_for_walks(10);
    scope_end(session, scope);
    rgm_session_stop(session);
    scripted_torn = false;
    rgm_run *run = snapshot_of(session);
    REQUIRE(run);
    CHECK_EQ_U64(run->samples.rows, 0);
    CHECK(anomaly_count(run, RGM_ANOMALY_TORN_STACKS) >= 9);
    rgm_run_free(run);
    rgm_session_free(session);
}

TEST(a_reset_forgets_samples_and_stacks) {
    rgm_session *session = sampled_session(NULL);
    REQUIRE(session);
    scripted_thread = rgm_thread_native_id();
    scripted[0] = frame_of(5, 0);
    scripted_count = 1;
    open_scope scope = scope_begin(session, "scope");
    wait_for_walks(10);
    scripted_count = 0; // no function any more
    wait_for_walks(2);
    rgm_session_reset(session);
    scope_end(session, scope);
    rgm_session_stop(session);
    rgm_run *run = snapshot_of(session);
    REQUIRE(run);
    CHECK_EQ_U64(run->samples.rows, 0);
    CHECK_EQ_U64(run->stacks.rows, 0);
    rgm_run_free(run);
    rgm_session_free(session);
}
