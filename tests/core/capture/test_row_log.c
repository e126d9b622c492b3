// SPDX-License-Identifier: Apache-2.0
// Rows that wait in memory: their order, their budget, and that their memory goes back.
#include "capture/row_log.h"

#include "base/thread.h"
#include "capture/host_memory.h"
#include "random.h"
#include "recording.h"

typedef struct {
    uint64_t number, more[2];
} numbered;

static void append_numbers(rgm_row_log *log, uint64_t *next, size_t count) {
    numbered *rows = calloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++) rows[i].number = (*next)++;
    CHECK(rgm_row_log_append(log, rows, count, INT64_MAX, NULL));
    free(rows);
}

typedef struct {
    uint64_t expected, seen;
    size_t stop_after;
} reading;

static rgm_status read_numbers(void *arg, const void *rows, size_t count, rgm_error *err) {
    reading *r = arg;
    const numbered *row = rows;
    for (size_t i = 0; i < count; i++, r->seen++) CHECK_EQ_U64(row[i].number, r->expected++);
    return r->stop_after && r->seen >= r->stop_after ? rgm_error_set(err, RGM_IO, "enough") : RGM_OK;
}

TEST(rows_keep_their_order_through_chunks) {
    rgm_row_log log;
    uint64_t next = 0, first = 0, random = 7;
    rgm_row_log_init(&log, sizeof(numbered));
    for (int round = 0; round < 400; round++) {
        random_step(&random);
        size_t count = random >> 33 & 0xFFFF, gone = random >> 13 & 0xFFFF, most = random >> 3 & 0xFFFFF;
        append_numbers(&log, &next, count);
        reading r = {.expected = first};
        CHECK_OK(rgm_row_log_walk(&log, most, read_numbers, &r, NULL));
        CHECK_EQ_U64(r.seen, most < next - first ? most : next - first);
        rgm_row_log_drop(&log, gone);
        first = first + gone < next ? first + gone : next;
        CHECK_EQ_U64(rgm_row_log_count(&log), next - first);
        CHECK_EQ_U64(rgm_row_log_total(&log), next);
    }
    rgm_row_log_reset(&log);
    CHECK_EQ_U64(rgm_row_log_count(&log) + rgm_row_log_total(&log), 0);
    append_numbers(&log, &next, 3);
    CHECK_EQ_U64(rgm_row_log_total(&log), 3);
    rgm_row_log_release(&log);
}

TEST(a_walk_ends_where_its_reader_fails) {
    rgm_row_log log;
    uint64_t next = 0;
    rgm_row_log_init(&log, sizeof(numbered));
    append_numbers(&log, &next, 100000);
    reading r = {.stop_after = 1};
    CHECK_EQ_I64(rgm_row_log_walk(&log, SIZE_MAX, read_numbers, &r, NULL), RGM_IO);
    CHECK_EQ_U64(r.seen, RGM_ROW_CHUNK_BYTES / sizeof(numbered));
    rgm_row_log_release(&log);
}

TEST(what_does_not_fit_the_budget_is_refused_whole) {
    rgm_row_log log;
    numbered rows[10] = {0};
    size_t waiting = 0;
    rgm_row_log_init(&log, sizeof *rows);
    CHECK(rgm_row_log_append(&log, rows, 10, 15 * sizeof *rows, &waiting));
    CHECK_EQ_U64(waiting, sizeof rows);
    CHECK(!rgm_row_log_append(&log, rows, 6, 15 * sizeof *rows, &waiting));
    CHECK_EQ_U64(rgm_row_log_count(&log), 10);
    CHECK(rgm_row_log_append(&log, rows, 5, 15 * sizeof *rows, NULL));
    rgm_row_log_drop(&log, 1);
    CHECK(rgm_row_log_append(&log, rows, 1, 15 * sizeof *rows, NULL));
    rgm_row_log_release(&log);
}

#ifdef RGM_FAULTS
TEST(chunks_go_back_but_for_a_few) {
    rgm_row_log log;
    uint64_t next = 0;
    int64_t before = rgm_memory_live();
    rgm_row_log_init(&log, sizeof(numbered));
    size_t per_chunk = RGM_ROW_CHUNK_BYTES / sizeof(numbered);
    append_numbers(&log, &next, 100 * per_chunk);
    CHECK_EQ_I64(rgm_memory_live() - before, 100);
    rgm_row_log_drop(&log, 60 * per_chunk + 1);
    CHECK_EQ_I64(rgm_memory_live() - before, 40 + RGM_ROW_CHUNKS_SPARE);
    rgm_row_log_drop(&log, SIZE_MAX);
    CHECK_EQ_I64(rgm_memory_live() - before, RGM_ROW_CHUNKS_SPARE);
    append_numbers(&log, &next, RGM_ROW_CHUNKS_SPARE * per_chunk); // which serve again
    CHECK_EQ_I64(rgm_memory_live() - before, RGM_ROW_CHUNKS_SPARE);
    rgm_row_log_release(&log);
    CHECK_EQ_I64(rgm_memory_live() - before, 0);
}

