// SPDX-License-Identifier: Apache-2.0
#include "analysis/communication/collective.h"

#include <string.h>

#include "analysis/communication/dtype.h"
#include "base/memory.h"

// --- names ------------------------------------------------------------------------------------------------

// Spelling without capitals, underscores and hyphens; the first that is contained counts, so the longer
// words stand before those that they contain.
static const struct {
    const char *word;
    rgm_collective_kind kind;
} words[] = {
    {"reducescatter", RGM_COLLECTIVE_REDUCE_SCATTER},
    {"allreduce", RGM_COLLECTIVE_ALL_REDUCE},
    {"crossdevicereduce", RGM_COLLECTIVE_ALL_REDUCE},
    {"allgather", RGM_COLLECTIVE_ALL_GATHER},
    {"alltoall", RGM_COLLECTIVE_ALL_TO_ALL},
    {"broadcast", RGM_COLLECTIVE_BROADCAST},
    {"sendrecv", RGM_COLLECTIVE_SEND_RECV},
    {"barrier", RGM_COLLECTIVE_BARRIER},
    {"gather", RGM_COLLECTIVE_GATHER},
    {"scatter", RGM_COLLECTIVE_SCATTER},
    {"dispatch", RGM_COLLECTIVE_DISPATCH},
    {"combine", RGM_COLLECTIVE_COMBINE},
    {"reduce", RGM_COLLECTIVE_REDUCE},
    {"send", RGM_COLLECTIVE_SEND},
    {"recv", RGM_COLLECTIVE_RECV},
};

enum { LOOKED_AT = 256 }; // characters of a name: the collective stands in front of template arguments

