// SPDX-License-Identifier: Apache-2.0
// Entries, summary and timeline against figures worked out by hand.
#include "analysis/times/summary.h"

#include "random.h"
#include "recording.h"

typedef struct {
    rgm_run *run;
    rgm_entries entries;
    rgm_summary summary;
} analysed;

// Spans in the order of their starts: name, lane, parent, start, duration.
static int32_t span(analysed *a, const char *name, uint32_t lane, int32_t parent, int64_t start,
                    int64_t duration) {
    rgm_spans *s = &a->run->spans;
    size_t row;
    const uint64_t columns = RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns) |
                             RGM_COLUMN_BIT(spans, name) | RGM_COLUMN_BIT(spans, lane) |
                             RGM_COLUMN_BIT(spans, parent) | RGM_COLUMN_BIT(spans, flags);
    CHECK_OK(rgm_table_append(&rgm_spans_desc, s, columns, &row, NULL));
    CHECK_OK(rgm_strings_intern(&a->run->strings, name, strlen(name), &s->name[row], NULL));
    s->lane[row] = lane;
    s->parent[row] = parent;
    s->start_ns[row] = start;
    s->duration_ns[row] = duration;
    return (int32_t)row;
}

static analysed fresh(void) {
    analysed a = {0};
    if (rgm_run_new(&a.run, NULL) != RGM_OK) abort();
    return a;
}

static void compute(analysed *a) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    CHECK_OK(rgm_entries_compute(a->run, NULL, &a->entries, NULL));
    CHECK_OK(rgm_summary_compute(a->run, &a->entries, &policy, &a->summary, NULL));
}

static void release(analysed *a) {
    rgm_table_release(&rgm_entries_desc, &a->entries);
    rgm_table_release(&rgm_summary_desc, &a->summary);
    rgm_run_free(a->run);
}

static size_t row_of(const analysed *a, const char *name) {
    for (size_t i = 0; i < a->summary.rows; i++)
        if (strcmp(text_of(a->run, a->summary.operation[i]), name) == 0) return i;
    HARNESS_FAIL("no operation %s", name);
    return 0;
}

TEST(nothing_recorded) {
    analysed a = fresh();
    compute(&a);
    CHECK_EQ_U64(a.entries.rows, 0);
    CHECK_EQ_U64(a.summary.rows, 0);
    release(&a);
}

TEST(nested_scopes_never_count_twice) {
    analysed a = fresh();
    int32_t outer = span(&a, "outer", 0, -1, 0, 100);
    int32_t mid = span(&a, "mid", 0, outer, 10, 60);
    span(&a, "leaf", 0, mid, 20, 10);
    span(&a, "leaf", 0, mid, 40, 20);
    span(&a, "leaf", 0, outer, 80, 5);
    a.run->spans.flags[3] = RGM_FLAG_FAILED;
    compute(&a);
    const int64_t exclusive[] = {35, 30, 10, 20, 5};
    const int32_t depths[] = {0, 1, 2, 2, 1};
    for (int i = 0; i < 5; i++) {
        CHECK_EQ_I64(a.entries.exclusive_ns[i], exclusive[i]);
        CHECK_EQ_I64(a.entries.depth[i], depths[i]);
        CHECK(isnan(a.entries.memory_peak_bytes[i]) && a.entries.memory_source[i] == RGM_SOURCE_NONE);
    }
    REQUIRE(a.summary.rows == 3);
    const char *order[] = {"leaf", "outer", "mid"}; // 35, 35, 30
    for (int i = 0; i < 3; i++) CHECK_STR_EQ(text_of(a.run, a.summary.operation[i]), order[i]);
    CHECK_EQ_I64(a.summary.failed_count[0], 1);
    CHECK_EQ_I64(a.summary.total_ns[row_of(&a, "mid")], 60);
    release(&a);
}

TEST(rows_go_by_exclusive_time_then_name) {
    analysed a = fresh();
    span(&a, "b", 0, -1, 0, 10);
    span(&a, "c", 0, -1, 20, 30);
    span(&a, "a", 0, -1, 60, 10);
    compute(&a);
    REQUIRE(a.summary.rows == 3);
    CHECK_STR_EQ(text_of(a.run, a.summary.operation[0]), "c");
    CHECK_STR_EQ(text_of(a.run, a.summary.operation[1]), "a");
    CHECK_STR_EQ(text_of(a.run, a.summary.operation[2]), "b");
    CHECK_NEAR(a.summary.share[0], 0.6, 1e-15);
    release(&a);
}

