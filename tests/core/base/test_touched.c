// SPDX-License-Identifier: Apache-2.0
// Pages that a process touches between two points: Linux's own account, and how its text is read.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/touched.h"
#include "harness.h"

static const char maps[] =
    "5590-5591 r--p 00000000 08:02 7 /bin/p\nRss: 4 kB\nReferenced: 4 kB\nVmFlags: rd mr\n"
    "5591-5592 r-xp 00001000 08:02 7 /bin/p\nReferenced: 8 kB\n"
    "5592-5593 rw-p 00002000 08:02 7 /bin/p\nReferenced:           16 kB\n"
    "7f00-7f10 r--p 00000000 08:02 9 /data with a name that is Referenced: 512 kB\nReferenced: 32 kB\n"
    "7f20-7f30 rw-p 00000000 00:00 0\nReferenced: 6000 kB\nAnonymous: 128 kB\nAnonHugePages: 8192 kB\n"
    "7f30-7f31 r--p 00000000 00:00 0 [vvar]\nReferenced: 256 kB\n";

TEST(constants_and_instructions_of_programs_do_not_count_and_files_of_data_do) {
    for (size_t piece = 1; piece < sizeof maps; piece += piece < 8 ? 1 : 61) {
        rgm_touched_text state = {0};
        for (size_t at = 0; at < sizeof maps - 1; at += piece) {
            size_t left = sizeof maps - 1 - at;
            rgm_touched_take(&state, maps + at, left < piece ? left : piece);
        }
        rgm_touched_memory found = rgm_touched_total(&state);
        CHECK(found.bytes == (16 + 32 + 6000 + 256) * 1024);
        CHECK(found.huge == 4 << 20);
    }
}

TEST(lines_that_nobody_wrote_are_none_of_it) {
    char text[4096];
    memset(text, 'x', sizeof text); // a line that is longer than all
    rgm_touched_text state = {0};
    rgm_touched_take(&state, text, sizeof text);
    rgm_touched_take(&state, "\nReferenced: 99999999999999999999 kB\nReferenced: kB\n1-2\n", 55);
    CHECK(rgm_touched_total(&state).bytes == 0);
}

TEST(what_is_read_and_written_is_found) {
    enum { BYTES = 8 << 20 };
    char *block = malloc(BYTES);
    REQUIRE(block);
    memset(block, 1, BYTES);
    rgm_touched touched;
    if (rgm_touched_begin(&touched) != 0) return; // a system that does not mark pages
    int64_t nothing = rgm_touched_end(&touched).bytes;
    REQUIRE(rgm_touched_begin(&touched) == 0);
    long sum = 0;
    for (size_t i = 0; i < BYTES / 2; i += 64) sum += block[i];
    int64_t half = rgm_touched_end(&touched).bytes;
    CHECK(sum == BYTES / 2 / 64);
    CHECK(nothing >= 0 && nothing < BYTES / 8);
    CHECK(half >= BYTES / 2 && half < BYTES + (4 << 20));
    CHECK(rgm_touched_end(&touched).bytes == -1); // once
    free(block);
}
