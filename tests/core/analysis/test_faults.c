// SPDX-License-Identifier: Apache-2.0
// A whole life of a recording with the n-th allocation refused, for every n; and again and again without a
// fault. Whatever happens, calls answer with an error or losses are counted, and no block is left behind.
#include "analysis/stats.h"
#include "analysis/times/summary.h"
#include "base/bytes.h"
#include "base/sort.h"
#include "capture/host_memory.h"
#include "io/journal/frame.h"
#include "recording.h"

enum { SCOPES_A_THREAD = 30 };

static const char *journal_path; // NULL records in memory
static const char *saved_path;
static _Atomic(int64_t) begun;

static void tolerate(rgm_status status) {
    CHECK(status == RGM_OK || status == RGM_NO_MEMORY || status == RGM_UNAVAILABLE || status == RGM_IO);
}

static void recording(rgm_session *s, int number) {
    static char contexts[4];
    char name[24];
    open_scope open[4];
    rgm_session_name_thread(s, "named", 5);
    for (int i = 0; i < SCOPES_A_THREAD; i++) {
        (void)snprintf(name, sizeof name, "op %d", i % 5 + number);
        if (!site_of(s, name)) continue; // an error that the caller has been told of
        atomic_fetch_add(&begun, 1);
        uint32_t meta = rgm_session_metadata(s, name, strlen(name));
        CHECK(meta <= RGM_RECORD_META_MAX);
        open[0] = scope_begin_in(s, &contexts[i % 4], name);
        scope_end(s, open[0]);
        rgm_recorder *r = recorder_of(s);
        if (r && i % 7 == 0) rgm_recorder_memory(r, RGM_RECORD_HOST_MEMORY, 0, 1, 2);
    }
}

static void analysed(rgm_run *run) {
    rgm_entries entries = {0};
    rgm_summary summary = {0};
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_status status = rgm_entries_compute(run, NULL, &entries, NULL);
    tolerate(status);
    if (status == RGM_OK) tolerate(rgm_summary_compute(run, &entries, &policy, &summary, NULL));
    rgm_table_release(&rgm_summary_desc, &summary);
    rgm_table_release(&rgm_entries_desc, &entries);
}

static void loaded(const char *path, rgm_load_mode mode) {
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = rgm_run_load(path, mode, &run, &err);
    tolerate(status);
    if (status == RGM_OK) {
        run_check_sound(run, false);
        analysed(run);
    } else {
        CHECK(err.message[0] != '\0' && err.status == status);
    }
    rgm_run_free(run);
}

static void visit(rgm_site *site, const char *name, void *arg) {
    (void)site;
    *(size_t *)arg += strlen(name);
}

static void whole_life(rgm_session *unused, int number) {
    (void)unused, (void)number;
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.drain_interval_ns = INT64_C(3600) * 1000000000;
    options.memory_budget_bytes = 8 * 65536;
    rgm_session *s = NULL;
    rgm_error err = RGM_ERROR_NONE;
    atomic_store(&begun, 0);
    rgm_status status = rgm_session_new(&s, &options, journal_path, &err);
    tolerate(status);
    if (status != RGM_OK) {
        CHECK(err.message[0] != '\0');
        return;
    }
    tolerate(rgm_session_environment(s, "{\"a\":1}", 7, NULL));
    rgm_session_warm(s, 5000);
    recording(s, 0);
    worker workers[2];
    workers_start(workers, 2, s, recording);
    workers_join(workers, 2);
    for (int i = 0; i < 3; i++)
        rgm_session_rows(s, RGM_LOG_SAMPLES,
                         &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = i, .device = -1}, 1);
    tolerate(rgm_session_flush(s, NULL));
    (void)scope_begin(s, "left open");
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    size_t letters = 0;
    rgm_session_each_site(s, visit, &letters);
    rgm_run *run = NULL;
    tolerate(rgm_session_snapshot(s, &run, NULL));
    rgm_run_free(run);
    run = NULL;
    rgm_session_stop(s);
    status = rgm_session_snapshot(s, &run, NULL);
    tolerate(status);
    if (status == RGM_OK) {
        run_check_sound(run, false);
        int64_t ended = 0;
        for (size_t i = 0; i < run->spans.rows; i++) ended += !(run->spans.flags[i] & RGM_FLAG_OPEN);
        CHECK(ended + anomaly_count(run, RGM_ANOMALY_DROPPED_SCOPES) >= atomic_load(&begun));
        CHECK(ended <= atomic_load(&begun));
        analysed(run);
        if (rgm_run_save(run, saved_path, NULL) == RGM_OK) {
            loaded(saved_path, RGM_LOAD_STRICT);
            loaded(saved_path, RGM_LOAD_RECOVER);
        }
    }
    rgm_run_free(run);
    if (journal_path) {
        loaded(journal_path, RGM_LOAD_STRICT);
        loaded(journal_path, RGM_LOAD_RECOVER);
    }
    rgm_session_reset(s);
    rgm_session_free(s);
}

