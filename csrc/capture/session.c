// SPDX-License-Identifier: Apache-2.0
#include "capture/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "capture/session_state.h"

enum { POOL_FIRST = 16, ROWS_PRESSING = 1 << 20 };

// --- warnings and counters --------------------------------------------------------------------------------

void rgm_session_warn(rgm_session *session, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&session->state_mutex);
    if (!session->warning[0]) (void)vsnprintf(session->warning, sizeof session->warning, format, args);
    pthread_mutex_unlock(&session->state_mutex);
    va_end(args);
}

bool rgm_session_take_warning(rgm_session *session, char *text, size_t room) {
    pthread_mutex_lock(&session->state_mutex);
    bool some = session->warning[0] != '\0';
    if (some) (void)snprintf(text, room, "%s", session->warning);
    session->warning[0] = '\0';
    pthread_mutex_unlock(&session->state_mutex);
    return some;
}

void rgm_session_note(rgm_session *session, rgm_anomaly code, int64_t count) {
    atomic_fetch_add_explicit(&session->counters[code], count, memory_order_relaxed);
}

void rgm_session_own(rgm_session *session, rgm_own_cost what, uint64_t ticks) {
    atomic_fetch_add_explicit(&session->own[what], ticks, memory_order_relaxed);
}

// Of the Python layer. Set once, before the first session.
static void (*alarm_call)(void);

void rgm_session_on_alarm(void (*call)(void)) { alarm_call = call; }

void rgm_session_alarm(void) {
    if (alarm_call) alarm_call();
}

void rgm_session_on_pass(rgm_session *session, rgm_session_look look, void *arg) {
    session->look_arg = arg;
    atomic_store(&session->look, look);
}

void rgm_session_look_around(rgm_session *session, bool may_wait) {
    rgm_session_look look = atomic_load_explicit(&session->look, memory_order_acquire);
    if (look) look(session->look_arg, may_wait);
}

// --- rows -------------------------------------------------------------------------------------------------

bool rgm_session_rows(rgm_session *session, rgm_log log, const void *rows, size_t count) {
    static const rgm_anomaly dropped[] = {
#define LOG_DROPPED(frames, name, type, anomaly) RGM_ANOMALY_##anomaly,
        RGM_ROW_LOGS(LOG_DROPPED)
#undef LOG_DROPPED
    };
    bool sampled = log == RGM_LOG_SAMPLES || log == RGM_LOG_HOST_SAMPLES || log == RGM_LOG_STACKS ||
                   log == RGM_LOG_ALLOCATIONS;
    int64_t budget = sampled ? session->options.sample_budget_bytes : session->options.device_budget_bytes;
    size_t waiting = 0;
    bool kept = rgm_row_log_append(&session->logs[log], rows, count, budget, &waiting);
    if (!kept) rgm_session_note(session, dropped[log], (int64_t)count);
    // A hint; without it the drainer comes by at its interval.
    if (waiting >= ROWS_PRESSING && atomic_load_explicit(&session->journalling, memory_order_relaxed))
        pthread_cond_signal(&session->drainer_wake);
    return kept;
}

// --- journal file -----------------------------------------------------------------------------------------

static rgm_status journal_begin(rgm_session *session, const char *path, rgm_error *err) {
    char kept[4200];
    RGM_TRY(rgm_journal_open(&session->journal, path, session->options.disk_budget_bytes, kept, sizeof kept,
                             err));
    if (kept[0])
        rgm_session_warn(session, "an unfinished recording stood in the way; it was kept as %s", kept);
    session->written = (rgm_written){0};
    session->stalled = false;
    rgm_session_journal(session, true);
    return RGM_OK;
}

// In a forked child, on its first scope: the child's own file beside the parent's.
static void child_journal(rgm_session *session) {
    char path[4200];
    rgm_error err = RGM_ERROR_NONE;
    (void)snprintf(path, sizeof path, "%s.%d", session->path, (int)getpid());
    if (journal_begin(session, path, &err) != RGM_OK)
        rgm_session_warn(session, "%s; recording continues in memory", err.message);
}

void rgm_session_open_child(rgm_session *session) {
    if (!atomic_load(&session->child_pending)) return;
    pthread_mutex_lock(&session->drain_mutex);
    if (atomic_exchange(&session->child_pending, false)) child_journal(session);
    pthread_mutex_unlock(&session->drain_mutex);
}

// --- recorders --------------------------------------------------------------------------------------------

