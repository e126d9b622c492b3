// SPDX-License-Identifier: Apache-2.0
#include "analysis/view.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "model/lane_order.h"

static bool get(void *slot, size_t count, size_t size) {
    void *block = rgm_calloc(count ? count : 1, size);
    memcpy(slot, &block, sizeof block);
    return block != NULL;
}

static rgm_status allocate(rgm_view *view, rgm_error *err) {
    const rgm_run *run = view->run;
    view->n_spans = run->spans.rows;
    view->n_lanes = run->lanes.rows ? run->lanes.rows : 1; // a run without lanes holds all on lane 0
    view->n_strings = rgm_strings_count(&run->strings);
    for (size_t i = 0; i < view->n_spans; i++) view->n_work += rgm_kind_is_work(rgm_view_kind(view, i));
    bool ok = get(&view->devices, view->n_lanes, sizeof(rgm_device_key)) &&
              get(&view->lane_device, view->n_lanes, sizeof(int32_t)) &&
              get(&view->device_first, view->n_lanes + 1, sizeof(uint32_t)) &&
              get(&view->work, view->n_work, sizeof(uint32_t)) &&
              get(&view->launch, view->n_spans, sizeof(int32_t)) &&
              get(&view->op, view->n_spans, sizeof(int32_t)) &&
              get(&view->launched, view->n_work, sizeof(uint32_t)) &&
              get(&view->launched_first, view->n_spans + 1, sizeof(uint32_t)) &&
              get(&view->activity, view->n_strings, 1);
    if (!ok) return rgm_error_no_memory(err);
    memset(view->launch, 0xFF, view->n_spans * sizeof(int32_t));
    memset(view->op, 0xFF, view->n_spans * sizeof(int32_t));
    return RGM_OK;
}

// --- devices ----------------------------------------------------------------------------------------------

// Devices by key: open addressing, a slot holds a device's number plus one.
typedef struct {
    uint32_t *slots;
    size_t mask;
} device_table;

static bool device_table_init(device_table *table, size_t most) {
    table->mask = 15;
    while (table->mask < 2 * most) table->mask = table->mask * 2 + 1;
    table->slots = rgm_calloc(table->mask + 1, sizeof *table->slots);
    return table->slots != NULL;
}

static uint64_t hash_of(const rgm_device_key *key) {
    uint64_t place = rgm_hash_mix((uint64_t)key->process, key->process_name);
    return rgm_hash_mix(place, (uint64_t)(uint32_t)key->rank << 32 | (uint16_t)key->device);
}

static int32_t device_of_lane(rgm_view *view, device_table *table, size_t lane) {
    const rgm_lanes *lanes = &view->run->lanes;
    rgm_device_key key = {.rank = -1, .device = -1};
    if (lane < lanes->rows)
        key = (rgm_device_key){.rank = RGM_CELL(lanes, rank, lane, -1),
                               .process = RGM_CELL(lanes, process, lane, 0),
                               .device = RGM_CELL(lanes, device, lane, -1)};
    if (key.process < 0 && lane < lanes->rows) key.process_name = RGM_CELL(lanes, process_name, lane, 0);
    for (size_t slot = hash_of(&key);; slot++) {
        uint32_t *number = &table->slots[slot & table->mask];
        if (!*number) {
            view->devices[view->n_devices] = key;
            *number = (uint32_t)++view->n_devices;
            return (int32_t)*number - 1;
        }
        const rgm_device_key *known = &view->devices[*number - 1];
        if (known->rank == key.rank && known->process == key.process &&
            known->process_name == key.process_name && known->device == key.device)
            return (int32_t)*number - 1;
    }
}

