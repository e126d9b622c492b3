// SPDX-License-Identifier: Apache-2.0
// Pieces of JSON text: unescaping, quoting, removing spaces, checks, members.
#include "io/json/json_text.h"

#include "base/utf8.h"
#include "io/json/json_value.h"

#include "importing.h"

static const char *terminated(rgm_bytes *out) {
    rgm_bytes_append(out, "", 1);
    return (const char *)out->data;
}

// The text is copied to a block of its own size, so that a sanitizer sees a read behind its end.
static uint8_t *exactly(const char *text, size_t length) {
    uint8_t *copy = malloc(length + !length);
    if (!copy) abort();
    memcpy(copy, text, length);
    return copy;
}

static size_t unescaped(rgm_bytes *out, const char *text) {
    uint8_t *copy = exactly(text, strlen(text));
    rgm_bytes_reset(out);
    size_t wrong = rgm_json_unescape(out, copy, strlen(text));
    free(copy);
    return wrong;
}

TEST(escapes_stand_for_their_characters) {
    static const struct {
        const char *text, *expected;
        size_t wrong;
    } cases[] = {
        {"", "", 0},
        {"plain", "plain", 0},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 0},
        {"\\u0041\\u00e9\\u20AC\\ud83d\\ude00", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 0},
        {"\\ud83d", "\xEF\xBF\xBD", 0},
        {"\\ud83dx", "\xEF\xBF\xBDx", 0},
        {"\\ude00\\ud83d", "\xEF\xBF\xBD\xEF\xBF\xBD", 0},
        {"\\ud83d\\u0041",
         "\xEF\xBF\xBD"
         "A",
         0},
        {"C:\\x\\u12", "C:\\x\\u12", 2},
        {"end\\", "end\\", 1},
        {"\\u", "\\u", 1},
        {"\\uzzzz", "\\uzzzz", 1},
    };
    rgm_bytes out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_U64(unescaped(&out, cases[i].text), cases[i].wrong);
        CHECK_STR_EQ(terminated(&out), cases[i].expected);
    }
    rgm_bytes_release(&out);
}

TEST(quoting_and_unescaping_are_inverse) {
    rgm_bytes quoted = {0}, back = {0};
    for (int round = 0; round < 2000; round++) {
        uint8_t text[24];
        size_t length = random_below(sizeof text);
        for (size_t i = 0; i < length; i++)
            text[i] =
                random_below(3) ? (uint8_t)"\"\\u0/n\x01\x1F"[random_below(8)] : (uint8_t)random_below(256);
        rgm_bytes_reset(&quoted);
        rgm_bytes_reset(&back);
        rgm_json_quote(&quoted, text, length, false);
        REQUIRE(quoted.length >= 2);
        CHECK_EQ_U64(rgm_json_unescape(&back, quoted.data + 1, quoted.length - 2), 0);
        CHECK(back.length == length && (!length || memcmp(back.data, text, length) == 0));
    }
    rgm_json_quote(&quoted, (const uint8_t *)"\\n", 2, true);
    CHECK(quoted.length > 4 && memcmp(quoted.data + quoted.length - 4, "\"\\n\"", 4) == 0);
    rgm_bytes_release(&quoted);
    rgm_bytes_release(&back);
}

static void check_compact(const char *text, const char *expected) {
    rgm_bytes out = {0};
    rgm_bytes_append(&out, "before", 6);
    uint8_t *copy = exactly(text, strlen(text));
    bool good = rgm_json_compact(&out, copy, strlen(text));
    free(copy);
    if (good != (expected != NULL)) HARNESS_FAIL("%s was %s", text, good ? "taken" : "refused");
    CHECK_EQ_U64(out.length, 6 + (expected ? strlen(expected) : 0));
    CHECK_STR_EQ(terminated(&out) + 6, expected ? expected : "");
    rgm_bytes_release(&out);
}

TEST(values_lose_their_spaces) {
    check_compact(" 1 ", "1");
    check_compact("-0.5e+10", "-0.5e+10");
    check_compact("NaN", "NaN");
    check_compact("-Infinity", "-Infinity");
    check_compact("\ttrue\r\n", "true");
    check_compact("\" a \\\" , ] \"", "\" a \\\" , ] \"");
    check_compact("[ ]", "[]");
    check_compact("{ }", "{}");
    check_compact("[ 1 , [ ] , { \"a\" : [ null ] , \"b\" : \"}\" } ]", "[1,[],{\"a\":[null],\"b\":\"}\"}]");
}

