// SPDX-License-Identifier: Apache-2.0
#include "model/device_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/search.h"
#include "model/links.h"

// --- what is kept -----------------------------------------------------------------------------------------

static rgm_status keep(void **rows, size_t *count, size_t *capacity, const void *row, size_t width,
                       rgm_error *err) {
    if (*count == *capacity) RGM_TRY(rgm_list_grow(rows, capacity, 64, width, err));
    memcpy((char *)*rows + *count * width, row, width);
    (*count)++;
    return RGM_OK;
}

#define KEEP(rows, list, single, row, err)                                                                   \
    do {                                                                                                     \
        void *at = (rows)->list;                                                                             \
        rgm_status kept =                                                                                    \
            keep(&at, &(rows)->single##_count, &(rows)->single##_capacity, row, sizeof *(rows)->list, err);  \
        (rows)->list = at;                                                                                   \
        return kept;                                                                                         \
    } while (0)

rgm_status rgm_device_rows_interval(rgm_device_rows *rows, const rgm_interval_row *row, rgm_error *err) {
    if (row->state >= RGM_INTERVAL_STATE_COUNT)
        return rgm_error_set(err, RGM_FORMAT, "a device interval of unknown state %u", row->state);
    if (!rgm_time_in_range(row->begin_ns) || !rgm_time_in_range(row->duration_ns))
        return rgm_error_set(err, RGM_FORMAT, "a device interval outside the range of times");
    KEEP(rows, intervals, interval, row, err);
}

rgm_status rgm_device_rows_owner(rgm_device_rows *rows, rgm_interval_owner owner, rgm_error *err) {
    KEEP(rows, owners, owner, &owner, err);
}

rgm_status rgm_device_rows_activity(rgm_device_rows *rows, const rgm_activity_row *row, uint32_t name,
                                    rgm_error *err) {
    if (row->kind >= RGM_KIND_COUNT || row->duration_ns < 0)
        return rgm_error_set(err, RGM_FORMAT, "a device record of unknown kind %u or without a time",
                             row->kind);
    if (!rgm_time_in_range(row->start_ns) || !rgm_time_in_range(row->duration_ns))
        return rgm_error_set(err, RGM_FORMAT, "a device record outside the range of times");
    rgm_activity_row own = *row;
    own.name = name;
    KEEP(rows, activities, activity, &own, err);
}

rgm_status rgm_device_rows_memory(rgm_device_rows *rows, const rgm_device_memory_row *row, uint32_t memory,
                                  rgm_error *err) {
    if (row->action >= RGM_ACTION_COUNT || !rgm_time_in_range(row->time_ns))
        return rgm_error_set(err, RGM_FORMAT, "a record of memory of unknown action %u or without a time",
                             row->action);
    rgm_device_memory_row own = *row;
    own.memory = memory;
    KEEP(rows, blocks, block, &own, err);
}

rgm_status rgm_device_rows_wait(rgm_device_rows *rows, const rgm_queue_time_row *row, rgm_error *err) {
    if (!rgm_time_in_range(row->start_ns) || !rgm_time_in_range(row->buffered_ns) ||
        !rgm_time_in_range(row->waiting_ns) || row->buffered_ns < 0 || row->waiting_ns < 0)
        return rgm_error_set(err, RGM_FORMAT, "a queue time outside the range of times");
    KEEP(rows, waits, wait, row, err);
}

rgm_status rgm_device_rows_collective(rgm_device_rows *rows, const rgm_collective_row *row, rgm_error *err) {
    if (!rgm_time_in_range(row->time_ns))
        return rgm_error_set(err, RGM_FORMAT, "a collective outside the range of times");
    KEEP(rows, collectives, collective, row, err);
}

void rgm_device_rows_clear(rgm_device_rows *rows) {
    rows->interval_count = rows->owner_count = rows->activity_count = 0;
    rows->block_count = rows->wait_count = rows->collective_count = 0;
}

void rgm_device_rows_release(rgm_device_rows *rows) {
    rgm_free(rows->intervals);
    rgm_free(rows->owners);
    rgm_free(rows->activities);
    rgm_free(rows->blocks);
    rgm_free(rows->waits);
    rgm_free(rows->collectives);
    *rows = (rgm_device_rows){0};
}

// --- device work ------------------------------------------------------------------------------------------

typedef struct {
    int16_t device;
    int64_t stream;
    uint32_t lane;
} stream_lane;

typedef struct {
    stream_lane *rows;
    size_t count, capacity;
} stream_lanes;

static rgm_status lane_name(rgm_run *run, size_t lane, int16_t device, int64_t stream, rgm_error *err) {
    char text[64];
    rgm_lanes *lanes = &run->lanes;
    const char *word = device < 0 ? "thread" : "stream";
    bool whole = device >= 0 && stream < 0; // the device, no stream of it
    int length = whole ? snprintf(text, sizeof text, "device")
                       : snprintf(text, sizeof text, "%s %lld", word, (long long)stream);
    RGM_TRY(rgm_strings_intern(&run->strings, text, (size_t)length, &lanes->name[lane], err));
    if (device < 0) return RGM_OK;
    length = snprintf(text, sizeof text, "GPU %d", device);
    RGM_TRY(rgm_strings_intern(&run->strings, text, (size_t)length, &lanes->label[lane], err));
    lanes->process_name[lane] = lanes->label[lane];
    return RGM_OK;
}

// Of a host thread the lane of its plain scopes, if it has recorded any.
static bool is_lane(const rgm_lanes *lanes, size_t lane, const rgm_activity_row *row) {
    return lanes->device[lane] < 0 && lanes->thread[lane] == row->stream && lanes->slot[lane] == 0;
}

static rgm_status lane_find(rgm_run *run, const rgm_activity_row *row, uint32_t *lane, rgm_error *err) {
    rgm_lanes *lanes = &run->lanes;
    bool host = row->device < 0;
    for (size_t i = 0; host && i < lanes->rows; i++) {
        if (!is_lane(lanes, i, row)) continue;
        *lane = (uint32_t)i;
        return RGM_OK;
    }
    rgm_i64 process = host && lanes->rows ? lanes->process[0] : row->device;
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_lanes_desc, lanes, RGM_ALL_COLUMNS, &at, err));
    lanes->process[at] = process;
    lanes->device[at] = row->device;
    lanes->thread[at] = row->stream;
    *lane = (uint32_t)at;
    return lane_name(run, at, row->device, row->stream, err);
}

