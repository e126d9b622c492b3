// SPDX-License-Identifier: Apache-2.0
// Traces by hand, and the same trace read in pieces of every size, by one thread and by two.
#include "io/trace/trace_import.h"

#include <unistd.h>

#include "everything.h"
#include "importing.h"
#include "io/json/json_text.h"
#include "io/json/json_value.h"
#include "io/trace/trace_parse.h"
#include "pieces.h"

// --- documents --------------------------------------------------------------------------------------------

static void check_one_span(const char *text, const char *name, int64_t start, int64_t duration) {
    rgm_run *run = import_text(text);
    REQUIRE(run);
    CHECK_EQ_U64(run->spans.rows, 1);
    CHECK_STR_EQ(name_of(run, 0), name);
    CHECK_EQ_I64(run->spans.start_ns[0], start);
    CHECK_EQ_I64(run->spans.duration_ns[0], duration);
    rgm_run_free(run);
}

TEST(documents_of_several_shapes) {
    check_one_span("[" EVENT("a", "7") "]", "a", 7000, 3000);
    check_one_span("[" EVENT("a", "7"), "a", 7000, 3000);
    check_one_span(" \n[\t" EVENT("a", "7") " , ]", "a", 7000, 3000);
    check_one_span("{\"traceEvents\":[" EVENT("a", "7") "]}", "a", 7000, 3000);
    check_one_span("{\"a\":{\"b\":[\"}\"]},\"traceEvents\":[" EVENT("a", "7.25") "],\"z\":1}", "a", 7250,
                   3000);
    check_one_span("[" EVENT("a", "-7.001") "]", "a", -7001, 3000);
    check_one_span("[" EVENT("a", "7.0019") "]", "a", 7001, 3000);
    check_one_span("[" EVENT("a", "1e3") "]", "a", 1000000, 3000);
    check_one_span("\xEF\xBB\xBF[" EVENT("\\u0041\\\"", "7") "]", "A\"", 7000, 3000);
}

TEST(the_base_stands_before_or_behind_the_events) {
    static const char *const texts[] = {
        "{\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":[" EVENT("a", "5") "]}",
        "{\"traceEvents\":[" EVENT("a", "5") "],\"baseTimeNanoseconds\":1700000000000000000}",
    };
    rgm_run *before = import_text(texts[0]), *behind = import_text(texts[1]);
    REQUIRE(before && behind);
    CHECK_EQ_I64(before->files.base_ns[0], INT64_C(1700000000000000000));
    CHECK_EQ_I64(behind->files.base_ns[0], INT64_C(1700000000000000000));
    CHECK_EQ_I64(before->spans.start_ns[0], behind->spans.start_ns[0]);
    CHECK_EQ_I64(before->start_unix_ns, behind->start_unix_ns);
    rgm_run_free(before);
    rgm_run_free(behind);
}

TEST(what_is_no_trace_is_refused) {
    static const char *const texts[] = {
        "", " ", "{}", "{\"a\":1}", "7", "\"traceEvents\"", "P\0K", "{\"traceEvents\":7}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rgm_run *run = NULL;
        rgm_error err = RGM_ERROR_NONE;
        rgm_import_options options = {.threads = 1};
        rgm_status status =
            rgm_trace_import_bytes((const uint8_t *)texts[i], strlen(texts[i]), "x", &options, &run, &err);
        CHECK_EQ_I64(status, RGM_FORMAT);
        CHECK(!run && err.message[0] && err.offset >= 0);
    }
}

// --- damage -----------------------------------------------------------------------------------------------

static void check_damage(const char *text, size_t spans, rgm_anomaly code, int64_t count, int64_t lost) {
    rgm_run *run = import_text(text);
    REQUIRE(run);
    if (run->spans.rows != spans) HARNESS_FAIL("%zu spans of %s", run->spans.rows, text);
    if (anomaly_count(run, code) != count)
        HARNESS_FAIL("%" PRId64 " times code %d: %s", anomaly_count(run, code), (int)code, text);
    int64_t missing = 0;
    for (size_t i = 0; i < run->anomalies.rows; i++) missing += run->anomalies.lost[i];
    CHECK_EQ_I64(missing, lost);
    CHECK_EQ_I64(run->files.events[0], run->files.kept[0] + lost);
    rgm_run_free(run);
}

