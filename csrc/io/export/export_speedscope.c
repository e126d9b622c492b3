// SPDX-License-Identifier: Apache-2.0
// speedscope's own JSON: one profile a track. Times are nanoseconds since the first span, so that they are
// exact in the doubles of its reader.
#include "base/memory.h"
#include "io/export/export.h"
#include "io/export/tracks.h"
#include "io/json/json_write.h"

enum { DEPTH = 512 };

typedef struct {
    int64_t end;
    uint32_t frame;
} level;

typedef struct {
    const rgm_run *run;
    rgm_tracks tracks;
    rgm_json json;
    uint32_t *frame; // [strings] frame + 1 of a name, 0 for one that no span has
    level *levels;
    int64_t first, last;
} speedscope;

// Times may lie further apart than int64 holds.
static uint64_t since(int64_t first, int64_t time) { return (uint64_t)time - (uint64_t)first; }

static void put_frames(speedscope *s) {
    uint32_t count = 0;
    RGM_JSON_KEY(&s->json, "frames");
    rgm_json_open(&s->json, '[');
    for (size_t i = 0; i < s->run->spans.rows; i++) {
        rgm_name name = s->run->spans.name[i];
        if (s->frame[name]) continue;
        s->frame[name] = ++count;
        rgm_json_open(&s->json, '{');
        RGM_JSON_STRING(&s->json, "name", rgm_run_text(s->run, name));
        rgm_json_close(&s->json, '}');
    }
    rgm_json_close(&s->json, ']');
}

// --- evented ----------------------------------------------------------------------------------------------

static void put_event(speedscope *s, const char *type, uint32_t frame, int64_t at) {
    rgm_json_open(&s->json, '{');
    RGM_JSON_KEY(&s->json, "type");
    rgm_json_text(&s->json, type, 1);
    RGM_JSON_I64(&s->json, "frame", frame);
    RGM_JSON_KEY(&s->json, "at");
    rgm_json_u64(&s->json, since(s->first, at));
    rgm_json_close(&s->json, '}');
}

static void put_events(speedscope *s, size_t track) {
    const rgm_tracks *t = &s->tracks;
    size_t depth = 0;
    RGM_JSON_KEY(&s->json, "events");
    rgm_json_open(&s->json, '[');
    for (uint32_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
        uint32_t row = t->spans[i], frame = s->frame[s->run->spans.name[row]] - 1;
        int64_t start = s->run->spans.start_ns[row];
        for (; depth && s->levels[depth - 1].end <= start; depth--)
            put_event(s, "C", s->levels[depth - 1].frame, s->levels[depth - 1].end);
        put_event(s, "O", frame, start);
        s->levels[depth++] = (level){rgm_span_end(s->run, row), frame};
    }
    for (; depth; depth--) put_event(s, "C", s->levels[depth - 1].frame, s->levels[depth - 1].end);
    rgm_json_close(&s->json, ']');
}

// --- sampled ----------------------------------------------------------------------------------------------

// One stretch of time during which the stack stays the same: its stack, or its weight in the second round.
static void put_stretch(speedscope *s, size_t depth, int64_t from, int64_t to, bool weights) {
    if (from == to) return;
    if (weights) {
        rgm_json_u64(&s->json, since(from, to));
        return;
    }
    rgm_json_open(&s->json, '[');
    for (size_t i = 0; i < depth && i < DEPTH; i++) rgm_json_i64(&s->json, s->levels[i].frame);
    rgm_json_close(&s->json, ']');
}

static void put_stretches(speedscope *s, size_t track, bool weights) {
    const rgm_tracks *t = &s->tracks;
    size_t depth = 0;
    int64_t at = s->first;
    rgm_json_open(&s->json, '[');
    for (uint32_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
        uint32_t row = t->spans[i];
        int64_t start = s->run->spans.start_ns[row];
        for (; depth && s->levels[depth - 1].end <= start; at = s->levels[--depth].end)
            put_stretch(s, depth, at, s->levels[depth - 1].end, weights);
        put_stretch(s, depth, at, start, weights);
        at = start;
        s->levels[depth++] = (level){rgm_span_end(s->run, row), s->frame[s->run->spans.name[row]] - 1};
    }
    for (; depth; at = s->levels[--depth].end) put_stretch(s, depth, at, s->levels[depth - 1].end, weights);
    put_stretch(s, 0, at, s->last, weights);
    rgm_json_close(&s->json, ']');
}

