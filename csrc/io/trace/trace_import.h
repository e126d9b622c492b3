// SPDX-License-Identifier: Apache-2.0
// Traces in Chrome's JSON format, as torch.profiler (Kineto) and others write them -> Run.
//
// Text comes from a source, a function that fills a buffer; memory is bounded by the columns that are built,
// never by the text. Input that is damaged is repaired or skipped and counted in `anomalies`, unless strict
// is asked for: then the first damage is an RGM_FORMAT error with its byte offset.
#ifndef RGM_IO_TRACE_IMPORT_H
#define RGM_IO_TRACE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/source.h"
#include "model/run.h"

typedef struct {
    bool strict;
    int threads;    // 1 or 2; 0 chooses
    int scan;       // rgm_scan_choice, for tests; 0 is the best one
    int64_t stripe; // bytes that a thread reads at a time, for tests; 0 chooses
    int64_t waste;  // bytes that may be read in vain because of damage, for tests; 0 chooses
} rgm_import_options;

rgm_status rgm_trace_import(const rgm_source *source, const rgm_import_options *options, rgm_run **run,
                            rgm_error *err) RGM_NODISCARD;
// The same for text in memory, which must stay as it is during the call.
rgm_status rgm_trace_import_bytes(const uint8_t *data, size_t length, const char *name,
                                  const rgm_import_options *options, rgm_run **run,
                                  rgm_error *err) RGM_NODISCARD;

#endif
