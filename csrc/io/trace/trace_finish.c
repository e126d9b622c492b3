// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_finish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "io/trace/trace_rows.h"
#include "model/links.h"

// --- begin and end ----------------------------------------------------------------------------------------

static bool is_async(char phase) { return phase == 'b' || phase == 'e' || phase == 'S' || phase == 'F'; }
static bool begins(char phase) { return phase == 'B' || phase == 'b' || phase == 'S'; }

// Pairs are looked for in one group: a lane for B and E, an id and name for asynchronous ones.
static int by_group_and_time(const void *a, const void *b) {
    const rgm_trace_half *x = a, *y = b;
    if (is_async(x->phase) != is_async(y->phase)) return is_async(x->phase) ? 1 : -1;
    if (is_async(x->phase)) {
        if (x->id != y->id) return x->id < y->id ? -1 : 1;
        if (x->name != y->name) return x->name < y->name ? -1 : 1;
    } else if (x->lane != y->lane) {
        return x->lane < y->lane ? -1 : 1;
    }
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool same_group(const rgm_trace_half *a, const rgm_trace_half *b) {
    if (is_async(a->phase) != is_async(b->phase)) return false;
    return is_async(a->phase) ? a->id == b->id && a->name == b->name : a->lane == b->lane;
}

static void set_duration(rgm_trace_part *part, int32_t span, int64_t end, int64_t offset) {
    rgm_spans *spans = &part->run->spans;
    spans->duration_ns[span] = end - spans->start_ns[span];
    if (spans->duration_ns[span] <= RGM_LONGEST_SPAN_NS) return;
    rgm_trace_part_note(part, RGM_ANOMALY_ABSURD_DURATION, 1, 0, offset);
    spans->duration_ns[span] = 0;
    spans->flags[span] |= RGM_FLAG_REPAIRED;
}

// Arguments of an end go to the span that it closes, behind those of the beginning.
static rgm_status add_metadata(rgm_trace_part *part, int32_t span, rgm_name extra, rgm_error *err) {
    rgm_spans *spans = &part->run->spans;
    if (!extra) return RGM_OK;
    RGM_TRY(rgm_table_ensure(&rgm_spans_desc, spans, RGM_COLUMN_INDEX(spans, metadata), err));
    rgm_string first = rgm_strings_view(&part->run->strings, spans->metadata[span]);
    rgm_string second = rgm_strings_view(&part->run->strings, extra);
    if (first.length == 0) {
        spans->metadata[span] = extra;
        return RGM_OK;
    }
    rgm_bytes_reset(&part->scratch);
    rgm_bytes_append(&part->scratch, first.data, first.length - 1);
    rgm_bytes_text(&part->scratch, ",");
    rgm_bytes_append(&part->scratch, second.data + 1, second.length - 1);
    if (part->scratch.failed) return rgm_error_no_memory(err);
    return rgm_strings_intern(&part->run->strings, (const char *)part->scratch.data, part->scratch.length,
                              &spans->metadata[span], err);
}

// Within a group an end closes the innermost span that is open.
static rgm_status close_halves(rgm_trace_part *part, rgm_error *err) {
    size_t count = part->n_halves, depth = 0;
    if (count == 0) return RGM_OK;
    RGM_FREED int32_t *open = rgm_malloc(count * sizeof *open);
    if (!open) return rgm_error_no_memory(err);
    qsort(part->halves, count, sizeof *part->halves, by_group_and_time);
    rgm_spans *spans = &part->run->spans;
    for (size_t i = 0; i < count; i++) {
        const rgm_trace_half *half = &part->halves[i];
        if (i && !same_group(half, half - 1)) depth = 0;
        if (begins(half->phase)) {
            open[depth++] = half->span;
        } else if (depth == 0) {
            part->kept--;
            rgm_trace_part_note(part, RGM_ANOMALY_UNMATCHED_END, 1, 1, half->offset);
        } else {
            int32_t span = open[--depth];
            set_duration(part, span, half->time_ns, half->offset);
            RGM_TRY(add_metadata(part, span, half->extra, err));
            spans->flags[span] &= ~(rgm_u32)RGM_FLAG_OPEN;
        }
    }
    return RGM_OK;
}

static void bounds(const rgm_run *run, int64_t *first, int64_t *last) {
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t i = 0; i < run->spans.rows; i++) {
        int64_t start = run->spans.start_ns[i], end = start + run->spans.duration_ns[i];
        if (start < *first) *first = start;
        if (end > *last) *last = end;
    }
    if (run->spans.rows == 0) *first = *last = 0;
}

