// SPDX-License-Identifier: Apache-2.0
// The life of an imported trace with the n-th allocation refused, for every n: the step that meets it says
// RGM_NO_MEMORY, everything before and after works, and no block is left behind.
#include "analysed.h"
#include "base/thread.h"
#include "everything.h"
#include "faults.h"
#include "importing.h"
#include "io/export/export.h"
#include "model/links.h"
#include "model/merge.h"

typedef rgm_status (*step)(rgm_run *run, const void *context, rgm_error *err);

// The importer remembers texts it has seen and does without where there is no memory for that: such a step
// may meet the fault and go on, if what it gives is the same.
static bool may_do_without;

static void every_fault(const char *what, step taken, rgm_run *run, const void *context) {
    EACH_FAULT(what) {
        rgm_error err = RGM_ERROR_NONE;
        fault_.goes_without = may_do_without;
        rgm_status status = FAULTY(taken(run, context, &err));
        if (status != RGM_OK) CHECK_EQ_I64(err.status, status);
    }
}

typedef struct {
    const char *text;
    rgm_import_options options;
    rgm_run *expected;
} importing;

static rgm_status import(rgm_run *unused, const void *context, rgm_error *err) {
    (void)unused;
    const importing *i = context;
    rgm_run *run = NULL;
    rgm_status status =
        rgm_trace_import_bytes((const uint8_t *)i->text, strlen(i->text), "test", &i->options, &run, err);
    rgm_memory_fail_after(-1);
    CHECK((run != NULL) == (status == RGM_OK));
    if (run) CHECK_SAME_RUN(i->expected, run, "with a fault");
    rgm_run_free(run);
    return status;
}

static void every_fault_of_import(const char *what, const char *text, rgm_import_options options) {
    importing i = {text, options, import_with(text, options)};
    REQUIRE(i.expected);
    // The comparison gives columns memory, which must not count as what an import left behind.
    CHECK_OK(import(NULL, &i, NULL));
    may_do_without = true;
    every_fault(what, import, NULL, &i);
    may_do_without = false;
    rgm_run_free(i.expected);
}

TEST(imports_by_one_thread) {
    every_fault_of_import("import", everything, (rgm_import_options){.threads = 1});
}

// Memory that is missing is no damage of the text.
TEST(strict_imports) {
    every_fault_of_import(
        "strict import",
        "{\"distributedInfo\":{\"rank\":3,\"x\":[1,2,3]},\"traceEvents\":[{\"ph\":\"C\",\"name\":\"c\","
        "\"pid\":1,\"ts\":40,\"args\":{\"v\":1.25,\"w\":2}},{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,"
        "\"dur\":1,\"args\":{\"Input Dims\":[[1],[]],\"odd\":{\"a\":[true]}}}]}",
        (rgm_import_options){.strict = true, .threads = 1});
}

TEST(imports_by_two_threads) {
    for (int i = 0; i < 3; i++)
        every_fault_of_import("import by two threads", everything,
                              (rgm_import_options){.threads = 2, .stripe = 300});
}

// As in a container that allows no more processes: the second thread of the parser, then that of linking.
TEST(imports_where_no_second_thread_can_be_had) {
    const rgm_import_options two = {.threads = 2, .stripe = 300};
    rgm_run *expected = import_with(everything, (rgm_import_options){.threads = 1});
    for (int refused = 1; refused <= 2; refused++) {
        rgm_thread_refuse(refused);
        rgm_run *run = import_with(everything, two);
        CHECK_EQ_I64(rgm_thread_refuse(0), 0); // threads were asked for
        REQUIRE(run);
        CHECK_SAME_RUN(expected, run, "without a second thread");
        rgm_run_free(run);
    }
    rgm_run_free(expected);
}

// What a refused step has put in the run stays there until it is freed, so each try has a run of its own.
static void every_fault_of_linking(int threads) {
    EACH_FAULT("linking") {
        rgm_run *run = import_text(everything);
        REQUIRE(run);
        rgm_error err = RGM_ERROR_NONE;
        if (FAULTY(rgm_run_link(run, threads, &err)) != RGM_OK) CHECK_EQ_I64(err.status, RGM_NO_MEMORY);
        rgm_run_free(run);
    }
}

TEST(linking) { every_fault_of_linking(1); }

TEST(linking_by_two_threads) { every_fault_of_linking(2); }

