// SPDX-License-Identifier: Apache-2.0
// Looks at the machine, and what kept the process from its processors.
#include "base/memory.h"
#include "model/builder_state.h"

rgm_status rgm_builder_witness(rgm_builder *builder, const rgm_witness_row *row, rgm_error *err) {
    size_t at = builder->witnesses.count;
    RGM_TRY(rgm_builder_room(&builder->witnesses, at + 1, sizeof *row, err));
    ((rgm_witness_row *)builder->witnesses.rows)[at] = *row;
    if (row->ticks > builder->last_tick) builder->last_tick = row->ticks;
    return RGM_OK;
}

rgm_status rgm_builder_pressure(rgm_builder *builder, const rgm_pressure_row *row, rgm_error *err) {
    rgm_pressure *pressure = &builder->run->pressure;
    size_t at;
    if (!rgm_time_in_range(row->time_ns) || row->interval_ns < 0 || !rgm_time_in_range(row->interval_ns))
        return rgm_error_set(err, RGM_FORMAT, "an interval outside the range of times");
    RGM_TRY(rgm_table_append(&rgm_pressure_desc, pressure, RGM_ALL_COLUMNS, &at, err));
    pressure->time_ns[at] = row->time_ns;
    pressure->interval_ns[at] = row->interval_ns;
    pressure->running_ns[at] = row->running_ns;
    pressure->waiting_ns[at] = row->waiting_ns;
    pressure->steal_ns[at] = row->steal_ns;
    pressure->throttled_ns[at] = row->throttled_ns;
    pressure->involuntary[at] = row->involuntary;
    pressure->system_ns[at] = row->system_ns;
    pressure->faults[at] = row->faults;
    pressure->tree_ns[at] = row->tree_ns;
    pressure->processors[at] =
        row->processors >= 0 && row->processors <= INT32_MAX ? (int32_t)row->processors : -1;
    pressure->blocks[at] = row->blocks;
    pressure->busy_ns[at] = row->busy_ns;
    pressure->huge_pages[at] = row->huge_pages;
    return RGM_OK;
}

// Lanes of each thread, as chains: first[thread] and next[lane], -1 for none.
typedef struct {
    int32_t *first, *next;
} thread_lanes;

static rgm_status find_lanes(const rgm_builder *builder, thread_lanes *of, rgm_error *err) {
    const rgm_lanes *lanes = &builder->run->lanes;
    of->first = rgm_malloc((builder->threads.count + 1) * sizeof *of->first);
    of->next = rgm_malloc((lanes->rows + 1) * sizeof *of->next);
    if (!of->first || !of->next) return rgm_error_no_memory(err);
    for (size_t i = 0; i < builder->threads.count; i++) of->first[i] = -1;
    for (size_t i = lanes->rows; i-- > 0;) {
        if (lanes->thread[i] < 0 || lanes->thread[i] >= (int64_t)builder->threads.count) continue;
        of->next[i] = of->first[lanes->thread[i]];
        of->first[lanes->thread[i]] = (int32_t)i;
    }
    return RGM_OK;
}

// That of the task slot, else the thread's first: a look may stand between the scopes of two tasks.
static int32_t lane_of(const rgm_builder *builder, const thread_lanes *of, const rgm_witness_row *row) {
    if (row->thread >= builder->threads.count) return -1;
    int32_t first = of->first[row->thread];
    for (int32_t lane = first; lane >= 0; lane = of->next[lane])
        if (builder->run->lanes.slot[lane] == row->track) return lane;
    return first;
}

static int64_t length_ns(const rgm_builder *builder, uint64_t start, uint32_t ticks) {
    if (!ticks) return -1;
    return rgm_timebase_ns(&builder->time, start + ticks) - rgm_timebase_ns(&builder->time, start);
}

rgm_status rgm_builder_witnesses(rgm_builder *builder, rgm_error *err) {
    rgm_witness *witness = &builder->run->witness;
    const rgm_witness_row *rows = builder->witnesses.rows;
    rgm_status status = RGM_OK;
    thread_lanes of = {NULL, NULL};
    RGM_GOTO(find_lanes(builder, &of, err));
    for (size_t i = 0; i < builder->witnesses.count; i++) {
        size_t at;
        RGM_GOTO(rgm_table_append(&rgm_witness_desc, witness, RGM_ALL_COLUMNS, &at, err));
        witness->time_ns[at] = rgm_timebase_ns(&builder->time, rows[i].ticks);
        witness->lane[at] = lane_of(builder, &of, &rows[i]);
        witness->processor[at] = rows[i].processor;
        witness->cpu_ns[at] = rows[i].cpu_ns;
        witness->throughput_ns[at] = length_ns(builder, rows[i].ticks, rows[i].throughput);
        witness->memory_ns[at] = length_ns(builder, rows[i].ticks, rows[i].memory);
    }
    if (builder->run->lanes.rows)
        for (size_t i = 0; i < builder->run->pressure.rows; i++) builder->run->pressure.lane[i] = 0;
done:
    rgm_free(of.first);
    rgm_free(of.next);
    return status;
}
