// SPDX-License-Identifier: Apache-2.0
// The time analyses on hostile runs: they must neither crash nor overflow nor go quadratic.
#include "analysed.h"
#include "harness.h"

enum { SPANS = 200000 };

typedef struct {
    rgm_run *run;
    rgm_view view;
} viewed;

static rgm_run *run_new(size_t spans, size_t lanes) {
    rgm_run *run = NULL;
    rgm_name name;
    const char *const names[] = {"aten::mm", "ProfilerStep#1", "nn.Module: Linear_0"};
    if (rgm_run_new(&run, NULL) != RGM_OK) return NULL;
    for (int i = 0; i < 3; i++)
        CHECK_OK(rgm_strings_intern(&run->strings, names[i], strlen(names[i]), &name, NULL));
    CHECK_OK(rgm_table_reserve(&rgm_spans_desc, &run->spans, RGM_ALL_COLUMNS, spans, NULL));
    CHECK_OK(rgm_table_reserve(&rgm_lanes_desc, &run->lanes, RGM_ALL_COLUMNS, lanes, NULL));
    run->spans.rows = spans;
    run->lanes.rows = lanes;
    for (size_t c = 0; c < rgm_spans_desc.n_columns; c++)
        rgm_table_fill(&rgm_spans_desc, &run->spans, c, 0, spans);
    for (size_t c = 0; c < rgm_lanes_desc.n_columns; c++)
        rgm_table_fill(&rgm_lanes_desc, &run->lanes, c, 0, lanes);
    return run;
}

static void analyse_all(rgm_run *run) {
    static const char *const names[] = {"kernel_times",     "operator_times", "step_times",
                                        "annotation_times", "operator_flops", "operator_tree"};
    rgm_view view = {0};
    CHECK_OK(rgm_view_init(&view, run, NULL, 0, NULL));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int by = 0; by < 4; by++) {
            rgm_status status = analysis_try(analysis_named(names[i]), &view, NULL,
                                             (rgm_question){.group_by = by}, NULL, NULL);
            CHECK(status == RGM_OK || (status == RGM_INVALID && by > 0));
        }
    rgm_view_release(&view);
    rgm_run_free(run);
}

// Row i lies in row i - 1: operators, annotations, frames and calls in turn, each call with its kernel.
TEST(a_deep_nest_costs_no_more_than_a_flat_one) {
    rgm_run *run = run_new(SPANS, 2);
    REQUIRE(run);
    static const uint8_t kinds[] = {RGM_KIND_CPU_OP, RGM_KIND_ANNOTATION, RGM_KIND_PYTHON, RGM_KIND_RUNTIME};
    rgm_spans *s = &run->spans;
    for (size_t i = 0; i < SPANS / 2; i++) {
        s->start_ns[i] = (int64_t)i;
        s->duration_ns[i] = 2 * SPANS - 2 * (int64_t)i;
        s->parent[i] = (int32_t)i - 1;
        s->kind[i] = kinds[i % 4];
        s->name[i] = 1 + (rgm_name)(i % 3);
        s->correlation[i] = (int64_t)i + 1;
        size_t work = SPANS / 2 + i;
        s->kind[work] = RGM_KIND_KERNEL;
        s->lane[work] = 1;
        s->start_ns[work] = (int64_t)i;
        s->duration_ns[work] = 7;
        s->correlation[work] = (int64_t)i + 1;
        s->step[work] = s->step[i] = 1;
    }
    run->lanes.device[1] = 0;
    analyse_all(run);
}

TEST(equal_starts_and_the_longest_durations_do_not_overflow) {
    rgm_run *run = run_new(1000, 1);
    REQUIRE(run);
    for (size_t i = 0; i < 1000; i++) {
        run->spans.start_ns[i] = INT64_MAX / 2;
        run->spans.duration_ns[i] = INT64_MAX / 4;
        run->spans.kind[i] = (rgm_u8)(i % RGM_KIND_COUNT);
        run->spans.name[i] = 1 + (rgm_name)(i % 3);
        run->spans.correlation[i] = 1;
        run->spans.external_id[i] = 1;
        run->spans.step[i] = 1;
        run->spans.bytes[i] = INT64_MAX;
    }
    analyse_all(run);
}

TEST(the_widest_span_of_time_does_not_overflow) {
    rgm_run *run = run_new(40, 1);
    REQUIRE(run);
    for (size_t i = 0; i < 40; i++) {
        run->spans.start_ns[i] = i % 2 ? INT64_MAX / 2 : INT64_MIN / 2;
        run->spans.duration_ns[i] = i % 2 ? INT64_MAX / 4 : 0;
        run->spans.kind[i] = i % 4 < 2 ? RGM_KIND_KERNEL : RGM_KIND_ANNOTATION;
        run->spans.name[i] = 2;
        run->spans.step[i] = 1;
    }
    analyse_all(run);
}

// A cycle and a parent that comes later are damage, and no reason to stop.
TEST(parents_that_are_no_parents) {
    rgm_run *run = run_new(64, 1);
    REQUIRE(run);
    for (size_t i = 0; i < 64; i++) {
        run->spans.kind[i] = i % 2 ? RGM_KIND_CPU_OP : RGM_KIND_ANNOTATION;
        run->spans.parent[i] = (int32_t)((i + 1) % 64);
        run->spans.name[i] = 1;
    }
    analyse_all(run);
}

TEST(an_empty_run_has_empty_tables) {
    rgm_run *run = NULL;
    CHECK_OK(rgm_run_new(&run, NULL));
    analyse_all(run);
}
