// SPDX-License-Identifier: Apache-2.0
// Chrome's JSON in the dialect of torch.profiler: what that writes and readers of its traces look for is
// written under its names. Slices of each track are written in order, so that a reader which sorts by time
// alone keeps parents before children.
#include <string.h>

#include "base/memory.h"
#include "io/export/chrome.h"
#include "io/export/export.h"

// Readers that hold microseconds in a double lose nanoseconds beyond 2^53 / 4 of them; then times are written
// relative to a base, as torch.profiler does.
static const int64_t exact_ns = INT64_C(1) << 51;

static const char *const categories[RGM_KIND_COUNT] = {
    [RGM_KIND_SCOPE] = "scope",
    [RGM_KIND_CPU_OP] = "cpu_op",
    [RGM_KIND_RUNTIME] = "cuda_runtime",
    [RGM_KIND_DRIVER] = "cuda_driver",
    [RGM_KIND_KERNEL] = "kernel",
    [RGM_KIND_MEMCPY] = "gpu_memcpy",
    [RGM_KIND_MEMSET] = "gpu_memset",
    [RGM_KIND_SYNC] = "cuda_sync",
    [RGM_KIND_PYTHON] = "python_function",
    [RGM_KIND_ANNOTATION] = "user_annotation",
    [RGM_KIND_DEVICE_ANNOTATION] = "gpu_user_annotation",
    [RGM_KIND_ACCELERATOR] = "mtia_ccp_events",
    [RGM_KIND_OVERHEAD] = "overhead",
    [RGM_KIND_COUNTER_RANGE] = "cuda_profiler_range",
    [RGM_KIND_EVENT] = "cuda_event",
    [RGM_KIND_INSTANT] = "instant",
    [RGM_KIND_WINDOW] = "Trace",
    [RGM_KIND_OTHER] = "other",
};

// --- slices -----------------------------------------------------------------------------------------------

static void put_category(rgm_chrome *c, size_t row, rgm_kind kind) {
    rgm_name category = RGM_CELL(&c->run->spans, category, row, 0);
    RGM_JSON_KEY(&c->json, "cat");
    if (category)
        rgm_json_string(&c->json, rgm_chrome_text(c, category));
    else
        rgm_json_text(&c->json, categories[kind], strlen(categories[kind]));
}

static void put_span(rgm_chrome *c, size_t track, size_t row) {
    rgm_kind kind = rgm_span_kind(c->run, row);
    int64_t duration = c->run->spans.duration_ns[row];
    bool instant = kind == RGM_KIND_INSTANT && !duration;
    rgm_chrome_begin(c, instant ? "i" : "X", track);
    put_category(c, row, kind < RGM_KIND_COUNT ? kind : RGM_KIND_OTHER);
    RGM_JSON_STRING(&c->json, "name", rgm_chrome_text(c, c->run->spans.name[row]));
    rgm_chrome_time(c, c->run->spans.start_ns[row]);
    if (instant) {
        RGM_JSON_LITERAL(&c->json, "s", "t");
    } else {
        RGM_JSON_KEY(&c->json, "dur");
        rgm_json_us(&c->json, duration);
    }
    rgm_chrome_begin_args(c);
    rgm_chrome_args(c, row);
    rgm_chrome_lane(c, track);
    rgm_chrome_end_args(c);
}

static bool is_left_out(const rgm_chrome *c, size_t row) {
    return c->left_out >> rgm_span_kind(c->run, row) & 1;
}

static void put_spans(rgm_chrome *c) {
    for (size_t t = 0; t < c->tracks.n_tracks && c->json.out->status == RGM_OK; t++)
        for (uint32_t i = c->tracks.track_first[t]; i < c->tracks.track_first[t + 1]; i++)
            if (!is_left_out(c, c->tracks.spans[i])) put_span(c, t, c->tracks.spans[i]);
}

// --- arrows -----------------------------------------------------------------------------------------------

static void put_flow_end(rgm_chrome *c, size_t track, const char *phase, int64_t time, int64_t id,
                         rgm_string kind) {
    rgm_chrome_begin(c, phase, track);
    RGM_JSON_I64(&c->json, "id", id);
    RGM_JSON_STRING(&c->json, "cat", kind);
    RGM_JSON_STRING(&c->json, "name", kind);
    rgm_chrome_time(c, time);
    if (*phase == 'f') RGM_JSON_LITERAL(&c->json, "bp", "e");
    if (c->tracks.tracks[track].number) {
        rgm_chrome_begin_args(c);
        rgm_chrome_lane(c, track);
        rgm_json_close(&c->json, '}');
    }
    rgm_json_close(&c->json, '}');
}

