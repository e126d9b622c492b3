// SPDX-License-Identifier: Apache-2.0
// Arrays that grow: every row is kept, room doubles, and without memory nothing has changed.
#include "base/list.h"

#include <stdint.h>

#include "base/memory.h"
#include "harness.h"

TEST(rows_are_kept_while_it_grows) {
    struct {
        uint64_t key;
        char text[5];
    } *rows = NULL;
    size_t count = 0, capacity = 0, grown = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        size_t before = capacity;
        REQUIRE(RGM_LIST_ROOM(rows, count, capacity, 3, NULL) == RGM_OK);
        grown += capacity != before;
        CHECK(count < capacity);
        rows[count++].key = i * i;
    }
    for (uint64_t i = 0; i < count; i++) CHECK_EQ_U64(rows[i].key, i * i);
    CHECK_EQ_U64(capacity, 3 << 9);
    CHECK_EQ_U64(grown, 10);
    rgm_free(rows);
}

TEST(without_memory_all_stays) {
    uint32_t *rows = NULL;
    size_t capacity = 0;
    rgm_error err = RGM_ERROR_NONE;
    rgm_memory_fail_after(0);
    CHECK(RGM_LIST_ROOM(rows, 0, capacity, 4, &err) == RGM_NO_MEMORY);
    CHECK(!rows && capacity == 0);
    REQUIRE(RGM_LIST_ROOM(rows, 0, capacity, 4, &err) == RGM_OK);
    rows[3] = 7;
    const uint32_t *kept = rows;
    rgm_memory_fail_after(0);
    CHECK(RGM_LIST_ROOM(rows, 4, capacity, 4, &err) == RGM_NO_MEMORY);
    CHECK(rows == kept && capacity == 4 && rows[3] == 7);
    rgm_memory_fail_after(-1);
    rgm_free(rows);
}

// Twice the rows, or their bytes, would be more than there are numbers for.
TEST(too_many_rows_are_refused) {
    char *rows = NULL;
    size_t capacity = SIZE_MAX / 2 + 1;
    CHECK(rgm_list_grow(&rows, &capacity, 1, 1, NULL) == RGM_NO_MEMORY);
    capacity = SIZE_MAX / 4;
    CHECK(rgm_list_grow(&rows, &capacity, 1, 16, NULL) == RGM_NO_MEMORY);
    CHECK(!rows && capacity == SIZE_MAX / 4);
}
