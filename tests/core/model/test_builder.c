// SPDX-License-Identifier: Apache-2.0
// Raw rows -> Run, fed by hand: parents, lanes, what is missing, and ids that cannot be.
#include "model/builder.h"

#include "random.h"
#include "recording.h"

static rgm_builder *fresh_builder(int sites) {
    rgm_builder *b = NULL;
    if (rgm_builder_new(&b, NULL) != RGM_OK) abort();
    CHECK_OK(rgm_builder_string(b, 0, "", 0, NULL)); // every recording's first string
    for (int i = 0; i < sites; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%d", i);
        CHECK_OK(rgm_builder_string(b, (uint32_t)i + 1, name, strlen(name), NULL));
        CHECK_OK(rgm_builder_site(b, (uint32_t)i, (rgm_site_row){.name = (uint32_t)i + 1}, NULL));
    }
    // One tick is one nanosecond, from 0 on.
    CHECK_OK(rgm_builder_anchor(b, (rgm_anchor){0, 0, 5}, NULL));
    CHECK_OK(rgm_builder_anchor(b, (rgm_anchor){1000000, 1000000, 5}, NULL));
    return b;
}

static rgm_record scope(uint32_t site, uint32_t seq, uint32_t parent, uint64_t start, uint64_t ticks,
                        uint32_t track) {
    return (rgm_record){start, rgm_record_pack(ticks, track), seq, parent, site, 0};
}

static rgm_run *done(rgm_builder *b, bool keep_open) {
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_builder_finish(b, keep_open, &run, &err) != RGM_OK) HARNESS_FAIL("finish: %s", err.message);
    rgm_builder_free(b);
    return run;
}

TEST(an_empty_recording_is_an_empty_run) {
    rgm_run *run = done(fresh_builder(0), true);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 0);
    CHECK_EQ_I64(run->start_ns, 0);
    CHECK_EQ_I64(run->end_ns, 1000000);
    CHECK_EQ_I64(run->start_unix_ns, 5);
    rgm_run_free(run);
    rgm_builder *b = NULL;
    CHECK_OK(rgm_builder_new(&b, NULL));
    run = done(b, true);
    REQUIRE(run);
    rgm_run_free(run);
    rgm_builder_free(NULL);
}

TEST(parents_are_found_after_their_children) {
    rgm_builder *b = fresh_builder(3);
    rgm_record rows[] = {
        scope(2, 2, 1, 30, 10, 0), // grandchild
        scope(1, 1, 0, 20, 30, 0),
        scope(2, 3, 0, 60, 5, 0),
        scope(0, 0, RGM_RECORD_NO_PARENT, 10, 80, 0),
    };
    // One row at a time: parents may come with a later block.
    for (int i = 0; i < 4; i++) CHECK_OK(rgm_builder_records(b, 0, &rows[i], 1, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 4);
    const int32_t parents[] = {-1, 0, 1, 0};
    const int64_t starts[] = {10, 20, 30, 60};
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_I64(run->spans.parent[i], parents[i]);
        CHECK_EQ_I64(run->spans.start_ns[i], starts[i]);
    }
    CHECK_STR_EQ(name_of(run, 1), "s1");
    rgm_run_free(run);
}

