// SPDX-License-Identifier: Apache-2.0
// CUPTI's counter functions as one table, and its Profiler Host: which metrics a chip has, and in how many
// passes of the program a set of them can be measured. The host part needs no device, only (before 13.2) the
// library.
//
// Threads: library_get from any thread; one host belongs to one thread at a time.
#ifndef RGM_CUDA_COUNTER_HOST_H
#define RGM_CUDA_COUNTER_HOST_H

#include <stdbool.h>

#include "cuda/counters/profiler_types.h"
#include "cuda/library/cupti_library.h"

// Capabilities: X(NAME, what it is for).
#define RGM_COUNTER_CAPABILITIES(X)                                                                          \
    X(BASE, "the version and the clock")                                                                     \
    X(HOST, "names of metrics and pass counts")                                                              \
    X(TARGET, "counters of a device")                                                                        \
    X(PM, "samples of counters")                                                                             \
    X(RANGES, "counters of a range")                                                                         \
    X(NEEDS_DRIVER, "(a mark of 13.2 and later, never called)")

// X(CAPABILITY, member, symbol, parameters); all return rgm_cupti_result.
#define RGM_COUNTER_SYMBOLS(X)                                                                               \
    X(BASE, version, "cuptiGetVersion", (uint32_t *version))                                                 \
    X(BASE, timestamp, "cuptiGetTimestamp", (uint64_t *timestamp))                                           \
    X(HOST, host_chips, "cuptiProfilerHostGetSupportedChips", (rgm_cupti_host_chips *))                      \
    X(HOST, host_initialize, "cuptiProfilerHostInitialize", (rgm_cupti_host_initialize *))                   \
    X(HOST, host_deinitialize, "cuptiProfilerHostDeinitialize", (rgm_cupti_host_deinitialize *))             \
    X(HOST, host_base_metrics, "cuptiProfilerHostGetBaseMetrics", (rgm_cupti_host_base_metrics *))           \
    X(HOST, host_sub_metrics, "cuptiProfilerHostGetSubMetrics", (rgm_cupti_host_sub_metrics *))              \
    X(HOST, host_add_metrics, "cuptiProfilerHostConfigAddMetrics", (rgm_cupti_host_add_metrics *))           \
    X(HOST, host_image_size, "cuptiProfilerHostGetConfigImageSize", (rgm_cupti_host_image_size *))           \
    X(HOST, host_image, "cuptiProfilerHostGetConfigImage", (rgm_cupti_host_image *))                         \
    X(HOST, host_passes, "cuptiProfilerHostGetNumOfPasses", (rgm_cupti_host_passes *))                       \
    X(HOST, host_evaluate, "cuptiProfilerHostEvaluateToGpuValues", (rgm_cupti_host_evaluate *))              \
    X(TARGET, initialize, "cuptiProfilerInitialize", (rgm_cupti_initialize *))                               \
    X(TARGET, deinitialize, "cuptiProfilerDeInitialize", (rgm_cupti_initialize *))                           \
    X(TARGET, chip_name, "cuptiDeviceGetChipName", (rgm_cupti_chip_name *))                                  \
    X(PM, pm_availability, "cuptiPmSamplingGetCounterAvailability", (rgm_cupti_pm_availability *))           \
    X(PM, pm_enable, "cuptiPmSamplingEnable", (rgm_cupti_pm_enable *))                                       \
    X(PM, pm_disable, "cuptiPmSamplingDisable", (rgm_cupti_pm_control *))                                    \
    X(PM, pm_config, "cuptiPmSamplingSetConfig", (rgm_cupti_pm_config *))                                    \
    X(PM, pm_start, "cuptiPmSamplingStart", (rgm_cupti_pm_control *))                                        \
    X(PM, pm_stop, "cuptiPmSamplingStop", (rgm_cupti_pm_control *))                                          \
    X(PM, pm_data_size, "cuptiPmSamplingGetCounterDataSize", (rgm_cupti_pm_data_size *))                     \
    X(PM, pm_data_initialize, "cuptiPmSamplingCounterDataImageInitialize", (rgm_cupti_pm_data_initialize *)) \
    X(PM, pm_decode, "cuptiPmSamplingDecodeData", (rgm_cupti_pm_decode *))                                   \
    X(PM, pm_data_info, "cuptiPmSamplingGetCounterDataInfo", (rgm_cupti_pm_data_info *))                     \
    X(PM, pm_sample_info, "cuptiPmSamplingCounterDataGetSampleInfo", (rgm_cupti_pm_sample_info *))           \
    X(RANGES, ranges_availability, "cuptiProfilerGetCounterAvailability", (rgm_cupti_range_availability *))  \
    X(RANGES, ranges_enable, "cuptiRangeProfilerEnable", (rgm_cupti_ranges_enable *))                        \
    X(RANGES, ranges_disable, "cuptiRangeProfilerDisable", (rgm_cupti_ranges_control *))                     \
    X(RANGES, ranges_config, "cuptiRangeProfilerSetConfig", (rgm_cupti_ranges_config *))                     \
    X(RANGES, ranges_start, "cuptiRangeProfilerStart", (rgm_cupti_ranges_control *))                         \
    X(RANGES, ranges_stop, "cuptiRangeProfilerStop", (rgm_cupti_ranges_stop *))                              \
    X(RANGES, ranges_push, "cuptiRangeProfilerPushRange", (rgm_cupti_ranges_push *))                         \
    X(RANGES, ranges_pop, "cuptiRangeProfilerPopRange", (rgm_cupti_ranges_control *))                        \
    X(RANGES, ranges_decode, "cuptiRangeProfilerDecodeData", (rgm_cupti_ranges_decode *))                    \
    X(RANGES, ranges_data_size, "cuptiRangeProfilerGetCounterDataSize", (rgm_cupti_ranges_data_size *))      \
    X(RANGES, ranges_data_initialize, "cuptiRangeProfilerCounterDataImageInitialize",                        \
      (rgm_cupti_ranges_data_initialize *))                                                                  \
    X(RANGES, ranges_data_info, "cuptiRangeProfilerGetCounterDataInfo", (rgm_cupti_ranges_data_info *))      \
    X(RANGES, ranges_range_info, "cuptiRangeProfilerCounterDataGetRangeInfo",                                \
      (rgm_cupti_ranges_range_info *))                                                                       \
    X(NEEDS_DRIVER, single_pass_sets, "cuptiProfilerHostGetSinglePassSets", (void *))

