// SPDX-License-Identifier: Apache-2.0
// Files: what is saved comes back; what is cut, or made by hand, is refused or recovered.
#include "analysis/times/summary.h"
#include "frames.h"
#include "random.h"

static rgm_run *full_run(void) {
    rgm_run *run = NULL;
    if (rgm_run_new(&run, NULL) != RGM_OK) abort();
    uint32_t names[3];
    for (uint32_t i = 0; i < 3; i++) {
        char text[3][8] = {"eins", "zwei", "d\0rei"};
        CHECK_OK(rgm_strings_intern(&run->strings, text[i], i < 2 ? 4 : 5, &names[i], NULL));
    }
    uint64_t random = 7;
    for (size_t t = 0; t < rgm_run_tables_count; t++) {
        const rgm_table_desc *desc = rgm_run_tables[t];
        void *table = rgm_run_table(run, desc);
        for (int i = 0; i < 5; i++) {
            size_t row;
            CHECK_OK(rgm_table_append(desc, table, RGM_ALL_COLUMNS, &row, NULL));
            for (size_t c = 0; c < desc->n_columns; c++) {
                size_t size = rgm_types[desc->columns[c].type].size;
                char *at = (char *)rgm_table_column(desc, table, c) + row * size;
                random_step(&random);
                if (desc->columns[c].type == RGM_TYPE_name)
                    memcpy(at, &names[random >> 62 & 1], size);
                else
                    memcpy(at, &random, size);
            }
        }
    }
    for (int i = 0; i < 5; i++) { // what is checked on the way in
        run->spans.start_ns[i] = 100 * i;
        run->spans.duration_ns[i] = 10;
        run->spans.lane[i] = (uint32_t)i;
        run->spans.parent[i] = i - 1;
        run->anomalies.code[i] = (uint8_t)i;
        run->counters.value[i] = 0.1 * i;
        run->launches.span[i] = run->flops.span[i] = run->operators.span[i] = (uint32_t)i;
        run->intervals.span[i] = (uint32_t)i;
        run->intervals.state[i] = (uint8_t)i;
        run->frames.span[i] = run->collectives.span[i] = run->syncs.span[i] = (uint32_t)i;
        run->memory.span[i] = run->counters.span[i] = run->launches.capture[i] = i;
        run->spans.launch[i] = run->memory.lane[i] = run->flows.span[i] = i;
        run->flows.lane[i] = (uint32_t)i;
        run->witness.lane[i] = run->pressure.lane[i] = run->samples.lane[i] = i - 1;
        run->samples.time_ns[i] = run->samples.span[i] = i;
        run->samples.stack[i] = run->samples.state[i] = (uint8_t)i;
        run->stacks.parent[i] = i - 1;
        run->memory.stack[i] = run->segments.stack[i] = run->blocks.stack[i] = i;
        run->segments.lane[i] = run->blocks.lane[i] = i - 1;
        run->segments.kind[i] = run->blocks.state[i] = 0;
        run->witness.time_ns[i] = run->pressure.time_ns[i] = i;
        run->memory.time_ns[i] = run->counters.time_ns[i] = run->flows.time_ns[i] = i;
        run->memory.action[i] = (uint8_t)i;
        run->spans.kind[i] = run->launches.occupancy_limit[i] = (uint8_t)i;
        run->flows.kind[i] = run->flows.phase[i] = (uint8_t)(i % 3);
        run->spans.flags[i] = rgm_flags_pack(RGM_FLAG_FAILED, RGM_DEVICE_ROCM, RGM_BACKEND_CUPY);
    }
    CHECK_OK(rgm_run_set_text(&run->environment, "{\"a\":\"b\"}", 9, NULL));
    run->start_ns = 1, run->end_ns = 2, run->start_unix_ns = 3;
    run->complete = true;
    return run;
}

