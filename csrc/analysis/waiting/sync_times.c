// SPDX-License-Identifier: Apache-2.0
// What synchronisation cost: how long calls held their thread, what the device did meanwhile, and for which
// work they waited. The device of a call is the one on which its thread launched last, or will launch first;
// of a record it is that of its stream; and where the run has one device only, it is that one.
#include "analysis/analyses.h"
#include "analysis/keyed.h"
#include "analysis/stats.h"
#include "analysis/waiting/hosts.h"
#include "analysis/waiting/occupied.h"
#include "base/memory.h"

typedef struct {
    uint32_t row;
    int32_t device; // index into the view's devices, -1 when not known
    int32_t awaited;
    rgm_sync_class class;
} sync_call;

typedef struct {
    const rgm_view *view;
    rgm_hosts hosts;
    rgm_occupied occupied;
    sync_call *calls;
    uint64_t *keys;
    size_t count;
    rgm_keyed groups;
} syncs;

static bool class_of(const syncs *s, uint32_t row, rgm_sync_class *class) {
    rgm_kind kind = rgm_view_kind(s->view, row);
    if (kind == RGM_KIND_SYNC) {
        *class = RGM_SYNC_RECORD;
        return true;
    }
    if (!rgm_kind_is_call(kind)) return false;
    switch ((rgm_call_kind)s->hosts.call_class[rgm_view_name(s->view, row)]) {
    case RGM_CALL_AWAITS_DEVICE:
    case RGM_CALL_AWAITS_STREAM:
    case RGM_CALL_AWAITS_EVENT: *class = RGM_SYNC_HOST; return true;
    case RGM_CALL_STREAM_WAIT: *class = RGM_SYNC_STREAM_WAIT; return true;
    case RGM_CALL_COPY:
    case RGM_CALL_COPY_ASYNC: *class = RGM_SYNC_COPY; return rgm_hosts_blocks(&s->hosts, row);
    default: return false;
    }
}

// The work of the device that ended last while the call ran, -1 for none.
static int32_t awaited_by(const syncs *s, uint32_t row, int32_t device) {
    uint32_t end = rgm_occupied_ended(&s->occupied, device, rgm_view_end(s->view, row));
    if (end == s->view->device_first[device]) return -1;
    uint32_t work = s->occupied.by_end[end - 1];
    return rgm_view_end(s->view, work) > rgm_view_start(s->view, row) ? (int32_t)work : -1;
}

static void collect_lane(syncs *s, size_t lane) {
    const rgm_view *view = s->view;
    int32_t device = view->n_devices == 1 ? 0 : view->lane_device[lane];
    size_t waiting = s->count; // calls that have no device yet
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        rgm_sync_class class;
        if (rgm_kind_is_call(rgm_view_kind(view, row)) &&
            view->launched_first[row + 1] > view->launched_first[row])
            device = rgm_view_device(view, view->launched[view->launched_first[row]]);
        if (class_of(s, row, &class))
            s->calls[s->count++] = (sync_call){.row = row, .device = -1, .awaited = -1, .class = class};
        for (; device >= 0 && waiting < s->count; waiting++) {
            s->calls[waiting].device = device;
            s->calls[waiting].awaited = awaited_by(s, s->calls[waiting].row, device);
        }
    }
}

static rgm_status collect(syncs *s, bool by_operator, rgm_error *err) {
    const rgm_view *view = s->view;
    size_t found = 0;
    rgm_sync_class class;
    for (size_t i = 0; i < view->n_spans; i++) found += class_of(s, (uint32_t)i, &class);
    s->calls = rgm_malloc((found + 1) * sizeof *s->calls);
    s->keys = rgm_malloc((found + 1) * sizeof *s->keys);
    if (!s->calls || !s->keys) return rgm_error_no_memory(err);
    for (size_t lane = 0; lane < view->n_lanes; lane++) collect_lane(s, lane);
    for (size_t i = 0; i < s->count; i++) {
        const sync_call *call = &s->calls[i];
        int32_t op = by_operator ? view->op[call->row] : -1;
        s->keys[i] =
            (uint64_t)rgm_view_name(view, call->row) << 32 | (op >= 0 ? rgm_view_name(view, (size_t)op) : 0);
    }
    return rgm_keyed_init(&s->groups, s->keys, s->count, err);
}

// --- rows -------------------------------------------------------------------------------------------------

static void add(const syncs *s, rgm_sync_times *out, size_t row, const sync_call *call) {
    int64_t from = rgm_view_start(s->view, call->row), to = rgm_view_end(s->view, call->row);
    int64_t duration = to - from;
    out->count[row]++;
    out->total_ns[row] = rgm_add_bounded(out->total_ns[row], duration);
    if (duration > out->max_ns[row]) out->max_ns[row] = duration;
    if (call->device < 0) {
        out->unplaced_ns[row] = rgm_add_bounded(out->unplaced_ns[row], duration);
        return;
    }
    const rgm_occupied_device *device = &s->occupied.devices[call->device];
    int64_t compute = rgm_coverage_within(&device->compute, from, to);
    int64_t with_comm = rgm_coverage_within(&device->not_memory, from, to);
    int64_t any = rgm_coverage_within(&device->any, from, to);
    out->device_compute_ns[row] = rgm_add_bounded(out->device_compute_ns[row], compute);
    out->device_comm_ns[row] = rgm_add_bounded(out->device_comm_ns[row], with_comm - compute);
    out->device_mem_ns[row] = rgm_add_bounded(out->device_mem_ns[row], any - with_comm);
    out->device_idle_ns[row] = rgm_add_bounded(out->device_idle_ns[row], duration - any);
    out->needless[row] += any == 0 && call->awaited < 0;
}

