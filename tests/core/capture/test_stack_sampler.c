// SPDX-License-Identifier: Apache-2.0
// Samples of stacks: the tree of stacks, and the sampler over a scripted source in place of an interpreter.
#include "base/list.h"
#include "base/thread.h"
#include "capture/stack_tree.h"
#include "recording.h"

// --- a source that tells what it is told ------------------------------------------------------------------

struct rgm_walker {
    int looks;
};
static struct rgm_walker the_walker;
static rgm_source_frame scripted[RGM_STACK_DEEPEST];
static _Atomic(size_t) scripted_count, scripted_from;
static _Atomic(bool) scripted_torn, scripted_keeps;
static _Atomic(int) told_frames;                // by the walks together
static _Atomic(int) scripted_moves, moves_left; // of each look
enum { SCRIPTED_THREADS = 4 };
static int64_t scripted_thread, scripted_others[SCRIPTED_THREADS - 1];
static _Atomic(uint32_t) scripted_with_lock; // the number of the thread that has it
static uint32_t told_threads;
static _Atomic(int) read_together, late_with_lock, early_with_lock; // threads; looks at the one with the lock
static uint32_t walked;
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
    told_threads = walked = 0;
    return true;
}
static rgm_walk on_next(rgm_walker *walker, int64_t *thread) {
    (void)walker;
    if (told_threads == SCRIPTED_THREADS) return RGM_WALK_END;
    *thread = told_threads ? scripted_others[told_threads - 1] : scripted_thread;
    return told_threads++ && !*thread ? RGM_WALK_END : RGM_WALK_FOUND;
}
static void on_together(rgm_walker *walker, const uint32_t *which, size_t count) {
    (void)walker, (void)which;
    atomic_fetch_add(&read_together, (int)count);
    if (count == SCRIPTED_THREADS) walked = 1;
}
// How many at the outer end are as they were kept.
static size_t keep_scripted(rgm_kept_stack *kept, const rgm_source_frame *stack, size_t count) {
    size_t same = 0;
    while (same < kept->count && same < count && kept->frames[same].code == stack[count - 1 - same].code)
        same++;
    while (kept->room < count)
        if (rgm_list_grow(&kept->frames, &kept->room, 4, sizeof *kept->frames, NULL) != RGM_OK) return 0;
    for (size_t i = same; i < count; i++)
        kept->frames[i] = (rgm_kept_frame){.code = stack[count - 1 - i].code};
    kept->count = count;
    return same;
}
static rgm_walk on_frames(rgm_walker *walker, uint32_t which, rgm_kept_stack *kept, rgm_source_frame *frames,
                          size_t *count, bool *cut) {
    (void)walker;
    if (walked && which == scripted_with_lock)
        atomic_fetch_add(walked == SCRIPTED_THREADS ? &late_with_lock : &early_with_lock, 1);
    if (walked) walked++;
    atomic_fetch_add(&walks, 1);
    atomic_store(&moves_left, scripted_moves);
    if (scripted_torn) return RGM_WALK_TORN;
    *count = scripted_count;
    *cut = false;
    const rgm_source_frame *stack = scripted + atomic_load(&scripted_from);
    if (scripted_keeps) *count -= keep_scripted(kept, stack, *count);
    memcpy(frames, stack, *count * sizeof *frames);
    atomic_fetch_add(&told_frames, (int)*count);
    return scripted_count ? RGM_WALK_FOUND : RGM_WALK_END;
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
static bool on_has_lock(const rgm_walker *walker, uint32_t which) {
    (void)walker;
    return which == scripted_with_lock;
}
static bool on_moved(rgm_walker *walker) {
    (void)walker;
    return atomic_fetch_sub(&moves_left, 1) > 0;
}
static const rgm_stack_source source = {on_start, on_stop,  on_begin, on_next,    on_together, on_frames,
                                        NULL,     on_names, on_line,  on_is_lock, on_has_lock, on_moved};

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

TEST(a_line_that_is_told_is_not_asked_for) {
    grown g;
    uint32_t asked, told, other, again;
    REQUIRE(grow(&g));
    rgm_source_frame stack[] = {frame_of(1, 0)};
    CHECK(find(&g, stack, 1, false, &asked) == RGM_STACK_KNOWN);
    stack[0].line = 21;
    CHECK(find(&g, stack, 1, false, &told) == RGM_STACK_KNOWN);
    stack[0].line = 22; // other code where that one was
    CHECK(find(&g, stack, 1, false, &other) == RGM_STACK_KNOWN);
    CHECK(taken[asked].line == 10 && taken[told].line == 21 && taken[other].line == 22);
    stack[0].line = 21;
    CHECK(find(&g, stack, 1, false, &again) == RGM_STACK_KNOWN);
    CHECK(again == told && taken_count == 3);
    fell(&g);
}

TEST(a_stack_is_found_from_the_part_that_is_known) {
    grown g;
    uint32_t whole, node = RGM_STACK_NONE;
    REQUIRE(grow(&g));
    rgm_source_frame stack[] = {frame_of(3, 0), frame_of(2, 0), frame_of(1, 0)};
    rgm_kept_frame kept[3] = {{.frame = 7}, {.frame = 8}, {.frame = 9}};
    CHECK(find(&g, stack, 3, false, &whole) == RGM_STACK_KNOWN);
    CHECK(rgm_stack_tree_follow(g.tree, &source, &the_walker, stack + 2, 1, 1, kept, &node) ==
          RGM_STACK_KNOWN);
    int looks = the_walker.looks;
    CHECK(rgm_stack_tree_follow(g.tree, &source, &the_walker, stack, 2, 1, kept + 1, &node) ==
          RGM_STACK_KNOWN);
    CHECK_EQ_U64(node, whole);
    CHECK(kept[0].node == 0 && kept[1].node == 1 && kept[2].node == 2);
    CHECK(kept[0].frame == 7 && kept[2].frame == 9);
    CHECK(the_walker.looks == looks && taken_count == 3);
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

// Looks so many times while a scope is open, and stops.
static void sample(rgm_session *session, int looks) {
    open_scope scope = scope_begin(session, "scope");
    wait_for_walks(looks);
    scope_end(session, scope);
    rgm_session_stop(session);
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
        sample(session, 20);
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

static _Atomic(bool) others_go_on;

static void *go_on(void *arg) {
    _Atomic(int64_t) *id = arg;
    atomic_store(id, rgm_thread_native_id());
    while (atomic_load(&others_go_on)) continue;
    return NULL;
}

// Those who went on since the last look are read at once; the one with the lock, for which the sampler may
// have to wait, is looked at when all others have been.
TEST(threads_are_read_together_and_the_one_with_the_lock_is_last) {
    enum { OTHERS = SCRIPTED_THREADS - 1 };
    pthread_t threads[OTHERS];
    static _Atomic(int64_t) ids[OTHERS];
    others_go_on = true;
    for (int i = 0; i < OTHERS; i++) {
        atomic_store(&ids[i], 0);
        REQUIRE(pthread_create(&threads[i], NULL, go_on, &ids[i]) == 0);
        while (!(scripted_others[i] = atomic_load(&ids[i]))) continue;
    }
    scripted_thread = rgm_thread_native_id();
    scripted[0] = frame_of(7, 0);
    scripted_count = 1;
    scripted_with_lock = 1;
    read_together = late_with_lock = early_with_lock = 0;
    rgm_session *session = sampled_session(NULL);
    REQUIRE(session);
    open_scope scope = scope_begin(session, "scope");
    while (atomic_load(&late_with_lock) < 3) continue;
    scope_end(session, scope);
    rgm_session_stop(session);
    others_go_on = false;
    for (int i = 0; i < OTHERS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_I64(early_with_lock, 0);
    CHECK(read_together >= 3 * SCRIPTED_THREADS);
    rgm_run *run = snapshot_of(session);
    REQUIRE(run);
    size_t of_lock = 0;
    for (size_t i = 0; i < run->samples.rows; i++) {
        rgm_sample_state state = (rgm_sample_state)run->samples.state[i];
        bool with_lock = run->samples.thread[i] == scripted_others[0];
        of_lock += with_lock;
        CHECK(with_lock ? state != RGM_SAMPLE_NATIVE
                        : state != RGM_SAMPLE_CALLING && state != RGM_SAMPLE_INTERPRETING);
    }
    CHECK(of_lock >= 3);
    memset(scripted_others, 0, sizeof scripted_others);
    scripted_with_lock = 0;
    rgm_run_free(run);
    rgm_session_free(session);
}

TEST(what_is_as_it_was_is_not_told_again) {
    rgm_session *session = sampled_session(NULL);
    REQUIRE(session);
    scripted_thread = rgm_thread_native_id();
    enum { DEEP = 40 };
    for (uint64_t i = 0; i < DEEP; i++) scripted[i] = scripted[DEEP + i] = frame_of(100 + DEEP - i, 0);
    scripted[DEEP] = frame_of(200, 0); // another innermost function
    scripted_count = DEEP;
    scripted_keeps = true;
    int walks_before = atomic_load(&walks);
    atomic_store(&told_frames, 0);
    open_scope scope = scope_begin(session, "scope");
    wait_for_walks(20);
    scripted_from = DEEP;
    wait_for_walks(20);
    scope_end(session, scope);
    rgm_session_stop(session);
    CHECK(atomic_load(&walks) >= walks_before + 40);
    CHECK_EQ_I64(atomic_load(&told_frames), DEEP + 1);
    rgm_run *run = snapshot_of(session);
    REQUIRE(run);
    CHECK_EQ_U64(run->stacks.rows, DEEP + 1);
    for (size_t i = 0; i < run->samples.rows; i++) {
        size_t depth = 0;
        for (int32_t stack = (int32_t)run->samples.stack[i]; stack >= 0; stack = run->stacks.parent[stack])
            depth++;
        CHECK_EQ_U64(depth, DEEP);
    }
    scripted_from = 0;
    scripted_keeps = false;
    rgm_run_free(run);
    rgm_session_free(session);
}

TEST(a_thread_that_is_being_started_has_no_sample) {
    rgm_session *session = sampled_session(NULL);
    REQUIRE(session);
    scripted_thread = 0; // it is in Python's list before it runs
    scripted_others[0] = rgm_thread_native_id();
    scripted[0] = frame_of(7, 0);
    scripted_count = 1;
    sample(session, 10);
    rgm_run *run = snapshot_of(session);
    REQUIRE(run);
    CHECK(run->samples.rows >= 9);
    for (size_t i = 0; i < run->samples.rows; i++) CHECK_EQ_I64(run->samples.thread[i], scripted_others[0]);
    scripted_others[0] = 0;
    rgm_run_free(run);
    rgm_session_free(session);
}

TEST(torn_walks_are_counted_and_left_out) {
    rgm_session *session = sampled_session(NULL);
    REQUIRE(session);
    scripted_thread = rgm_thread_native_id();
    scripted_torn = true;
    sample(session, 10);
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
    rgm_run *run = session_finish(session);
    REQUIRE(run);
    CHECK_EQ_U64(run->samples.rows, 0);
    CHECK_EQ_U64(run->stacks.rows, 0);
    rgm_run_free(run);
}
