// SPDX-License-Identifier: Apache-2.0
// Exports of small runs into memory: what the writers make of texts and numbers, refused allocations, sinks
// that fail. What the formats hold as a whole is read back by other readers in tests/python.
#include "io/export/export.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "faults.h"
#include "io/export/nesting.h"
#include "io/export/proto_write.h"
#include "io/json/json_value.h"
#include "io/json/json_write.h"

typedef struct {
    char *text;
    size_t length;
    int64_t room; // bytes that the sink takes before it fails, -1 for any number
} memory_sink;

static rgm_status take(void *context, const void *data, size_t length, rgm_error *err) {
    memory_sink *sink = context;
    if (sink->room >= 0 && (int64_t)(sink->length + length) > sink->room)
        return rgm_error_set(err, RGM_IO, "the sink is full");
    sink->text = realloc(sink->text, sink->length + length + 1);
    memcpy(sink->text + sink->length, data, length);
    sink->length += length;
    sink->text[sink->length] = 0;
    return RGM_OK;
}

// --- JSON -------------------------------------------------------------------------------------------------

// The text of one value; the caller frees it.
static char *json_of(void (*write)(rgm_json *json, const void *value), const void *value) {
    memory_sink sink = {.room = -1};
    rgm_output out;
    CHECK(rgm_output_init(&out, take, &sink, NULL) == RGM_OK);
    rgm_json json = {.out = &out};
    write(&json, value);
    CHECK(rgm_output_finish(&out) == RGM_OK);
    rgm_output_release(&out);
    return sink.text;
}

static void write_text(rgm_json *json, const void *value) { rgm_json_text(json, value, strlen(value)); }
static void write_i64(rgm_json *json, const void *value) { rgm_json_i64(json, *(const int64_t *)value); }
static void write_us(rgm_json *json, const void *value) { rgm_json_us(json, *(const int64_t *)value); }
static void write_f64(rgm_json *json, const void *value) { rgm_json_f64(json, *(const double *)value); }

static void expect(void (*write)(rgm_json *json, const void *value), const void *value,
                   const char *expected) {
    char *text = json_of(write, value);
    if (strcmp(text, expected) != 0) HARNESS_FAIL("wrote %s, expected %s", text, expected);
    free(text);
}

TEST(texts_are_escaped) {
    expect(write_text, "", "\"\"");
    expect(write_text, "a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    expect(write_text, "\b\t\n\f\r\x01\x1f\x7f", "\"\\b\\t\\n\\f\\r\\u0001\\u001f\\u007f\"");
    expect(write_text, "\xC3\xA9\xF0\x9F\x99\x82</script>", "\"\xC3\xA9\xF0\x9F\x99\x82</script>\"");
}

#define REPLACED "\xEF\xBF\xBD"

TEST(bytes_that_are_not_utf8_are_replaced) {
    expect(write_text, "a\xFFz", "\"a" REPLACED "z\"");
    expect(write_text, "\xE2\x82", "\"" REPLACED REPLACED "\"");                           // cut off
    expect(write_text, "\xC0\xAF", "\"" REPLACED REPLACED "\"");                           // overlong
    expect(write_text, "\xED\xA0\x80", "\"" REPLACED REPLACED REPLACED "\"");              // a surrogate
    expect(write_text, "\xF4\x90\x80\x80", "\"" REPLACED REPLACED REPLACED REPLACED "\""); // past U+10FFFF
    expect(write_text, "\xC3\"", "\"" REPLACED "\\\"\"");
}

TEST(every_two_bytes_are_judged_as_a_decoder_would) {
    int good = 0;
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++) {
            unsigned char text[2] = {(unsigned char)a, (unsigned char)b};
            good += rgm_utf8_length(text, text + 2) == 2;
        }
    CHECK(good == 1920); // U+0080 to U+07FF
}

