// SPDX-License-Identifier: Apache-2.0
// Head of the document, and the metadata events that name processes and threads.
#include <stdio.h>
#include <stdlib.h>

#include "io/export/chrome.h"

static void put_label(rgm_chrome *c, size_t track, const char *name, const char *key, const char *text,
                      size_t length) {
    rgm_chrome_begin(c, "M", track);
    RGM_JSON_KEY(&c->json, "name");
    rgm_json_text(&c->json, name, strlen(name));
    rgm_chrome_begin_args(c);
    rgm_json_text(&c->json, key, strlen(key));
    rgm_output_byte(c->json.out, ':');
    c->json.comma = false;
    rgm_json_text(&c->json, text, length);
    rgm_chrome_end_args(c);
}

static void put_sort_index(rgm_chrome *c, size_t track, const char *name, int64_t index) {
    rgm_chrome_begin(c, "M", track);
    RGM_JSON_KEY(&c->json, "name");
    rgm_json_text(&c->json, name, strlen(name));
    rgm_chrome_begin_args(c);
    RGM_JSON_I64(&c->json, "sort_index", index);
    rgm_chrome_end_args(c);
}

void rgm_chrome_names(rgm_chrome *c) {
    char text[RGM_TRACK_NAME_ROOM];
    for (size_t p = 0; p < c->tracks.n_processes; p++) {
        const rgm_track_process *process = &c->tracks.processes[p];
        size_t track = c->tracks.lane_track[process->lane];
        put_label(c, track, "process_name", "name", text, rgm_process_name(&c->tracks, p, text, sizeof text));
        if (process->rank >= 0) {
            int length = snprintf(text, sizeof text, "%d", process->rank);
            put_label(c, track, "process_rank", "rank", text, (size_t)length);
        }
        rgm_string label = rgm_chrome_text(c, process->label);
        if (label.length) put_label(c, track, "process_labels", "labels", label.data, label.length);
        put_sort_index(c, track, "process_sort_index", (process->device < 0 ? 0 : 5000000) + (int64_t)p);
    }
    for (size_t t = 0; t < c->tracks.n_tracks; t++) {
        put_label(c, t, "thread_name", "name", text, rgm_track_name(&c->tracks, t, text, sizeof text));
        put_sort_index(c, t, "thread_sort_index", (int64_t)t);
    }
}

static bool key_is(const rgm_json_members *member, const char *key) {
    return member->key_length == strlen(key) && memcmp(member->key, key, member->key_length) == 0;
}

// 0 for anything but an integer.
static int64_t integer_of(const rgm_json_members *member) {
    char digits[24], *end;
    size_t length = rgm_json_value_length(member);
    if (length >= sizeof digits) return 0;
    memcpy(digits, member->value, length);
    digits[length] = 0;
    long long value = strtoll(digits, &end, 10);
    return *end ? 0 : value;
}

static bool has_several_ranks(const rgm_chrome *c) {
    for (size_t p = 1; p < c->tracks.n_processes; p++)
        if (c->tracks.processes[p].rank != c->tracks.processes[0].rank) return true;
    return false;
}

// The rank of one file is not that of the whole; each process has its own among the metadata events.
static void put_without_rank(rgm_chrome *c, const rgm_json_members *object) {
    rgm_json_members member = rgm_json_members_in(object->value, rgm_json_value_length(object));
    rgm_json_raw(&c->json, object->key - 1, object->key_length + 2);
    rgm_output_byte(c->json.out, ':');
    c->json.comma = false;
    rgm_json_open(&c->json, '{');
    while (rgm_json_next(&member))
        if (!key_is(&member, "rank")) rgm_chrome_member(&c->json, &member);
    rgm_json_close(&c->json, '}');
}

// What the environment says of the machine, under its own keys, as torch.profiler has it.
static void put_environment(rgm_chrome *c, const void *text, size_t length, int depth, int64_t *base_ns) {
    static const char *const ours[] = {"schemaVersion", "traceEvents", "displayTimeUnit",
                                       "baseTimeNanoseconds", "traceName"};
    if (!rgm_json_is(text, length, '{')) return;
    rgm_json_members member = rgm_json_members_in(text, length);
    while (rgm_json_next(&member)) {
        size_t size = rgm_json_value_length(&member);
        bool skip = false;
        for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) skip = skip || key_is(&member, ours[i]);
        // The importer keeps the head of a trace under this key.
        if (key_is(&member, "trace") && depth == 0 && rgm_json_is(member.value, size, '{')) {
            put_environment(c, member.value, size, depth + 1, base_ns);
            continue;
        }
        if (key_is(&member, "baseTimeNanoseconds")) *base_ns = integer_of(&member);
        if (skip) continue;
        if (key_is(&member, "distributedInfo") && rgm_json_is(member.value, size, '{') &&
            has_several_ranks(c))
            put_without_rank(c, &member);
        else
            rgm_chrome_member(&c->json, &member);
    }
}

static void put_files(rgm_chrome *c) {
    const rgm_files *f = &c->run->files;
    rgm_json *j = &c->json;
    RGM_JSON_KEY(j, "files");
    rgm_json_open(j, '[');
    for (size_t i = 0; i < f->rows; i++) {
        rgm_json_open(j, '{');
        RGM_JSON_STRING(j, "file", rgm_chrome_text(c, f->file[i]));
        RGM_CHROME_I64(c, "rank", f->rank[i]);
        RGM_JSON_I64(j, "shift_ns", f->shift_ns[i]);
        RGM_CHROME_JSON(c, "environment", f->environment[i]);
        rgm_json_close(j, '}');
    }
    rgm_json_close(j, ']');
}

// Unix time of the time 0 that is written; 0 when it is not known.
static int64_t written_base(const rgm_chrome *c, int64_t stated) {
    const rgm_run *run = c->run;
    int64_t base = stated, sum;
    if (run->files.rows == 1 && run->files.base_ns[0])
        base = rgm_chrome_earlier(run->files.base_ns[0], run->files.shift_ns[0]);
    if (!base && run->start_unix_ns > 0) base = rgm_chrome_earlier(run->start_unix_ns, run->start_ns);
    return __builtin_add_overflow(base, c->shift_ns, &sum) ? base : sum;
}

void rgm_chrome_head(rgm_chrome *c) {
    const rgm_run *run = c->run;
    int64_t stated = 0;
    rgm_json_open(&c->json, '{');
    RGM_JSON_I64(&c->json, "schemaVersion", 1);
    put_environment(c, run->environment, strlen(run->environment), 0, &stated);
    if (run->files.rows == 1 && strlen(run->environment) <= 2) {
        rgm_string text = rgm_chrome_text(c, run->files.environment[0]);
        put_environment(c, text.data, text.length, 0, &stated);
    } else if (run->files.rows > 1) {
        put_files(c);
    }
    RGM_JSON_LITERAL(&c->json, "displayTimeUnit", "ms");
    int64_t base = written_base(c, stated);
    if (base) RGM_JSON_I64(&c->json, "baseTimeNanoseconds", base);
    RGM_JSON_KEY(&c->json, "traceEvents");
    rgm_json_open(&c->json, '[');
}
