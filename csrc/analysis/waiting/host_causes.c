// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/host_causes.h"

#include <string.h>

#include "analysis/waiting/host_activity.h"
#include "base/memory.h"
#include "base/text.h"

// What a name contains, the first that matches.
static const struct {
    const char *text;
    rgm_host_cause cause;
} names[] = {
    {"DataLoader", RGM_HOST_INPUT},         {"cudaMalloc", RGM_HOST_ALLOCATION},
    {"cudaFree", RGM_HOST_ALLOCATION},      {"cudaHostAlloc", RGM_HOST_ALLOCATION},
    {"cuMem", RGM_HOST_ALLOCATION},         {"hipMalloc", RGM_HOST_ALLOCATION},
    {"hipFree", RGM_HOST_ALLOCATION},       {"hipHostMalloc", RGM_HOST_ALLOCATION},
    {"CompiledFxGraph", RGM_HOST_OTHER},    {"Torch-Compiled Region", RGM_HOST_OTHER},
    {"TorchDynamo", RGM_HOST_COMPILE},      {"torch/_dynamo", RGM_HOST_COMPILE},
    {"_inductor", RGM_HOST_COMPILE},        {"compile_fx", RGM_HOST_COMPILE},
    {"cuModuleLoad", RGM_HOST_COMPILE},     {"hipModuleLoad", RGM_HOST_COMPILE},
    {"cuLibraryLoad", RGM_HOST_COMPILE},    {"nvrtc", RGM_HOST_COMPILE},
    {"Optimizer.step", RGM_HOST_OPTIMIZER},
};

static int8_t cause_of_name(rgm_string name) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (rgm_text_has(name, names[i].text)) return (int8_t)names[i].cause;
    return -1;
}

// From the span outwards; a chain of parents that is a circle is damage and ends.
static rgm_host_cause cause_of_span(const rgm_view *view, const int8_t *of_name, int32_t span) {
    enum { DEEPEST = 4096 };
    for (int depth = 0; span >= 0 && (size_t)span < view->n_spans && depth < DEEPEST; depth++) {
        int8_t cause = of_name[rgm_view_name(view, (size_t)span)];
        if (cause >= 0) return (rgm_host_cause)cause;
        span = rgm_view_parent(view, (size_t)span);
    }
    return RGM_HOST_OTHER;
}

rgm_status rgm_host_causes_find(const rgm_idle *idle, const rgm_view *view, uint8_t *causes, rgm_error *err) {
    RGM_FREED rgm_stretch_of_host *asked = rgm_calloc(idle->count + 1, sizeof *asked);
    RGM_FREED int8_t *of_name = rgm_malloc(view->n_strings + 1);
    if (!asked || !of_name) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_strings; i++) of_name[i] = cause_of_name(rgm_view_text(view, (rgm_name)i));
    for (size_t i = 0; i < idle->count; i++) {
        const rgm_gap *gap = &idle->gaps[i];
        bool late = gap->launch >= 0 && gap->before_launch_ns > 0;
        asked[i].lane = late ? (int32_t)rgm_view_lane(view, (size_t)gap->launch) : -1;
        asked[i].span = -1;
        asked[i].start_ns = gap->start_ns;
        asked[i].end_ns = gap->start_ns + (late ? gap->before_launch_ns : gap->duration_ns);
    }
    RGM_TRY(rgm_host_activity_find(view, asked, idle->count, err));
    for (size_t i = 0; i < idle->count; i++)
        causes[i] =
            (uint8_t)(asked[i].lane < 0 ? RGM_HOST_OTHER : cause_of_span(view, of_name, asked[i].span));
    return RGM_OK;
}
