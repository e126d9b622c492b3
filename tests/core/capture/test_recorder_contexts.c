// SPDX-License-Identifier: Apache-2.0
// Tasks that take turns on one thread: each has a stack of its own, and gives it back.
#include "recording.h"

TEST(interleaved_contexts_nest_on_their_own) {
    rgm_session *s = session_fake();
    int one, two;
    open_scope main_scope = scope_begin(s, "main");
    rgm_clock_fake_advance(2000);
    open_scope a = scope_begin_in(s, &one, "a");
    rgm_clock_fake_advance(2000);
    open_scope b = scope_begin_in(s, &two, "b");
    rgm_clock_fake_advance(2000);
    open_scope a_inner = scope_begin_in(s, &one, "a.inner");
    rgm_clock_fake_advance(2000);
    open_scope b_inner = scope_begin_in(s, &two, "b.inner");
    rgm_clock_fake_advance(2000);
    scope_end(s, a_inner);
    scope_end(s, a);
    scope_end(s, b_inner);
    scope_end(s, b);
    open_scope c = scope_begin_in(s, &one, "c"); // a new task that got the memory of an old one
    scope_end(s, c);
    scope_end(s, main_scope);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 6);
    run_check_sound(run, true);
    int32_t rows[] = {span_of(run, "main"), span_of(run, "a"), span_of(run, "b"), span_of(run, "c")};
    CHECK_EQ_I64(run->spans.parent[rows[0]], -1);
    CHECK_EQ_I64(run->spans.parent[rows[1]], -1);
    CHECK_EQ_I64(run->spans.parent[rows[2]], -1);
    CHECK_EQ_I64(run->spans.parent[rows[3]], -1);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "a.inner")], rows[1]);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "b.inner")], rows[2]);
    CHECK(run->spans.lane[rows[0]] != run->spans.lane[rows[1]]);
    CHECK(run->spans.lane[rows[1]] != run->spans.lane[rows[2]]);
    CHECK_EQ_I64(run->lanes.slot[run->spans.lane[rows[0]]], 0);
    CHECK(run->lanes.slot[run->spans.lane[rows[1]]] > 0);
    rgm_run_free(run);
}

TEST(ten_thousand_short_tasks_need_few_tracks) {
    rgm_session *s = session_fake();
    static char contexts[10000];
    for (int i = 0; i < 10000; i++) {
        open_scope scope = scope_begin_in(s, &contexts[i], "task");
        REQUIRE(scope.frame);
        rgm_clock_fake_advance(1000);
        scope_end(s, scope);
    }
    CHECK(recorder_of(s)->track_count <= 2);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 10000);
    CHECK(run->lanes.rows <= 2);
    rgm_run_free(run);
}

TEST(tasks_that_end_while_another_runs_give_their_track_back) {
    rgm_session *s = session_fake();
    static char contexts[5000];
    open_scope before = scope_begin_in(s, &contexts[0], "task");
    for (int i = 1; i < 5000; i++) {
        open_scope next = scope_begin_in(s, &contexts[i], "task");
        scope_end(s, before);
        before = next;
    }
    scope_end(s, before);
    CHECK(recorder_of(s)->track_count <= 3);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 5000);
    for (size_t i = 0; i < run->spans.rows; i++) CHECK_EQ_I64(run->spans.parent[i], -1);
    rgm_run_free(run);
}

TEST(a_thousand_tasks_open_at_once_keep_apart) {
    enum { TASKS = 1000 };
    rgm_session *s = session_fake();
    static char contexts[TASKS];
    static open_scope outer[TASKS], inner[TASKS];
    for (int i = 0; i < TASKS; i++) outer[i] = scope_begin_in(s, &contexts[i], "outer");
    for (int i = 0; i < TASKS; i++) inner[i] = scope_begin_in(s, &contexts[i], "inner");
    rgm_clock_fake_advance(1000);
    for (int i = 0; i < TASKS; i++) scope_end(s, inner[i]);
    for (int i = 0; i < TASKS; i++) scope_end(s, outer[i * 617 % TASKS]); // in no order
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 2 * TASKS);
    run_check_sound(run, true);
    int children = 0;
    for (size_t i = 0; i < run->spans.rows; i++) children += run->spans.parent[i] >= 0;
    CHECK_EQ_I64(children, TASKS);
    rgm_run_free(run);
}

// A task whose scopes are being left out keeps its stack: it would lose count otherwise, and the next task
// with it.
TEST(a_stack_is_kept_while_its_scopes_are_left_out) {
    rgm_session *s = session_fake();
    char contexts[3];
    open_scope first = scope_begin_in(s, &contexts[0], "first");
    rgm_recorder *r = recorder_of(s);
    rgm_track *track = r->track;
    track->suppressed = 1;
    open_scope other = scope_begin_in(s, &contexts[1], "other");
    scope_end(s, first); // from outside its task
    CHECK(rgm_recorder_track_of(r, &contexts[0]) == track);
    CHECK_EQ_U64(track->suppressed, 1);
    open_scope third = scope_begin_in(s, &contexts[2], "third");
    CHECK(r->track != track);
    scope_end(s, third);
    scope_end(s, other);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 3);
    rgm_run_free(run);
}

// Enters `inner` as code called from `outer` does, and begins a scope there.
static open_scope begin_nested(rgm_session *s, const void *outer, const void *inner, const char *name) {
    rgm_recorder *r = recorder_of(s);
    if (r && rgm_recorder_switch(r, inner)) rgm_recorder_nest(r, rgm_recorder_track_of(r, outer));
    return scope_begin_in(s, inner, name);
}

TEST(a_context_entered_inside_a_scope_is_nested_in_it) {
    int outer, inner;
    rgm_session *s = session_plain(NULL);
    REQUIRE(s);
    open_scope around = scope_begin_in(s, &outer, "around");
    open_scope task = begin_nested(s, &outer, &inner, "task");
    open_scope deeper = scope_begin_in(s, &inner, "deeper");
    scope_end(s, deeper);
    scope_end(s, task);
    scope_end(s, around);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "task")], span_of(run, "around"));
    CHECK_EQ_I64(run->spans.parent[span_of(run, "deeper")], span_of(run, "task"));
    CHECK(run->spans.lane[span_of(run, "task")] != run->spans.lane[span_of(run, "around")]);
    rgm_run_free(run);
    rgm_session_free(s);
}

TEST(a_task_that_outlives_the_scope_around_it_has_no_parent) {
    int outer, inner;
    rgm_session *s = session_plain(NULL);
    REQUIRE(s);
    open_scope around = scope_begin_in(s, &outer, "around");
    open_scope task = begin_nested(s, &outer, &inner, "task");
    scope_end(s, around);
    open_scope reuse = scope_begin_in(s, &outer, "reuse"); // takes the frame of `around`
    CHECK(reuse.frame == around.frame);
    scope_end(s, task);
    scope_end(s, reuse);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "task")], -1);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
    rgm_run_free(run);
    rgm_session_free(s);
}
