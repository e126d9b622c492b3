// SPDX-License-Identifier: Apache-2.0
// Scopes with the fake clock: exact times, nesting, order, limits.
#include "recording.h"

enum { START = 1000000000 };

// A session under the fake clock, freed with its last snapshot at the end of each test.
static rgm_session *fake_session(void) {
    rgm_clock_fake(START);
    return session_plain(NULL);
}

static rgm_run *finish(rgm_session *session) {
    rgm_session_stop(session);
    rgm_run *run = snapshot_of(session);
    rgm_session_free(session);
    rgm_clock_fake_stop();
    return run;
}

TEST(nested_scopes_have_exact_times_and_parents) {
    rgm_session *s = fake_session();
    open_scope outer = scope_begin(s, "outer");
    rgm_clock_fake_advance(10000);
    open_scope inner = scope_begin(s, "inner");
    rgm_clock_fake_advance(5000);
    scope_end(s, inner);
    rgm_clock_fake_advance(2000);
    scope_end(s, outer);
    rgm_clock_fake_advance(2000);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 2);
    CHECK_STR_EQ(name_of(run, 0), "outer");
    CHECK_EQ_I64(run->spans.start_ns[0], START);
    CHECK_EQ_I64(run->spans.duration_ns[0], 17000);
    CHECK_EQ_I64(run->spans.start_ns[1], START + 10000);
    CHECK_EQ_I64(run->spans.duration_ns[1], 5000);
    CHECK_EQ_I64(run->spans.parent[0], -1);
    CHECK_EQ_I64(run->spans.parent[1], 0);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    CHECK(run->complete);
    CHECK_EQ_I64(run->start_ns, START);
    CHECK_EQ_I64(run->end_ns, START + 19000);
    rgm_run_free(run);
}

TEST(a_parent_that_starts_with_its_child_comes_first) {
    rgm_session *s = fake_session();
    open_scope a = scope_begin(s, "a"), b = scope_begin(s, "b"), c = scope_begin(s, "c");
    rgm_clock_fake_advance(3000);
    scope_end(s, c);
    scope_end(s, b);
    scope_end(s, a);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 3);
    CHECK_STR_EQ(name_of(run, 0), "a");
    CHECK_STR_EQ(name_of(run, 1), "b");
    CHECK_STR_EQ(name_of(run, 2), "c");
    CHECK_EQ_I64(run->spans.parent[1], 0);
    CHECK_EQ_I64(run->spans.parent[2], 1);
    rgm_run_free(run);
}

TEST(flags_device_backend_and_metadata_arrive) {
    rgm_session *s = fake_session();
    rgm_site *site = NULL;
    CHECK_OK(rgm_session_site(s, "op", 2, RGM_DEVICE_CUDA, RGM_ROLE_NONE, &site, NULL));
    REQUIRE(site);
    rgm_session_site_backend(s, site, RGM_BACKEND_TORCH);
    uint32_t meta = rgm_session_metadata(s, "{\"a\":1}", 7), seq;
    rgm_recorder *r = recorder_of(s);
    rgm_frame *frame = rgm_scope_begin(r, NULL, site->id, meta, &seq);
    rgm_clock_fake_advance(1500);
    CHECK_EQ_U64(rgm_scope_end(r, frame, seq, rgm_clock_ticks(), RGM_RECORD_FAILED), 1500);
    scopes(s, "plain", 1);
    rgm_clock_fake_advance(2000);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 2);
    int32_t op = span_of(run, "op"), plain = span_of(run, "plain");
    REQUIRE(op >= 0 && plain >= 0);
    CHECK_EQ_U64(run->spans.flags[op] & RGM_FLAG_MASK, RGM_FLAG_FAILED);
    CHECK_EQ_U64(rgm_flags_device(run->spans.flags[op]), RGM_DEVICE_CUDA);
    CHECK_EQ_U64(rgm_flags_backend(run->spans.flags[op]), RGM_BACKEND_TORCH);
    CHECK_STR_EQ(text_of(run, run->spans.metadata[op]), "{\"a\":1}");
    CHECK_EQ_U64(run->spans.flags[plain] & RGM_FLAG_MASK, 0);
    CHECK_EQ_U64(run->spans.metadata[plain], 0);
    rgm_run_free(run);
}

