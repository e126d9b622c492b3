// SPDX-License-Identifier: Apache-2.0
// Memory that may be gone is read or refused, never failed at.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/peek.h"
#include "harness.h"

TEST(pieces_come_one_after_another) {
    const char first[] = "abc", second[] = "defgh";
    char found[9] = "";
    struct iovec pieces[] = {{(void *)(size_t)first, 3}, {(void *)(size_t)second, 5}};
    CHECK(rgm_peek_all(getpid(), pieces, 2, found, 8));
    CHECK(strcmp(found, "abcdefgh") == 0);
    CHECK(rgm_peek(getpid(), second + 1, found, 2));
    CHECK(strcmp(found, "efcdefgh") == 0);
}

TEST(what_is_gone_is_refused) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char found[64];
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    REQUIRE(munmap(pages + page, page) == 0);
    CHECK(rgm_peek(getpid(), pages + page - 32, found, 32));
    CHECK(!rgm_peek(getpid(), pages + page - 32, found, 33)); // its end is gone
    CHECK(!rgm_peek(getpid(), pages + page, found, 8));
    CHECK(!rgm_peek(getpid(), NULL, found, 8));
    CHECK(!rgm_peek(getpid(), (const void *)(UINTPTR_MAX - 63), found, 8)); // the system's own
    struct iovec pieces[] = {{pages, 8}, {pages + page, 8}, {pages, 8}};
    CHECK(!rgm_peek_all(getpid(), pieces, 3, found, 24));
    munmap(pages, page);
}