// A wide and deep random tree against parents computed by hand.
TEST(a_random_tree_keeps_its_parents) {
    enum { COUNT = 20000 };
    static uint32_t parent_of[COUNT], stack[COUNT];
    static rgm_record rows[COUNT];
    rgm_builder *b = fresh_builder(1);
    uint32_t depth = 0, begun = 0, written = 0;
    uint64_t now = 0, random = 1;
    static uint64_t starts[COUNT];
    while (written < COUNT) {
        random_step(&random);
        now++;
        if (begun < COUNT && (depth == 0 || (random >> 33) % 100 < 52)) {
            parent_of[begun] = depth ? stack[depth - 1] : RGM_RECORD_NO_PARENT;
            starts[begun] = now;
            stack[depth++] = begun++;
        } else {
            uint32_t seq = stack[--depth];
            rows[written++] = scope(0, seq, parent_of[seq], starts[seq], now - starts[seq], 0);
        }
    }
    for (size_t at = 0; at < COUNT; at += 777)
        CHECK_OK(rgm_builder_records(b, 0, rows + at, at + 777 < COUNT ? 777 : COUNT - at, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == COUNT);
    for (uint32_t seq = 0; seq < COUNT; seq++) { // sorted by start is by seq
        CHECK_EQ_I64(run->spans.start_ns[seq], (int64_t)starts[seq]);
        CHECK_EQ_I64(run->spans.parent[seq],
                     parent_of[seq] == RGM_RECORD_NO_PARENT ? -1 : (int64_t)parent_of[seq]);
    }
    run_check_sound(run, true);
    rgm_run_free(run);
}

TEST(streams_do_not_share_parents) {
    rgm_builder *b = fresh_builder(2);
    rgm_record child = scope(1, 1, 0, 20, 5, 0), parent = scope(0, 0, RGM_RECORD_NO_PARENT, 10, 50, 0);
    CHECK_OK(rgm_builder_records(b, 0, &child, 1, NULL));
    CHECK_OK(rgm_builder_records(b, 7, &child, 1, NULL));
    CHECK_OK(rgm_builder_records(b, 7, &parent, 1, NULL));
    CHECK_OK(rgm_builder_records(b, 0, &parent, 1, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 4);
    run_check_sound(run, true);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
    rgm_run_free(run);
}

TEST(a_parent_that_never_comes_is_an_anomaly_once_recording_has_ended) {
    for (int ended = 0; ended < 2; ended++) {
        rgm_builder *b = fresh_builder(1);
        rgm_record rows[] = {scope(0, 5, 4, 10, 5, 0), scope(0, 6, 4, 20, 5, 0), scope(0, 9, 8, 30, 5, 0)};
        CHECK_OK(rgm_builder_records(b, 0, rows, 3, NULL));
        rgm_run *run = done(b, ended);
        REQUIRE(run && run->spans.rows == 3);
        for (int i = 0; i < 3; i++) CHECK_EQ_I64(run->spans.parent[i], -1);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), ended ? 3 : 0);
        rgm_run_free(run);
    }
}

TEST(tasks_and_threads_become_lanes) {
    rgm_builder *b = fresh_builder(1);
    CHECK_OK(rgm_builder_string(b, 2, "alpha", 5, NULL));
    CHECK_OK(rgm_builder_string(b, 3, "beta", 4, NULL));
    CHECK_OK(rgm_builder_thread(b, 0, (rgm_thread_row){.process = 10, .name = 2, .thread = 100}, NULL));
    CHECK_OK(rgm_builder_thread(b, 1, (rgm_thread_row){.process = 10, .name = 3, .thread = 200}, NULL));
    rgm_record rows[] = {
        scope(0, 0, RGM_RECORD_NO_PARENT, 10, 5, 0),
        scope(0, 1, RGM_RECORD_NO_PARENT, 20, 5, 3),
        {.site = 1, .info = RGM_RECORD_THREAD << RGM_RECORD_FLAG_BITS}, // the recorder's next owner
        scope(0, 2, RGM_RECORD_NO_PARENT, 30, 5, 0),
        scope(0, 3, RGM_RECORD_NO_PARENT, 40, 5, 0),
        scope(0, 4, RGM_RECORD_NO_PARENT, 50, 5, 60000),
    };
    CHECK_OK(rgm_builder_records(b, 0, rows, 6, NULL));
    CHECK_OK(rgm_builder_thread(b, 1, (rgm_thread_row){.process = 10, .name = 2, .thread = 201}, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 5 && run->lanes.rows == 4);
    const uint32_t lanes[] = {0, 1, 2, 2, 3};
    const char *names[] = {"alpha", "alpha task slot 3", "alpha", "alpha task slot 60000"};
    const int64_t threads[] = {100, 100, 201, 201};
    for (int i = 0; i < 5; i++) CHECK_EQ_U64(run->spans.lane[i], lanes[i]);
    for (int i = 0; i < 4; i++) {
        CHECK_STR_EQ(text_of(run, run->lanes.name[i]), names[i]);
        CHECK_EQ_I64(run->lanes.thread[i], threads[i]);
        CHECK_EQ_I64(run->lanes.process[i], 10);
    }
    rgm_run_free(run);
}

TEST(open_scopes_are_kept_or_left_out) {
    for (int keep = 0; keep < 2; keep++) {
        rgm_builder *b = fresh_builder(3);
        // Innermost first, as the recorder lists them.
        rgm_open_scope open[] = {
            {.start = 300, .seq = 2, .parent = 1, .site = 2},
            {.start = 200, .seq = 1, .parent = 0, .site = 1},
            {.start = 100, .seq = 0, .parent = RGM_RECORD_NO_PARENT, .site = 0},
            {.start = 400, .seq = 9, .parent = RGM_RECORD_NO_PARENT, .site = 77, .track = 1}};
        rgm_record ended = scope(2, 3, 2, 350, 10, 0);
        CHECK_OK(rgm_builder_open(b, 0, &open[2], 1, NULL));
        CHECK_OK(rgm_builder_open(b, 0, open, 4, NULL)); // replaces
        CHECK_OK(rgm_builder_records(b, 0, &ended, 1, NULL));
        rgm_run *run = done(b, keep);
        REQUIRE(run);
        CHECK_EQ_I64(run->spans.rows, keep ? 4 : 1);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_OPEN_SCOPES), keep ? 3 : 0);
        for (int i = 0; keep && i < 4; i++) {
            CHECK_EQ_I64(run->spans.parent[i], i - 1);
            CHECK_EQ_I64(run->spans.start_ns[i], i == 3 ? 350 : 100 * (i + 1));
            CHECK_EQ_I64(run->spans.duration_ns[i], i == 3 ? 10 : 1000000 - 100 * (i + 1));
        }
        rgm_run_free(run);
    }
}