TEST(one_name_on_two_devices_is_two_sites) {
    rgm_session *s = fake_session();
    rgm_site *gpu = NULL, *cpu = NULL, *again = NULL;
    CHECK_OK(rgm_session_site(s, "op", 2, RGM_DEVICE_GPU, RGM_ROLE_NONE, &gpu, NULL));
    CHECK_OK(rgm_session_site(s, "op", 2, RGM_DEVICE_CPU, RGM_ROLE_NONE, &cpu, NULL));
    CHECK_OK(rgm_session_site(s, "op", 2, RGM_DEVICE_GPU, RGM_ROLE_NONE, &again, NULL));
    CHECK(gpu && cpu && gpu != cpu && again == gpu);
    rgm_run_free(finish(s));
}

TEST(a_scope_of_many_days_keeps_its_length) {
    rgm_session *s = fake_session();
    uint64_t ticks = (UINT64_C(1) << 48) + 12345 * 65536;
    open_scope outer = scope_begin(s, "outer"), inner = scope_begin(s, "inner");
    rgm_clock_fake_advance((UINT64_C(1) << 48) - 1); // the longest that still fits
    scope_end(s, inner);
    rgm_clock_fake_advance(ticks - (UINT64_C(1) << 48) + 1);
    scope_end(s, outer);
    rgm_clock_fake_advance(5000);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 2);
    CHECK_EQ_I64(run->spans.duration_ns[0], (int64_t)ticks);
    CHECK_EQ_I64(run->spans.duration_ns[1], (INT64_C(1) << 48) - 1);
    rgm_run_free(run);
}

TEST(an_end_before_its_start_is_an_empty_scope) {
    rgm_session *s = fake_session();
    open_scope scope = scope_begin(s, "op");
    CHECK_EQ_U64(rgm_scope_end(recorder_of(s), scope.frame, scope.seq, START - 7, 0), 0);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 1);
    CHECK_EQ_I64(run->spans.duration_ns[0], 0);
    rgm_run_free(run);
}

TEST(interleaved_contexts_nest_on_their_own) {
    rgm_session *s = fake_session();
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
    rgm_run *run = finish(s);
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
    rgm_session *s = fake_session();
    static char contexts[10000];
    for (int i = 0; i < 10000; i++) {
        open_scope scope = scope_begin_in(s, &contexts[i], "task");
        REQUIRE(scope.frame);
        rgm_clock_fake_advance(1000);
        scope_end(s, scope);
    }
    CHECK(recorder_of(s)->track_count <= 2);
    rgm_run *run = finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 10000);
    CHECK(run->lanes.rows <= 2);
    rgm_run_free(run);
}

TEST(tasks_that_end_while_another_runs_give_their_track_back) {
    rgm_session *s = fake_session();
    static char contexts[5000];
    open_scope before = scope_begin_in(s, &contexts[0], "task");
    for (int i = 1; i < 5000; i++) {
        open_scope next = scope_begin_in(s, &contexts[i], "task");
        scope_end(s, before);
        before = next;
    }
    scope_end(s, before);
    CHECK(recorder_of(s)->track_count <= 3);
    rgm_run *run = finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 5000);
    for (size_t i = 0; i < run->spans.rows; i++) CHECK_EQ_I64(run->spans.parent[i], -1);
    rgm_run_free(run);
}

TEST(a_thousand_tasks_open_at_once_keep_apart) {
    enum { TASKS = 1000 };
    rgm_session *s = fake_session();
    static char contexts[TASKS];
    static open_scope outer[TASKS], inner[TASKS];
    for (int i = 0; i < TASKS; i++) outer[i] = scope_begin_in(s, &contexts[i], "outer");
    for (int i = 0; i < TASKS; i++) inner[i] = scope_begin_in(s, &contexts[i], "inner");
    rgm_clock_fake_advance(1000);
    for (int i = 0; i < TASKS; i++) scope_end(s, inner[i]);
    for (int i = 0; i < TASKS; i++) scope_end(s, outer[i * 617 % TASKS]); // in no order
    rgm_run *run = finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 2 * TASKS);
    run_check_sound(run, true);
    int children = 0;
    for (size_t i = 0; i < run->spans.rows; i++) children += run->spans.parent[i] >= 0;
    CHECK_EQ_I64(children, TASKS);
    rgm_run_free(run);
}

