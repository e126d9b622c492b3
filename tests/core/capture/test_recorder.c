// SPDX-License-Identifier: Apache-2.0
// Scopes of one thread with the fake clock: exact times, nesting, order, limits.
#include "recording.h"

TEST(nested_scopes_have_exact_times_and_parents) {
    rgm_session *s = session_fake();
    open_scope outer = scope_begin(s, "outer");
    rgm_clock_fake_advance(10000);
    open_scope inner = scope_begin(s, "inner");
    rgm_clock_fake_advance(5000);
    scope_end(s, inner);
    rgm_clock_fake_advance(2000);
    scope_end(s, outer);
    rgm_clock_fake_advance(2000);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 2);
    CHECK_STR_EQ(name_of(run, 0), "outer");
    CHECK_EQ_I64(run->spans.start_ns[0], FAKE_START);
    CHECK_EQ_I64(run->spans.duration_ns[0], 17000);
    CHECK_EQ_I64(run->spans.start_ns[1], FAKE_START + 10000);
    CHECK_EQ_I64(run->spans.duration_ns[1], 5000);
    CHECK_EQ_I64(run->spans.parent[0], -1);
    CHECK_EQ_I64(run->spans.parent[1], 0);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    CHECK(run->complete);
    CHECK_EQ_I64(run->start_ns, FAKE_START);
    CHECK_EQ_I64(run->end_ns, FAKE_START + 19000);
    rgm_run_free(run);
}

TEST(a_parent_that_starts_with_its_child_comes_first) {
    rgm_session *s = session_fake();
    open_scope a = scope_begin(s, "a"), b = scope_begin(s, "b"), c = scope_begin(s, "c");
    rgm_clock_fake_advance(3000);
    scope_end(s, c);
    scope_end(s, b);
    scope_end(s, a);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 3);
    CHECK_STR_EQ(name_of(run, 0), "a");
    CHECK_STR_EQ(name_of(run, 1), "b");
    CHECK_STR_EQ(name_of(run, 2), "c");
    CHECK_EQ_I64(run->spans.parent[1], 0);
    CHECK_EQ_I64(run->spans.parent[2], 1);
    rgm_run_free(run);
}

TEST(flags_device_backend_and_metadata_arrive) {
    rgm_session *s = session_fake();
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
    rgm_run *run = session_fake_finish(s);
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
    rgm_session *s = session_fake();
    rgm_site *gpu = NULL, *cpu = NULL, *again = NULL;
    CHECK_OK(rgm_session_site(s, "op", 2, RGM_DEVICE_GPU, RGM_ROLE_NONE, &gpu, NULL));
    CHECK_OK(rgm_session_site(s, "op", 2, RGM_DEVICE_CPU, RGM_ROLE_NONE, &cpu, NULL));
    CHECK_OK(rgm_session_site(s, "op", 2, RGM_DEVICE_GPU, RGM_ROLE_NONE, &again, NULL));
    CHECK(gpu && cpu && gpu != cpu && again == gpu);
    rgm_run_free(session_fake_finish(s));
}

TEST(a_scope_of_many_days_keeps_its_length) {
    rgm_session *s = session_fake();
    uint64_t ticks = (UINT64_C(1) << 48) + 12345 * 65536;
    open_scope outer = scope_begin(s, "outer"), inner = scope_begin(s, "inner");
    rgm_clock_fake_advance((UINT64_C(1) << 48) - 1); // the longest that still fits
    scope_end(s, inner);
    rgm_clock_fake_advance(ticks - (UINT64_C(1) << 48) + 1);
    scope_end(s, outer);
    rgm_clock_fake_advance(5000);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 2);
    CHECK_EQ_I64(run->spans.duration_ns[0], (int64_t)ticks);
    CHECK_EQ_I64(run->spans.duration_ns[1], (INT64_C(1) << 48) - 1);
    rgm_run_free(run);
}

TEST(an_end_before_its_start_is_an_empty_scope) {
    rgm_session *s = session_fake();
    open_scope scope = scope_begin(s, "op");
    CHECK_EQ_U64(rgm_scope_end(recorder_of(s), scope.frame, scope.seq, FAKE_START - 7, 0), 0);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 1);
    CHECK_EQ_I64(run->spans.duration_ns[0], 0);
    rgm_run_free(run);
}

TEST(scopes_that_end_out_of_order_keep_a_sound_tree) {
    rgm_session *s = session_fake();
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
    rgm_run *run = session_fake_finish(s);
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
    rgm_session *s = session_fake();
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
    rgm_run_free(session_fake_finish(s));
}

