// SPDX-License-Identifier: Apache-2.0
#include "capture/monitor.h"

#include <pthread.h>
#include <stdio.h>

#include "faults.h"

static rgm_status add(rgm_monitor *monitor, const char *name, int64_t ns, int64_t memory, bool success) {
    static int64_t end;
    rgm_error err;
    rgm_monitor_record record = {
        .success = success, .end_ns = ++end, .duration_ns = ns, .memory_bytes = memory};
    return rgm_monitor_add(monitor, name, strlen(name), &record, &err);
}

TEST(totals_are_complete_and_the_last_executions_kept) {
    rgm_monitor *monitor;
    rgm_error err;
    CHECK_OK(rgm_monitor_new(&monitor, 3, &err));
    CHECK_OK(add(monitor, "a", 10, -1, true));
    CHECK_OK(add(monitor, "b", 30, 500, false));
    CHECK_OK(add(monitor, "a", 4, 200, true));
    CHECK_OK(add(monitor, "a", 7, -1, true));
    rgm_monitor_totals totals = rgm_monitor_totals_of(monitor);
    CHECK_EQ_I64(totals.all.call_count, 4);
    CHECK_EQ_I64(totals.all.failed_calls, 1);
    CHECK_EQ_I64(totals.all.total_ns, 51);
    CHECK_EQ_I64(totals.all.peak_memory_bytes, 500);
    CHECK_EQ_I64(totals.current_memory_bytes, 200);
    CHECK_EQ_I64(totals.kept, 3);
    CHECK_EQ_I64(totals.dropped, 1);
    rgm_monitor_kernel kernel;
    const char *name;
    size_t length;
    CHECK(rgm_monitor_kernel_of(monitor, 0, &name, &length, &kernel));
    CHECK_STR_EQ(name, "a");
    CHECK(kernel.min_ns == 4 && kernel.max_ns == 10 && kernel.total_ns == 21 && kernel.call_count == 3);
    CHECK(!rgm_monitor_kernel_of(monitor, 2, &name, &length, &kernel));
    rgm_monitor_record records[3];
    CHECK_EQ_U64(rgm_monitor_records(monitor, records, 3), 3);
    CHECK(records[0].duration_ns == 30 && records[1].duration_ns == 4 && records[2].duration_ns == 7);
    CHECK_EQ_U64(rgm_monitor_records(monitor, records, 1), 1);
    CHECK_EQ_I64(records[0].duration_ns, 7);
    rgm_monitor_reset(monitor);
    CHECK_EQ_I64(rgm_monitor_totals_of(monitor).kernels, 0);
    CHECK_OK(add(monitor, "b", 1, -1, true));
    CHECK(rgm_monitor_kernel_of(monitor, 0, &name, &length, &kernel));
    CHECK_STR_EQ(name, "b");
    CHECK_EQ_I64(kernel.call_count, 1);
    rgm_monitor_free(monitor);
}

TEST(what_cannot_be_is_refused) {
    rgm_monitor *monitor;
    rgm_error err;
    CHECK_OK(rgm_monitor_new(&monitor, 0, &err));
    CHECK_EQ_I64(add(monitor, "a", -1, -1, true), RGM_INVALID);
    CHECK_EQ_I64(add(monitor, "a", 1, -2, true), RGM_INVALID);
    CHECK_EQ_I64(rgm_monitor_totals_of(monitor).all.call_count, 0);
    CHECK_OK(add(monitor, "a", 1, 0, true)); // kept nowhere, counted
    CHECK_EQ_I64(rgm_monitor_totals_of(monitor).dropped, 1);
    rgm_monitor_free(monitor);
    CHECK_EQ_I64(rgm_monitor_new(&monitor, SIZE_MAX, &err), RGM_INVALID);
}

TEST(names_beyond_the_bound_are_counted_together) {
    rgm_monitor *monitor;
    rgm_error err;
    char name[32];
    enum { NAMES = RGM_MONITOR_NAMES + 100 };
    CHECK_OK(rgm_monitor_new(&monitor, 10, &err));
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < NAMES; i++) {
            (void)snprintf(name, sizeof name, "kernel %d", i);
            CHECK_OK(add(monitor, name, 1, -1, true));
        }
    rgm_monitor_totals totals = rgm_monitor_totals_of(monitor);
    CHECK(totals.kernels <= RGM_MONITOR_NAMES);
    CHECK_EQ_I64(totals.all.call_count, 2 * NAMES);
    int64_t calls = 0, others = 0;
    for (uint32_t i = 0; i < totals.kernels; i++) {
        rgm_monitor_kernel kernel;
        const char *found;
        size_t length;
        CHECK(rgm_monitor_kernel_of(monitor, i, &found, &length, &kernel));
        calls += kernel.call_count;
        if (strcmp(found, RGM_MONITOR_OTHERS) == 0) others = kernel.call_count;
    }
    CHECK_EQ_I64(calls, 2 * NAMES);
    CHECK(others >= 200);
    rgm_monitor_free(monitor);
}

enum { THREADS = 4, TURNS = 5000 };

static void *record(void *context) {
    static const char *const names[] = {"a", "b", "c"};
    rgm_monitor_record records[16];
    for (int i = 0; i < TURNS; i++) {
        CHECK_OK(rgm_monitor_add(context, names[i % 3], 1,
                                 &(rgm_monitor_record){.success = i % 2, .duration_ns = 5, .memory_bytes = i},
                                 NULL));
        if (i % 64 == 0) {
            const char *name;
            size_t length;
            rgm_monitor_kernel kernel;
            CHECK(rgm_monitor_records(context, records, 16) <= 16);
            CHECK(rgm_monitor_kernel_of(context, 0, &name, &length, &kernel) &&
                  kernel.total_ns == 5 * kernel.call_count);
        }
    }
    return NULL;
}

TEST(threads_lose_nothing) {
    rgm_monitor *monitor;
    rgm_error err;
    pthread_t threads[THREADS];
    CHECK_OK(rgm_monitor_new(&monitor, 100, &err));
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, record, monitor) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    rgm_monitor_totals totals = rgm_monitor_totals_of(monitor);
    CHECK_EQ_I64(totals.all.call_count, THREADS * TURNS);
    CHECK_EQ_I64(totals.kept + totals.dropped, THREADS * TURNS);
    CHECK_EQ_I64(totals.all.peak_memory_bytes, TURNS - 1);
    rgm_monitor_free(monitor);
}

TEST(no_memory_gives_everything_back) {
    EACH_FAULT("a monitor") {
        rgm_monitor *monitor;
        rgm_error err;
        if (FAULTY(rgm_monitor_new(&monitor, 10, &err)) == RGM_OK) rgm_monitor_free(monitor);
    }
}
