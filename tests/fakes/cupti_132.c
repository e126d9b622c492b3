// SPDX-License-Identifier: Apache-2.0
// Double of CUPTI 13.2 where no driver is: every function but the marks of its version ends the process, as
// the real one does with a fault.
#include <stdlib.h>

#define CRASHES(symbol)                                                                                      \
    __attribute__((visibility("default"))) int symbol(void) { abort(); }

CRASHES(cuptiGetVersion)
CRASHES(cuptiGetTimestamp)
CRASHES(cuptiProfilerHostGetSupportedChips)
CRASHES(cuptiProfilerHostInitialize)
CRASHES(cuptiProfilerHostDeinitialize)
CRASHES(cuptiProfilerHostGetBaseMetrics)
CRASHES(cuptiProfilerHostGetSubMetrics)
CRASHES(cuptiProfilerHostConfigAddMetrics)
CRASHES(cuptiProfilerHostGetConfigImageSize)
CRASHES(cuptiProfilerHostGetConfigImage)
CRASHES(cuptiProfilerHostGetNumOfPasses)
CRASHES(cuptiProfilerHostEvaluateToGpuValues)
CRASHES(cuptiProfilerHostGetSinglePassSets)