TEST(a_saved_run_comes_back_whole) {
    const char *path = temp_path("run.rgm");
    rgm_run *run = full_run();
    CHECK_OK(rgm_run_save(run, path, NULL));
    CHECK_OK(rgm_run_save(run, path, NULL)); // in the place of the one before
    for (int mode = 0; mode < 2; mode++) {
        rgm_run *back = load_of(path, (rgm_load_mode)mode);
        REQUIRE(back);
        for (size_t t = 0; t < rgm_run_tables_count; t++) {
            const rgm_table_desc *desc = rgm_run_tables[t];
            const rgm_table *a = rgm_run_table(run, desc), *b = rgm_run_table(back, desc);
            CHECK_EQ_U64(b->rows, a->rows);
            for (size_t c = 0; c < desc->n_columns; c++) {
                REQUIRE(rgm_table_column(desc, b, c));
                if (memcmp(rgm_table_column(desc, a, c), rgm_table_column(desc, b, c),
                           a->rows * rgm_types[desc->columns[c].type].size) != 0)
                    HARNESS_FAIL("%s.%s differs", desc->name, desc->columns[c].name);
            }
        }
        CHECK_EQ_U64(rgm_strings_count(&back->strings), rgm_strings_count(&run->strings));
        CHECK_EQ_U64(rgm_strings_view(&back->strings, 3).length, 5);
        CHECK_STR_EQ(back->environment, run->environment);
        CHECK_STR_EQ(back->source, "run");
        CHECK(back->start_ns == 1 && back->end_ns == 2 && back->start_unix_ns == 3 && back->complete);
        rgm_run_free(back);
    }
    rgm_run_free(run);
    struct stat info;
    CHECK(stat(path, &info) == 0);
    mode_t mask = umask(0);
    umask(mask);
    CHECK_EQ_U64(info.st_mode & 0777, 0666 & ~mask);
    unlink(path);
}

TEST(saving_where_one_cannot_leaves_nothing_behind) {
    rgm_run *run = full_run();
    rgm_error err = RGM_ERROR_NONE;
    CHECK_EQ_I64(rgm_run_save(run, temp_path("none/such/run.rgm"), &err), RGM_IO);
    CHECK(strstr(err.message, "none/such/run.rgm") != NULL);
    const char *folder = temp_path("folder");
    REQUIRE(mkdir(folder, 0777) == 0);
    CHECK_EQ_I64(rgm_run_save(run, folder, &err), RGM_IO);
    rgm_run_free(run);
    CHECK(rmdir(folder) == 0);
}

// A list of this version may be shorter than that of a later one, or the file is made by hand.
TEST(numbers_that_no_list_has_are_refused) {
    const char *path = temp_path("lists.rgm");
    for (int what = 0; what < 8; what++) {
        rgm_run *run = full_run(), *back = NULL;
        rgm_error err = RGM_ERROR_NONE;
        uint8_t *cells[] = {
            run->spans.kind,  run->launches.occupancy_limit, run->memory.action, run->flows.kind,
            run->flows.phase, run->intervals.state,          run->anomalies.code};
        if (what < 7)
            cells[what][3] = 255;
        else
            run->spans.flags[3] = 0xF00;
        CHECK_OK(rgm_run_save(run, path, NULL));
        for (int mode = 0; mode < 2; mode++)
            CHECK_EQ_I64(rgm_run_load(path, (rgm_load_mode)mode, &back, &err), RGM_FORMAT);
        CHECK(strstr(err.message, path) &&
              (strstr(err.message, "row 3 is 255") || strstr(err.message, "span 3")));
        rgm_run_free(run);
    }
    unlink(path);
}

