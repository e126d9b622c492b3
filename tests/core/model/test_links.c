// SPDX-License-Identifier: Apache-2.0
// How spans hang together: by hand, and compared with the rules applied in quadratic time to random runs.
#include "model/links.h"

#include "importing.h"
#include "small_runs.h"

static size_t add_span(rgm_run *run, rgm_kind kind, uint32_t lane, int64_t start, int64_t duration) {
    return span_add(run, kind, "", lane, start, duration);
}

static rgm_name name(rgm_run *run, const char *text) {
    uint32_t id;
    if (rgm_strings_intern(&run->strings, text, strlen(text), &id, NULL) != RGM_OK) abort();
    return id;
}

static void link_run(rgm_run *run) { CHECK_OK(rgm_run_link(run, 1, NULL)); }

// --- by hand ----------------------------------------------------------------------------------------------

TEST(a_span_lies_in_the_innermost_that_encloses_it) {
    rgm_run *run = run_of_lanes(2);
    size_t outer = add_span(run, RGM_KIND_CPU_OP, 0, 0, 100),
           inner = add_span(run, RGM_KIND_CPU_OP, 0, 0, 50);
    size_t leaf = add_span(run, RGM_KIND_RUNTIME, 0, 49, 1), next = add_span(run, RGM_KIND_CPU_OP, 0, 50, 50);
    size_t across = add_span(run, RGM_KIND_CPU_OP, 0, 90, 30),
           other = add_span(run, RGM_KIND_CPU_OP, 1, 10, 5);
    size_t behind = add_span(run, RGM_KIND_CPU_OP, 0, 95, 2);
    link_run(run);
    const rgm_spans *s = &run->spans;
    CHECK(s->parent[outer] == -1 && s->parent[inner] == (int32_t)outer && s->parent[leaf] == (int32_t)inner);
    CHECK(s->parent[next] == (int32_t)outer && s->parent[other] == -1);
    CHECK(s->parent[across] == -1 && s->flags[across] & RGM_FLAG_OVERLAPS);
    CHECK(s->parent[behind] == (int32_t)across && !(s->flags[behind] & RGM_FLAG_OVERLAPS));
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_OVERLAPPING_SPANS), 1);
    rgm_run_free(run);
}

TEST(equal_spans_nest_in_order_of_rows) {
    rgm_run *run = run_of_lanes(1);
    for (int i = 0; i < 200; i++)
        (void)add_span(run, RGM_KIND_CPU_OP, 0, 5, 10); // a large group of equal starts
    link_run(run);
    for (int32_t i = 0; i < 200; i++) CHECK_EQ_I64(run->spans.parent[i], i - 1);
    rgm_run_free(run);
}

TEST(work_and_instants_are_nobodys_parent) {
    rgm_run *run = run_of_lanes(1);
    size_t note = add_span(run, RGM_KIND_DEVICE_ANNOTATION, 0, 0, 100),
           work = add_span(run, RGM_KIND_KERNEL, 0, 10, 50);
    size_t second = add_span(run, RGM_KIND_KERNEL, 0, 20, 10),
           mark = add_span(run, RGM_KIND_INSTANT, 0, 70, 0);
    size_t third = add_span(run, RGM_KIND_KERNEL, 0, 70, 0);
    link_run(run);
    const rgm_spans *s = &run->spans;
    CHECK(s->parent[work] == (int32_t)note && s->parent[second] == (int32_t)note);
    CHECK(s->parent[mark] == (int32_t)note && s->parent[third] == (int32_t)note);
    CHECK(s->flags[second] & RGM_FLAG_OVERLAPS && !(s->flags[work] & RGM_FLAG_OVERLAPS));
    rgm_run_free(run);
}

TEST(the_nearest_call_before_launched_it) {
    rgm_run *run = run_of_lanes(2);
    size_t calls[3], work[5];
    const int64_t starts[] = {10, 30, 50}, begins[] = {5, 29, 30, 49, 1000};
    const size_t expected[] = {0, 0, 1, 1, 2};
    for (size_t i = 0; i < 3; i++) calls[i] = add_span(run, RGM_KIND_RUNTIME, 0, starts[i], 2);
    for (size_t i = 0; i < 5; i++) work[i] = add_span(run, RGM_KIND_KERNEL, 1, begins[i], 1);
    size_t orphan = add_span(run, RGM_KIND_KERNEL, 1, 60, 1), none = add_span(run, RGM_KIND_MEMCPY, 1, 61, 1);
    for (size_t i = 0; i < 8; i++) run->spans.correlation[i] = 7;
    run->spans.correlation[orphan] = 8;
    link_run(run);
    for (size_t i = 0; i < 5; i++) CHECK_EQ_I64(run->spans.launch[work[i]], (int64_t)calls[expected[i]]);
    CHECK(run->spans.launch[orphan] == -1 && run->spans.launch[none] == -1 &&
          run->spans.launch[calls[0]] == -1);
    CHECK(run->spans.flags[orphan] & RGM_FLAG_ORPHAN && !(run->spans.flags[work[0]] & RGM_FLAG_ORPHAN));
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_REUSED_CORRELATIONS), 1);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_KERNELS), 2);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_CLOCK_STEP), 1);
    rgm_run_free(run);
}

