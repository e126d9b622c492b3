// SPDX-License-Identifier: Apache-2.0
// Bytes of operators that do little arithmetic on each element: maps, norms, copies, sums over the shapes of
// their inputs. Each input is read and the output written once, which is the least that must move.
#ifndef RGM_ANALYSIS_OP_TRAFFIC_H
#define RGM_ANALYSIS_OP_TRAFFIC_H

#include "base/strings.h"

// Where one knows what an operator moves; NULL for all others.
typedef struct rgm_op_traffic rgm_op_traffic;
const rgm_op_traffic *rgm_op_traffic_find(rgm_string name);

typedef struct {
    double elements; // that something is computed for, NAN when the texts do not say enough
    double bytes;
} rgm_op_moved;

rgm_op_moved rgm_op_traffic_moved(const rgm_op_traffic *traffic, rgm_string shapes, rgm_string types);

#endif
