// SPDX-License-Identifier: Apache-2.0
// Files that stay open in a program that may close them.
#include "base/descriptor.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "recording.h"

TEST(a_kept_file_leaves_the_low_numbers_to_the_program) {
    rgm_kept_file kept;
    int next = dup(0);
    close(next);
    REQUIRE(rgm_kept_open(&kept, temp_path("kept"), O_RDWR | O_CREAT, 0600));
    int fd = rgm_kept_descriptor(&kept), free = dup(0);
    CHECK_EQ_I64(free, next);
    CHECK(fd > free && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    close(free);
    rgm_kept_close(&kept);
    CHECK_EQ_I64(kept.number, 0);
    CHECK(fcntl(fd, F_GETFD) < 0);
    CHECK(!rgm_kept_open(&kept, temp_path("absent"), O_RDWR, 0) && errno == ENOENT);
    CHECK_EQ_I64(rgm_kept_descriptor(&kept), -1);
    unlink(temp_path("kept"));
}

TEST(where_no_number_is_so_high_any_other_serves) {
    struct rlimit before, low;
    rgm_kept_file kept;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    low = (struct rlimit){.rlim_cur = 32, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    CHECK(rgm_kept_open(&kept, "/proc/self/stat", O_RDONLY, 0));
    CHECK(rgm_kept_descriptor(&kept) > 2 && rgm_kept_descriptor(&kept) < 32);
    rgm_kept_close(&kept);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

TEST(what_the_program_has_put_in_its_place_is_left_alone) {
    rgm_kept_file kept, other;
    char mine[4];
    REQUIRE(rgm_kept_open(&kept, temp_path("kept"), O_RDWR | O_CREAT, 0600));
    REQUIRE(rgm_kept_open(&other, temp_path("other"), O_RDWR | O_CREAT, 0600));
    CHECK(!rgm_kept_same(&kept, &other) && rgm_kept_same(&kept, &kept));
    int fd = rgm_kept_descriptor(&kept), its = rgm_kept_descriptor(&other);
    REQUIRE(write(its, "mine", 4) == 4);
    close(fd);
    CHECK_EQ_I64(rgm_kept_descriptor(&kept), -1);
    REQUIRE(dup2(its, fd) == fd);
    CHECK_EQ_I64(rgm_kept_descriptor(&kept), -1);
    rgm_kept_close(&kept);
    CHECK(pread(fd, mine, 4, 0) == 4 && memcmp(mine, "mine", 4) == 0);
    close(fd);
    rgm_kept_close(&other);
    unlink(temp_path("kept"));
    unlink(temp_path("other"));
}

TEST(the_text_of_a_file_takes_no_low_number_and_is_read_in_parts) {
    char text[8], long_text[4096];
    int next = dup(0);
    close(next);
    rgm_kept_file kept;
    REQUIRE(rgm_kept_open(&kept, temp_path("kept"), O_RDWR | O_CREAT, 0600));
    REQUIRE(write(kept.number - 1, "some words", 10) == 10);
    CHECK(rgm_descriptor_text(temp_path("kept"), text, sizeof text));
    CHECK(strcmp(text, "some wo") == 0);
    CHECK(rgm_descriptor_text(temp_path("kept"), long_text, sizeof long_text));
    CHECK(strcmp(long_text, "some words") == 0);
    CHECK(rgm_descriptor_text("/proc/self/stat", long_text, sizeof long_text) && strchr(long_text, '\n'));
    CHECK(!rgm_descriptor_text(temp_path("absent"), text, sizeof text) && !text[0]);
    REQUIRE(ftruncate(kept.number - 1, 0) == 0);
    CHECK(!rgm_descriptor_text(temp_path("kept"), text, sizeof text) && !text[0]);
    int free = dup(0);
    CHECK_EQ_I64(free, next);
    close(free);
    rgm_kept_close(&kept);
    unlink(temp_path("kept"));
}