// A run has few streams, so the last one is tried first and then the list.
static rgm_status lane_of(stream_lanes *known, rgm_run *run, const rgm_activity_row *row, uint32_t *lane,
                          rgm_error *err) {
    for (size_t i = known->count; i-- > 0;) {
        if (known->rows[i].device != row->device || known->rows[i].stream != row->stream) continue;
        *lane = known->rows[i].lane;
        return RGM_OK;
    }
    RGM_TRY(lane_find(run, row, lane, err));
    stream_lane fresh = {row->device, row->stream, *lane};
    void *rows = known->rows;
    rgm_status status = keep(&rows, &known->count, &known->capacity, &fresh, sizeof fresh, err);
    known->rows = rows;
    return status;
}

static bool is_of_graph(const rgm_activity_row *row) {
    return rgm_kind_is_work(row->kind) && (row->graph_node > 0 || row->graph != UINT32_MAX);
}

// A cluster has 16 blocks at most. Files of before have no telling what in these bytes.
static bool sound_cluster(const uint8_t *cluster) {
    enum { MOST_BLOCKS = 16 };
    int blocks = cluster[0] * cluster[1] * cluster[2];
    return blocks >= 1 && blocks <= MOST_BLOCKS;
}

static int by_kernel(const void *a, const void *b) {
    const rgm_queue_time_row *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->correlation != y->correlation) return x->correlation < y->correlation ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

