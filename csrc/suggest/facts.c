// SPDX-License-Identifier: Apache-2.0
#include "suggest/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "suggest/environment.h"

enum { UNKNOWN_TYPE = 0xFF, MOST_PARENTS = 256 };

// --- order ------------------------------------------------------------------------------------------------

static int compare_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }

bool rgm_facts_before(const rgm_facts *facts, size_t a, size_t b) {
    const rgm_view *view = facts->view;
    const rgm_lanes *lanes = &view->run->lanes;
    size_t x = rgm_view_lane(view, a), y = rgm_view_lane(view, b);
    int order = compare_i64(rgm_view_start(view, a), rgm_view_start(view, b));
    if (!order) order = compare_i64(rgm_facts_duration(facts, b), rgm_facts_duration(facts, a));
    if (!order && rgm_view_name(view, a) != rgm_view_name(view, b))
        order = strcmp(rgm_facts_text(facts, a).data, rgm_facts_text(facts, b).data);
    if (!order) order = compare_i64(RGM_CELL(lanes, process, x, -1), RGM_CELL(lanes, process, y, -1));
    if (!order) order = compare_i64(RGM_CELL(lanes, thread, x, -1), RGM_CELL(lanes, thread, y, -1));
    return order < 0;
}

// --- look-ups ---------------------------------------------------------------------------------------------

rgm_kernel_type rgm_facts_type(const rgm_facts *facts, size_t row) {
    if (!rgm_facts_is_kernel(facts, row)) return rgm_kernel_type_of(facts->view, row);
    uint8_t *known = &facts->type_of_name[rgm_view_name(facts->view, row)];
    if (*known == UNKNOWN_TYPE) *known = (uint8_t)rgm_kernel_type_of(facts->view, row);
    return (rgm_kernel_type)*known;
}

int32_t rgm_facts_above(const rgm_facts *facts, size_t row, const char *const *names) {
    const rgm_view *view = facts->view;
    bool work = rgm_kind_is_work(rgm_view_kind(view, row));
    int32_t at = work ? view->op[row] : (int32_t)row;
    for (int steps = 0; at >= 0 && steps < MOST_PARENTS; steps++) {
        if (rgm_text_among(rgm_facts_text(facts, (size_t)at), names)) return at;
        at = rgm_view_parent(view, (size_t)at);
    }
    return -1;
}

bool rgm_facts_below(const rgm_facts *facts, int32_t row, const char *part) {
    for (int steps = 0; row >= 0 && steps < MOST_PARENTS; steps++) {
        if (rgm_text_has(rgm_facts_text(facts, (size_t)row), part)) return true;
        row = rgm_view_parent(facts->view, (size_t)row);
    }
    return false;
}

int32_t rgm_facts_operator(const rgm_facts *facts, size_t row) {
    int32_t at = (int32_t)row;
    for (int steps = 0; at >= 0 && steps < MOST_PARENTS; steps++) {
        if (rgm_view_kind(facts->view, (size_t)at) == RGM_KIND_CPU_OP) return at;
        at = rgm_view_parent(facts->view, (size_t)at);
    }
    return -1;
}

uint32_t rgm_facts_first_from(const rgm_facts *facts, uint32_t lane, int64_t time) {
    const rgm_view *view = facts->view;
    rgm_search search = rgm_search_in(view->lane_first[lane], view->lane_first[lane + 1]);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, rgm_view_start(view, view->lane_spans[search.middle]) < time);
    return (uint32_t)search.low;
}

int64_t rgm_facts_on_path(const rgm_facts *facts, size_t row, unsigned kinds) {
    int64_t total = 0;
    for (uint32_t i = facts->segment_first[row]; i < facts->segment_first[row + 1]; i++) {
        uint32_t segment = facts->segments[i];
        if (kinds >> facts->path.kind[segment] & 1u) total += facts->path.duration_ns[segment];
    }
    return total;
}

int64_t rgm_facts_path_total(const rgm_facts *facts, unsigned kinds) {
    int64_t total = 0;
    for (size_t i = 0; i < facts->path.rows; i++)
        if (kinds >> facts->path.kind[i] & 1u) total += facts->path.duration_ns[i];
    return total;
}

// --- making -----------------------------------------------------------------------------------------------

