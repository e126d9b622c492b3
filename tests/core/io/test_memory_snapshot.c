// SPDX-License-Identifier: Apache-2.0
// Memory snapshots: in pieces of every size, cut at every byte, without memory at every allocation.
#include "io/snapshot/memory_snapshot.h"

#include "analysis/analyses.h"
#include "importing.h"
#include "pieces.h"

static rgm_status read_snapshot(const uint8_t *data, size_t length, size_t piece, rgm_run **run,
                                rgm_error *err) {
    pieces context = {data, length, 0, piece};
    const rgm_source source = {.read = read_piece, .context = &context, .name = "test"};
    *run = NULL;
    rgm_error_clear(err);
    return rgm_memory_snapshot_read(&source, run, err);
}

static uint8_t *seed(const char *name, size_t *length) {
    char path[128];
    (void)snprintf(path, sizeof path, "tests/fuzz/seeds/fuzz_memory_snapshot/%s", name);
    return file_read(path, length);
}

static const char *const seeds[] = {"new_2", "new_4", "old_4", "segments_4", "host", "deep", "plain"};
enum { SEEDS = sizeof seeds / sizeof *seeds };

TEST(pieces_of_every_size_give_the_same) {
    for (size_t i = 0; i < SEEDS; i++) {
        size_t length;
        rgm_error err;
        rgm_run *whole, *cut;
        uint8_t *data = seed(seeds[i], &length);
        REQUIRE(data);
        CHECK_OK(read_snapshot(data, length, SIZE_MAX, &whole, &err));
        for (size_t piece = 1; whole && piece < 40; piece += 6) {
            CHECK_OK(read_snapshot(data, length, piece, &cut, &err));
            if (cut) CHECK_STR_EQ(difference(whole, cut), NULL);
            rgm_run_free(cut);
        }
        rgm_run_free(whole);
        free(data);
    }
}

TEST(what_is_cut_anywhere_is_refused) {
    for (size_t i = 0; i < SEEDS; i++) {
        size_t length;
        uint8_t *data = seed(seeds[i], &length);
        REQUIRE(data);
        for (size_t end = 0; end < length; end += length > 20000 ? 41 : 1) {
            rgm_error err;
            rgm_run *run;
            CHECK_EQ_I64(read_snapshot(data, end, 16, &run, &err), RGM_FORMAT);
            CHECK(err.offset >= 0 && err.offset <= (int64_t)end && !run);
        }
        free(data);
    }
}

static void analyse(const rgm_run *run) {
    rgm_view view = {0};
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    if (rgm_view_init(&view, run, NULL, 0, NULL) != RGM_OK) return;
    for (int32_t group_by = 0; group_by < 3; group_by++) {
        const rgm_question question = {.group_by = group_by};
        rgm_memory_levels levels = {0};
        rgm_allocations allocations = {0};
        rgm_pools pools = {0};
        rgm_shortages shortages = {0};
        (void)!rgm_memory_levels_compute(&view, &policy, &question, &levels, NULL);
        (void)!rgm_allocations_compute(&view, &policy, &question, &allocations, NULL);
        (void)!rgm_pools_compute(&view, &policy, &question, &pools, NULL);
        (void)!rgm_shortages_compute(&view, &policy, &question, &shortages, NULL);
        rgm_table_release(&rgm_memory_levels_desc, &levels);
        rgm_table_release(&rgm_allocations_desc, &allocations);
        rgm_table_release(&rgm_pools_desc, &pools);
        rgm_table_release(&rgm_shortages_desc, &shortages);
    }
    rgm_view_release(&view);
}

TEST(no_memory_anywhere_leaves_nothing_behind) {
    size_t length;
    uint8_t *data = seed("new_4", &length);
    REQUIRE(data);
    int64_t before = rgm_memory_live();
    bool whole = false;
    for (int64_t after = 0; !whole && after < 5000; after++) {
        rgm_error err;
        rgm_run *run;
        rgm_memory_fail_after(after);
        rgm_status status = read_snapshot(data, length, 64, &run, &err);
        CHECK(status == RGM_OK || status == RGM_NO_MEMORY);
        whole = status == RGM_OK;
        for (int64_t later = 0; whole && later < 200; later++) {
            rgm_memory_fail_after(later);
            analyse(run);
        }
        rgm_memory_fail_after(-1);
        rgm_run_free(run);
        CHECK_EQ_I64(rgm_memory_live(), before);
    }
    free(data);
}

TEST(a_deep_stack_comes_in_batches) {
    size_t length;
    rgm_error err;
    rgm_run *run;
    uint8_t *data = seed("deep", &length);
    REQUIRE(data);
    CHECK_OK(read_snapshot(data, length, SIZE_MAX, &run, &err));
    free(data);
    REQUIRE(run && run->memory.rows == 2 && run->memory.stack);
    size_t frames = 0;
    for (int32_t at = run->memory.stack[1]; at >= 0; at = run->stacks.parent[at]) {
        char name[32];
        (void)snprintf(name, sizeof name, "forward_%zu", frames++);
        CHECK_STR_EQ(text_of(run, run->stacks.function[at]), name);
    }
    CHECK_EQ_U64(frames, 1100);
    rgm_run_free(run);
}

TEST(pinned_memory_is_of_the_host) {
    size_t length;
    rgm_error err;
    rgm_run *run;
    uint8_t *data = seed("host", &length);
    REQUIRE(data);
    CHECK_OK(read_snapshot(data, length, SIZE_MAX, &run, &err));
    free(data);
    REQUIRE(run && run->segments.rows && run->blocks.rows && run->memory.rows);
    for (size_t i = 0; i < run->segments.rows; i++) CHECK_EQ_I64(run->segments.device[i], -1);
    for (size_t i = 0; i < run->blocks.rows; i++) CHECK_EQ_I64(run->blocks.device[i], -1);
    for (size_t i = 0; i < run->memory.rows; i++) CHECK_EQ_I64(run->memory.device[i], -1);
    rgm_run_free(run);
}

TEST(a_time_beyond_the_clock_is_refused_at_its_byte) {
    // {"action": "alloc", "time_us": 2 ** 62 - 1}
    static const uint8_t data[] = "\x80\x04}(\x8c\x06"
                                  "action\x8c\x05"
                                  "alloc\x8c\x07"
                                  "time_us\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x3fu.";
    rgm_error err;
    rgm_run *run;
    CHECK_EQ_I64(read_snapshot(data, sizeof data - 1, SIZE_MAX, &run, &err), RGM_FORMAT);
    CHECK_EQ_I64(err.offset, (int64_t)sizeof data - 3);
}