TEST(statistics_of_one_operation) {
    analysed a = fresh();
    const int64_t durations[] = {70, 10, 40, 20, 60, 30, 50};
    int64_t at = 1000;
    for (int i = 0; i < 7; i++, at += 100) span(&a, "op", 0, -1, at, durations[i]);
    a.run->spans.flags[2] = RGM_FLAG_FAILED;
    compute(&a);
    REQUIRE(a.summary.rows == 1);
    const rgm_summary *s = &a.summary;
    CHECK_EQ_I64(s->call_count[0], 7);
    CHECK_EQ_I64(s->failed_count[0], 1);
    CHECK_EQ_I64(s->recursive_count[0], 0);
    CHECK_EQ_I64(s->total_ns[0], 280);
    CHECK_EQ_I64(s->exclusive_ns[0], 280);
    CHECK_EQ_I64(s->min_ns[0], 10);
    CHECK_EQ_I64(s->max_ns[0], 70);
    CHECK_NEAR(s->mean_ns[0], 40, 1e-12);
    CHECK_NEAR(s->std_dev_ns[0], 20, 1e-12); // sqrt(2800 / 7)
    CHECK_NEAR(s->cv[0], 0.5, 1e-12);
    CHECK_NEAR(s->median_ns[0], 40, 1e-12);
    CHECK_NEAR(s->p95_ns[0], 67, 1e-12);   // 0.95 * 6 = 5.7: 60 + 0.7 * 10
    CHECK_NEAR(s->p99_ns[0], 69.4, 1e-12); // 0.99 * 6 = 5.94
    CHECK_NEAR(s->share[0], 1, 1e-15);
    CHECK_EQ_I64(s->first_ns[0], 1000);
    CHECK_EQ_I64(s->last_ns[0], 1650);
    release(&a);
}

TEST(one_call_has_no_spread) {
    analysed a = fresh();
    span(&a, "op", 0, -1, 5, 42);
    span(&a, "empty", 0, -1, 50, 0);
    compute(&a);
    size_t op = row_of(&a, "op"), empty = row_of(&a, "empty");
    CHECK_NEAR(a.summary.std_dev_ns[op], 0, 0);
    CHECK_NEAR(a.summary.p99_ns[op], 42, 0);
    CHECK(isnan(a.summary.cv[empty]));
    release(&a);
}

TEST(recursion_counts_its_outermost_call) {
    analysed a = fresh();
    int32_t one = span(&a, "fib", 0, -1, 0, 100);
    int32_t two = span(&a, "fib", 0, one, 10, 40);
    int32_t helper = span(&a, "helper", 0, two, 15, 30);
    span(&a, "fib", 0, helper, 20, 10);
    span(&a, "fib", 0, one, 60, 20);
    span(&a, "fib", 0, -1, 200, 7);
    compute(&a);
    size_t fib = row_of(&a, "fib"), h = row_of(&a, "helper");
    CHECK_EQ_I64(a.summary.call_count[fib], 5);
    CHECK_EQ_I64(a.summary.recursive_count[fib], 3);
    CHECK_EQ_I64(a.summary.total_ns[fib], 107);
    CHECK_EQ_I64(a.summary.exclusive_ns[fib], 40 + 10 + 10 + 20 + 7);
    CHECK_EQ_I64(a.summary.total_ns[h], 30);
    CHECK_EQ_I64(a.summary.recursive_count[h], 0);
    release(&a);
}

TEST(lanes_and_task_slots_do_not_nest_in_each_other) {
    analysed a = fresh();
    int32_t p0 = span(&a, "op", 0, -1, 0, 100);  // thread 0
    int32_t p1 = span(&a, "op", 1, -1, 10, 100); // thread 1 meanwhile
    span(&a, "in", 0, p0, 20, 30);
    span(&a, "op", 2, -1, 25, 50); // a task that overlaps both
    span(&a, "in", 1, p1, 40, 60);
    compute(&a);
    size_t op = row_of(&a, "op"), in = row_of(&a, "in");
    CHECK_EQ_I64(a.summary.total_ns[op], 250);
    CHECK_EQ_I64(a.summary.recursive_count[op], 0);
    CHECK_EQ_I64(a.summary.exclusive_ns[op], 70 + 40 + 50);
    CHECK_EQ_I64(a.summary.total_ns[in], 90);
    release(&a);
}