TEST(integers_and_microseconds_are_exact) {
    const int64_t values[] = {0, -1, INT64_MAX, INT64_MIN, 999, -999, 1000, -1000001};
    static const char *const plain[] = {
        "0", "-1", "9223372036854775807", "-9223372036854775808", "999", "-999", "1000", "-1000001"};
    static const char *const us[] = {
        "0.000", "-0.001",   "9223372036854775.807", "-9223372036854775.808", "0.999", "-0.999",
        "1.000", "-1000.001"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        expect(write_i64, &values[i], plain[i]);
        expect(write_us, &values[i], us[i]);
    }
}

TEST(floats_are_short_and_read_back_equal) {
    const double values[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 29, 1e22, NAN, -INFINITY};
    static const char *const expected[] = {
        "0.1", "0.3333333333333333", NULL, NULL, "-0", "29", "1e+22", "null", "null"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char *text = json_of(write_f64, &values[i]);
        if (expected[i]) expect(write_f64, &values[i], expected[i]);
        if (isfinite(values[i])) CHECK(strtod(text, NULL) == values[i]);
        free(text);
    }
}

TEST(json_is_told_from_what_is_not) {
    static const char *const good[] = {"{}", " {\"a\": [1, -0.5e+3, true, false, null, \"\\u00e9\\n\"]} ",
                                       "{\"\":{}}"};
    static const char *const bad[] = {"",
                                      "{",
                                      "{}}",
                                      "[]",
                                      "{\"a\":NaN}",
                                      "{\"a\":01}",
                                      "{'a':1}",
                                      "{\"a\":1,}",
                                      "{\"a\" 1}",
                                      "{\"a\":\"\n\"}",
                                      "{\"a\":\"\xFF\"}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12g4\"}",
                                      "{\"a\":1.}",
                                      "{\"a\":-}",
                                      "{\"a\":tru}",
                                      "{a:1}",
                                      "{\"a\":\"",
                                      "{\"a\":\"\\",
                                      "{\"a\":1e}"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!rgm_json_is(good[i], strlen(good[i]), '{')) HARNESS_FAIL("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        // On the heap, so that a look behind the end is noticed.
        char *copy = malloc(strlen(bad[i]) + 1);
        memcpy(copy, bad[i], strlen(bad[i]));
        if (rgm_json_is(copy, strlen(bad[i]), '{')) HARNESS_FAIL("accepted: %s", bad[i]);
        free(copy);
    }
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    CHECK(!rgm_json_is(deep, 200, '['));
    CHECK(rgm_json_is(deep + 50, 100, '['));
}

TEST(members_are_found) {
    static const char text[] = " { \"a\" : 1 , \"b\\\"c\":{\"x\":[2]}, \"\":\"\" } ";
    rgm_json_members m = rgm_json_members_in(text, strlen(text));
    REQUIRE(rgm_json_next(&m) && m.key_length == 1 && rgm_json_value_length(&m) == 1 && *m.value == '1');
    REQUIRE(rgm_json_next(&m) && m.key_length == 4 && rgm_json_value_length(&m) == 9);
    REQUIRE(rgm_json_next(&m) && m.key_length == 0 && rgm_json_value_length(&m) == 2);
    CHECK(!rgm_json_next(&m));
    m = rgm_json_members_in("{ }", 3);
    CHECK(!rgm_json_next(&m));
}

// --- protocol buffers -------------------------------------------------------------------------------------

TEST(wire_format) {
    rgm_bytes bytes = {0};
    rgm_proto_u64(&bytes, 1, 150); // the example of the published description: 08 96 01
    size_t mark = rgm_proto_begin(&bytes, 3);
    rgm_proto_text(&bytes, 2, "testing", 7);
    rgm_proto_end(&bytes, mark);
    static const uint8_t expected[] = {0x08, 0x96, 0x01, 0x1A, 0x89, 0x80, 0x80, 0x00, 0x12,
                                       0x07, 't',  'e',  's',  't',  'i',  'n',  'g'};
    CHECK(bytes.length == sizeof expected && memcmp(bytes.data, expected, sizeof expected) == 0);
    rgm_bytes_reset(&bytes);
    rgm_proto_i64(&bytes, 1, -1);
    CHECK(bytes.length == 11);
    rgm_bytes_release(&bytes);
}

