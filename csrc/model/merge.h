// SPDX-License-Identifier: Apache-2.0
// Several runs, one of each rank of a job or of each process of a program, as one run: the tables one after
// the other, in order of the runs.
//
// Strings are interned anew, row numbers are shifted, and times get the run's shift. Ids that join rows of
// one process (correlation, external id, autograd sequence, Python calls, flows, graphs, CUDA events) are
// made unique by adding the run's position times 2^40; only positive ids are ids. What names the same thing
// on every rank stays as it is: process group, number of a collective within its group, communicator, step.
//
// Rows that tell of a whole process (memory, what kept it from its processors) and name no lane get the first
// of their run, which says whose they are; a rank without lanes gets one for them.
//
// A lane keeps its rank. Of ranks the lanes of a run that knows none get the run's position, and two runs of
// one rank are refused, for their devices could not be told apart; processes of a program share their devices
// and have the same rank or none. Anomalies are added up by code. The environment of each run stays in its
// row of `files`; the merged run shows that of the first.
#ifndef RGM_MODEL_MERGE_H
#define RGM_MODEL_MERGE_H

#include "model/run.h"

enum { RGM_MERGE_ID_BITS = 40 };

typedef enum { RGM_MERGE_RANKS, RGM_MERGE_PROCESSES } rgm_merge_of;

// The runs are left as they are; shift_ns may be NULL for none.
rgm_status rgm_run_merge(rgm_run *const *runs, const int64_t *shift_ns, size_t count, rgm_merge_of of,
                         rgm_run **out, rgm_error *err) RGM_NODISCARD;

#endif
