// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <math.h>
#include <string.h>

#include "base/tokens.h"
#include "workloads/geometry.h"

enum { MOST_THREADS = 1024 }; // of a block, on every device so far

const rgm_workload *const rgm_workloads[] = {
#define WORKLOAD_ROW(name) &rgm_workload_##name,
    RGM_WORKLOADS(WORKLOAD_ROW)
#undef WORKLOAD_ROW
};
const size_t rgm_workloads_count = sizeof rgm_workloads / sizeof *rgm_workloads;

const rgm_workload *rgm_workload_find(const char *name) {
    for (size_t i = 0; i < rgm_workloads_count; i++)
        if (strcmp(rgm_workloads[i]->name, name) == 0) return rgm_workloads[i];
    return NULL;
}

const char *rgm_element_text(rgm_element element) {
    static const char *const texts[] = {RGM_ELEMENTS(RGM_TOKEN)};
    return texts[element];
}

const char *rgm_buffer_role_text(rgm_buffer_role role) {
    static const char *const texts[] = {RGM_BUFFER_ROLES(RGM_TOKEN)};
    return texts[role];
}

rgm_status rgm_workload_prepare(const rgm_workload *workload, const double *parameters, double *values,
                                rgm_workload_shape *shape, rgm_error *err) {
    for (size_t i = 0; workload->parameters[i].name; i++) {
        const rgm_workload_parameter *p = &workload->parameters[i];
        double value = parameters ? parameters[i] : p->value;
        // Written so that NaN fails.
        if (!(value >= p->least && value <= p->most) || (p->whole && value != floor(value)))
            return rgm_error_set(err, RGM_INVALID, "%s: %s is %g; %s from %g to %g is needed", workload->name,
                                 p->name, value, p->whole ? "a whole number" : "a number", p->least, p->most);
        values[i] = value;
    }
    *shape = (rgm_workload_shape){.bytes = -1.0};
    if (!workload->shape(values, shape))
        return rgm_error_set(err, RGM_INVALID, "%s: the parameters do not go together", workload->name);
    if (shape->bytes >= 0.0) return RGM_OK;
    shape->bytes = 0.0;
    for (size_t i = 0; workload->buffers[i].name; i++)
        if (workload->buffers[i].role != RGM_BUFFER_SCRATCH) shape->bytes += 4.0 * (double)shape->counts[i];
    return RGM_OK;
}

rgm_status rgm_workload_set_block(const rgm_workload *workload, uint32_t threads, rgm_workload_shape *shape,
                                  rgm_error *err) {
    if (threads == 0) return RGM_OK;
    if (workload->per_thread == 0)
        return rgm_error_set(err, RGM_INVALID,
                             "%s is written for blocks of %u x %u threads; its block cannot be chosen",
                             workload->name, shape->block[0], shape->block[1]);
    if (threads > MOST_THREADS)
        return rgm_error_set(err, RGM_INVALID, "%s: a block has 1 to %d threads, not %u", workload->name,
                             MOST_THREADS, threads);
    size_t elements = 0;
    for (size_t i = 0; workload->buffers[i].name && elements == 0; i++)
        if (workload->buffers[i].role == RGM_BUFFER_OUTPUT) elements = shape->counts[i];
    rgm_set_grid(shape, rgm_blocks(elements, (size_t)threads * workload->per_thread), 1);
    rgm_set_block(shape, threads, 1);
    return RGM_OK;
}