TEST(without_memory_nothing_is_appended) {
    rgm_row_log log;
    uint64_t next = 0;
    size_t per_chunk = RGM_ROW_CHUNK_BYTES / sizeof(numbered);
    numbered *rows = calloc(3 * per_chunk, sizeof *rows);
    rgm_row_log_init(&log, sizeof *rows);
    append_numbers(&log, &next, 5);
    for (int round = 0; round < 3; round++) { // what an attempt has got before it fails serves the next one
        rgm_memory_fail_after(round > 0);
        CHECK(!rgm_row_log_append(&log, rows, 3 * per_chunk, INT64_MAX, NULL));
        rgm_memory_fail_after(-1);
        CHECK_EQ_U64(rgm_row_log_count(&log), 5);
    }
    reading r = {0};
    append_numbers(&log, &next, 3 * per_chunk);
    CHECK_OK(rgm_row_log_walk(&log, SIZE_MAX, read_numbers, &r, NULL));
    CHECK_EQ_U64(r.seen, next);
    rgm_row_log_release(&log);
    free(rows);
}
#endif

// --- one thread appends while another reads and drops -----------------------------------------------------

enum { SHARED_ROWS = 300000 };

static void *append_all(void *arg) {
    for (uint64_t next = 0; next < SHARED_ROWS;) append_numbers(arg, &next, 100);
    return NULL;
}

TEST(rows_may_come_while_others_are_read) {
    rgm_row_log log;
    pthread_t thread;
    rgm_row_log_init(&log, sizeof(numbered));
    CHECK_OK(rgm_thread_start(&thread, "append", append_all, &log, NULL));
    for (uint64_t first = 0; first < SHARED_ROWS;) {
        reading r = {.expected = first};
        CHECK_OK(rgm_row_log_walk(&log, rgm_row_log_count(&log), read_numbers, &r, NULL));
        rgm_row_log_drop(&log, r.seen);
        first += r.seen;
    }
    pthread_join(thread, NULL);
    CHECK_EQ_U64(rgm_row_log_count(&log), 0);
    rgm_row_log_release(&log);
}

// --- of a session -----------------------------------------------------------------------------------------

static void kernels(rgm_session *session, int count) {
    rgm_activity_row rows[100];
    for (int i = 0; i < count; i += 100) {
        for (int k = 0; k < 100; k++)
            rows[k] = (rgm_activity_row){.start_ns = i + k, .duration_ns = 1, .kind = RGM_KIND_KERNEL};
        rgm_session_rows(session, RGM_LOG_ACTIVITIES, rows, 100);
    }
}

// Of 56 MB of rows that waited nothing stays once they are written, neither of the rows nor of what wrote
// them.
TEST(what_a_journal_has_written_takes_no_memory) {
    enum { COUNT = 500000, BEARABLE = 8 << 20 };
    const char *path = temp_path("rows.rgm");
    rgm_session *s = session_plain(path);
    REQUIRE(s);
    kernels(s, 1000);
    CHECK_OK(rgm_session_flush(s, NULL));
    int64_t before = rgm_memory_resident();
    kernels(s, COUNT);
    if (!SANITIZED) CHECK(rgm_memory_resident() - before > 2 * (int64_t)BEARABLE);
    CHECK_OK(rgm_session_flush(s, NULL));
    if (!SANITIZED) CHECK(rgm_memory_resident() - before < BEARABLE);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, COUNT + 1000);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_DEVICE_ROWS), 0);
    rgm_run_free(run);
    (void)unlink(path);
}

TEST(rows_past_the_budget_are_counted_and_then_there_is_room_again) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    const char *path = temp_path("budget.rgm");
    options.device_budget_bytes = 1000 * (int64_t)sizeof(rgm_activity_row);
    rgm_session *s = session_with(options, path);
    REQUIRE(s);
    kernels(s, 1500);
    CHECK_OK(rgm_session_flush(s, NULL));
    kernels(s, 700);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 1700);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_DEVICE_ROWS), 500);
    rgm_run_free(run);
    (void)unlink(path);
}
