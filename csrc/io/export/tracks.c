// SPDX-License-Identifier: Apache-2.0
#include "io/export/tracks.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/export/nesting.h"
#include "model/lane_order.h"

enum { FIRST_FREE_ID = 1000000000, TAKEN = -1 };

// --- tracks -----------------------------------------------------------------------------------------------

static rgm_status add_track(rgm_tracks *t, size_t *capacity, uint32_t lane, uint32_t number, rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(t->tracks, t->n_tracks, *capacity, 64, err));
    t->tracks[t->n_tracks++] = (rgm_track){.lane = lane, .number = number};
    return RGM_OK;
}

// Fills track_of, lane by lane.
static rgm_status place_spans(rgm_tracks *t, const rgm_lane_order *order, rgm_error *err) {
    const rgm_run *run = t->run;
    RGM_RELEASED(rgm_nesting_release) rgm_nesting nesting = {0};
    size_t capacity = 0;
    for (size_t lane = 0; lane < t->n_lanes; lane++) {
        size_t base = t->n_tracks;
        t->lane_track[lane] = (uint32_t)base;
        RGM_TRY(add_track(t, &capacity, (uint32_t)lane, 0, err));
        rgm_nesting_reset(&nesting);
        for (uint32_t at = order->first[lane]; at < order->first[lane + 1]; at++) {
            uint32_t row = order->rows[at], number;
            RGM_TRY(rgm_nesting_place(&nesting, run->spans.start_ns[row], rgm_span_end(run, row),
                                      rgm_span_is_work(run, row), &number, err));
            while (base + number >= t->n_tracks)
                RGM_TRY(add_track(t, &capacity, (uint32_t)lane, (uint32_t)(t->n_tracks - base), err));
            t->track_of[row] = (uint32_t)base + number;
        }
    }
    return RGM_OK;
}

static rgm_status group_spans(rgm_tracks *t, const uint32_t *order, rgm_error *err) {
    t->track_first = rgm_calloc(t->n_tracks + 2, sizeof *t->track_first);
    if (!t->track_first) return rgm_error_no_memory(err);
    // Counted two places ahead, so that placing the rows turns counts of starts into starts.
    for (size_t i = 0; i < t->n_spans; i++) t->track_first[t->track_of[i] + 2]++;
    for (size_t k = 2; k <= t->n_tracks; k++) t->track_first[k] += t->track_first[k - 1];
    for (size_t i = 0; i < t->n_spans; i++) t->spans[t->track_first[t->track_of[order[i]] + 1]++] = order[i];
    return RGM_OK;
}

// --- processes --------------------------------------------------------------------------------------------

typedef struct {
    int64_t process, thread;
    int32_t rank;
    rgm_name text;
    uint32_t lane;
} lane_key;

static lane_key key_of(const rgm_run *run, uint32_t lane) {
    lane_key key = {.lane = lane,
                    .process = RGM_LANE_CELL(run, process, lane, 0),
                    .thread = RGM_LANE_CELL(run, thread, lane, -1),
                    .rank = RGM_LANE_CELL(run, rank, lane, -1)};
    if (key.process == -1) key.text = RGM_LANE_CELL(run, process_name, lane, 0);
    return key;
}

#define COMPARE(a, b)                                                                                        \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

static int compare_process(const lane_key *a, const lane_key *b) {
    COMPARE(a->rank, b->rank);
    COMPARE(a->process, b->process);
    COMPARE(a->text, b->text);
    return 0;
}

static int compare_lanes(const void *left, const void *right) {
    const lane_key *a = left, *b = right;
    int order = compare_process(a, b);
    if (order) return order;
    COMPARE(a->thread, b->thread);
    COMPARE(a->lane, b->lane);
    return 0;
}

static int compare_i64(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    COMPARE(*a, *b);
    return 0;
}

// Numbers that are in use, ascending, and the next one to give out.
typedef struct {
    int64_t *used;
    size_t count, at;
    int64_t next;
} free_ids;

static void ids_sort(free_ids *ids) {
    qsort(ids->used, ids->count, sizeof *ids->used, compare_i64);
    ids->next = FIRST_FREE_ID;
}