TEST(scopes_that_end_out_of_order_keep_a_sound_tree) {
    rgm_session *s = fake_session();
    open_scope a = scope_begin(s, "a");
    rgm_clock_fake_advance(1000);
    open_scope b = scope_begin(s, "b");
    rgm_clock_fake_advance(1000);
    open_scope c = scope_begin(s, "c");
    rgm_clock_fake_advance(1000);
    scope_end(s, b); // before c, which it encloses
    rgm_clock_fake_advance(1000);
    scope_end(s, c); // its parent has been written; the next one out takes it
    rgm_clock_fake_advance(1000);
    scope_end(s, a);
    open_scope d = scope_begin(s, "d");
    scope_end(s, d);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 4);
    run_check_sound(run, false);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "b")], span_of(run, "a"));
    CHECK_EQ_I64(run->spans.parent[span_of(run, "c")], span_of(run, "a"));
    CHECK_EQ_I64(run->spans.parent[span_of(run, "d")], -1);
    CHECK_EQ_I64(run->spans.duration_ns[span_of(run, "b")], 2000);
    CHECK_EQ_I64(run->spans.duration_ns[span_of(run, "c")], 2000);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_OVERLAPPING_SPANS),
                 1); // their times add up to more than passed
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
    rgm_run_free(run);
}

TEST(frames_come_back_after_ends_out_of_order) {
    rgm_session *s = fake_session();
    scopes(s, "warm", 1);
    uint64_t calls = rgm_memory_calls();
    rgm_session_stats before, after; // the service thread fills the pool of blocks in the meantime
    rgm_session_get_stats(s, &before);
    for (int i = 0; i < 500; i++) {
        open_scope a = scope_begin(s, "warm"), b = scope_begin(s, "warm"), c = scope_begin(s, "warm");
        scope_end(s, a);
        scope_end(s, b);
        scope_end(s, c);
    }
    rgm_session_get_stats(s, &after);
    CHECK(rgm_memory_calls() - calls < after.blocks - before.blocks + 5);
    rgm_run_free(finish(s));
}

// A task whose scopes are being left out keeps its stack: it would lose count otherwise, and the next task
// with it.
TEST(a_stack_is_kept_while_its_scopes_are_left_out) {
    rgm_session *s = fake_session();
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
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 3);
    rgm_run_free(run);
}

TEST(a_scope_that_ends_twice_is_counted_and_not_recorded) {
    rgm_session *s = fake_session();
    open_scope a = scope_begin(s, "a");
    scope_end(s, a);
    scope_end(s, a);
    scopes(s, "b", 1);
    scope_end(s, a); // the frame has been used again
    rgm_run *run = finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 2);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_LOST_SCOPES), 2);
    rgm_run_free(run);
}

static open_scope shared;
static void end_shared(rgm_session *session, int number) {
    (void)number;
    scope_end(session, shared);
}

TEST(a_scope_may_end_on_another_thread) {
    rgm_session *s = fake_session();
    open_scope outer = scope_begin(s, "outer");
    shared = scope_begin(s, "moved");
    rgm_clock_fake_advance(4000);
    on_thread(s, end_shared);
    rgm_clock_fake_advance(1000);
    open_scope after = scope_begin(s, "after");
    rgm_clock_fake_advance(1000);
    scope_end(s, after);
    scope_end(s, outer);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 3);
    int32_t moved = span_of(run, "moved"), outer_row = span_of(run, "outer");
    CHECK_EQ_I64(run->spans.duration_ns[moved], 4000);
    CHECK_EQ_I64(run->spans.parent[moved], -1);
    CHECK(run->spans.flags[moved] & RGM_FLAG_MIGRATED);
    CHECK(run->spans.lane[moved] != run->spans.lane[outer_row]);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "after")], outer_row);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_MIGRATED_SCOPES), 1);
    rgm_run_free(run);
}

TEST(more_frames_than_one_slab) {
    enum { DEPTH = RGM_FRAMES_PER_SLAB * 3 + 5 };
    rgm_session *s = fake_session();
    static open_scope stack[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        stack[i] = scope_begin(s, "deep");
        rgm_clock_fake_advance(1);
    }
    for (int i = DEPTH; i-- > 0;) scope_end(s, stack[i]);
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == DEPTH);
    for (int i = 0; i < DEPTH; i++) {
        CHECK_EQ_I64(run->spans.parent[i], i - 1);
        CHECK_EQ_I64(run->spans.start_ns[i], START + i);
    }
    rgm_run_free(run);
}

TEST(more_records_than_one_block) {
    enum { COUNT = RGM_BLOCK_RECORDS * 3 + 100 };
    rgm_session *s = fake_session();
    for (int i = 0; i < COUNT; i++) {
        open_scope scope = scope_begin(s, "op");
        rgm_clock_fake_advance((uint64_t)i + 1);
        scope_end(s, scope);
    }
    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == COUNT);
    int64_t at = START;
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ_I64(run->spans.start_ns[i], at);
        CHECK_EQ_I64(run->spans.duration_ns[i], i + 1);
        at += i + 1;
    }
    rgm_run_free(run);
}

