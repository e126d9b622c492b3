// SPDX-License-Identifier: Apache-2.0
// Tables that analyses return, in the notation of schema.h: X(type, column, unit, default, doc). Each topic
// is a file of lists; this one says which tables there are, X(table, list of its columns, doc), and in which
// order.
#ifndef RGM_MODEL_RESULTS_H
#define RGM_MODEL_RESULTS_H

#include "model/results/causes.h"
#include "model/results/communication.h"
#include "model/results/comparison.h"
#include "model/results/copies.h"
#include "model/results/counters.h"
#include "model/results/critical_path.h"
#include "model/results/machine.h"
#include "model/results/memory.h"
#include "model/results/operators.h"
#include "model/results/regimes.h"
#include "model/results/samples.h"
#include "model/results/scopes.h"
#include "model/results/sequences.h"
#include "model/results/suggestions.h"
#include "model/results/times.h"
#include "model/results/trace_diff.h"
#include "model/results/views.h"
#include "model/results/waiting.h"

#define RGM_RESULT_TABLES(X)                                                                                 \
    RGM_SCOPES_RESULTS(X)                                                                                    \
    RGM_TIMES_RESULTS(X)                                                                                     \
    RGM_SAMPLES_RESULTS(X)                                                                                   \
    RGM_MEMORY_RESULTS(X)                                                                                    \
    RGM_OPERATORS_RESULTS(X)                                                                                 \
    RGM_WAITING_RESULTS(X)                                                                                   \
    RGM_COPIES_RESULTS(X)                                                                                    \
    RGM_COMMUNICATION_RESULTS(X)                                                                             \
    RGM_SEQUENCES_RESULTS(X)                                                                                 \
    RGM_COUNTERS_RESULTS(X)                                                                                  \
    RGM_CRITICAL_PATH_RESULTS(X)                                                                             \
    RGM_TRACE_DIFF_RESULTS(X)                                                                                \
    RGM_MACHINE_RESULTS(X)                                                                                   \
    RGM_VIEWS_RESULTS(X)                                                                                     \
    RGM_REGIMES_RESULTS(X)                                                                                   \
    RGM_COMPARISON_RESULTS(X)                                                                                \
    RGM_SUGGESTIONS_RESULTS(X)                                                                               \
    RGM_CAUSES_RESULTS(X)

#endif
