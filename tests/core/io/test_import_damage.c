// SPDX-License-Identifier: Apache-2.0
// Damaged traces that are longer than the windows they are read through: the run is the same however the text
// is cut and whoever reads it, and what damage may cost is bounded alike.
#include "everything.h"
#include "importing.h"
#include "io/trace/trace_gap.h"
#include "pieces.h"

enum { LONG = 1 << 20, COSTLY = 640 << 10 }; // windows have 256 KiB

static const char *const shapes[] = {
    EVENT("plain", "7"),
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"lists\",\"pid\":1,\"tid\":2,\"ts\":8,\"dur\":3,\"args\":{"
    "\"Input "
    "Dims\":[[1,2],[]],\"Input type\":[\"float\",\"\",\"int\"],\"odd\":{\"a\":[\"x\"]}}}",
    "{\"name\":\"name first\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":9,\"dur\":3,\"args\":{\"mine\":[1,2]}}",
    "{\n  \"ph\": \"i\", \"name\": \"instant\", \"pid\": 1, \"tid\": 2, \"ts\": 10\n}",
};

// A long list of events of several shapes, `count` bytes of which are damaged.
static char *damaged_text(size_t count) {
    char *text = malloc(LONG + 512);
    if (!text) abort();
    size_t length = 0;
    text[length++] = '[';
    while (length < LONG) {
        const char *shape = shapes[random_below(sizeof shapes / sizeof *shapes)];
        length += (size_t)sprintf(text + length, "%s%s", shape, random_below(2) ? "," : ",\n");
    }
    (void)strcpy(text + length, EVENT("last", "99") "]");
    static const char junk[] = "\"\"\"\"{}[],:\\x\n";
    for (; count; count--) {
        size_t at = 1 + random_below(LONG);
        // Neighbours are damaged alike, often with the same sort of junk.
        size_t repeats = 1 + random_below(3);
        for (char c = junk[random_below(sizeof junk - 1)]; repeats; repeats--, at += random_below(300))
            if (at < LONG) text[at] = c;
    }
    return text;
}

static void check_accounts(const rgm_run *run) {
    int64_t lost = 0;
    for (size_t i = 0; i < run->anomalies.rows; i++) lost += run->anomalies.lost[i];
    CHECK_EQ_I64(run->files.events[0], run->files.kept[0] + lost);
}

static void check_every_way(const char *text, int64_t waste) {
    rgm_run *whole = import_with(text, (rgm_import_options){.threads = 1, .waste = waste});
    REQUIRE(whole);
    check_accounts(whole);
    static const size_t sizes[] = {1000, 65537, 131073, 200000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += ONE_IN(4)) {
        pieces p = {text, strlen(text), 0, sizes[i]};
        rgm_source source = {.read = read_piece, .context = &p, .name = "test"};
        rgm_import_options options = {.threads = 1, .waste = waste};
        rgm_run *run = NULL;
        CHECK_OK(rgm_trace_import(&source, &options, &run, NULL));
        REQUIRE(run);
        CHECK_SAME_RUN(whole, run, "pieces of %zu", sizes[i]);
        rgm_run_free(run);
    }
    static const int64_t stripes[] = {2000, 4099, 30000, 262144};
    for (size_t i = 0; i < sizeof stripes / sizeof *stripes; i++) {
        rgm_run *run =
            import_with(text, (rgm_import_options){.threads = 2, .stripe = stripes[i], .waste = waste});
        REQUIRE(run);
        CHECK_SAME_RUN(whole, run, "stripes of %" PRId64, stripes[i]);
        rgm_run_free(run);
    }
    rgm_run_free(whole);
}

TEST(damage_is_read_alike_in_all_pieces_and_by_two_threads) {
    for (uint64_t seed = 1; seed <= 12; seed += ONE_IN(3)) {
        random_state = seed;
        char *text = damaged_text(seed % 4 ? 3 * seed : 400);
        check_every_way(text, 0);
        free(text);
    }
}

// Each level seems to go on to the end of its block, so that reading it costs the block: 20 times in all.
static char *costly_text(void) {
    char *text = malloc(COSTLY + 512);
    if (!text) abort();
    size_t length = (size_t)sprintf(text, "[" EVENT("first", "1"));
    while (length < COSTLY - 20000) {
        for (int i = 0; i < 20; i++)
            length += (size_t)sprintf(text + length, ",%s{\"ph\":[1", i % 2 ? "" : "\n");
        for (int i = 0; i < 100; i++)
            length +=
                (size_t)sprintf(text + length, ",{\"ph\":\"X\",\"name\":\"in\",\"ts\":%d,\"dur\":1}", i);
        length += (size_t)sprintf(text + length, ";");
    }
    (void)sprintf(text + length, "," EVENT("last", "99") "]");
    return text;
}

