// SPDX-License-Identifier: Apache-2.0
#include "model/builder.h"

#include <string.h>

#include "base/memory.h"
#include "model/builder_state.h"

enum { MAX_STREAMS = 1 << 20 };

// --- small containers -------------------------------------------------------------------------------------

rgm_status rgm_builder_room(rgm_builder_list *rows, size_t count, size_t width, rgm_error *err) {
    if (count > rows->capacity) {
        size_t capacity = rows->capacity ? rows->capacity : 16;
        while (capacity < count) capacity *= 2;
        char *grown = rgm_realloc(rows->rows, capacity * width);
        if (!grown) return rgm_error_no_memory(err);
        memset(grown + rows->capacity * width, 0, (capacity - rows->capacity) * width);
        rows->rows = grown;
        rows->capacity = capacity;
    }
    if (count > rows->count) rows->count = count;
    return RGM_OK;
}

// --- life -------------------------------------------------------------------------------------------------

rgm_status rgm_builder_new(rgm_builder **builder, rgm_error *err) {
    rgm_builder *fresh = rgm_calloc(1, sizeof *fresh);
    if (!fresh) return rgm_error_no_memory(err);
    rgm_status status = rgm_run_new(&fresh->run, err);
    if (status != RGM_OK) {
        rgm_free(fresh);
        return status;
    }
    *builder = fresh;
    return RGM_OK;
}

static void stream_release(rgm_builder_stream *s) {
    rgm_waiting_release(&s->waiting);
    rgm_free(s->lane_of_track);
    rgm_free(s->open);
}

void rgm_builder_free(rgm_builder *builder) {
    if (!builder) return;
    for (size_t i = 0; i < builder->streams.count; i++)
        stream_release((rgm_builder_stream *)builder->streams.rows + i);
    rgm_free(builder->strings.rows);
    rgm_free(builder->sites.rows);
    rgm_free(builder->threads.rows);
    rgm_free(builder->streams.rows);
    rgm_free(builder->witnesses.rows);
    rgm_free(builder->stacks.rows);
    rgm_free(builder->host_samples.rows);
    rgm_free(builder->allocations.rows);
    rgm_free(builder->stalls.rows);
    rgm_timebase_release(&builder->time);
    rgm_device_rows_release(&builder->device);
    rgm_run_free(builder->run);
    rgm_free(builder);
}

rgm_run *rgm_builder_run(rgm_builder *builder) { return builder->run; }

// --- dictionary rows --------------------------------------------------------------------------------------

static rgm_status check_next(const rgm_builder_list *rows, uint32_t id, const char *what, rgm_error *err) {
    if (id <= rows->count) return RGM_OK;
    return rgm_error_set(err, RGM_FORMAT, "%s %u where at most %zu was expected", what, id, rows->count);
}

rgm_status rgm_builder_string(rgm_builder *builder, uint32_t id, const char *data, size_t length,
                              rgm_error *err) {
    RGM_TRY(check_next(&builder->strings, id, "string", err));
    uint32_t own;
    RGM_TRY(rgm_strings_intern(&builder->run->strings, data, length, &own, err));
    RGM_TRY(rgm_builder_room(&builder->strings, (size_t)id + 1, sizeof(uint32_t), err));
    ((uint32_t *)builder->strings.rows)[id] = own;
    return RGM_OK;
}

rgm_status rgm_builder_site(rgm_builder *builder, uint32_t id, rgm_site_row site, rgm_error *err) {
    RGM_TRY(check_next(&builder->sites, id, "call site", err));
    if (site.device >= RGM_DEVICE_COUNT || site.backend >= RGM_BACKEND_COUNT || site.role >= RGM_ROLE_COUNT)
        return rgm_error_set(err, RGM_FORMAT, "call site %u has device %u, backend %u and role %u", id,
                             site.device, site.backend, site.role);
    RGM_TRY(rgm_builder_room(&builder->sites, (size_t)id + 1, sizeof site, err));
    ((rgm_site_row *)builder->sites.rows)[id] = site;
    return RGM_OK;
}

rgm_status rgm_builder_thread(rgm_builder *builder, uint32_t id, rgm_thread_row thread, rgm_error *err) {
    RGM_TRY(check_next(&builder->threads, id, "thread", err));
    RGM_TRY(rgm_builder_room(&builder->threads, (size_t)id + 1, sizeof thread, err));
    ((rgm_thread_row *)builder->threads.rows)[id] = thread;
    return RGM_OK;
}

static void saw(rgm_builder *builder, uint64_t ticks) {
    if (ticks > builder->last_tick) builder->last_tick = ticks;
}

