// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/op_formulas.h"

#include <math.h>
#include <string.h>

#include "analysis/times/op_arguments.h"
#include "base/text.h"

typedef struct {
    rgm_shape shape[RGM_MAX_ARGUMENTS];
    int count;
    rgm_string types, values;
} arguments;

typedef rgm_op_work (*computation)(const rgm_op_formula *formula, const arguments *a);

// Which argument is what; -1 for one that the operator does not have.
struct rgm_op_formula {
    const char *name;
    computation compute;
    int first; // the first operand
    // Of convolutions:
    int stride, padding, dilation, transposed, output_padding, groups;
    bool always_transposed;
    bool
        heads_inner; // of attention: [batch, sequence, heads, size] instead of [batch, heads, sequence, size]
};

static const rgm_op_work unknown = {NAN, NAN};

static double element_bytes(const arguments *a, int argument) {
    rgm_string type;
    int bytes = rgm_arguments_text(a->types, argument, &type) ? rgm_arguments_type_bytes(type) : 0;
    return bytes ? (double)bytes : (double)NAN;
}

static double input_bytes(const arguments *a, int argument) {
    return rgm_shape_elements(&a->shape[argument]) * element_bytes(a, argument);
}

static bool has(const arguments *a, int argument, int dimensions) {
    return argument < a->count && a->shape[argument].dimensions == dimensions;
}

// --- matrix products --------------------------------------------------------------------------------------

// [.., m, k] x [.., k, n], with or without a batch dimension; an addend before them is read once.
static rgm_op_work product(const rgm_op_formula *f, const arguments *a, int dimensions) {
    int x = f->first, y = f->first + 1;
    if (!has(a, x, dimensions) || !has(a, y, dimensions)) return unknown;
    const double *p = a->shape[x].size, *q = a->shape[y].size;
    double batch = dimensions == 3 ? p[0] : 1;
    double m = p[dimensions - 2], k = p[dimensions - 1], n = q[dimensions - 1];
    if (q[dimensions - 2] != k || (dimensions == 3 && q[0] != batch)) return unknown;
    double bytes = input_bytes(a, x) + input_bytes(a, y) + batch * m * n * element_bytes(a, x);
    if (x == 1) bytes += a->shape[0].dimensions >= 0 ? input_bytes(a, 0) : NAN;
    return (rgm_op_work){2 * batch * m * k * n, bytes};
}

static rgm_op_work matrix(const rgm_op_formula *f, const arguments *a) { return product(f, a, 2); }
static rgm_op_work batched(const rgm_op_formula *f, const arguments *a) { return product(f, a, 3); }

// The type of the result is an argument that the trace does not hold, so the bytes are not known.
static rgm_op_work scaled(const rgm_op_formula *f, const arguments *a) {
    return (rgm_op_work){product(f, a, 2).flops, NAN};
}

// [.., k] x [n, k] transposed, plus a bias.
static rgm_op_work linear(const rgm_op_formula *f, const arguments *a) {
    (void)f;
    if (a->count < 2 || a->shape[0].dimensions < 1 || !has(a, 1, 2)) return unknown;
    double elements = rgm_shape_elements(&a->shape[0]), n = a->shape[1].size[0], k = a->shape[1].size[1];
    if (a->shape[0].size[a->shape[0].dimensions - 1] != k || k == 0) return unknown;
    double bytes = input_bytes(a, 0) + input_bytes(a, 1) + elements / k * n * element_bytes(a, 0);
    if (has(a, 2, 1)) bytes += input_bytes(a, 2);
    return (rgm_op_work){2 * elements * n, bytes};
}

// Product with broadcasting of what is before the last two dimensions; a vector is a row or a column.
static rgm_op_work matmul(const rgm_op_formula *f, const arguments *a) {
    (void)f;
    if (a->count < 2 || a->shape[0].dimensions < 1 || a->shape[1].dimensions < 1) return unknown;
    const rgm_shape *x = &a->shape[0], *y = &a->shape[1];
    int dx = x->dimensions, dy = y->dimensions;
    double m = dx > 1 ? x->size[dx - 2] : 1, k = x->size[dx - 1], n = dy > 1 ? y->size[dy - 1] : 1;
    double batch = 1;
    if (y->size[dy > 1 ? dy - 2 : 0] != k) return unknown;
    for (int d = 3; d <= dx || d <= dy; d++) {
        double bx = d <= dx ? x->size[dx - d] : 1, by = d <= dy ? y->size[dy - d] : 1;
        if (bx != by && bx != 1 && by != 1) return unknown;
        batch *= bx == 1 ? by : bx;
    }
    return (rgm_op_work){2 * batch * m * k * n,
                         input_bytes(a, 0) + input_bytes(a, 1) + batch * m * n * element_bytes(a, 0)};
}

