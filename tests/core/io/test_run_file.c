// SPDX-License-Identifier: Apache-2.0
// Files: what is saved comes back; what is cut, damaged, foreign or from the future is refused or recovered.
#include "analysis/times/summary.h"
#include "base/crc32c.h"
#include "io/journal/frame.h"
#include "recording.h"

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
                random = random * 6364136223846793005u + 1442695040888963407u;
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
    rgm_error err;
    rgm_error_clear(&err);
    CHECK_EQ_I64(rgm_run_save(run, temp_path("none/such/run.rgm"), &err), RGM_IO);
    CHECK(strstr(err.message, "none/such/run.rgm") != NULL);
    const char *folder = temp_path("folder");
    REQUIRE(mkdir(folder, 0777) == 0);
    CHECK_EQ_I64(rgm_run_save(run, folder, &err), RGM_IO);
    rgm_run_free(run);
    CHECK(rmdir(folder) == 0);
}

// A small journal with everything in it, and its bytes.
static uint8_t *journal_bytes(const char *path, size_t *length, int64_t *spans) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.drain_interval_ns = 1000000000;
    rgm_session *s = session_with(options, path);
    if (!s) abort();
    CHECK_OK(rgm_session_environment(s, "{\"e\":1}", 7, NULL));
    open_scope outer = scope_begin(s, "outer");
    scopes(s, "inner", 3);
    CHECK_OK(rgm_session_flush(s, NULL));
    rgm_session_rows(s, RGM_LOG_SAMPLES, &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = 5, .device = -1},
                     1);
    rgm_session_note(s, RGM_ANOMALY_INTERNAL, 1);
    scopes(s, "other", 2);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_HOST_MEMORY, 0, 1, 2);
    CHECK_OK(rgm_session_flush(s, NULL));
    scope_end(s, outer);
    (void)scope_begin(s, "open");
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    *spans = run ? (int64_t)run->spans.rows : -1;
    CHECK_EQ_I64(*spans, 7);
    rgm_run_free(run);
    return file_read(path, length);
}

static bool says_the_way_out(const rgm_error *err, const char *path) {
    return strstr(err->message, path) != NULL && strstr(err->message, "regimeter recover") != NULL;
}

// Number of scopes in the whole RECORDS frames within the first `length` bytes.
static int64_t whole_scopes(const uint8_t *data, size_t length) {
    int64_t count = 0;
    for (size_t at = RGM_FILE_HEAD_BYTES; at + RGM_FRAME_HEAD_BYTES <= length;) {
        uint16_t type;
        uint64_t bytes;
        memcpy(&type, data + at + 4, 2);
        memcpy(&bytes, data + at + 16, 8);
        if (at + RGM_FRAME_HEAD_BYTES + bytes > length) break;
        const uint8_t *rows = data + at + RGM_FRAME_HEAD_BYTES + 8;
        for (size_t i = 0; type == RGM_FRAME_RECORDS && i < (bytes - 8) / sizeof(rgm_record); i++) {
            rgm_record record;
            memcpy(&record, rows + i * sizeof record, sizeof record);
            count += rgm_record_kind_of(&record) == RGM_RECORD_SCOPE;
        }
        at += RGM_FRAME_HEAD_BYTES + (bytes + 7) / 8 * 8;
    }
    return count;
}