TEST(steps_reach_from_host_to_device) {
    rgm_run *run = run_of_lanes(2);
    size_t first = add_span(run, RGM_KIND_ANNOTATION, 0, 0, 100),
           second = add_span(run, RGM_KIND_ANNOTATION, 0, 100, 50);
    run->spans.name[first] = name(run, "ProfilerStep#7");
    run->spans.name[second] = name(run, "ProfilerStep #8");
    size_t call = add_span(run, RGM_KIND_RUNTIME, 0, 90, 2), late = add_span(run, RGM_KIND_CPU_OP, 0, 150, 1);
    size_t edge = add_span(run, RGM_KIND_CPU_OP, 0, 100, 1), work = add_span(run, RGM_KIND_KERNEL, 1, 120, 5);
    size_t instant = add_span(run, RGM_KIND_CPU_OP, 0, 150, 0),
           next = add_span(run, RGM_KIND_CPU_OP, 0, 100, 0);
    run->spans.correlation[call] = run->spans.correlation[work] = 3;
    link_run(run);
    const rgm_i32 *step = run->spans.step;
    CHECK(step[instant] == 8 && step[next] == 8);
    CHECK(step[call] == 7 && step[work] == 7 && step[edge] == 8 && step[late] == -1 && step[first] == 7);
    rgm_run_free(run);
}

// --- against the rules in quadratic time ------------------------------------------------------------------

static int64_t end_of(const rgm_run *run, size_t i) {
    return run->spans.start_ns[i] + run->spans.duration_ns[i];
}

// Whether row a comes before row b in the order of a lane.
static bool before(const rgm_run *run, size_t a, size_t b) {
    const rgm_spans *s = &run->spans;
    if (s->start_ns[a] != s->start_ns[b]) return s->start_ns[a] < s->start_ns[b];
    if (s->duration_ns[a] != s->duration_ns[b]) return s->duration_ns[a] > s->duration_ns[b];
    return a < b;
}

static bool can_be_parent(const rgm_run *run, size_t row) {
    unsigned kind = run->spans.kind[row];
    return !rgm_kind_is_work(kind) && kind != RGM_KIND_INSTANT;
}

// Whether a span that came between them in the lane's order ended the outer one as a parent: it begins inside
// and ends behind it, so that what follows stands beside.
static bool is_cut(const rgm_run *run, size_t outer, size_t inner) {
    for (size_t k = 0; k < run->spans.rows; k++)
        if (run->spans.lane[k] == run->spans.lane[outer] && can_be_parent(run, k) && before(run, outer, k) &&
            before(run, k, inner) && run->spans.start_ns[k] < end_of(run, outer) &&
            end_of(run, k) > end_of(run, outer))
            return true;
    return false;
}

static bool encloses(const rgm_run *run, size_t outer, size_t inner) {
    return outer != inner && run->spans.lane[outer] == run->spans.lane[inner] && can_be_parent(run, outer) &&
           before(run, outer, inner) && end_of(run, outer) > run->spans.start_ns[inner] &&
           end_of(run, outer) >= end_of(run, inner) && !is_cut(run, outer, inner);
}

static int32_t parent_naive(const rgm_run *run, size_t row) {
    int32_t best = -1;
    for (size_t i = 0; i < run->spans.rows; i++)
        if (encloses(run, i, row) && (best < 0 || before(run, (size_t)best, i))) best = (int32_t)i;
    return best;
}

static int32_t launch_naive(const rgm_run *run, size_t row) {
    const rgm_spans *s = &run->spans;
    int32_t last = -1, first = -1;
    if (!rgm_kind_is_work(s->kind[row]) || s->correlation[row] <= 0) return -1;
    for (size_t i = 0; i < s->rows; i++) {
        if (!rgm_kind_is_call(s->kind[i]) || s->correlation[i] != s->correlation[row]) continue;
        if (first < 0 || s->start_ns[i] < s->start_ns[first]) first = (int32_t)i;
        if (s->start_ns[i] <= s->start_ns[row] && (last < 0 || s->start_ns[i] >= s->start_ns[last]))
            last = (int32_t)i;
    }
    return last >= 0 ? last : first;
}

