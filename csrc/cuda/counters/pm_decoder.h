// SPDX-License-Identifier: Apache-2.0
// From the device's buffer of samples to rows for the sink: in order of time, on CLOCK_MONOTONIC, without the
// first, and with what is missing between two counted. One thread at a time.
#ifndef RGM_CUDA_PM_DECODER_H
#define RGM_CUDA_PM_DECODER_H

#include "cuda/counters/pm_sampling.h"

enum {
    RGM_PM_ROWS = 512,   // handed to the sink at a time
    RGM_PM_DECODES = 64, // of one run at most
};

typedef struct {
    int64_t start_ns, end_ns; // the library's clock
    size_t index;
} rgm_pm_place;

typedef struct {
    const rgm_counter_library *library;
    rgm_device_sink sink;
    rgm_cupti_pm object;
    rgm_cupti_host host;
    const char **metrics;
    size_t n_metrics;
    uint32_t series[RGM_PLAN_ROLES]; // string ids
    int16_t device;
    bool by_time; // the interval is one of time, not of cycles
    int64_t interval_ns;
    uint32_t max_samples;
    uint8_t *data; // the library's image of decoded samples
    size_t data_size;
    rgm_pm_place *places; // [max_samples]
    rgm_counter_row rows[RGM_PM_ROWS];
    size_t n_rows;
    bool any;                     // a first sample was seen, and left out
    bool overflow;                // since the last sample that was seen
    int64_t last_start, last_end; // of the last sample, the library's clock
    int64_t lag;                  // from the end of the first batch, the library's clock, to its decoding
    rgm_pm_counts counts;
} rgm_pm_decoder;

// Empties the image; to be done once before the first run.
rgm_cupti_result rgm_pm_decoder_clear(const rgm_pm_decoder *decoder);
// Decodes what there is, bounded.
void rgm_pm_decoder_run(rgm_pm_decoder *decoder);
// The same once sampling has stopped.
void rgm_pm_decoder_finish(rgm_pm_decoder *decoder);

#endif