rgm_collective_kind rgm_collective_named(const char *text, size_t length) {
    char plain[LOOKED_AT + 1];
    size_t n = 0;
    for (size_t i = 0; i < length && i < LOOKED_AT && text[i] != '('; i++) {
        char c = text[i];
        if (c == '_' || c == '-') continue;
        plain[n++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (memmem(plain, n, words[w].word, strlen(words[w].word))) return words[w].kind;
    return RGM_COLLECTIVE_UNKNOWN;
}

static bool begins(rgm_string text, const char *with) {
    size_t size = strlen(with);
    return text.length >= size && memcmp(text.data, with, size) == 0;
}

static bool begins_any(rgm_string text, const char *const *with, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (begins(text, with[i])) return true;
    return false;
}

static const char *const annotation_prefixes[] = {"nccl:", "c10d:", "ucc:", "xccl:", "gloo:", "mpi:"};
static const char *const operator_prefixes[] = {
    "c10d::", "_c10d_functional::", "c10d_functional::", "_C_custom_ar::"};

// --- sizes ------------------------------------------------------------------------------------------------

enum { NONE, RING, SPREAD, LINE };
static const uint8_t bus_of[] = {
#define BUS(name, token, bus) bus,
    RGM_COLLECTIVE_KINDS(BUS)
#undef BUS
};

static double bus_factor(uint8_t kind, int32_t ranks) {
    double n = ranks;
    if (bus_of[kind] == LINE) return 1.0;
    if (bus_of[kind] == NONE || ranks < 1) return NAN;
    return (bus_of[kind] == RING ? 2.0 : 1.0) * (n - 1.0) / n;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t times(int64_t elements, int64_t by) {
    int64_t product;
    return elements <= 0 || by <= 0 || __builtin_mul_overflow(elements, by, &product) ? -1 : product;
}

// Where only the smaller buffer was recorded, the larger is the smaller times the ranks of the group.
static int64_t message_elements(uint8_t kind, int64_t in, int64_t out, int32_t ranks) {
    switch (kind) {
    case RGM_COLLECTIVE_ALL_GATHER: return out > 0 ? out : times(in, ranks);
    case RGM_COLLECTIVE_REDUCE_SCATTER: return in > 0 ? in : times(out, ranks);
    case RGM_COLLECTIVE_ALL_TO_ALL: return in > 0 ? in : out;
    case RGM_COLLECTIVE_RECV: return out > 0 ? out : in;
    case RGM_COLLECTIVE_SEND: return in > 0 ? in : out;
    case RGM_COLLECTIVE_BARRIER: return -1;
    default: return larger(in, out);
    }
}

static void set_sizes(rgm_collective_call *call, const rgm_view *view) {
    const rgm_collectives *args = &view->run->collectives;
    size_t row = (size_t)call->args;
    rgm_string dtype = rgm_view_text(view, RGM_CELL(args, element_type, row, 0));
    int32_t ranks = RGM_CELL(args, group_size, row, -1);
    int64_t elements = message_elements(call->kind, RGM_CELL(args, in_elements, row, -1),
                                        RGM_CELL(args, out_elements, row, -1), ranks);
    call->bytes = times(elements, rgm_dtype_bytes(dtype.data, dtype.length));
    call->bus = bus_factor(call->kind, ranks);
}

// --- joining ----------------------------------------------------------------------------------------------

// The operator that tells the arguments is the launch's parent or close above it. The limit keeps a file with
// absurdly deep nesting from costing its depth for each kernel.
enum { LEVELS = 24 };

typedef struct {
    const rgm_view *view;
    int32_t *args; // [n_spans] row of `collectives` of a span, -1 for none
} joining;

static bool set_kind(rgm_collective_call *call, rgm_string text, rgm_collective_source source) {
    rgm_collective_kind kind = rgm_collective_named(text.data, text.length);
    if (kind == RGM_COLLECTIVE_UNKNOWN) return false;
    call->kind = (uint8_t)kind;
    call->source = (uint8_t)source;
    return true;
}

// Arguments that name no collective ("wait", "init") belong to something else around the launch.
static bool from_arguments(const joining *join, rgm_collective_call *call, int32_t row,
                           rgm_collective_source source) {
    int32_t args = row < 0 ? -1 : join->args[row];
    if (args < 0) return false;
    rgm_name name = RGM_CELL(&join->view->run->collectives, collective, args, 0);
    if (!set_kind(call, rgm_view_text(join->view, name), source)) return false;
    call->args = args;
    return true;
}

static bool from_ancestors(const joining *join, rgm_collective_call *call) {
    const rgm_view *view = join->view;
    int32_t launch = view->launch[call->row], named = -1;
    int32_t at = launch >= 0 ? rgm_view_parent(view, (size_t)launch) : view->op[call->row];
    for (int level = 0; at >= 0 && level < LEVELS; level++, at = rgm_view_parent(view, (size_t)at)) {
        if (from_arguments(join, call, at, RGM_COLLECTIVE_FROM_OPERATOR)) return true;
        rgm_kind kind = rgm_view_kind(view, (size_t)at);
        rgm_string text = rgm_view_text(view, rgm_view_name(view, (size_t)at));
        bool annotation = kind == RGM_KIND_ANNOTATION && begins_any(text, annotation_prefixes, 6);
        bool op = kind == RGM_KIND_CPU_OP && begins_any(text, operator_prefixes, 4);
        if (named >= 0 || (!annotation && !op)) continue;
        if (set_kind(call, text,
                     annotation ? RGM_COLLECTIVE_FROM_ANNOTATION : RGM_COLLECTIVE_FROM_OPERATOR_NAME))
            named = at;
    }
    if (from_arguments(join, call, view->op[call->row], RGM_COLLECTIVE_FROM_OPERATOR)) return true;
    return named >= 0;
}

static rgm_collective_call describe(const joining *join, uint32_t row, int32_t device) {
    const rgm_view *view = join->view;
    rgm_collective_call call = {.row = row, .device = device, .args = -1, .bytes = -1, .bus = NAN};
    call.source = RGM_COLLECTIVE_FROM_NOTHING;
    if (!from_arguments(join, &call, (int32_t)row, RGM_COLLECTIVE_FROM_KERNEL) &&
        !from_ancestors(join, &call))
        set_kind(&call, rgm_view_text(view, rgm_view_name(view, row)), RGM_COLLECTIVE_FROM_KERNEL_NAME);
    if (call.args >= 0) set_sizes(&call, view);
    return call;
}

static rgm_status index_arguments(joining *join, rgm_error *err) {
    const rgm_view *view = join->view;
    const rgm_collectives *args = &view->run->collectives;
    join->args = rgm_malloc((view->n_spans + 1) * sizeof *join->args);
    if (!join->args) return rgm_error_no_memory(err);
    memset(join->args, 0xFF, (view->n_spans + 1) * sizeof *join->args);
    for (size_t i = 0; i < args->rows; i++)
        if (args->span && args->span[i] < view->n_spans) join->args[args->span[i]] = (int32_t)i;
    return RGM_OK;
}

static bool communicates(const rgm_view *view, uint32_t row) {
    return rgm_view_activity(view, row) == RGM_ACTIVITY_COMMUNICATION;
}

rgm_status rgm_collective_calls_find(rgm_collective_calls *calls, const rgm_view *view, rgm_error *err) {
    joining join = {.view = view};
    rgm_status status;
    size_t count = 0;
    *calls = (rgm_collective_calls){0};
    for (size_t w = 0; w < view->n_work; w++) count += communicates(view, view->work[w]);
    calls->calls = rgm_malloc((count + 1) * sizeof *calls->calls);
    if (!calls->calls) return rgm_error_no_memory(err);
    RGM_GOTO(index_arguments(&join, err));
    for (size_t d = 0; d < view->n_devices; d++)
        for (uint32_t w = view->device_first[d]; w < view->device_first[d + 1]; w++)
            if (communicates(view, view->work[w]))
                calls->calls[calls->count++] = describe(&join, view->work[w], (int32_t)d);
done:
    rgm_free(join.args);
    if (status != RGM_OK) rgm_collective_calls_release(calls);
    return status;
}

void rgm_collective_calls_release(rgm_collective_calls *calls) {
    rgm_free(calls->calls);
    *calls = (rgm_collective_calls){0};
}
