// SPDX-License-Identifier: Apache-2.0
// Where a series changed its level: binary segmentation by the largest standardised rank sum over all splits,
// with critical values by permutation. Needs no distribution and is not moved by outliers. A step that was
// found is placed where the values leave one median for the other.
#ifndef RGM_COMPARE_CHANGE_POINTS_H
#define RGM_COMPARE_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { RGM_SEGMENT_LEAST = 4 }; // values of a segment

typedef struct {
    size_t at;            // the first value of the new level
    double p;             // of this split within its segment, by permutation
    double before, after; // medians of the segments on both sides
} rgm_change_point;

// Change points in order; *out is the caller's to free. `alpha` holds for each segment that is tested. With
// `autocorrelated`, neighbouring values may depend on each other: what each has of its neighbour is taken out
// first, by the correlation of neighbours within the two sides (a first-order autoregression). The same input
// gives the same result.
rgm_status rgm_change_points_of(const double *values, size_t count, double alpha, bool autocorrelated,
                                rgm_change_point **out, size_t *n_out, rgm_error *err) RGM_NODISCARD;

#endif