TEST(a_journal_cut_at_every_byte) {
    const char *path = temp_path("cut.rgm");
    size_t length;
    int64_t all;
    uint8_t *data = journal_bytes(path, &length, &all);
    REQUIRE(data && length > 500);
    int refused = 0;
    for (size_t cut = 0; cut < length; cut += ONE_IN(13)) {
        REQUIRE(file_write(path, data, cut));
        rgm_run *run = NULL;
        rgm_error err;
        rgm_error_clear(&err);
        rgm_status status = rgm_run_load(path, RGM_LOAD_STRICT, &run, &err);
        if (status == RGM_OK) {
            CHECK(run && anomaly_count(run, RGM_ANOMALY_UNFINISHED) == 1);
            run_check_sound(run, true);
        } else {
            CHECK_EQ_I64(status, RGM_FORMAT);
            CHECK(err.offset >= 0 && err.offset <= (int64_t)cut);
            CHECK(strstr(err.message, path) != NULL);
            CHECK(cut < RGM_FILE_HEAD_BYTES || says_the_way_out(&err, path));
            refused++;
        }
        rgm_run_free(run);
        run = NULL;
        status = rgm_run_load(path, RGM_LOAD_RECOVER, &run, &err);
        CHECK_EQ_I64(status, cut < RGM_FILE_HEAD_BYTES ? RGM_FORMAT : RGM_OK);
        if (run) {
            int64_t ended = 0;
            for (size_t i = 0; i < run->spans.rows; i++) ended += !(run->spans.flags[i] & RGM_FLAG_OPEN);
            CHECK_EQ_I64(ended, whole_scopes(data, cut));
            run_check_sound(run, false);
        }
        rgm_run_free(run);
    }
    CHECK(refused * ONE_IN(13) > RGM_FILE_HEAD_BYTES);
    free(data);
    unlink(path);
}

TEST(a_journal_with_every_byte_flipped) {
    const char *path = temp_path("flip.rgm");
    size_t length;
    int64_t all;
    uint8_t *data = journal_bytes(path, &length, &all);
    REQUIRE(data);
    int damaged = 0;
    for (size_t at = 0; at < length; at += ONE_IN(13)) {
        data[at] ^= (uint8_t)(1u << (at % 8));
        REQUIRE(file_write(path, data, length));
        rgm_run *strict = NULL, *recovered = NULL;
        rgm_error err;
        rgm_error_clear(&err);
        rgm_status status = rgm_run_load(path, RGM_LOAD_STRICT, &strict, &err);
        CHECK(status == RGM_OK || status == RGM_FORMAT);
        if (status == RGM_FORMAT) CHECK(err.offset >= 0 && strstr(err.message, path) != NULL);
        if (status == RGM_OK) CHECK_EQ_I64(strict->spans.rows, all); // padding
        status = rgm_run_load(path, RGM_LOAD_RECOVER, &recovered, &err);
        CHECK_EQ_I64(status, RGM_OK);
        if (recovered && at < RGM_FILE_HEAD_BYTES) CHECK_EQ_I64(recovered->spans.rows, all);
        if (recovered && !strict) {
            CHECK(anomaly_count(recovered, RGM_ANOMALY_CORRUPT_BYTES) > 0);
            CHECK((int64_t)recovered->spans.rows <= all);
            run_check_sound(recovered, false);
            damaged++;
        }
        rgm_run_free(strict);
        rgm_run_free(recovered);
        data[at] ^= (uint8_t)(1u << (at % 8));
    }
    CHECK(damaged * ONE_IN(13) > 400);
    free(data);
    unlink(path);
}

TEST(what_follows_damage_is_recovered) {
    const char *path = temp_path("hole.rgm");
    size_t length;
    int64_t all;
    uint8_t *data = journal_bytes(path, &length, &all);
    REQUIRE(data);
    size_t at = RGM_FILE_HEAD_BYTES; // the first RECORDS frame loses its head
    for (;;) {
        uint16_t type;
        uint64_t bytes;
        memcpy(&type, data + at + 4, 2);
        memcpy(&bytes, data + at + 16, 8);
        if (type == RGM_FRAME_RECORDS) break;
        at += RGM_FRAME_HEAD_BYTES + (bytes + 7) / 8 * 8;
        REQUIRE(at < length);
    }
    memset(data + at, 0, 16);
    REQUIRE(file_write(path, data, length));
    rgm_run *run = load_of(path, RGM_LOAD_RECOVER);
    REQUIRE(run);
    CHECK_EQ_I64(span_count(run, "inner"), 0);
    CHECK_EQ_I64(span_count(run, "other"), 2);
    CHECK_EQ_I64(span_count(run, "outer"), 1);
    CHECK(anomaly_count(run, RGM_ANOMALY_CORRUPT_BYTES) > 0);
    CHECK(run->complete);
    rgm_run_free(run);
    free(data);
    unlink(path);
}