// In the first blocks and in the last at every byte; what lies between are columns, one as the other, some
// two hundred of them.
TEST(a_saved_run_cut_at_every_byte) {
    enum { FRAMES = 1024, FIRST = 40 };
    static size_t at[FRAMES];
    const char *path = temp_path("cutrun.rgm");
    rgm_run *run = full_run();
    CHECK_OK(rgm_run_save(run, path, NULL));
    rgm_run_free(run);
    size_t length;
    uint8_t *data = file_read(path, &length);
    REQUIRE(data);
    size_t count = frames_of(data, length, at, FRAMES);
    REQUIRE(count > 2 * FIRST && count + 1 < FRAMES);
    size_t last = at[count - 1];
    for (size_t cut = 0, next; cut < length; cut = next) {
        next = cut + (cut < at[FIRST] || cut >= last ? ONE_IN(13) : last - cut < 13 ? last - cut : 13);
        REQUIRE(file_write(path, data, cut));
        rgm_error err = RGM_ERROR_NONE;
        run = NULL;
        CHECK_EQ_I64(rgm_run_load(path, RGM_LOAD_STRICT, &run, &err), RGM_FORMAT);
        CHECK(cut < RGM_FILE_HEAD_BYTES || says_the_way_out(&err, path));
        CHECK(err.offset >= 0);
        rgm_status status = rgm_run_load(path, RGM_LOAD_RECOVER, &run, &err);
        CHECK_EQ_I64(status, cut < RGM_FILE_HEAD_BYTES ? RGM_FORMAT : RGM_OK);
        for (size_t i = 0; run && i < run->anomalies.rows; i++)
            if (run->anomalies.code[i] == RGM_ANOMALY_UNFINISHED && run->anomalies.count[i] == 1)
                CHECK_STR_EQ(text_of(run, run->anomalies.detail[i]),
                             rgm_anomaly_text(RGM_ANOMALY_UNFINISHED));
        rgm_run_free(run);
    }
    free(data);
    unlink(path);
}

// String ids are the file's, in whatever order its writer had them.
TEST(strings_of_a_file_get_the_ids_of_the_run) {
    const char *path = temp_path("strings.rgm");
    const uint8_t strings[] = {0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 'a', 1, 0, 0, 0, 'b', 1, 0, 0, 0, 'a'};
    struct {
        uint64_t rows;
        uint16_t type, encoding, table_length, column_length;
        char names[48];
        uint32_t ids[3];
    } names = {3, RGM_TYPE_name, 0, 5, 4, "spansname", {1, 2, 0}};
    rgm_bytes out = {0};
    rgm_frame_write_head(&out, RGM_FILE_RUN, 7, false);
    frame_put(&out, RGM_FRAME_STRINGS, strings, sizeof strings);
    frame_put(&out, RGM_FRAME_TABLE, &names, 64 + sizeof names.ids);
    frame_put(&out, RGM_FRAME_END, (uint64_t[]){0}, 8);
    REQUIRE(frames_write(path, &out));
    rgm_run *run = load_of(path, RGM_LOAD_RECOVER);
    REQUIRE(run && run->spans.rows == 3);
    CHECK_STR_EQ(name_of(run, 0), "b");
    CHECK_STR_EQ(name_of(run, 1), "a");
    CHECK_STR_EQ(name_of(run, 2), "a");
    rgm_run_free(run);
    unlink(path);
}

// Rows of stalls had no line of source at first: 40 bytes each.
TEST(stalls_of_before_there_were_lines) {
    const char *path = temp_path("stalls.rgm");
    typedef struct {
        uint64_t cubin, offset;
        uint32_t kernel, reason, samples, not_issued;
        int16_t device;
        uint16_t padding[3];
    } row_of_before;
    const struct {
        uint32_t zero, count;
        row_of_before rows[2];
    } stalls = {0, 2, {{7, 0x80, 0, 1, 30, 20, 0, {0}}, {7, 0x50, 0, 1, 5, 0, 0, {0}}}};
    _Static_assert(sizeof stalls == 8 + 2 * 40, "as it was written");
    rgm_bytes out = {0};
    rgm_frame_write_head(&out, RGM_FILE_JOURNAL, 7, false);
    frame_put(&out, RGM_FRAME_STRINGS, "\0\0\0\0\2\0\0\0\1\0\0\0k\4\0\0\0wait", 21);
    frame_put(&out, RGM_FRAME_STALLS, &stalls, sizeof stalls);
    frame_put(&out, RGM_FRAME_END, (uint64_t[]){2}, 8);
    REQUIRE(frames_write(path, &out));
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run && run->stalls.rows == 2);
    CHECK_EQ_I64(run->stalls.offset[1], 0x80);
    CHECK_EQ_I64(run->stalls.samples[1], 30);
    CHECK_EQ_I64(run->stalls.not_issued[1], 20);
    CHECK_EQ_I64(run->stalls.line[1], 0);
    CHECK_STR_EQ(rgm_strings_view(&run->strings, run->stalls.reason[1]).data, "wait");
    rgm_run_free(run);
    unlink(path);
}