TEST(damage_is_counted_and_read_over) {
    check_damage("[" EVENT("a", "1") "," EVENT("b", "2"), 2, RGM_ANOMALY_TRUNCATED, 1, 0);
    check_damage("[" EVENT("a", "1") ",{\"ph\":\"X\",\"na", 1, RGM_ANOMALY_TRUNCATED, 1, 1);
    check_damage("[" EVENT("a", "1") ",{\"ph\" 1}," EVENT("b", "2") "]", 2, RGM_ANOMALY_INVALID_JSON, 1, 1);
    check_damage("[" EVENT("a", "1") EVENT("b", "2") "]", 2, RGM_ANOMALY_INVALID_JSON, 1, 0);
    check_damage("[" EVENT("a", "1") ",," EVENT("b", "2") "]", 2, RGM_ANOMALY_INVALID_JSON, 1, 0);
    check_damage("[" EVENT("a", "1") ",7,[]," EVENT("b", "2") "]", 2, RGM_ANOMALY_BAD_EVENT, 2, 2);
    check_damage("[" EVENT("a", "1") "] more", 1, RGM_ANOMALY_TRAILING_BYTES, 1, 0);
    check_damage("[{\"ph\":\"X\",\"name\":\"a\",\"dur\":1}]", 0, RGM_ANOMALY_MISSING_TIME, 1, 1);
    check_damage("[{\"ph\":\"X\",\"ts\":1,\"ts\":2,\"dur\":1}]", 1, RGM_ANOMALY_DUPLICATE_KEYS, 1, 0);
    check_damage("[{\"ph\":\"X\",\"ts\":1,\"dur\":-1}]", 1, RGM_ANOMALY_NEGATIVE_DURATION, 1, 0);
    check_damage("[{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":1}]", 0, RGM_ANOMALY_UNMATCHED_END, 1, 1);
    check_damage("[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1}]", 1,
                 RGM_ANOMALY_UNMATCHED_BEGIN, 1, 0);
    check_damage("[{\"ph\":\"\\u0001\",\"ts\":1}]", 0, RGM_ANOMALY_UNKNOWN_PHASE, 1, 1);
    check_damage("[{\"ph\":\"X\",\"name\":\"a\x01\",\"ts\":1,\"dur\":1}]", 1, RGM_ANOMALY_CONTROL_CHARACTERS,
                 1, 0);
    check_damage("[{\"ph\":\"X\",\"name\":\"a\xFF\",\"ts\":1,\"dur\":1}]", 1, RGM_ANOMALY_INVALID_UTF8, 1, 0);
}

TEST(of_two_equal_keys_the_last_counts) {
    check_one_span("[{\"ph\":\"X\",\"name\":\"a\",\"name\":\"b\",\"ts\":1,\"ts\":2,\"dur\":1}]", "b", 2000,
                   1000);
}

// A list whose quotes are wrong turns text and brackets round: the search for the next event begins in it.
TEST(a_quote_too_many_costs_one_event) {
    const char *broken =
        "{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":1,\"args\":{\"s\":[\"a , \"b\", \"1\"] x}},";
    char text[4096] = "[";
    strcat(text, broken);
    for (int i = 0; i < 8; i++) strcat(text, EVENT("after", "5") ",");
    strcat(text, broken); // here the first list seems to end
    strcat(text, EVENT("last", "9") "]");
    rgm_run *run = import_text(text);
    REQUIRE(run);
    CHECK_EQ_I64(span_count(run, "after"), 8);
    CHECK_EQ_I64(span_count(run, "last"), 1);
    rgm_run_free(run);
}

TEST(strict_errors_name_the_byte) {
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"[" EVENT("a", "1") ",", "," EVENT("b", "2") "]"},
        {"[" EVENT("a", "1") "", EVENT("b", "2") "]"},
        {"[" EVENT("a", "1") ",", "]"},
        {"[{\"ph\":\"X\",\"ts\":1", " \"dur\":1}]"},
        {"[{\"ph\":\"X\",\"ts\":1,", "}]"},
        {"[" EVENT("a", "1") "]", "x"},
        {"[" EVENT("a", "1"), ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s", cases[i].before, cases[i].after);
        rgm_run *run = NULL;
        rgm_error err = RGM_ERROR_NONE;
        rgm_import_options options = {.strict = true, .threads = 1};
        CHECK_EQ_I64(rgm_trace_import_bytes((const uint8_t *)text, strlen(text), "x", &options, &run, &err),
                     RGM_FORMAT);
        int64_t expected = (int64_t)strlen(cases[i].before);
        if (err.offset < expected || err.offset > expected + 1)
            HARNESS_FAIL("byte %" PRId64 ", expected %" PRId64 " in %s: %s", err.offset, expected, text,
                         err.message);
        CHECK(!run);
        run = import_text(text); // what strict refuses is otherwise repaired
        CHECK(run && run->anomalies.rows >= 1);
        rgm_run_free(run);
    }
}