static rgm_status thread_row_add(rgm_session *session, uint32_t *row, rgm_error *err) {
    if (session->thread_count == session->thread_capacity) {
        uint32_t capacity = session->thread_capacity ? session->thread_capacity * 2 : 16;
        rgm_thread_row *grown = rgm_realloc(session->threads, capacity * sizeof *grown);
        if (!grown) return rgm_error_no_memory(err);
        session->threads = grown;
        session->thread_capacity = capacity;
    }
    char name[32] = "";
    uint32_t id = 0;
    pthread_getname_np(pthread_self(), name, sizeof name);
    // A thread without a name is a thread.
    if (rgm_strings_intern(&session->strings, name, strlen(name), &id, NULL) != RGM_OK)
        rgm_session_note(session, RGM_ANOMALY_DROPPED_NAMES, 1);
    *row = session->thread_count++;
    session->threads[*row] =
        (rgm_thread_row){.process = (uint32_t)getpid(), .name = id, .thread = rgm_thread_native_id()};
    return RGM_OK;
}

// A recorder whose thread has ended, taken over with its half-full block.
static rgm_recorder *reuse(rgm_session *session) {
    for (rgm_recorder *r = session->recorders; r; r = r->next) {
        if (!atomic_load(&r->orphaned) || rgm_recorder_settle(r)) continue;
        atomic_store(&r->orphaned, false);
        r->named = false;
        r->context = NULL;
        if (r->track) rgm_recorder_retire_track(r, r->track);
        r->track = NULL;
        return r;
    }
    return NULL;
}

static rgm_recorder *recorder_new(rgm_session *session, uint64_t id) {
    rgm_recorder *r = rgm_calloc(1, sizeof *r);
    if (!r) return NULL;
    r->first = r->block = rgm_session_take_block(session);
    if (!r->block || !rgm_recorder_more_frames(r)) {
        if (r->block) atomic_fetch_sub(&session->blocks, 1);
        atomic_store(&r->references, 1);
        rgm_recorder_release(r);
        return NULL;
    }
    atomic_store(&r->session_id, id);
    atomic_store(&r->references, 1);
    r->session = session;
    r->index = session->recorder_count++;
    r->base_thread = UINT32_MAX;
    r->random = (uint64_t)session->options.seed ^ ((uint64_t)r->index << 32);
    r->next = session->recorders;
    session->recorders = r;
    return r;
}

rgm_recorder *rgm_session_adopt_thread(rgm_session *session) {
    rgm_recorder *recorder = NULL;
    uint32_t row = 0;
    rgm_session_open_child(session);
    pthread_mutex_lock(&session->state_mutex);
    uint64_t id = atomic_load(&session->id);
    if (id) recorder = reuse(session);
    if (id && !recorder) recorder = recorder_new(session, id);
    if (recorder && thread_row_add(session, &row, NULL) != RGM_OK) {
        atomic_store(&recorder->orphaned, true);
        recorder = NULL;
    }
    if (recorder) {
        atomic_fetch_add(&recorder->references, 1);
        atomic_store(&recorder->thread_row, row);
        rgm_session_start_threads(session);
    } else if (id) {
        rgm_session_note(session, RGM_ANOMALY_DROPPED_SCOPES, 1);
    }
    pthread_mutex_unlock(&session->state_mutex);
    if (recorder) rgm_recorder_announce(recorder, row);
    return recorder;
}

void rgm_session_name_thread(rgm_session *session, const char *name, size_t length) {
    rgm_recorder *recorder = rgm_recorder_get(session, atomic_load(&session->id));
    uint32_t id;
    if (!recorder) return;
    recorder->named = true;
    if (rgm_strings_intern(&session->strings, name, length, &id, NULL) != RGM_OK) {
        rgm_session_note(session, RGM_ANOMALY_DROPPED_NAMES, 1);
        return;
    }
    pthread_mutex_lock(&session->state_mutex);
    uint32_t row = atomic_load(&recorder->thread_row);
    session->threads[row].name = id;
    if (row < session->threads_dirty) session->threads_dirty = row;
    pthread_mutex_unlock(&session->state_mutex);
}

// --- life -------------------------------------------------------------------------------------------------

// The program may go to another folder, and fork there, or close the file. As it is where its folder is gone.
static char *absolute(const char *path) {
    char folder[4096];
    if (path[0] == '/' || !getcwd(folder, sizeof folder)) return rgm_strdup(path, strlen(path));
    size_t room = strlen(folder) + 1 + strlen(path) + 1;
    char *whole = rgm_calloc(room, 1);
    if (whole) (void)snprintf(whole, room, "%s/%s", folder, path);
    return whole;
}