// Spans that never ended last to the end of the trace.
static void close_open(rgm_trace_part *part) {
    int64_t first, last, count = 0;
    if (part->n_halves == 0) return;
    bounds(part->run, &first, &last);
    rgm_spans *spans = &part->run->spans;
    for (size_t i = 0; i < part->n_halves; i++) {
        const rgm_trace_half *half = &part->halves[i];
        if (half->span < 0 || !(spans->flags[half->span] & RGM_FLAG_OPEN)) continue;
        set_duration(part, half->span, last, half->offset);
        count++;
    }
    if (count) rgm_trace_part_note(part, RGM_ANOMALY_UNMATCHED_BEGIN, count, 0, -1);
}

// --- lanes ------------------------------------------------------------------------------------------------

static bool is_text(rgm_string string, const char *text) {
    return string.length == strlen(text) && memcmp(string.data, text, string.length) == 0;
}

// A text of digits, -1 for any other.
static int32_t rank_of(rgm_string text) {
    int32_t rank = 0;
    if (!text.length || text.length > 9) return -1;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return -1;
        rank = rank * 10 + (text.data[i] - '0');
    }
    return rank;
}

static void apply_mark(rgm_trace_part *part, const rgm_trace_mark *mark) {
    rgm_string key = rgm_strings_view(&part->run->strings, mark->key);
    rgm_lanes *lanes = &part->run->lanes;
    for (size_t i = 0; i < lanes->rows; i++) {
        if (!rgm_same_place(part->lanes[i].process, mark->process)) continue;
        if (is_text(key, "process_name") && !mark->process.text)
            lanes->process_name[i] = mark->text;
        else if (is_text(key, "process_labels"))
            lanes->label[i] = mark->text;
        else if (is_text(key, "process_rank"))
            lanes->rank[i] = rank_of(rgm_strings_view(&part->run->strings, mark->text));
        else if (is_text(key, "thread_name") && rgm_same_place(part->lanes[i].thread, mark->thread))
            lanes->name[i] = mark->text;
    }
}

// A process's name begins with its rank where our exporter wrote it, which the lane says already.
static rgm_status strip_rank(rgm_trace_part *part, size_t lane, rgm_error *err) {
    rgm_lanes *lanes = &part->run->lanes;
    rgm_string name = rgm_strings_view(&part->run->strings, lanes->process_name[lane]);
    char prefix[24];
    int length = snprintf(prefix, sizeof prefix, "rank %d ", lanes->rank[lane]);
    if (length < 0 || name.length <= (size_t)length || memcmp(name.data, prefix, (size_t)length) != 0)
        return RGM_OK;
    rgm_bytes_reset(&part->scratch); // the strings may move while one is added
    rgm_bytes_append(&part->scratch, name.data + length, name.length - (size_t)length);
    if (part->scratch.failed) return rgm_error_no_memory(err);
    return rgm_strings_intern(&part->run->strings, (const char *)part->scratch.data, part->scratch.length,
                              &lanes->process_name[lane], err);
}

// Names are few where lanes are many and the other way round; a hostile file with many of both is cut short.
static rgm_status name_lanes(rgm_trace_part *part, const rgm_trace_head *head, rgm_error *err) {
    const size_t limit = 100000000;
    size_t each = part->run->lanes.rows ? part->run->lanes.rows : 1;
    rgm_lanes *lanes = &part->run->lanes;
    uint32_t async;
    for (size_t i = 0; i < lanes->rows; i++) lanes->rank[i] = head->rank;
    for (size_t i = 0; i < part->n_marks && i < limit / each; i++) apply_mark(part, &part->marks[i]);
    RGM_TRY(rgm_strings_intern(&part->run->strings, "async", 5, &async, err));
    for (size_t i = 0; i < lanes->rows; i++) {
        if (lanes->rank[i] >= 0) RGM_TRY(strip_rank(part, i, err));
        if (part->lanes[i].slot == async) lanes->slot[i] = 1;
    }
    return RGM_OK;
}

// --- what calls know of their work ------------------------------------------------------------------------

// The launch configuration that a call carries goes to its kernel, if there is one kernel and it has none; a
// copy without bytes takes those of its call.
static rgm_status complete_work(rgm_run *run, rgm_error *err) {
    const rgm_spans *spans = &run->spans;
    rgm_launches *launches = &run->launches;
    bool calls_know = false;
    for (size_t i = 0; i < spans->rows; i++)
        if (spans->launch[i] >= 0 && spans->bytes[i] < 0 && spans->kind[i] != RGM_KIND_KERNEL)
            spans->bytes[i] = spans->bytes[spans->launch[i]];
    for (size_t i = 0; i < launches->rows && !calls_know; i++)
        calls_know = rgm_kind_is_call(spans->kind[launches->span[i]]);
    if (!calls_know) return RGM_OK;
    int32_t *work = rgm_malloc((spans->rows + 1) * sizeof *work); // of a call: its only work, -2 for several
    uint8_t *has_launch = rgm_calloc(spans->rows + 1, 1);
    if (!work || !has_launch) {
        rgm_free(work);
        rgm_free(has_launch);
        return rgm_error_no_memory(err);
    }
    memset(work, 0xFF, spans->rows * sizeof *work);
    for (size_t i = 0; i < spans->rows; i++) {
        int32_t call = spans->launch[i];
        if (call < 0) continue;
        work[call] = work[call] == -1 ? (int32_t)i : -2;
    }
    for (size_t i = 0; i < launches->rows; i++) has_launch[launches->span[i]] = 1;
    for (size_t i = 0; i < launches->rows; i++) {
        int32_t kernel = rgm_kind_is_call(spans->kind[launches->span[i]]) ? work[launches->span[i]] : -1;
        if (kernel >= 0 && !has_launch[kernel]) launches->span[i] = (uint32_t)kernel;
    }
    rgm_free(work);
    rgm_free(has_launch);
    return RGM_OK;
}

