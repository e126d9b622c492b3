// SPDX-License-Identifier: Apache-2.0
// Floating-point operations and compulsory bytes of operators, from the shapes of their inputs: the formulas
// of torch.utils.flop_counter (a multiply-add is two operations; bias, softmax and pointwise work count
// nothing, a causal mask does not halve).
#ifndef RGM_ANALYSIS_OP_FORMULAS_H
#define RGM_ANALYSIS_OP_FORMULAS_H

#include "base/strings.h"

// Where one knows what an operator does; NULL for all others.
typedef struct rgm_op_formula rgm_op_formula;
const rgm_op_formula *rgm_op_formula_find(rgm_string name);

typedef struct {
    double flops; // NAN when the texts do not say enough
    double bytes; // inputs and outputs once each, NAN when not known
} rgm_op_work;

rgm_op_work rgm_op_formula_work(const rgm_op_formula *formula, rgm_string shapes, rgm_string types,
                                rgm_string values);

#endif
