// SPDX-License-Identifier: Apache-2.0
// Blocks beyond a budget lie in a file, and everything that is made of them is the same.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/spill.h"
#include "harness.h"

enum { KB = 1 << 10, MB = 1 << 20, BUDGET = MB };

static const char *folder(void) {
    const char *named = getenv("REGIMETER_SPILL");
    return named ? named : "/var/tmp";
}

// Stands before the one of the system, for a disk that can be full.
static bool disk_is_full;
int posix_fallocate(int file, off_t offset, off_t length) {
    if (disk_is_full) return ENOSPC;
    return fallocate(file, 0, offset, length) == 0 ? 0 : errno;
}

static void fill(uint8_t *block, size_t bytes, uint8_t seed) {
    for (size_t i = 0; i < bytes; i++) block[i] = (uint8_t)(seed + i * 7 + (i >> 12));
}

static bool holds(const uint8_t *block, size_t bytes, uint8_t seed) {
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != (uint8_t)(seed + i * 7 + (i >> 12))) return false;
    return true;
}

TEST(nothing_is_spilled_before_it_is_begun) {
    void *block = rgm_malloc(4 * MB);
    CHECK(block && !rgm_spill_owns(block) && !rgm_spill_takes(4 * MB));
    CHECK(!rgm_spill_now().on);
    rgm_free(block);
}

TEST(folders_that_cannot_be_used_are_named) {
    rgm_error err;
    CHECK_EQ_I64(rgm_spill_begin("/nowhere/at/all", BUDGET, &err), RGM_IO);
    CHECK(err.os_errno == ENOENT && strstr(err.message, "/nowhere/at/all"));
    CHECK(!rgm_spill_now().on);
    if (access("/dev/shm", W_OK) != 0) return;
    CHECK_EQ_I64(rgm_spill_begin("/dev/shm", BUDGET, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "/dev/shm") && strstr(err.message, "REGIMETER_SPILL"));
}

// What lies in the heap moves as soon as it grows; what the budget has room for stays in memory.
TEST(blocks_of_before_move_when_they_grow) {
    uint8_t *heap = rgm_malloc(100 * KB), *pages = rgm_block_realloc(NULL, 400 * KB);
    REQUIRE(heap && pages);
    fill(heap, 100 * KB, 1);
    fill(pages, 400 * KB, 2);
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = rgm_spill_begin(folder(), BUDGET, &err);
    if (status != RGM_OK) HARNESS_FAIL("%s", err.message);
    CHECK_OK(status);
    CHECK(!rgm_spill_owns(heap) && !rgm_spill_owns(pages));
    heap = rgm_realloc(heap, 200 * KB);
    CHECK(rgm_spill_owns(heap) && rgm_spill_now().in_memory > 200 * KB && rgm_spill_now().in_file == 0);
    pages = rgm_block_realloc(pages, 4 * MB);
    CHECK(rgm_spill_owns(pages) && rgm_spill_now().in_file > 4 * MB);
    CHECK(holds(heap, 100 * KB, 1) && holds(pages, 400 * KB, 2));
    rgm_free(heap);
    rgm_block_free(pages);
    CHECK(rgm_spill_now().in_memory == 0 && rgm_spill_now().in_file == 0);
}

TEST(small_blocks_stay_in_the_heap) {
    void *block = rgm_malloc(RGM_SPILL_LEAST - 1);
    CHECK(block && !rgm_spill_owns(block) && !rgm_spill_owns(NULL));
    rgm_free(block);
}

// Some hundred blocks that are made, grow, shrink and go in any order, beyond the budget and below it.
TEST(blocks_keep_what_is_in_them) {
    enum { BLOCKS = 40, TURNS = 1500 };
    static uint8_t *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    int64_t live = rgm_memory_live();
    srand(7);
    for (int turn = 0; turn < TURNS; turn++) {
        int i = rand() % BLOCKS;
        uint8_t seed = (uint8_t)(i * 3);
        size_t bytes = (size_t)(rand() % 10 ? 1 + rand() % (300 * KB) : 1 + rand() % (2 * MB));
        if (blocks[i] && !holds(blocks[i], sizes[i], seed)) HARNESS_FAIL("block %d changed", i);
        if (rand() % 4 == 0) {
            rgm_free(blocks[i]);
            blocks[i] = NULL;
            continue;
        }
        uint8_t *grown = rgm_realloc(blocks[i], bytes);
        REQUIRE(grown);
        if (blocks[i] && !holds(grown, bytes < sizes[i] ? bytes : sizes[i], seed))
            HARNESS_FAIL("block %d lost bytes", i);
        blocks[i] = grown;
        sizes[i] = bytes;
        fill(grown, bytes, seed);
    }
    CHECK(rgm_spill_now().most_in_file > BUDGET);
    CHECK(rgm_spill_now().in_memory <= BUDGET);
    for (int i = 0; i < BLOCKS; i++) rgm_free(blocks[i]);
    CHECK_EQ_I64(rgm_memory_live(), live);
    CHECK(rgm_spill_now().in_memory == 0 && rgm_spill_now().in_file == 0);
}

