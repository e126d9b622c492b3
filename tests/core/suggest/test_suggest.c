// SPDX-License-Identifier: Apache-2.0
// Suggestions: claims as sets of time, the engine on runs by hand and on damaged ones, and with each
// allocation failing in turn.
#include "everything.h"
#include "faults.h"
#include "importing.h"
#include "suggest/claim.h"
#include "suggest/suggest.h"

typedef struct {
    rgm_suggestions suggestions;
    rgm_suggestion_evidence evidence;
} results;

static void release(results *r) {
    rgm_table_release(&rgm_suggestions_desc, &r->suggestions);
    rgm_table_release(&rgm_suggestion_evidence_desc, &r->evidence);
}

static rgm_status suggest(rgm_run *run, const rgm_ceilings *ceilings, results *r) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_view view;
    *r = (results){0};
    RGM_TRY(rgm_view_init(&view, run, NULL, 0, NULL));
    rgm_status status = rgm_suggest(&view, &policy, ceilings, &r->suggestions, &r->evidence, NULL);
    rgm_view_release(&view);
    return status;
}

static bool has(const results *r, rgm_suggestion_rule rule) {
    for (size_t i = 0; i < r->suggestions.rows; i++)
        if (r->suggestions.rule[i] == rule) return true;
    return false;
}

static rgm_claim claim(const int64_t (*parts)[2], size_t count) {
    rgm_claim made = {0};
    for (size_t i = 0; i < count; i++) CHECK_OK(rgm_claim_add(&made, parts[i][0], parts[i][1], NULL));
    rgm_claim_close(&made);
    return made;
}

TEST(claims_are_sets_of_time) {
    const int64_t a[][2] = {{10, 20}, {0, 5}, {15, 30}, {30, 31}, {50, 50}}, b[][2] = {{4, 12}, {29, 60}};
    rgm_claim x = claim(a, 5), y = claim(b, 2);
    CHECK_EQ_U64(x.count, 2);
    CHECK_EQ_I64(rgm_claim_total(&x), 26);
    CHECK_EQ_I64(rgm_claim_shared(&x, &y), 5);
    CHECK_EQ_I64(rgm_claim_shared(&y, &x), 5);
    CHECK_OK(rgm_claim_join(&x, &y, NULL));
    CHECK_EQ_U64(x.count, 1);
    CHECK_EQ_I64(rgm_claim_total(&x), 60);
    rgm_claim_release(&x);
    rgm_claim_release(&y);
}

TEST(what_a_claim_has_and_another_has_not) {
    const int64_t a[][2] = {{0, 10}, {20, 30}, {40, 50}}, b[][2] = {{2, 4}, {6, 22}, {25, 26}, {45, 60}};
    const int64_t expected[][2] = {{0, 2}, {4, 6}, {22, 25}, {26, 30}, {40, 45}};
    rgm_claim x = claim(a, 3), y = claim(b, 4), none = {0}, rest;
    CHECK_OK(rgm_claim_without(&x, &y, &rest, NULL));
    CHECK_EQ_U64(rest.count, 5);
    for (size_t i = 0; i < rest.count; i++) {
        CHECK_EQ_I64(rest.parts[i].start, expected[i][0]);
        CHECK_EQ_I64(rest.parts[i].end, expected[i][1]);
    }
    CHECK_EQ_I64(rgm_claim_total(&rest), rgm_claim_total(&x) - rgm_claim_shared(&x, &y));
    rgm_claim_release(&rest);
    CHECK_OK(rgm_claim_without(&x, &none, &rest, NULL));
    CHECK_EQ_I64(rgm_claim_total(&rest), rgm_claim_total(&x));
    rgm_claim_release(&rest);
    CHECK_OK(rgm_claim_without(&none, &x, &rest, NULL));
    CHECK_EQ_U64(rest.count, 0);
    rgm_claim_release(&rest);
    rgm_claim_release(&x);
    rgm_claim_release(&y);
}

TEST(empty_claims_share_nothing) {
    rgm_claim x = {0}, y = {0};
    rgm_claim_close(&x);
    CHECK_EQ_I64(rgm_claim_total(&x), 0);
    CHECK_EQ_I64(rgm_claim_shared(&x, &y), 0);
    CHECK_OK(rgm_claim_join(&x, &y, NULL));
    CHECK_EQ_U64(x.count, 0);
}