static rgm_status view(rgm_run *run, const void *context, rgm_error *err) {
    (void)context;
    rgm_view v = {0};
    rgm_status status = rgm_view_init(&v, run, NULL, 0, err);
    rgm_view_release(&v);
    return status;
}

typedef struct {
    const rgm_analysis *analysis;
    const rgm_view *view;
    int32_t group_by;
} question;

static rgm_status analyse(rgm_run *run, const void *context, rgm_error *err) {
    (void)run;
    const question *q = context;
    const rgm_question asked = {.group_by = q->group_by, .other = q->view};
    return analysis_try(q->analysis, q->view, NULL, asked, NULL, err);
}

static void every_analysis(rgm_run *run) {
    rgm_view v = {0};
    rgm_error err;
    every_fault("view", view, run, NULL);
    if (rgm_view_init(&v, run, NULL, 0, NULL) != RGM_OK) abort();
    for (size_t i = 0; i < rgm_analyses_count; i++) {
        question q = {&rgm_analyses[i], &v, 0};
        for (q.group_by = 0; q.group_by < 3; q.group_by++) {
            rgm_error_clear(&err);
            if (analyse(run, &q, &err) == RGM_OK) every_fault(q.analysis->name, analyse, run, &q);
        }
    }
    rgm_view_release(&v);
}

static rgm_run *seed(const char *name) {
    char path[128];
    size_t length;
    (void)snprintf(path, sizeof path, "tests/fuzz/seeds/fuzz_trace_import/%s", name);
    uint8_t *text = file_read(path, &length);
    rgm_run *run = NULL;
    const rgm_import_options options = {.threads = 1};
    if (!text || rgm_trace_import_bytes(text, length, name, &options, &run, NULL) != RGM_OK)
        HARNESS_FAIL("%s is not there", path);
    free(text);
    return run;
}

static const char *const seeds[] = {"shapes_by_hand", "a100_nccl_2024", "a100_cupti_counters",
                                    "a100_event_sync"};
enum { SEEDS = sizeof seeds / sizeof *seeds };

TEST(every_analysis_of_every_seed) {
    for (size_t i = 0; i < SEEDS; i++) {
        rgm_run *run = seed(seeds[i]);
        REQUIRE(run);
        every_analysis(run);
        rgm_run_free(run);
    }
}

static rgm_status swallow(void *context, const void *data, size_t length, rgm_error *err) {
    (void)context, (void)data, (void)length, (void)err;
    return RGM_OK;
}

static rgm_status write_out(rgm_run *run, const void *format, rgm_error *err) {
    return rgm_export(run, format, NULL, swallow, NULL, err);
}

TEST(every_export) {
    rgm_run *run = seed(seeds[0]);
    REQUIRE(run);
    for (size_t i = 0; i < rgm_export_formats_count; i++)
        every_fault(rgm_export_formats[i].name, write_out, run, rgm_export_formats[i].name);
    rgm_run_free(run);
}

static rgm_status merge(rgm_run *unused, const void *runs, rgm_error *err) {
    (void)unused;
    rgm_run *merged = NULL;
    rgm_status status = rgm_run_merge(runs, NULL, SEEDS, RGM_MERGE_RANKS, &merged, err);
    rgm_run_free(merged);
    return status;
}

TEST(merging) {
    rgm_run *runs[SEEDS];
    for (size_t i = 0; i < SEEDS; i++) {
        runs[i] = seed(seeds[i]);
        REQUIRE(runs[i]);
        for (size_t lane = 0; lane < runs[i]->lanes.rows; lane++) runs[i]->lanes.rank[lane] = (rgm_i32)i;
    }
    every_fault("merge", merge, NULL, runs);
    for (size_t i = 0; i < SEEDS; i++) rgm_run_free(runs[i]);
}

static rgm_status save_and_recover(rgm_run *run, const void *path, rgm_error *err) {
    rgm_run *back = NULL;
    rgm_status status = rgm_run_save(run, path, err);
    if (status == RGM_OK) status = rgm_run_load(path, RGM_LOAD_STRICT, &back, err);
    rgm_run_free(back);
    back = NULL;
    if (status == RGM_OK) status = rgm_run_load(path, RGM_LOAD_RECOVER, &back, err);
    rgm_run_free(back);
    return status;
}

TEST(saving_and_loading) {
    rgm_run *run = seed(seeds[0]);
    REQUIRE(run);
    const char *path = temp_path("faults.rgm");
    every_fault("save and load", save_and_recover, run, path);
    unlink(path);
    rgm_run_free(run);
}
