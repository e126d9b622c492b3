// SPDX-License-Identifier: Apache-2.0
#include "calibrate/loops.h"

size_t rgm_loops_here(const rgm_loops *sets[RGM_LOOPS_MOST]) {
    size_t count = 0;
    sets[count++] = &rgm_loops_portable;
#if defined(__x86_64__)
    if (rgm_loops_avx2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        sets[count++] = rgm_loops_avx2;
    if (rgm_loops_avx512 && __builtin_cpu_supports("avx512f")) sets[count++] = rgm_loops_avx512;
#endif
    return count;
}