rgm_status rgm_builder_anchor(rgm_builder *builder, rgm_anchor anchor, rgm_error *err) {
    saw(builder, anchor.ticks);
    rgm_timebase_thin_out(&builder->time);
    return rgm_timebase_add(&builder->time, anchor, err);
}

rgm_status rgm_builder_note(rgm_builder *builder, rgm_anomaly code, int64_t count, rgm_error *err) {
    return count > 0 ? rgm_run_note(builder->run, code, count, -1, NULL, err) : RGM_OK;
}

// --- lanes ------------------------------------------------------------------------------------------------

// Until the end a lane's `thread` column holds the row of its thread, whose name may still change.
static rgm_status lane_new(rgm_builder *builder, uint32_t thread, uint32_t track, uint32_t *lane,
                           rgm_error *err) {
    rgm_lanes *lanes = &builder->run->lanes;
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_lanes_desc, lanes, RGM_ALL_COLUMNS, &at, err));
    lanes->thread[at] = thread;
    lanes->slot[at] = (rgm_i32)track;
    *lane = (uint32_t)at;
    return RGM_OK;
}

static rgm_status lane_of(rgm_builder *builder, rgm_builder_stream *s, uint32_t track, uint32_t *lane,
                          rgm_error *err) {
    if (RGM_LIKELY(track < s->tracks && s->lane_of_track[track])) {
        *lane = s->lane_of_track[track] - 1;
        return RGM_OK;
    }
    if (track >= s->tracks) {
        uint32_t tracks = track + 8;
        uint32_t *grown = rgm_realloc(s->lane_of_track, tracks * sizeof *grown);
        if (!grown) return rgm_error_no_memory(err);
        memset(grown + s->tracks, 0, (tracks - s->tracks) * sizeof *grown);
        s->lane_of_track = grown;
        s->tracks = tracks;
    }
    RGM_TRY(lane_new(builder, s->thread, track, lane, err));
    s->lane_of_track[track] = *lane + 1;
    return RGM_OK;
}

// --- records ----------------------------------------------------------------------------------------------

static rgm_status stream_get(rgm_builder *builder, uint32_t id, rgm_builder_stream **s, rgm_error *err) {
    if (id >= MAX_STREAMS) return rgm_error_set(err, RGM_FORMAT, "stream number %u is out of range", id);
    size_t before = builder->streams.count;
    RGM_TRY(rgm_builder_room(&builder->streams, (size_t)id + 1, sizeof(rgm_builder_stream), err));
    rgm_builder_stream *rows = builder->streams.rows;
    for (size_t i = before; i < builder->streams.count; i++) rows[i].last_span = RGM_WAITING_NONE;
    *s = &rows[id];
    return RGM_OK;
}

static void forget_open(rgm_builder_stream *s, uint32_t seq) {
    for (size_t i = 0; i < s->open_count; i++) {
        if (s->open[i].seq != seq) continue;
        s->open[i] = s->open[--s->open_count];
        return;
    }
}

static void adopt(rgm_spans *spans, rgm_waiting *map, uint32_t seq, int32_t row) {
    for (int32_t child = rgm_waiting_take(map, seq); child != RGM_WAITING_NONE;) {
        int32_t next = -2 - spans->parent[child];
        spans->parent[child] = row;
        child = next;
    }
}

// Appends a span without its parent; capacity has been reserved.
static rgm_status span_add(rgm_builder *builder, rgm_builder_stream *s, const rgm_record *record,
                           int32_t *row, rgm_error *err) {
    rgm_spans *spans = &builder->run->spans;
    if (record->site >= builder->sites.count)
        return rgm_error_set(err, RGM_FORMAT, "record of call site %u, but only %zu are known", record->site,
                             builder->sites.count);
    uint32_t lane = 0;
    RGM_TRY(lane_of(builder, s, rgm_record_track(record), &lane, err));
    size_t at = spans->rows++;
    spans->start_ns[at] = (rgm_i64)record->start;
    spans->duration_ns[at] = (rgm_i64)rgm_record_ticks(record);
    spans->name[at] = record->site; // becomes the name when all sites are known
    spans->lane[at] = lane;
    spans->parent[at] = -1;
    spans->flags[at] = record->info & (RGM_FLAG_FAILED | RGM_FLAG_OPEN | RGM_FLAG_MIGRATED);
    spans->metadata[at] = rgm_builder_text(builder, record->info >> RGM_RECORD_META_SHIFT);
    if (spans->kind) {
        spans->kind[at] = RGM_KIND_SCOPE;
        spans->correlation[at] = -1;
    }
    if (spans->own_ns) spans->own_ns[at] = 0;
    *row = (int32_t)at;
    return RGM_OK;
}