// --- the rest ---------------------------------------------------------------------------------------------

static rgm_status note_found(rgm_trace_part *part, rgm_error *err) {
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) {
        if (part->found[code].count == 0) continue;
        RGM_TRY(rgm_run_note_input(part->run, (rgm_anomaly)code, part->found[code].count,
                                   part->found[code].lost, part->found[code].offset, NULL, err));
    }
    return RGM_OK;
}

// Ends of arrows whose counterpart is missing are common: recording starts and stops in the middle of things.
static rgm_status count_loose_flows(rgm_run *run, rgm_error *err) {
    int64_t loose = 0;
    for (size_t i = 0; i < run->flows.rows; i++) loose += run->flows.span[i] < 0;
    return loose ? rgm_run_note(run, RGM_ANOMALY_UNMATCHED_FLOWS, loose, -1, NULL, err) : RGM_OK;
}

static rgm_status add_file(rgm_trace_part *part, const rgm_trace_head *head, const char *name,
                           rgm_error *err) {
    rgm_run *run = part->run;
    rgm_files *files = &run->files;
    const char *format = head->is_kineto ? "kineto" : "chrome";
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_files_desc, files, RGM_ALL_COLUMNS, &row, err));
    RGM_TRY(rgm_strings_intern(&run->strings, name, strlen(name), &files->file[row], err));
    RGM_TRY(rgm_strings_intern(&run->strings, format, strlen(format), &files->format[row], err));
    files->bytes[row] = head->bytes;
    files->events[row] = part->events;
    files->kept[row] = part->kept;
    files->rank[row] = head->rank;
    files->base_ns[row] = head->base_ns;
    return RGM_OK;
}

// What the document says of machine and process is the run's environment, and that of its file: runs that are
// joined keep the second.
static rgm_status describe(rgm_run *run, const rgm_trace_head *head, rgm_error *err) {
    rgm_bytes text = {0};
    rgm_bytes_text(&text, "{\"trace\":{");
    rgm_bytes_append(&text, head->members.data, head->members.length);
    rgm_bytes_text(&text, "}}");
    rgm_status status = text.failed || head->members.failed
                            ? rgm_error_no_memory(err)
                            : rgm_run_set_text(&run->environment, (const char *)text.data, text.length, err);
    if (status == RGM_OK)
        status = rgm_strings_intern(&run->strings, (const char *)text.data, text.length,
                                    &run->files.environment[run->files.rows - 1], err);
    rgm_bytes_release(&text);
    if (status == RGM_OK) status = rgm_run_set_text(&run->source, "trace", 5, err);
    return status;
}

rgm_status rgm_trace_finish(rgm_trace_part *part, const rgm_trace_head *head, const char *name, int threads,
                            rgm_run **out, rgm_error *err) {
    rgm_run *run = part->run;
    int64_t corrected = rgm_trace_era_apply(&part->era, run, head->base_ns);
    if (corrected) rgm_trace_part_note(part, RGM_ANOMALY_UNPADDED_TIMES, corrected, 0, -1);
    RGM_TRY(close_halves(part, err));
    close_open(part);
    RGM_TRY(name_lanes(part, head, err));
    RGM_TRY(rgm_run_link(run, threads, err));
    if (run->spans.rows) RGM_TRY(complete_work(run, err));
    RGM_TRY(rgm_trace_devices_apply(&head->devices, run, err));
    RGM_TRY(count_loose_flows(run, err));
    RGM_TRY(note_found(part, err));
    RGM_TRY(add_file(part, head, name, err));
    RGM_TRY(describe(run, head, err));
    bounds(run, &run->start_ns, &run->end_ns);
    // Times of the first years are Unix times themselves; later ones count from the base.
    const int64_t year_2000_ns = INT64_C(946684800) * 1000000000;
    int64_t unix_ns = head->base_ns + run->start_ns;
    run->start_unix_ns = unix_ns > year_2000_ns ? unix_ns : -1;
    run->complete = part->found[RGM_ANOMALY_TRUNCATED].count == 0;
    *out = run;
    part->run = NULL;
    return RGM_OK;
}
