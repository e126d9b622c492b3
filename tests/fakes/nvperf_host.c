// SPDX-License-Identifier: Apache-2.0
// Double of the library that plans counters for CUPTI. CUPTI loads it by this name when it is first asked,
// from wherever the process has it; without it every call of its profiler host is refused.
#include "fake.h"

FAKE_EXPORT int fake_nvperf_host(void) { return 1; }
