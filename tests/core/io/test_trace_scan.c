// SPDX-License-Identifier: Apache-2.0
// The inner loops of reading a trace: both variants against each other and against naive loops; numbers
// against the C library.
#include "io/trace/trace_scan.h"

#include <stdlib.h>

#include "importing.h"
#include "test_trace_scan/table.h"

enum { ROOM = 256 };

// Text with the zero bytes behind it that the loops may read; a new place each time, so that every alignment
// of vectors comes up.
typedef struct {
    uint8_t bytes[ROOM + RGM_TEXT_PADDING + 64];
    uint8_t *at, *end;
} padded;

static void put(padded *text, const void *data, size_t length) {
    memset(text->bytes, 0, sizeof text->bytes);
    text->at = text->bytes + random_below(64);
    text->end = text->at + length;
    memcpy(text->at, data, length);
}

// The variants that this processor can run.
static size_t variants(const scan_table **out) {
    size_t count = 0;
    out[count++] = &scan_portable;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
        out[count++] = &scan_avx2;
#endif
    return count;
}

static const uint8_t *special_naive(const uint8_t *at) {
    while (*at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\') at++;
    return at;
}

static const uint8_t *bracket_naive(const uint8_t *at, const uint8_t *end) {
    while (at < end && !(*at && strchr("\"[]{}", *at))) at++;
    return at;
}

static const uint8_t *text_end_naive(const uint8_t *at, const uint8_t *end) {
    for (; at < end; at++) {
        if (*at == '"') return at;
        if (*at == '\\') at++;
    }
    return NULL;
}

static const uint8_t *value_end_naive(const uint8_t *at, const uint8_t *end) {
    if (*at == '"') {
        at = text_end_naive(at + 1, end);
        return at ? at + 1 : NULL;
    }
    if (*at != '[' && *at != '{') {
        const uint8_t *from = at;
        while (at < end && !(*at && strchr(",}] \n\r\t\":", *at))) at++;
        return at == from || at == end ? NULL : at;
    }
    size_t depth = 0;
    for (; at < end; at++) {
        if (*at == '"') {
            at = text_end_naive(at + 1, end);
            if (!at) return NULL;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if (*at == ']' || *at == '}') {
            if (--depth == 0) return at + 1;
        }
    }
    return NULL;
}

// Mostly plain letters, so that the loops go far; 0x5F and 0x7F differ in one bit from what they look for.
static void put_random(padded *text) {
    static const uint8_t likely[] = "\"\\[]{},: \n\t\x1F\x20\x7F\x5F\x3B\x3D\x80\xFF"
                                    "0a";
    uint8_t data[ROOM];
    size_t length = random_below(ROOM);
    uint64_t rare = random_below(40) + 1;
    for (size_t i = 0; i < length; i++)
        data[i] =
            random_below(rare) ? (uint8_t)('a' + random_below(26)) : likely[random_below(sizeof likely - 1)];
    if (length && random_below(2)) data[0] = (uint8_t)"\"[{1"[random_below(4)];
    put(text, data, length);
}

TEST(every_variant_stops_where_a_naive_loop_does) {
    const scan_table *all[2];
    size_t count = variants(all);
    padded text;
    for (int round = 0; round < 30000; round++) {
        put_random(&text);
        for (size_t v = 0; v < count; v++) {
            CHECK(all[v]->special(text.at) == special_naive(text.at));
            CHECK(all[v]->bracket(text.at, text.end) == bracket_naive(text.at, text.end));
            CHECK(all[v]->text_end(text.at, text.end) == text_end_naive(text.at, text.end));
            CHECK(all[v]->value_end(text.at, text.end) == value_end_naive(text.at, text.end));
        }
    }
}

TEST(every_byte_at_every_place_of_a_vector) {
    const scan_table *all[2];
    size_t count = variants(all);
    padded text;
    uint8_t data[70];
    for (size_t place = 0; place < sizeof data; place++) {
        for (int byte = 0; byte < 256; byte++) {
            memset(data, 'x', sizeof data);
            data[place] = (uint8_t)byte;
            put(&text, data, sizeof data);
            for (size_t v = 0; v < count; v++) {
                CHECK(all[v]->special(text.at) == special_naive(text.at));
                CHECK(all[v]->bracket(text.at, text.end) == bracket_naive(text.at, text.end));
            }
        }
    }
}

TEST(literals_are_equal_or_not) {
    const scan_table *all[2];
    size_t count = variants(all);
    static uint8_t literal[ROOM + 64];
    padded text;
    for (size_t length = 0; length <= 130; length++) {
        for (size_t i = 0; i < sizeof literal; i++) literal[i] = (uint8_t)random_below(256);
        put(&text, literal, ROOM);
        for (size_t v = 0; v < count; v++) CHECK(all[v]->equal(text.at, literal, length));
        for (size_t wrong = 0; wrong < length + 40; wrong++) {
            text.at[wrong] ^= (uint8_t)(1 + random_below(255));
            for (size_t v = 0; v < count; v++)
                CHECK(all[v]->equal(text.at, literal, length) == (wrong >= length));
            text.at[wrong] = literal[wrong];
        }
    }
}

// --- numbers ----------------------------------------------------------------------------------------------

static size_t digits_of(char *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = (char)('0' + random_below(10));
    return count;
}

static size_t number(char *out, size_t whole, size_t decimals) {
    size_t length = 0;
    if (random_below(2)) out[length++] = '-';
    length += digits_of(out + length, whole);
    if (decimals) out[length++] = '.';
    return length + digits_of(out + length, decimals);
}

TEST(integers_are_exact_up_to_eighteen_digits) {
    char data[64];
    padded text;
    for (int round = 0; round < 100000; round++) {
        size_t count = random_below(21), length = number(data, count, 0);
        memcpy(data + length, ",1", 3);
        put(&text, data, length + 2);
        int64_t value = 99;
        const uint8_t *after = scan_portable.integer(text.at, &value);
        CHECK((after != NULL) == (count >= 1 && count <= 18));
        if (after) CHECK(after == text.at + length && value == strtoll(data, NULL, 10));
    }
    static const char *const others[] = {"1.5", "1e3", "1E3", "", "-", "+1", "a", ".5", "1."};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int64_t value;
        put(&text, others[i], strlen(others[i]));
        CHECK(!scan_portable.integer(text.at, &value));
    }
}

TEST(reals_are_rounded_as_the_library_does) {
    char data[64];
    padded text;
    int taken = 0;
    for (int round = 0; round < 200000; round++) {
        size_t whole = random_below(18), decimals = random_below(22), length = number(data, whole, decimals);
        data[length] = 0;
        put(&text, data, length);
        double value;
        const uint8_t *after = scan_portable.real(text.at, &value);
        if (whole >= 1 && whole + decimals <= 15) CHECK(after != NULL);
        if (!after) continue;
        taken++;
        double expected = strtod(data, NULL);
        if (after != text.at + length || memcmp(&value, &expected, sizeof value) != 0) {
            HARNESS_FAIL("%s is %.17g, expected %.17g", data, value, expected);
            return;
        }
    }
    CHECK(taken > 50000);
}

// Microseconds as text, digit by digit, to nanoseconds.
static __int128 nanoseconds_naive(const char *at) {
    bool negative = *at == '-';
    __int128 value = 0;
    int decimals = -1;
    for (at += negative; *at && decimals < 3; at++) {
        if (*at == '.') {
            decimals = 0;
            continue;
        }
        value = value * 10 + (*at - '0');
        decimals += decimals >= 0;
    }
    for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; decimals++) value *= 10;
    return negative ? -value : value;
}