// The name of work for which the calls of a group waited longest; equal times by the texts.
static rgm_status put_awaited(const syncs *s, rgm_sync_times *out, size_t row, const uint32_t *items,
                              size_t count, rgm_error *err) {
    uint64_t *names = rgm_malloc((count + 1) * sizeof *names);
    rgm_ranked *ranked = rgm_malloc((count + 1) * sizeof *ranked);
    rgm_keyed groups = {0};
    rgm_status status = names && ranked ? RGM_OK : rgm_error_no_memory(err);
    for (size_t i = 0; names && i < count; i++) {
        int32_t awaited = s->calls[items[i]].awaited;
        names[i] = awaited >= 0 ? (uint64_t)rgm_view_name(s->view, (size_t)awaited) + 1 : 0;
    }
    if (status == RGM_OK) status = rgm_keyed_init(&groups, names, count, err);
    size_t n = 0;
    for (size_t g = 0; status == RGM_OK && g < groups.count; g++) {
        uint64_t name = names[groups.items[groups.first[g]]];
        if (name == 0) continue;
        rgm_ranked *entry = &ranked[n++];
        *entry = (rgm_ranked){.text = rgm_view_text(s->view, (rgm_name)(name - 1)),
                              .second = {.data = ""},
                              .group = (uint32_t)(name - 1)};
        for (uint32_t i = groups.first[g]; i < groups.first[g + 1]; i++) {
            uint32_t call = s->calls[items[groups.items[i]]].row;
            entry->weight = rgm_add_bounded(entry->weight, s->view->run->spans.duration_ns[call]);
        }
    }
    if (n) {
        rgm_ranked_sort(ranked, n);
        out->awaited[row] = ranked[0].group;
        out->awaited_ns[row] = ranked[0].weight;
    }
    rgm_free(names);
    rgm_free(ranked);
    rgm_keyed_release(&groups);
    return status;
}

static rgm_status put_group(const syncs *s, rgm_sync_times *out, size_t group, rgm_error *err) {
    const uint32_t *items = s->groups.items + s->groups.first[group];
    size_t count = s->groups.first[group + 1] - s->groups.first[group], row;
    RGM_TRY(rgm_table_append(&rgm_sync_times_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->name[row] = (rgm_name)(s->keys[items[0]] >> 32);
    out->op[row] = (rgm_name)s->keys[items[0]];
    out->sync_class[row] = (rgm_u8)s->calls[items[0]].class;
    for (size_t i = 0; i < count; i++) add(s, out, row, &s->calls[items[i]]);
    out->mean_ns[row] = (double)out->total_ns[row] / (double)count;
    return put_awaited(s, out, row, items, count, err);
}

static void rank(const syncs *s, rgm_ranked *ranked) {
    for (size_t g = 0; g < s->groups.count; g++) {
        uint64_t key = s->keys[s->groups.items[s->groups.first[g]]];
        ranked[g] = (rgm_ranked){.text = rgm_view_text(s->view, (rgm_name)(key >> 32)),
                                 .second = rgm_view_text(s->view, (rgm_name)key),
                                 .group = (uint32_t)g};
        for (uint32_t i = s->groups.first[g]; i < s->groups.first[g + 1]; i++) {
            uint32_t call = s->calls[s->groups.items[i]].row;
            ranked[g].weight = rgm_add_bounded(ranked[g].weight, s->view->run->spans.duration_ns[call]);
        }
    }
    rgm_ranked_sort(ranked, s->groups.count);
}

rgm_status rgm_sync_times_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_sync_times *out, rgm_error *err) {
    (void)policy;
    syncs s = {.view = view};
    rgm_ranked *ranked = NULL;
    rgm_status status;
    RGM_GOTO(rgm_hosts_init(&s.hosts, view, err));
    RGM_GOTO(rgm_occupied_init(&s.occupied, view, err));
    RGM_GOTO(collect(&s, question->group_by == 1, err));
    ranked = rgm_malloc((s.groups.count + 1) * sizeof *ranked);
    status = ranked ? RGM_OK : rgm_error_no_memory(err);
    if (ranked) rank(&s, ranked);
    for (size_t g = 0; status == RGM_OK && g < s.groups.count; g++)
        status = put_group(&s, out, ranked[g].group, err);
done:
    rgm_free(ranked);
    rgm_free(s.calls);
    rgm_free(s.keys);
    rgm_keyed_release(&s.groups);
    rgm_hosts_release(&s.hosts);
    rgm_occupied_release(&s.occupied);
    return status;
}