void rgm_builder_leave_out_roles(rgm_builder *builder) { builder->without_roles = true; }

// What stood in a scope that has no row stands in the one around it: `parent`.
static rgm_status leave_out(rgm_builder *builder, rgm_builder_stream *s, uint32_t seq, uint32_t parent,
                            rgm_error *err) {
    rgm_spans *spans = &builder->run->spans;
    forget_open(s, seq);
    s->last_span = RGM_WAITING_NONE;
    for (int32_t child = rgm_waiting_take(&s->waiting, seq); child != RGM_WAITING_NONE;) {
        int32_t following = -2 - spans->parent[child], next = RGM_WAITING_NONE;
        spans->parent[child] = -1;
        if (parent != RGM_RECORD_NO_PARENT) {
            RGM_TRY(rgm_waiting_add(&s->waiting, parent, child, &next, err));
            spans->parent[child] = -2 - next;
        }
        child = following;
    }
    return RGM_OK;
}

static bool has_role(const rgm_builder *builder, const rgm_record *record) {
    return record->site < builder->sites.count &&
           ((const rgm_site_row *)builder->sites.rows)[record->site].role;
}

rgm_status rgm_builder_scope(rgm_builder *builder, rgm_builder_stream *s, const rgm_record *record,
                             rgm_error *err) {
    int32_t row = 0;
    rgm_spans *spans = &builder->run->spans;
    if (RGM_UNLIKELY(record->info & RGM_RECORD_FORGOTTEN))
        return leave_out(builder, s, record->seq, RGM_RECORD_NO_PARENT, err);
    if (RGM_UNLIKELY(builder->without_roles) && has_role(builder, record))
        return leave_out(builder, s, record->seq, record->parent, err);
    RGM_TRY(span_add(builder, s, record, &row, err));
    s->last_span = row;
    saw(builder, record->start + rgm_record_ticks(record));
    if (s->open_count) forget_open(s, record->seq);
    if (record->info & RGM_RECORD_MIGRATED) builder->migrated++;
    adopt(spans, &s->waiting, record->seq, row);
    if (record->parent != RGM_RECORD_NO_PARENT) {
        int32_t next = RGM_WAITING_NONE;
        RGM_TRY(rgm_waiting_add(&s->waiting, record->parent, row, &next, err));
        spans->parent[row] = -2 - next;
    }
    return RGM_OK;
}

// A call that launched device work: a span of its own, whose number is its correlation.
static rgm_status call_record(rgm_builder *builder, rgm_builder_stream *s, const rgm_record *record,
                              rgm_error *err) {
    const uint64_t columns = RGM_COLUMN_BIT(spans, kind) | RGM_COLUMN_BIT(spans, correlation);
    rgm_spans *spans = &builder->run->spans;
    uint32_t lane = 0;
    if (!spans->kind) RGM_TRY(rgm_table_reserve(&rgm_spans_desc, spans, columns, spans->capacity, err));
    RGM_TRY(lane_of(builder, s, rgm_record_track(record), &lane, err));
    size_t at = spans->rows++;
    spans->start_ns[at] = (rgm_i64)record->start;
    spans->duration_ns[at] = (rgm_i64)rgm_record_ticks(record);
    spans->name[at] = rgm_builder_text(builder, record->site);
    spans->lane[at] = lane;
    spans->parent[at] = -1;
    spans->flags[at] = 0;
    spans->metadata[at] = 0;
    spans->kind[at] = RGM_KIND_RUNTIME;
    if (spans->own_ns) spans->own_ns[at] = 0;
    spans->correlation[at] = record->seq;
    saw(builder, record->start + rgm_record_ticks(record));
    if (record->parent == RGM_RECORD_NO_PARENT) return RGM_OK;
    int32_t next = RGM_WAITING_NONE;
    RGM_TRY(rgm_waiting_add(&s->waiting, record->parent, (int32_t)at, &next, err));
    spans->parent[at] = -2 - next;
    return RGM_OK;
}

static rgm_status interval_record(rgm_builder *builder, const rgm_builder_stream *s, const rgm_record *record,
                                  rgm_error *err) {
    if (s->last_span == RGM_WAITING_NONE) return RGM_OK;
    rgm_interval_owner owner = {record->start, (uint32_t)s->last_span};
    return rgm_device_rows_owner(&builder->device, owner, err);
}