// On a thread of its own, so that its recorders are let go with it.
static uint64_t life_with_fault(int64_t after) {
    if (journal_path) (void)unlink(journal_path);
    uint64_t calls = rgm_memory_calls();
    int64_t live = rgm_memory_live();
    rgm_memory_fail_after(after);
    on_thread(NULL, whole_life);
    rgm_memory_fail_after(-1);
    if (rgm_memory_live() != live)
        HARNESS_FAIL("%" PRId64 " blocks left after the fault in allocation %" PRId64,
                     rgm_memory_live() - live, after);
    return rgm_memory_calls() - calls;
}

static void every_fault(void) {
    int64_t n = 0;
    uint64_t calls;
    for (; n < 20000; n++) {
        int before = atomic_load(&harness_failures);
        calls = life_with_fault(n);
        if (atomic_load(&harness_failures) != before) {
            HARNESS_FAIL("with the fault in allocation %" PRId64, n);
            break;
        }
        if (calls <= (uint64_t)n) break; // there was no such allocation any more
    }
    CHECK(n > 80 && n < 20000);
}

TEST(a_refused_allocation_in_memory_mode) {
    journal_path = NULL;
    saved_path = temp_path("saved.rgm");
    every_fault();
    unlink(saved_path);
}

TEST(a_refused_allocation_in_journal_mode) {
    journal_path = temp_path("journal.rgm");
    saved_path = temp_path("saved.rgm");
    every_fault();
    unlink(saved_path);
    unlink(journal_path);
}

TEST(fifty_lives_leave_nothing_behind) {
    journal_path = temp_path("journal.rgm");
    saved_path = temp_path("saved.rgm");
    for (int i = 0; i < 50; i++) (void)life_with_fault(-1);
    unlink(saved_path);
    unlink(journal_path);
}

// Functions that the life above does not reach, or only with what it happens to hold.
static void the_rest(void) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_bytes bytes = {0};
    rgm_bytes_text(&bytes, "7");
    rgm_bytes_u32(&bytes, 1);
    rgm_bytes_align(&bytes);
    rgm_bytes_release(&bytes);

    rgm_timebase a = {0};
    tolerate(rgm_timebase_add(&a, rgm_clock_anchor(), NULL));
    rgm_timebase_release(&a);

    uint64_t keys[3] = {3, 1, 2};
    uint32_t order[3];
    tolerate(rgm_sort_order(keys, 3, order, NULL));

    rgm_strings strings;
    rgm_status status = rgm_strings_init(&strings, 1 << 20, NULL);
    tolerate(status);
    if (status == RGM_OK) rgm_strings_release(&strings);

    rgm_queue queue;
    status = rgm_queue_init(&queue, 8, NULL);
    tolerate(status);
    if (status == RGM_OK) rgm_queue_release(&queue);

    rgm_run *run = NULL;
    status = rgm_run_new(&run, NULL);
    tolerate(status);
    if (status == RGM_OK) {
        size_t row;
        for (size_t t = 0; t < rgm_run_tables_count; t++) {
            void *table = rgm_run_table(run, rgm_run_tables[t]);
            tolerate(rgm_table_reserve(rgm_run_tables[t], table, 2, 10, NULL));
            status = rgm_table_append(rgm_run_tables[t], table, 1, &row, NULL);
            tolerate(status);
            if (status == RGM_OK) tolerate(rgm_table_ensure(rgm_run_tables[t], table, 2, NULL));
        }
        // Without spans, lanes or stacks the other rows name what is not there.
        if (run->spans.rows && run->lanes.rows && run->stacks.rows) tolerate(rgm_run_check(run, NULL));
        tolerate(rgm_run_note(run, RGM_ANOMALY_INTERNAL, 1, -1, NULL, NULL));
    }
    rgm_run_free(run);

    rgm_session *s = NULL;
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    status = rgm_session_new(&s, &options, "/proc/no/such/folder", &err);
    tolerate(status);
    if (status != RGM_OK) return;
    char text[600];
    CHECK(rgm_session_take_warning(s, text, sizeof text));
    rgm_session_sampling(s, 1000000);
    rgm_session_sampling(s, 0);
    (void)rgm_session_text(s, 1);
    (void)rgm_session_elapsed_ns(s, 1, 2);
    rgm_session_free(s);
    (void)rgm_memory_resident();
}

TEST(the_rest_of_the_functions_leave_nothing_behind) {
    (void)rgm_memory_resident();
    for (int64_t n = -1; n < 100; n++) {
        int64_t live = rgm_memory_live();
        rgm_memory_fail_after(n);
        the_rest();
        rgm_memory_fail_after(-1);
        if (rgm_memory_live() != live)
            HARNESS_FAIL("%" PRId64 " blocks left, fault %" PRId64, rgm_memory_live() - live, n);
    }
}
