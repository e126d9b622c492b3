// SPDX-License-Identifier: Apache-2.0
// Rules about matrix products and convolutions: the pipe that they use, and what their shapes and types
// allow.
//
// Which pipe a kernel uses is told by its name, and where the name says nothing, nothing is said: a kernel of
// Triton or of an unknown library counts as neither. A false alarm on a new architecture is worse than
// silence.
#include <math.h>

#include "analysis/communication/dtype.h"
#include "analysis/times/op_arguments.h"
#include "suggest/suggester.h"

typedef enum { PIPE_UNKNOWN, PIPE_TENSOR, PIPE_PLAIN } pipe_kind;

// Names of kernels that use tensor or matrix cores, by the libraries that write them.
static const char *const tensor_names[] = {"wgmma",
                                           "nvjet",
                                           "tcgen05",
                                           "hmma",
                                           "imma",
                                           "bmma",
                                           "s884",
                                           "h884",
                                           "i8816",
                                           "s1688",
                                           "h1688",
                                           "16816",
                                           "i16832",
                                           "h16816",
                                           "1684",
                                           "sm103_",
                                           "sm120_",
                                           "tensorop",
                                           "TensorOp",
                                           "_tensor_op",
                                           "sm90_gemm",
                                           "GmmaTensor",
                                           "MMA_Atom",
                                           "MainloopSm90",
                                           "MainloopSm100",
                                           "flash",
                                           "fmha",
                                           "FlashAttn",
                                           "attention_kernel_sm",
                                           "cudnn_generated_fort_native_sdpa",
                                           "gemm_bf16",
                                           "gemm_fp8",
                                           "deep_gemm",
                                           "marlin",
                                           "_MT",
                                           "MFMA",
                                           "mfma",
                                           "wmma",
                                           "tf32f32",
                                           "tf32_",
                                           "bf16_s",
                                           "tensor16x8",
                                           "tensor8x8",
                                           NULL};
static const char *const plain_names[] = {"sgemm",
                                          "dgemm",
                                          "hgemm",
                                          "sgemv",
                                          "gemvx",
                                          "gemv2",
                                          "gemvNSP",
                                          "simt",
                                          "volta_scudnn",
                                          "scudnn",
                                          "ampere_sgemm",
                                          "maxwell_",
                                          "gemmSN",
                                          "gemmk1",
                                          "splitKreduce",
                                          "implicit_convolve_sgemm",
                                          "explicit_convolve_sgemm",
                                          "ffma",
                                          "dot_kernel",
                                          NULL};

static pipe_kind pipe_of(rgm_string kernel) {
    if (rgm_text_begins(kernel, "triton_")) return PIPE_UNKNOWN;
    if (rgm_text_has_any(kernel, tensor_names)) return PIPE_TENSOR;
    return rgm_text_has_any(kernel, plain_names) ? PIPE_PLAIN : PIPE_UNKNOWN;
}

// Operators whose products tensor cores can do; place of the first operand.
static const struct {
    const char *name;
    int first;
} eligible[] = {{"aten::mm", 0},
                {"aten::bmm", 0},
                {"aten::addmm", 1},
                {"aten::baddbmm", 1},
                {"aten::linear", 0},
                {"aten::matmul", 0},
                {"aten::convolution", 0},
                {"aten::_convolution", 0},
                {"aten::cudnn_convolution", 0},
                {"aten::convolution_backward", 0},
                {"aten::miopen_convolution", 0}};
enum { ELIGIBLE = sizeof eligible / sizeof eligible[0], MOST_PARENTS = 16 };

static int first_operand(rgm_string name) {
    for (size_t i = 0; i < ELIGIBLE; i++)
        if (rgm_text_is(name, eligible[i].name)) return eligible[i].first;
    return -1;
}

typedef struct {
    int32_t op; // -1 for none
    int first;
    rgm_string type; // of the first operand
} product;

// The nearest eligible operator around a kernel that says its types.
static product product_of(const rgm_facts *facts, size_t kernel) {
    product found = {.op = -1};
    int32_t at = facts->view->op[kernel];
    for (int i = 0; at >= 0 && i < MOST_PARENTS; i++, at = rgm_view_parent(facts->view, (size_t)at)) {
        int first = first_operand(rgm_facts_text(facts, (size_t)at)), row = facts->arguments[at];
        if (first < 0 || row < 0) continue;
        rgm_name types = RGM_CELL(&facts->view->run->operators, types, (size_t)row, 0);
        if (!rgm_arguments_text(rgm_view_text(facts->view, types), first, &found.type)) continue;
        found.op = at;
        found.first = first;
        return found;
    }
    return found;
}

static bool is_half(rgm_string type) {
    static const char *const names[] = {"c10::Half", "c10::BFloat16", "Half", "BFloat16", NULL};
    return rgm_text_among(type, names);
}

static bool is_product_kernel(const rgm_facts *facts, size_t row) {
    if (!rgm_facts_is_kernel(facts, row) || !rgm_facts_on_rank(facts, row)) return false;
    rgm_kernel_type type = rgm_facts_type(facts, row);
    return type == RGM_KERNEL_TYPE_GEMM || type == RGM_KERNEL_TYPE_CONVOLUTION;
}

