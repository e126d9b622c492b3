// SPDX-License-Identifier: Apache-2.0
// Double of CUPTI's counter interfaces (and of the little of the driver that they need).
//
// Chips: GH100, GA100, TU104 with PM sampling, GV100 without. Every metric of every base that is spelled
// "..__..." exists, with the subs ".sum", ".sum.per_second", ".avg.per_second", ".avg.per_cycle_elapsed" and
// the percentage of peak; but no base with "missing" in it, and tensor ones only while the number tensor is
// set. A configuration needs a pass for every `per_pass` metrics, and `heavy` passes more for each base that
// ends in "sm__throughput".
//
// Where live is 1 samples come one an `interval` from the start on, for as long as it lasts; else
// PM sampling makes `total` samples, `batch` a decode; sample s has in metric m the value 1000 s + m, and
// lies at [s, s + 1] * `interval` after the start. Calls of the host need libnvperf_host.so. Calls in a wrong
// order are answered with 7 and counted in `misuse`.
#include "fake.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <time.h>

#include "cuda/counters/profiler_types.h"
#include "cupti_sizes.h"

#define NUMBERS(X)                                                                                           \
    X(version, 130000)                                                                                       \
    X(no_driver, 0)                                                                                          \
    X(no_context, 0)                                                                                         \
    X(per_pass, 16)                                                                                          \
    X(heavy, 7)                                                                                              \
    X(tensor, 1)                                                                                             \
    X(chip, 0)                                                                                               \
    X(fail_at, 0)                                                                                            \
    X(fail_with, 35)                                                                                         \
    X(calls, 0)                                                                                              \
    X(misuse, 0)                                                                                             \
    X(users, 0)                                                                                              \
    X(hosts, 0)                                                                                              \
    X(total, 40)                                                                                             \
    X(live, 0)                                                                                               \
    X(batch, 10)                                                                                             \
    X(interval, 1000000)                                                                                     \
    X(gap_at, -1)                                                                                            \
    X(gap, 0)                                                                                                \
    X(reverse, 0)                                                                                            \
    X(overflow_at, -1)                                                                                       \
    X(decode_fails_at, -1)                                                                                   \
    X(decode_result, 8)                                                                                      \
    X(clear_fails_at, -1)                                                                                    \
    X(clears, 0)                                                                                             \
    X(nan_metric, -1)                                                                                        \
    X(clock_shift, 0)                                                                                        \
    X(sample_shift, 0)                                                                                       \
    X(decodes, 0)                                                                                            \
    X(trigger, -1)                                                                                           \
    X(append, -1)                                                                                            \
    X(configured_interval, -1)                                                                               \
    X(range_limit, 1000000)                                                                                  \
    X(range_pop_fails, 0)                                                                                    \
    X(range_drains, 0)                                                                                       \
    X(range_mode, -1)                                                                                        \
    X(replay_mode, -1)                                                                                       \
    X(max_ranges, -1)
FAKE_NUMBERS(cupti_profiler, "FAKE_CUPTI_PROFILER", NUMBERS)

#include "counter_driver.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Calls that reach the device are counted; the one with the number fail_at (from 1) fails.
static bool fails(rgm_cupti_result *result) {
    *result = RGM_CUPTI_SUCCESS;
    if (++FAKE_VALUE(calls) == FAKE_VALUE(fail_at)) *result = (rgm_cupti_result)FAKE_VALUE(fail_with);
    return *result != RGM_CUPTI_SUCCESS;
}
static rgm_cupti_result misuse(void) {
    FAKE_VALUE(misuse)++;
    return RGM_CUPTI_INVALID_OPERATION;
}
#define REFUSE_IF_ASKED()                                                                                    \
    do {                                                                                                     \
        rgm_cupti_result refused;                                                                            \
        if (fails(&refused)) return refused;                                                                 \
    } while (0)

#define CHECK_SIZE_IS(bytes)                                                                                 \
    do {                                                                                                     \
        if (p->size != (size_t)(bytes)) {                                                                    \
            FAKE_VALUE(misuse)++;                                                                            \
            return RGM_CUPTI_INVALID_PARAMETER;                                                              \
        }                                                                                                    \
    } while (0)
#define CHECK_SIZE(name) CHECK_SIZE_IS(SIZE_##name)

FAKE_EXPORT rgm_cupti_result cuptiGetVersion(uint32_t *version) {
    *version = (uint32_t)FAKE_VALUE(version);
    return RGM_CUPTI_SUCCESS;
}