TEST(rooms_are_zeros_when_they_are_used_again) {
    for (int turn = 0; turn < 3; turn++) {
        uint8_t *in_memory = rgm_calloc(1, 900 * KB), *in_file = rgm_calloc(3 * MB, 1);
        REQUIRE(in_memory && in_file);
        for (size_t i = 0; i < 900 * KB; i++) CHECK(in_memory[i] == 0);
        for (size_t i = 0; i < 3 * MB; i++) CHECK(in_file[i] == 0);
        memset(in_memory, 1, 900 * KB);
        memset(in_file, 1, 3 * MB);
        rgm_free(in_memory);
        rgm_free(in_file);
    }
}

TEST(a_block_of_a_full_disk_that_finds_room_in_memory_was_not_refused) {
    rgm_error err;
    uint8_t *in_memory = rgm_malloc(900 * KB), *in_file = rgm_malloc(900 * KB);
    REQUIRE(in_memory && in_file && rgm_spill_now().in_file > 0);
    rgm_free(in_memory);
    disk_is_full = true;
    uint8_t *grown = rgm_realloc(in_file, 950 * KB);
    disk_is_full = false;
    CHECK(grown && grown != in_file && rgm_spill_now().in_file == 0);
    CHECK(!rgm_spill_refused(&err));
    rgm_free(grown);
}

// The block that was to grow stays what it was, and the next one finds room again.
TEST(a_full_disk_refuses_a_block_and_says_so) {
    enum { BLOCK = 2 * MB };
    rgm_error err;
    CHECK(!rgm_spill_refused(&err));
    uint8_t *block = rgm_malloc(BLOCK), *column = rgm_block_realloc(NULL, BLOCK);
    REQUIRE(block && column);
    fill(block, BLOCK, 5);
    fill(column, BLOCK, 6);
    int64_t live = rgm_memory_live();
    disk_is_full = true;
    CHECK(rgm_realloc(block, 2 * BLOCK) == NULL && rgm_block_realloc(column, 8 * BLOCK) == NULL);
    CHECK(rgm_malloc(BLOCK) == NULL && rgm_calloc(BLOCK, 2) == NULL);
    disk_is_full = false;
    CHECK(rgm_spill_refused(&err) && err.os_errno == ENOSPC && err.status == RGM_IO);
    CHECK(strstr(err.message, folder()) && strstr(err.message, "REGIMETER_SPILL"));
    CHECK(!rgm_spill_refused(&err));
    CHECK(rgm_malloc(SIZE_MAX / 8) == NULL && rgm_spill_refused(&err) && err.os_errno == ENOMEM);
    CHECK(holds(block, BLOCK, 5) && holds(column, BLOCK, 6));
    CHECK_EQ_I64(rgm_memory_live(), live);
    block = rgm_realloc(block, 2 * BLOCK);
    CHECK(block && holds(block, BLOCK, 5));
    rgm_free(block);
    rgm_block_free(column);
}

// Columns leave half of the budget to scratch memory.
TEST(scratch_memory_finds_room_beside_columns) {
    uint8_t *columns[20] = {0};
    for (int i = 0; i < 20; i++) columns[i] = rgm_block_realloc(NULL, 100 * KB);
    CHECK(rgm_spill_now().in_file > 0 && rgm_spill_now().in_memory <= BUDGET / 2);
    uint64_t in_file = rgm_spill_now().in_file;
    void *scratch = rgm_malloc(400 * KB);
    CHECK(scratch && rgm_spill_now().in_file == in_file);
    rgm_free(scratch);
    for (int i = 0; i < 20; i++) rgm_block_free(columns[i]);
}

// What a child does to the blocks is not seen here, and what is given back here stays readable there.
TEST(a_child_has_memory_of_its_own) {
    enum { BLOCK = 3 * MB };
    uint8_t *block = rgm_malloc(BLOCK), *grown = rgm_malloc(BLOCK), *gone = rgm_malloc(BLOCK);
    REQUIRE(block && grown && gone);
    fill(block, BLOCK, 1);
    fill(grown, BLOCK, 2);
    fill(gone, BLOCK, 3);
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        bool good = read(pipes[0], &byte, 1) == 1; // until the parent has given a block back
        rgm_free(block);
        grown = rgm_realloc(grown, BLOCK + KB);
        uint8_t *fresh = rgm_calloc(1, BLOCK);
        if (!grown || !fresh) _exit(2);
        good = good && holds(gone, BLOCK, 3) && holds(grown, BLOCK, 2) && fresh[BLOCK - 1] == 0;
        memset(grown, 9, BLOCK);
        memset(fresh, 9, BLOCK);
        _exit(good ? 0 : 1);
    }
    rgm_free(gone);
    uint8_t *later = rgm_malloc(BLOCK);
    fill(later, BLOCK, 4);
    CHECK(write(pipes[1], "x", 1) == 1);
    int ended = -1;
    CHECK(waitpid(child, &ended, 0) == child && ended == 0);
    CHECK(holds(block, BLOCK, 1) && holds(grown, BLOCK, 2) && holds(later, BLOCK, 4));
    rgm_free(block);
    rgm_free(grown);
    rgm_free(later);
    close(pipes[0]);
    close(pipes[1]);
}

TEST(a_second_call_sets_the_budget) {
    CHECK_OK(rgm_spill_begin("/nowhere/at/all", 8 * MB, NULL));
    CHECK_EQ_U64(rgm_spill_now().budget, 8 * MB);
    void *block = rgm_malloc(4 * MB);
    CHECK(block && rgm_spill_now().in_file == 0);
    rgm_free(block);
}