static void set_wait(const rgm_device_rows *rows, rgm_launches *launches, size_t at,
                     const rgm_activity_row *row) {
    const rgm_queue_time_row key = {
        .start_ns = row->start_ns, .correlation = row->correlation, .device = row->device};
    if (!rows->wait_count) return;
    const rgm_queue_time_row *wait = bsearch(&key, rows->waits, rows->wait_count, sizeof key, by_kernel);
    if (!wait) return;
    launches->buffered_ns[at] = wait->buffered_ns;
    launches->waiting_ns[at] = wait->waiting_ns;
}

// Of a kernel, or of a copy or set that is a node of a graph.
static rgm_status launch_row(const rgm_device_rows *rows, rgm_run *run, size_t span,
                             const rgm_activity_row *row, rgm_error *err) {
    rgm_launches *launches = &run->launches;
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_launches_desc, launches, RGM_ALL_COLUMNS, &at, err));
    launches->span[at] = (rgm_u32)span;
    if (row->graph != UINT32_MAX) launches->graph[at] = row->graph;
    launches->graph_node[at] = row->graph_node;
    launches->capture[at] = row->capture ? (rgm_i64)row->capture : -1; // a row when the calls are known
    if (row->kind != RGM_KIND_KERNEL) return RGM_OK;
    launches->grid_x[at] = row->grid[0];
    launches->grid_y[at] = row->grid[1];
    launches->grid_z[at] = row->grid[2];
    launches->block_x[at] = row->block[0];
    launches->block_y[at] = row->block[1];
    launches->block_z[at] = row->block[2];
    if (sound_cluster(row->cluster)) {
        launches->cluster_x[at] = row->cluster[0];
        launches->cluster_y[at] = row->cluster[1];
        launches->cluster_z[at] = row->cluster[2];
    }
    launches->registers[at] = row->registers;
    launches->shared_bytes[at] = row->shared_bytes;
    launches->occupancy[at] = (double)row->occupancy;
    if (row->occupancy_limit < RGM_OCCUPANCY_LIMIT_COUNT && !isnan(row->occupancy))
        launches->occupancy_limit[at] = row->occupancy_limit;
    set_wait(rows, launches, at, row);
    return RGM_OK;
}

static rgm_status sync_row(rgm_run *run, size_t span, const rgm_activity_row *row, rgm_error *err) {
    rgm_syncs *syncs = &run->syncs;
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_syncs_desc, syncs, RGM_ALL_COLUMNS, &at, err));
    syncs->span[at] = (rgm_u32)span;
    syncs->sync[at] = run->spans.name[span];
    syncs->stream[at] = row->stream;
    syncs->event[at] = row->event;
    syncs->record_correlation[at] = row->record_correlation;
    syncs->waits_on_stream[at] = row->waits_on_stream;
    return RGM_OK;
}

static rgm_status span_row(const rgm_device_rows *rows, rgm_run *run, const rgm_activity_row *row,
                           uint32_t lane, rgm_error *err) {
    rgm_spans *spans = &run->spans;
    size_t at = spans->rows;
    for (size_t c = 0; c < rgm_spans_desc.n_columns; c++)
        if (rgm_table_column(&rgm_spans_desc, spans, c)) rgm_table_fill(&rgm_spans_desc, spans, c, at, 1);
    spans->rows++;
    spans->start_ns[at] = row->start_ns;
    spans->duration_ns[at] = row->duration_ns;
    spans->name[at] = row->name;
    spans->kind[at] = row->kind;
    spans->lane[at] = lane;
    spans->correlation[at] = row->correlation ? (rgm_i64)row->correlation : -1;
    spans->bytes[at] = row->bytes;
    spans->flags[at] = row->flags & RGM_FLAG_OPEN;
    if (row->external) spans->external_id[at] = row->external;
    if (row->kind == RGM_KIND_KERNEL || is_of_graph(row)) return launch_row(rows, run, at, row, err);
    return row->kind == RGM_KIND_SYNC ? sync_row(run, at, row, err) : RGM_OK;
}

