// SPDX-License-Identifier: Apache-2.0
// Thresholds from Python: a dictionary of numbers by name over the defaults.
#ifndef RGM_PYTHON_POLICY_H
#define RGM_PYTHON_POLICY_H

#include "analysis/policy.h"
#include "compare/policy.h"
#include "python/state.h"

// -1 with ValueError or TypeError set for an unknown name, or a value that is no finite number of at least 0.
int rgm_policy_read(PyObject *given, rgm_policy *policy);
int rgm_compare_policy_read(PyObject *given, rgm_compare_policy *policy);

#endif
