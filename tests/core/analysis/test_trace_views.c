// SPDX-License-Identifier: Apache-2.0
// Lines and blocks of the timeline, the merged call tree, active times and time series: shapes worked out by
// hand, wild runs, and failing allocations. Figures are checked against naive counts in the Python tests.
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/views/tiles.h"
#include "base/sort.h"
#include "faults.h"
#include "random.h"
#include "small_runs.h"

typedef struct {
    rgm_run *run;
    rgm_view view;
    rgm_timeline_blocks blocks;
    rgm_flame flame;
    rgm_active_times active;
    rgm_counter_points points;
} analysed;

static analysed fresh(void) {
    analysed a = {.run = run_of_lanes(3)};
    for (int i = 0; i < 3; i++) a.run->lanes.device[i] = i == 2 ? 0 : -1;
    return a;
}

static int32_t add(analysed *a, rgm_kind kind, const char *name, uint32_t lane, int32_t parent, int64_t start,
                   int64_t duration, int64_t correlation) {
    size_t row = span_add(a->run, kind, name, lane, start, duration);
    a->run->spans.parent[row] = parent;
    a->run->spans.correlation[row] = correlation;
    return (int32_t)row;
}

static rgm_status compute(analysed *a, const rgm_policy *policy) {
    const rgm_question question = {0};
    RGM_TRY(rgm_view_init(&a->view, a->run, NULL, 0, NULL));
    RGM_TRY(rgm_timeline_blocks_compute(&a->view, policy, &question, &a->blocks, NULL));
    RGM_TRY(rgm_flame_compute(&a->view, policy, &question, &a->flame, NULL));
    RGM_TRY(rgm_counter_points_compute(&a->view, policy, &question, &a->points, NULL));
    return rgm_active_times_compute(&a->view, policy, &question, &a->active, NULL);
}

static void clear(analysed *a) {
    rgm_view_release(&a->view);
    rgm_table_release(&rgm_timeline_blocks_desc, &a->blocks);
    rgm_table_release(&rgm_flame_desc, &a->flame);
    rgm_table_release(&rgm_active_times_desc, &a->active);
    rgm_table_release(&rgm_counter_points_desc, &a->points);
    a->blocks = (rgm_timeline_blocks){0};
    a->flame = (rgm_flame){0};
    a->active = (rgm_active_times){0};
    a->points = (rgm_counter_points){0};
}

static void release(analysed *a) {
    clear(a);
    rgm_run_free(a->run);
}

static analysed small_program(void) {
    analysed a = fresh();
    int32_t function = add(&a, RGM_KIND_PYTHON, "forward", 0, -1, 0, 100, -1);
    int32_t op = add(&a, RGM_KIND_CPU_OP, "mm", 0, function, 10, 50, -1);
    add(&a, RGM_KIND_RUNTIME, "launch", 0, op, 20, 10, 7);
    add(&a, RGM_KIND_KERNEL, "gemm", 2, -1, 80, 60, 7);
    add(&a, RGM_KIND_KERNEL, "gemm", 2, -1, 90, 10, 99);
    return a;
}

TEST(a_small_program) {
    analysed a = small_program();
    const rgm_policy policy = {.timeline_max_spans = 100, .flame_max_depth = 50};
    CHECK_OK(compute(&a, &policy));
    CHECK_EQ_U64(a.blocks.rows, 5);
    const int32_t depths[] = {0, 1, 2, 0, 1}, plain[] = {-1, 0, 1, 0, 1};
    for (int i = 0; i < 5; i++) {
        CHECK_EQ_I64(a.blocks.depth[i], depths[i]);
        CHECK_EQ_I64(a.blocks.plain_depth[i], plain[i]);
    }
    CHECK_EQ_I64(a.blocks.launch[3], 2);
    CHECK_EQ_I64(a.blocks.launch[4], -1);
    // all, lane, forward, mm, launch, gemm, unlaunched, gemm
    CHECK_EQ_U64(a.flame.rows, 8);
    CHECK_EQ_I64(a.flame.total_host_ns[0], 100);
    CHECK_EQ_I64(a.flame.total_device_ns[0], 70);
    CHECK_EQ_I64(a.flame.self_host_ns[3], 40);
    CHECK_EQ_I64(a.flame.total_device_ns[2], 60);
    CHECK_EQ_I64(a.flame.role[6], RGM_FLAME_UNLAUNCHED);
    CHECK_EQ_I64(a.active.host_ns[0], 100);
    CHECK_EQ_I64(a.active.device_ns[0], 60);
    CHECK_EQ_I64(a.active.overlap_ns[0], 20);
    CHECK_EQ_I64(a.active.span_ns[0], 140);
    release(&a);
}

