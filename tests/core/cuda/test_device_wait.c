// SPDX-License-Identifier: Apache-2.0
// Waiting for the device ends at its deadline, whatever the device does.
#include "cuda/library/device_wait.h"

#include "base/clock.h"

#include "event_device.h"

static const int64_t second = 1000000000;

static const rgm_driver *loaded(bool with_context) {
    const rgm_driver *driver = NULL;
    void *context = NULL;
    if (!load_fake("cuda") || rgm_driver_start(&driver, NULL) != RGM_OK) return NULL;
    cu.init(0);
    if (with_context && (cu.retain(&context, 0) || cu.set_current(context))) return NULL;
    return driver;
}

static atomic_int began;
static void count_begin(void) { atomic_fetch_add(&began, 1); }

TEST(without_a_context_there_is_nothing_to_wait_for) {
    const rgm_driver *driver = loaded(false);
    REQUIRE(driver);
    CHECK(rgm_device_wait(driver, 0, NULL));
}

TEST(work_that_ends_is_waited_for) {
    const rgm_driver *driver = loaded(true);
    REQUIRE(driver);
    REQUIRE(cu.work(NULL, 5 * second) == 0); // the double's clock stands still, and is put forward
    CHECK(rgm_device_wait(driver, rgm_clock_monotonic_ns() + 600 * second, count_begin));
    CHECK_EQ_I64(atomic_load(&began), 1);
    CHECK(cu.now() >= cu.idle_at(NULL));
}

TEST(work_that_does_not_end_is_left_at_the_deadline) {
    const rgm_driver *driver = loaded(true);
    REQUIRE(driver);
    cu.set("follow", 1);
    REQUIRE(cu.work(NULL, 5 * second) == 0);
    CHECK(!rgm_device_wait(driver, rgm_clock_monotonic_ns() + second / 50, NULL));
    CHECK(cu.now() < cu.idle_at(NULL));
}