TEST(open_scopes_become_spans_when_stopped) {
    rgm_session *s = fake_session();
    (void)scope_begin(s, "a");
    rgm_clock_fake_advance(1000);
    (void)scope_begin(s, "b");
    rgm_clock_fake_advance(1000);
    open_scope done = scope_begin(s, "done");
    rgm_clock_fake_advance(1000);
    scope_end(s, done);
    (void)scope_begin(s, "c");
    rgm_clock_fake_advance(4000);

    rgm_run *live = snapshot_of(s); // while they run they are left out, and nobody is called lost
    REQUIRE(live);
    CHECK_EQ_I64(live->spans.rows, 1);
    CHECK_EQ_I64(live->anomalies.rows, 0);
    CHECK(!live->complete);
    rgm_run_free(live);

    rgm_run *run = finish(s);
    REQUIRE(run && run->spans.rows == 4);
    int32_t a = span_of(run, "a"), b = span_of(run, "b");
    CHECK_EQ_I64(run->spans.duration_ns[a], 7000);
    CHECK_EQ_I64(run->spans.duration_ns[b], 6000);
    CHECK_EQ_I64(run->spans.duration_ns[span_of(run, "c")], 4000);
    CHECK(run->spans.flags[a] & RGM_FLAG_OPEN);
    CHECK(!(run->spans.flags[span_of(run, "done")] & RGM_FLAG_OPEN));
    CHECK_EQ_I64(run->spans.parent[a], -1);
    CHECK_EQ_I64(run->spans.parent[b], a);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "done")], b);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "c")], b);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_OPEN_SCOPES), 3);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
    rgm_run_free(run);
}

TEST(a_snapshot_after_stop_never_changes) {
    rgm_session *s = fake_session();
    (void)scope_begin(s, "open");
    rgm_clock_fake_advance(5000);
    rgm_session_stop(s);
    rgm_run *first = snapshot_of(s);
    rgm_clock_fake_advance(5000);
    rgm_run *second = snapshot_of(s);
    REQUIRE(first && second && first->spans.rows == 1 && second->spans.rows == 1);
    CHECK_EQ_I64(first->spans.duration_ns[0], 5000);
    CHECK_EQ_I64(second->spans.duration_ns[0], 5000);
    CHECK_EQ_I64(second->end_ns, first->end_ns);
    rgm_run_free(first);
    rgm_run_free(second);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(a_stopped_session_records_nothing_more) {
    rgm_session *s = fake_session();
    scopes(s, "before", 1);
    rgm_session_stop(s);
    CHECK_EQ_U64(rgm_session_id(s), 0);
    CHECK(recorder_of(s) == NULL);
    scopes(s, "after", 3);
    rgm_session_stop(s);
    rgm_run *run = finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 1);
    rgm_run_free(run);
}

TEST(memory_values_belong_to_the_scope_before) {
    rgm_session *s = fake_session();
    open_scope outer = scope_begin(s, "outer"), inner = scope_begin(s, "inner");
    rgm_clock_fake_advance(1000);
    scope_end(s, inner);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_HOST_MEMORY, 0, 100, 300);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_DEVICE_USE, 2, 10, 20);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_DEVICE_PEAK, 2, 50, 60);
    rgm_clock_fake_advance(1000);
    scope_end(s, outer);
    rgm_run *run = finish(s);
    REQUIRE(run && run->memory.rows == 5);
    const rgm_memory *m = &run->memory;
    int32_t row = span_of(run, "inner");
    for (size_t i = 0; i < 5; i++) CHECK_EQ_I64(m->span[i], row);
    CHECK_EQ_I64(m->action[0], RGM_ACTION_BEGIN);
    CHECK_EQ_I64(m->bytes[0], 100);
    CHECK_EQ_I64(m->device[0], -1);
    CHECK_EQ_I64(m->time_ns[0], START);
    CHECK_EQ_I64(m->bytes[1], 300);
    CHECK_EQ_I64(m->time_ns[1], START + 1000);
    CHECK_EQ_I64(m->device[2], 2);
    CHECK_EQ_I64(m->allocated[3], 20);
    CHECK_EQ_I64(m->action[4], RGM_ACTION_PEAK);
    CHECK_EQ_I64(m->allocated[4], 50);
    CHECK_EQ_I64(m->reserved[4], 60);
    rgm_run_free(run);
}

TEST(sampled_out_calls_are_counted) {
    rgm_session *s = fake_session();
    rgm_site *site = site_of(s, "op");
    atomic_store(&site->skipped, 41);
    scopes(s, "op", 1);
    rgm_run *run = finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_SAMPLED_OUT), 41);
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