// --- convolutions -----------------------------------------------------------------------------------------

// Numbers of "[1, 1]" or "1"; one number stands for all dimensions.
static bool read_numbers(const arguments *a, int argument, int wanted, double *out) {
    rgm_string text;
    int count = 0;
    if (argument < 0 || !rgm_arguments_text(a->values, argument, &text)) return false;
    for (uint32_t i = 0; i < text.length && count < wanted;) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            i++;
            continue;
        }
        out[count] = 0;
        for (; i < text.length && text.data[i] >= '0' && text.data[i] <= '9'; i++)
            out[count] = out[count] * 10 + (text.data[i] - '0');
        count++;
    }
    for (int d = count; count == 1 && d < wanted; d++) out[d] = out[0];
    return count == 1 || count == wanted;
}

// 1 for True, 0 for False, -1 when not known.
static int read_truth(const arguments *a, int argument) {
    rgm_string text;
    if (argument < 0 || !rgm_arguments_text(a->values, argument, &text)) return -1;
    return rgm_text_begins(text, "True") || rgm_text_begins(text, "1")    ? 1
           : rgm_text_begins(text, "False") || rgm_text_begins(text, "0") ? 0
                                                                          : -1;
}

static int is_transposed(const rgm_op_formula *f, const arguments *a) {
    return f->always_transposed ? 1 : f->transposed < 0 ? 0 : read_truth(a, f->transposed);
}

// Spatial sizes of the result, by the rule in torch.nn.Conv2d and ConvTranspose2d.
static bool result_sizes(const rgm_op_formula *f, const arguments *a, bool transposed, int spatial,
                         double *out) {
    double stride[RGM_MAX_DIMENSIONS], padding[RGM_MAX_DIMENSIONS], dilation[RGM_MAX_DIMENSIONS];
    double extra[RGM_MAX_DIMENSIONS] = {0};
    const double *in = a->shape[f->first].size + 2, *filter = a->shape[f->first + 1].size + 2;
    rgm_string text;
    bool same = rgm_arguments_text(a->values, f->padding, &text) && rgm_text_begins(text, "same");
    bool valid = rgm_arguments_text(a->values, f->padding, &text) && rgm_text_begins(text, "valid");
    if (!read_numbers(a, f->stride, spatial, stride)) return false;
    for (int d = 0; d < spatial; d++) dilation[d] = 1, padding[d] = 0;
    if (!same && !valid && !read_numbers(a, f->padding, spatial, padding)) return false;
    if (f->dilation >= 0 && !read_numbers(a, f->dilation, spatial, dilation)) return false;
    if (transposed && !read_numbers(a, f->output_padding, spatial, extra)) return false;
    for (int d = 0; d < spatial; d++) {
        double reach = dilation[d] * (filter[d] - 1);
        if (!(stride[d] >= 1)) return false;
        out[d] = transposed ? (in[d] - 1) * stride[d] - 2 * padding[d] + reach + extra[d] + 1
                 : same     ? in[d]
                            : floor((in[d] + 2 * padding[d] - reach - 1) / stride[d]) + 1;
        if (!(out[d] >= 0)) return false;
    }
    return true;
}

// Every position of the result (of the input when transposed) meets every weight of its group once.
static rgm_op_work convolution(const rgm_op_formula *f, const arguments *a) {
    int x = f->first, w = x + 1, dimensions = x + 1 < a->count ? a->shape[x].dimensions : 0;
    int spatial = dimensions - 2, transposed = is_transposed(f, a);
    double out[RGM_MAX_DIMENSIONS] = {0}, positions = 1, results = 1;
    if (spatial < 1 || a->shape[w].dimensions != dimensions || transposed < 0) return unknown;
    if (!result_sizes(f, a, transposed == 1, spatial, out)) return unknown;
    for (int d = 0; d < spatial; d++) {
        positions *= transposed ? a->shape[x].size[2 + d] : out[d];
        results *= out[d];
    }
    double batch = a->shape[x].size[0], channels = a->shape[w].size[0], groups = 1;
    if (transposed) { // a transposed filter has the channels of one group of the result
        if (!read_numbers(a, f->groups, 1, &groups)) groups = NAN;
        channels = a->shape[w].size[1] * groups;
    }
    return (rgm_op_work){2 * batch * positions * rgm_shape_elements(&a->shape[w]),
                         input_bytes(a, x) + input_bytes(a, w) +
                             batch * channels * results * element_bytes(a, x)};
}