// Offsets of the frames, and of the end.
static size_t frames_of(const uint8_t *data, size_t length, size_t *offsets, size_t most) {
    size_t count = 0, at = RGM_FILE_HEAD_BYTES;
    for (; at + RGM_FRAME_HEAD_BYTES <= length && count + 1 < most; count++) {
        uint64_t bytes;
        memcpy(&bytes, data + at + 16, 8);
        offsets[count] = at;
        at += RGM_FRAME_HEAD_BYTES + (bytes + 7) / 8 * 8;
    }
    offsets[count] = at;
    return count;
}

static rgm_run *recovered_only(const char *path, const uint8_t *data, size_t length) {
    rgm_run *run = NULL;
    rgm_error err;
    rgm_error_clear(&err);
    if (!file_write(path, data, length)) return NULL;
    CHECK_EQ_I64(rgm_run_load(path, RGM_LOAD_STRICT, &run, &err), RGM_FORMAT);
    CHECK(says_the_way_out(&err, path));
    return load_of(path, RGM_LOAD_RECOVER);
}

enum { MOST_FRAMES = 64 };

TEST(every_missing_doubled_or_displaced_block_is_seen) {
    const char *path = temp_path("blocks.rgm");
    size_t length, at[MOST_FRAMES];
    int64_t all;
    uint8_t *data = journal_bytes(path, &length, &all), *changed = malloc(2 * length);
    REQUIRE(data && changed);
    size_t count = frames_of(data, length, at, MOST_FRAMES);
    rgm_run *whole = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(whole);
    int64_t own = (int64_t)whole->anomalies.rows;
    rgm_run_free(whole);
    REQUIRE(count > 5 && at[count] == length);
    for (size_t i = 0; i + 1 < count; i++) { // without END a file is merely unfinished
        size_t bytes = at[i + 1] - at[i];
        memcpy(changed, data, at[i]);
        memcpy(changed + at[i], data + at[i + 1], length - at[i + 1]);
        rgm_run *run = recovered_only(path, changed, length - bytes);
        REQUIRE(run);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_MISSING_BLOCKS), 1);
        CHECK(run->complete && (int64_t)run->spans.rows <= all);
        rgm_run_free(run);

        memcpy(changed, data, at[i + 1]);
        memcpy(changed + at[i + 1], data + at[i], length - at[i]);
        run = recovered_only(path, changed, length + bytes);
        REQUIRE(run);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DOUBLED_BLOCKS), 1);
        CHECK_EQ_I64(run->anomalies.rows, own + 1);
        CHECK_EQ_I64(run->spans.rows, all);
        rgm_run_free(run);
    }
    for (size_t i = 0; i + 2 < count; i++) {
        size_t one = at[i + 1] - at[i], two = at[i + 2] - at[i + 1];
        memcpy(changed, data, length);
        memcpy(changed + at[i], data + at[i + 1], two);
        memcpy(changed + at[i] + two, data + at[i], one);
        rgm_run *run = recovered_only(path, changed, length);
        REQUIRE(run);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DISPLACED_BLOCKS), 1);
        CHECK_EQ_I64(run->anomalies.rows, own + 1);
        CHECK_EQ_I64(run->spans.rows, all);
        rgm_run_free(run);
    }
    free(changed);
    free(data);
    unlink(path);
}

TEST(blocks_of_another_recording_are_left_out) {
    const char *path = temp_path("joined.rgm");
    size_t length, more;
    int64_t all;
    uint8_t *data = journal_bytes(path, &length, &all), *other = journal_bytes(path, &more, &all);
    REQUIRE(data && other && memcmp(data + 20, other + 20, 4) != 0);
    uint8_t *joined = malloc(length + more);
    REQUIRE(joined);
    memcpy(joined, data, length);
    memcpy(joined + length, other + RGM_FILE_HEAD_BYTES, more - RGM_FILE_HEAD_BYTES);
    rgm_run *run = recovered_only(path, joined, length + more - RGM_FILE_HEAD_BYTES);
    REQUIRE(run);
    CHECK(anomaly_count(run, RGM_ANOMALY_FOREIGN_BLOCKS) > 5);
    CHECK_EQ_I64(run->spans.rows, all);
    rgm_run_free(run);
    free(joined);
    free(other);
    free(data);
    unlink(path);
}

