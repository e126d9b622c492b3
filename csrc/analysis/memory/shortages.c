// SPDX-License-Identifier: Apache-2.0
// Times at which a device had too little memory left: ends of memory, which the history says, and retries,
// which it does not: they are seen by segments that go back to the device right before another is reserved.
#include "analysis/analyses.h"
#include "analysis/memory/lifetimes.h"
#include "analysis/order.h"
#include "base/memory.h"

typedef struct {
    const rgm_lifetimes *lifetimes;
    int64_t *given_back; // [places] since the last event of another kind
    rgm_shortages *out;
    rgm_error *err;
} search;

static rgm_status add(search *s, size_t position, rgm_shortage shortage, int64_t given_back) {
    const rgm_run *run = s->lifetimes->run;
    const rgm_memory *memory = &run->memory;
    uint32_t event = s->lifetimes->events[position];
    int32_t stack = RGM_CELL(memory, stack, event, -1);
    rgm_shortages *out = s->out;
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_shortages_desc, out, RGM_ALL_COLUMNS, &row, s->err));
    out->time_ns[row] = memory->time_ns[event];
    const rgm_memory_device *device = rgm_lifetimes_device(s->lifetimes, position);
    out->device[row] = device->place.device;
    out->rank[row] = device->place.rank;
    out->process[row] = device->place.process;
    out->shortage[row] = (uint8_t)shortage;
    out->requested[row] = RGM_CELL(memory, bytes, event, -1);
    out->device_free[row] = RGM_CELL(memory, device_free, event, -1);
    out->given_back[row] = given_back;
    out->live[row] = s->lifetimes->live[position];
    out->reserved[row] = s->lifetimes->reserved[position];
    out->stack[row] = stack;
    if (stack < 0) return RGM_OK;
    out->function[row] = run->stacks.function[stack];
    out->file[row] = run->stacks.file[stack];
    out->line[row] = RGM_CELL(&run->stacks, line, stack, -1);
    return RGM_OK;
}

static rgm_status look_at(search *s, size_t position) {
    const rgm_lifetimes *l = s->lifetimes;
    const rgm_memory *memory = &l->run->memory;
    uint32_t event = l->events[position];
    int64_t *back = &s->given_back[l->places.of[position]], before = *back;
    uint8_t action = RGM_CELL(memory, action, event, 0);
    *back = 0;
    switch (action) {
    case RGM_ACTION_SEGMENT_FREE:
    case RGM_ACTION_SEGMENT_UNMAP: {
        int64_t bytes = RGM_CELL(memory, bytes, event, 0);
        *back = rgm_bytes_sum(before, bytes > 0 ? bytes : 0);
        return RGM_OK;
    }
    case RGM_ACTION_SEGMENT_ALLOC:
    case RGM_ACTION_SEGMENT_MAP: return before ? add(s, position, RGM_SHORTAGE_RETRY, before) : RGM_OK;
    case RGM_ACTION_OOM: return add(s, position, RGM_SHORTAGE_OUT_OF_MEMORY, before);
    // A block whose stream has come so far is freed in the midst of it.
    case RGM_ACTION_FREE: *back = before; return RGM_OK;
    default: return RGM_OK;
    }
}

rgm_status rgm_shortages_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                                 rgm_shortages *out, rgm_error *err) {
    (void)policy;
    (void)question;
    rgm_lifetimes l;
    search s = {.lifetimes = &l, .out = out, .err = err};
    rgm_status status;
    RGM_TRY(rgm_lifetimes_init(&l, view->run, err));
    s.given_back = rgm_calloc(l.places.count + 1, sizeof *s.given_back);
    RGM_GOTO(s.given_back ? RGM_OK : rgm_error_no_memory(err));
    RGM_GOTO(rgm_table_rows(&rgm_shortages_desc, out, 0, err));
    for (size_t i = 0; i < l.n_events; i++) RGM_GOTO(look_at(&s, i));
done:
    rgm_free(s.given_back);
    rgm_lifetimes_release(&l);
    return status;
}
