// SPDX-License-Identifier: Apache-2.0
// From rows as they were recorded to a Run: what is still open, names, times, order, device work.
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "model/builder_state.h"
#include "model/links.h"

static bool was_sampled(const rgm_builder *builder, int64_t thread) {
    const rgm_host_sample_row *rows = builder->host_samples.rows;
    for (size_t i = 0; i < builder->host_samples.count; i++)
        if (rows[i].thread == thread) return true;
    return false;
}

// The thread that a program begins with may have waited for those with scopes: it has a lane where it was
// sampled. Until lanes are named, their threads are rows of the builder's.
static rgm_status add_main_lane(rgm_builder *builder, rgm_error *err) {
    rgm_lanes *lanes = &builder->run->lanes;
    const rgm_thread_row *threads = builder->threads.rows;
    size_t main = 0, at;
    while (main < builder->threads.count && threads[main].thread != threads[main].process) main++;
    if (!lanes->rows || main == builder->threads.count) return RGM_OK;
    for (size_t i = 0; i < lanes->rows; i++)
        if (lanes->thread[i] == (int64_t)main) return RGM_OK;
    if (!was_sampled(builder, threads[main].thread)) return RGM_OK;
    RGM_TRY(rgm_table_append(&rgm_lanes_desc, lanes, RGM_ALL_COLUMNS, &at, err));
    lanes->thread[at] = (rgm_i64)main;
    return RGM_OK;
}

static rgm_status name_lanes(rgm_builder *builder, rgm_error *err) {
    rgm_lanes *lanes = &builder->run->lanes;
    for (size_t i = 0; i < lanes->rows; i++) {
        rgm_thread_row row = {0, 0, -1};
        if (lanes->thread[i] < (int64_t)builder->threads.count)
            row = ((rgm_thread_row *)builder->threads.rows)[lanes->thread[i]];
        lanes->process[i] = row.process;
        lanes->thread[i] = row.thread;
        lanes->name[i] = rgm_builder_text(builder, row.name);
        if (!lanes->slot[i]) continue;
        char text[320];
        int length = snprintf(text, sizeof text, "%.250s task slot %d",
                              rgm_strings_view(&builder->run->strings, lanes->name[i]).data, lanes->slot[i]);
        RGM_TRY(rgm_strings_intern(&builder->run->strings, text, (size_t)length, &lanes->name[i], err));
    }
    return RGM_OK;
}

static rgm_status open_span(rgm_builder *builder, rgm_builder_stream *s, const rgm_open_scope *open,
                            rgm_error *err) {
    uint64_t now = builder->last_tick;
    uint64_t ticks = now > open->start ? now - open->start : 0;
    bool is_long = ticks > RGM_RECORD_VALUE_MAX;
    rgm_record record = {
        .start = open->start,
        .value_track = rgm_record_pack(is_long ? ticks >> RGM_RECORD_LONG_SHIFT : ticks, open->track),
        .seq = open->seq,
        .parent = open->parent,
        .site = open->site,
        .info = RGM_RECORD_OPEN | (is_long ? RGM_RECORD_LONG : 0u) | (open->meta << RGM_RECORD_META_SHIFT),
    };
    rgm_spans *spans = &builder->run->spans;
    if (spans->rows == spans->capacity)
        RGM_TRY(rgm_table_reserve(&rgm_spans_desc, spans, RGM_RECORDED_COLUMNS, spans->rows * 2 + 16, err));
    return rgm_builder_scope(builder, s, &record, err);
}

// Each stack is listed from its innermost scope outward, so children are written before their parents.
static rgm_status close_open(rgm_builder *builder, rgm_error *err) {
    int64_t count = 0;
    for (size_t i = 0; i < builder->streams.count; i++) {
        rgm_builder_stream *s = (rgm_builder_stream *)builder->streams.rows + i;
        size_t open_count = s->open_count;
        s->open_count = 0;
        for (size_t k = 0; k < open_count; k++) {
            // A scope that began after the dictionaries were read has a call site that is not in them yet.
            if (s->open[k].site >= builder->sites.count) continue;
            RGM_TRY(open_span(builder, s, &s->open[k], err));
            count++;
        }
    }
    return rgm_builder_note(builder, RGM_ANOMALY_OPEN_SCOPES, count, err);
}