static rgm_status index_path(rgm_facts *facts, rgm_error *err) {
    const rgm_view *view = facts->view;
    rgm_critical_path *path = &facts->path;
    facts->segment_first = rgm_calloc(view->n_spans + 2, sizeof *facts->segment_first);
    if (!facts->segment_first) return rgm_error_no_memory(err);
    RGM_TRY(RGM_ROWS(facts->segments, path->rows, err));
    uint32_t *first = facts->segment_first;
    for (size_t i = 0; i < path->rows; i++)
        if (path->span[i] >= 0) first[path->span[i] + 2]++;
    for (size_t i = 2; i < view->n_spans + 2; i++) first[i] += first[i - 1];
    for (size_t i = 0; i < path->rows; i++)
        if (path->span[i] >= 0) facts->segments[first[path->span[i] + 1]++] = (uint32_t)i;
    return RGM_OK;
}

// The lane of a segment of the host, the number of lanes for any other.
static size_t group_of(const rgm_facts *facts, size_t segment) {
    const rgm_critical_path *path = &facts->path;
    bool host = RGM_HOST_PATH >> path->kind[segment] & 1u && path->lane[segment] >= 0;
    return host ? (size_t)path->lane[segment] : facts->view->n_lanes;
}

static rgm_status index_lanes(rgm_facts *facts, rgm_error *err) {
    size_t groups = facts->view->n_lanes + 1, rows = facts->path.rows;
    facts->lane_segment_first = rgm_calloc(groups + 2, sizeof *facts->lane_segment_first);
    if (!facts->lane_segment_first) return rgm_error_no_memory(err);
    RGM_TRY(RGM_ROWS(facts->lane_segments, rows, err));
    uint32_t *first = facts->lane_segment_first;
    for (size_t i = 0; i < rows; i++) first[group_of(facts, i) + 2]++;
    for (size_t i = 2; i < groups + 2; i++) first[i] += first[i - 1];
    for (size_t i = 0; i < rows; i++) facts->lane_segments[first[group_of(facts, i) + 1]++] = (uint32_t)i;
    return RGM_OK;
}

static void measure_path(rgm_facts *facts) {
    const rgm_critical_path *path = &facts->path;
    const rgm_run *run = facts->view->run;
    facts->rank = -1;
    facts->start_ns = run->start_ns;
    facts->end_ns = run->end_ns > run->start_ns ? run->end_ns : run->start_ns;
    if (path->rows) {
        facts->start_ns = path->start_ns[0];
        facts->end_ns = path->start_ns[path->rows - 1] + path->duration_ns[path->rows - 1];
        for (size_t i = 0; i < path->rows; i++) {
            if (path->lane[i] < 0) continue;
            facts->rank = RGM_CELL(&run->lanes, rank, (size_t)path->lane[i], -1);
            break;
        }
    }
    facts->whole_ns = rgm_critical_between(facts->end_ns, facts->start_ns);
}

static int64_t clipped(const rgm_facts *facts, int64_t time) {
    return time < facts->start_ns ? facts->start_ns : time > facts->end_ns ? facts->end_ns : time;
}

// The times between pieces of work of a device, within the path.
static rgm_status idle_of_device(const rgm_facts *facts, size_t device, rgm_claim *idle, rgm_error *err) {
    const rgm_view *view = facts->view;
    int64_t until = facts->start_ns;
    for (uint32_t w = view->device_first[device]; w < view->device_first[device + 1]; w++) {
        RGM_TRY(rgm_claim_add(idle, until, clipped(facts, rgm_view_start(view, view->work[w])), err));
        int64_t end = clipped(facts, rgm_view_end(view, view->work[w]));
        if (end > until) until = end;
    }
    RGM_TRY(rgm_claim_add(idle, until, facts->end_ns, err));
    rgm_claim_close(idle);
    return RGM_OK;
}

static rgm_status measure_idle(rgm_facts *facts, rgm_error *err) {
    const rgm_view *view = facts->view;
    const rgm_critical_path *path = &facts->path;
    facts->idle_ns = INT64_MAX;
    for (size_t d = 0; d < view->n_devices; d++) {
        if (view->devices[d].rank != facts->rank || view->device_first[d] == view->device_first[d + 1])
            continue;
        rgm_claim idle = {0};
        rgm_status status = idle_of_device(facts, d, &idle, err);
        bool least = status == RGM_OK && rgm_claim_total(&idle) < facts->idle_ns;
        if (least) {
            rgm_claim_release(&facts->idle_times);
            facts->idle_times = idle;
            facts->idle_ns = rgm_claim_total(&idle);
        } else {
            rgm_claim_release(&idle);
        }
        if (status != RGM_OK) return status;
    }
    if (facts->idle_ns == INT64_MAX) {
        RGM_TRY(rgm_claim_add(&facts->idle_times, facts->start_ns, facts->end_ns, err));
        facts->idle_ns = facts->whole_ns;
    }
    for (size_t i = 0; i < path->rows; i++)
        if (RGM_ON_DEVICE_PATH >> path->kind[i] & 1u)
            RGM_TRY(rgm_claim_add(&facts->device_times, path->start_ns[i],
                                  path->start_ns[i] + path->duration_ns[i], err));
    rgm_claim_close(&facts->device_times);
    return RGM_OK;
}