// --- the whole --------------------------------------------------------------------------------------------

static void put_profile(speedscope *s, size_t track, bool sampled) {
    char name[2 * RGM_TRACK_NAME_ROOM];
    rgm_json_open(&s->json, '{');
    if (sampled)
        RGM_JSON_LITERAL(&s->json, "type", "sampled");
    else
        RGM_JSON_LITERAL(&s->json, "type", "evented");
    size_t used = rgm_process_name(&s->tracks, s->tracks.tracks[track].process, name, RGM_TRACK_NAME_ROOM);
    name[used++] = ' ';
    used += rgm_track_name(&s->tracks, track, name + used, sizeof name - used);
    RGM_JSON_KEY(&s->json, "name");
    rgm_json_text(&s->json, name, used);
    RGM_JSON_LITERAL(&s->json, "unit", "nanoseconds");
    RGM_JSON_I64(&s->json, "startValue", 0);
    RGM_JSON_KEY(&s->json, "endValue");
    rgm_json_u64(&s->json, since(s->first, s->last));
    if (sampled) {
        RGM_JSON_KEY(&s->json, "samples");
        put_stretches(s, track, false);
        RGM_JSON_KEY(&s->json, "weights");
        put_stretches(s, track, true);
    } else {
        put_events(s, track);
    }
    rgm_json_close(&s->json, '}');
    rgm_output_byte(s->json.out, '\n');
}

static void put_document(speedscope *s, bool sampled) {
    rgm_json_open(&s->json, '{');
    RGM_JSON_LITERAL(&s->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    RGM_JSON_LITERAL(&s->json, "exporter", "regimeter " RGM_VERSION_STRING);
    RGM_JSON_KEY(&s->json, "shared");
    rgm_json_open(&s->json, '{');
    put_frames(s);
    rgm_json_close(&s->json, '}');
    RGM_JSON_KEY(&s->json, "profiles");
    rgm_json_open(&s->json, '[');
    for (size_t t = 0; t < s->tracks.n_tracks; t++)
        if (s->tracks.track_first[t] < s->tracks.track_first[t + 1]) put_profile(s, t, sampled);
    rgm_json_close(&s->json, ']');
    rgm_json_close(&s->json, '}');
    rgm_output_byte(s->json.out, '\n');
}

static rgm_status write_speedscope(const rgm_run *run, bool sampled, rgm_output *out, rgm_error *err) {
    speedscope s = {.run = run, .json = {.out = out}, .first = INT64_MAX, .last = INT64_MIN};
    rgm_status status = RGM_OK;
    RGM_GOTO(rgm_tracks_init(&s.tracks, run, err));
    s.frame = rgm_calloc(rgm_strings_count(&run->strings) + (size_t)1, sizeof *s.frame);
    s.levels = rgm_malloc((run->spans.rows + 1) * sizeof *s.levels);
    if (!s.frame || !s.levels) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (run->spans.start_ns[i] < s.first) s.first = run->spans.start_ns[i];
        if (rgm_span_end(run, i) > s.last) s.last = rgm_span_end(run, i);
    }
    put_document(&s, sampled);
done:
    rgm_free(s.frame);
    rgm_free(s.levels);
    rgm_tracks_release(&s.tracks);
    return status;
}

rgm_status rgm_export_speedscope(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err) {
    (void)option;
    return write_speedscope(run, false, out, err);
}

rgm_status rgm_export_speedscope_sampled(const rgm_run *run, const char *option, rgm_output *out,
                                         rgm_error *err) {
    (void)option;
    return write_speedscope(run, true, out, err);
}