// Both gradients cost what the forward pass costs; the mask says which are computed.
static rgm_op_work convolution_backward(const rgm_op_formula *f, const arguments *a) {
    int dimensions = a->count > 2 ? a->shape[0].dimensions : 0, transposed = read_truth(a, f->transposed);
    rgm_string mask;
    if (dimensions < 3 || !has(a, 1, dimensions) || !has(a, 2, dimensions) || transposed < 0) return unknown;
    if (!rgm_arguments_text(a->values, 10, &mask)) return unknown;
    bool wanted[3] = {0};
    int read = 0;
    for (uint32_t i = 0; i < mask.length && read < 3; i++) {
        rgm_string rest = {.data = mask.data + i, .length = mask.length - i};
        if (rgm_text_begins(rest, "True"))
            wanted[read++] = true;
        else if (rgm_text_begins(rest, "False"))
            wanted[read++] = false;
    }
    if (read < 3) return unknown;
    double positions = 1;
    for (int d = 2; d < dimensions; d++) positions *= a->shape[transposed ? 1 : 0].size[d];
    double forward = 2 * a->shape[1].size[0] * positions * rgm_shape_elements(&a->shape[2]);
    double bytes = input_bytes(a, 0);
    // The gradient of one reads the other, and is as large as what it is the gradient of.
    if (wanted[0]) bytes += input_bytes(a, 1) + input_bytes(a, 2);
    if (wanted[1]) bytes += input_bytes(a, 1) + input_bytes(a, 2);
    return (rgm_op_work){forward * (wanted[0] + wanted[1]), bytes};
}

// --- attention --------------------------------------------------------------------------------------------

typedef struct {
    double pairs; // batch x heads x queries x keys
    double size, value_size, bytes;
} attention;

static bool read_attention(const rgm_op_formula *f, const arguments *a, attention *out) {
    int q = f->first, s = f->heads_inner ? 1 : 2, h = f->heads_inner ? 2 : 1;
    if (!has(a, q, 4) || !has(a, q + 1, 4) || !has(a, q + 2, 4)) return false;
    const double *query = a->shape[q].size, *key = a->shape[q + 1].size, *value = a->shape[q + 2].size;
    if (query[0] != key[0] || query[3] != key[3] || key[s] != value[s]) return false;
    out->pairs = query[0] * query[h] * query[s] * key[s];
    out->size = query[3];
    out->value_size = value[3];
    out->bytes = input_bytes(a, q) + input_bytes(a, q + 1) + input_bytes(a, q + 2);
    return true;
}

static double attention_result_bytes(const rgm_op_formula *f, const arguments *a, const attention *t) {
    const double *query = a->shape[f->first].size;
    return query[0] * query[1] * query[2] * t->value_size * element_bytes(a, f->first);
}

// Scores, then values: two products.
static rgm_op_work attention_forward(const rgm_op_formula *f, const arguments *a) {
    attention t;
    if (!read_attention(f, a, &t)) return unknown;
    return (rgm_op_work){2 * t.pairs * (t.size + t.value_size), t.bytes + attention_result_bytes(f, a, &t)};
}

// Scores again, gradients of scores, values, queries and keys: five products. Reads the gradient of the
// result, the result and the inputs, writes the gradients of the inputs.
static rgm_op_work attention_backward(const rgm_op_formula *f, const arguments *a) {
    attention t;
    if (!read_attention(f, a, &t)) return unknown;
    return (rgm_op_work){2 * t.pairs * (3 * t.size + 2 * t.value_size),
                         2 * t.bytes + 2 * attention_result_bytes(f, a, &t)};
}

// --- table ------------------------------------------------------------------------------------------------

#define PLAIN(op, function, operand)                                                                         \
    {.name = op,                                                                                             \
     .compute = function,                                                                                    \
     .first = operand,                                                                                       \
     .stride = -1,                                                                                           \
     .padding = -1,                                                                                          \
     .dilation = -1,                                                                                         \
     .transposed = -1,                                                                                       \
     .output_padding = -1,                                                                                   \
     .groups = -1}
#define INNER(op, function, operand) {.name = op, .compute = function, .first = operand, .heads_inner = true}
#define CONV(op, s, p, d, t, o, g)                                                                           \
    {.name = op,                                                                                             \
     .compute = convolution,                                                                                 \
     .stride = s,                                                                                            \
     .padding = p,                                                                                           \
     .dilation = d,                                                                                          \
     .transposed = t,                                                                                        \
     .output_padding = o,                                                                                    \
     .groups = g}
