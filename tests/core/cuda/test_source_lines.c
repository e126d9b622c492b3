// SPDX-License-Identifier: Apache-2.0
// Lines of source of instructions: those that the real CUPTI tells where it is installed, which needs no
// driver for it, are those of the double; and what is kept of the binaries that a program loads.
#include <dlfcn.h>
#include <stdlib.h>

#include "cuda/counters/counter_host.h"
#include "cuda/stalls/cubins.h"
#include "cuda/stalls/source_lines.h"
#include "harness.h"

// As test_counters_host.c: the real library opens another with RTLD_DEEPBIND.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

typedef struct {
    unsigned char *bytes;
    size_t size;
} binary;

static binary read_binary(const char *name) {
    char path[256];
    binary b = {0};
    (void)snprintf(path, sizeof path, "tests/data/cubins/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file) abort();
    (void)fseek(file, 0, SEEK_END);
    b.size = (size_t)ftell(file);
    rewind(file);
    b.bytes = malloc(b.size);
    if (!b.bytes || fread(b.bytes, 1, b.size, file) != b.size) abort();
    (void)fclose(file);
    return b;
}

// --- what a library is to this test -----------------------------------------------------------------------

static rgm_cupti_number_cubin asked;

static rgm_cupti_result take_question(rgm_cupti_number_cubin number) {
    asked = number;
    return RGM_CUPTI_SUCCESS;
}

static char texts[64][256];
static uint32_t text_count;

static uint32_t intern(void *arg, const char *text, size_t length) {
    (void)arg;
    for (uint32_t i = 1; i <= text_count; i++)
        if (strlen(texts[i]) == length && memcmp(texts[i], text, length) == 0) return i;
    memcpy(texts[++text_count], text, length);
    texts[text_count][length] = '\0';
    return text_count;
}

static rgm_cupti library_of(const char *path) {
    rgm_cupti cupti = {.register_cubins = take_question};
    void *handle = dlopen(path, RTLD_NOW);
    void *address = handle ? dlsym(handle, "cuptiGetSassToSourceCorrelation") : NULL;
    if (!address) abort();
    memcpy(&cupti.source_line, &address, sizeof address);
    return cupti;
}

static void expect(rgm_source_lines *lines, uint64_t number, uint64_t offset, uint32_t wanted) {
    uint32_t file, line;
    rgm_cupti_pc pc = {.cubin = number, .offset = offset, .name = "add"};
    for (int times = 0; times < 2; times++) { // the second time it is known
        rgm_source_lines_find(lines, &pc, &file, &line);
        CHECK_EQ_U64(line, wanted);
        CHECK_STR_EQ(file ? texts[file] : "", wanted ? "/tmp/kernels/add.cu" : "");
    }
}

static void check_lines(const rgm_cupti *cupti) {
    static const struct {
        uint64_t offset;
        uint32_t line;
    } cases[] = {{0x0, 3}, {0x10, 4}, {0x40, 4}, {0x50, 5}, {0x70, 5}, {0x80, 6}, {0x100, 6}, {0x110, 7}};
    binary with = read_binary("add_with_lines.cubin"), without = read_binary("add.cubin");
    rgm_source_lines lines;
    uint64_t number = 0, other = 0;
    rgm_source_lines_start(&lines, cupti, (rgm_device_sink){.intern = intern});
    CHECK(lines.on);
    asked(with.bytes, with.size, &number);
    asked(without.bytes, without.size, &other);
    CHECK(number && other && number != other);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(&lines, number, cases[i].offset, cases[i].line);
    expect(&lines, other, 0x80, 0);
    expect(&lines, number + 1, 0x80, 0);
    uint32_t file, line;
    rgm_cupti_pc strange = {.cubin = number, .offset = 0x80, .name = "another"};
    rgm_source_lines_find(&lines, &strange, &file, &line);
    CHECK_EQ_U64(line, 0);
    CHECK_EQ_U64(file, 0);
    rgm_cubin_counts counts = rgm_cubins_read();
    CHECK_EQ_I64(counts.seen, 2);
    CHECK_EQ_I64(counts.with_lines, 1);
    CHECK_EQ_I64(counts.left_out, 0);
    rgm_source_lines_stop(&lines);
    const void *bytes;
    size_t size;
    CHECK(!rgm_cubins_find(number, &bytes, &size)); // gone with the last that watched
    free(with.bytes);
    free(without.bytes);
}

// --- tests ------------------------------------------------------------------------------------------------

TEST(the_double_tells_lines) {
    rgm_cupti cupti = library_of(FAKES "/libfake_cupti.so");
    check_lines(&cupti);
}

TEST(the_real_library_tells_the_same) {
    const rgm_counter_library *library;
    rgm_error err;
    (void)setenv("REGIMETER_LIBCUDA", "off", 1);
    if (SANITIZED || rgm_counter_library_get(&library, &err) != RGM_OK) {
        (void)fprintf(stderr, "skipped: %s\n", SANITIZED ? "not under a sanitizer" : err.message);
        return;
    }
    rgm_cupti cupti = library_of(library->library.path);
    check_lines(&cupti);
}

TEST(a_library_that_does_not_ask_has_no_lines) {
    rgm_cupti cupti = {.library.missing = 1u << RGM_CUPTI_SOURCE_LINES};
    rgm_source_lines lines;
    uint32_t file, line;
    rgm_cupti_pc pc = {.cubin = 1, .name = "add"};
    rgm_source_lines_start(&lines, &cupti, (rgm_device_sink){.intern = intern});
    CHECK(!lines.on);
    rgm_source_lines_find(&lines, &pc, &file, &line);
    CHECK_EQ_U64(line, 0);
    rgm_source_lines_stop(&lines);
}

TEST(nobody_watches_and_nothing_is_kept) {
    binary with = read_binary("add_with_lines.cubin");
    rgm_cupti cupti = {.register_cubins = take_question};
    CHECK(rgm_cubins_watch(&cupti));
    rgm_cubins_unwatch();
    uint64_t number = 0;
    const void *bytes;
    size_t size;
    asked(with.bytes, with.size, &number);
    CHECK(number != 0);
    CHECK(!rgm_cubins_find(number, &bytes, &size));
    free(with.bytes);
}

// Every length, and every byte of the head and of the table of sections wrong: never read outside.
TEST(a_broken_binary_is_one_without_lines) {
    binary with = read_binary("add_with_lines.cubin");
    CHECK(rgm_cubin_has_lines(with.bytes, with.size));
    CHECK(!rgm_cubin_has_lines("//", 2));
    for (size_t size = 0; size < with.size; size++) {
        unsigned char *cut = malloc(size + 1);
        REQUIRE(cut);
        memcpy(cut, with.bytes, size);
        (void)rgm_cubin_has_lines(cut, size);
        free(cut);
    }
    for (size_t at = 0; at < with.size; at += at < 64 || at > with.size - 2048 ? 1 : 64)
        for (int value = 0; value < 256; value += 85) {
            unsigned char before = with.bytes[at];
            with.bytes[at] = (unsigned char)value;
            (void)rgm_cubin_has_lines(with.bytes, with.size);
            with.bytes[at] = before;
        }
    binary without = read_binary("add.cubin");
    CHECK(!rgm_cubin_has_lines(without.bytes, without.size));
    free(with.bytes);
    free(without.bytes);
}
