// SPDX-License-Identifier: Apache-2.0
// For a fortnight in spring 2024 Kineto printed times as "{us}.{ns}" without padding the nanoseconds with
// zeros, so that 5 ns became ".5". Such a file is told by what its fractions are and never are; they are read
// as decimals first, remembered while the file may still be one of these, and corrected at the end when it
// is.
//
// The rule: all times are Unix times of March to June 2024, there is no baseTimeNanoseconds, no fraction of
// several digits begins with 0 (every tenth would in a padded file), none has more than three digits, and
// some have fewer than three without all of them being quarters of a microsecond, as a double leaves them.
#ifndef RGM_IO_TRACE_ERA_H
#define RGM_IO_TRACE_ERA_H

#include <stdbool.h>

#include "io/trace/trace_event.h"
#include "model/run.h"

typedef enum { RGM_ERA_UNKNOWN, RGM_ERA_POSSIBLE, RGM_ERA_DECIMAL } rgm_era_state;

typedef struct {
    uint32_t row;
    uint16_t digits_value; // the fraction as an integer
    uint8_t digits;        // 1 or 2
    uint8_t place;         // 0 start, 1 duration, 2 time of a flow
} rgm_era_fraction;

typedef struct {
    uint8_t state;
    bool odd; // a fraction that is no quarter of a microsecond was seen
    rgm_era_fraction *fractions;
    size_t n_fractions, capacity;
} rgm_trace_era;

// Looks at the times of a span or flow that is about to become `row`.
rgm_status rgm_trace_era_look(rgm_trace_era *era, const rgm_event *event, bool flow, size_t row,
                              rgm_error *err) RGM_NODISCARD;
rgm_status rgm_trace_era_join(rgm_trace_era *to, const rgm_trace_era *from, size_t first_span,
                              size_t first_flow, rgm_error *err) RGM_NODISCARD;
// Corrects the times when the file is of that fortnight; returns how many.
int64_t rgm_trace_era_apply(const rgm_trace_era *era, rgm_run *run, int64_t base_ns);

#endif