static bool is_open(const rgm_builder_stream *s, uint32_t seq) {
    for (size_t i = 0; i < s->open_count; i++)
        if (s->open[i].seq == seq) return true;
    return false;
}

// Children whose parent never came: of a scope that is still open (no fault), or one that was lost. While
// recording goes on the parent may have ended after the last look, so it is not called lost.
static void orphan(rgm_builder *builder, bool ended) {
    rgm_spans *spans = &builder->run->spans;
    for (size_t i = 0; i < builder->streams.count; i++) {
        rgm_builder_stream *s = (rgm_builder_stream *)builder->streams.rows + i;
        for (uint32_t k = 0; s->waiting.keys && k <= s->waiting.mask; k++) {
            bool excused =
                !ended || (s->waiting.heads[k] != RGM_WAITING_NONE && is_open(s, s->waiting.keys[k]));
            for (int32_t child = s->waiting.heads[k]; child != RGM_WAITING_NONE;) {
                int32_t next = -2 - spans->parent[child];
                spans->parent[child] = -1;
                if (!excused) builder->orphans++;
                child = next;
            }
        }
    }
}

// The texts of the roles, and the column for them where any site has one.
static rgm_status find_roles(rgm_builder *builder, rgm_name role_names[RGM_ROLE_COUNT], rgm_error *err) {
    const rgm_site_row *sites = builder->sites.rows;
    bool any = false;
    for (size_t i = 0; i < builder->sites.count; i++) any = any || sites[i].role;
    if (!any) return RGM_OK;
    RGM_TRY(rgm_links_role_names(builder->run, role_names, err));
    return rgm_table_ensure(&rgm_spans_desc, &builder->run->spans, RGM_COLUMN_INDEX(spans, category), err);
}

static rgm_status name_spans(rgm_builder *builder, rgm_error *err) {
    rgm_spans *spans = &builder->run->spans;
    const rgm_site_row *sites = builder->sites.rows;
    rgm_name role_names[RGM_ROLE_COUNT] = {0};
    RGM_TRY(find_roles(builder, role_names, err));
    for (size_t i = 0; i < spans->rows; i++) {
        if (RGM_CELL(spans, kind, i, RGM_KIND_SCOPE) != RGM_KIND_SCOPE) continue; // has its name already
        const rgm_site_row *site = &sites[spans->name[i]];
        spans->name[i] = rgm_builder_text(builder, site->name);
        spans->flags[i] =
            rgm_flags_pack(spans->flags[i], (rgm_device)site->device, (rgm_backend)site->backend);
        if (site->role) spans->category[i] = role_names[site->role];
    }
    return RGM_OK;
}

// Ticks of the recorder inside a scope as nanoseconds, at most the scope's.
static int64_t own_ns(const rgm_timebase *time, uint64_t start, const rgm_spans *spans, size_t i) {
    int64_t own = rgm_timebase_ns(time, start + (uint64_t)spans->own_ns[i]) - spans->start_ns[i];
    return own < 0 ? 0 : own > spans->duration_ns[i] ? spans->duration_ns[i] : own;
}

static void convert_times(rgm_builder *builder) {
    rgm_run *run = builder->run;
    for (size_t i = 0; i < run->spans.rows; i++) {
        uint64_t start = (uint64_t)run->spans.start_ns[i];
        uint64_t end = start + (uint64_t)run->spans.duration_ns[i];
        int64_t from = rgm_timebase_ns(&builder->time, start);
        run->spans.duration_ns[i] = rgm_timebase_ns(&builder->time, end < start ? UINT64_MAX : end) - from;
        run->spans.start_ns[i] = from;
        if (RGM_CELL(&run->spans, own_ns, i, 0))
            run->spans.own_ns[i] = own_ns(&builder->time, start, &run->spans, i);
    }
    for (size_t i = 0; i < run->memory.rows; i++) {
        int64_t span = run->memory.span[i];
        if (span < 0)
            run->memory.time_ns[i] = rgm_timebase_ns(&builder->time, (uint64_t)run->memory.time_ns[i]);
        else
            run->memory.time_ns[i] =
                run->spans.start_ns[span] +
                (run->memory.action[i] == RGM_ACTION_BEGIN ? 0 : run->spans.duration_ns[span]);
    }
    for (size_t i = 0; i < run->counters.rows; i++) {
        int64_t span = run->counters.span[i]; // of a count; values of a device are joined with spans later
        if (span >= 0) run->counters.time_ns[i] = run->spans.start_ns[span] + run->spans.duration_ns[span];
    }
}