TEST(threads_give_up_at_the_same_place) {
    char *text = costly_text();
    int64_t before = 0;
    for (int64_t waste = 1000; waste <= 1 << 26; waste *= 8) {
        rgm_run *run = import_with(text, (rgm_import_options){.threads = 1, .waste = waste});
        REQUIRE(run);
        CHECK(run->files.kept[0] >= before); // a larger bound reads on further
        before = run->files.kept[0];
        rgm_run_free(run);
        check_every_way(text, waste);
    }
    rgm_run *some = import_with(text, (rgm_import_options){.threads = 1, .waste = 1000});
    rgm_run *all = import_text(text);
    REQUIRE(some && all);
    CHECK_EQ_I64(span_count(some, "last"), 0);
    CHECK_EQ_I64(span_count(all, "last"), 1);
    // What was given up is counted: an event for each key "ph" in it.
    CHECK(some->files.kept[0] < all->files.kept[0] / 2);
    int64_t keys = 0;
    for (const char *at = text; (at = strstr(at, "\"ph\"")); at++) keys++;
    CHECK_EQ_I64(some->files.events[0], keys);
    CHECK(all->files.events[0] >= keys);
    rgm_run_free(some);
    rgm_run_free(all);
    free(text);
}

TEST(what_looks_like_an_event) {
    static const struct {
        const char *before, *text;
        rgm_event_guess guess;
    } cases[] = {
        {",", "{\"ph\":1", RGM_EVENT_YES},
        {"x", "{ \"ph\" : 1", RGM_EVENT_YES},
        {": ", "{\"ph\":1", RGM_EVENT_NO},
        {"},\n", "{\n\"args\":{", RGM_EVENT_YES},
        {"x", "{\"args\":{", RGM_EVENT_NO},
        {",", "{\"name\":\"x\",\"ph\":\"X\"", RGM_EVENT_YES},
        {",", "{\"name\":\"x\"},{\"ph\":\"X\"", RGM_EVENT_NO},
        {",", "{\"name\":\"x\",\"args\":{\"ph\":1}}", RGM_EVENT_NO},
        {",", "{\"name\":\"{\\\"ph\\\":1\"}", RGM_EVENT_NO},
        {",", "{\"ph\" 1", RGM_EVENT_NO},
        {",", "{ph\":1", RGM_EVENT_YES}, // one quote may be missing
        {",", "{\"ph:1", RGM_EVENT_YES},
        {",", "{ph:1", RGM_EVENT_NO},
        {",", "{\"name: \"x\",\"ph\":\"X\"", RGM_EVENT_YES},
        {",", "{}", RGM_EVENT_NO},
        {",", "{\"ph", RGM_EVENT_UNSURE},
        {",", "{\"name\":\"x\",\"pid\":1", RGM_EVENT_UNSURE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        int length = snprintf(text, sizeof text, "%s%s", cases[i].before, cases[i].text);
        const uint8_t *begin = (const uint8_t *)text, *at = begin + strlen(cases[i].before);
        CHECK_EQ_I64(rgm_trace_begins_event(at, begin, begin + length, false), cases[i].guess);
        rgm_event_guess final = cases[i].guess == RGM_EVENT_UNSURE ? RGM_EVENT_NO : cases[i].guess;
        CHECK_EQ_I64(rgm_trace_begins_event(at, begin, begin + length, true), final);
    }
}

// Rows of a text are those of its parts, wherever it is cut.
TEST(rows_of_a_gap_can_be_counted_in_parts) {
    static const struct {
        const char *text;
        int64_t rows;
    } cases[] = {
        {"nothing", 0},
        {"\"ph\":1,\"ts\":2", 1},
        {"\"ph\":1,\"ph\" : 2", 2},
        {"{\"ph\":1,\"ts\":2},{\"ts\":3},{\"pid\":3},{\"x\":3}", 3},
        {"{\"name\":1},{\"name\":2},{\"x\":[{\"name\":3}]", 2},
        {"\"ts\":1,{\"args\":{\"ts\":1},\"ph\":2},\"ph\":1", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *begin = (const uint8_t *)cases[i].text, *end = begin + strlen(cases[i].text);
        for (const uint8_t *cut = begin; cut <= end; cut++) {
            rgm_trace_stretch first = {0}, second = {0};
            rgm_trace_stretch_read(&first, begin, cut, begin, end);
            rgm_trace_stretch_read(&second, cut, end, begin, end);
            rgm_trace_stretch_join(&first, &second);
            CHECK_EQ_I64(rgm_trace_stretch_rows(&first), cases[i].rows);
        }
    }
}
