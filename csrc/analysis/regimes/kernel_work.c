// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/kernel_work.h"

#include <math.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/counters/counter_item.h"
#include "analysis/regimes/op_traffic.h"
#include "analysis/times/enclosing.h"
#include "base/memory.h"
#include "model/counter_roles.h"

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    rgm_kernel_work *work;
    int32_t *place; // [n_spans] position of a kernel in the view's work, -1 for anything else
} finder;

static const rgm_kernel_work unknown = {.source = RGM_WORK_FROM_NOTHING,
                                        .bytes = NAN,
                                        .compute_share = NAN,
                                        .memory_share = NAN,
                                        .blocks_per_sm = NAN};

static void set_operations(rgm_kernel_work *work, double each) {
    for (int p = 0; p < RGM_PIPE_COUNT; p++) work->operations[p] = each;
}

// --- counters ---------------------------------------------------------------------------------------------

// X(role, pipe, operations of one count)
#define COUNTED(X)                                                                                           \
    X(HADD, FP16, 1)                                                                                         \
    X(HMUL, FP16, 1)                                                                                         \
    X(HFMA, FP16, 2)                                                                                         \
    X(FADD, FP32, 1)                                                                                         \
    X(FMUL, FP32, 1)                                                                                         \
    X(FFMA, FP32, 2)                                                                                         \
    X(DADD, FP64, 1)                                                                                         \
    X(DMUL, FP64, 1)                                                                                         \
    X(DFMA, FP64, 2)                                                                                         \
    X(TENSOR_FP16, FP16, 1)                                                                                  \
    X(TENSOR_BF16, BF16, 1)                                                                                  \
    X(TENSOR_TF32, TF32, 1)                                                                                  \
    X(TENSOR_FP8, FP8, 1)                                                                                    \
    X(TENSOR_INT8, INT8, 1)                                                                                  \
    X(TENSOR_FP64, FP64, 1)

// What was counted of one kernel. Operations are known only where those of tensor cores were counted too, or
// are known to be none: a matrix product would look like a kernel without arithmetic.
typedef struct {
    double operations[RGM_PIPE_COUNT], bytes, sm_share, dram_share, memory_share, tensor_share;
    double tensor_instructions;
    bool any, plain, tensor;
} counted;

static void add_count(counted *c, rgm_counter_role role, double value) {
    static const struct {
        int pipe;
        double operations;
    } rows[RGM_COUNTER_ROLE_COUNT] = {
#define COUNTED_ROW(role, pipe, operations) [RGM_COUNTER_ROLE_##role] = {RGM_PIPE_##pipe, operations},
        COUNTED(COUNTED_ROW)
#undef COUNTED_ROW
    };
    if (!(rows[role].operations > 0)) return;
    c->operations[rows[role].pipe] += rows[role].operations * value;
    if (role >= RGM_COUNTER_ROLE_TENSOR_FP16 && role <= RGM_COUNTER_ROLE_TENSOR_FP64)
        c->tensor = true;
    else
        c->plain = true;
}

static void add_item(counted *c, rgm_counter_role role, const rgm_counter_item *item) {
    const double percent = 100;
    c->any = true;
    if (item->source == RGM_COUNTER_RANGE) add_count(c, role, item->value);
    switch (role) {
    case RGM_COUNTER_ROLE_DRAM_BYTES:
        if (item->source == RGM_COUNTER_RANGE) c->bytes = item->value;
        break;
    case RGM_COUNTER_ROLE_TENSOR_INSTRUCTIONS: c->tensor_instructions = item->value; break;
    case RGM_COUNTER_ROLE_SM_THROUGHPUT: c->sm_share = item->value / percent; break;
    case RGM_COUNTER_ROLE_TENSOR_ACTIVE: c->tensor_share = item->value / percent; break;
    case RGM_COUNTER_ROLE_DRAM_THROUGHPUT: c->dram_share = item->value / percent; break;
    case RGM_COUNTER_ROLE_COMPUTE_MEMORY: c->memory_share = item->value / percent; break;
    default: break;
    }
}

static void put_counted(rgm_kernel_work *work, const counted *c, const rgm_policy *policy) {
    bool no_tensor = c->tensor_instructions == 0 || c->tensor_share == 0;
    if (c->plain && (c->tensor || no_tensor)) memcpy(work->operations, c->operations, sizeof c->operations);
    work->bytes = c->bytes;
    work->operations_spread = work->bytes_spread = policy->regime_counter_spread;
    work->compute_share = c->sm_share;
    work->memory_share = isnan(c->dram_share) ? c->memory_share : c->dram_share;
    bool compute = !isnan(work->operations[0]) || !isnan(work->compute_share);
    bool memory = !isnan(work->bytes) || !isnan(work->memory_share);
    if (compute || memory) work->source = RGM_WORK_FROM_COUNTERS;
}

