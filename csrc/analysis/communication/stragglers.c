// SPDX-License-Identifier: Apache-2.0
// Who keeps the others waiting: for each device of a job how often it was the last to arrive at a collective,
// how long the others then waited for it, and how long it waited itself. Definitions: collective_instances.c.
// The wait of all others in a collective is charged to the last to arrive; of several the first in order
// of devices. A collective that a rank left before another entered it, by more than clocks may differ, is
// counted as doubtful and nothing else: the clocks are not aligned, or calls were matched that do not belong
// together.
#include <stdlib.h>

#include "analysis/analyses.h"
#include "analysis/communication/instance.h"
#include "analysis/stats.h"
#include "base/memory.h"

typedef struct {
    int32_t device;
    int64_t collectives, last, caused_ns, waited_ns, transfer_ns, late_ns, latest_ns, doubtful;
} tally;

typedef struct {
    int64_t first_start, last_start, transfer_ns;
    int32_t last_device;
} arrival;

static arrival arrival_of(const rgm_view *view, const rgm_instances *all, const rgm_instance *instance) {
    arrival a = {INT64_MAX, INT64_MIN, INT64_MAX, -1};
    for (size_t i = instance->from; i < instance->to; i++) {
        const rgm_collective_call *call = rgm_instance_call(all, i);
        int64_t start = rgm_view_start(view, call->row);
        int64_t duration = view->run->spans.duration_ns[call->row];
        if (start < a.first_start) a.first_start = start;
        if (start > a.last_start) a.last_start = start, a.last_device = call->device;
        if (duration < a.transfer_ns) a.transfer_ns = duration;
    }
    return a;
}

static void add_call(tally *t, const arrival *a, int64_t start, int64_t wait_ns) {
    int64_t late_ns = start - a->first_start;
    t->collectives++;
    t->waited_ns = rgm_add_bounded(t->waited_ns, wait_ns);
    t->transfer_ns = rgm_add_bounded(t->transfer_ns, a->transfer_ns);
    t->late_ns = rgm_add_bounded(t->late_ns, late_ns);
    if (late_ns > t->latest_ns) t->latest_ns = late_ns;
}

static void add_instance(const rgm_view *view, const rgm_instances *all, const rgm_instance *instance,
                         double tolerance_ns, tally *tallies) {
    arrival a = arrival_of(view, all, instance);
    bool doubtful = rgm_instance_doubtful(view, all, instance, tolerance_ns);
    int64_t caused = 0;
    for (size_t i = instance->from; i < instance->to; i++) {
        const rgm_collective_call *call = rgm_instance_call(all, i);
        bool is_last = call->device == a.last_device;
        int64_t wait = is_last ? 0 : view->run->spans.duration_ns[call->row] - a.transfer_ns;
        if (doubtful)
            tallies[call->device].doubtful++;
        else
            add_call(&tallies[call->device], &a, rgm_view_start(view, call->row), wait);
        caused = rgm_add_bounded(caused, wait);
    }
    if (doubtful) return;
    tallies[a.last_device].last++;
    tallies[a.last_device].caused_ns = rgm_add_bounded(tallies[a.last_device].caused_ns, caused);
}

static int worst_first(const void *a, const void *b) {
    const tally *x = a, *y = b;
    if (x->caused_ns != y->caused_ns) return x->caused_ns > y->caused_ns ? -1 : 1;
    if (x->last != y->last) return x->last > y->last ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

static rgm_status append(const rgm_view *view, const rgm_instances *all, const tally *t, double caused_ns,
                         rgm_stragglers *out, rgm_error *err) {
    size_t row;
    const rgm_device_key *key = &view->devices[t->device];
    RGM_TRY(rgm_table_append(&rgm_stragglers_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->rank[row] = key->rank;
    out->process[row] = key->process;
    out->process_name[row] = key->process_name;
    out->device[row] = key->device;
    out->collectives[row] = t->collectives;
    out->unmatched[row] = all->unmatched[t->device];
    out->doubtful[row] = t->doubtful;
    out->last[row] = t->last;
    out->caused_ns[row] = t->caused_ns;
    out->waited_ns[row] = t->waited_ns;
    out->transfer_ns[row] = t->transfer_ns;
    out->latest_ns[row] = t->latest_ns;
    if (caused_ns > 0) out->caused_share[row] = (double)t->caused_ns / caused_ns;
    if (!t->collectives) return RGM_OK;
    out->last_share[row] = (double)t->last / (double)t->collectives;
    out->mean_late_ns[row] = (double)t->late_ns / (double)t->collectives;
    return RGM_OK;
}

rgm_status rgm_stragglers_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_stragglers *out, rgm_error *err) {
    (void)question;
    RGM_RELEASED(rgm_instances_release) rgm_instances all = {0};
    RGM_FREED tally *tallies = rgm_calloc(view->n_devices + 1, sizeof *tallies);
    double caused_ns = 0;
    if (!tallies) return rgm_error_no_memory(err);
    RGM_TRY(rgm_instances_find(&all, view, err));
    for (size_t d = 0; d < view->n_devices; d++) tallies[d].device = (int32_t)d;
    for (size_t i = 0; i < all.count; i++)
        add_instance(view, &all, &all.instances[i], policy->stragglers_clock_tolerance_ns, tallies);
    for (size_t d = 0; d < view->n_devices; d++) caused_ns += (double)tallies[d].caused_ns;
    qsort(tallies, view->n_devices, sizeof *tallies, worst_first);
    for (size_t d = 0; d < view->n_devices; d++)
        if (tallies[d].collectives || tallies[d].doubtful || all.unmatched[tallies[d].device])
            RGM_TRY(append(view, &all, &tallies[d], caused_ns, out, err));
    return RGM_OK;
}
