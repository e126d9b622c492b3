// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/op_traffic.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/times/op_arguments.h"

// MAP reads every tensor and writes one of the largest; COPY writes the first and reads the second; FILL
// writes the first; SAME reads and writes as much as the first; READ reads the first and writes next to
// nothing.
typedef enum { MAP, COPY, FILL, SAME, READ } pattern;

struct rgm_op_traffic {
    const char *name;
    pattern pattern;
};

static const rgm_op_traffic rows[] = {
    {"add", MAP},
    {"add_", MAP},
    {"sub", MAP},
    {"sub_", MAP},
    {"mul", MAP},
    {"mul_", MAP},
    {"div", MAP},
    {"div_", MAP},
    {"addcmul", MAP},
    {"addcmul_", MAP},
    {"addcdiv", MAP},
    {"addcdiv_", MAP},
    {"maximum", MAP},
    {"minimum", MAP},
    {"pow", MAP},
    {"relu", MAP},
    {"relu_", MAP},
    {"gelu", MAP},
    {"silu", MAP},
    {"silu_", MAP},
    {"sigmoid", MAP},
    {"sigmoid_", MAP},
    {"tanh", MAP},
    {"tanh_", MAP},
    {"exp", MAP},
    {"log", MAP},
    {"sqrt", MAP},
    {"rsqrt", MAP},
    {"neg", MAP},
    {"abs", MAP},
    {"cos", MAP},
    {"sin", MAP},
    {"clamp", MAP},
    {"clamp_min", MAP},
    {"clamp_min_", MAP},
    {"hardtanh", MAP},
    {"hardtanh_", MAP},
    {"leaky_relu", MAP},
    {"elu", MAP},
    {"threshold_backward", MAP},
    {"gelu_backward", MAP},
    {"silu_backward", MAP},
    {"tanh_backward", MAP},
    {"sigmoid_backward", MAP},
    {"copy_", COPY},
    {"fill_", FILL},
    {"zero_", FILL},
    {"_softmax", SAME},
    {"_log_softmax", SAME},
    {"native_layer_norm", SAME},
    {"native_group_norm", SAME},
    {"_fused_rms_norm", SAME},
    {"sum", READ},
    {"mean", READ},
    {"max", READ},
    {"min", READ},
    {"argmax", READ},
    {"linalg_vector_norm", READ},
};

const rgm_op_traffic *rgm_op_traffic_find(rgm_string name) {
    static const char prefix[] = "aten::";
    size_t skip = sizeof prefix - 1;
    if (name.length <= skip || memcmp(name.data, prefix, skip) != 0) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name.data + skip) == 0) return &rows[i];
    return NULL;
}

// Bytes of a tensor; a number moves none.
static double bytes_of(const rgm_shape *shape, rgm_string types, int argument) {
    rgm_string type;
    if (shape->dimensions == 0) return 0;
    if (shape->dimensions < 0 || !rgm_arguments_text(types, argument, &type)) return NAN;
    int element = rgm_arguments_type_bytes(type);
    return element ? rgm_shape_elements(shape) * element : NAN;
}

static rgm_op_moved map(const rgm_shape *shapes, int count, rgm_string types) {
    rgm_op_moved moved = {0, 0};
    double largest = 0;
    for (int i = 0; i < count; i++) {
        double bytes = bytes_of(&shapes[i], types, i);
        moved.bytes += bytes;
        if (bytes > largest) largest = bytes;
        if (bytes > 0 && rgm_shape_elements(&shapes[i]) > moved.elements)
            moved.elements = rgm_shape_elements(&shapes[i]);
    }
    moved.bytes += largest;
    return moved;
}

rgm_op_moved rgm_op_traffic_moved(const rgm_op_traffic *traffic, rgm_string shapes, rgm_string types) {
    rgm_shape shape[RGM_MAX_ARGUMENTS];
    int count = rgm_arguments_shapes(shapes, shape);
    if (count < 1 || shape[0].dimensions < 0) return (rgm_op_moved){NAN, NAN};
    double first = bytes_of(&shape[0], types, 0), elements = rgm_shape_elements(&shape[0]);
    rgm_op_moved moved = {elements, NAN};
    switch (traffic->pattern) {
    case MAP: moved = map(shape, count, types); break;
    case COPY: moved.bytes = count > 1 ? first + bytes_of(&shape[1], types, 1) : NAN; break;
    case FILL:
    case READ: moved.bytes = first; break;
    case SAME: moved.bytes = 2 * first; break;
    }
    if (!(moved.bytes > 0)) moved.bytes = NAN;
    return moved;
}
