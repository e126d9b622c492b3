// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests that record: scopes, temporary files, and questions to a Run.
#ifndef RGM_TEST_RECORDING_H
#define RGM_TEST_RECORDING_H

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "capture/session.h"
#include "harness.h"
#include "io/journal/run_file.h"

#define UNUSED __attribute__((unused))

// The sanitizers' own locks do not survive a fork of a process with threads.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

typedef struct {
    rgm_frame *frame;
    uint32_t seq;
} open_scope;

static char temp_dir[] = "/tmp/rgm-test-XXXXXX";

UNUSED static void temp_remove(void) { (void)rmdir(temp_dir); }

// A path in a folder of this process; the caller removes the file. Valid until four calls later.
UNUSED static const char *temp_path(const char *name) {
    static char paths[4][96];
    static int turn;
    static bool made;
    if (!made) {
        if (!mkdtemp(temp_dir)) abort();
        atexit(temp_remove);
        made = true;
    }
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", temp_dir, name);
    return path;
}

// In place of a file that was there, not over it: a file that was cut to nothing is written to the disk when
// it is closed (ext4), and the next test waits for that.
UNUSED static bool file_write(const char *path, const void *data, size_t length) {
    (void)unlink(path);
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool ok = fwrite(data, 1, length, file) == length;
    return fclose(file) == 0 && ok;
}

// The caller frees the bytes.
UNUSED static uint8_t *file_read(const char *path, size_t *length) {
    *length = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    (void)fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size + 1);
    *length = fread(data, 1, size, file);
    (void)fclose(file);
    return data;
}

UNUSED static rgm_session *session_with(rgm_session_options options, const char *path) {
    rgm_session *session = NULL;
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_session_new(&session, &options, path, &err) != RGM_OK) {
        HARNESS_FAIL("no session: %s", err.message);
        return NULL;
    }
    return session;
}

UNUSED static rgm_session *session_plain(const char *path) {
    return session_with(RGM_SESSION_DEFAULTS, path);
}

enum { DRAIN_OFTEN = 1000000, DRAIN_RARELY = 1000000000 }; // ns

UNUSED static rgm_session *session_journaling(const char *path, int64_t drain_interval_ns) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.drain_interval_ns = drain_interval_ns;
    return session_with(options, path);
}

UNUSED static rgm_recorder *recorder_of(rgm_session *session) {
    return rgm_recorder_get(session, rgm_session_id(session));
}

UNUSED static rgm_site *site_of(rgm_session *session, const char *name) {
    rgm_site *site = NULL;
    rgm_status status =
        rgm_session_site(session, name, strlen(name), RGM_DEVICE_GPU, RGM_ROLE_NONE, &site, NULL);
    return status == RGM_OK ? site : NULL;
}

UNUSED static open_scope scope_begin_in(rgm_session *session, const void *context, const char *name) {
    open_scope scope = {NULL, 0};
    rgm_site *site = site_of(session, name);
    rgm_recorder *recorder = recorder_of(session);
    if (site && recorder) scope.frame = rgm_scope_begin(recorder, context, site->id, 0, &scope.seq);
    return scope;
}

UNUSED static open_scope scope_begin(rgm_session *session, const char *name) {
    return scope_begin_in(session, NULL, name);
}

UNUSED static void scope_end_flags(rgm_session *session, open_scope scope, uint32_t flags) {
    rgm_recorder *recorder = recorder_of(session);
    if (recorder && scope.frame) rgm_scope_end(recorder, scope.frame, scope.seq, rgm_clock_ticks(), flags);
}

UNUSED static void scope_end(rgm_session *session, open_scope scope) { scope_end_flags(session, scope, 0); }

UNUSED static void scopes(rgm_session *session, const char *name, int count) {
    for (int i = 0; i < count; i++) scope_end(session, scope_begin(session, name));
}

UNUSED static rgm_run *snapshot_of(rgm_session *session) {
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_session_snapshot(session, &run, &err) != RGM_OK) HARNESS_FAIL("no snapshot: %s", err.message);
    return run;
}

