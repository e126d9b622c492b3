// SPDX-License-Identifier: Apache-2.0
// Journals that are cut, flipped, joined or out of order: refused, or recovered as far as they are sound.
#include "base/crc32c.h"
#include "frames.h"

// A small journal with everything in it, and its bytes.
static uint8_t *journal_bytes(const char *path, size_t *length, int64_t *spans) {
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
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

// Number of scopes in the whole RECORDS frames within the first `length` bytes.
static int64_t whole_scopes(const uint8_t *data, size_t length) {
    int64_t count = 0;
    frame_seen frame;
    for (size_t at = RGM_FILE_HEAD_BYTES; frame_at(data, length, at, &frame); at = frame.next) {
        if (at + RGM_FRAME_HEAD_BYTES + frame.bytes > length) break;
        if (frame.type != RGM_FRAME_RECORDS) continue;
        const uint8_t *rows = data + at + RGM_FRAME_HEAD_BYTES + 8;
        for (size_t i = 0; i < (frame.bytes - 8) / sizeof(rgm_record); i++) {
            rgm_record record;
            memcpy(&record, rows + i * sizeof record, sizeof record);
            count += rgm_record_kind_of(&record) == RGM_RECORD_SCOPE;
        }
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
        rgm_error err = RGM_ERROR_NONE;
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
        rgm_error err = RGM_ERROR_NONE;
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
    frame_seen frame = {0};
    while (frame_at(data, length, at, &frame) && frame.type != RGM_FRAME_RECORDS) at = frame.next;
    REQUIRE(frame.type == RGM_FRAME_RECORDS);
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
    rgm_error err = RGM_ERROR_NONE;
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

// A payload that looks like the heads of many long blocks costs a bounded number of reads.
TEST(false_heads_are_not_read_for_ever) {
    const char *path = temp_path("false.rgm");
    enum { HEADS = 4096 };
    rgm_bytes out = {0};
    rgm_frame_write_head(&out, RGM_FILE_JOURNAL, 7, false);
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

static void put_numbered(rgm_bytes *out, rgm_frame_type type, const void *payload, size_t length,
                         rgm_frame_series series) {
    rgm_bytes one = {0};
    frame_put(&one, type, payload, length);
    rgm_frame_number(&one, &series);
    rgm_bytes_append(out, one.data, one.length);
    rgm_bytes_release(&one);
}

// The second frame lies in the hole, sound as it was, and is not read.
TEST(what_was_taken_out_of_a_recording_is_not_missing) {
    enum { FILE_ID = 77 };
    const char *path = temp_path("hole.rgm");
    for (uint64_t left_out = 40; left_out <= 4000; left_out += 3960) {
        rgm_bytes file = {0};
        rgm_frame_write_head(&file, RGM_FILE_JOURNAL, FILE_ID, false);
        put_numbered(&file, RGM_FRAME_HOLE, (uint64_t[]){3, left_out}, 16, (rgm_frame_series){FILE_ID, 0});
        put_numbered(&file, RGM_FRAME_ENVIRONMENT, "{\"x\":1}", 7, (rgm_frame_series){FILE_ID, 2});
        put_numbered(&file, RGM_FRAME_ENVIRONMENT, "{\"x\":2}", 7, (rgm_frame_series){FILE_ID, 4});
        put_numbered(&file, RGM_FRAME_END, &(uint64_t){0}, 8, (rgm_frame_series){FILE_ID, 5});
        REQUIRE(!file.failed && file_write(path, file.data, file.length));
        rgm_bytes_release(&file);
        rgm_run *strict = NULL, *recovered = load_of(path, RGM_LOAD_RECOVER);
        rgm_status status = rgm_run_load(path, RGM_LOAD_STRICT, &strict, NULL);
        REQUIRE(recovered);
        CHECK_STR_EQ(recovered->environment, "{\"x\":2}");
        if (left_out == 40) { // the frame in it
            REQUIRE(status == RGM_OK);
            CHECK_STR_EQ(strict->environment, "{\"x\":2}");
            CHECK_EQ_I64(strict->anomalies.rows + recovered->anomalies.rows, 0);
            CHECK(strict->complete && recovered->complete);
        } else { // beyond the end of the file
            CHECK(status == RGM_FORMAT);
            CHECK(recovered->anomalies.rows > 0);
        }
        rgm_run_free(strict);
        rgm_run_free(recovered);
        unlink(path);
    }
}