// --- limits -----------------------------------------------------------------------------------------------

TEST(depth_of_arguments_is_limited) {
    for (int depth = RGM_JSON_DEPTH; depth <= RGM_JSON_DEPTH + 1; depth++) {
        char text[512] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"x\":";
        size_t length = strlen(text);
        memset(text + length, '[', (size_t)depth);
        memset(text + length + depth, ']', (size_t)depth);
        strcat(text, "}}]");
        rgm_run *run = import_text(text);
        REQUIRE(run);
        CHECK_EQ_U64(run->spans.rows, 1);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_TOO_DEEP), depth > RGM_JSON_DEPTH);
        rgm_run_free(run);
    }
}

// More than a window (256 KiB), more than a stripe and than what is kept of an event (1 MiB): a name,
// arguments, and what is no event at all.
TEST(long_pieces_are_read_whole) {
    enum { LONG = (5 << 19) / ONE_IN(2) };
    char *text = malloc(LONG + 512), *name = malloc(LONG + 1);
    if (!text || !name) abort();
    memset(name, 'x', LONG);
    name[LONG] = 0;
    (void)sprintf(
        text, "[" EVENT("a", "1") ",{\"ph\":\"X\",\"name\":\"%s\",\"ts\":2,\"dur\":1}," EVENT("b", "3") "]",
        name);
    for (int threads = 1; threads <= 2; threads++) {
        rgm_run *run =
            import_with(text, (rgm_import_options){.threads = threads, .stripe = threads > 1 ? 1 << 20 : 0});
        REQUIRE(run);
        CHECK_EQ_U64(run->spans.rows, 3);
        CHECK(span_of(run, name) >= 0 && span_of(run, "b") >= 0);
        rgm_run_free(run);
    }
    static const char fillers[] = " ,[\"{\\";
    for (const char *filler = fillers; *filler; filler++) {
        memset(name, *filler, LONG);
        (void)sprintf(text, "[" EVENT("a", "1") ",%s", name);
        rgm_run *one = import_text(text);
        rgm_run *two = import_with(text, (rgm_import_options){.threads = 2, .stripe = 1 << 18});
        REQUIRE(one && two);
        CHECK_EQ_U64(one->spans.rows, 1);
        CHECK_SAME_RUN(one, two, "with '%c'", *filler);
        rgm_run_free(one);
        rgm_run_free(two);
    }
    free(text);
    free(name);
}

// --- pieces -----------------------------------------------------------------------------------------------

typedef struct {
    pieces of;
    int64_t fail_at; // -1 never
    useconds_t wait;
} pipe_end;

static rgm_status read_pipe(void *context, uint8_t *buffer, size_t room, size_t *filled, rgm_error *err) {
    pipe_end *p = context;
    if (p->fail_at >= 0 && (int64_t)p->of.at >= p->fail_at)
        return rgm_error_set(err, RGM_IO, "the disk is gone");
    if (p->wait) (void)usleep(p->wait);
    return read_piece(&p->of, buffer, room, filled, err);
}

static rgm_status read_pipe_at(void *context, int64_t offset, uint8_t *buffer, size_t room, size_t *filled,
                               rgm_error *err) {
    const pipe_end *shared = context;
    pipe_end own = *shared; // called from two threads at once
    own.of.at = (size_t)offset < own.of.length ? (size_t)offset : own.of.length;
    return read_pipe(&own, buffer, room, filled, err);
}

static rgm_status import_pieces(const pipe_end *from, bool at, rgm_import_options options, rgm_run **run,
                                rgm_error *err) {
    pipe_end own = *from;
    rgm_source source = {.read = read_pipe, .context = &own, .name = "test"};
    if (at)
        source = (rgm_source){
            .read_at = read_pipe_at, .size = (int64_t)own.of.length, .context = &own, .name = "test"};
    *run = NULL;
    rgm_error_clear(err);
    return rgm_trace_import(&source, &options, run, err);
}

TEST(pieces_of_every_size_give_the_same_run) {
    rgm_run *whole = import_text(everything), *run;
    rgm_error err;
    REQUIRE(whole);
    CHECK(whole->spans.rows >= 8 && whole->flows.rows == 2 && whole->memory.rows == 1 &&
          whole->counters.rows == 1);
    pipe_end p = {{everything, sizeof everything - 1, 0, 1}, -1, 0};
    for (p.of.piece = 1; p.of.piece <= p.of.length; p.of.piece += ONE_IN(13)) {
        rgm_import_options options = {.threads = 1, .scan = p.of.piece % 2 ? RGM_SCAN_PORTABLE : 0};
        CHECK_OK(import_pieces(&p, false, options, &run, &err));
        REQUIRE(run);
        CHECK_SAME_RUN(whole, run, "pieces of %zu", p.of.piece);
        rgm_run_free(run);
    }
    rgm_run_free(whole);
}

