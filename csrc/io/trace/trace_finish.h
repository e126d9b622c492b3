// SPDX-License-Identifier: Apache-2.0
// The rows of a whole trace, joined, and what its head says -> a finished Run.
#ifndef RGM_IO_TRACE_FINISH_H
#define RGM_IO_TRACE_FINISH_H

#include "io/trace/trace_devices.h"
#include "io/trace/trace_part.h"

// Members of the document beside its events, as a compact JSON object without its braces.
typedef struct {
    rgm_bytes members;
    int64_t base_ns; // baseTimeNanoseconds, 0 when the file has none
    int32_t rank;    // -1 when the file does not say
    bool is_kineto;  // it has one of the keys that only Kineto writes
    int64_t bytes;   // size of the text
    rgm_trace_devices devices;
} rgm_trace_head;

// trace_head.c: takes what a member of the document says; `value` is compact JSON.
void rgm_trace_head_look(rgm_trace_head *head, const uint8_t *key, size_t length, const uint8_t *value,
                         size_t size);

// trace_variables.c: takes variables of the environment that a run does not keep out of members in compact
// JSON, which begin at `from`.
void rgm_trace_drop_variables(rgm_bytes *text, size_t from);

// The number of a member of a compact JSON object, `missing` when it has none of that name.
int64_t rgm_trace_member_number(const uint8_t *object, size_t length, const char *key, int64_t missing);

// Takes the run of the part over into *run. `name` is what the input is called, `threads` as for
// rgm_run_link.
rgm_status rgm_trace_finish(rgm_trace_part *part, const rgm_trace_head *head, const char *name, int threads,
                            rgm_run **run, rgm_error *err) RGM_NODISCARD;

#endif