// --- nesting ----------------------------------------------------------------------------------------------

static uint32_t place(rgm_nesting *nesting, int64_t start, int64_t end, bool work) {
    uint32_t track = UINT32_MAX;
    CHECK(rgm_nesting_place(nesting, start, end, work, &track, NULL) == RGM_OK);
    return track;
}

TEST(spans_go_where_they_nest) {
    rgm_nesting n = {0};
    CHECK(place(&n, 0, 100, false) == 0);
    CHECK(place(&n, 10, 50, false) == 0);
    CHECK(place(&n, 20, 60, false) == 1);
    CHECK(place(&n, 30, 40, false) == 0);
    CHECK(place(&n, 50, 100, false) == 0);
    CHECK(place(&n, 60, 60, false) == 0);
    CHECK(place(&n, 60, 101, false) == 1);
    rgm_nesting_reset(&n);
    CHECK(place(&n, 0, 100, false) == 0); // an annotation holds work, work holds no work
    CHECK(place(&n, 10, 50, true) == 0);
    CHECK(place(&n, 20, 30, true) == 1);
    CHECK(place(&n, 20, 30, false) == 0);
    CHECK(place(&n, 20, 25, true) == 2);
    CHECK(place(&n, 50, 60, true) == 0);
    rgm_nesting_release(&n);
}

// --- whole exports ----------------------------------------------------------------------------------------

static rgm_name name(rgm_run *run, const char *text) {
    uint32_t id = 0;
    (void)!rgm_strings_intern(&run->strings, text, strlen(text), &id, NULL);
    return id;
}

