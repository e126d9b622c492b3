// SPDX-License-Identifier: Apache-2.0
// Double of NVML's performance monitoring. The value of metric m between two samples is m + their distance in
// samples (m itself where `value_step` is 0); `absent` is a metric that the device has not.
#include "fake.h"

#define NUMBERS(X)                                                                                           \
    X(init_result, 0)                                                                                        \
    X(handle_result, 0)                                                                                      \
    X(support_result, 0)                                                                                     \
    X(supported, 1)                                                                                          \
    X(alloc_fails_at, -1)                                                                                    \
    X(get_fails_at, -1)                                                                                      \
    X(absent, -1)                                                                                            \
    X(value_step, 1)                                                                                         \
    X(allocated, 0)                                                                                          \
    X(users, 0)                                                                                              \
    X(gets, 0)                                                                                               \
    X(by_uuid, 0)
FAKE_NUMBERS(gpm, "FAKE_GPM", NUMBERS)

typedef struct {
    long long number;
} sample;
typedef struct {
    unsigned metric;
    int result;
    double value;
    char *names[3];
} metric;
typedef struct {
    unsigned version, count;
    sample *before, *after;
    metric metrics[];
} metrics_get;

static int device;
static long long allocations;

FAKE_EXPORT int nvmlInit_v2(void) {
    if (!FAKE_VALUE(init_result)) FAKE_VALUE(users)++;
    return (int)FAKE_VALUE(init_result);
}
FAKE_EXPORT int nvmlShutdown(void) {
    FAKE_VALUE(users)--;
    return 0;
}
FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    *handle = &device;
    return (int)FAKE_VALUE(handle_result);
}
FAKE_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    FAKE_VALUE(by_uuid) = strcmp(uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff") == 0;
    *handle = &device;
    return (int)FAKE_VALUE(handle_result);
}

#ifndef FAKE_WITHOUT_GPM
FAKE_EXPORT int nvmlGpmQueryDeviceSupport(void *handle, unsigned support[2]) {
    support[1] = (unsigned)FAKE_VALUE(supported);
    return (int)FAKE_VALUE(support_result);
}
FAKE_EXPORT int nvmlGpmSampleAlloc(sample **made) {
    if (allocations++ == FAKE_VALUE(alloc_fails_at)) return 20;
    *made = calloc(1, sizeof **made);
    FAKE_VALUE(allocated)++;
    return 0;
}
FAKE_EXPORT int nvmlGpmSampleFree(sample *made) {
    free(made);
    FAKE_VALUE(allocated)--;
    return 0;
}
FAKE_EXPORT int nvmlGpmSampleGet(void *handle, sample *into) {
    long long get = FAKE_VALUE(gets)++;
    into->number = get;
    return get == FAKE_VALUE(get_fails_at) ? 999 : 0;
}
FAKE_EXPORT int nvmlGpmMetricsGet(metrics_get *p) {
    if (p->version != 1) return 25;
    for (unsigned i = 0; i < p->count; i++) {
        metric *m = &p->metrics[i];
        m->result = (long long)m->metric == FAKE_VALUE(absent) ? 3 : 0;
        m->value = m->metric + (double)(FAKE_VALUE(value_step) * (p->after->number - p->before->number));
    }
    return 0;
}
#endif
