// SPDX-License-Identifier: Apache-2.0
#include "analysis/communication/instance.h"

#include <stdlib.h>

#include "analysis/stats.h"
#include "base/memory.h"

enum { PARTS = 6 };

typedef struct {
    int64_t parts[PARTS]; // what the calls of one instance agree in
    int32_t device;
    uint32_t call;
    bool by_sequence;
} item;

bool rgm_collective_synchronises(uint8_t kind) {
    return kind == RGM_COLLECTIVE_ALL_REDUCE || kind == RGM_COLLECTIVE_REDUCE_SCATTER ||
           kind == RGM_COLLECTIVE_ALL_GATHER || kind == RGM_COLLECTIVE_ALL_TO_ALL ||
           kind == RGM_COLLECTIVE_BARRIER;
}

bool rgm_instance_doubtful(const rgm_view *view, const rgm_instances *all, const rgm_instance *instance,
                           double tolerance_ns) {
    int64_t last_start = INT64_MIN, first_end = INT64_MAX;
    if (!rgm_collective_synchronises(rgm_instance_call(all, instance->from)->kind)) return false;
    for (size_t at = instance->from; at < instance->to; at++) {
        uint32_t row = rgm_instance_call(all, at)->row;
        if (rgm_view_start(view, row) > last_start) last_start = rgm_view_start(view, row);
        if (rgm_view_end(view, row) < first_end) first_end = rgm_view_end(view, row);
    }
    return (double)rgm_subtract_bounded(last_start, first_end) > tolerance_ns; // negative where they overlap
}

static bool can_match(uint8_t kind) {
    return kind != RGM_COLLECTIVE_UNKNOWN && kind != RGM_COLLECTIVE_SEND_RECV &&
           kind != RGM_COLLECTIVE_SEND && kind != RGM_COLLECTIVE_RECV;
}

// The ranks of an all_to_all, of DeepEP's pair, of a gather and of a scatter may each have a size of its own.
static bool has_common_size(uint8_t kind) {
    return kind == RGM_COLLECTIVE_ALL_REDUCE || kind == RGM_COLLECTIVE_REDUCE_SCATTER ||
           kind == RGM_COLLECTIVE_ALL_GATHER || kind == RGM_COLLECTIVE_BROADCAST ||
           kind == RGM_COLLECTIVE_REDUCE;
}

static item describe(const rgm_view *view, const rgm_collective_call *call, uint32_t index) {
    const rgm_collectives *args = &view->run->collectives;
    int64_t communicator = -1, name = 0, ranks = 0, sequence = -1, stream = -1;
    if (call->args >= 0) {
        communicator = RGM_CELL(args, communicator, call->args, -1);
        name = RGM_CELL(args, group_name, call->args, 0);
        ranks = RGM_CELL(args, group_ranks, call->args, 0);
        sequence = RGM_CELL(args, sequence, call->args, -1);
    }
    if (communicator >= 0) name = ranks = 0;
    if (communicator < 0 && name == 0 && ranks == 0) {
        uint32_t lane = rgm_view_lane(view, call->row);
        stream = lane < view->run->lanes.rows ? RGM_CELL(&view->run->lanes, thread, lane, -1) : -1;
        sequence = -1; // numbers of two groups must not be taken for each other's
    }
    item it = {.device = call->device, .call = index, .by_sequence = sequence >= 0};
    it.parts[0] = communicator >= 0 ? communicator : stream;
    it.parts[1] = name << 2 | (communicator >= 0) << 1 | it.by_sequence;
    it.parts[2] = ranks;
    it.parts[3] = call->kind;
    it.parts[4] = has_common_size(call->kind) ? call->bytes : -1;
    it.parts[5] = it.by_sequence ? sequence : rgm_view_step(view, call->row);
    return it;
}