#define CONV_TRANSPOSE(op, s, p, d, o, g)                                                                    \
    {.name = op,                                                                                             \
     .compute = convolution,                                                                                 \
     .stride = s,                                                                                            \
     .padding = p,                                                                                           \
     .dilation = d,                                                                                          \
     .transposed = -1,                                                                                       \
     .output_padding = o,                                                                                    \
     .groups = g,                                                                                            \
     .always_transposed = true}

// Positions of the arguments are those of PyTorch's native_functions.yaml.
static const rgm_op_formula formulas[] = {
    PLAIN("mm", matrix, 0),
    PLAIN("addmm", matrix, 1),
    PLAIN("_addmm_activation", matrix, 1),
    PLAIN("bmm", batched, 0),
    PLAIN("baddbmm", batched, 1),
    PLAIN("_scaled_mm", scaled, 0),
    PLAIN("linear", linear, 0),
    PLAIN("matmul", matmul, 0),
    CONV("conv1d", 3, 4, 5, -1, -1, -1),
    CONV("conv2d", 3, 4, 5, -1, -1, -1),
    CONV("conv3d", 3, 4, 5, -1, -1, -1),
    CONV("convolution", 3, 4, 5, 6, 7, 8),
    CONV("_convolution", 3, 4, 5, 6, 7, 8),
    CONV("convolution_overrideable", 3, 4, 5, 6, 7, 8),
    CONV("cudnn_convolution", 3, 2, 4, -1, -1, -1),
    CONV("cudnn_convolution_relu", 3, 4, 5, -1, -1, -1),
    CONV("cudnn_convolution_add_relu", 5, 6, 7, -1, -1, -1),
    CONV("miopen_convolution", 4, 3, 5, -1, -1, -1),
    CONV("mkldnn_convolution", 4, 3, 5, -1, -1, -1),
    CONV("_conv_depthwise2d", 4, 5, 6, -1, -1, -1),
    CONV("thnn_conv2d", 4, 5, -1, -1, -1, -1),
    CONV("_slow_conv2d_forward", 4, 5, -1, -1, -1, -1),
    CONV("slow_conv3d_forward", 4, 5, -1, -1, -1, -1),
    CONV_TRANSPOSE("conv_transpose1d", 3, 4, 7, 5, 6),
    CONV_TRANSPOSE("conv_transpose2d", 3, 4, 7, 5, 6),
    CONV_TRANSPOSE("conv_transpose3d", 3, 4, 7, 5, 6),
    CONV_TRANSPOSE("cudnn_convolution_transpose", 4, 2, 5, 3, 6),
    CONV_TRANSPOSE("miopen_convolution_transpose", 5, 3, 6, 4, 7),
    {.name = "convolution_backward", .compute = convolution_backward, .transposed = 7},
    PLAIN("scaled_dot_product_attention", attention_forward, 0),
    PLAIN("_scaled_dot_product_attention_math", attention_forward, 0),
    PLAIN("_scaled_dot_product_flash_attention", attention_forward, 0),
    PLAIN("_scaled_dot_product_flash_attention_for_cpu", attention_forward, 0),
    PLAIN("_scaled_dot_product_efficient_attention", attention_forward, 0),
    PLAIN("_scaled_dot_product_cudnn_attention", attention_forward, 0),
    PLAIN("_scaled_dot_product_fused_attention_overrideable", attention_forward, 0),
    PLAIN("_scaled_dot_product_flash_attention_backward", attention_backward, 1),
    PLAIN("_scaled_dot_product_flash_attention_for_cpu_backward", attention_backward, 1),
    PLAIN("_scaled_dot_product_efficient_attention_backward", attention_backward, 1),
    PLAIN("_scaled_dot_product_cudnn_attention_backward", attention_backward, 1),
    PLAIN("_scaled_dot_product_fused_attention_overrideable_backward", attention_backward, 1),
    INNER("_flash_attention_forward", attention_forward, 0),
    INNER("_efficient_attention_forward", attention_forward, 0),
    INNER("_flash_attention_backward", attention_backward, 1),
    INNER("_efficient_attention_backward", attention_backward, 1),
};

const rgm_op_formula *rgm_op_formula_find(rgm_string name) {
    static const char prefix[] = "aten::";
    size_t skip = sizeof prefix - 1;
    if (name.length <= skip || memcmp(name.data, prefix, skip) != 0) return NULL;
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++)
        if (strcmp(formulas[i].name, name.data + skip) == 0) return &formulas[i];
    return NULL;
}

rgm_op_work rgm_op_formula_work(const rgm_op_formula *formula, rgm_string shapes, rgm_string types,
                                rgm_string values) {
    arguments a = {.types = types, .values = values};
    a.count = rgm_arguments_shapes(shapes, a.shape);
    return a.count ? formula->compute(formula, &a) : unknown;
}