// Ticks until the end, when they become nanoseconds.
static rgm_status count_row(rgm_builder *builder, int32_t span, uint64_t instructions, rgm_error *err) {
    rgm_counters *counters = &builder->run->counters;
    size_t at;
    uint32_t series;
    RGM_TRY(rgm_strings_intern(&builder->run->strings, RGM_INSTRUCTIONS_SERIES,
                               sizeof RGM_INSTRUCTIONS_SERIES - 1, &series, err));
    RGM_TRY(rgm_table_append(&rgm_counters_desc, counters, RGM_ALL_COLUMNS, &at, err));
    counters->series[at] = series;
    counters->value[at] = (double)instructions; // exact up to 2^53
    counters->span[at] = span;
    return RGM_OK;
}

static rgm_status own_record(rgm_builder *builder, const rgm_builder_stream *s, const rgm_record *record,
                             rgm_error *err) {
    rgm_spans *spans = &builder->run->spans;
    if (s->last_span == RGM_WAITING_NONE) return RGM_OK;
    if (rgm_record_value(record)) return count_row(builder, s->last_span, rgm_record_value(record) - 1, err);
    if (!spans->own_ns)
        RGM_TRY(
            rgm_table_reserve(&rgm_spans_desc, spans, RGM_COLUMN_BIT(spans, own_ns), spans->capacity, err));
    spans->own_ns[s->last_span] = (rgm_i64)record->start;
    return RGM_OK;
}

static rgm_status memory_row(rgm_builder *builder, int32_t span, int16_t device, rgm_action action,
                             int64_t bytes, int64_t allocated, int64_t reserved, rgm_error *err) {
    rgm_memory *memory = &builder->run->memory;
    size_t at;
    RGM_TRY(rgm_table_append(&rgm_memory_desc, memory, ~RGM_MEMORY_OF_SNAPSHOTS, &at, err));
    memory->device[at] = device;
    memory->action[at] = (rgm_u8)action;
    memory->bytes[at] = bytes;
    memory->allocated[at] = allocated;
    memory->reserved[at] = reserved;
    memory->span[at] = span;
    return RGM_OK;
}

static rgm_status memory_record(rgm_builder *builder, rgm_builder_stream *s, const rgm_record *record,
                                rgm_error *err) {
    if (s->last_span == RGM_WAITING_NONE) return RGM_OK;
    int64_t first = (int64_t)record->start, second = (int64_t)rgm_record_value(record);
    int16_t device = (int16_t)(record->info >> RGM_RECORD_META_SHIFT);
    switch (rgm_record_kind_of(record)) {
    case RGM_RECORD_HOST_MEMORY:
        RGM_TRY(memory_row(builder, s->last_span, -1, RGM_ACTION_BEGIN, first, -1, -1, err));
        return memory_row(builder, s->last_span, -1, RGM_ACTION_END, second, -1, -1, err);
    case RGM_RECORD_DEVICE_USE:
        RGM_TRY(memory_row(builder, s->last_span, device, RGM_ACTION_BEGIN, -1, first, -1, err));
        return memory_row(builder, s->last_span, device, RGM_ACTION_END, -1, second, -1, err);
    default: return memory_row(builder, s->last_span, device, RGM_ACTION_PEAK, -1, first, second, err);
    }
}

static void thread_record(rgm_builder_stream *s, const rgm_record *record) {
    s->last_span = RGM_WAITING_NONE;
    if (s->thread == record->site) return;
    s->thread = record->site;
    if (s->lane_of_track) memset(s->lane_of_track, 0, s->tracks * sizeof *s->lane_of_track);
}

rgm_status rgm_builder_records(rgm_builder *builder, uint32_t id, const rgm_record *records, size_t count,
                               rgm_error *err) {
    rgm_builder_stream *s = NULL;
    rgm_spans *spans = &builder->run->spans;
    RGM_TRY(stream_get(builder, id, &s, err));
    if (spans->rows + count > INT32_MAX)
        return rgm_error_set(err, RGM_LIMIT, "more than %d scopes in one run", INT32_MAX);
    if (spans->rows + count > spans->capacity) {
        size_t capacity = spans->capacity + spans->capacity / 2;
        if (capacity < spans->rows + count) capacity = spans->rows + count;
        RGM_TRY(rgm_table_reserve(&rgm_spans_desc, spans, RGM_RECORDED_COLUMNS, capacity, err));
    }
    for (size_t i = 0; i < count; i++) {
        const rgm_record *record = &records[i];
        rgm_record_kind kind = rgm_record_kind_of(record);
        if (RGM_LIKELY(kind == RGM_RECORD_SCOPE))
            RGM_TRY(rgm_builder_scope(builder, s, record, err));
        else if (kind == RGM_RECORD_THREAD)
            thread_record(s, record);
        else if (kind == RGM_RECORD_CALL)
            RGM_TRY(call_record(builder, s, record, err));
        else if (kind == RGM_RECORD_INTERVAL)
            RGM_TRY(interval_record(builder, s, record, err));
        else if (kind == RGM_RECORD_OWN)
            RGM_TRY(own_record(builder, s, record, err));
        else
            RGM_TRY(memory_record(builder, s, record, err));
    }
    return RGM_OK;
}