#define RGM_COUNTER_CAPABILITY_ENUM(name, text) RGM_COUNTER_##name,
enum { RGM_COUNTER_CAPABILITIES(RGM_COUNTER_CAPABILITY_ENUM) RGM_COUNTER_CAPABILITY_COUNT };

#define RGM_COUNTER_MEMBER(capability, member, symbol, parameters) rgm_cupti_result(*member) parameters;
typedef struct {
    rgm_library library;
    uint32_t api_version; // as cuptiGetVersion counts: 24 is 12.6, 28 is 12.9, 130000 is 13.0
    void *planner;        // libnvperf_host, NULL where the loader finds it by itself or not at all
    bool driver;          // a CUDA driver was there and could be initialised
    RGM_COUNTER_SYMBOLS(RGM_COUNTER_MEMBER)
} rgm_counter_library;

// The table, with a Profiler Host that can be called: RGM_UNAVAILABLE, with the reason, when the library is
// absent, has no such interface (before 12.6), or would crash or refuse because no CUDA driver is there (13.2
// and later). Of these only the symbols are looked at, because the first call of any function is what
// crashes.
rgm_status rgm_counter_library_get(const rgm_counter_library **library, rgm_error *err) RGM_NODISCARD;
// The same for counters of a device: with the functions of `capability`, and a driver.
rgm_status rgm_counter_library_start(const rgm_counter_library **library, uint32_t capability,
                                     rgm_error *err) RGM_NODISCARD;
// Between begin and end of its users the library's profiler interface is initialised.
rgm_status rgm_counter_target_begin(const rgm_counter_library *library, rgm_error *err) RGM_NODISCARD;
void rgm_counter_target_end(const rgm_counter_library *library);
// Name of a device's chip, "GH100"; the library's memory.
rgm_status rgm_counter_device_chip(const rgm_counter_library *library, int device, const char **chip,
                                   rgm_error *err) RGM_NODISCARD;
// Tests only: forgets the table, so that another library can be loaded.
void rgm_counter_library_forget(void);

// --- host -------------------------------------------------------------------------------------------------

typedef struct {
    const rgm_counter_library *library;
    rgm_cupti_host object; // NULL: not open
} rgm_counter_host;

// The names of the chips that the library knows, its own memory.
rgm_status rgm_counter_chips(const rgm_counter_library *library, const char *const **chips, size_t *count,
                             rgm_error *err) RGM_NODISCARD;
// For a chip ("GH100") and RGM_CUPTI_RANGE_PROFILER or _PM_SAMPLING. `availability` is what the device offers
// to this user, NULL for all that the chip has. RGM_INVALID for an unknown chip, RGM_UNAVAILABLE for one
// without the profiler.
rgm_status rgm_counter_host_open(rgm_counter_host *host, const rgm_counter_library *library, int profiler,
                                 const char *chip, const uint8_t *availability, rgm_error *err) RGM_NODISCARD;
void rgm_counter_host_close(rgm_counter_host *host);
// True when the chip has the metric, "base.sub" or "base.sub.sub".
bool rgm_counter_host_has(const rgm_counter_host *host, const char *metric);
// Number of base metrics of one type.
size_t rgm_counter_host_count(const rgm_counter_host *host, int type);
// How to measure the metrics: the image is the caller's (rgm_free). A host takes one configuration only.
rgm_status rgm_counter_host_configure(rgm_counter_host *host, const char *const *metrics, size_t count,
                                      uint8_t **image, size_t *image_size, size_t *passes,
                                      rgm_error *err) RGM_NODISCARD;

#endif