TEST(children_that_overlap_take_their_time_off_once) {
    analysed a = fresh();
    int32_t parent = span(&a, "op", 0, -1, 0, 100);
    span(&a, "in", 0, parent, 10, 50);
    span(&a, "in", 0, parent, 40, 40); // begins before the other has ended
    span(&a, "in", 0, parent, 90, 30); // outlives the parent
    compute(&a);
    CHECK_EQ_I64(a.summary.exclusive_ns[row_of(&a, "op")], 100 - 70 - 10);
    release(&a);
}

TEST(declared_devices_are_kept_apart_and_backends_found) {
    analysed a = fresh();
    span(&a, "op", 0, -1, 0, 10);
    span(&a, "op", 0, -1, 20, 30);
    span(&a, "op", 0, -1, 60, 30);
    a.run->spans.flags[0] = rgm_flags_pack(0, RGM_DEVICE_CPU, RGM_BACKEND_NUMPY);
    a.run->spans.flags[1] = rgm_flags_pack(0, RGM_DEVICE_GPU, RGM_BACKEND_TORCH);
    a.run->spans.flags[2] = rgm_flags_pack(0, RGM_DEVICE_GPU, RGM_BACKEND_UNKNOWN);
    compute(&a);
    REQUIRE(a.summary.rows == 2);
    CHECK_EQ_I64(a.summary.device[0], RGM_DEVICE_GPU);
    CHECK_EQ_I64(a.summary.backend[0], RGM_BACKEND_TORCH);
    CHECK_EQ_I64(a.summary.call_count[0], 2);
    CHECK_EQ_I64(a.summary.device[1], RGM_DEVICE_CPU);
    release(&a);
}

static void memory_row(analysed *a, int64_t span_row, int64_t time, int16_t device, rgm_action action,
                       int64_t bytes, int64_t allocated) {
    rgm_memory *m = &a->run->memory;
    size_t row;
    CHECK_OK(rgm_table_append(&rgm_memory_desc, m, RGM_ALL_COLUMNS, &row, NULL));
    m->time_ns[row] = time;
    m->span[row] = span_row;
    m->device[row] = device;
    m->action[row] = (rgm_u8)action;
    m->bytes[row] = bytes;
    m->allocated[row] = allocated;
}

TEST(memory_comes_from_the_best_source) {
    analysed a = fresh();
    span(&a, "sampled", 0, -1, 100, 100);
    span(&a, "unseen", 0, -1, 300, 5);
    span(&a, "scope", 0, -1, 400, 100);
    span(&a, "device", 0, -1, 600, 100);
    span(&a, "device", 0, -1, 800, 100);
    memory_row(&a, -1, 410, -1, RGM_ACTION_SAMPLE, 900, -1); // out of order on purpose
    memory_row(&a, -1, 50, -1, RGM_ACTION_SAMPLE, 70, -1);
    memory_row(&a, -1, 150, -1, RGM_ACTION_SAMPLE, 60, -1);
    memory_row(&a, -1, 650, -1, RGM_ACTION_SAMPLE, 5000, -1);
    memory_row(&a, 2, 400, -1, RGM_ACTION_BEGIN, 1000, -1);
    memory_row(&a, 2, 500, -1, RGM_ACTION_END, 800, -1);
    memory_row(&a, 3, 600, 0, RGM_ACTION_BEGIN, -1, 10);
    memory_row(&a, 3, 700, 0, RGM_ACTION_END, -1, 30);
    memory_row(&a, 3, 700, 0, RGM_ACTION_PEAK, -1, 64);
    memory_row(&a, 4, 800, 0, RGM_ACTION_BEGIN, -1, 30);
    memory_row(&a, 4, 900, 0, RGM_ACTION_END, -1, 40);
    compute(&a);
    const rgm_entries *e = &a.entries;
    CHECK_EQ_I64(e->memory_source[0], RGM_SOURCE_SAMPLER);
    CHECK_NEAR(e->memory_peak_bytes[0], 70, 0); // what it began with
    CHECK(isnan(e->memory_allocated_bytes[0]));
    CHECK_EQ_I64(e->memory_source[1], RGM_SOURCE_NONE);
    CHECK(isnan(e->memory_peak_bytes[1]));
    CHECK_EQ_I64(e->memory_source[2], RGM_SOURCE_SCOPE);
    CHECK_NEAR(e->memory_peak_bytes[2], 1000, 0);
    CHECK_NEAR(e->memory_allocated_bytes[2], -200, 0);
    CHECK_EQ_I64(e->memory_source[3], RGM_SOURCE_DEVICE);
    CHECK_NEAR(e->memory_peak_bytes[3], 64, 0); // the host's 5000 is another memory
    CHECK_NEAR(e->memory_allocated_bytes[3], 20, 0);
    size_t device = row_of(&a, "device");
    CHECK_EQ_I64(a.summary.memory_count[device], 2);
    CHECK_NEAR(a.summary.memory_allocated_bytes[device], 15, 1e-12);
    CHECK_NEAR(a.summary.memory_peak_bytes[device], 64, 0);
    CHECK(isnan(a.summary.memory_peak_bytes[row_of(&a, "unseen")]));
    release(&a);
}

