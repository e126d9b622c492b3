// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/op_arguments.h"

#include <string.h>

static bool take(const char **at, char c) {
    if (**at != c) return false;
    (*at)++;
    return true;
}

// Digits only: sizes are not negative, and the text ends with a zero byte.
static bool take_number(const char **at, double *value) {
    if (**at < '0' || **at > '9') return false;
    for (*value = 0; **at >= '0' && **at <= '9'; (*at)++) *value = *value * 10 + (**at - '0');
    return true;
}

// Passes over a nested list, behind its opening bracket.
static void skip_list(const char **at) {
    for (int depth = 1; **at && depth; (*at)++) depth += **at == '[' ? 1 : **at == ']' ? -1 : 0;
}

static bool take_shape(const char **at, rgm_shape *shape) {
    shape->dimensions = 0;
    if (!take(at, '[')) return false;
    while (!take(at, ']')) {
        double size = 0;
        if (shape->dimensions > 0 && !take(at, ',')) return false;
        if (!take_number(at, &size) || shape->dimensions == RGM_MAX_DIMENSIONS) {
            shape->dimensions = -1;
            skip_list(at);
            return true;
        }
        shape->size[shape->dimensions++] = size;
    }
    return true;
}

int rgm_arguments_shapes(rgm_string text, rgm_shape shapes[RGM_MAX_ARGUMENTS]) {
    const char *at = text.data;
    int count = 0;
    if (!take(&at, '[')) return 0;
    while (!take(&at, ']')) {
        if (count > 0 && !take(&at, ',')) return 0;
        if (count == RGM_MAX_ARGUMENTS) return count;
        if (!take_shape(&at, &shapes[count])) return 0;
        count++;
    }
    return count;
}

// Passes over a string; its inner text, escapes and all, is `out`.
static bool take_string(const char **at, rgm_string *out) {
    if (!take(at, '"')) return false;
    const char *from = *at;
    for (; **at && **at != '"'; (*at)++)
        if (**at == '\\' && (*at)[1]) (*at)++;
    *out = (rgm_string){.data = from, .length = (uint32_t)(*at - from)};
    return take(at, '"');
}

bool rgm_arguments_text(rgm_string text, int nth, rgm_string *out) {
    const char *at = text.data;
    if (!take(&at, '[')) return false;
    for (int i = 0; i <= nth; i++)
        if ((i > 0 && !take(&at, ',')) || !take_string(&at, out)) return false;
    return true;
}

int rgm_arguments_type_bytes(rgm_string type) {
    static const struct {
        const char *name;
        int bytes;
    } types[] = {
        {"float", 4},
        {"double", 8},
        {"c10::BFloat16", 2},
        {"c10::Half", 2},
        {"long int", 8},
        {"long", 8},
        {"int", 4},
        {"short int", 2},
        {"short", 2},
        {"signed char", 1},
        {"unsigned char", 1},
        {"bool", 1},
        {"c10::complex<float>", 8},
        {"c10::complex<double>", 16},
        {"c10::Float8_e4m3fn", 1},
        {"c10::Float8_e5m2", 1},
        {"c10::Float8_e4m3fnuz", 1},
        {"c10::Float8_e5m2fnuz", 1},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i].name) == type.length && memcmp(types[i].name, type.data, type.length) == 0)
            return types[i].bytes;
    return 0;
}

double rgm_shape_elements(const rgm_shape *shape) {
    double elements = 1;
    for (int d = 0; d < shape->dimensions; d++) elements *= shape->size[d];
    return elements;
}
