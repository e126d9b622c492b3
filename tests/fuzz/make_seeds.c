// SPDX-License-Identifier: Apache-2.0
// Writes the seeds of fuzz_run_file: small journals and a saved run, made under the fake clock.
//
//     cc -std=c11 -D_GNU_SOURCE -Icsrc tests/fuzz/make_seeds.c build/debug/libregimeter_core.a -lpthread -lm
//     -o make_seeds
//     ./make_seeds tests/fuzz/seeds/fuzz_run_file
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session.h"
#include "io/run_file.h"

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
    if (rgm_session_site(session, name, strlen(name), RGM_DEVICE_GPU, &site, NULL) != RGM_OK) exit(1);
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
    rgm_session_sample(s, &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = 1 << 20, .device = -1});
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

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    plain(argv[1]);
    everything(argv[1]);
    return 0;
}