TEST(a_scope_that_ends_twice_is_counted_and_not_recorded) {
    rgm_session *s = session_fake();
    open_scope a = scope_begin(s, "a");
    scope_end(s, a);
    scope_end(s, a);
    scopes(s, "b", 1);
    scope_end(s, a); // the frame has been used again
    rgm_run *run = session_fake_finish(s);
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
    rgm_session *s = session_fake();
    open_scope outer = scope_begin(s, "outer");
    shared = scope_begin(s, "moved");
    rgm_clock_fake_advance(4000);
    on_thread(s, end_shared);
    rgm_clock_fake_advance(1000);
    open_scope after = scope_begin(s, "after");
    rgm_clock_fake_advance(1000);
    scope_end(s, after);
    scope_end(s, outer);
    rgm_run *run = session_fake_finish(s);
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

static void forget_shared(rgm_session *session, int number) {
    (void)number;
    rgm_recorder_forget(recorder_of(session), shared.frame, shared.seq);
}

TEST(what_was_in_a_scope_that_is_forgotten_stands_by_itself) {
    rgm_session *s = session_fake();
    shared = scope_begin(s, "forgotten");
    rgm_clock_fake_advance(1000);
    scopes(s, "before", 1);
    open_scope across = scope_begin(s, "across");
    rgm_clock_fake_advance(1000);
    forget_shared(s, 0);
    forget_shared(s, 0); // it is no more
    rgm_clock_fake_advance(1000);
    scopes(s, "inside", 1);
    scope_end(s, across);
    scopes(s, "after", 1);
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK_EQ_I64(stats.lost, 0);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 4);
    run_check_sound(run, true);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "before")], -1);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "across")], -1);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "inside")], span_of(run, "across"));
    CHECK_EQ_I64(run->spans.parent[span_of(run, "after")], -1);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
}

TEST(a_scope_may_be_forgotten_on_another_thread) {
    rgm_session *s = session_fake();
    shared = scope_begin(s, "forgotten");
    on_thread(s, forget_shared);
    rgm_clock_fake_advance(1000);
    scopes(s, "after", 1);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == 1);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "after")], -1);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
}

TEST(more_frames_than_one_slab) {
    enum { DEPTH = RGM_FRAMES_PER_SLAB * 3 + 5 };
    rgm_session *s = session_fake();
    static open_scope stack[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        stack[i] = scope_begin(s, "deep");
        rgm_clock_fake_advance(1);
    }
    for (int i = DEPTH; i-- > 0;) scope_end(s, stack[i]);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == DEPTH);
    for (int i = 0; i < DEPTH; i++) {
        CHECK_EQ_I64(run->spans.parent[i], i - 1);
        CHECK_EQ_I64(run->spans.start_ns[i], FAKE_START + i);
    }
    rgm_run_free(run);
}

TEST(more_records_than_one_block) {
    enum { COUNT = RGM_BLOCK_RECORDS * 3 + 100 };
    rgm_session *s = session_fake();
    for (int i = 0; i < COUNT; i++) {
        open_scope scope = scope_begin(s, "op");
        rgm_clock_fake_advance((uint64_t)i + 1);
        scope_end(s, scope);
    }
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->spans.rows == COUNT);
    int64_t at = FAKE_START;
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ_I64(run->spans.start_ns[i], at);
        CHECK_EQ_I64(run->spans.duration_ns[i], i + 1);
        at += i + 1;
    }
    rgm_run_free(run);
}

TEST(open_scopes_become_spans_when_stopped) {
    rgm_session *s = session_fake();
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

    rgm_run *run = session_fake_finish(s);
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
    rgm_session *s = session_fake();
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
    rgm_session *s = session_fake();
    scopes(s, "before", 1);
    rgm_session_stop(s);
    CHECK_EQ_U64(rgm_session_id(s), 0);
    CHECK(recorder_of(s) == NULL);
    scopes(s, "after", 3);
    rgm_session_stop(s);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 1);
    rgm_run_free(run);
}

TEST(memory_values_belong_to_the_scope_before) {
    rgm_session *s = session_fake();
    open_scope outer = scope_begin(s, "outer"), inner = scope_begin(s, "inner");
    rgm_clock_fake_advance(1000);
    scope_end(s, inner);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_HOST_MEMORY, 0, 100, 300);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_DEVICE_USE, 2, 10, 20);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_DEVICE_PEAK, 2, 50, 60);
    rgm_clock_fake_advance(1000);
    scope_end(s, outer);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run && run->memory.rows == 5);
    const rgm_memory *m = &run->memory;
    int32_t row = span_of(run, "inner");
    for (size_t i = 0; i < 5; i++) CHECK_EQ_I64(m->span[i], row);
    CHECK_EQ_I64(m->action[0], RGM_ACTION_BEGIN);
    CHECK_EQ_I64(m->bytes[0], 100);
    CHECK_EQ_I64(m->device[0], -1);
    CHECK_EQ_I64(m->time_ns[0], FAKE_START);
    CHECK_EQ_I64(m->bytes[1], 300);
    CHECK_EQ_I64(m->time_ns[1], FAKE_START + 1000);
    CHECK_EQ_I64(m->device[2], 2);
    CHECK_EQ_I64(m->allocated[3], 20);
    CHECK_EQ_I64(m->action[4], RGM_ACTION_PEAK);
    CHECK_EQ_I64(m->allocated[4], 50);
    CHECK_EQ_I64(m->reserved[4], 60);
    rgm_run_free(run);
}

TEST(sampled_out_calls_are_counted) {
    rgm_session *s = session_fake();
    rgm_site *site = site_of(s, "op");
    atomic_store(&site->skipped, 41);
    scopes(s, "op", 1);
    rgm_run *run = session_fake_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_SAMPLED_OUT), 41);
    rgm_run_free(run);
}
