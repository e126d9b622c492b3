// SPDX-License-Identifier: Apache-2.0
// What the files of the builder share. Included by model/builder.c and builder_*.c only.
#ifndef RGM_MODEL_BUILDER_STATE_H
#define RGM_MODEL_BUILDER_STATE_H

#include "model/builder.h"
#include "model/device_rows.h"
#include "model/waiting.h"

// Columns that a recording fills; the others keep their defaults and take no memory.
#define RGM_RECORDED_COLUMNS                                                                                 \
    (RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns) | RGM_COLUMN_BIT(spans, name) |    \
     RGM_COLUMN_BIT(spans, lane) | RGM_COLUMN_BIT(spans, parent) | RGM_COLUMN_BIT(spans, flags) |            \
     RGM_COLUMN_BIT(spans, metadata))

typedef struct {
    rgm_waiting waiting;
    uint32_t thread;
    uint32_t *lane_of_track; // lane + 1, 0 while unused; belongs to `thread`
    uint32_t tracks;
    int32_t last_span;
    rgm_open_scope *open;
    size_t open_count;
} rgm_builder_stream;

typedef struct {
    void *rows;
    size_t count;
    size_t capacity;
} rgm_builder_list;

struct rgm_builder {
    rgm_run *run;
    rgm_timebase time;
    rgm_builder_list strings;      // u32: id in the run
    rgm_builder_list sites;        // rgm_site_row
    rgm_builder_list threads;      // rgm_thread_row
    rgm_builder_list streams;      // rgm_builder_stream
    rgm_builder_list witnesses;    // rgm_witness_row
    rgm_builder_list stacks;       // rgm_stack_row, by number
    rgm_builder_list host_samples; // rgm_host_sample_row
    rgm_builder_list allocations;  // rgm_allocation_row
    rgm_builder_list stalls;       // rgm_stall_row, names are ids of the run
    rgm_device_rows device;
    uint64_t last_tick; // latest time that anything tells of
    bool without_roles;
    int64_t migrated;
    int64_t orphans;
};

// Id in the run of a text of the recording.
static inline uint32_t rgm_builder_text(const rgm_builder *builder, uint32_t id) {
    return id < builder->strings.count ? ((const uint32_t *)builder->strings.rows)[id] : 0;
}

// builder.c: makes room for that many rows, counted from now on; new ones are zero.
rgm_status rgm_builder_room(rgm_builder_list *rows, size_t count, size_t width, rgm_error *err) RGM_NODISCARD;
// builder_witness.c: the tables `witness` and `pressure`, while `lanes.thread` still holds rows of threads.
rgm_status rgm_builder_witnesses(rgm_builder *builder, rgm_error *err) RGM_NODISCARD;
// builder_stacks.c: the tables `stacks` and `samples`, but for what is derived from spans.
rgm_status rgm_builder_host_samples(rgm_builder *builder, rgm_error *err) RGM_NODISCARD;

// builder_stalls.c: the table `stalls`.
rgm_status rgm_builder_stalls(rgm_builder *builder, rgm_error *err) RGM_NODISCARD;
// builder.c: a scope that has ended; room for its span has been made.
rgm_status rgm_builder_scope(rgm_builder *builder, rgm_builder_stream *s, const rgm_record *record,
                             rgm_error *err) RGM_NODISCARD;

#endif