static rgm_status index_rows(rgm_facts *facts, rgm_error *err) {
    const rgm_view *view = facts->view;
    const rgm_run *run = view->run;
    RGM_TRY(RGM_ROWS(facts->arguments, view->n_spans, err));
    RGM_TRY(RGM_ROWS(facts->launch_row, view->n_spans, err));
    RGM_TRY(RGM_ROWS(facts->blocked_by, view->n_spans, err));
    RGM_TRY(RGM_ROWS(facts->type_of_name, view->n_strings, err));
    memset(facts->type_of_name, UNKNOWN_TYPE, view->n_strings + 1);
    for (size_t i = 0; i < view->n_spans; i++)
        facts->arguments[i] = facts->launch_row[i] = facts->blocked_by[i] = -1;
    for (size_t i = 0; i < run->operators.rows; i++)
        facts->arguments[RGM_CELL(&run->operators, span, i, 0)] = (int32_t)i;
    for (size_t i = 0; i < run->launches.rows; i++)
        facts->launch_row[RGM_CELL(&run->launches, span, i, 0)] = (int32_t)i;
    return RGM_OK;
}

static void find_blocks(rgm_facts *facts) {
    const rgm_view *view = facts->view;
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        int32_t last = -1;
        for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
            uint32_t row = view->lane_spans[i];
            if (!rgm_kind_is_call(rgm_view_kind(view, row))) continue;
            facts->blocked_by[row] = last;
            if (rgm_hosts_blocks(&facts->hosts, row)) last = (int32_t)row;
        }
    }
}

static rgm_status fill(rgm_facts *facts, rgm_error *err) {
    const rgm_question question = {0};
    RGM_TRY(rgm_critical_path_compute(facts->view, facts->policy, &question, &facts->path, err));
    RGM_TRY(index_path(facts, err));
    RGM_TRY(index_lanes(facts, err));
    measure_path(facts);
    RGM_TRY(measure_idle(facts, err));
    RGM_TRY(index_rows(facts, err));
    RGM_TRY(rgm_hosts_init(&facts->hosts, facts->view, err));
    RGM_TRY(rgm_idle_init(&facts->idle, facts->view, facts->policy, false, err));
    find_blocks(facts);
    facts->memory_total = rgm_environment_number(facts->view->run, "\"totalGlobalMem\":");
    if (isnan(facts->memory_total))
        facts->memory_total = rgm_first_value(facts->view->run, "memory_total_bytes");
    facts->memory_of_host = rgm_environment_number(facts->view->run, "\"memory_bytes\":");
    facts->compute_major = rgm_environment_number(facts->view->run, "\"computeMajor\":");
    return RGM_OK;
}

rgm_status rgm_facts_init(rgm_facts *facts, const rgm_view *view, const rgm_policy *policy,
                          const rgm_ceilings *ceilings, rgm_error *err) {
    *facts = (rgm_facts){.view = view, .policy = policy, .ceilings = ceilings};
    rgm_status status = fill(facts, err);
    if (status != RGM_OK) rgm_facts_release(facts);
    return status;
}

void rgm_facts_release(rgm_facts *facts) {
    rgm_table_release(&rgm_critical_path_desc, &facts->path);
    rgm_hosts_release(&facts->hosts);
    rgm_idle_release(&facts->idle);
    rgm_claim_release(&facts->idle_times);
    rgm_claim_release(&facts->device_times);
    rgm_free(facts->segment_first);
    rgm_free(facts->segments);
    rgm_free(facts->lane_segment_first);
    rgm_free(facts->lane_segments);
    rgm_free(facts->arguments);
    rgm_free(facts->launch_row);
    rgm_free(facts->blocked_by);
    rgm_free(facts->type_of_name);
    *facts = (rgm_facts){0};
}
