// SPDX-License-Identifier: Apache-2.0
// Our declarations of CUPTI's counter interfaces against the real headers, from those of 12.6 on, where they
// are installed (CMake's REGIMETER_CUPTI_INCLUDE, found by itself). The struct size that a function is told,
// the size and place of every member, and the numbers are compared when this is compiled.
#include "cuda/counters/profiler_types.h"

#include "harness.h"

#if defined(__has_include)
#if __has_include(<cupti_range_profiler.h>)
#define HAS_CUPTI 1
#endif
#endif

#ifdef HAS_CUPTI
// cupti_profiler_host.h of 12.6 to 13.2 includes <string> of C++ and uses nothing of it; the folder beside
// this file has an empty one.
#include <cupti_profiler_host.h>

#include <cupti_pmsampling.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#define SAME(ours, our_member, theirs, their_member)                                                         \
    _Static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) &&                           \
                       sizeof(((ours *)0)->our_member) == sizeof(((theirs *)0)->their_member),               \
                   #ours "." #our_member)
// The size up to the last member that we know: theirs may have grown since.
#define SAME_SIZE(ours, last, theirs)                                                                        \
    _Static_assert(offsetof(ours, last) + sizeof(((ours *)0)->last) <= theirs##_STRUCT_SIZE,                 \
                   #ours " is longer")
#define SAME_NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME_SIZE(rgm_cupti_initialize, priv, CUpti_Profiler_Initialize_Params);
SAME(rgm_cupti_initialize, size, CUpti_Profiler_Initialize_Params, structSize);
SAME(rgm_cupti_initialize, priv, CUpti_Profiler_Initialize_Params, pPriv);

SAME_SIZE(rgm_cupti_initialize, priv, CUpti_Profiler_DeInitialize_Params);
SAME(rgm_cupti_initialize, size, CUpti_Profiler_DeInitialize_Params, structSize);
SAME(rgm_cupti_initialize, priv, CUpti_Profiler_DeInitialize_Params, pPriv);

SAME_SIZE(rgm_cupti_chip_name, chip, CUpti_Device_GetChipName_Params);
SAME(rgm_cupti_chip_name, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME(rgm_cupti_chip_name, chip, CUpti_Device_GetChipName_Params, pChipName);

SAME_SIZE(rgm_cupti_range_availability, image, CUpti_Profiler_GetCounterAvailability_Params);
SAME(rgm_cupti_range_availability, context, CUpti_Profiler_GetCounterAvailability_Params, ctx);
SAME(rgm_cupti_range_availability, image_size, CUpti_Profiler_GetCounterAvailability_Params,
     counterAvailabilityImageSize);
SAME(rgm_cupti_range_availability, image, CUpti_Profiler_GetCounterAvailability_Params,
     pCounterAvailabilityImage);

SAME_SIZE(rgm_cupti_host_initialize, host, CUpti_Profiler_Host_Initialize_Params);
SAME(rgm_cupti_host_initialize, profiler, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME(rgm_cupti_host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME(rgm_cupti_host_initialize, availability, CUpti_Profiler_Host_Initialize_Params,
     pCounterAvailabilityImage);
SAME(rgm_cupti_host_initialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);

SAME_SIZE(rgm_cupti_host_deinitialize, host, CUpti_Profiler_Host_Deinitialize_Params);
SAME(rgm_cupti_host_deinitialize, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);

SAME_SIZE(rgm_cupti_host_chips, chips, CUpti_Profiler_Host_GetSupportedChips_Params);
SAME(rgm_cupti_host_chips, count, CUpti_Profiler_Host_GetSupportedChips_Params, numChips);
SAME(rgm_cupti_host_chips, chips, CUpti_Profiler_Host_GetSupportedChips_Params, ppChipNames);

SAME_SIZE(rgm_cupti_host_base_metrics, count, CUpti_Profiler_Host_GetBaseMetrics_Params);
SAME(rgm_cupti_host_base_metrics, host, CUpti_Profiler_Host_GetBaseMetrics_Params, pHostObject);
SAME(rgm_cupti_host_base_metrics, type, CUpti_Profiler_Host_GetBaseMetrics_Params, metricType);
SAME(rgm_cupti_host_base_metrics, names, CUpti_Profiler_Host_GetBaseMetrics_Params, ppMetricNames);
SAME(rgm_cupti_host_base_metrics, count, CUpti_Profiler_Host_GetBaseMetrics_Params, numMetrics);

SAME_SIZE(rgm_cupti_host_sub_metrics, names, CUpti_Profiler_Host_GetSubMetrics_Params);
SAME(rgm_cupti_host_sub_metrics, host, CUpti_Profiler_Host_GetSubMetrics_Params, pHostObject);
SAME(rgm_cupti_host_sub_metrics, type, CUpti_Profiler_Host_GetSubMetrics_Params, metricType);
SAME(rgm_cupti_host_sub_metrics, metric, CUpti_Profiler_Host_GetSubMetrics_Params, pMetricName);
SAME(rgm_cupti_host_sub_metrics, count, CUpti_Profiler_Host_GetSubMetrics_Params, numOfSubmetrics);
SAME(rgm_cupti_host_sub_metrics, names, CUpti_Profiler_Host_GetSubMetrics_Params, ppSubMetrics);

SAME_SIZE(rgm_cupti_host_add_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME(rgm_cupti_host_add_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
SAME(rgm_cupti_host_add_metrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME(rgm_cupti_host_add_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);

SAME_SIZE(rgm_cupti_host_image_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME(rgm_cupti_host_image_size, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
SAME(rgm_cupti_host_image_size, image_size, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);

SAME_SIZE(rgm_cupti_host_image, image, CUpti_Profiler_Host_GetConfigImage_Params);
SAME(rgm_cupti_host_image, host, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
SAME(rgm_cupti_host_image, image_size, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
SAME(rgm_cupti_host_image, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);

SAME_SIZE(rgm_cupti_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME(rgm_cupti_host_passes, image_size, CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
SAME(rgm_cupti_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME(rgm_cupti_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);

SAME_SIZE(rgm_cupti_host_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME(rgm_cupti_host_evaluate, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
SAME(rgm_cupti_host_evaluate, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME(rgm_cupti_host_evaluate, data_size, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
     counterDataImageSize);
SAME(rgm_cupti_host_evaluate, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME(rgm_cupti_host_evaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME(rgm_cupti_host_evaluate, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
SAME(rgm_cupti_host_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);

SAME_SIZE(rgm_cupti_pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params);
SAME(rgm_cupti_pm_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SAME(rgm_cupti_pm_availability, image_size, CUpti_PmSampling_GetCounterAvailability_Params,
     counterAvailabilityImageSize);
SAME(rgm_cupti_pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params,
     pCounterAvailabilityImage);

SAME_SIZE(rgm_cupti_pm_enable, pm, CUpti_PmSampling_Enable_Params);
SAME(rgm_cupti_pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
SAME(rgm_cupti_pm_enable, pm, CUpti_PmSampling_Enable_Params, pPmSamplingObject);

SAME_SIZE(rgm_cupti_pm_control, pm, CUpti_PmSampling_Disable_Params);
SAME(rgm_cupti_pm_control, pm, CUpti_PmSampling_Disable_Params, pPmSamplingObject);

SAME_SIZE(rgm_cupti_pm_control, pm, CUpti_PmSampling_Start_Params);
SAME(rgm_cupti_pm_control, pm, CUpti_PmSampling_Start_Params, pPmSamplingObject);

SAME_SIZE(rgm_cupti_pm_control, pm, CUpti_PmSampling_Stop_Params);
SAME(rgm_cupti_pm_control, pm, CUpti_PmSampling_Stop_Params, pPmSamplingObject);

#if CUPTI_API_VERSION >= 26 // 12.8
SAME_SIZE(rgm_cupti_pm_config, append, CUpti_PmSampling_SetConfig_Params);
SAME(rgm_cupti_pm_config, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
SAME_NUMBER(RGM_CUPTI_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
SAME_NUMBER(RGM_CUPTI_KEEP_LATEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST);
SAME_NUMBER(RGM_CUPTI_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
SAME_NUMBER(RGM_CUPTI_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#else
SAME_SIZE(rgm_cupti_pm_config, trigger, CUpti_PmSampling_SetConfig_Params);
#endif
#if CUPTI_API_VERSION >= 130000
SAME_NUMBER(RGM_CUPTI_INVALID_CHIP_NAME, CUPTI_ERROR_INVALID_CHIP_NAME);
#endif
SAME(rgm_cupti_pm_config, pm, CUpti_PmSampling_SetConfig_Params, pPmSamplingObject);
SAME(rgm_cupti_pm_config, image_size, CUpti_PmSampling_SetConfig_Params, configSize);
SAME(rgm_cupti_pm_config, image, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME(rgm_cupti_pm_config, buffer_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME(rgm_cupti_pm_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME(rgm_cupti_pm_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);

SAME_SIZE(rgm_cupti_pm_data_size, data_size, CUpti_PmSampling_GetCounterDataSize_Params);
SAME(rgm_cupti_pm_data_size, pm, CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject);
SAME(rgm_cupti_pm_data_size, metrics, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
SAME(rgm_cupti_pm_data_size, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
SAME(rgm_cupti_pm_data_size, max_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME(rgm_cupti_pm_data_size, data_size, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);

SAME_SIZE(rgm_cupti_pm_data_initialize, data, CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME(rgm_cupti_pm_data_initialize, pm, CUpti_PmSampling_CounterDataImage_Initialize_Params,
     pPmSamplingObject);
SAME(rgm_cupti_pm_data_initialize, data_size, CUpti_PmSampling_CounterDataImage_Initialize_Params,
     counterDataSize);
SAME(rgm_cupti_pm_data_initialize, data, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);

SAME_SIZE(rgm_cupti_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params);
SAME(rgm_cupti_pm_decode, pm, CUpti_PmSampling_DecodeData_Params, pPmSamplingObject);
SAME(rgm_cupti_pm_decode, data, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME(rgm_cupti_pm_decode, data_size, CUpti_PmSampling_DecodeData_Params, counterDataImageSize);
SAME(rgm_cupti_pm_decode, stopped, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME(rgm_cupti_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);

SAME_SIZE(rgm_cupti_pm_data_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME(rgm_cupti_pm_data_info, data, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
SAME(rgm_cupti_pm_data_info, data_size, CUpti_PmSampling_GetCounterDataInfo_Params, counterDataImageSize);
SAME(rgm_cupti_pm_data_info, total, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
SAME(rgm_cupti_pm_data_info, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
SAME(rgm_cupti_pm_data_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);

SAME_SIZE(rgm_cupti_pm_sample_info, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME(rgm_cupti_pm_sample_info, pm, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPmSamplingObject);
SAME(rgm_cupti_pm_sample_info, data, CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage);
SAME(rgm_cupti_pm_sample_info, data_size, CUpti_PmSampling_CounterData_GetSampleInfo_Params,
     counterDataImageSize);
SAME(rgm_cupti_pm_sample_info, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME(rgm_cupti_pm_sample_info, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
SAME(rgm_cupti_pm_sample_info, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);

SAME_SIZE(rgm_cupti_ranges_enable, ranges, CUpti_RangeProfiler_Enable_Params);
SAME(rgm_cupti_ranges_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
SAME(rgm_cupti_ranges_enable, ranges, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);

SAME_SIZE(rgm_cupti_ranges_control, ranges, CUpti_RangeProfiler_Disable_Params);
SAME(rgm_cupti_ranges_control, ranges, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);

SAME_SIZE(rgm_cupti_ranges_control, ranges, CUpti_RangeProfiler_Start_Params);
SAME(rgm_cupti_ranges_control, ranges, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);

SAME_SIZE(rgm_cupti_ranges_control, ranges, CUpti_RangeProfiler_PopRange_Params);
SAME(rgm_cupti_ranges_control, ranges, CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject);

SAME_SIZE(rgm_cupti_ranges_config, target_nesting_level, CUpti_RangeProfiler_SetConfig_Params);
SAME(rgm_cupti_ranges_config, ranges, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
SAME(rgm_cupti_ranges_config, image_size, CUpti_RangeProfiler_SetConfig_Params, configSize);
SAME(rgm_cupti_ranges_config, image, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME(rgm_cupti_ranges_config, data_size, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
SAME(rgm_cupti_ranges_config, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
SAME(rgm_cupti_ranges_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME(rgm_cupti_ranges_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME(rgm_cupti_ranges_config, max_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
SAME(rgm_cupti_ranges_config, nesting_levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
SAME(rgm_cupti_ranges_config, min_nesting_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
SAME(rgm_cupti_ranges_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SAME(rgm_cupti_ranges_config, target_nesting_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);

SAME_SIZE(rgm_cupti_ranges_stop, all_submitted, CUpti_RangeProfiler_Stop_Params);
SAME(rgm_cupti_ranges_stop, ranges, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
SAME(rgm_cupti_ranges_stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
SAME(rgm_cupti_ranges_stop, target_nesting_level, CUpti_RangeProfiler_Stop_Params, targetNestingLevel);
SAME(rgm_cupti_ranges_stop, all_submitted, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);

SAME_SIZE(rgm_cupti_ranges_push, name, CUpti_RangeProfiler_PushRange_Params);
SAME(rgm_cupti_ranges_push, ranges, CUpti_RangeProfiler_PushRange_Params, pRangeProfilerObject);
SAME(rgm_cupti_ranges_push, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);

SAME_SIZE(rgm_cupti_ranges_decode, dropped, CUpti_RangeProfiler_DecodeData_Params);
SAME(rgm_cupti_ranges_decode, ranges, CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject);
SAME(rgm_cupti_ranges_decode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);

SAME_SIZE(rgm_cupti_ranges_data_size, data_size, CUpti_RangeProfiler_GetCounterDataSize_Params);
SAME(rgm_cupti_ranges_data_size, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject);
SAME(rgm_cupti_ranges_data_size, metrics, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
SAME(rgm_cupti_ranges_data_size, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
SAME(rgm_cupti_ranges_data_size, max_ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
SAME(rgm_cupti_ranges_data_size, max_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
     maxNumRangeTreeNodes);
SAME(rgm_cupti_ranges_data_size, data_size, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);

SAME_SIZE(rgm_cupti_ranges_data_initialize, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
SAME(rgm_cupti_ranges_data_initialize, ranges, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
     pRangeProfilerObject);
SAME(rgm_cupti_ranges_data_initialize, data_size, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
     counterDataSize);
SAME(rgm_cupti_ranges_data_initialize, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
     pCounterData);

SAME_SIZE(rgm_cupti_ranges_data_info, count, CUpti_RangeProfiler_GetCounterDataInfo_Params);
SAME(rgm_cupti_ranges_data_info, data, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
SAME(rgm_cupti_ranges_data_info, data_size, CUpti_RangeProfiler_GetCounterDataInfo_Params,
     counterDataImageSize);
SAME(rgm_cupti_ranges_data_info, count, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);

SAME_SIZE(rgm_cupti_ranges_range_info, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
SAME(rgm_cupti_ranges_range_info, data, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     pCounterDataImage);
SAME(rgm_cupti_ranges_range_info, data_size, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     counterDataImageSize);
SAME(rgm_cupti_ranges_range_info, index, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeIndex);
SAME(rgm_cupti_ranges_range_info, delimiter, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params,
     rangeDelimiter);
SAME(rgm_cupti_ranges_range_info, name, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeName);

SAME_NUMBER(RGM_CUPTI_SUCCESS, CUPTI_SUCCESS);
SAME_NUMBER(RGM_CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME_NUMBER(RGM_CUPTI_INVALID_DEVICE, CUPTI_ERROR_INVALID_DEVICE);
SAME_NUMBER(RGM_CUPTI_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
SAME_NUMBER(RGM_CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME_NUMBER(RGM_CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(RGM_CUPTI_HARDWARE, CUPTI_ERROR_HARDWARE);
SAME_NUMBER(RGM_CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME_NUMBER(RGM_CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
SAME_NUMBER(RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME_NUMBER(RGM_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME_NUMBER(RGM_CUPTI_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
SAME_NUMBER(RGM_CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
SAME_NUMBER(RGM_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME_NUMBER(RGM_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME_NUMBER(RGM_CUPTI_LEGACY_PROFILER_NOT_SUPPORTED, CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
SAME_NUMBER(RGM_CUPTI_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME_NUMBER(RGM_CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
SAME_NUMBER(RGM_CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
SAME_NUMBER(RGM_CUPTI_METRIC_COUNTER, CUPTI_METRIC_TYPE_COUNTER);
SAME_NUMBER(RGM_CUPTI_METRIC_RATIO, CUPTI_METRIC_TYPE_RATIO);
SAME_NUMBER(RGM_CUPTI_METRIC_THROUGHPUT, CUPTI_METRIC_TYPE_THROUGHPUT);
SAME_NUMBER(RGM_CUPTI_RANGE_PROFILER, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME_NUMBER(RGM_CUPTI_PM_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME_NUMBER(RGM_CUPTI_TRIGGER_CYCLES, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
SAME_NUMBER(RGM_CUPTI_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME_NUMBER(RGM_CUPTI_STOPPED_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
SAME_NUMBER(RGM_CUPTI_STOPPED_AT_END, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
SAME_NUMBER(RGM_CUPTI_AUTO_RANGE, CUPTI_AutoRange);
SAME_NUMBER(RGM_CUPTI_USER_RANGE, CUPTI_UserRange);
SAME_NUMBER(RGM_CUPTI_APPLICATION_REPLAY, CUPTI_ApplicationReplay);
SAME_NUMBER(RGM_CUPTI_KERNEL_REPLAY, CUPTI_KernelReplay);
SAME_NUMBER(RGM_CUPTI_USER_REPLAY, CUPTI_UserReplay);

TEST(our_declarations_are_those_of_the_headers) { CHECK(true); } // by the assertions above
#else
TEST(no_headers_to_compare_with) { (void)fprintf(stderr, "skipped: CUPTI's headers were not found\n"); }
#endif

TEST(the_size_that_is_told_ends_with_the_last_member) {
    RGM_PARAMS(rgm_cupti_pm_decode, decode, overflow);
    RGM_PARAMS(rgm_cupti_ranges_config, config, target_nesting_level);
    CHECK_EQ_U64(decode.size, 45); // sizeof is 48
    CHECK_EQ_U64(config.size, 90);
    CHECK(!decode.priv && !config.image);
}