TEST(a_file_without_its_head_is_recovered) {
    const char *path = temp_path("headless.rgm"), *saved = temp_path("saved.rgm");
    size_t length, saved_length;
    int64_t all;
    uint8_t *data = journal_bytes(path, &length, &all);
    REQUIRE(data);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK_OK(rgm_run_save(run, saved, NULL));
    rgm_run_free(run);
    uint8_t *table = file_read(saved, &saved_length);
    REQUIRE(table);
    for (size_t at = 0; at < RGM_FILE_HEAD_BYTES; at++) {
        uint8_t *each[] = {data, table};
        size_t lengths[] = {length, saved_length};
        for (int i = 0; i < 2; i++) {
            each[i][at] ^= 0x10;
            run = recovered_only(path, each[i], lengths[i]);
            REQUIRE(run);
            CHECK_EQ_I64(run->spans.rows, all);
            CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_CORRUPT_BYTES), RGM_FILE_HEAD_BYTES);
            CHECK_STR_EQ(run->source, i ? "run" : "journal");
            rgm_run_free(run);
            each[i][at] ^= 0x10;
        }
    }
    REQUIRE(file_write(path, data + 5, length - 5)); // shifted, and cut
    run = load_of(path, RGM_LOAD_RECOVER);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, all);
    rgm_run_free(run);
    memset(data, 'x', 200); // over the first blocks too: what depends on them is lost, the rest is not
    REQUIRE(file_write(path, data, length));
    run = load_of(path, RGM_LOAD_RECOVER);
    REQUIRE(run);
    CHECK(anomaly_count(run, RGM_ANOMALY_MISSING_BLOCKS) > 0);
    rgm_run_free(run);
    free(table);
    free(data);
    unlink(path);
    unlink(saved);
}

// A payload that looks like the heads of many long blocks costs a bounded number of reads.
TEST(false_heads_are_not_read_for_ever) {
    const char *path = temp_path("false.rgm");
    enum { HEADS = 4096 };
    rgm_bytes out = {0};
    rgm_frame_write_head(&out, RGM_FILE_JOURNAL, 7);
    for (uint32_t i = 0; i < HEADS; i++) {
        struct {
            uint32_t magic;
            uint16_t type, reserved;
            uint32_t file, number;
            uint64_t length;
            uint32_t payload_crc, crc;
        } head = {0x424D4752, RGM_FRAME_RECORDS, 0, 7, i, (HEADS - i - 1) * 32, 1, 0};
        head.crc = rgm_crc32c(0, &head, 28);
        rgm_bytes_append(&out, &head, sizeof head);
    }
    rgm_run *run = recovered_only(path, out.data, out.length);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 0);
    rgm_run_free(run);
    rgm_bytes_release(&out);
    unlink(path);
}

