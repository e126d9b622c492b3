// SPDX-License-Identifier: Apache-2.0
// Every analysis, the suggestions and the verdict on runs of real files, with allocations failing one after
// the other: each ends with an error or its result, and no block is left behind.
#include "analysed.h"
#include "base/memory.h"
#include "importing.h"
#include "suggest/suggest.h"
#include "suggest/verdict.h"

#define TRACES "tests/fuzz/seeds/fuzz_trace_import/"
#define RUNS "tests/fuzz/seeds/fuzz_run_file/"

static const char *const files[] = {
    TRACES "a100_cupti_counters",   TRACES "a100_nccl_2024",
    TRACES "a100_triton",           TRACES "cpu_only_no_schema",
    TRACES "h100_bert_small",       TRACES "mi250_rocm62",
    TRACES "shapes_by_hand",        TRACES "mi300_vllm_decode_graph",
    TRACES "v100_2021_gpu_metrics", RUNS "imported_ranks",
    RUNS "path_of_reversed_times",  RUNS "everything",
    RUNS "recorded_device",         RUNS "recorded_host",
    RUNS "recorded_torch",
};
enum { GROUPS = 5, CLOSE = 40, FAR = 40 }; // the first allocations fail one by one, of the rest so many

typedef struct {
    rgm_run *run;
    const rgm_analysis *analysis; // NULL for what is suggested and the verdict
    rgm_question question;
} work;

static rgm_run *run_of(const char *path) {
    size_t length = 0;
    uint8_t *data = file_read(path, &length);
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_import_options options = {.threads = 1};
    bool recorded = length > 4 && strncmp(path, TRACES, strlen(TRACES)) != 0;
    rgm_status status = !data      ? RGM_IO
                        : recorded ? rgm_run_load(path, RGM_LOAD_RECOVER, &run, &err)
                                   : rgm_trace_import_bytes(data, length, "test", &options, &run, &err);
    if (status != RGM_OK) HARNESS_FAIL("%s: %s", path, err.message);
    free(data);
    return run;
}

static rgm_status said(const rgm_view *view, const rgm_policy *policy) {
    rgm_suggestions suggestions = {0};
    rgm_suggestion_evidence evidence = {0};
    rgm_causes causes = {0};
    rgm_status status = rgm_suggest(view, policy, NULL, &suggestions, &evidence, NULL);
    if (status == RGM_OK) status = rgm_verdict_compute(view, policy, &causes, NULL);
    rgm_table_release(&rgm_suggestions_desc, &suggestions);
    rgm_table_release(&rgm_suggestion_evidence_desc, &evidence);
    rgm_table_release(&rgm_causes_desc, &causes);
    return status;
}

// From the run on, so that what views keep for several analyses fails, too.
static rgm_status whole(work *w) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_view view, other = {0};
    rgm_status status;
    RGM_TRY(rgm_view_init(&view, w->run, NULL, 0, NULL));
    RGM_GOTO(rgm_view_init(&other, w->run, NULL, 0, NULL));
    w->question.other = &other;
    status = w->analysis ? analysis_try(w->analysis, &view, &policy, w->question, NULL, NULL)
                         : said(&view, &policy);
done:
    rgm_view_release(&other);
    rgm_view_release(&view);
    return status;
}

static void each_fault(work *w, const char *path) {
    uint64_t calls = rgm_memory_calls();
    if (whole(w) != RGM_OK) return; // not for this run, or such a group
    int64_t all = (int64_t)(rgm_memory_calls() - calls), step = all > CLOSE + FAR ? (all - CLOSE) / FAR : 1;
    for (int64_t after = 0; after < all; after += after < CLOSE ? 1 : step) {
        int64_t live = rgm_memory_live();
        rgm_memory_fail_after(after);
        rgm_status status = whole(w);
        rgm_memory_fail_after(-1);
        if ((status != RGM_NO_MEMORY && status != RGM_OK) || rgm_memory_live() != live)
            HARNESS_FAIL("%s of %s, allocation %" PRId64 ": status %d, %" PRId64 " blocks left",
                         w->analysis ? w->analysis->name : "what is said", path, after, (int)status,
                         rgm_memory_live() - live);
    }
}

TEST(every_analysis_with_every_allocation_failing) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        work w = {.run = run_of(files[i])};
        if (!w.run) continue;
        each_fault(&w, files[i]);
        for (size_t k = 0; k < rgm_analyses_count; k++)
            for (int32_t group = 0; group < GROUPS; group++) {
                w.analysis = &rgm_analyses[k];
                w.question = (rgm_question){.group_by = group};
                each_fault(&w, files[i]);
            }
        rgm_run_free(w.run);
    }
}