static rgm_status find_devices(rgm_view *view, const uint32_t *order, rgm_error *err) {
    device_table table;
    if (!device_table_init(&table, view->n_lanes)) return rgm_error_no_memory(err);
    for (size_t lane = 0; lane < view->n_lanes; lane++) view->lane_device[lane] = -1;
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
            if (!rgm_kind_is_work(rgm_view_kind(view, view->lane_spans[i]))) continue;
            view->lane_device[lane] = device_of_lane(view, &table, lane);
            break;
        }
    }
    rgm_free(table.slots);
    uint32_t *first = view->device_first;
    for (size_t i = 0; i < view->n_spans; i++)
        if (rgm_kind_is_work(rgm_view_kind(view, i))) first[rgm_view_device(view, i) + 1]++;
    for (size_t d = 0; d < view->n_devices; d++) first[d + 1] += first[d];
    for (size_t i = 0; i < view->n_spans; i++) {
        uint32_t row = order[i];
        if (rgm_kind_is_work(rgm_view_kind(view, row))) view->work[first[rgm_view_device(view, row)]++] = row;
    }
    for (size_t d = view->n_devices; d > 0; d--) first[d] = first[d - 1];
    first[0] = 0;
    return RGM_OK;
}

// --- launches ---------------------------------------------------------------------------------------------

static void order_launched(rgm_view *view) {
    uint32_t *first = view->launched_first;
    for (size_t w = 0; w < view->n_work; w++)
        if (view->launch[view->work[w]] >= 0) first[view->launch[view->work[w]] + 1]++;
    for (size_t i = 0; i < view->n_spans; i++) first[i + 1] += first[i];
    for (size_t w = 0; w < view->n_work; w++) {
        int32_t launch = view->launch[view->work[w]];
        if (launch >= 0) view->launched[first[launch]++] = view->work[w];
    }
    for (size_t i = view->n_spans; i > 0; i--) first[i] = first[i - 1];
    first[0] = 0;
}

// --- operators --------------------------------------------------------------------------------------------

// Operators with an external id, in order of it.
typedef struct {
    uint64_t *ids;
    uint32_t *rows, *order;
    size_t count;
} op_ids;

static void op_ids_release(op_ids *ops) {
    rgm_free(ops->ids);
    rgm_free(ops->rows);
    rgm_free(ops->order);
}

static bool is_named_op(const rgm_view *view, size_t row) {
    return rgm_view_kind(view, row) == RGM_KIND_CPU_OP && view->run->spans.external_id[row] > 0;
}

static rgm_status op_ids_init(op_ids *ops, const rgm_view *view, rgm_error *err) {
    size_t count = 0;
    if (!view->run->spans.external_id) return RGM_OK;
    for (size_t i = 0; i < view->n_spans; i++) count += is_named_op(view, i);
    if (!get(&ops->ids, count, sizeof *ops->ids) || !get(&ops->rows, count, sizeof *ops->rows) ||
        !get(&ops->order, count, sizeof *ops->order))
        return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++) {
        if (!is_named_op(view, i)) continue;
        ops->ids[ops->count] = (uint64_t)view->run->spans.external_id[i];
        ops->rows[ops->count++] = (uint32_t)i;
    }
    return rgm_sort_order(ops->ids, ops->count, ops->order, err);
}

enum { NOT_YET = -2 };

// The operator around every span, itself included. Each chain of parents is walked once: what is known of a
// span stands for all above it, or a call below a million ranges would cost a million steps.
static rgm_status enclosing_ops(const rgm_view *view, int32_t **out, rgm_error *err) {
    int32_t *around = rgm_malloc((view->n_spans + 1) * sizeof *around);
    if (!around) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++)
        around[i] = rgm_view_kind(view, i) == RGM_KIND_CPU_OP ? (int32_t)i : NOT_YET;
    for (size_t i = 0; i < view->n_spans; i++) {
        int32_t at = (int32_t)i;
        while (at >= 0 && around[at] == NOT_YET) at = rgm_view_parent(view, (size_t)at);
        int32_t op = at >= 0 ? around[at] : -1;
        for (at = (int32_t)i; at >= 0 && around[at] == NOT_YET; at = rgm_view_parent(view, (size_t)at))
            around[at] = op;
    }
    *out = around;
    return RGM_OK;
}

// Until 2024 a call outside any operator carried its own correlation as its external id, which says nothing.
static bool names_op(const rgm_view *view, size_t row) {
    int64_t id = RGM_CELL(&view->run->spans, external_id, row, -1);
    return id > 0 && id != rgm_view_correlation(view, row);
}

