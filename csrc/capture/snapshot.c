// SPDX-License-Identifier: Apache-2.0
// What a session has recorded, from its journal and from memory, as a Run. It is read under the drain lock,
// and put together without.
#include "base/memory.h"
#include "capture/extent.h"
#include "io/journal/run_file.h"
#include "model/builder.h"

static rgm_status range_to_builder(void *arg, uint32_t stream, const rgm_record *records, uint32_t count,
                                   rgm_error *err) {
    return rgm_builder_records(arg, stream, records, count, err);
}

static rgm_status feed_dictionaries(rgm_session *session, rgm_builder *builder, rgm_error *err) {
    uint32_t strings = rgm_strings_count(&session->strings);
    for (uint32_t id = 0; id < strings; id++) {
        rgm_string text = rgm_strings_view(&session->strings, id);
        RGM_TRY(rgm_builder_string(builder, id, text.data, text.length, err));
    }
    uint32_t sites = atomic_load_explicit(&session->site_count, memory_order_acquire);
    for (uint32_t id = 0; id < sites; id++)
        RGM_TRY(rgm_builder_site(builder, id, rgm_site_row_of(rgm_session_site_at(session, id)), err));
    rgm_status status = RGM_OK;
    pthread_mutex_lock(&session->state_mutex);
    for (uint32_t id = 0; status == RGM_OK && id < session->thread_count; id++)
        status = rgm_builder_thread(builder, id, session->threads[id], err);
    if (status == RGM_OK && session->environment.length)
        status = rgm_run_set_text(&rgm_builder_run(builder)->environment,
                                  (const char *)session->environment.data, session->environment.length, err);
    pthread_mutex_unlock(&session->state_mutex);
    pthread_mutex_lock(&session->time_mutex);
    for (size_t i = 0; status == RGM_OK && i < session->time.count; i++)
        status = rgm_builder_anchor(builder, session->time.anchors[i], err);
    pthread_mutex_unlock(&session->time_mutex);
    return status;
}

#define FEED_ROWS(frames, name, type, anomaly)                                                               \
    static rgm_status feed_##name##_rows(void *arg, const void *rows, size_t count, rgm_error *err) {        \
        const type *row = rows;                                                                              \
        for (size_t i = 0; i < count; i++) RGM_TRY(rgm_builder_##name(arg, &row[i], err));                   \
        return RGM_OK;                                                                                       \
    }
RGM_ROW_LOGS(FEED_ROWS)
#undef FEED_ROWS