static int compare_parts(const item *x, const item *y) {
    for (int p = 0; p < PARTS; p++)
        if (x->parts[p] != y->parts[p]) return x->parts[p] < y->parts[p] ? -1 : 1;
    return 0;
}

// Calls are in order of device and start, so their index keeps the order of occurrence.
static int by_parts(const void *a, const void *b) {
    const item *x = a, *y = b;
    int order = compare_parts(x, y);
    return order ? order : (x->call > y->call) - (x->call < y->call);
}

// Calls of one device from `from` on.
static size_t run_of_device(const item *items, size_t from, size_t to) {
    size_t n = 1;
    while (from + n < to && items[from + n].device == items[from].device) n++;
    return n;
}

static bool is_regular(const item *items, size_t from, size_t to) {
    size_t each = run_of_device(items, from, to);
    for (size_t at = from; at < to; at += each)
        if (run_of_device(items, at, to) != each) return false;
    return to - from > each; // at least two devices
}

static void add_unmatched(rgm_instances *all, const item *items, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) all->unmatched[items[i].device]++;
}

// Items from..to agree in all parts; the i-th call of every device makes up the i-th instance.
static void add_instances(rgm_instances *all, const item *items, size_t from, size_t to, size_t *filled) {
    size_t each = run_of_device(items, from, to);
    for (size_t i = 0; i < each; i++) {
        rgm_instance *instance = &all->instances[all->count++];
        *instance = (rgm_instance){.from = *filled, .by_sequence = items[from].by_sequence};
        for (size_t at = from + i; at < to; at += each) all->order[(*filled)++] = items[at].call;
        instance->to = *filled;
    }
}

static void match(rgm_instances *all, const item *items, size_t count) {
    size_t filled = 0;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && compare_parts(&items[from], &items[to]) == 0;) to++;
        uint8_t kind = all->calls.calls[items[from].call].kind;
        if (can_match(kind) && is_regular(items, from, to))
            add_instances(all, items, from, to, &filled);
        else
            add_unmatched(all, items, from, to);
    }
}

static void find_first(const rgm_view *view, const rgm_instances *all, rgm_instance *instance) {
    instance->first = rgm_instance_call(all, instance->from)->row;
    for (size_t at = instance->from; at < instance->to; at++) {
        uint32_t row = rgm_instance_call(all, at)->row;
        if (rgm_view_start(view, row) < rgm_view_start(view, instance->first)) instance->first = row;
    }
    instance->start_ns = rgm_view_start(view, instance->first);
}

static int earliest_first(const void *a, const void *b) {
    const rgm_instance *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

rgm_status rgm_instances_find(rgm_instances *all, const rgm_view *view, rgm_error *err) {
    item *items = NULL;
    rgm_status status;
    *all = (rgm_instances){0};
    RGM_GOTO(rgm_collective_calls_find(&all->calls, view, err));
    size_t count = all->calls.count;
    items = rgm_malloc((count + 1) * sizeof *items);
    all->order = rgm_malloc((count + 1) * sizeof *all->order);
    all->instances = rgm_malloc((count + 1) * sizeof *all->instances);
    all->unmatched = rgm_calloc(view->n_devices + 1, sizeof *all->unmatched);
    if (!items || !all->order || !all->instances || !all->unmatched) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < count; i++) items[i] = describe(view, &all->calls.calls[i], (uint32_t)i);
    qsort(items, count, sizeof *items, by_parts);
    match(all, items, count);
    for (size_t i = 0; i < all->count; i++) find_first(view, all, &all->instances[i]);
    if (all->count) qsort(all->instances, all->count, sizeof *all->instances, earliest_first);
done:
    rgm_free(items);
    if (status != RGM_OK) rgm_instances_release(all);
    return status;
}

void rgm_instances_release(rgm_instances *all) {
    rgm_collective_calls_release(&all->calls);
    rgm_free(all->order);
    rgm_free(all->instances);
    rgm_free(all->unmatched);
    *all = (rgm_instances){0};
}
