// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of fuzz_run_file: small journals and a saved run, made under the fake clock, and the runs
// of some seeds of fuzz_trace_import.
//
//     cc -std=c11 -D_GNU_SOURCE -Icsrc tests/fuzz/make_seeds.c build/debug/libregimeter_core.a -lpthread -lm
//     -o make_seeds
//     ./make_seeds tests/fuzz/seeds/fuzz_run_file tests/fuzz/seeds/fuzz_trace_import
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session.h"
#include "io/journal/run_file.h"
#include "io/trace/trace_import.h"
#include "model/merge.h"

typedef struct {
    rgm_frame *frame;
    uint32_t seq;
} open_scope;

static rgm_session *session_at(const char *folder, const char *name, char *path, size_t room) {
    rgm_session *session = NULL;
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.drain_interval_ns = INT64_C(3600) * 1000000000;
    (void)snprintf(path, room, "%s/%s", folder, name);
    (void)unlink(path);
    rgm_clock_fake(1000000000);
    if (rgm_session_new(&session, &options, path, NULL) != RGM_OK) exit(1);
    return session;
}

static open_scope begin(rgm_session *session, const void *context, const char *name, const char *metadata) {
    rgm_site *site = NULL;
    open_scope scope = {NULL, 0};
    if (rgm_session_site(session, name, strlen(name), RGM_DEVICE_GPU, RGM_ROLE_NONE, &site, NULL) != RGM_OK)
        exit(1);
    uint32_t meta = metadata ? rgm_session_metadata(session, metadata, strlen(metadata)) : 0;
    rgm_recorder *recorder = rgm_recorder_get(session, rgm_session_id(session));
    scope.frame = rgm_scope_begin(recorder, context, site->id, meta, &scope.seq);
    rgm_clock_fake_advance(10000);
    return scope;
}

static void end(rgm_session *session, open_scope scope, uint32_t flags) {
    rgm_clock_fake_advance(30000);
    rgm_scope_end(rgm_recorder_get(session, rgm_session_id(session)), scope.frame, scope.seq,
                  rgm_clock_ticks(), flags);
}

static void flush(rgm_session *session) {
    if (rgm_session_flush(session, NULL) != RGM_OK) exit(1);
}

static void plain(const char *folder) {
    char path[4096];
    rgm_session *s = session_at(folder, "plain", path, sizeof path);
    for (int i = 0; i < 3; i++) {
        open_scope outer = begin(s, NULL, "step", NULL), inner = begin(s, NULL, "forward", "{\"batch\":32}");
        end(s, inner, 0);
        end(s, outer, i == 1 ? RGM_RECORD_FAILED : 0);
    }
    rgm_session_free(s);
}

static void everything(const char *folder) {
    char path[4096], task[2];
    rgm_session *s = session_at(folder, "everything", path, sizeof path);
    rgm_run *run = NULL;
    if (rgm_session_environment(s, "{\"host\":\"h\"}", 12, NULL) != RGM_OK) exit(1);
    end(s, begin(s, NULL, "forgotten", NULL), 0);
    flush(s);
    rgm_session_reset(s);
    rgm_session_name_thread(s, "main", 4);
    open_scope outer = begin(s, NULL, "outer", NULL), a = begin(s, &task[0], "task", NULL),
               b = begin(s, &task[1], "task", NULL);
    end(s, a, 0);
    flush(s);
    rgm_session_rows(s, RGM_LOG_SAMPLES,
                     &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = 1 << 20, .device = -1}, 1);
    rgm_session_note(s, RGM_ANOMALY_INTERNAL, 2);
    end(s, b, 0);
    rgm_recorder *r = rgm_recorder_get(s, rgm_session_id(s));
    rgm_recorder_memory(r, RGM_RECORD_HOST_MEMORY, 0, 1 << 20, 2 << 20);
    rgm_recorder_memory(r, RGM_RECORD_DEVICE_USE, 1, 1 << 10, 2 << 10);
    rgm_recorder_memory(r, RGM_RECORD_DEVICE_PEAK, 1, 3 << 10, 4 << 10);
    (void)begin(s, NULL, "open", NULL);
    (void)outer;
    flush(s);
    rgm_session_stop(s);
    (void)snprintf(path, sizeof path, "%s/saved", folder);
    if (rgm_session_snapshot(s, &run, NULL) != RGM_OK || rgm_run_save(run, path, NULL) != RGM_OK) exit(1);
    rgm_run_free(run);
    rgm_session_free(s);
}

static rgm_run *import(const char *folder, const char *name) {
    static uint8_t text[1 << 20];
    char path[4096];
    rgm_run *run = NULL;
    rgm_import_options options = {.threads = 1};
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) exit(1);
    size_t length = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    if (rgm_trace_import_bytes(text, length, name, &options, &run, NULL) != RGM_OK) exit(1);
    return run;
}

static void imported(const char *folder, const char *traces) {
    static const char *const names[] = {"a100_nccl_2024", "a100_cupti_counters", "shapes_by_hand"};
    enum { RUNS = sizeof names / sizeof *names };
    char path[4096];
    rgm_run *runs[RUNS], *merged = NULL;
    for (size_t i = 0; i < RUNS; i++) {
        runs[i] = import(traces, names[i]);
        (void)snprintf(path, sizeof path, "%s/imported_%s", folder, names[i]);
        if (rgm_run_save(runs[i], path, NULL) != RGM_OK) exit(1);
    }
    for (size_t i = 0; i < RUNS; i++)
        for (size_t lane = 0; lane < runs[i]->lanes.rows; lane++) runs[i]->lanes.rank[lane] = (rgm_i32)i;
    (void)snprintf(path, sizeof path, "%s/imported_ranks", folder);
    if (rgm_run_merge(runs, NULL, RUNS, RGM_MERGE_RANKS, &merged, NULL) != RGM_OK ||
        rgm_run_save(merged, path, NULL) != RGM_OK)
        exit(1);
    for (size_t i = 0; i < RUNS; i++) rgm_run_free(runs[i]);
    rgm_run_free(merged);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    plain(argv[1]);
    everything(argv[1]);
    imported(argv[1], argv[2]);
    return 0;
}
