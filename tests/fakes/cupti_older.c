// SPDX-License-Identifier: Apache-2.0
// The double of CUPTI without what came after its base: no clock, thread ids, attributes, graphs, detaching.
#define FAKE_CUPTI_OLDER
#include "cupti.c"