rgm_status rgm_session_new(rgm_session **session, const rgm_session_options *options, const char *path,
                           rgm_error *err) {
    rgm_session_watch_forks();
    rgm_clock_init();
    rgm_session *s = rgm_calloc(1, sizeof *s);
    if (!s) return rgm_error_no_memory(err);
    rgm_status status = RGM_OK;
    uint32_t other;
    s->options = *options;
    s->sites_dirty = UINT32_MAX;
    s->threads_dirty = UINT32_MAX;
    rgm_sampling_init(&s->sampling, options->sample_interval_ns, options->sample_heartbeat_ns);
    atomic_store(&s->pool_target, POOL_FIRST);
    pthread_mutex_init(&s->state_mutex, NULL);
    pthread_mutex_init(&s->drain_mutex, NULL);
    pthread_mutex_init(&s->time_mutex, NULL);
    static const size_t widths[] = {
#define LOG_WIDTH(frames, name, type, anomaly) sizeof(type),
        RGM_ROW_LOGS(LOG_WIDTH)
#undef LOG_WIDTH
    };
    for (int log = 0; log < RGM_LOG_COUNT; log++) rgm_row_log_init(&s->logs[log], widths[log]);
    rgm_cond_init(&s->drainer_wake);
    rgm_stack_sampler_init(&s->stacks);
    rgm_session_govern_anew(s);
    s->metadata.max_bytes = (size_t)options->metadata_budget_bytes;
    RGM_GOTO(rgm_strings_init(&s->strings, (size_t)options->text_budget_bytes, err));
    RGM_GOTO(rgm_strings_intern(&s->strings, "<other operations>", 18, &other, err));
    RGM_GOTO(rgm_queue_init(&s->pool, POOL_SLOTS, err));
    rgm_session_anchor(s, true);
    rgm_witness_start(&s->witness, options->witness_interval_ns, rgm_clock_anchor());
    if (path) {
        s->path = absolute(path);
        if (!s->path) {
            status = rgm_error_no_memory(err);
            goto done;
        }
        rgm_error reason = RGM_ERROR_NONE;
        status = journal_begin(s, s->path, &reason);
        if (status == RGM_IO) {
            rgm_session_warn(s, "%s; recording continues in memory", reason.message);
            rgm_session_note(s, RGM_ANOMALY_JOURNAL_FAILED, 1);
            status = RGM_OK;
        }
        if (status != RGM_OK && err) *err = reason;
        if (status != RGM_OK) goto done;
    }
    rgm_session_register(s);
    *session = s;
    return RGM_OK;
done:
    rgm_session_free(s);
    return status;
}

void rgm_session_stop(rgm_session *session) {
    rgm_witness_last(session, atomic_load(&session->id));
    pthread_mutex_lock(&session->state_mutex);
    bool first = !session->stopped;
    session->stopped = true;
    atomic_store(&session->id, 0);
    for (rgm_recorder *r = session->recorders; r; r = r->next)
        atomic_store(&r->session_id, RGM_SESSION_ENDED);
    pthread_mutex_unlock(&session->state_mutex);
    if (!first) return;
    rgm_session_stop_threads(session);
    if (session->pressure.taken_ns) rgm_session_take_pressure(session, true);
    pthread_mutex_lock(&session->drain_mutex);
    rgm_session_drain(session, true);
    rgm_journal_finish(&session->journal);
    pthread_mutex_unlock(&session->drain_mutex);
}

static void release_all(rgm_recorder *recorder) {
    while (recorder) {
        rgm_recorder *next = recorder->next;
        // A thread that lives on keeps the recorder until it next looks for one; it need not keep its
        // records.
        rgm_recorder_empty(recorder);
        rgm_recorder_release(recorder);
        recorder = next;
    }
}

void rgm_session_free(rgm_session *session) {
    if (!session) return;
    if (session->last_id) {
        rgm_session_stop(session);
        rgm_session_unregister(session);
    }
    release_all(session->recorders);
    release_all(session->retired);
    rgm_stack_sampler_release(&session->stacks);
    rgm_sampling_release(&session->sampling);
    if (session->pool.cells)
        for (rgm_block *block; (block = rgm_queue_pop(&session->pool));) rgm_free(block);
    rgm_queue_release(&session->pool);
    for (int i = 0; i < MAX_SITE_CHUNKS; i++) rgm_free(session->site_chunks[i]);
    rgm_free(session->site_slots);
    rgm_free(session->threads);
    for (int log = 0; log < RGM_LOG_COUNT; log++) rgm_row_log_release(&session->logs[log]);
    rgm_free(session->path);
    rgm_bytes_release(&session->buffer);
    rgm_bytes_release(&session->environment);
    rgm_timebase_release(&session->time);
    rgm_journal_close(&session->journal);
    rgm_strings_release(&session->strings);
    pthread_cond_destroy(&session->drainer_wake);
    pthread_mutex_destroy(&session->state_mutex);
    pthread_mutex_destroy(&session->drain_mutex);
    pthread_mutex_destroy(&session->time_mutex);
    rgm_free(session);
}