#define ROW(run, table)                                                                                      \
    ({                                                                                                       \
        size_t row_ = 0;                                                                                     \
        if (rgm_table_append(&rgm_##table##_desc, &(run)->table, RGM_ALL_COLUMNS, &row_, NULL) != RGM_OK)    \
            abort();                                                                                         \
        row_;                                                                                                \
    })

// Something in every table, with overlaps, names that are not UTF-8, and rows that point nowhere.
static rgm_run *full_run(void) {
    rgm_run *run = NULL;
    if (rgm_run_new(&run, NULL) != RGM_OK) abort();
    for (int lane = 0; lane < 3; lane++) {
        size_t row = ROW(run, lanes);
        run->lanes.process[row] = lane == 2 ? 0 : 42;
        run->lanes.thread[row] = 7;
        run->lanes.device[row] = lane == 2 ? 0 : -1;
        run->lanes.name[row] = name(run, "th\xFFread");
    }
    for (int i = 0; i < 40; i++) {
        size_t row = ROW(run, spans);
        run->spans.start_ns[row] = 10 * i - 50;
        run->spans.duration_ns[row] = i % 7 * 5;
        run->spans.lane[row] = (uint32_t)i % 3;
        run->spans.kind[row] = (uint8_t)(i % 3 == 2 ? RGM_KIND_KERNEL
                                         : i % 2    ? RGM_KIND_RUNTIME
                                                    : RGM_KIND_CPU_OP);
        run->spans.name[row] = name(run, i % 2 ? "k<\xE2\x82>" : "op;\n\"");
        run->spans.correlation[row] = i / 3;
        run->spans.metadata[row] = name(run, i % 2 ? "{\"a\":1}" : "{\"a\":");
    }
    const uint32_t spans[] = {2, 0, UINT32_MAX};
    for (int i = 0; i < 3; i++) {
        size_t row = ROW(run, launches);
        run->launches.span[row] = spans[i];
        row = ROW(run, operators);
        run->operators.span[row] = spans[i];
        row = ROW(run, frames);
        run->frames.span[row] = spans[i];
        row = ROW(run, collectives);
        run->collectives.span[row] = spans[i];
        row = ROW(run, syncs);
        run->syncs.span[row] = spans[i];
        size_t flow = ROW(run, flows), memory = ROW(run, memory), counter = ROW(run, counters);
        run->flows.lane[flow] = spans[i];
        run->flows.span[flow] = (int32_t)spans[i];
        run->flows.kind[flow] = (uint8_t)(i == 2 ? 200 : i);
        run->flows.phase[flow] = (uint8_t)(i == 2 ? 200 : i);
        run->memory.lane[memory] = (int32_t)spans[i];
        run->memory.action[memory] = (uint8_t)(i == 2 ? 200 : i);
        run->memory.bytes[memory] = i == 2 ? INT64_MIN : 5;
        run->memory.time_ns[memory] = i == 2 ? INT64_MIN : i == 1 ? INT64_MAX : 0;
        run->counters.value[counter] = i ? 1.5 : NAN;
        run->counters.device[counter] = (int16_t)(i - 1);
    }
    return run;
}

TEST(every_format_of_a_full_run) {
    rgm_run *run = full_run();
    for (size_t i = 0; i < rgm_export_formats_count; i++) {
        memory_sink first = {.room = -1}, second = {.room = -1};
        const char *format = rgm_export_formats[i].name;
        CHECK(rgm_export(run, format, NULL, take, &first, NULL) == RGM_OK);
        CHECK(rgm_export(run, format, NULL, take, &second, NULL) == RGM_OK);
        CHECK(first.length > 100 && first.length == second.length);
        CHECK(memcmp(first.text, second.text, first.length) == 0);
        if (strcmp(format, "chrome") == 0 || strncmp(format, "speedscope", 10) == 0)
            CHECK(rgm_json_is(first.text, first.length, '{'));
        free(first.text);
        free(second.text);
    }
    rgm_run_free(run);
}

TEST(unknown_formats_and_options_are_refused) {
    rgm_run *run = full_run();
    memory_sink sink = {.room = -1};
    rgm_error err = RGM_ERROR_NONE;
    CHECK(rgm_export(run, "xlsx", NULL, take, &sink, &err) == RGM_INVALID && strstr(err.message, "xlsx"));
    CHECK(rgm_export(run, "collapsed", "gpu", take, &sink, &err) == RGM_INVALID);
    CHECK(rgm_export(run, "csv", "nothing", take, &sink, &err) == RGM_INVALID);
    CHECK(sink.length == 0);
    free(sink.text);
    rgm_run_free(run);
}

TEST(a_full_sink_is_reported) {
    rgm_run *run = full_run();
    for (size_t i = 0; i < rgm_export_formats_count; i++) {
        memory_sink sink = {.room = 50};
        rgm_error err = RGM_ERROR_NONE;
        CHECK(rgm_export(run, rgm_export_formats[i].name, NULL, take, &sink, &err) == RGM_IO);
        CHECK(strcmp(err.message, "the sink is full") == 0);
        free(sink.text);
    }
    rgm_run_free(run);
}

TEST(refused_allocations_leave_nothing_behind) {
    rgm_run *run = full_run();
    for (size_t i = 0; i < rgm_export_formats_count; i++)
        EACH_FAULT(rgm_export_formats[i].name) {
            memory_sink sink = {.room = -1};
            FAULTY(rgm_export(run, rgm_export_formats[i].name, NULL, take, &sink, NULL));
            free(sink.text);
        }
    rgm_run_free(run);
}

TEST(an_output_passes_long_pieces_on) {
    memory_sink sink = {.room = -1};
    rgm_output out;
    REQUIRE(rgm_output_init(&out, take, &sink, NULL) == RGM_OK);
    size_t length = 3 * out.capacity / 2;
    char *piece = malloc(length);
    memset(piece, 'x', length);
    rgm_output_byte(&out, 'a');
    rgm_output_append(&out, piece, length);
    rgm_output_append(&out, piece, out.capacity - 1);
    rgm_output_append(&out, "bc", 2);
    size_t capacity = out.capacity;
    CHECK(rgm_output_finish(&out) == RGM_OK);
    CHECK(sink.length == 1 + length + capacity - 1 + 2);
    CHECK(sink.text[0] == 'a' && sink.text[1] == 'x' && sink.text[sink.length - 1] == 'c');
    rgm_output_release(&out);
    free(piece);
    free(sink.text);
}