static rgm_status feed_memory(rgm_session *session, rgm_builder *builder, rgm_error *err) {
    rgm_recorder *recorders = rgm_session_recorders(session);
    size_t count = 0;
    for (rgm_recorder *r = recorders; r; r = r->next) count++;
    rgm_extent *extents = rgm_malloc((count + 1) * sizeof *extents);
    if (!extents) return rgm_error_no_memory(err);
    rgm_status status = RGM_OK;
    size_t at = 0;
    for (rgm_recorder *r = recorders; r; r = r->next) extents[at++] = rgm_extent_of(r);
    size_t counts[RGM_LOG_COUNT]; // before the dictionaries, which then hold all that these rows name
    for (int log = 0; log < RGM_LOG_COUNT; log++) counts[log] = rgm_row_log_count(&session->logs[log]);
    RGM_GOTO(feed_dictionaries(session, builder, err));
    while (at-- > 0) {
        rgm_recorder *r = extents[at].recorder;
        size_t open_count = rgm_recorder_peek(r, session->open, RGM_OPEN_SCOPES_SEEN);
        RGM_GOTO(rgm_builder_open(builder, r->index, session->open, open_count, err));
        if (r->base_thread != UINT32_MAX) {
            rgm_record thread = rgm_record_of_thread(r->base_thread);
            RGM_GOTO(rgm_builder_records(builder, r->index, &thread, 1, err));
        }
        RGM_GOTO(rgm_extent_walk(&extents[at], range_to_builder, builder, err));
    }
#define FEED_LOG(frames, name, type, anomaly)                                                                \
    RGM_GOTO(rgm_row_log_walk(&session->logs[RGM_LOG_##frames], counts[RGM_LOG_##frames],                    \
                              feed_##name##_rows, builder, err));
    RGM_ROW_LOGS(FEED_LOG)
#undef FEED_LOG
done:
    rgm_free(extents);
    return status;
}

// The journal's counters may be older than the session's.
static rgm_status feed_counters(rgm_session *session, rgm_builder *builder, rgm_error *err) {
    rgm_anomalies *known = &rgm_builder_run(builder)->anomalies;
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) {
        int64_t missing = rgm_session_counter(session, (rgm_anomaly)code);
        for (size_t i = 0; i < known->rows; i++)
            if (known->code[i] == code) missing -= known->count[i];
        RGM_TRY(rgm_builder_note(builder, (rgm_anomaly)code, missing, err));
    }
    return RGM_OK;
}

static rgm_status new_builder(const rgm_session *session, rgm_builder **builder, rgm_error *err) {
    RGM_TRY(rgm_builder_new(builder, err));
    if (atomic_load(&session->without_roles)) rgm_builder_leave_out_roles(*builder);
    return RGM_OK;
}

static rgm_status read_journal(rgm_session *session, rgm_load_mode mode, rgm_builder **builder,
                               rgm_error *err) {
    char own[64];
    bool complete;
    rgm_frame_reader reader;
    rgm_builder_free(*builder);
    *builder = NULL;
    RGM_TRY(new_builder(session, builder, err));
    if (!rgm_journal_own_path(&session->journal, own, sizeof own)) return RGM_FORMAT; // nothing is left of it
    RGM_TRY(rgm_frame_open(&reader, own, mode, err));
    rgm_status status = rgm_journal_read(&reader, *builder, &complete, err);
    int64_t lost = (int64_t)session->journal.series.next - (int64_t)reader.place_count - reader.taken -
                   reader.damage.missing;
    rgm_frame_close(&reader);
    if (status == RGM_OK && mode == RGM_LOAD_RECOVER)
        status = rgm_builder_note(*builder, RGM_ANOMALY_MISSING_BLOCKS, lost, err);
    return status;
}

// Where others have written to the file, what is left of it, and how much is not.
static rgm_status feed_journal(rgm_session *session, rgm_builder **builder, rgm_error *err) {
    rgm_status status = read_journal(session, RGM_LOAD_STRICT, builder, err);
    if (status != RGM_FORMAT) return status;
    status = read_journal(session, RGM_LOAD_RECOVER, builder, err);
    if (status != RGM_FORMAT) return status;
    rgm_builder_free(*builder);
    *builder = NULL;
    RGM_TRY(new_builder(session, builder, err));
    return rgm_builder_note(*builder, RGM_ANOMALY_MISSING_BLOCKS, session->journal.series.next, err);
}

// Under the drain lock.
static rgm_status collect(rgm_session *session, rgm_builder **builder, bool *stopped, rgm_error *err) {
    *stopped = rgm_session_is_stopped(session);
    RGM_TRY(new_builder(session, builder, err));
    rgm_session_drain(session, false);
    if (!*stopped) rgm_session_anchor(session, true);
    if (session->journal.length && !session->journal_void) RGM_TRY(feed_journal(session, builder, err));
    RGM_TRY(feed_memory(session, *builder, err));
    return feed_counters(session, *builder, err);
}

void rgm_session_leave_out_roles(rgm_session *session, bool leave) {
    atomic_store(&session->without_roles, leave);
}

rgm_status rgm_session_snapshot(rgm_session *session, rgm_run **run, rgm_error *err) {
    rgm_builder *builder = NULL;
    bool stopped;
    pthread_mutex_lock(&session->drain_mutex);
    rgm_status status = collect(session, &builder, &stopped, err);
    pthread_mutex_unlock(&session->drain_mutex);
    // Sorting and linking take longest, and need the session no more.
    if (status == RGM_OK) status = rgm_builder_finish(builder, stopped, run, err);
    if (status == RGM_OK) (*run)->complete = stopped;
    rgm_builder_free(builder);
    return status;
}
