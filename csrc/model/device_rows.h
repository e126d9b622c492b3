// SPDX-License-Identifier: Apache-2.0
// What a recording knows of devices, until its spans are complete: intervals of scopes, device work, and the
// values of time series. Used by the builder.
//
// Strings of the recording become strings of the run when the rows are added, so a row must come after the
// texts that it names.
#ifndef RGM_MODEL_DEVICE_ROWS_H
#define RGM_MODEL_DEVICE_ROWS_H

#include "base/clock.h"
#include "model/record.h"
#include "model/run.h"

// An interval of the recording and the row of its scope in `spans`.
typedef struct {
    uint64_t number;
    uint32_t span;
} rgm_interval_owner;

typedef struct {
    rgm_interval_row *intervals;
    size_t interval_count, interval_capacity;
    rgm_interval_owner *owners;
    size_t owner_count, owner_capacity;
    rgm_activity_row *activities; // names are ids of the run
    size_t activity_count, activity_capacity;
    rgm_device_memory_row *blocks; // kinds of memory are ids of the run
    size_t block_count, block_capacity;
    rgm_queue_time_row *waits;
    size_t wait_count, wait_capacity;
    rgm_collective_row *collectives; // texts are ids of the run
    size_t collective_count, collective_capacity;
} rgm_device_rows;

void rgm_device_rows_release(rgm_device_rows *rows);
void rgm_device_rows_clear(rgm_device_rows *rows);
rgm_status rgm_device_rows_interval(rgm_device_rows *rows, const rgm_interval_row *row,
                                    rgm_error *err) RGM_NODISCARD;
rgm_status rgm_device_rows_owner(rgm_device_rows *rows, rgm_interval_owner owner,
                                 rgm_error *err) RGM_NODISCARD;
// `name` is the id of its name in the run.
rgm_status rgm_device_rows_activity(rgm_device_rows *rows, const rgm_activity_row *row, uint32_t name,
                                    rgm_error *err) RGM_NODISCARD;
rgm_status rgm_device_rows_memory(rgm_device_rows *rows, const rgm_device_memory_row *row, uint32_t memory,
                                  rgm_error *err) RGM_NODISCARD;
rgm_status rgm_device_rows_wait(rgm_device_rows *rows, const rgm_queue_time_row *row,
                                rgm_error *err) RGM_NODISCARD;
// The texts are ids of the run.
rgm_status rgm_device_rows_collective(rgm_device_rows *rows, const rgm_collective_row *row,
                                      rgm_error *err) RGM_NODISCARD;

// Appends the device work to spans, lanes and launches; times of the spans so far are nanoseconds by then.
// The queue times are put in order.
rgm_status rgm_device_rows_to_spans(rgm_device_rows *rows, rgm_run *run, rgm_error *err) RGM_NODISCARD;
// Fills `intervals`, in order of span; `place` tells the final row of each span by its row so far. The
// distance of the two clocks follows from the events themselves: none can pass before it was recorded.
rgm_status rgm_device_rows_to_intervals(const rgm_device_rows *rows, const uint32_t *place,
                                        const rgm_timebase *time, rgm_run *run, rgm_error *err) RGM_NODISCARD;
// Appends what CUDA gave out and took back to `memory`, each with the scope of the call that asked for it: by
// the call's correlation, when spans stand in their order and calls of threads without scopes have theirs.
rgm_status rgm_device_rows_to_memory(const rgm_device_rows *rows, rgm_run *run, rgm_error *err) RGM_NODISCARD;
// Tells the kernels of NCCL what they do, as rows of `collectives`, when launches are known. A kernel is that
// of the collective which its thread queued after its last such kernel, if just one of them has the kernel's
// word in its name; several that one kernel does (a group) are told of none.
rgm_status rgm_device_rows_to_collectives(rgm_device_rows *rows, rgm_run *run, rgm_error *err) RGM_NODISCARD;

#endif