// Innermost span around a time: of those that begin no later, the last in order, or what it lies in.
static int32_t around_naive(const rgm_run *run, uint32_t lane, int64_t time) {
    int32_t at = -1;
    for (size_t i = 0; i < run->spans.rows; i++)
        if (run->spans.lane[i] == lane && run->spans.start_ns[i] <= time &&
            (at < 0 || before(run, (size_t)at, i)))
            at = (int32_t)i;
    while (at >= 0 && end_of(run, (size_t)at) < time) at = parent_naive(run, (size_t)at);
    return at;
}

static rgm_run *random_run(size_t most) {
    static const rgm_kind kinds[] = {RGM_KIND_CPU_OP, RGM_KIND_CPU_OP, RGM_KIND_RUNTIME, RGM_KIND_KERNEL,
                                     RGM_KIND_INSTANT};
    rgm_run *run = run_of_lanes(3);
    size_t count = random_below(most), row;
    int64_t range = (int64_t)random_below(most * 2 + 10) + 1;
    for (size_t i = 0; i < count; i++) {
        rgm_kind kind = kinds[random_below(5)];
        row = add_span(run, kind, (uint32_t)random_below(3), (int64_t)random_below((uint64_t)range),
                       kind == RGM_KIND_INSTANT ? 0 : (int64_t)random_below((uint64_t)range));
        run->spans.correlation[row] = (int64_t)random_below(most / 5) - 1;
    }
    for (size_t i = random_below(most / 3); i; i--) {
        if (rgm_table_append(&rgm_flows_desc, &run->flows, RGM_ALL_COLUMNS, &row, NULL) != RGM_OK) abort();
        run->flows.time_ns[row] = (int64_t)random_below((uint64_t)range + 10) - 5;
        run->flows.lane[row] = (uint32_t)random_below(3);
        if (rgm_table_append(&rgm_memory_desc, &run->memory, RGM_ALL_COLUMNS, &row, NULL) != RGM_OK) abort();
        run->memory.time_ns[row] = (int64_t)random_below((uint64_t)range + 10) - 5;
        run->memory.lane[row] = (int32_t)random_below(4) - 1;
    }
    return run;
}

static bool agrees(const char *what, size_t row, int64_t value, int64_t expected, int round) {
    if (value == expected) return true;
    HARNESS_FAIL("run %d: %s of row %zu is %" PRId64 ", expected %" PRId64, round, what, row, value,
                 expected);
    return false;
}

TEST(random_runs_agree_with_the_rules) {
    bool good = true;
    for (int round = 0; round < 3000 && good; round++) {
        rgm_run *run = random_run(25);
        link_run(run);
        for (size_t i = 0; good && i < run->spans.rows; i++)
            good = agrees("parent", i, run->spans.parent[i], parent_naive(run, i), round) &&
                   agrees("launch", i, run->spans.launch[i], launch_naive(run, i), round);
        for (size_t i = 0; good && i < run->flows.rows; i++)
            good = agrees("flow", i, run->flows.span[i],
                          around_naive(run, run->flows.lane[i], run->flows.time_ns[i]), round);
        for (size_t i = 0; good && i < run->memory.rows; i++) {
            int32_t lane = run->memory.lane[i];
            int32_t expected = lane < 0 ? -1 : around_naive(run, (uint32_t)lane, run->memory.time_ns[i]);
            good = agrees("memory", i, run->memory.span[i], expected, round);
        }
        CHECK_OK(rgm_run_check(run, NULL));
        rgm_run_free(run);
    }
}

TEST(two_threads_link_as_one_does) {
    for (int round = 0; round < 300; round++) {
        size_t most = round % 10 ? 60 : 4000;
        uint64_t seed = random_state;
        rgm_run *one = random_run(most);
        random_state = seed;
        rgm_run *two = random_run(most);
        for (size_t i = 0; i < one->spans.rows; i += 40) {
            rgm_run *runs[] = {one, two};
            for (size_t r = 0; r < 2; r++) {
                runs[r]->spans.kind[i] = RGM_KIND_ANNOTATION;
                runs[r]->spans.name[i] = name(runs[r], i % 80 ? "ProfilerStep#3" : "ProfilerStep#4");
            }
        }
        CHECK_OK(rgm_run_link(one, 1, NULL));
        CHECK_OK(rgm_run_link(two, 2, NULL));
        CHECK_SAME_RUN(one, two, "round %d", round);
        rgm_run_free(one);
        rgm_run_free(two);
    }
}

TEST(a_run_without_spans_is_linked) {
    rgm_run *run = run_of_lanes(1);
    link_run(run);
    CHECK_EQ_U64(run->anomalies.rows, 0);
    rgm_run_free(run);
}
