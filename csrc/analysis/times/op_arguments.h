// SPDX-License-Identifier: Apache-2.0
// Arguments of an operator, read from the JSON texts of `operators`: shapes [[2,3],[]], types ["float",""]
// and concrete values ["","[1, 1]","False"].
#ifndef RGM_ANALYSIS_OP_ARGUMENTS_H
#define RGM_ANALYSIS_OP_ARGUMENTS_H

#include <stdbool.h>

#include "base/strings.h"

enum { RGM_MAX_ARGUMENTS = 24, RGM_MAX_DIMENSIONS = 8 };

// Sizes are doubles: products of what a damaged file says must not overflow.
typedef struct {
    int dimensions; // -1 for what is no tensor: a list of tensors, or more dimensions than fit
    double size[RGM_MAX_DIMENSIONS];
} rgm_shape;

// Number of arguments read, 0 for a text that is no list of lists.
int rgm_arguments_shapes(rgm_string text, rgm_shape shapes[RGM_MAX_ARGUMENTS]);
// The nth string of a JSON array of strings, without its quotes; false when there is none.
bool rgm_arguments_text(rgm_string text, int nth, rgm_string *out);
// Bytes of an element of a type as torch writes it ("c10::BFloat16", "long int"), 0 for an unknown one.
int rgm_arguments_type_bytes(rgm_string type);

double rgm_shape_elements(const rgm_shape *shape);

#endif