TEST(a_text_cut_anywhere_gives_the_same_run_from_pieces) {
    rgm_error err;
    for (size_t cut = 1; cut < sizeof everything - 1; cut += 7 * ONE_IN(13)) {
        pipe_end p = {{everything, cut, 0, cut}, -1, 0};
        rgm_run *whole = NULL, *run = NULL;
        rgm_status status = import_pieces(&p, false, (rgm_import_options){.threads = 1}, &whole, &err);
        for (size_t piece = 1; piece < cut; piece += 1 + cut / 5) {
            p.of.piece = piece;
            CHECK_EQ_I64(import_pieces(&p, false, (rgm_import_options){.threads = 1}, &run, &err), status);
            if (whole && run) CHECK_SAME_RUN(whole, run, "cut at %zu, pieces of %zu", cut, piece);
            rgm_run_free(run);
        }
        rgm_run_free(whole);
    }
}

TEST(both_scans_give_the_same_run) {
    rgm_run *portable =
        import_with(everything, (rgm_import_options){.threads = 1, .scan = RGM_SCAN_PORTABLE});
    rgm_run *vector = NULL;
    rgm_import_options options = {.threads = 1, .scan = RGM_SCAN_VECTOR};
    rgm_status status = rgm_trace_import_bytes((const uint8_t *)everything, sizeof everything - 1, "test",
                                               &options, &vector, NULL);
    CHECK(status == RGM_OK || status == RGM_UNAVAILABLE);
    if (vector) CHECK_SAME_RUN(portable, vector, "scans");
    rgm_run_free(portable);
    rgm_run_free(vector);
}

TEST(two_threads_give_the_same_run) {
    rgm_run *whole = import_text(everything);
    REQUIRE(whole);
    for (int64_t stripe = 32; stripe < (int64_t)sizeof everything; stripe += stripe / 9 + 5) {
        rgm_run *run = import_with(everything, (rgm_import_options){.threads = 2, .stripe = stripe});
        REQUIRE(run);
        CHECK_SAME_RUN(whole, run, "stripes of %" PRId64, stripe);
        rgm_run_free(run);
    }
    rgm_run_free(whole);
}

// What a failed try at a learned layout has counted must not be counted again: which events a thread has
// learned from is a matter of chance.
TEST(repairs_are_counted_once_whatever_was_learned) {
    char text[8192] = "[";
    for (int i = 0; i < 20; i++)
        strcat(text, i % 3 ? "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"odd\":[1 2],\"correlation\":x}},"
                           : "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"odd\":[1],\"correlation\":3}},");
    strcat(text, EVENT("z", "9") "]");
    rgm_run *run = import_text(text);
    REQUIRE(run);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_INVALID_JSON), 13);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_NUMBER_RANGE), 13);
    rgm_run_free(run);
}

// --- sources ----------------------------------------------------------------------------------------------

TEST(a_source_that_fails_anywhere_fails_the_import) {
    rgm_error err;
    rgm_run *run;
    int64_t live = rgm_memory_live();
    for (int64_t at = 0; at < (int64_t)sizeof everything - 1; at += 41) {
        pipe_end p = {{everything, sizeof everything - 1, 0, 16}, at, 0};
        for (int how = 0; how < 3; how++) {
            rgm_import_options options = {.threads = how < 2 ? 1 : 2, .stripe = how < 2 ? 0 : 200};
            CHECK_EQ_I64(import_pieces(&p, how > 0, options, &run, &err), RGM_IO);
            CHECK(!run && err.status == RGM_IO && strcmp(err.message, "the disk is gone") == 0);
        }
    }
    CHECK_EQ_I64(rgm_memory_live(), live);
}

TEST(a_slow_source_is_waited_for) {
    rgm_run *whole = import_text(everything), *run;
    rgm_error err;
    REQUIRE(whole);
    pipe_end p = {{everything, sizeof everything - 1, 0, 300}, -1, 3000};
    for (int threads = 1; threads <= 2; threads++) {
        CHECK_OK(import_pieces(
            &p, true, (rgm_import_options){.threads = threads, .stripe = threads > 1 ? 400 : 0}, &run, &err));
        REQUIRE(run);
        CHECK_SAME_RUN(whole, run, "%d threads", threads);
        rgm_run_free(run);
    }
    rgm_run_free(whole);
}