#define HOST(cat, name, ts, dur, args)                                                                       \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{" args "}}"
#define WORK(cat, name, ts, dur, args)                                                                       \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts ",\"dur\":" dur \
    ",\"args\":{\"device\":0,\"stream\":7," args "}}"

// A pageable copy of 1,000 us between two kernels of 500, and a loader before the last.
#define DEVICE "{\"id\":0,\"computeMajor\":8,\"totalGlobalMem\":1000}"
#define LOADER "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define LAUNCH(ts, id) HOST("cuda_runtime", "cudaLaunchKernel", ts, "10", "\"correlation\":" id)
#define COPY(ts, id) HOST("cuda_runtime", "cudaMemcpyAsync", ts, "10", "\"correlation\":" id)
#define WAIT(name, ts, dur) HOST("cuda_runtime", name, ts, dur, "")
#define COPIED "\"correlation\":2,\"bytes\":1000000"
static const char program[] = "{\"schemaVersion\":1,\"deviceProperties\":[" DEVICE "],\"traceEvents\":[" //
    LAUNCH("0", "1") ","                                                                                 //
    COPY("20", "2") ","                                                                                  //
    WAIT("cudaStreamSynchronize", "40", "1480") ","                                                      //
    HOST("user_annotation", LOADER, "1530", "400", "") ","                                               //
    LAUNCH("1940", "3") ","                                                                              //
    WAIT("cudaDeviceSynchronize", "1960", "500") ","                                                     //
    WORK("kernel", "gemm", "10", "500", "\"correlation\":1") ","                                         //
    WORK("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "510", "1000", COPIED) ","                    //
    WORK("kernel", "gemm", "1950", "500", "\"correlation\":3") "]}";

TEST(what_is_saved_adds_up_to_less_than_the_path) {
    rgm_run *run = import_text(program);
    results r;
    CHECK_OK(suggest(run, NULL, &r));
    CHECK(has(&r, RGM_RULE_PAGEABLE_COPIES));
    CHECK(has(&r, RGM_RULE_LOADER_WITHOUT_WORKERS));
    int64_t saved = 0;
    for (size_t i = 0; i < r.suggestions.rows; i++) {
        saved += r.suggestions.saved_high_ns[i];
        CHECK(r.suggestions.saved_low_ns[i] <= r.suggestions.saved_high_ns[i]);
        CHECK(r.suggestions.merged_into[i] < (int32_t)i);
    }
    CHECK(saved > 0 && saved <= r.suggestions.whole_ns[0]);
    CHECK_EQ_I64(r.suggestions.rule[0], RGM_RULE_PAGEABLE_COPIES);
    CHECK_EQ_I64(r.suggestions.saved_high_ns[0], 1000000);
    release(&r);
    rgm_run_free(run);
}

TEST(a_ceiling_bounds_pageable_copies_from_below) {
    rgm_ceilings ceilings;
    for (int i = 0; i < RGM_CEILING_COUNT; i++) ceilings.at[i] = (rgm_ceiling){NAN, NAN};
    ceilings.at[RGM_CEILING_H2D_PINNED].value = 4e9; // four times 1,000,000 bytes a millisecond
    rgm_run *run = import_text(program);
    results r;
    CHECK_OK(suggest(run, &ceilings, &r));
    CHECK_EQ_I64(r.suggestions.saved_low_ns[0], 750000);
    release(&r);
    rgm_run_free(run);
}

TEST(a_run_without_spans_and_a_damaged_one) {
    rgm_run *empty = NULL;
    results r;
    CHECK_OK(rgm_run_new(&empty, NULL));
    CHECK_OK(suggest(empty, NULL, &r));
    CHECK_EQ_U64(r.suggestions.rows, 0);
    release(&r);
    rgm_run_free(empty);
    rgm_run *damaged = import_text(everything);
    CHECK_OK(suggest(damaged, NULL, &r));
    release(&r);
    rgm_run_free(damaged);
}

TEST(every_allocation_may_fail) {
    rgm_run *run = import_text(program);
    int rounds = 0;
    EACH_FAULT("suggestions") {
        results r;
        FAULTY(suggest(run, NULL, &r));
        release(&r);
        rounds++;
    }
    CHECK(rounds > 50);
    rgm_run_free(run);
}