rgm_status rgm_builder_sample(rgm_builder *builder, const rgm_sample *sample, rgm_error *err) {
    rgm_memory *memory = &builder->run->memory;
    RGM_TRY(memory_row(builder, RGM_WAITING_NONE, (int16_t)sample->device, RGM_ACTION_SAMPLE, sample->bytes,
                       sample->allocated, sample->reserved, err));
    memory->time_ns[memory->rows - 1] = (rgm_i64)sample->ticks;
    saw(builder, sample->ticks);
    return RGM_OK;
}

rgm_status rgm_builder_interval(rgm_builder *builder, const rgm_interval_row *row, rgm_error *err) {
    return rgm_device_rows_interval(&builder->device, row, err);
}

rgm_status rgm_builder_activity(rgm_builder *builder, const rgm_activity_row *row, rgm_error *err) {
    return rgm_device_rows_activity(&builder->device, row, rgm_builder_text(builder, row->name), err);
}

rgm_status rgm_builder_device_memory(rgm_builder *builder, const rgm_device_memory_row *row, rgm_error *err) {
    return rgm_device_rows_memory(&builder->device, row, rgm_builder_text(builder, row->memory), err);
}

rgm_status rgm_builder_queue_time(rgm_builder *builder, const rgm_queue_time_row *row, rgm_error *err) {
    return rgm_device_rows_wait(&builder->device, row, err);
}

rgm_status rgm_builder_collective(rgm_builder *builder, const rgm_collective_row *row, rgm_error *err) {
    rgm_collective_row own = *row;
    own.collective = rgm_builder_text(builder, row->collective);
    own.element_type = rgm_builder_text(builder, row->element_type);
    own.group_name = rgm_builder_text(builder, row->group_name);
    own.group_description = rgm_builder_text(builder, row->group_description);
    own.group_ranks = rgm_builder_text(builder, row->group_ranks);
    return rgm_device_rows_collective(&builder->device, &own, err);
}

rgm_status rgm_builder_counter(rgm_builder *builder, const rgm_counter_row *row, rgm_error *err) {
    rgm_counters *counters = &builder->run->counters;
    size_t at;
    if (!rgm_time_in_range(row->time_ns))
        return rgm_error_set(err, RGM_FORMAT, "a counter's value outside the range of times");
    RGM_TRY(rgm_table_append(&rgm_counters_desc, counters, RGM_ALL_COLUMNS, &at, err));
    counters->time_ns[at] = row->time_ns;
    counters->series[at] = rgm_builder_text(builder, row->series);
    counters->value[at] = row->value;
    counters->device[at] = row->device;
    return RGM_OK;
}

rgm_status rgm_builder_open(rgm_builder *builder, uint32_t id, const rgm_open_scope *open, size_t count,
                            rgm_error *err) {
    rgm_builder_stream *s = NULL;
    RGM_TRY(stream_get(builder, id, &s, err));
    if (!s) return rgm_error_no_memory(err); // cannot be, which the analyser does not see
    rgm_open_scope *copy = NULL;
    if (count) {
        copy = rgm_malloc(count * sizeof *copy);
        if (!copy) return rgm_error_no_memory(err);
        memcpy(copy, open, count * sizeof *copy);
    }
    rgm_free(s->open);
    s->open = copy;
    s->open_count = count;
    return RGM_OK;
}

void rgm_builder_reset(rgm_builder *builder) {
    builder->run->spans.rows = 0;
    builder->run->lanes.rows = 0;
    builder->run->memory.rows = 0;
    builder->run->counters.rows = 0;
    builder->run->pressure.rows = 0;
    builder->witnesses.count = 0;
    builder->stacks.count = 0;
    builder->host_samples.count = 0;
    builder->allocations.count = 0;
    builder->stalls.count = 0;
    rgm_device_rows_clear(&builder->device);
    builder->migrated = 0;
    rgm_timebase_release(&builder->time);
    for (size_t i = 0; i < builder->streams.count; i++) {
        rgm_builder_stream *s = (rgm_builder_stream *)builder->streams.rows + i;
        s->last_span = RGM_WAITING_NONE;
        if (s->lane_of_track) memset(s->lane_of_track, 0, s->tracks * sizeof *s->lane_of_track);
        rgm_waiting_clear(&s->waiting);
    }
}
