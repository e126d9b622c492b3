// SPDX-License-Identifier: Apache-2.0
// The union of intervals, built in order of their starts, and how much of a stretch of time it covers.
// Adding is amortised constant, asking logarithmic. Zero-initialised memory is the empty union.
#ifndef RGM_ANALYSIS_COVERAGE_H
#define RGM_ANALYSIS_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t start, end;
    int64_t before; // covered time before start
} rgm_stretch;

typedef struct {
    rgm_stretch *rows; // disjoint and apart, ascending
    size_t count, capacity;
} rgm_coverage;

// Starts must not descend from call to call; an empty interval adds nothing.
rgm_status rgm_coverage_add(rgm_coverage *coverage, int64_t start, int64_t end, rgm_error *err) RGM_NODISCARD;
// Covered time in [from, to); 0 when to <= from.
int64_t rgm_coverage_within(const rgm_coverage *coverage, int64_t from, int64_t to);
// How long the interval is that covers this time, 0 where none does.
int64_t rgm_coverage_at(const rgm_coverage *coverage, int64_t time);
int64_t rgm_coverage_total(const rgm_coverage *coverage);
void rgm_coverage_release(rgm_coverage *coverage);

#endif