static const rgm_string ac2g = {.data = "ac2g", .length = 4}, fwdbwd = {.data = "fwdbwd", .length = 6},
                        other_flow = {.data = "flow", .length = 4};

static void put_flows(rgm_chrome *c) {
    static const char *const phases[RGM_FLOW_PHASE_COUNT] = {"s", "t", "f"};
    const rgm_flows *f = &c->run->flows;
    for (size_t i = 0; i < f->rows; i++) {
        size_t lane = f->lane[i] < c->tracks.n_lanes ? f->lane[i] : 0, track = c->tracks.lane_track[lane];
        if (f->span[i] >= 0 && (size_t)f->span[i] < c->tracks.n_spans) {
            if (is_left_out(c, (size_t)f->span[i])) continue;
            track = c->tracks.track_of[f->span[i]];
        }
        rgm_string kind = f->kind[i] == RGM_FLOW_KIND_LAUNCH     ? ac2g
                          : f->kind[i] == RGM_FLOW_KIND_BACKWARD ? fwdbwd
                          : f->category[i]                       ? rgm_chrome_text(c, f->category[i])
                                                                 : other_flow;
        put_flow_end(c, track, phases[f->phase[i] < RGM_FLOW_PHASE_COUNT ? f->phase[i] : 0], f->time_ns[i],
                     f->id[i], kind);
    }
}

// A run that stores no arrows (another profiler's, a live one) still knows what launched what.
static rgm_status put_launch_flows(rgm_chrome *c, rgm_error *err) {
    int32_t *launch = NULL;
    RGM_TRY(rgm_span_launches(c->run, &launch, err));
    const rgm_spans *s = &c->run->spans;
    for (size_t i = 0; i < s->rows; i++) {
        if (launch[i] < 0 || is_left_out(c, i) || is_left_out(c, (size_t)launch[i])) continue;
        put_flow_end(c, c->tracks.track_of[launch[i]], "s", s->start_ns[launch[i]], (int64_t)i, ac2g);
        put_flow_end(c, c->tracks.track_of[i], "f", s->start_ns[i], (int64_t)i, ac2g);
    }
    rgm_free(launch);
    return RGM_OK;
}

// --- memory and counters ----------------------------------------------------------------------------------

static size_t track_of_device(const rgm_chrome *c, int16_t device) {
    for (size_t p = 0; p < c->tracks.n_processes; p++)
        if (c->tracks.processes[p].device == device) return c->tracks.lane_track[c->tracks.processes[p].lane];
    return 0;
}

static void put_memory_event(rgm_chrome *c, size_t i) {
    const rgm_memory *m = &c->run->memory;
    rgm_json *j = &c->json;
    size_t track =
        m->lane[i] >= 0 && (size_t)m->lane[i] < c->tracks.n_lanes ? c->tracks.lane_track[m->lane[i]] : 0;
    rgm_chrome_begin(c, "i", track);
    RGM_JSON_LITERAL(j, "cat", "cpu_instant_event");
    RGM_JSON_LITERAL(j, "s", "t");
    RGM_JSON_LITERAL(j, "name", "[memory]");
    rgm_chrome_time(c, m->time_ns[i]);
    rgm_chrome_begin_args(c);
    RGM_JSON_I64(j, "Bytes",
                 m->action[i] == RGM_ACTION_FREE ? rgm_chrome_earlier(0, m->bytes[i]) : m->bytes[i]);
    RGM_JSON_I64(j, "Device Type", m->device[i] >= 0);
    RGM_JSON_I64(j, "Device Id", m->device[i]);
    RGM_JSON_I64(j, "Addr", m->address[i]);
    RGM_CHROME_I64(c, "Total Allocated", m->allocated[i]);
    RGM_CHROME_I64(c, "Total Reserved", m->reserved[i]);
    rgm_chrome_end_args(c);
}