static int32_t op_by_id(const rgm_view *view, const op_ids *ops, size_t row) {
    if (!names_op(view, row)) return -1;
    uint64_t id = (uint64_t)view->run->spans.external_id[row];
    rgm_search search = rgm_search_in(0, ops->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, ops->ids[ops->order[search.middle]] < id);
    return search.low < ops->count && ops->ids[ops->order[search.low]] == id
               ? (int32_t)ops->rows[ops->order[search.low]]
               : -1;
}

static rgm_status link_operators(rgm_view *view, rgm_error *err) {
    RGM_RELEASED(op_ids_release) op_ids ops = {0};
    RGM_FREED int32_t *around = NULL;
    RGM_TRY(op_ids_init(&ops, view, err));
    RGM_TRY(enclosing_ops(view, &around, err));
    for (size_t i = 0; i < view->n_spans; i++) {
        if (!rgm_kind_is_call(rgm_view_kind(view, i))) continue;
        view->op[i] = around[i]; // a call is no operator itself
        if (view->op[i] < 0) view->op[i] = op_by_id(view, &ops, i);
    }
    for (size_t w = 0; w < view->n_work; w++) {
        uint32_t row = view->work[w];
        int32_t launch = view->launch[row];
        view->op[row] = launch >= 0 ? view->op[launch] : -1;
        if (view->op[row] < 0) view->op[row] = op_by_id(view, &ops, row);
    }
    return RGM_OK;
}

// --- activities -------------------------------------------------------------------------------------------

static void classify(rgm_view *view, const rgm_rule *rules, size_t n_rules) {
    for (size_t w = 0; w < view->n_work; w++) {
        rgm_name name = rgm_view_name(view, view->work[w]);
        if (view->activity[name] != RGM_ACTIVITY_NONE) continue;
        rgm_string text = rgm_view_text(view, name);
        const rgm_rule *rule = rgm_rules_match(rules, n_rules, text.data, text.length);
        if (!rule) rule = rgm_rules_match(rgm_rules_builtin, rgm_rules_builtin_count, text.data, text.length);
        view->activity[name] = rule ? rule->activity : RGM_ACTIVITY_COMPUTE;
    }
}

rgm_status rgm_view_init(rgm_view *view, const rgm_run *run, const rgm_rule *rules, size_t n_rules,
                         rgm_error *err) {
    *view = (rgm_view){.run = run, .home = rgm_home_of(run)};
    uint32_t *order = NULL;
    rgm_lane_order lanes = {0};
    rgm_status status;
    RGM_GOTO(rgm_kept_init(&view->kept, err));
    RGM_GOTO(allocate(view, err));
    order = rgm_malloc((view->n_spans ? view->n_spans : 1) * sizeof *order);
    if (!order) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    RGM_GOTO(rgm_sort_order_i64(run->spans.start_ns, run->spans.rows, order, err));
    RGM_GOTO(rgm_lane_order_init(&lanes, run, err));
    view->lane_first = lanes.first;
    view->lane_spans = lanes.rows;
    lanes = (rgm_lane_order){0};
    RGM_GOTO(find_devices(view, order, err));
    RGM_GOTO(rgm_run_launches(view->run, view->launch, err));
    order_launched(view);
    RGM_GOTO(link_operators(view, err));
    classify(view, rules, n_rules);
done:
    rgm_lane_order_release(&lanes);
    rgm_free(order);
    if (status != RGM_OK) rgm_view_release(view);
    return status;
}

void rgm_view_release(rgm_view *view) {
    rgm_kept_release(view->kept);
    rgm_free(view->lane_first);
    rgm_block_free(view->lane_spans);
    rgm_free(view->devices);
    rgm_free(view->lane_device);
    rgm_free(view->device_first);
    rgm_free(view->work);
    rgm_free(view->launch);
    rgm_free(view->op);
    rgm_free(view->launched);
    rgm_free(view->launched_first);
    rgm_free(view->activity);
    *view = (rgm_view){0};
}