static void permute(void *cells, size_t width, const uint32_t *order, size_t rows, void *scratch) {
#define PERMUTE(bits)                                                                                        \
    for (size_t i = 0; i < rows; i++) ((uint##bits##_t *)scratch)[i] = ((uint##bits##_t *)cells)[order[i]];
    switch (width) {
    case 1: PERMUTE(8) break;
    case 2: PERMUTE(16) break;
    case 4: PERMUTE(32) break;
    default: PERMUTE(64) break;
    }
#undef PERMUTE
    memcpy(cells, scratch, rows * width);
}

// Puts what names spans by their row right: place[old row] = new row.
static void follow(rgm_run *run, const uint32_t *place) {
    rgm_spans *spans = &run->spans;
    for (size_t i = 0; i < spans->rows; i++)
        if (spans->parent[i] >= 0) spans->parent[i] = (rgm_i32)place[spans->parent[i]];
    for (size_t i = 0; i < run->memory.rows; i++)
        if (run->memory.span[i] >= 0) run->memory.span[i] = place[run->memory.span[i]];
    for (size_t i = 0; i < run->counters.rows; i++)
        if (run->counters.span[i] >= 0) run->counters.span[i] = place[run->counters.span[i]];
    for (size_t i = 0; i < run->launches.rows; i++) run->launches.span[i] = place[run->launches.span[i]];
    for (size_t i = 0; i < run->syncs.rows; i++) run->syncs.span[i] = place[run->syncs.span[i]];
}

// Puts the row order[i] at i, and right what names it; place[order[i]] becomes i.
static void reorder(rgm_run *run, const uint32_t *order, uint32_t *place, uint64_t *scratch) {
    rgm_spans *spans = &run->spans;
    size_t rows = spans->rows;
    for (size_t c = 0; c < rgm_spans_desc.n_columns; c++) {
        void *cells = rgm_table_column(&rgm_spans_desc, spans, c);
        if (cells) permute(cells, rgm_types[rgm_spans_desc.columns[c].type].size, order, rows, scratch);
    }
    for (size_t i = 0; i < rows; i++) place[order[i]] = (uint32_t)i;
    follow(run, place);
}

// Sorts by start; of spans that start together the parent was written later, so ties go by row descending.
// *place becomes the caller's.
static rgm_status sort_spans(rgm_builder *builder, uint32_t **place, rgm_error *err) {
    rgm_spans *spans = &builder->run->spans;
    size_t rows = spans->rows;
    RGM_FREED uint32_t *order = rgm_malloc((rows + 1) * sizeof *order);
    RGM_FREED uint64_t *scratch = rgm_malloc((rows + 1) * sizeof *scratch);
    *place = rgm_malloc((rows + 1) * sizeof **place);
    if (!order || !scratch || !*place) return rgm_error_no_memory(err);
    for (size_t i = 0; i < rows; i++) scratch[i] = rgm_sort_key_i64(spans->start_ns[rows - 1 - i]);
    RGM_TRY(rgm_sort_order(scratch, rows, order, err));
    for (size_t i = 0; i < rows; i++) order[i] = (uint32_t)(rows - 1) - order[i];
    reorder(builder->run, order, *place, scratch);
    return RGM_OK;
}

// Puts the steps that were found, the last `steps` rows, before the spans that begin with them. *place says
// where each of the rows before them has gone.
static rgm_status place_steps(rgm_run *run, size_t steps, uint32_t *place, rgm_error *err) {
    const rgm_spans *spans = &run->spans;
    size_t rows = spans->rows, others = rows - steps, step = others, other = 0;
    RGM_FREED uint32_t *order = rgm_malloc((rows + 1) * sizeof *order);
    RGM_FREED uint32_t *moved = rgm_malloc((rows + 1) * sizeof *moved);
    RGM_FREED uint64_t *scratch = rgm_malloc((rows + 1) * sizeof *scratch);
    if (!order || !moved || !scratch) return rgm_error_no_memory(err);
    for (size_t i = 0; i < rows; i++) {
        bool next = step < rows && (other == others || spans->start_ns[step] <= spans->start_ns[other]);
        order[i] = (uint32_t)(next ? step++ : other++);
    }
    reorder(run, order, moved, scratch);
    for (size_t i = 0; i < others; i++) place[i] = moved[place[i]];
    return RGM_OK;
}

static rgm_status find_steps(rgm_builder *builder, uint32_t *place, size_t *steps, rgm_error *err) {
    *steps = 0;
    if (!builder->run->spans.category) return RGM_OK;
    RGM_TRY(rgm_links_roles(builder->run, steps, err));
    return *steps ? place_steps(builder->run, *steps, place, err) : RGM_OK;
}

// A run without any metadata does not keep a column of empty strings.
static void drop_empty_metadata(rgm_spans *spans) {
    for (size_t i = 0; i < spans->rows; i++)
        if (spans->metadata[i]) return;
    rgm_table_drop(&rgm_spans_desc, spans, RGM_COLUMN_INDEX(spans, metadata));
}

rgm_status rgm_builder_finish(rgm_builder *builder, bool keep_open, rgm_run **run, rgm_error *err) {
    if (keep_open) RGM_TRY(close_open(builder, err));
    orphan(builder, keep_open);
    RGM_TRY(rgm_builder_note(builder, RGM_ANOMALY_ORPHAN_PARENTS, builder->orphans, err));
    RGM_TRY(rgm_builder_note(builder, RGM_ANOMALY_MIGRATED_SCOPES, builder->migrated, err));
    RGM_TRY(name_spans(builder, err));
    RGM_TRY(rgm_builder_witnesses(builder, err));
    RGM_TRY(rgm_builder_host_samples(builder, err));
    RGM_TRY(rgm_builder_stalls(builder, err));
    RGM_TRY(add_main_lane(builder, err));
    RGM_TRY(name_lanes(builder, err));
    convert_times(builder);
    RGM_TRY(rgm_device_rows_to_spans(&builder->device, builder->run, err));
    uint32_t *place = NULL;
    size_t steps = 0;
    rgm_status status = sort_spans(builder, &place, err);
    if (status == RGM_OK) status = find_steps(builder, place, &steps, err);
    if (status == RGM_OK)
        status = rgm_device_rows_to_intervals(&builder->device, place, &builder->time, builder->run, err);
    rgm_free(place);
    RGM_TRY(status);
    RGM_TRY(rgm_links_threads(builder->run, err));
    RGM_TRY(rgm_device_rows_to_memory(&builder->device, builder->run, err));
    RGM_TRY(rgm_links_samples(builder->run, err));
    if (builder->device.activity_count) RGM_TRY(rgm_run_link_work(builder->run, err));
    if (builder->device.activity_count) RGM_TRY(rgm_links_captures(builder->run, err));
    RGM_TRY(rgm_device_rows_to_collectives(&builder->device, builder->run, err));
    if (builder->device.activity_count) RGM_TRY(rgm_links_ranges(builder->run, err));
    if (steps) RGM_TRY(rgm_links_steps(builder->run, err));
    if (builder->run->spans.metadata) drop_empty_metadata(&builder->run->spans);
    if (builder->time.count) {
        const rgm_anchor *first = builder->time.anchors, *last = first + builder->time.count - 1;
        // Anchors of a damaged file may say anything.
        builder->run->start_ns = rgm_timebase_ns(&builder->time, first->ticks);
        builder->run->end_ns = rgm_timebase_ns(&builder->time, builder->last_tick);
        int64_t told_ns = rgm_timebase_ns(&builder->time, last->ticks);
        if (builder->run->end_ns < told_ns) builder->run->end_ns = told_ns;
        bool is_date = first->unix_ns > INT64_MIN / 2 && first->unix_ns < INT64_MAX / 2;
        builder->run->start_unix_ns = is_date ? first->unix_ns : -1;
    }
    *run = builder->run;
    builder->run = NULL;
    return RGM_OK;
}