#define DEVICE_COLUMNS                                                                                       \
    (RGM_COLUMN_BIT(spans, start_ns) | RGM_COLUMN_BIT(spans, duration_ns) | RGM_COLUMN_BIT(spans, name) |    \
     RGM_COLUMN_BIT(spans, lane) | RGM_COLUMN_BIT(spans, parent) | RGM_COLUMN_BIT(spans, kind) |             \
     RGM_COLUMN_BIT(spans, correlation) | RGM_COLUMN_BIT(spans, bytes) | RGM_COLUMN_BIT(spans, launch) |     \
     RGM_COLUMN_BIT(spans, flags))

static uint64_t columns_needed(const rgm_device_rows *rows) {
    for (size_t i = 0; i < rows->activity_count; i++)
        if (rows->activities[i].external) return DEVICE_COLUMNS | RGM_COLUMN_BIT(spans, external_id);
    return DEVICE_COLUMNS;
}

rgm_status rgm_device_rows_to_spans(rgm_device_rows *rows, rgm_run *run, rgm_error *err) {
    rgm_spans *spans = &run->spans;
    stream_lanes known = {0};
    rgm_status status = RGM_OK;
    if (!rows->activity_count) return RGM_OK;
    if (spans->rows + rows->activity_count > INT32_MAX)
        return rgm_error_set(err, RGM_LIMIT, "more than %d spans in one run", INT32_MAX);
    RGM_TRY(rgm_table_reserve(&rgm_spans_desc, spans, columns_needed(rows),
                              spans->rows + rows->activity_count, err));
    if (rows->wait_count) qsort(rows->waits, rows->wait_count, sizeof *rows->waits, by_kernel);
    for (size_t i = 0; i < rows->activity_count; i++) {
        uint32_t lane = 0;
        RGM_GOTO(lane_of(&known, run, &rows->activities[i], &lane, err));
        RGM_GOTO(span_row(rows, run, &rows->activities[i], lane, err));
    }
done:
    rgm_free(known.rows);
    return status;
}

// --- intervals --------------------------------------------------------------------------------------------

static int by_number(const void *a, const void *b) {
    const rgm_interval_row *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}
static int by_owner_span(const void *a, const void *b) {
    const rgm_interval_owner *x = a, *y = b;
    return x->span < y->span ? -1 : x->span > y->span;
}

// An event: when the host recorded it, and how much later on the device's timeline it passed.
typedef struct {
    uint32_t timeline;
    int64_t host_ns;
    int64_t distance_ns;
} passing;

static int by_timeline_and_time(const void *a, const void *b) {
    const passing *x = a, *y = b;
    if (x->timeline != y->timeline) return x->timeline < y->timeline ? -1 : 1;
    if (x->host_ns != y->host_ns) return x->host_ns < y->host_ns ? -1 : 1;
    return x->distance_ns < y->distance_ns ? -1 : x->distance_ns > y->distance_ns;
}

// Two clocks drift apart by no more than this much (crystals are good to some 50 parts in a million each).
static const double most_drift = 1e-4;

static int64_t drifted(const passing *from, const passing *to) {
    double apart = (double)(to->host_ns - from->host_ns);
    return from->distance_ns + (int64_t)(most_drift * (apart < 0 ? -apart : apart));
}

// Lowers every distance to the largest function of time that no event lies below and that changes no faster
// than clocks drift. Where the queue is empty an event passes as soon as it is recorded, so there the
// function touches the true distance of the clocks, and it never lies below it.
static void lower(passing *p, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (p[i - 1].timeline == p[i].timeline && drifted(&p[i - 1], &p[i]) < p[i].distance_ns)
            p[i].distance_ns = drifted(&p[i - 1], &p[i]);
    for (size_t i = count; i-- > 1;)
        if (p[i - 1].timeline == p[i].timeline && drifted(&p[i], &p[i - 1]) < p[i - 1].distance_ns)
            p[i - 1].distance_ns = drifted(&p[i], &p[i - 1]);
}