// Ends a session; the run is what it has recorded.
UNUSED static rgm_run *session_finish(rgm_session *session) {
    rgm_session_stop(session);
    rgm_run *run = snapshot_of(session);
    rgm_session_free(session);
    return run;
}

// A session under the fake clock, and its end.
enum { FAKE_START = 1000000000 };

UNUSED static rgm_session *session_fake(void) {
    rgm_clock_fake(FAKE_START);
    return session_plain(NULL);
}

UNUSED static rgm_run *session_fake_finish(rgm_session *session) {
    rgm_run *run = session_finish(session);
    rgm_clock_fake_stop();
    return run;
}

UNUSED static rgm_run *load_of(const char *path, rgm_load_mode mode) {
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_run_load(path, mode, &run, &err) != RGM_OK) HARNESS_FAIL("cannot load: %s", err.message);
    return run;
}

UNUSED static const char *text_of(const rgm_run *run, rgm_name id) {
    return rgm_strings_view(&run->strings, id).data;
}

UNUSED static const char *name_of(const rgm_run *run, size_t span) {
    return span < run->spans.rows ? text_of(run, run->spans.name[span]) : NULL;
}

// Row of the nth span of that name, or -1.
UNUSED static int32_t span_nth(const rgm_run *run, const char *name, int nth) {
    for (size_t i = 0; i < run->spans.rows; i++)
        if (strcmp(name_of(run, i), name) == 0 && nth-- == 0) return (int32_t)i;
    return -1;
}

UNUSED static int32_t span_of(const rgm_run *run, const char *name) { return span_nth(run, name, 0); }

UNUSED static int64_t span_count(const rgm_run *run, const char *name) {
    int64_t count = 0;
    for (size_t i = 0; i < run->spans.rows; i++) count += strcmp(name_of(run, i), name) == 0;
    return count;
}

UNUSED static int64_t anomaly_count(const rgm_run *run, rgm_anomaly code) {
    for (size_t i = 0; i < run->anomalies.rows; i++)
        if (run->anomalies.code[i] == code) return run->anomalies.count[i];
    return 0;
}

// Properties that every Run has: ids in range, starts ascending, parents first and around their children.
UNUSED static void run_check_sound(const rgm_run *run, bool nested) {
    const rgm_spans *spans = &run->spans;
    for (size_t i = 0; i < spans->rows; i++) {
        bool sound = spans->duration_ns[i] >= 0 && spans->lane[i] < run->lanes.rows &&
                     (!i || spans->start_ns[i] >= spans->start_ns[i - 1]) &&
                     spans->name[i] < rgm_strings_count(&run->strings);
        int32_t parent = spans->parent[i];
        sound = sound && parent >= -1 && parent < (int32_t)i;
        if (sound && parent >= 0)
            sound = spans->lane[parent] == spans->lane[i] &&
                    (!nested || spans->start_ns[parent] + spans->duration_ns[parent] >=
                                    spans->start_ns[i] + spans->duration_ns[i]);
        if (sound) continue;
        HARNESS_FAIL("span %zu of %zu is unsound: parent %d", i, spans->rows, parent);
        return;
    }
}

typedef struct {
    rgm_session *session;
    void (*body)(rgm_session *session, int number);
    int number;
    pthread_t thread;
} worker;

UNUSED static void *worker_run(void *arg) {
    worker *w = arg;
    w->body(w->session, w->number);
    return NULL;
}

UNUSED static void workers_start(worker *workers, int count, rgm_session *session,
                                 void (*body)(rgm_session *, int)) {
    for (int i = 0; i < count; i++) {
        workers[i] = (worker){.session = session, .body = body, .number = i};
        if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) != 0) abort();
    }
}

UNUSED static void workers_join(worker *workers, int count) {
    for (int i = 0; i < count; i++) pthread_join(workers[i].thread, NULL);
}

UNUSED static void three_scopes(rgm_session *session, int number) {
    (void)number;
    scopes(session, "on a thread", 3);
}

// Runs the body on a thread of its own and waits for it.
UNUSED static void on_thread(rgm_session *session, void (*body)(rgm_session *, int)) {
    worker w[1];
    workers_start(w, 1, session, body);
    workers_join(w, 1);
}

#endif
