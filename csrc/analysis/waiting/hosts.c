// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/hosts.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

enum { UNSEEN = 0xFF };

static rgm_call_kind class_of(const rgm_hosts *hosts, uint32_t row) {
    return (rgm_call_kind)hosts->call_class[rgm_view_name(hosts->view, row)];
}

static bool is_call(const rgm_view *view, uint32_t row) { return rgm_kind_is_call(rgm_view_kind(view, row)); }

bool rgm_hosts_blocks_for(const rgm_hosts *hosts, uint32_t call, uint32_t work) {
    const rgm_view *view = hosts->view;
    rgm_call_kind class = class_of(hosts, call);
    if (class != RGM_CALL_COPY_ASYNC) return rgm_call_synchronizes(class) || class == RGM_CALL_COPY;
    rgm_string name = rgm_view_text(view, rgm_view_name(view, work));
    return memmem(name.data, name.length, "Pageable", 8) &&
           rgm_view_end(view, work) <= rgm_view_end(view, call);
}

bool rgm_hosts_blocks(const rgm_hosts *hosts, uint32_t call) {
    const rgm_view *view = hosts->view;
    rgm_call_kind class = class_of(hosts, call);
    if (class != RGM_CALL_COPY_ASYNC) return rgm_call_synchronizes(class) || class == RGM_CALL_COPY;
    for (uint32_t i = view->launched_first[call]; i < view->launched_first[call + 1]; i++)
        if (rgm_hosts_blocks_for(hosts, call, view->launched[i])) return true;
    return false;
}

static void classify_names(rgm_hosts *hosts) {
    const rgm_view *view = hosts->view;
    memset(hosts->call_class, UNSEEN, view->n_strings);
    for (size_t i = 0; i < view->n_spans; i++) {
        rgm_name name = rgm_view_name(view, i);
        if (is_call(view, (uint32_t)i) && hosts->call_class[name] == UNSEEN)
            hosts->call_class[name] = (uint8_t)rgm_call_classify(rgm_view_text(view, name));
    }
}

static rgm_status collect_lane(rgm_hosts *hosts, size_t lane, uint32_t *count, rgm_error *err) {
    const rgm_view *view = hosts->view;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (!is_call(view, row)) continue;
        if (class_of(hosts, row) == RGM_CALL_STREAM_WAIT)
            hosts->wait[(*count)++] = row;
        else if (rgm_hosts_blocks(hosts, row))
            RGM_TRY(rgm_coverage_add(&hosts->blocked[lane], rgm_view_start(view, row),
                                     rgm_view_end(view, row), err));
    }
    return RGM_OK;
}

// --- which stream waits -----------------------------------------------------------------------------------

typedef struct {
    uint64_t *ids;
    uint32_t *rows, *order;
    size_t count;
} sync_rows;

static void sync_rows_release(sync_rows *syncs) {
    rgm_free(syncs->ids);
    rgm_free(syncs->rows);
    rgm_free(syncs->order);
}

// Rows of kind sync by correlation: with synchronisation events on, Kineto writes one for each wait, on the
// stream that waits and with the correlation of the call.
static rgm_status sync_rows_init(sync_rows *syncs, const rgm_view *view, rgm_error *err) {
    size_t count = 0;
    for (size_t i = 0; i < view->n_spans; i++)
        count += rgm_view_kind(view, i) == RGM_KIND_SYNC && rgm_view_correlation(view, i) > 0;
    syncs->ids = rgm_malloc((count + 1) * sizeof *syncs->ids);
    syncs->rows = rgm_malloc((count + 1) * sizeof *syncs->rows);
    syncs->order = rgm_malloc((count + 1) * sizeof *syncs->order);
    if (!syncs->ids || !syncs->rows || !syncs->order) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans && syncs->count < count; i++) {
        if (rgm_view_kind(view, i) != RGM_KIND_SYNC || rgm_view_correlation(view, i) <= 0) continue;
        syncs->ids[syncs->count] = (uint64_t)rgm_view_correlation(view, i);
        syncs->rows[syncs->count++] = (uint32_t)i;
    }
    return rgm_sort_order(syncs->ids, syncs->count, syncs->order, err);
}