TEST(what_is_no_json_is_refused) {
    static const char *const bad[] = {
        "",      " ",    "1 2",       "01",      "1.",        ".5",        "-",        "1e",    "+1",
        "tru",   "nan",  "\"",        "\"\\q\"", "\"\\u12\"", "\"a\\",     "[",        "]",     "[1",
        "[1,",   "[1,]", "[,1]",      "[1 2]",   "{",         "{\"a\"}",   "{\"a\":}", "{a:1}", "{\"a\":1,}",
        "{1:2}", "[1}",  "{\"a\":1]", "[]]",     "{\"a\" 1}", "[\"a\":1]", "'a'",      "[1]x",  "\"a\"b",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) check_compact(bad[i], NULL);
}

TEST(depth_is_limited) {
    for (int depth = RGM_JSON_DEPTH - 1; depth <= RGM_JSON_DEPTH + 1; depth++) {
        char text[4 * RGM_JSON_DEPTH] = {0};
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        check_compact(text, depth <= RGM_JSON_DEPTH ? text : NULL);
        CHECK_EQ_I64(rgm_json_too_deep((const uint8_t *)text, strlen(text)), depth > RGM_JSON_DEPTH);
    }
    CHECK(!rgm_json_too_deep((const uint8_t *)"]]]][]", 6));
}

static bool utf8(const char *text) { return rgm_utf8_valid((const uint8_t *)text, strlen(text)); }

// Decodes by the table of RFC 3629, as naively as possible.
static bool utf8_naive(const uint8_t *s, size_t n) {
    for (size_t i = 0; i < n;) {
        uint32_t c = s[i];
        size_t more = c < 0x80 ? 0 : (c >> 5) == 6 ? 1 : (c >> 4) == 14 ? 2 : (c >> 3) == 30 ? 3 : 9;
        if (more == 9 || more > n - i - 1) return false;
        c &= more == 0 ? 0x7F : more == 1 ? 0x1F : more == 2 ? 0x0F : 0x07;
        for (size_t k = 1; k <= more; k++) {
            if (s[i + k] >> 6 != 2) return false;
            c = c << 6 | (s[i + k] & 0x3F);
        }
        static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
        if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return false;
        i += more + 1;
    }
    return true;
}

TEST(utf8_is_told_from_other_bytes) {
    CHECK(utf8("") && utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
    CHECK(!utf8("\x80") && !utf8("\xC3") && !utf8("\xC0\xAF") && !utf8("\xED\xA0\x80") &&
          !utf8("\xF5\x80\x80\x80"));
    static const uint8_t likely[] = {0,    0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                     0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                     0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    for (int round = 0; round < 200000; round++) {
        uint8_t text[5];
        size_t length = random_below(5) + 1;
        for (size_t i = 0; i < length; i++) text[i] = likely[random_below(sizeof likely)];
        if (rgm_utf8_valid(text, length) != utf8_naive(text, length)) {
            HARNESS_FAIL("%02x %02x %02x %02x %02x, %zu bytes", text[0], text[1], text[2], text[3], text[4],
                         length);
            return;
        }
    }
}

static bool valid(const char *text) {
    uint8_t *copy = exactly(text, strlen(text));
    bool good = rgm_json_string_valid(copy, strlen(text));
    free(copy);
    return good;
}

TEST(strings_are_valid_or_not) {
    CHECK(valid("") && valid("a b") && valid("\\u00e9\\n") && valid("\xC3\xA9") && valid("\x7F"));
    CHECK(!valid("\n") && !valid("\x1F") && !valid("\\") && !valid("\\x") && !valid("\\u123") &&
          !valid("\xFF"));
}

TEST(members_are_walked_over) {
    const char *text = "\"a\":1,\"b\\\"\":[1,{\"c\":\",\"}],\"\":\"x,y\\\"\",\"d\":{}";
    static const char *const keys[] = {"a", "b\\\"", "", "d"};
    static const char *const values[] = {"1", "[1,{\"c\":\",\"}]", "\"x,y\\\"\"", "{}"};
    rgm_json_members walk = rgm_json_members_of((const uint8_t *)text, strlen(text));
    for (size_t i = 0; i < 4; i++) {
        REQUIRE(rgm_json_next(&walk));
        CHECK(walk.key_length == strlen(keys[i]) && memcmp(walk.key, keys[i], walk.key_length) == 0);
        size_t length = (size_t)(walk.end - walk.value);
        CHECK(length == strlen(values[i]) && memcmp(walk.value, values[i], length) == 0);
    }
    CHECK(!rgm_json_next(&walk));
    walk = rgm_json_members_of(NULL, 0);
    CHECK(!rgm_json_next(&walk));
}
