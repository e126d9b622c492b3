// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

#include "harness.h"
#include "random.h"

TEST(the_fake_clock_stands_still) {
    rgm_clock_fake(500);
    CHECK_EQ_U64(rgm_clock_ticks(), 500);
    CHECK_EQ_U64(rgm_clock_ticks(), 500);
    rgm_clock_fake_advance(20);
    CHECK_EQ_U64(rgm_clock_ticks(), 520);
    CHECK_EQ_I64(rgm_clock_monotonic_ns(), 520);
    rgm_anchor anchor = rgm_clock_anchor();
    CHECK(anchor.ticks == 520 && anchor.monotonic_ns == 520 && anchor.unix_ns == 520);
    CHECK_STR_EQ(rgm_clock_name(), "fake clock of a test");
    rgm_clock_fake_stop();
    CHECK(rgm_clock_active != RGM_CLOCK_FAKE);
}

TEST(real_ticks_convert_to_the_monotonic_clock) {
    rgm_timebase base = {0};
    rgm_clock_init();
    CHECK_OK(rgm_timebase_add(&base, rgm_clock_anchor(), NULL));
    uint64_t ticks = 0;
    int64_t now = 0;
    for (int i = 0; i < 20; i++) {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        if (i == 10) {
            ticks = rgm_clock_ticks();
            now = rgm_clock_monotonic_ns();
        }
    }
    CHECK_OK(rgm_timebase_add(&base, rgm_clock_anchor(), NULL));
    REQUIRE(base.count == 2);
    CHECK_NEAR((double)rgm_timebase_ns(&base, ticks), (double)now,
               1e6); // generous: the thread may be put aside
    CHECK_NEAR((double)base.anchors[1].unix_ns, (double)time(NULL) * 1e9, 3e9);
    rgm_timebase_release(&base);
}

TEST(time_is_linear_between_anchors_and_beyond) {
    rgm_timebase base = {0};
    CHECK_EQ_I64(rgm_timebase_ns(&base, 77), 77);
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){1000, 50000, 0}, NULL));
    CHECK_EQ_I64(rgm_timebase_ns(&base, 1500), 50500); // one anchor: a tick counts as a nanosecond
    CHECK_EQ_I64(rgm_timebase_ns(&base, 500), 49500);
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){4000, 60000, 0}, NULL));
    CHECK_EQ_I64(rgm_timebase_ns(&base, 1000), 50000);
    CHECK_EQ_I64(rgm_timebase_ns(&base, 4000), 60000);
    CHECK_EQ_I64(rgm_timebase_ns(&base, 2500), 55000);
    CHECK_EQ_I64(rgm_timebase_ns(&base, 1001), 50003); // 3.33, to nearest
    CHECK_EQ_I64(rgm_timebase_ns(&base, 1002), 50007); // 6.67
    CHECK_EQ_I64(rgm_timebase_ns(&base, 999), 49997);
    CHECK_EQ_I64(rgm_timebase_ns(&base, 7000), 70000);
    rgm_timebase_release(&base);
}

// Twenty a second for a day, by a clock whose rate wanders.
TEST(anchors_of_a_long_time_are_thinned_out_and_still_tell_it) {
    enum { A_DAY = 20 * 86400, EVERY_TICKS = 100000000, EVERY_NS = 50000000 };
    rgm_timebase base = {0};
    int64_t ns = 1000;
    for (int i = 0; i < A_DAY; i++, ns += EVERY_NS + i % 7) {
        rgm_timebase_thin_out(&base);
        CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){(uint64_t)i * EVERY_TICKS, ns, 0}, NULL));
        REQUIRE(base.count <= RGM_ANCHORS_MOST);
    }
    CHECK(base.count > RGM_ANCHORS_MOST / 2 && base.capacity <= RGM_ANCHORS_MOST);
    CHECK_EQ_I64(base.anchors[0].monotonic_ns, 1000);
    CHECK_EQ_I64(base.anchors[base.count - 1].ticks, (int64_t)(A_DAY - 1) * EVERY_TICKS);
    ns = 1000;
    int64_t worst = 0, lately = 0;
    for (int i = 0; i < A_DAY; i++, ns += EVERY_NS + i % 7) {
        int64_t off = llabs(rgm_timebase_ns(&base, (uint64_t)i * EVERY_TICKS) - ns);
        if (off > worst) worst = off;
        if (i > A_DAY - 1000 && off > lately) lately = off;
    }
    CHECK(worst < 100); // of a day, in ns
    CHECK_EQ_I64(lately, 0);
    rgm_timebase_release(&base);
}

TEST(anchors_too_close_or_backward_are_left_out) {
    rgm_timebase base = {0};
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){1000, 50000, 0}, NULL));
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){1100, 50999, 0}, NULL));
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){1000, 90000, 0}, NULL));
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){2000, 40000, 0}, NULL));
    CHECK_EQ_U64(base.count, 1);
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){1100, 51000, 0}, NULL));
    CHECK_EQ_U64(base.count, 2);
    rgm_timebase_release(&base);
}

TEST(conversions_are_monotone_and_never_change) {
    enum { ANCHORS = 50, PROBES = 2000 };
    rgm_timebase base = {0};
    static int64_t before[PROBES];
    uint64_t ticks = 10, random = 5;
    int64_t ns = 1000;
    for (int i = 0; i < ANCHORS; i++) {
        CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){ticks, ns, 0}, NULL));
        uint64_t last = ticks;
        random_step(&random);
        ticks += 3000 + (random >> 50);
        ns += 1000 + (int64_t)(random >> 51);
        if (i < 2) continue;
        int64_t previous = INT64_MIN;
        for (uint64_t p = 0; p < PROBES; p++) {
            uint64_t at = 10 + p * (last - 10) / PROBES;
            int64_t now = rgm_timebase_ns(&base, at);
            CHECK(now >= previous);
            previous = now;
        }
        for (uint64_t p = 0; p < PROBES; p++)
            before[p] = rgm_timebase_ns(&base, 10 + p * (last - 10) / PROBES);
        CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){ticks, ns, 0}, NULL));
        for (uint64_t p = 0; p < PROBES; p++)
            CHECK_EQ_I64(rgm_timebase_ns(&base, 10 + p * (last - 10) / PROBES), before[p]);
    }
    rgm_timebase_release(&base);
}

TEST(years_of_ticks_do_not_overflow) {
    rgm_timebase base = {0};
    const uint64_t year = UINT64_C(365) * 86400 * 3000000000; // at 3 GHz
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){0, 0, 0}, NULL));
    CHECK_OK(rgm_timebase_add(&base, (rgm_anchor){year, (int64_t)(year / 3), 0}, NULL));
    CHECK_EQ_I64(rgm_timebase_ns(&base, year / 2), (int64_t)(year / 6));
    CHECK_EQ_I64(rgm_timebase_ns(&base, 10 * year), (int64_t)(year / 3 * 10));
    CHECK(rgm_timebase_ns(&base, UINT64_MAX) > 0);
    rgm_timebase_release(&base);
}
