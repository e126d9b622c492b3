// SPDX-License-Identifier: Apache-2.0
// The room that all files of a recording may take together: who is counted, and what is refused.
#include "capture/disk_budget.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "recording.h"

#define MIB ((int64_t)1 << 20)

static int open_new(const char *name) {
    int fd = rgm_descriptor_open(temp_path(name), O_RDWR | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0);
    return fd;
}

static int64_t room(int fd) {
    struct stat info;
    CHECK(fstat(fd, &info) == 0);
    return (int64_t)info.st_blocks * 512;
}

TEST(files_of_one_recording_share_their_room) {
    static const char *const names[] = {"shared.rgm",        "shared.rgm.2",       "shared.rgm.2.17",
                                        "shared.rgm.rank12", "shared.rgm.3.rank0", "shared.rgm.unfinished-1"};
    int fds[6];
    for (int i = 0; i < 6; i++) fds[i] = open_new(names[i]);
    for (int i = 0; i < 5; i++) CHECK(rgm_disk_budget_reserve(6 * MIB, fds[i], 0, MIB) == 0);
    for (int i = 0; i < 5; i++) CHECK(rgm_disk_budget_reserve(6 * MIB, fds[i], MIB, MIB) == EDQUOT);
    int64_t total = 0;
    for (int i = 0; i < 5; i++) total += room(fds[i]);
    CHECK(total >= 5 * MIB && total <= 6 * MIB);
    // What is taken out of one is room for all.
    CHECK(ftruncate(fds[0], 0) == 0);
    CHECK(rgm_disk_budget_reserve(6 * MIB, fds[4], MIB, MIB) == 0);
    CHECK(rgm_disk_budget_reserve(6 * MIB, fds[0], 0, MIB) == EDQUOT);
    // Without a limit nobody is asked.
    CHECK(rgm_disk_budget_reserve(0, fds[0], 0, 8 * MIB) == 0);
    CHECK(room(fds[0]) >= 8 * MIB);
    for (int i = 0; i < 6; i++) close(fds[i]);
}

TEST(files_with_other_names_are_not_counted) {
    int other = open_new("alone.rgmx"), before = open_new("alone"), digits = open_new("2026");
    int own = open_new("alone.rgm");
    CHECK(rgm_disk_budget_reserve(0, other, 0, 4 * MIB) == 0);
    CHECK(rgm_disk_budget_reserve(0, before, 0, 4 * MIB) == 0);
    CHECK(rgm_disk_budget_reserve(2 * MIB, own, 0, MIB) == 0);
    CHECK(rgm_disk_budget_reserve(2 * MIB, digits, 0, MIB) == 0);
    close(other), close(before), close(digits), close(own);
}

TEST(a_file_without_a_name_keeps_to_its_room) {
    int fd = open_new("gone.rgm");
    CHECK(unlink(temp_path("gone.rgm")) == 0);
    CHECK(rgm_disk_budget_reserve(2 * MIB, fd, 0, MIB) == 0);
    CHECK(rgm_disk_budget_reserve(2 * MIB, fd, MIB, MIB) == EDQUOT);
    close(fd);
}

TEST(what_cannot_be_asked_says_why) { CHECK(rgm_disk_budget_reserve(MIB, -1, 0, 4096) == EDQUOT); }

static int open_locked(const char *path, int flags) {
    int fd = rgm_descriptor_open(path, flags, 0666);
    CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
    return fd;
}

TEST(nobody_who_locks_something_is_waited_for) {
    struct stat info;
    int own = open_new("locked.rgm");
    int folder = open_locked(temp_path("."), O_RDONLY | O_DIRECTORY);
    alarm(20); // ends a wait without an end
    CHECK(rgm_disk_budget_reserve(8 * MIB, own, 0, MIB) == 0);
    int lock = open_locked(temp_path(RGM_DISK_BUDGET_LOCK), O_RDONLY | O_CREAT);
    CHECK(rgm_disk_budget_reserve(8 * MIB, own, MIB, MIB) == EDQUOT);
    close(lock); // as of a process that was killed: the file is still there
    CHECK(rgm_disk_budget_reserve(8 * MIB, own, MIB, MIB) == 0);
    CHECK(stat(temp_path(RGM_DISK_BUDGET_LOCK), &info) != 0 && errno == ENOENT);
    alarm(0);
    close(folder), close(own);
}