static uint64_t library_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)(now.tv_sec * 1000000000LL + now.tv_nsec + FAKE_VALUE(clock_shift));
}
FAKE_EXPORT rgm_cupti_result cuptiGetTimestamp(uint64_t *timestamp) {
    *timestamp = library_now();
    return RGM_CUPTI_SUCCESS;
}

// --- host -------------------------------------------------------------------------------------------------

// The real library has no search path of its own: what plans for it is found where the process has loaded it.
static bool has_planner(void) {
    void *planner = dlopen("libnvperf_host.so", RTLD_LAZY | RTLD_NOLOAD);
    if (planner) (void)dlclose(planner);
    return planner != NULL;
}
#define NEEDS_PLANNER()                                                                                      \
    do {                                                                                                     \
        if (!has_planner()) return RGM_CUPTI_NOT_INITIALIZED;                                                \
    } while (0)

static const char *const chips[] = {"GH100", "GA100", "TU104", "GV100"};
enum { CHIPS = sizeof chips / sizeof *chips };
static const char *subs[] = {".sum", ".sum.per_second", ".avg.per_second", ".avg.per_cycle_elapsed",
                             ".avg.pct_of_peak_sustained_elapsed"};

struct rgm_cupti_host_s {
    size_t count, heavy;
    bool configured;
};

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostGetSupportedChips(rgm_cupti_host_chips *p) {
    CHECK_SIZE(ProfilerHostGetSupportedChips);
    NEEDS_PLANNER();
    p->count = CHIPS;
    p->chips = chips;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostInitialize(rgm_cupti_host_initialize *p) {
    CHECK_SIZE(ProfilerHostInitialize);
    NEEDS_PLANNER();
    if (strcmp(p->chip, "GV100") == 0 && p->profiler == RGM_CUPTI_PM_SAMPLING) return RGM_CUPTI_NOT_SUPPORTED;
    p->host = calloc(1, sizeof *p->host);
    FAKE_VALUE(hosts)++;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostDeinitialize(rgm_cupti_host_deinitialize *p) {
    CHECK_SIZE(ProfilerHostDeinitialize);
    free(p->host);
    FAKE_VALUE(hosts)--;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostGetBaseMetrics(rgm_cupti_host_base_metrics *p) {
    CHECK_SIZE(ProfilerHostGetBaseMetrics);
    NEEDS_PLANNER();
    static const char *names[] = {"sm__cycles_active", "dram__bytes"};
    p->names = names;
    p->count = p->type == RGM_CUPTI_METRIC_COUNTER ? 2 : 0;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostGetSubMetrics(rgm_cupti_host_sub_metrics *p) {
    CHECK_SIZE(ProfilerHostGetSubMetrics);
    NEEDS_PLANNER();
    if (!strstr(p->metric, "__") || strstr(p->metric, "missing")) return RGM_CUPTI_INVALID_METRIC_NAME;
    if (strstr(p->metric, "tensor") && !FAKE_VALUE(tensor)) return RGM_CUPTI_INVALID_METRIC_NAME;
    bool throughput = strstr(p->metric, "throughput");
    if (throughput != (p->type == RGM_CUPTI_METRIC_THROUGHPUT) || p->type == RGM_CUPTI_METRIC_RATIO)
        return RGM_CUPTI_INVALID_PARAMETER;
    p->count = sizeof subs / sizeof *subs;
    p->names = subs;
    return RGM_CUPTI_SUCCESS;
}

// As the real one, a host that was configured once is spoiled for another configuration.
FAKE_EXPORT rgm_cupti_result cuptiProfilerHostConfigAddMetrics(rgm_cupti_host_add_metrics *p) {
    CHECK_SIZE(ProfilerHostConfigAddMetrics);
    NEEDS_PLANNER();
    if (p->host->configured) return misuse();
    p->host->configured = true;
    for (size_t i = 0; i < p->count; i++) p->host->heavy += strstr(p->metrics[i], "sm__throughput") != NULL;
    p->host->count = p->count;
    return RGM_CUPTI_SUCCESS;
}

typedef struct {
    uint64_t passes, metrics;
} config_image;

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostGetConfigImageSize(rgm_cupti_host_image_size *p) {
    CHECK_SIZE(ProfilerHostGetConfigImageSize);
    NEEDS_PLANNER();
    if (!p->host->configured) return misuse();
    p->image_size = sizeof(config_image);
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostGetConfigImage(rgm_cupti_host_image *p) {
    CHECK_SIZE(ProfilerHostGetConfigImage);
    NEEDS_PLANNER();
    size_t per = (size_t)FAKE_VALUE(per_pass), heavy = (size_t)FAKE_VALUE(heavy) * p->host->heavy;
    config_image made = {(p->host->count + per - 1) / per + heavy, p->host->count};
    if (p->image_size != sizeof made) return misuse();
    memcpy(p->image, &made, sizeof made);
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostGetNumOfPasses(rgm_cupti_host_passes *p) {
    CHECK_SIZE(ProfilerHostGetNumOfPasses);
    NEEDS_PLANNER();
    config_image made;
    memcpy(&made, p->image, sizeof made);
    p->passes = made.passes;
    return RGM_CUPTI_SUCCESS;
}

// A counter data image: what the two profilers of the double write and the host reads.
typedef struct {
    uint64_t count, room;
    struct {
        uint64_t start, end, number;
        char name[16];
    } rows[];
} data_image;

FAKE_EXPORT rgm_cupti_result cuptiProfilerHostEvaluateToGpuValues(rgm_cupti_host_evaluate *p) {
    CHECK_SIZE(ProfilerHostEvaluateToGpuValues);
    NEEDS_PLANNER();
    const data_image *image = (const void *)p->data;
    if (p->index >= image->count) return misuse();
    for (size_t m = 0; m < p->count; m++) {
        p->values[m] = 1000.0 * (double)image->rows[p->index].number + (double)m;
        if ((long long)m == FAKE_VALUE(nan_metric)) p->values[m] = __builtin_nan("");
    }
    return RGM_CUPTI_SUCCESS;
}

// --- device -----------------------------------------------------------------------------------------------

FAKE_EXPORT rgm_cupti_result cuptiProfilerInitialize(rgm_cupti_initialize *p) {
    CHECK_SIZE(ProfilerInitialize);
    REFUSE_IF_ASKED();
    FAKE_VALUE(users)++;
    return RGM_CUPTI_SUCCESS;
}
FAKE_EXPORT rgm_cupti_result cuptiProfilerDeInitialize(rgm_cupti_initialize *p) {
    CHECK_SIZE(ProfilerDeInitialize);
    FAKE_VALUE(users)--;
    return RGM_CUPTI_SUCCESS;
}
FAKE_EXPORT rgm_cupti_result cuptiDeviceGetChipName(rgm_cupti_chip_name *p) {
    CHECK_SIZE(DeviceGetChipName);
    REFUSE_IF_ASKED();
    p->chip = chips[FAKE_VALUE(chip)];
    return p->device == 0 ? RGM_CUPTI_SUCCESS : RGM_CUPTI_INVALID_DEVICE;
}

static rgm_cupti_result availability(size_t *size, uint8_t *image) {
    REFUSE_IF_ASKED();
    if (image && *size != 8) return misuse();
    if (image) memset(image, 0xA5, 8);
    *size = 8;
    return RGM_CUPTI_SUCCESS;
}

static bool configured(const uint8_t *image, size_t size) {
    config_image made;
    if (size != sizeof made) return false;
    memcpy(&made, image, sizeof made);
    return made.passes == 1;
}

// --- PM sampling ------------------------------------------------------------------------------------------

static struct rgm_cupti_pm_s {
    bool enabled, configured, started, stopped;
    uint64_t begin;
    uint64_t next; // sample
} pm;

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingGetCounterAvailability(rgm_cupti_pm_availability *p) {
    CHECK_SIZE(PmSamplingGetCounterAvailability);
    return availability(&p->image_size, p->image);
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingEnable(rgm_cupti_pm_enable *p) {
    CHECK_SIZE(PmSamplingEnable);
    REFUSE_IF_ASKED();
    if (pm.enabled) return RGM_CUPTI_INVALID_OPERATION;
    pm = (struct rgm_cupti_pm_s){.enabled = true};
    p->pm = &pm;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingDisable(rgm_cupti_pm_control *p) {
    CHECK_SIZE(PmSamplingDisable);
    if (!pm.enabled || p->pm != &pm || (pm.started && !pm.stopped)) return misuse();
    pm.enabled = false;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingSetConfig(rgm_cupti_pm_config *p) {
    bool old = FAKE_VALUE(version) < BUFFER_MODE_FROM;
    CHECK_SIZE_IS(old ? PM_CONFIG_OF_12_6 : SIZE_PmSamplingSetConfig);
    REFUSE_IF_ASKED();
    if (!pm.enabled || p->pm != &pm || !configured(p->image, p->image_size)) return misuse();
    FAKE_VALUE(trigger) = p->trigger;
    FAKE_VALUE(append) = old ? -1 : p->append;
    FAKE_VALUE(configured_interval) = (long long)p->interval;
    pm.configured = true;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingStart(rgm_cupti_pm_control *p) {
    CHECK_SIZE(PmSamplingStart);
    REFUSE_IF_ASKED();
    if (!pm.configured || pm.started || p->pm != &pm) return misuse();
    pm.started = true;
    // The samples of the double all lie before now, as if it had run for a while.
    long long all = FAKE_VALUE(total) + FAKE_VALUE(gap) + 2;
    if (FAKE_VALUE(live)) all = 0;
    pm.begin = library_now() - (uint64_t)(all * FAKE_VALUE(interval)) + (uint64_t)FAKE_VALUE(sample_shift);
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingStop(rgm_cupti_pm_control *p) {
    CHECK_SIZE(PmSamplingStop);
    if (!pm.started || pm.stopped || p->pm != &pm) return misuse();
    pm.stopped = true;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingGetCounterDataSize(rgm_cupti_pm_data_size *p) {
    CHECK_SIZE(PmSamplingGetCounterDataSize);
    if (!pm.enabled || !p->count) return misuse();
    p->data_size = sizeof(data_image) + p->max_samples * sizeof((data_image){0}.rows[0]);
    return RGM_CUPTI_SUCCESS;
}

static rgm_cupti_result clear_image(uint8_t *data, size_t size) {
    if (FAKE_VALUE(clears)++ == FAKE_VALUE(clear_fails_at)) return RGM_CUPTI_UNKNOWN;
    data_image *image = (void *)data;
    image->count = 0;
    image->room = (size - sizeof *image) / sizeof image->rows[0];
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingCounterDataImageInitialize(rgm_cupti_pm_data_initialize *p) {
    CHECK_SIZE(PmSamplingCounterDataImageInitialize);
    return clear_image(p->data, p->data_size);
}

static void fill(data_image *image, uint64_t n) {
    for (uint64_t i = 0; i < n; i++, pm.next++) {
        long long at = (long long)pm.next, skip = FAKE_VALUE(gap_at);
        if (skip >= 0 && at >= skip) at += FAKE_VALUE(gap);
        uint64_t interval = (uint64_t)FAKE_VALUE(interval), start = pm.begin + (uint64_t)at * interval;
        uint64_t row = FAKE_VALUE(reverse) ? n - 1 - i : i;
        image->rows[row].start = start;
        image->rows[row].end = start + interval;
        image->rows[row].number = pm.next;
    }
    image->count = n;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingDecodeData(rgm_cupti_pm_decode *p) {
    CHECK_SIZE(PmSamplingDecodeData);
    pthread_mutex_lock(&mutex);
    rgm_cupti_result result = RGM_CUPTI_SUCCESS;
    data_image *image = (void *)p->data;
    long long decode = FAKE_VALUE(decodes)++;
    if (!pm.started || p->pm != &pm || image->count) {
        result = misuse();
    } else if (decode == FAKE_VALUE(decode_fails_at)) {
        result = (rgm_cupti_result)FAKE_VALUE(decode_result);
    } else {
        uint64_t made = (uint64_t)FAKE_VALUE(total);
        if (FAKE_VALUE(live)) made = (library_now() - pm.begin) / (uint64_t)FAKE_VALUE(interval);
        uint64_t left = made - pm.next, n = (uint64_t)FAKE_VALUE(batch);
        if (n > left) n = left;
        if (n > image->room) n = image->room;
        fill(image, n);
        p->stopped = n == image->room ? RGM_CUPTI_STOPPED_FULL : RGM_CUPTI_STOPPED_AT_END;
        // What is left once sampling has stopped comes as fast as it is asked for.
        if (pm.stopped && n < left) p->stopped = RGM_CUPTI_STOPPED_FULL;
        p->overflow = decode == FAKE_VALUE(overflow_at);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingGetCounterDataInfo(rgm_cupti_pm_data_info *p) {
    CHECK_SIZE(PmSamplingGetCounterDataInfo);
    const data_image *image = (const void *)p->data;
    p->total = image->room;
    p->populated = p->completed = image->count;
    return RGM_CUPTI_SUCCESS;
}

FAKE_EXPORT rgm_cupti_result cuptiPmSamplingCounterDataGetSampleInfo(rgm_cupti_pm_sample_info *p) {
    CHECK_SIZE(PmSamplingCounterDataGetSampleInfo);
    const data_image *image = (const void *)p->data;
    if (p->index >= image->count) return misuse();
    p->start = image->rows[p->index].start;
    p->end = image->rows[p->index].end;
    return RGM_CUPTI_SUCCESS;
}

#include "cupti_ranges.h"