static void claim_kernel(rgm_suggester *s, uint32_t row) {
    rgm_suggest_about(s, row);
    rgm_suggest_claim_span(s, row, RGM_PATH_BIT(KERNEL_COMPUTE));
}

static double rate_of(const rgm_facts *facts, rgm_ceiling_id ceiling) {
    return facts->ceilings ? facts->ceilings->at[ceiling].value : (double)NAN;
}

// With ceilings for both pipes at most their ratio is gained; without, at most all of it.
static void bound_by_pipes(rgm_suggester *s, rgm_ceiling_id now, rgm_ceiling_id then) {
    double ratio = rate_of(s->facts, now) / rate_of(s->facts, then);
    if (ratio > 0 && ratio < 1) s->open.high = 1 - ratio;
    if (ratio > 0) rgm_suggest_note(s, RGM_QUANTITY_RATIO, 1 / ratio, NAN, -1);
}

enum { AMPERE = 8, VOLTA = 7 };

static void fp32_products(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_FP32_MATMUL);
    if (facts->compute_major < (double)AMPERE) return; // no tf32; where unknown, names decide
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!is_product_kernel(facts, row) || pipe_of(rgm_facts_text(facts, row)) != PIPE_PLAIN) continue;
        product found = product_of(facts, row);
        if (found.op >= 0 && rgm_text_is(found.type, "float")) claim_kernel(s, row);
    }
    bound_by_pipes(s, RGM_CEILING_COMPUTE_FP32, RGM_CEILING_COMPUTE_TF32);
    rgm_suggest_close(s, 0);
}

static void tensor_cores(rgm_suggester *s) {
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_TENSOR_CORES_UNUSED);
    if (facts->compute_major < (double)VOLTA) return;
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!is_product_kernel(facts, row) || pipe_of(rgm_facts_text(facts, row)) != PIPE_PLAIN) continue;
        product found = product_of(facts, row);
        if (found.op >= 0 && is_half(found.type)) claim_kernel(s, row);
    }
    bound_by_pipes(s, RGM_CEILING_COMPUTE_FP32, RGM_CEILING_COMPUTE_FP16);
    rgm_suggest_close(s, 0);
}

// Whether some dimension of the product's operands is no multiple; the batch dimension does not matter.
static bool is_odd(const rgm_facts *facts, const product *found) {
    rgm_shape shapes[RGM_MAX_ARGUMENTS];
    size_t row = (size_t)facts->arguments[found->op];
    rgm_name text = RGM_CELL(&facts->view->run->operators, shapes, row, 0);
    int count = rgm_arguments_shapes(rgm_view_text(facts->view, text), shapes);
    double multiple = facts->policy->suggest_dims_multiple;
    for (int i = found->first; i < count && i < found->first + 2; i++)
        for (int d = shapes[i].dimensions > 2 ? shapes[i].dimensions - 2 : 0; d < shapes[i].dimensions; d++)
            if (fmod(shapes[i].size[d], multiple) != 0) return true;
    return false;
}

static void half_dims(rgm_suggester *s) {
    static const char *const names[] = {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", NULL};
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_HALF_DIMS);
    s->open.confidence = RGM_DEGREE_LOW;
    for (size_t w = 0; w < facts->view->n_work && facts->policy->suggest_dims_multiple >= 1; w++) {
        uint32_t row = facts->view->work[w];
        if (!is_product_kernel(facts, row)) continue;
        product found = product_of(facts, row);
        if (found.op < 0 || !is_half(found.type)) continue;
        if (rgm_text_among(rgm_facts_text(facts, (size_t)found.op), names) && is_odd(facts, &found))
            claim_kernel(s, row);
    }
    rgm_suggest_close(s, 0);
}

// Kernels whose names say double precision: products, and elementwise kernels of the type.
static void double_precision(rgm_suggester *s) {
    static const char *const parts[] = {"dgemm",  "d884",    "dgemv",   "<double",
                                        "f64f64", "double,", "double>", NULL};
    const rgm_facts *facts = s->facts;
    rgm_suggest_open(s, RGM_RULE_DOUBLE_PRECISION);
    for (size_t w = 0; w < facts->view->n_work; w++) {
        uint32_t row = facts->view->work[w];
        if (!rgm_facts_is_kernel(facts, row) || !rgm_facts_on_rank(facts, row)) continue;
        if (rgm_view_activity(facts->view, row) == RGM_ACTIVITY_COMPUTE &&
            rgm_text_has_any(rgm_facts_text(facts, row), parts))
            claim_kernel(s, row);
    }
    bound_by_pipes(s, RGM_CEILING_COMPUTE_FP64, RGM_CEILING_COMPUTE_FP32);
    rgm_suggest_close(s, 0);
}

void rgm_suggest_matrices(rgm_suggester *s) {
    fp32_products(s);
    tensor_cores(s);
    half_dims(s);
    double_precision(s);
}