// The tree of maxima against a plain loop.
TEST(sampled_peaks_agree_with_a_plain_search) {
    enum { SPANS = 300, SAMPLES = 1000 };
    analysed a = fresh();
    uint64_t random = 3;
    static int64_t times[SAMPLES], bytes[SAMPLES];
    for (int i = 0; i < SPANS; i++) {
        random_step(&random);
        span(&a, "op", 0, -1, 40 * i, (int64_t)(random >> 55));
    }
    for (int i = 0; i < SAMPLES; i++) {
        random_step(&random);
        times[i] = 13 * i + 2;
        bytes[i] = (int64_t)(random >> 40);
        memory_row(&a, -1, times[i], -1, RGM_ACTION_SAMPLE, bytes[i], -1);
    }
    compute(&a);
    for (int i = 0; i < SPANS; i++) {
        int64_t from = a.run->spans.start_ns[i], to = from + a.run->spans.duration_ns[i], best = -1,
                before = -1;
        for (int k = 0; k < SAMPLES; k++) {
            if (times[k] < from) before = bytes[k];
            if (times[k] >= from && times[k] <= to && bytes[k] > best) best = bytes[k];
        }
        if (best < 0)
            CHECK(isnan(a.entries.memory_peak_bytes[i]));
        else
            CHECK_NEAR(a.entries.memory_peak_bytes[i], (double)(before > best ? before : best), 0);
    }
    release(&a);
}

TEST(a_run_without_optional_columns_is_analysed) {
    analysed a = fresh();
    size_t row;
    const uint64_t columns = RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rgm_table_append(&rgm_spans_desc, &a.run->spans, columns, &row, NULL));
        a.run->spans.duration_ns[row] = 10;
    }
    CHECK_OK(rgm_run_check(a.run, NULL));
    compute(&a);
    REQUIRE(a.summary.rows == 1);
    CHECK_EQ_I64(a.summary.total_ns[0], 30);
    release(&a);
}

TEST(only_scopes_are_summarised) {
    analysed a = fresh();
    int32_t scope = span(&a, "scope", 0, -1, 0, 100);
    span(&a, "kernel", 0, scope, 10, 50);
    CHECK_OK(rgm_table_ensure(&rgm_spans_desc, &a.run->spans, RGM_COLUMN_INDEX(spans, kind), NULL));
    a.run->spans.kind[1] = RGM_KIND_KERNEL;
    compute(&a);
    REQUIRE(a.summary.rows == 1 && a.entries.rows == 1);
    CHECK_EQ_I64(a.entries.exclusive_ns[0], 100);
    release(&a);
}

TEST(many_operations_sort_stably) {
    enum { COUNT = 1000 };
    analysed a = fresh();
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "op%04d", (i * 617) % COUNT);
        span(&a, name, 0, -1, 1000 * i, ((i * 617) % COUNT) / 10);
    }
    compute(&a);
    REQUIRE(a.summary.rows == COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "op%04d", (99 - i / 10) * 10 + i % 10);
        CHECK_STR_EQ(text_of(a.run, a.summary.operation[i]), name);
    }
    release(&a);
}
