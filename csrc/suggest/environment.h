// SPDX-License-Identifier: Apache-2.0
// Single numbers that a run states of where it ran.
#ifndef RGM_SUGGEST_ENVIRONMENT_H
#define RGM_SUGGEST_ENVIRONMENT_H

#include "model/run.h"

// The number behind a key, written with its quotes and colon, of the run or else of the first of its inputs
// that states it; NaN for none. Good enough for what a writer says of its device; nothing hangs on it but
// what a rule says.
double rgm_environment_number(const rgm_run *run, const char *key);
// The first value of a series of counters; NaN for none.
double rgm_first_value(const rgm_run *run, const char *series);

#endif