TEST(times_are_exact_to_the_nanosecond) {
    char data[64];
    padded text;
    for (int round = 0; round < 200000; round++) {
        size_t whole = random_below(18), decimals = random_below(12), length = number(data, whole, decimals);
        data[length] = 0;
        put(&text, data, length);
        int64_t ns;
        uint32_t count, fraction;
        const uint8_t *after = scan_portable.time(text.at, &ns, &count, &fraction);
        __int128 expected = nanoseconds_naive(data), limit = (__int128)INT64_MAX / 2;
        bool fits = whole >= 1 && whole <= 16 && expected < limit && expected > -limit;
        CHECK((after != NULL) == fits || expected / 1000 == limit / 1000 ||
              expected / 1000 == -(limit / 1000));
        if (!after) continue;
        if (after != text.at + length || ns != (int64_t)expected || count != (decimals < 8 ? decimals : 8)) {
            HARNESS_FAIL("%s is %" PRId64, data, ns);
            return;
        }
    }
    int64_t ns;
    uint32_t count, fraction;
    static const char *const others[] = {"1.", "1e3", "1.5e3", "", "-", ".5", "\"1\""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put(&text, others[i], strlen(others[i]));
        CHECK(!scan_portable.time(text.at, &ns, &count, &fraction));
    }
    put(&text, "7.012", 5);
    CHECK(scan_portable.time(text.at, &ns, &count, &fraction) && ns == 7012 && count == 3 && fraction == 12);
}

TEST(triples_have_three_integers) {
    static const struct {
        const char *text;
        bool good;
    } cases[] = {{"[1,2,3]", true},
                 {"[ 1 ,\t-2 , 3\n]", true},
                 {"[1,2]", false},
                 {"[1,2,3,4]", false},
                 {"[1,2,2147483648]", false},
                 {"[1,2,3", false},
                 {"[1,2,2147483647]", true},
                 {"[1,,3]", false},
                 {"(1,2,3)", false},
                 {"[1.5,2,3]", false},
                 {"[]", false}};
    padded text;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t out[3];
        put(&text, cases[i].text, strlen(cases[i].text));
        const uint8_t *after = scan_portable.triple(text.at, text.end, out);
        CHECK(after == (cases[i].good ? text.end : NULL));
    }
}