static int64_t ids_take(free_ids *ids) {
    for (;;) {
        while (ids->at < ids->count && ids->used[ids->at] < ids->next) ids->at++;
        if (ids->at == ids->count || ids->used[ids->at] != ids->next) return ids->next++;
        ids->next++;
    }
}

static void name_process(const rgm_run *run, rgm_track_process *p, uint32_t lane) {
    if (!p->process_name) p->process_name = RGM_LANE_CELL(run, process_name, lane, 0);
    if (!p->label) p->label = RGM_LANE_CELL(run, label, lane, 0);
    if (p->device < 0) p->device = RGM_LANE_CELL(run, device, lane, -1);
}

// Lanes with one identity get one process, in the order of first lanes: of_lane first holds each lane's
// group.
static void number_processes(rgm_tracks *t, const lane_key *keys, uint32_t *of_lane, uint32_t *number) {
    uint32_t group = 0;
    for (size_t i = 0; i < t->n_lanes; i++) {
        if (i && compare_process(&keys[i - 1], &keys[i]) != 0) group++;
        of_lane[keys[i].lane] = group;
    }
    for (size_t g = 0; g < t->n_lanes; g++) number[g] = UINT32_MAX;
    for (uint32_t lane = 0; lane < t->n_lanes; lane++) {
        uint32_t *p = &number[of_lane[lane]];
        if (*p == UINT32_MAX) {
            lane_key key = key_of(t->run, lane);
            *p = (uint32_t)t->n_processes++;
            t->processes[*p] = (rgm_track_process){.rank = key.rank,
                                                   .process = key.process,
                                                   .process_name = key.text,
                                                   .device = -1,
                                                   .lane = lane};
        }
        of_lane[lane] = *p;
        name_process(t->run, &t->processes[*p], lane);
    }
}

static rgm_status number_pids(rgm_tracks *t, rgm_error *err) {
    free_ids ids = {.used = rgm_malloc((t->n_processes + 1) * sizeof(int64_t))};
    if (!ids.used) return rgm_error_no_memory(err);
    for (size_t p = 0; p < t->n_processes; p++) ids.used[ids.count++] = t->processes[p].process;
    ids_sort(&ids);
    // Several ranks may have one process number: the first keeps it.
    bool *kept = rgm_calloc(t->n_processes + 1, sizeof *kept);
    for (size_t p = 0; kept && p < t->n_processes; p++) {
        rgm_track_process *process = &t->processes[p];
        int64_t *found = bsearch(&process->process, ids.used, ids.count, sizeof *ids.used, compare_i64);
        while (found > ids.used && found[-1] == *found) found--;
        size_t place = (size_t)(found - ids.used);
        bool natural = process->process >= 0 && process->process <= INT32_MAX && !kept[place];
        kept[place] = kept[place] || natural;
        process->pid = natural ? process->process : ids_take(&ids);
    }
    rgm_status status = kept ? RGM_OK : rgm_error_no_memory(err);
    rgm_free(kept);
    rgm_free(ids.used);
    return status;
}

static rgm_status number_tids(rgm_tracks *t, const lane_key *keys, const uint32_t *of_lane, rgm_error *err) {
    free_ids ids = {.used = rgm_malloc((t->n_lanes + 1) * sizeof(int64_t))};
    if (!ids.used) return rgm_error_no_memory(err);
    for (size_t i = 0; i < t->n_lanes; i++) ids.used[ids.count++] = keys[i].thread;
    ids_sort(&ids);
    for (size_t k = 0; k < t->n_tracks; k++) t->tracks[k].tid = TAKEN;
    for (size_t i = 0; i < t->n_lanes; i++) {
        bool first =
            !i || compare_process(&keys[i - 1], &keys[i]) != 0 || keys[i - 1].thread != keys[i].thread;
        bool natural = first && keys[i].thread >= 0 && keys[i].thread <= INT32_MAX;
        if (natural) t->tracks[t->lane_track[keys[i].lane]].tid = keys[i].thread;
    }
    for (size_t k = 0; k < t->n_tracks; k++) {
        t->tracks[k].process = of_lane[t->tracks[k].lane];
        if (t->tracks[k].tid == TAKEN) t->tracks[k].tid = ids_take(&ids);
    }
    rgm_free(ids.used);
    return RGM_OK;
}