TEST(nothing_recorded) {
    analysed a = {0};
    if (rgm_run_new(&a.run, NULL) != RGM_OK) abort();
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    CHECK_OK(compute(&a, &policy));
    CHECK_EQ_U64(a.blocks.rows, 0);
    CHECK_EQ_U64(a.flame.rows, 0);
    CHECK_EQ_I64(a.active.span_ns[0], 0);
    release(&a);
}

static uint64_t next_random(uint64_t *state) { return random_step(state) >> 33; }

// Any start and duration that the model allows, any earlier row as parent, even one of another lane.
static void add_wild(analysed *a, uint64_t *state, int count) {
    static const int64_t starts[] = {-INT64_MAX / 2, -1, 0, 1, 1000, INT64_MAX / 2};
    static const int64_t durations[] = {0, 1, 50, 100000, INT64_MAX / 4};
    static const char *const names[] = {"a", "b", "c", ""};
    for (int i = 0; i < count; i++) {
        rgm_kind kind = (rgm_kind)(next_random(state) % RGM_KIND_COUNT);
        int64_t start = starts[next_random(state) % 6] + (int64_t)(next_random(state) % 50);
        add(a, kind, names[next_random(state) % 4], (uint32_t)(next_random(state) % 3),
            (int32_t)(next_random(state) % (uint64_t)(i + 1)) - 1,
            start < INT64_MAX / 2 ? start : INT64_MAX / 2, durations[next_random(state) % 5],
            (int64_t)(next_random(state) % 9) - 1);
    }
}

// Samples of few series at times that may be equal or far apart; how many of them can be drawn is returned.
static int64_t add_wild_samples(analysed *a, uint64_t *state, int count) {
    static const int64_t times[] = {INT64_MIN, -1, 0, 7, INT64_MAX};
    static const double values[] = {0, -1, 5, INFINITY, -INFINITY, NAN};
    int64_t drawable = 0;
    for (int i = 0; i < count; i++) {
        rgm_counters *c = &a->run->counters;
        size_t row;
        CHECK_OK(rgm_table_append(&rgm_counters_desc, c, RGM_ALL_COLUMNS, &row, NULL));
        c->time_ns[row] = times[next_random(state) % 5];
        if (c->time_ns[row] == 7) c->time_ns[row] += (int64_t)(next_random(state) % 90);
        c->value[row] = values[next_random(state) % 6];
        c->device[row] = (rgm_i16)(next_random(state) % 3) - 1;
        c->span[row] = next_random(state) % 8 ? -1 : 0;
        drawable += c->span[row] < 0 && !isnan(c->value[row]);
    }
    return drawable;
}

TEST(wild_runs_lose_nothing) {
    uint64_t state = 11;
    for (int round = 0; round < 200; round++) {
        analysed a = fresh();
        int count = (int)(next_random(&state) % 60);
        add_wild(&a, &state, count);
        int64_t samples = add_wild_samples(&a, &state, (int)(next_random(&state) % 90));
        rgm_policy policy = RGM_POLICY_DEFAULTS;
        policy.counter_max_points = (double)(next_random(&state) % 30);
        policy.timeline_max_spans = (double)(next_random(&state) % 40);
        policy.flame_max_depth = (double)(next_random(&state) % 5) - 1;
        policy.flame_small_share = (double)(next_random(&state) % 3) / 2;
        CHECK_OK(compute(&a, &policy));
        int64_t shown = 0;
        for (size_t i = 0; i < a.blocks.rows; i++) shown += a.blocks.count[i];
        CHECK_EQ_I64(shown, count);
        for (size_t i = 0; i < a.points.rows; i++) samples -= a.points.count[i];
        CHECK_EQ_I64(samples, 0);
        for (size_t i = 1; i < a.flame.rows; i++) CHECK(a.flame.parent[i] < (int32_t)i);
        CHECK(a.active.overlap_ns[0] <= a.active.device_ns[0]);
        release(&a);
    }
}