// Rows of pressure did not tell at first what all programs did: 96 bytes each.
TEST(pressure_of_before_all_programs_were_counted) {
    const char *path = temp_path("pressure.rgm");
    const struct {
        uint32_t zero, count;
        int64_t rows[2][12];
    } pressures = {0, 2, {{50, 50, 1, 2, 3, 4, 5, 6, 7, 8, 2, 9}, {90, 40, 1, 2, 3, 4, 5, 6, 7, 8, 2, 11}}};
    _Static_assert(sizeof pressures == 8 + 2 * 96, "as it was written");
    rgm_bytes out = {0};
    rgm_frame_write_head(&out, RGM_FILE_JOURNAL, 7, false);
    frame_put(&out, RGM_FRAME_PRESSURES, &pressures, sizeof pressures);
    frame_put(&out, RGM_FRAME_END, (uint64_t[]){1}, 8);
    REQUIRE(frames_write(path, &out));
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run && run->pressure.rows == 2);
    CHECK_EQ_I64(run->pressure.interval_ns[1], 40);
    CHECK_EQ_I64(run->pressure.blocks[1], 11);
    CHECK(run->pressure.busy_ns[1] == -1 && run->pressure.huge_pages[1] == -1);
    rgm_run_free(run);
    unlink(path);
}

// Sound check sums around content that is not: refused with the place, or skipped.
TEST(blocks_with_impossible_content) {
    const char *path = temp_path("content.rgm");
    static const struct {
        rgm_frame_type type;
        uint32_t words[32];
        size_t length;
    } bad[] = {
        {RGM_FRAME_STRINGS, {0, 5, 1}, 12},
        {RGM_FRAME_STRINGS, {7, 1, 0}, 12},
        {RGM_FRAME_STRINGS, {0}, 4},
        {RGM_FRAME_SITES, {0, 2, 0, 0}, 16},
        {RGM_FRAME_SITES, {0, 1, 0, 0xFF}, 16},
        {RGM_FRAME_THREADS, {3, 1, 0, 0, 0, 0}, 24},
        {RGM_FRAME_RECORDS, {0, 1, 0, 0, 0, 0, 0, 0, 99, 0}, 40},
        {RGM_FRAME_RECORDS, {0xFFFFFFFF, 0}, 8},
        {RGM_FRAME_RECORDS, {0, 0x80000001}, 40},
        {RGM_FRAME_ANCHOR, {0}, 8},
        {RGM_FRAME_SAMPLES, {0, 1}, 9},
        {RGM_FRAME_OPEN, {0, 2}, 40},
        {RGM_FRAME_COUNTERS, {0, 1}, 8},
        {RGM_FRAME_VALUES, {0, 1, 0, 0x70000000}, 32},            // times out of range
        {RGM_FRAME_ACTIVITIES, {0, 1, 0, 0x70000000}, 120},       // start
        {RGM_FRAME_ACTIVITIES, {0, 1, 0, 0, 0, 0x70000000}, 120}, // duration
        {RGM_FRAME_INTERVALS, {[1] = 1, [9] = 0x70000000}, 64},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rgm_bytes out = {0};
        rgm_frame_write_head(&out, RGM_FILE_JOURNAL, 7, false);
        frame_put(&out, bad[i].type, bad[i].words, bad[i].length);
        frame_put(&out, RGM_FRAME_END, (uint64_t[]){0}, 8);
        frame_put(&out, (rgm_frame_type)200, "what a later version adds", 25);
        REQUIRE(frames_write(path, &out));
        rgm_run *run = NULL;
        rgm_error err = RGM_ERROR_NONE;
        CHECK_EQ_I64(rgm_run_load(path, RGM_LOAD_STRICT, &run, &err), RGM_FORMAT);
        CHECK_EQ_I64(err.offset, RGM_FILE_HEAD_BYTES);
        CHECK(says_the_way_out(&err, path));
        run = load_of(path, RGM_LOAD_RECOVER);
        if (run) CHECK(run->complete && anomaly_count(run, RGM_ANOMALY_CORRUPT_BYTES) > 0);
        rgm_run_free(run);
    }
    unlink(path);
}