static rgm_status find_counted(finder *f, rgm_error *err) {
    const rgm_view *view = f->view;
    RGM_RELEASED(rgm_counter_items_release) rgm_counter_items items = {0};
    if (view->run->counters.rows == 0) return RGM_OK;
    RGM_TRY(rgm_counter_items_find(&items, view, err));
    if (!items.count) return RGM_OK;
    RGM_FREED counted *all = rgm_calloc(view->n_work + 1, sizeof *all);
    if (!all) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_work; i++) {
        all[i].bytes = all[i].sm_share = all[i].dram_share = NAN;
        all[i].memory_share = all[i].tensor_share = all[i].tensor_instructions = NAN;
    }
    for (size_t i = 0; i < items.count; i++) {
        const rgm_counter_item *item = &items.items[i];
        int32_t place = item->target >= 0 ? f->place[item->target] : -1;
        rgm_string series = rgm_view_text(view, item->series);
        rgm_counter_role role = rgm_counter_role_of(series.data, series.length);
        if (place >= 0 && role != RGM_COUNTER_ROLE_NONE) add_item(&all[place], role, item);
    }
    for (size_t i = 0; i < view->n_work; i++)
        if (all[i].any) put_counted(&f->work[i], &all[i], f->policy);
    return RGM_OK;
}

// --- shapes -----------------------------------------------------------------------------------------------

static bool contains(rgm_string text, const char *part) {
    return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

// Of a product of single-precision matrices only the kernel's name tells whether tensor cores did it.
static int pipe_of(rgm_string types, rgm_string kernel) {
    const char *at = types.data + (types.length && types.data[0] == '[');
    size_t left = types.length - (size_t)(at - types.data);
    size_t length = left > 1 && memchr(at + 1, '"', left - 1)
                        ? (size_t)((const char *)memchr(at + 1, '"', left - 1) - at)
                        : 0;
    rgm_string first = {.data = at, .length = (uint32_t)length};
    if (contains(first, "BFloat16")) return RGM_PIPE_BF16;
    if (contains(first, "Half")) return RGM_PIPE_FP16;
    if (contains(first, "Float8") || contains(first, "float8")) return RGM_PIPE_FP8;
    if (contains(first, "double")) return RGM_PIPE_FP64;
    if (contains(first, "char")) return RGM_PIPE_INT8;
    if (!contains(first, "float")) return -1;
    if (contains(kernel, "tf32") || contains(kernel, "s1688")) return RGM_PIPE_TF32;
    return contains(kernel, "sgemm") || contains(kernel, "ffma") ? RGM_PIPE_FP32 : -1;
}

// Transforms need fewer operations than the formula of a convolution counts.
static bool transforms(rgm_string kernel) { return contains(kernel, "inograd") || contains(kernel, "fft"); }

static void put_formula(finder *f, size_t place, const rgm_operator_flops *table, size_t row) {
    const rgm_view *view = f->view;
    rgm_kernel_work *work = &f->work[place];
    rgm_string kernel = rgm_view_text(view, rgm_view_name(view, view->work[place]));
    rgm_string op = rgm_view_text(view, table->name[row]);
    int pipe = transforms(kernel) ? -1 : pipe_of(rgm_view_text(view, table->types[row]), kernel);
    work->source = RGM_WORK_FROM_SHAPES;
    work->bytes = table->bytes[row];
    work->bytes_spread = f->policy->regime_shape_spread;
    if (pipe < 0) return;
    set_operations(work, 0);
    work->operations[pipe] = table->flops[row];
    work->operations_spread =
        contains(op, "attention") ? f->policy->regime_shape_spread : f->policy->regime_flops_spread;
}

static bool is_chosen(const rgm_view *view, size_t row, const void *chosen) {
    (void)view;
    return ((const int32_t *)chosen)[row] >= 0;
}

// The work of an operator is that of the kernel in which nearly all of its device time went.
static rgm_status assign_formulas(finder *f, const rgm_operator_flops *table, rgm_error *err) {
    const rgm_view *view = f->view;
    RGM_FREED int32_t *row_of = rgm_malloc((view->n_spans + 1) * sizeof *row_of);
    RGM_FREED int32_t *around = rgm_malloc((view->n_spans + 1) * sizeof *around);
    if (!row_of || !around) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++) row_of[i] = -1;
    for (size_t i = 0; i < table->rows; i++)
        if (table->source[i] == RGM_FLOPS_SHAPES && table->span[i] >= 0) row_of[table->span[i]] = (int32_t)i;
    rgm_enclosing(view, is_chosen, row_of, around);
    for (size_t i = 0; i < view->n_work; i++) {
        int32_t op = view->op[view->work[i]], found = op >= 0 ? around[op] : -1;
        if (found < 0 || f->place[view->work[i]] < 0 || f->work[i].source != RGM_WORK_FROM_NOTHING) continue;
        int32_t row = row_of[found];
        double time = (double)view->run->spans.duration_ns[view->work[i]];
        if (time >= f->policy->regime_main_kernel_share * (double)table->device_ns[row])
            put_formula(f, i, table, (size_t)row);
    }
    return RGM_OK;
}