// Every span in exactly one tile of a tiling with random cuts; in `seen`, those with rows of their own.
static void check_tiling(const rgm_tiles *tiles, uint64_t *state, int64_t spans, int64_t sum) {
    int64_t cuts[8] = {-INT64_MAX / 2, INT64_MAX / 2 + 1}, scratch[8], counted = 0, summed = 0;
    for (int i = 2; i < 8; i++) cuts[i] = (int64_t)(next_random(state) % 1100) - 10;
    rgm_sort_i64(cuts, 8, scratch);
    for (int i = 0; i < 7; i++) {
        rgm_tile tile = {cuts[i], cuts[i + 1], 1 + (int64_t)(next_random(state) % 60), 0, 3};
        if (next_random(state) % 4 == 0) tile.pixel_ns = INT64_MAX;
        rgm_timeline_blocks out = {0};
        CHECK_OK(rgm_tiles_draw(tiles, &tile, &out, NULL));
        for (size_t row = 0; row < out.rows; row++) {
            CHECK(out.start_ns[row] < tile.to);
            CHECK(out.start_ns[row] + out.duration_ns[row] >= tile.from);
            CHECK(out.count[row] == 1 || out.sum_ns[row] / out.count[row] < tile.pixel_ns);
            CHECK(out.launch[row] < (int64_t)out.rows);
            if (out.start_ns[row] < tile.from) continue;
            counted += out.count[row];
            summed = out.sum_ns[row] > INT64_MAX - summed ? INT64_MAX : summed + out.sum_ns[row];
        }
        rgm_table_release(&rgm_timeline_blocks_desc, &out);
    }
    CHECK_EQ_I64(counted, spans);
    CHECK_EQ_I64(summed, sum);
}

// The statistics of a range against a look at every span.
static void check_range(const rgm_tiles *tiles, const rgm_run *run, int64_t from, int64_t to) {
    const uint8_t lanes[] = {RGM_LANE_SHOWN, RGM_LANE_HIDDEN, RGM_LANE_SHOWN};
    int64_t spans = 0, counted = 0;
    rgm_range_times out = {0};
    CHECK_OK(rgm_tiles_range(tiles, from, to, lanes, &out, NULL));
    for (size_t i = 0; i < run->spans.rows; i++) {
        int64_t start = run->spans.start_ns[i], end = start + run->spans.duration_ns[i];
        bool shown = run->spans.lane[i] != 1 && (tiles->python || run->spans.kind[i] != RGM_KIND_PYTHON);
        spans += shown && start <= to && end >= from;
    }
    for (size_t row = 0; row < out.rows; row++) {
        counted += out.spans[row];
        CHECK(row == 0 || out.time_ns[row] <= out.time_ns[row - 1]);
        CHECK(out.time_ns[row] <= (to - from) * out.spans[row]);
        CHECK_EQ_U64(run->spans.name[out.longest[row]], out.name[row]);
    }
    CHECK_EQ_I64(counted, spans);
    rgm_table_release(&rgm_range_times_desc, &out);
}

// Going from match to match meets each once, in order of start, and then begins again.
static void check_search(const rgm_tiles *tiles, uint64_t *state, int direction) {
    const rgm_run *run = tiles->view->run;
    uint8_t passes[16] = {0};
    CHECK(tiles->view->n_strings < sizeof passes);
    for (int i = 0; i < 16; i++) passes[i] = next_random(state) % 2;
    rgm_tiles_found found = rgm_tiles_find(tiles, passes, -1, direction);
    int64_t first = found.next, at = first;
    for (int64_t met = 1; met < found.spans; met++) {
        int64_t next = rgm_tiles_find(tiles, passes, at, direction).next;
        CHECK(passes[run->spans.name[next]]);
        CHECK(direction * (run->spans.start_ns[next] / 2 - run->spans.start_ns[at] / 2) >= 0);
        CHECK(next != at && next != first);
        at = next;
    }
    CHECK_EQ_I64(found.spans ? rgm_tiles_find(tiles, passes, at, direction).next : -1, first);
}

