// SPDX-License-Identifier: Apache-2.0
// How long the structs of CUPTI's counter interfaces are, as the headers of 12.6, 12.8 and 13.0 define their
// STRUCT_SIZE. The library tells the versions of a struct apart by what it is told, and refuses others.
#ifndef FAKE_CUPTI_SIZES_H
#define FAKE_CUPTI_SIZES_H

#define CUPTI_SIZES(X)                                                                                       \
    X(ProfilerHostGetSupportedChips, 32)                                                                     \
    X(ProfilerHostInitialize, 48)                                                                            \
    X(ProfilerHostDeinitialize, 24)                                                                          \
    X(ProfilerHostGetBaseMetrics, 48)                                                                        \
    X(ProfilerHostGetSubMetrics, 56)                                                                         \
    X(ProfilerHostConfigAddMetrics, 40)                                                                      \
    X(ProfilerHostGetConfigImageSize, 32)                                                                    \
    X(ProfilerHostGetConfigImage, 40)                                                                        \
    X(ProfilerHostGetNumOfPasses, 40)                                                                        \
    X(ProfilerHostEvaluateToGpuValues, 72)                                                                   \
    X(ProfilerInitialize, 16)                                                                                \
    X(ProfilerDeInitialize, 16)                                                                              \
    X(DeviceGetChipName, 32)                                                                                 \
    X(PmSamplingGetCounterAvailability, 40)                                                                  \
    X(PmSamplingEnable, 32)                                                                                  \
    X(PmSamplingDisable, 24)                                                                                 \
    X(PmSamplingSetConfig, 64)                                                                               \
    X(PmSamplingStart, 24)                                                                                   \
    X(PmSamplingStop, 24)                                                                                    \
    X(PmSamplingGetCounterDataSize, 56)                                                                      \
    X(PmSamplingCounterDataImageInitialize, 40)                                                              \
    X(PmSamplingDecodeData, 45)                                                                              \
    X(PmSamplingGetCounterDataInfo, 56)                                                                      \
    X(PmSamplingCounterDataGetSampleInfo, 64)                                                                \
    X(ProfilerGetCounterAvailability, 40)                                                                    \
    X(RangeProfilerEnable, 32)                                                                               \
    X(RangeProfilerDisable, 24)                                                                              \
    X(RangeProfilerGetCounterDataSize, 64)                                                                   \
    X(RangeProfilerCounterDataImageInitialize, 40)                                                           \
    X(RangeProfilerSetConfig, 90)                                                                            \
    X(RangeProfilerStart, 24)                                                                                \
    X(RangeProfilerStop, 41)                                                                                 \
    X(RangeProfilerPushRange, 32)                                                                            \
    X(RangeProfilerPopRange, 24)                                                                             \
    X(RangeProfilerDecodeData, 32)                                                                           \
    X(RangeProfilerGetCounterDataInfo, 40)                                                                   \
    X(RangeProfilerCounterDataGetRangeInfo, 56)

// 12.6 (version 24) has no mode of the hardware's buffer at the end of this one.
enum { PM_CONFIG_OF_12_6 = 60, BUFFER_MODE_FROM = 26 };

#define CUPTI_SIZE_OF(name, bytes) SIZE_##name = (bytes),
enum { CUPTI_SIZES(CUPTI_SIZE_OF) };

#endif