// A list of this version may be shorter than that of a later one, or the file is made by hand.
TEST(numbers_that_no_list_has_are_refused) {
    const char *path = temp_path("lists.rgm");
    for (int what = 0; what < 8; what++) {
        rgm_run *run = full_run(), *back = NULL;
        rgm_error err;
        rgm_error_clear(&err);
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

static void head_is(uint8_t *data, size_t at, uint32_t value) {
    memcpy(data + at, &value, 4);
    uint32_t crc = rgm_crc32c(0, data, 28);
    memcpy(data + 28, &crc, 4);
}

TEST(files_that_are_not_ours) {
    const char *path = temp_path("odd.rgm");
    size_t length;
    int64_t all;
    uint8_t *data = journal_bytes(path, &length, &all);
    REQUIRE(data);
    rgm_run *run = NULL;
    rgm_error err;
    rgm_error_clear(&err);
#define REFUSED(expected, place, words)                                                                      \
    do {                                                                                                     \
        for (int mode = 0; mode < 2; mode++) {                                                               \
            CHECK_EQ_I64(rgm_run_load(path, (rgm_load_mode)mode, &run, &err), expected);                     \
            CHECK_EQ_I64(err.offset, place);                                                                 \
            CHECK(strstr(err.message, words) != NULL && strstr(err.message, path) != NULL);                  \
        }                                                                                                    \
    } while (0)
    head_is(data, 8, RGM_FILE_VERSION + 1);
    REQUIRE(file_write(path, data, length));
    REFUSED(RGM_FORMAT, 8, "upgrade regimeter");
    head_is(data, 8, RGM_FILE_VERSION);
    head_is(data, 12, 0x04030201);
    REQUIRE(file_write(path, data, length));
    REFUSED(RGM_FORMAT, 12, "byte order");
    head_is(data, 12, 0x01020304);
    head_is(data, 16, 9);
    REQUIRE(file_write(path, data, length));
    CHECK_EQ_I64(rgm_run_load(path, RGM_LOAD_STRICT, &run, &err), RGM_FORMAT);
    CHECK(err.offset == 8 && strstr(err.message, "damaged") && says_the_way_out(&err, path));
    REQUIRE(file_write(path, data, 0));
    REFUSED(RGM_FORMAT, 0, "0 bytes");
    REQUIRE(file_write(path, "just a long enough text, and nothing of ours", 44));
    REFUSED(RGM_FORMAT, 0, "not a regimeter recording");
    unlink(path);
    REFUSED(RGM_IO, -1, "No such file");
    REQUIRE(mkdir(path, 0777) == 0);
    REFUSED(RGM_INVALID, -1, "not a regular file");
    CHECK(rmdir(path) == 0);
    free(data);
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
        rgm_error err;
        rgm_error_clear(&err);
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

static void frame_put(rgm_bytes *out, rgm_frame_type type, const void *payload, size_t length) {
    size_t mark = rgm_frame_begin(out, type);
    rgm_bytes_append(out, payload, length);
    rgm_frame_end(out, mark);
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
    rgm_frame_write_head(&out, RGM_FILE_RUN, 7);
    frame_put(&out, RGM_FRAME_STRINGS, strings, sizeof strings);
    frame_put(&out, RGM_FRAME_TABLE, &names, 64 + sizeof names.ids);
    frame_put(&out, RGM_FRAME_END, (uint64_t[]){0}, 8);
    rgm_frame_number(&out, &(rgm_frame_series){.file = 7});
    REQUIRE(!out.failed && file_write(path, out.data, out.length));
    rgm_bytes_release(&out);
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
    rgm_frame_write_head(&out, RGM_FILE_JOURNAL, 7);
    frame_put(&out, RGM_FRAME_STRINGS, "\0\0\0\0\2\0\0\0\1\0\0\0k\4\0\0\0wait", 21);
    frame_put(&out, RGM_FRAME_STALLS, &stalls, sizeof stalls);
    frame_put(&out, RGM_FRAME_END, (uint64_t[]){2}, 8);
    rgm_frame_number(&out, &(rgm_frame_series){.file = 7});
    REQUIRE(!out.failed && file_write(path, out.data, out.length));
    rgm_bytes_release(&out);
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
        rgm_frame_write_head(&out, RGM_FILE_JOURNAL, 7);
        frame_put(&out, bad[i].type, bad[i].words, bad[i].length);
        frame_put(&out, RGM_FRAME_END, (uint64_t[]){0}, 8);
        frame_put(&out, (rgm_frame_type)200, "what a later version adds", 25);
        rgm_frame_number(&out, &(rgm_frame_series){.file = 7});
        REQUIRE(!out.failed && file_write(path, out.data, out.length));
        rgm_bytes_release(&out);
        rgm_run *run = NULL;
        rgm_error err;
        rgm_error_clear(&err);
        CHECK_EQ_I64(rgm_run_load(path, RGM_LOAD_STRICT, &run, &err), RGM_FORMAT);
        CHECK_EQ_I64(err.offset, RGM_FILE_HEAD_BYTES);
        CHECK(says_the_way_out(&err, path));
        run = load_of(path, RGM_LOAD_RECOVER);
        if (run) CHECK(run->complete && anomaly_count(run, RGM_ANOMALY_CORRUPT_BYTES) > 0);
        rgm_run_free(run);
    }
    unlink(path);
}