static int32_t lane_of_sync(const sync_rows *syncs, const rgm_view *view, int64_t correlation) {
    rgm_search search = rgm_search_in(0, syncs->count);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, syncs->ids[syncs->order[search.middle]] < (uint64_t)correlation);
    bool found = search.low < syncs->count && syncs->ids[syncs->order[search.low]] == (uint64_t)correlation;
    return found ? (int32_t)rgm_view_lane(view, syncs->rows[syncs->order[search.low]]) : -1;
}

static rgm_status find_streams(rgm_hosts *hosts, uint32_t count, rgm_error *err) {
    sync_rows syncs = {0};
    rgm_status status = sync_rows_init(&syncs, hosts->view, err);
    for (uint32_t i = 0; status == RGM_OK && i < count; i++) {
        int64_t correlation = rgm_view_correlation(hosts->view, hosts->wait[i]);
        hosts->wait_lane[i] = correlation > 0 ? lane_of_sync(&syncs, hosts->view, correlation) : -1;
    }
    sync_rows_release(&syncs);
    return status;
}

// --- the whole --------------------------------------------------------------------------------------------

static rgm_status fill(rgm_hosts *hosts, rgm_error *err) {
    const rgm_view *view = hosts->view;
    size_t waits = 0;
    hosts->call_class = rgm_malloc(view->n_strings + 1);
    hosts->blocked = rgm_calloc(view->n_lanes, sizeof *hosts->blocked);
    hosts->wait_first = rgm_calloc(view->n_lanes + 1, sizeof *hosts->wait_first);
    if (!hosts->call_class || !hosts->blocked || !hosts->wait_first) return rgm_error_no_memory(err);
    classify_names(hosts);
    for (size_t i = 0; i < view->n_spans; i++)
        waits += is_call(view, (uint32_t)i) && class_of(hosts, (uint32_t)i) == RGM_CALL_STREAM_WAIT;
    hosts->wait = rgm_malloc((waits + 1) * sizeof *hosts->wait);
    hosts->wait_lane = rgm_malloc((waits + 1) * sizeof *hosts->wait_lane);
    if (!hosts->wait || !hosts->wait_lane) return rgm_error_no_memory(err);
    uint32_t count = 0;
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        hosts->wait_first[lane] = count;
        RGM_TRY(collect_lane(hosts, lane, &count, err));
    }
    hosts->wait_first[view->n_lanes] = count;
    return find_streams(hosts, count, err);
}

rgm_status rgm_hosts_init(rgm_hosts *hosts, const rgm_view *view, rgm_error *err) {
    *hosts = (rgm_hosts){.view = view};
    rgm_status status = fill(hosts, err);
    if (status != RGM_OK) rgm_hosts_release(hosts);
    return status;
}

void rgm_hosts_release(rgm_hosts *hosts) {
    for (size_t lane = 0; hosts->blocked && lane < hosts->view->n_lanes; lane++)
        rgm_coverage_release(&hosts->blocked[lane]);
    rgm_free(hosts->call_class);
    rgm_free(hosts->blocked);
    rgm_free(hosts->wait_first);
    rgm_free(hosts->wait);
    rgm_free(hosts->wait_lane);
    *hosts = (rgm_hosts){0};
}

// Consecutive launches bound `after` and `before`, so that the stretches looked through do not overlap for
// one stream; a thread that calls for very many waits between two launches is cut off.
bool rgm_hosts_waits(const rgm_hosts *hosts, uint32_t lane, int64_t after, int64_t before, uint32_t target) {
    enum { LOOKED_THROUGH = 64 };
    const size_t first = hosts->wait_first[lane];
    rgm_search search = rgm_search_in(first, hosts->wait_first[lane + 1]);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, rgm_view_start(hosts->view, hosts->wait[search.middle]) < before);
    for (size_t i = search.low, seen = 0; i > first && seen < LOOKED_THROUGH; i--, seen++) {
        if (rgm_view_start(hosts->view, hosts->wait[i - 1]) <= after) return false;
        if (hosts->wait_lane[i - 1] < 0 || (uint32_t)hosts->wait_lane[i - 1] == target) return true;
    }
    return false;
}