TEST(every_span_is_in_one_tile_of_any_tiling) {
    uint64_t state = 17;
    for (int round = 0; round < 200; round++) {
        analysed a = fresh();
        add_wild(&a, &state, (int)(next_random(&state) % 400));
        CHECK_OK(rgm_view_init(&a.view, a.run, NULL, 0, NULL));
        for (int python = 0; python < 2; python++) {
            int64_t spans = 0, sum = 0;
            for (size_t i = 0; i < a.run->spans.rows; i++) {
                int64_t duration = a.run->spans.duration_ns[i];
                if (!python && a.run->spans.kind[i] == RGM_KIND_PYTHON) continue;
                spans++;
                sum = duration > INT64_MAX - sum ? INT64_MAX : sum + duration;
            }
            rgm_tiles tiles;
            CHECK_OK(rgm_tiles_init(&tiles, &a.view, python, NULL));
            CHECK_EQ_U64(tiles.n_spans, (uint64_t)spans);
            for (int i = 0; i < 5; i++) check_tiling(&tiles, &state, spans, sum);
            int64_t from = (int64_t)(next_random(&state) % 1100);
            check_search(&tiles, &state, python ? 1 : -1);
            check_range(&tiles, a.run, from, from + (int64_t)(next_random(&state) % 100));
            rgm_tiles_release(&tiles);
        }
        release(&a);
    }
}

TEST(a_span_comes_with_what_it_launched) {
    analysed a = small_program();
    rgm_tiles tiles;
    CHECK_OK(rgm_view_init(&a.view, a.run, NULL, 0, NULL));
    CHECK_OK(rgm_tiles_init(&tiles, &a.view, true, NULL));
    for (uint32_t span = 2; span < 4; span++) {
        rgm_timeline_blocks out = {0};
        CHECK_OK(rgm_tiles_span(&tiles, span, &out, NULL));
        CHECK_EQ_U64(out.rows, 2);
        CHECK_EQ_I64(out.span[0], span);
        CHECK_EQ_I64(out.span[1], 5 - span);
        CHECK_EQ_I64(out.launch[span == 2 ? 1 : 0],
                     span == 2 ? 0 : 1); // the row of the launch, in that of the kernel
        rgm_table_release(&rgm_timeline_blocks_desc, &out);
    }
    rgm_tiles_release(&tiles);
    release(&a);
}

static rgm_status tile_all(const rgm_view *view) {
    const uint8_t lanes[] = {RGM_LANE_SHOWN, RGM_LANE_SHOWN, RGM_LANE_FOLDED};
    const rgm_tile tile = {-100, 2000, 7, 0, 3};
    rgm_timeline_blocks drawn = {0};
    rgm_range_times times = {0};
    rgm_tiles tiles;
    rgm_status status;
    RGM_GOTO(rgm_tiles_init(&tiles, view, true, NULL));
    RGM_GOTO(rgm_tiles_draw(&tiles, &tile, &drawn, NULL));
    RGM_GOTO(rgm_tiles_range(&tiles, 0, 100, lanes, &times, NULL));
done:
    rgm_table_release(&rgm_timeline_blocks_desc, &drawn);
    rgm_table_release(&rgm_range_times_desc, &times);
    rgm_tiles_release(&tiles);
    return status;
}

TEST(every_allocation_of_tiles_may_fail) {
    analysed a = small_program();
    uint64_t state = 5;
    add_wild(&a, &state, 300);
    CHECK_OK(rgm_view_init(&a.view, a.run, NULL, 0, NULL));
    EACH_FAULT("tiles") FAULTY(tile_all(&a.view));
    release(&a);
}

TEST(every_allocation_may_fail) {
    analysed a = small_program();
    uint64_t state = 3;
    add_wild(&a, &state, 200);
    (void)add_wild_samples(&a, &state, 100);
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    policy.timeline_max_spans = 50;
    EACH_FAULT("analyses") {
        FAULTY(compute(&a, &policy));
        clear(&a);
    }
    release(&a);
}