static void put_memory_sample(rgm_chrome *c, size_t i) {
    const rgm_memory *m = &c->run->memory;
    rgm_chrome_begin(c, "C", track_of_device(c, m->device[i]));
    RGM_JSON_LITERAL(&c->json, "name", "memory");
    rgm_chrome_time(c, m->time_ns[i]);
    rgm_chrome_begin_args(c);
    RGM_CHROME_I64(c, "bytes", m->bytes[i]);
    RGM_CHROME_I64(c, "allocated", m->allocated[i]);
    RGM_CHROME_I64(c, "reserved", m->reserved[i]);
    rgm_chrome_end_args(c);
}

static void put_memory(rgm_chrome *c) {
    for (size_t i = 0; i < c->run->memory.rows; i++) {
        uint8_t action = c->run->memory.action[i];
        if (action == RGM_ACTION_ALLOC || action == RGM_ACTION_FREE)
            put_memory_event(c, i);
        else
            put_memory_sample(c, i);
    }
}

static void put_counters(rgm_chrome *c) {
    const rgm_counters *t = &c->run->counters;
    for (size_t i = 0; i < t->rows; i++) {
        rgm_chrome_begin(c, "C", track_of_device(c, t->device[i]));
        RGM_JSON_STRING(&c->json, "name", rgm_chrome_text(c, t->series[i]));
        rgm_chrome_time(c, t->time_ns[i]);
        rgm_chrome_begin_args(c);
        RGM_JSON_F64(&c->json, "value", t->value[i]);
        rgm_chrome_end_args(c);
    }
}

// --- the whole --------------------------------------------------------------------------------------------

static int64_t shift_of(const rgm_run *run) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < run->spans.rows; i++) {
        int64_t start = run->spans.start_ns[i], end = rgm_span_end(run, i);
        if (start < first) first = start;
        if (end > last) last = end;
    }
    if (!run->spans.rows || (first > -exact_ns && last < exact_ns)) return 0;
    return first - first % INT64_C(1000000000);
}

static rgm_status prepare(rgm_chrome *c, rgm_error *err) {
    const rgm_run *run = c->run;
    size_t n = run->spans.rows;
    c->shift_ns = shift_of(run);
    RGM_TRY(rgm_tracks_init(&c->tracks, run, err));
    RGM_TRY(rgm_span_rows_init(&c->launches, n, run->launches.span, run->launches.rows, err));
    RGM_TRY(rgm_span_rows_init(&c->operators, n, run->operators.span, run->operators.rows, err));
    RGM_TRY(rgm_span_rows_init(&c->frames, n, run->frames.span, run->frames.rows, err));
    RGM_TRY(rgm_span_rows_init(&c->collectives, n, run->collectives.span, run->collectives.rows, err));
    return rgm_span_rows_init(&c->syncs, n, run->syncs.span, run->syncs.rows, err);
}

static rgm_status take_option(rgm_chrome *c, const char *option, rgm_error *err) {
#define TOKEN(name, token, ...) token,
    static const char *const kinds[] = {RGM_SPAN_KINDS(TOKEN)};
#undef TOKEN
    for (const char *at = option; at && *at;) {
        size_t length = strcspn(at, ","), kind = 0;
        while (kind < RGM_KIND_COUNT &&
               (strlen(kinds[kind]) != length || memcmp(kinds[kind], at, length) != 0))
            kind++;
        if (kind == RGM_KIND_COUNT)
            return rgm_error_set(err, RGM_INVALID, "no kind of span is called %s", at);
        c->left_out |= UINT64_C(1) << kind;
        at += length + (at[length] == ',');
    }
    return RGM_OK;
}

rgm_status rgm_export_chrome(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err) {
    rgm_chrome c = {.run = run, .json = {.out = out}};
    RGM_TRY(take_option(&c, option, err));
    rgm_status status = prepare(&c, err);
    if (status != RGM_OK) goto done;
    rgm_chrome_head(&c);
    rgm_chrome_names(&c);
    put_spans(&c);
    put_flows(&c);
    if (!run->flows.rows) RGM_GOTO(put_launch_flows(&c, err));
    put_memory(&c);
    put_counters(&c);
    rgm_json_close(&c.json, ']');
    rgm_json_close(&c.json, '}');
    rgm_output_byte(out, '\n');
done:
    rgm_tracks_release(&c.tracks);
    rgm_span_rows_release(&c.launches);
    rgm_span_rows_release(&c.operators);
    rgm_span_rows_release(&c.frames);
    rgm_span_rows_release(&c.collectives);
    rgm_span_rows_release(&c.syncs);
    return status;
}
