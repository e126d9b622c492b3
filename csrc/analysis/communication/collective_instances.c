// SPDX-License-Identifier: Apache-2.0
// One row for each collective of a job that was recorded on more than one device: who came last, how long the
// others waited, how long the transfer itself took.
//
// A kernel of a collective runs from the arrival of its rank to the end of the transfer. The shortest kernel
// is that of the rank that waited least, so its duration is the transfer, and what the others are longer is
// their wait. This needs no common clock; who came last does (see clock_offsets). Who came last waited for
// nobody: where its kernel is not the shortest, the transfer took longer for it.
#include "analysis/analyses.h"
#include "analysis/communication/instance.h"
#include "analysis/stats.h"
#include "base/memory.h"

typedef struct {
    const rgm_view *view;
    const rgm_instances *all;
    const rgm_instance *instance;
    uint32_t last; // row in `spans` of the kernel that starts last
    int32_t last_device;
} measured;

static measured measure(const rgm_view *view, const rgm_instances *all, const rgm_instance *instance) {
    const rgm_collective_call *call = rgm_instance_call(all, instance->from);
    measured m = {view, all, instance, call->row, call->device};
    for (size_t i = instance->from; i < instance->to; i++) {
        call = rgm_instance_call(all, i);
        if (rgm_view_start(view, call->row) <= rgm_view_start(view, m.last)) continue;
        m.last = call->row;
        m.last_device = call->device;
    }
    return m;
}

static void set_times(const measured *m, rgm_collective_instances *out, size_t row) {
    int64_t first_end = INT64_MAX, last_end = INT64_MIN, shortest = INT64_MAX, total = 0;
    for (size_t i = m->instance->from; i < m->instance->to; i++) {
        uint32_t span = rgm_instance_call(m->all, i)->row;
        int64_t duration = m->view->run->spans.duration_ns[span], end = rgm_view_end(m->view, span);
        if (end < first_end) first_end = end;
        if (end > last_end) last_end = end;
        if (duration < shortest) shortest = duration;
        if (duration > out->longest_ns[row]) out->longest_ns[row] = duration;
    }
    for (size_t i = m->instance->from; i < m->instance->to; i++) {
        uint32_t span = rgm_instance_call(m->all, i)->row;
        if (span != m->last) total = rgm_add_bounded(total, m->view->run->spans.duration_ns[span] - shortest);
    }
    out->start_ns[row] = m->instance->start_ns;
    out->start_skew_ns[row] = rgm_view_start(m->view, m->last) - m->instance->start_ns;
    if (__builtin_sub_overflow(last_end, first_end, &out->end_skew_ns[row]))
        out->end_skew_ns[row] = INT64_MAX;
    out->transfer_ns[row] = shortest;
    out->wait_ns[row] = total;
    out->overlaps[row] = rgm_view_start(m->view, m->last) <= first_end;
}

static rgm_status append(const measured *m, rgm_collective_instances *out, rgm_error *err) {
    size_t row;
    const rgm_collective_call *call = rgm_instance_call(m->all, m->instance->from);
    const rgm_collectives *args = &m->view->run->collectives;
    RGM_TRY(rgm_table_append(&rgm_collective_instances_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->collective[row] = call->kind;
    out->bytes[row] = call->bytes;
    out->by_sequence[row] = m->instance->by_sequence;
    out->step[row] = rgm_view_step(m->view, call->row);
    if (call->args >= 0) {
        out->group_name[row] = RGM_CELL(args, group_name, call->args, 0);
        out->group_size[row] = RGM_CELL(args, group_size, call->args, -1);
        out->sequence[row] = RGM_CELL(args, sequence, call->args, -1);
    }
    out->participants[row] = (int64_t)(m->instance->to - m->instance->from);
    out->last_rank[row] = m->view->devices[m->last_device].rank;
    out->last_device[row] = m->view->devices[m->last_device].device;
    out->first_span[row] = m->instance->first;
    out->last_span[row] = m->last;
    set_times(m, out, row);
    return RGM_OK;
}

rgm_status rgm_collective_instances_compute(const rgm_view *view, const rgm_policy *policy,
                                            const rgm_question *question, rgm_collective_instances *out,
                                            rgm_error *err) {
    (void)question;
    RGM_RELEASED(rgm_instances_release) rgm_instances all = {0};
    RGM_TRY(rgm_instances_find(&all, view, err));
    for (size_t i = 0; i < all.count; i++) {
        measured m = measure(view, &all, &all.instances[i]);
        RGM_TRY(append(&m, out, err));
        out->doubtful[i] =
            rgm_instance_doubtful(view, &all, &all.instances[i], policy->stragglers_clock_tolerance_ns);
    }
    return RGM_OK;
}