TEST(an_open_scope_that_ended_after_all_is_no_longer_open) {
    rgm_builder *b = fresh_builder(1);
    rgm_open_scope open = {.start = 100, .seq = 0, .parent = RGM_RECORD_NO_PARENT};
    rgm_record row = scope(0, 0, RGM_RECORD_NO_PARENT, 100, 50, 0);
    CHECK_OK(rgm_builder_open(b, 0, &open, 1, NULL));
    CHECK_OK(rgm_builder_records(b, 0, &row, 1, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 1);
    CHECK_EQ_I64(run->spans.duration_ns[0], 50);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
}

TEST(samples_and_reset) {
    rgm_builder *b = fresh_builder(1);
    rgm_record row = scope(0, 0, RGM_RECORD_NO_PARENT, 100, 50, 4), child = scope(0, 2, 1, 100, 50, 0);
    rgm_sample sample = {.ticks = 700, .bytes = 5, .allocated = 6, .reserved = 7, .device = -1};
    CHECK_OK(rgm_builder_records(b, 0, &row, 1, NULL));
    CHECK_OK(rgm_builder_records(b, 0, &child, 1, NULL)); // waits for a parent that a reset takes away
    CHECK_OK(rgm_builder_sample(b, &sample, NULL));
    rgm_builder_reset(b);
    CHECK_OK(rgm_builder_anchor(b, (rgm_anchor){0, 500, 5}, NULL));
    CHECK_OK(rgm_builder_anchor(b, (rgm_anchor){2000, 2500, 5}, NULL));
    CHECK_OK(rgm_builder_sample(b, &sample, NULL));
    row = scope(0, 1, RGM_RECORD_NO_PARENT, 200, 50, 2);
    CHECK_OK(rgm_builder_records(b, 0, &row, 1, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 1 && run->memory.rows == 1 && run->lanes.rows == 1);
    CHECK_EQ_I64(run->spans.start_ns[0], 700);
    CHECK_EQ_I64(run->memory.time_ns[0], 1200);
    CHECK_EQ_I64(run->memory.bytes[0], 5);
    CHECK_EQ_I64(run->memory.allocated[0], 6);
    CHECK_EQ_I64(run->memory.reserved[0], 7);
    CHECK_EQ_I64(run->memory.span[0], -1);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
}

TEST(memory_rows_follow_their_scope_through_the_sort) {
    rgm_builder *b = fresh_builder(2);
    rgm_record rows[] = {
        scope(1, 1, 0, 500, 5, 0),
        {.start = 11, .value_track = 22, .info = RGM_RECORD_HOST_MEMORY << RGM_RECORD_FLAG_BITS},
        scope(0, 0, RGM_RECORD_NO_PARENT, 100, 800, 0),
        {.start = 33,
         .value_track = 44,
         .info = (RGM_RECORD_DEVICE_USE << RGM_RECORD_FLAG_BITS) | (3u << RGM_RECORD_META_SHIFT)},
    };
    CHECK_OK(rgm_builder_records(b, 0, rows, 4, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 2 && run->memory.rows == 4);
    CHECK_EQ_I64(run->memory.span[0], 1);
    CHECK_EQ_I64(run->memory.time_ns[0], 500);
    CHECK_EQ_I64(run->memory.time_ns[1], 505);
    CHECK_EQ_I64(run->memory.span[2], 0);
    CHECK_EQ_I64(run->memory.device[2], 3);
    CHECK_EQ_I64(run->memory.time_ns[3], 900);
    rgm_run_free(run);
}

TEST(own_time_follows_its_scope_through_the_sort_and_is_at_most_the_scopes) {
    rgm_builder *b = fresh_builder(3);
    rgm_record rows[] = {
        scope(1, 1, 0, 500, 5, 0),
        scope(0, 0, RGM_RECORD_NO_PARENT, 100, 800, 0),
        {.start = 30, .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
        scope(2, 2, RGM_RECORD_NO_PARENT, 1000, 50, 0),
        {.start = UINT64_MAX, .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
        scope(1, 3, RGM_RECORD_NO_PARENT, 2000, 50, 0),
        {.start = 51, .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
    };
    CHECK_OK(rgm_builder_records(b, 0, rows, 7, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 4 && run->spans.own_ns);
    CHECK_EQ_I64(run->spans.own_ns[0], 30);
    CHECK_EQ_I64(run->spans.own_ns[1], 0);
    CHECK(run->spans.own_ns[2] >= 0 && run->spans.own_ns[2] <= 50);
    CHECK_EQ_I64(run->spans.own_ns[3], 50);
    rgm_run_free(run);
}

TEST(what_is_inside_a_scope_with_a_role_that_is_left_out_is_inside_the_next_one) {
    for (int left_out = 0; left_out < 2; left_out++) {
        rgm_builder *b = fresh_builder(3);
        CHECK_OK(rgm_builder_site(b, 1, (rgm_site_row){.name = 2, .role = RGM_ROLE_GC}, NULL));
        if (left_out) rgm_builder_leave_out_roles(b);
        rgm_record rows[] = {
            scope(2, 3, 2, 40, 5, 0), // in two with a role, and an outer one
            scope(2, 4, 2, 50, 5, 0),
            scope(1, 2, 1, 35, 30, 0),
            {.start = 30, .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
            scope(1, 1, 0, 20, 60, 0),
            scope(0, 0, RGM_RECORD_NO_PARENT, 10, 80, 0),
            scope(2, 6, 5, 120, 5, 0), // in one with a role alone
            scope(1, 5, RGM_RECORD_NO_PARENT, 110, 20, 0),
        };
        CHECK_OK(rgm_builder_records(b, 0, rows, sizeof rows / sizeof *rows, NULL));
        rgm_run *run = done(b, true);
        static const rgm_i32 whole[] = {-1, 0, 1, 2, 2, -1, 5}, own[] = {-1, 0, 0, -1};
        REQUIRE(run && run->spans.rows == (left_out ? 4 : 7));
        for (size_t i = 0; i < run->spans.rows; i++)
            CHECK_EQ_I64(run->spans.parent[i], (left_out ? own : whole)[i]);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
        rgm_run_free(run);
    }
}

TEST(counts_follow_their_scopes_through_the_sort) {
    rgm_builder *b = fresh_builder(2);
    rgm_record rows[] = {
        scope(1, 1, 0, 500, 5, 0),
        {.value_track = rgm_record_pack(1, 0), .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
        scope(0, 0, RGM_RECORD_NO_PARENT, 100, 800, 0),
        {.start = 30, .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
        {.value_track = rgm_record_pack(123457, 0), .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
    };
    CHECK_OK(rgm_builder_records(b, 0, rows, 5, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 2 && run->counters.rows == 2);
    CHECK_EQ_I64(run->counters.span[0], 1);
    CHECK(run->counters.value[0] == 0);
    CHECK_EQ_I64(run->counters.time_ns[0], 505);
    CHECK_EQ_I64(run->counters.span[1], 0);
    CHECK(run->counters.value[1] == 123456);
    CHECK_EQ_I64(run->counters.time_ns[1], 900);
    CHECK_EQ_I64(run->spans.own_ns[0], 30);
    rgm_run_free(run);
}

TEST(values_before_any_scope_are_ignored) {
    rgm_builder *b = fresh_builder(1);
    rgm_record rows[] = {
        {.start = 11, .value_track = 22, .info = RGM_RECORD_HOST_MEMORY << RGM_RECORD_FLAG_BITS},
        {.start = 11, .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
        {.value_track = 22, .info = RGM_RECORD_OWN << RGM_RECORD_FLAG_BITS},
    };
    CHECK_OK(rgm_builder_records(b, 0, rows, 3, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run);
    CHECK_EQ_I64(run->memory.rows, 0);
    CHECK_EQ_I64(run->counters.rows, 0);
    CHECK(!run->spans.own_ns);
    rgm_run_free(run);
}

TEST(impossible_ids_are_refused) {
    rgm_builder *b = fresh_builder(2);
    rgm_record row = scope(2, 0, RGM_RECORD_NO_PARENT, 1, 1, 0),
               fine = scope(0, 0, RGM_RECORD_NO_PARENT, 1, 1, 0);
    CHECK_EQ_I64(rgm_builder_records(b, 0, &row, 1, NULL), RGM_FORMAT);
    CHECK_EQ_I64(rgm_builder_records(b, UINT32_MAX, &fine, 1, NULL), RGM_FORMAT);
    CHECK_EQ_I64(rgm_builder_string(b, 4, "x", 1, NULL), RGM_FORMAT);
    CHECK_EQ_I64(rgm_builder_site(b, 3, (rgm_site_row){0}, NULL), RGM_FORMAT);
    CHECK_EQ_I64(rgm_builder_site(b, 2, (rgm_site_row){.device = 200}, NULL), RGM_FORMAT);
    CHECK_EQ_I64(rgm_builder_site(b, 2, (rgm_site_row){.backend = 200}, NULL), RGM_FORMAT);
    CHECK_EQ_I64(rgm_builder_thread(b, 1, (rgm_thread_row){0}, NULL), RGM_FORMAT);
    // Names and threads that are not known read as "".
    CHECK_OK(rgm_builder_site(b, 2, (rgm_site_row){.name = 999}, NULL));
    row.info = RGM_RECORD_META_MAX << RGM_RECORD_META_SHIFT;
    CHECK_OK(rgm_builder_records(b, 0, &row, 1, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run && run->spans.rows == 1);
    CHECK_STR_EQ(name_of(run, 0), "");
    rgm_run_free(run);
}

TEST(times_from_a_damaged_file_stay_in_range) {
    const rgm_anchor odd[] = {{0, INT64_MIN, 0}, {1, INT64_MAX, 0}, {UINT64_MAX, INT64_MAX, 0}, {5, 0, 0}};
    for (int first = 0; first < 4; first++) {
        for (int second = 0; second < 4; second++) {
            rgm_builder *b = NULL;
            CHECK_OK(rgm_builder_new(&b, NULL));
            CHECK_OK(rgm_builder_site(b, 0, (rgm_site_row){0}, NULL));
            CHECK_OK(rgm_builder_anchor(b, odd[first], NULL));
            CHECK_OK(rgm_builder_anchor(b, odd[second], NULL));
            rgm_record rows[] = {scope(0, 0, RGM_RECORD_NO_PARENT, UINT64_MAX, RGM_RECORD_VALUE_MAX, 0),
                                 scope(0, 1, RGM_RECORD_NO_PARENT, 0, RGM_RECORD_VALUE_MAX, 0)};
            rows[1].info = RGM_RECORD_LONG;
            CHECK_OK(rgm_builder_records(b, 0, rows, 2, NULL));
            CHECK_OK(rgm_builder_sample(b, &(rgm_sample){.ticks = UINT64_MAX}, NULL));
            rgm_run *run = done(b, true);
            REQUIRE(run);
            CHECK_OK(rgm_run_check(run, NULL));
            rgm_run_free(run);
        }
    }
}

TEST(a_run_without_metadata_has_no_such_column) {
    rgm_builder *b = fresh_builder(1);
    rgm_record row = scope(0, 0, RGM_RECORD_NO_PARENT, 1, 1, 0);
    CHECK_OK(rgm_builder_records(b, 0, &row, 1, NULL));
    rgm_run *run = done(b, true);
    REQUIRE(run);
    CHECK(run->spans.metadata == NULL && run->spans.correlation == NULL);
    rgm_run_free(run);
}
