// SPDX-License-Identifier: Apache-2.0
// Declarations of CUPTI's Profiler Host, PM sampling and Range Profiler interfaces, so that the core builds
// without CUDA's headers (of which cupti_profiler_host.h is no C before 13.2).
// tests/core/cuda/test_profiler_types.c compares them with the real ones where those are installed.
//
// Each function takes a struct that begins with its own size: RGM_PARAMS (cuda/library/cupti_results.h).
#ifndef RGM_CUDA_PROFILER_TYPES_H
#define RGM_CUDA_PROFILER_TYPES_H

#include <stdint.h>

#include "cuda/library/cupti_results.h"

enum {
    RGM_CUPTI_METRIC_COUNTER,
    RGM_CUPTI_METRIC_RATIO,
    RGM_CUPTI_METRIC_THROUGHPUT,
    RGM_CUPTI_METRIC_TYPES
};
enum { RGM_CUPTI_RANGE_PROFILER, RGM_CUPTI_PM_SAMPLING };
enum { RGM_CUPTI_TRIGGER_CYCLES, RGM_CUPTI_TRIGGER_TIME };
enum { RGM_CUPTI_STOPPED_OTHER, RGM_CUPTI_STOPPED_FULL, RGM_CUPTI_STOPPED_AT_END };
enum { RGM_CUPTI_KEEP_OLDEST, RGM_CUPTI_KEEP_LATEST };
enum { RGM_CUPTI_AUTO_RANGE = 1, RGM_CUPTI_USER_RANGE };
enum { RGM_CUPTI_APPLICATION_REPLAY = 1, RGM_CUPTI_KERNEL_REPLAY, RGM_CUPTI_USER_REPLAY };

typedef struct rgm_cupti_host_s *rgm_cupti_host;
typedef struct rgm_cupti_pm_s *rgm_cupti_pm;
typedef struct rgm_cupti_ranges_s *rgm_cupti_ranges;

// --- device -----------------------------------------------------------------------------------------------

typedef struct {
    size_t size;
    void *priv;
} rgm_cupti_initialize;

typedef struct {
    size_t size;
    void *priv;
    size_t device;
    const char *chip;
} rgm_cupti_chip_name;

// Of a context; NULL is the current one.
typedef struct {
    size_t size;
    void *priv;
    void *context;
    size_t image_size;
    uint8_t *image;
} rgm_cupti_range_availability;

// --- Profiler Host: names, configurations, values ---------------------------------------------------------

typedef struct {
    size_t size;
    void *priv;
    int profiler;
    const char *chip;
    const uint8_t *availability;
    rgm_cupti_host host;
} rgm_cupti_host_initialize;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_host host;
} rgm_cupti_host_deinitialize;

typedef struct {
    size_t size;
    void *priv;
    size_t count;
    const char *const *chips;
} rgm_cupti_host_chips;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_host host;
    int type;
    const char **names;
    size_t count;
} rgm_cupti_host_base_metrics;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_host host;
    int type;
    const char *metric;
    size_t count;
    const char **names;
} rgm_cupti_host_sub_metrics;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_host host;
    const char **metrics;
    size_t count;
} rgm_cupti_host_add_metrics;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_host host;
    size_t image_size;
} rgm_cupti_host_image_size;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_host host;
    size_t image_size;
    uint8_t *image;
} rgm_cupti_host_image;

typedef struct {
    size_t size;
    void *priv;
    size_t image_size;
    uint8_t *image;
    size_t passes;
} rgm_cupti_host_passes;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_host host;
    const uint8_t *data;
    size_t data_size;
    size_t index;
    const char **metrics;
    size_t count;
    double *values;
} rgm_cupti_host_evaluate;

// --- PM sampling ------------------------------------------------------------------------------------------

typedef struct {
    size_t size;
    void *priv;
    size_t device;
    size_t image_size;
    uint8_t *image;
} rgm_cupti_pm_availability;

typedef struct {
    size_t size;
    void *priv;
    size_t device;
    rgm_cupti_pm pm;
} rgm_cupti_pm_enable;

// Of disable, start and stop.
typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_pm pm;
} rgm_cupti_pm_control;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_pm pm;
    size_t image_size;
    const uint8_t *image;
    size_t buffer_size;
    uint64_t interval;
    int trigger;
    int append;
} rgm_cupti_pm_config;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_pm pm;
    const char **metrics;
    size_t count;
    uint32_t max_samples;
    size_t data_size;
} rgm_cupti_pm_data_size;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_pm pm;
    size_t data_size;
    uint8_t *data;
} rgm_cupti_pm_data_initialize;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_pm pm;
    uint8_t *data;
    size_t data_size;
    int stopped;
    uint8_t overflow;
} rgm_cupti_pm_decode;

typedef struct {
    size_t size;
    void *priv;
    const uint8_t *data;
    size_t data_size;
    size_t total;
    size_t populated;
    size_t completed;
} rgm_cupti_pm_data_info;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_pm pm;
    const uint8_t *data;
    size_t data_size;
    size_t index;
    uint64_t start;
    uint64_t end;
} rgm_cupti_pm_sample_info;

// --- Range Profiler ---------------------------------------------------------------------------------------

typedef struct {
    size_t size;
    void *priv;
    void *context;
    rgm_cupti_ranges ranges;
} rgm_cupti_ranges_enable;

// Of disable, start and pop.
typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_ranges ranges;
} rgm_cupti_ranges_control;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_ranges ranges;
    size_t image_size;
    const uint8_t *image;
    size_t data_size;
    uint8_t *data;
    int range;
    int replay;
    size_t max_ranges;
    uint16_t nesting_levels;
    uint16_t min_nesting_level;
    size_t pass;
    uint16_t target_nesting_level;
} rgm_cupti_ranges_config;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_ranges ranges;
    size_t pass;
    size_t target_nesting_level;
    uint8_t all_submitted;
} rgm_cupti_ranges_stop;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_ranges ranges;
    const char *name;
} rgm_cupti_ranges_push;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_ranges ranges;
    size_t dropped;
} rgm_cupti_ranges_decode;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_ranges ranges;
    const char **metrics;
    size_t count;
    size_t max_ranges;
    uint32_t max_nodes;
    size_t data_size;
} rgm_cupti_ranges_data_size;

typedef struct {
    size_t size;
    void *priv;
    rgm_cupti_ranges ranges;
    size_t data_size;
    uint8_t *data;
} rgm_cupti_ranges_data_initialize;

typedef struct {
    size_t size;
    void *priv;
    const uint8_t *data;
    size_t data_size;
    size_t count;
} rgm_cupti_ranges_data_info;

typedef struct {
    size_t size;
    void *priv;
    const uint8_t *data;
    size_t data_size;
    size_t index;
    const char *delimiter;
    const char *name;
} rgm_cupti_ranges_range_info;

#endif