static void put_traffic(finder *f, size_t place, rgm_op_moved moved) {
    rgm_kernel_work *work = &f->work[place];
    if (isnan(moved.bytes)) return;
    work->source = RGM_WORK_FROM_SHAPES;
    work->bytes = moved.bytes;
    work->bytes_spread = f->policy->regime_shape_spread;
    set_operations(work, 0);
    work->operations[RGM_PIPE_FP32] = moved.elements * f->policy->regime_pointwise_operations;
    work->operations_spread = f->policy->regime_pointwise_spread;
}

// An operator that moves data and launched one kernel itself.
static rgm_status assign_traffic(finder *f, rgm_error *err) {
    const rgm_view *view = f->view;
    const rgm_operators *recorded = &view->run->operators;
    int32_t *kernel = rgm_malloc((view->n_spans + 1) * sizeof *kernel); // -1 none, -2 several
    if (!kernel) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++) kernel[i] = -1;
    for (size_t i = 0; i < view->n_work; i++) {
        int32_t op = view->op[view->work[i]];
        if (op >= 0) kernel[op] = kernel[op] == -1 ? (int32_t)i : -2;
    }
    for (size_t i = 0; i < recorded->rows; i++) {
        uint32_t span = recorded->span[i];
        if (span >= view->n_spans || kernel[span] < 0) continue;
        size_t place = (size_t)kernel[span];
        if (f->place[view->work[place]] < 0 || f->work[place].source != RGM_WORK_FROM_NOTHING) continue;
        const rgm_op_traffic *traffic = rgm_op_traffic_find(rgm_view_text(view, rgm_view_name(view, span)));
        if (traffic)
            put_traffic(f, place,
                        rgm_op_traffic_moved(traffic, rgm_view_text(view, RGM_CELL(recorded, shapes, i, 0)),
                                             rgm_view_text(view, RGM_CELL(recorded, types, i, 0))));
    }
    rgm_free(kernel);
    return RGM_OK;
}

static rgm_status find_shapes(finder *f, rgm_error *err) {
    rgm_operator_flops table = {0};
    rgm_question by_call = {.group_by = 1};
    rgm_status status;
    if (f->view->run->operators.rows == 0) return RGM_OK;
    RGM_GOTO(rgm_operator_flops_compute(f->view, f->policy, &by_call, &table, err));
    RGM_GOTO(assign_formulas(f, &table, err));
    RGM_GOTO(assign_traffic(f, err));
done:
    rgm_table_release(&rgm_operator_flops_desc, &table);
    return status;
}

// --- all --------------------------------------------------------------------------------------------------

static void begin(finder *f) {
    const rgm_view *view = f->view;
    const rgm_launches *launches = &view->run->launches;
    for (size_t i = 0; i < view->n_spans; i++) f->place[i] = -1;
    for (size_t i = 0; i < view->n_work; i++) {
        f->work[i] = unknown;
        set_operations(&f->work[i], NAN);
        if (rgm_view_kind(view, view->work[i]) == RGM_KIND_KERNEL) f->place[view->work[i]] = (int32_t)i;
    }
    for (size_t i = 0; i < launches->rows; i++)
        if (launches->span[i] < view->n_spans && f->place[launches->span[i]] >= 0)
            f->work[f->place[launches->span[i]]].blocks_per_sm = RGM_CELL(launches, blocks_per_sm, i, NAN);
}

rgm_status rgm_kernel_works_init(rgm_kernel_works *works, const rgm_view *view, const rgm_policy *policy,
                                 rgm_error *err) {
    finder f = {.view = view, .policy = policy};
    rgm_status status = RGM_OK;
    *works = (rgm_kernel_works){.count = view->n_work};
    f.work = works->work = rgm_malloc((view->n_work + 1) * sizeof *f.work);
    f.place = rgm_malloc((view->n_spans + 1) * sizeof *f.place);
    if (!f.work || !f.place) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    begin(&f);
    RGM_GOTO(find_counted(&f, err));
    RGM_GOTO(find_shapes(&f, err));
done:
    rgm_free(f.place);
    if (status != RGM_OK) rgm_kernel_works_release(works);
    return status;
}

void rgm_kernel_works_release(rgm_kernel_works *works) {
    rgm_free(works->work);
    *works = (rgm_kernel_works){0};
}