static rgm_status identify(rgm_tracks *t, rgm_error *err) {
    RGM_FREED lane_key *keys = rgm_malloc(t->n_lanes * sizeof *keys);
    RGM_FREED uint32_t *of_lane = rgm_malloc(2 * t->n_lanes * sizeof *of_lane);
    t->processes = rgm_malloc(t->n_lanes * sizeof *t->processes);
    if (!keys || !of_lane || !t->processes) return rgm_error_no_memory(err);
    for (uint32_t lane = 0; lane < t->n_lanes; lane++) keys[lane] = key_of(t->run, lane);
    qsort(keys, t->n_lanes, sizeof *keys, compare_lanes);
    number_processes(t, keys, of_lane, of_lane + t->n_lanes);
    RGM_TRY(number_pids(t, err));
    return number_tids(t, keys, of_lane, err);
}

// --- the whole --------------------------------------------------------------------------------------------

static rgm_status lay_out(rgm_tracks *t, rgm_error *err) {
    RGM_RELEASED(rgm_lane_order_release) rgm_lane_order order = {0};
    RGM_TRY(rgm_lane_order_init(&order, t->run, err));
    RGM_TRY(place_spans(t, &order, err));
    RGM_TRY(group_spans(t, order.rows, err));
    return identify(t, err);
}

rgm_status rgm_tracks_init(rgm_tracks *t, const rgm_run *run, rgm_error *err) {
    *t = (rgm_tracks){
        .run = run, .n_spans = run->spans.rows, .n_lanes = run->lanes.rows ? run->lanes.rows : 1};
    t->lane_track = rgm_malloc(t->n_lanes * sizeof *t->lane_track);
    t->spans = rgm_malloc((t->n_spans + 1) * sizeof *t->spans);
    t->track_of = rgm_malloc((t->n_spans + 1) * sizeof *t->track_of);
    bool room = t->lane_track && t->spans && t->track_of;
    rgm_status status = room ? lay_out(t, err) : rgm_error_no_memory(err);
    if (status != RGM_OK) rgm_tracks_release(t);
    return status;
}

void rgm_tracks_release(rgm_tracks *t) {
    rgm_free(t->tracks);
    rgm_free(t->processes);
    rgm_free(t->lane_track);
    rgm_free(t->track_first);
    rgm_free(t->spans);
    rgm_free(t->track_of);
    *t = (rgm_tracks){0};
}

// --- names ------------------------------------------------------------------------------------------------

static size_t clip(int length, size_t room) {
    return length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

static size_t put_text(rgm_string text, char *to, size_t room) {
    size_t length = text.length < room ? text.length : room;
    memcpy(to, text.data, length);
    return length;
}

size_t rgm_track_name(const rgm_tracks *t, size_t track, char *text, size_t room) {
    const rgm_run *run = t->run;
    uint32_t lane = t->tracks[track].lane, number = t->tracks[track].number;
    rgm_string name = rgm_run_text(run, RGM_LANE_CELL(run, name, lane, 0));
    int device = RGM_LANE_CELL(run, device, lane, -1);
    size_t used = put_text(name, text, room - 64);
    if (!used)
        used = clip(snprintf(text, room, "%s %lld", device < 0 ? "thread" : "stream",
                             (long long)RGM_LANE_CELL(run, thread, lane, -1)),
                    room);
    if (number) used += clip(snprintf(text + used, room - used, " (overlapping %u)", number), room - used);
    return used;
}

size_t rgm_process_name(const rgm_tracks *t, size_t process, char *text, size_t room) {
    const rgm_track_process *p = &t->processes[process];
    rgm_string name = rgm_run_text(t->run, p->process_name);
    size_t used = 0;
    if (p->rank >= 0) used = clip(snprintf(text, room, "rank %d ", p->rank), room);
    if (name.length) return used + put_text(name, text + used, room - used);
    const char *what = p->device < 0 ? "process" : "device";
    return used +
           clip(snprintf(text + used, room - used, "%s %lld", what, (long long)p->process), room - used);
}