// Distance of the clocks when an event was recorded; every recorded event is among the passings.
static int64_t distance_at(const passing *p, size_t count, uint32_t timeline, int64_t host_ns) {
    rgm_search search = rgm_search_in(0, count);
    while (rgm_search_on(&search)) {
        const passing *here = &p[search.middle];
        rgm_search_tell(&search,
                        here->timeline < timeline || (here->timeline == timeline && here->host_ns < host_ns));
    }
    return search.low < count ? p[search.low].distance_ns : 0;
}

static bool is_timed(const rgm_interval_row *row) {
    return row->state == RGM_INTERVAL_MEASURED && row->begin_ns >= 0 && row->duration_ns >= 0;
}

static passing *find_distances(const rgm_interval_row *rows, size_t count, const rgm_timebase *time,
                               size_t *n_points) {
    passing *points = rgm_malloc((count * 2 + 1) * sizeof *points);
    size_t n = 0;
    if (!points) return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!is_timed(&rows[i])) continue;
        int64_t begin = rgm_timebase_ns(time, rows[i].begin_ticks);
        int64_t end = rgm_timebase_ns(time, rows[i].end_ticks);
        points[n++] = (passing){rows[i].timeline, begin, rows[i].begin_ns - begin};
        points[n++] = (passing){rows[i].timeline, end, rows[i].begin_ns + rows[i].duration_ns - end};
    }
    qsort(points, n, sizeof *points, by_timeline_and_time);
    lower(points, n);
    *n_points = n;
    return points;
}

static const rgm_interval_row *find_interval(const rgm_interval_row *rows, size_t count, uint64_t number) {
    const rgm_interval_row key = {.number = number};
    return bsearch(&key, rows, count, sizeof key, by_number);
}

static rgm_status interval_out(rgm_run *run, uint32_t span, const rgm_interval_row *row,
                               const passing *distances, size_t points, const rgm_timebase *time,
                               rgm_error *err) {
    rgm_intervals *out = &run->intervals;
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_intervals_desc, out, RGM_ALL_COLUMNS, &at, err));
    out->span[at] = span;
    // A scope whose interval was never reported was still on its way when recording ended.
    out->state[at] = row ? row->state : RGM_INTERVAL_PENDING;
    if (!row) return RGM_OK;
    out->device[at] = row->device;
    out->stream[at] = (rgm_i64)row->stream;
    if (!is_timed(row)) return RGM_OK;
    int64_t recorded = rgm_timebase_ns(time, row->begin_ticks);
    int64_t passed = row->begin_ns - distance_at(distances, points, row->timeline, recorded);
    out->duration_ns[at] = row->duration_ns;
    out->start_ns[at] = passed;
    out->queue_ns[at] = passed > recorded ? passed - recorded : 0;
    return RGM_OK;
}

rgm_status rgm_device_rows_to_intervals(const rgm_device_rows *rows, const uint32_t *place,
                                        const rgm_timebase *time, rgm_run *run, rgm_error *err) {
    if (!rows->owner_count) return RGM_OK;
    size_t points = 0;
    RGM_FREED rgm_interval_row *sorted = rgm_malloc((rows->interval_count + 1) * sizeof *sorted);
    RGM_FREED rgm_interval_owner *owners = rgm_malloc(rows->owner_count * sizeof *owners);
    RGM_FREED passing *distances = find_distances(rows->intervals, rows->interval_count, time, &points);
    if (!sorted || !owners || !distances) return rgm_error_no_memory(err);
    if (rows->interval_count) memcpy(sorted, rows->intervals, rows->interval_count * sizeof *sorted);
    qsort(sorted, rows->interval_count, sizeof *sorted, by_number);
    for (size_t i = 0; i < rows->owner_count; i++)
        owners[i] = (rgm_interval_owner){rows->owners[i].number, place[rows->owners[i].span]};
    qsort(owners, rows->owner_count, sizeof *owners, by_owner_span);
    for (size_t i = 0; i < rows->owner_count; i++) {
        const rgm_interval_row *row = find_interval(sorted, rows->interval_count, owners[i].number);
        RGM_TRY(interval_out(run, owners[i].span, row, distances, points, time, err));
    }
    return RGM_OK;
}