// --- questions --------------------------------------------------------------------------------------------

uint64_t rgm_session_id(const rgm_session *session) { return atomic_load(&session->id); }
const _Atomic(uint64_t) *rgm_session_id_ref(const rgm_session *session) { return &session->id; }

rgm_status rgm_session_environment(rgm_session *session, const char *json, size_t length, rgm_error *err) {
    pthread_mutex_lock(&session->drain_mutex);
    pthread_mutex_lock(&session->state_mutex);
    rgm_bytes_reset(&session->environment);
    rgm_bytes_append(&session->environment, json, length);
    bool failed = session->environment.failed;
    if (failed) rgm_bytes_reset(&session->environment);
    session->written.environment = false;
    pthread_mutex_unlock(&session->state_mutex);
    pthread_mutex_unlock(&session->drain_mutex);
    return failed ? rgm_error_no_memory(err) : RGM_OK;
}

void rgm_session_get_stats(rgm_session *session, rgm_session_stats *stats) {
    *stats = (rgm_session_stats){0};
    pthread_mutex_lock(&session->drain_mutex);
    pthread_mutex_lock(&session->state_mutex);
    stats->scopes = session->drained_records;
    stats->journal_active = session->journal_on;
    for (rgm_recorder *r = session->recorders; r; r = r->next) {
        uint32_t skip = r->flushed;
        for (rgm_block *block = r->first; block;
             block = atomic_load_explicit(&block->next, memory_order_acquire)) {
            stats->scopes += atomic_load_explicit(&block->committed, memory_order_acquire) - skip;
            skip = 0;
        }
        stats->dropped += atomic_load(&r->dropped);
        stats->lost += atomic_load(&r->lost);
    }
    stats->stopped = session->stopped;
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) stats->one_in[i] = atomic_load(&session->one_in[i]);
    stats->sites = atomic_load(&session->site_count);
    for (uint32_t id = 0; id < stats->sites; id++)
        stats->sampled_out += atomic_load(&rgm_session_site_at(session, id)->skipped);
    pthread_mutex_unlock(&session->state_mutex);
    pthread_mutex_unlock(&session->drain_mutex);
    for (int log = 0; log < RGM_LOG_COUNT; log++) stats->rows[log] = rgm_row_log_total(&session->logs[log]);
    stats->service_cpu_ns = atomic_load(&session->drainer_cpu_ns) +
                            atomic_load(&session->sampling.memory_cpu_ns) +
                            atomic_load(&session->sampling.stacks_cpu_ns);
    uint64_t now = rgm_clock_ticks();
    for (int what = 0; what < RGM_OWN_COUNT; what++) {
        uint64_t ticks = atomic_load(&session->own[what]);
        stats->own_ns[what] = rgm_session_elapsed_ns(session, now - ticks, ticks);
    }
    pthread_mutex_lock(&session->strings.mutex);
    stats->text_bytes = session->strings.budget.bytes + session->metadata.bytes;
    pthread_mutex_unlock(&session->strings.mutex);
    stats->blocks = (uint64_t)atomic_load(&session->blocks);
    stats->hot_blocks = (uint64_t)atomic_load(&session->hot_blocks);
    stats->strings = rgm_strings_count(&session->strings);
}

rgm_string rgm_session_text(const rgm_session *session, uint32_t id) {
    return rgm_strings_view(&session->strings, id);
}

const char *rgm_session_path(const rgm_session *session) {
    return session->journal.path ? session->journal.path : "";
}

bool rgm_session_control_group(rgm_session *session, const char *folder) {
    pthread_mutex_lock(&session->state_mutex);
    bool added = rgm_pressure_add_folder(&session->pressure, folder);
    pthread_mutex_unlock(&session->state_mutex);
    return added;
}

void rgm_session_warm(rgm_session *session, size_t scopes) {
    rgm_session_fill_pool(session, (int64_t)(scopes / RGM_BLOCK_RECORDS + 2));
}
