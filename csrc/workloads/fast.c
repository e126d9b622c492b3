// SPDX-License-Identifier: Apache-2.0
#include "workloads/fast.h"

#include <string.h>

static bool can_run(const char *name) {
#if defined(__x86_64__)
    if (strcmp(name, "avx2") == 0) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return strcmp(name, "portable") == 0;
}

const rgm_fast_set *rgm_fast_set_find(const char *name) {
    static const rgm_fast_set sets[] = {
#define FAST_SET(token, doc) {#token, rgm_fast_kernels_##token},
        RGM_FAST_SETS(FAST_SET)
#undef FAST_SET
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if ((!name || strcmp(name, sets[i].name) == 0) && can_run(sets[i].name)) return &sets[i];
    return NULL;
}

const rgm_fast_kernel *rgm_fast_find(const rgm_fast_set *set, const rgm_workload *workload) {
    for (size_t i = 0; i < rgm_workloads_count; i++)
        if (rgm_workloads[i] == workload) return &set->kernels()[i];
    return NULL;
}
