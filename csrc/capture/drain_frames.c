// SPDX-License-Identifier: Apache-2.0
#include "capture/drain_frames.h"

#include "capture/session_state.h"
#include "io/journal/frame.h"

void rgm_put_rows(rgm_bytes *out, rgm_frame_type type, uint32_t first, uint32_t count, const void *rows,
                  size_t bytes) {
    size_t mark = rgm_frame_begin(out, type);
    rgm_bytes_u32(out, first);
    rgm_bytes_u32(out, count);
    rgm_bytes_append(out, rows, bytes);
    rgm_frame_end(out, mark);
}

static void put_environment(rgm_session *session, rgm_bytes *out) {
    if (session->written.environment) return;
    pthread_mutex_lock(&session->state_mutex);
    if (session->environment.length) {
        size_t mark = rgm_frame_begin(out, RGM_FRAME_ENVIRONMENT);
        rgm_bytes_append(out, session->environment.data, session->environment.length);
        rgm_frame_end(out, mark);
        session->written.environment = true;
    }
    pthread_mutex_unlock(&session->state_mutex);
}

static void put_strings(rgm_session *session, rgm_bytes *out, uint32_t count) {
    uint32_t from = session->written.strings;
    if (from >= count) return;
    size_t mark = rgm_frame_begin(out, RGM_FRAME_STRINGS);
    rgm_bytes_u32(out, from);
    rgm_bytes_u32(out, count - from);
    for (uint32_t id = from; id < count; id++) {
        rgm_string text = rgm_strings_view(&session->strings, id);
        rgm_bytes_u32(out, text.length);
        rgm_bytes_append(out, text.data, text.length);
    }
    rgm_frame_end(out, mark);
    session->written.strings = count;
}

static void put_sites(rgm_session *session, rgm_bytes *out, uint32_t count) {
    pthread_mutex_lock(&session->state_mutex);
    uint32_t from =
        session->written.sites < session->sites_dirty ? session->written.sites : session->sites_dirty;
    session->sites_dirty = UINT32_MAX;
    pthread_mutex_unlock(&session->state_mutex);
    if (from >= count) return;
    size_t mark = rgm_frame_begin(out, RGM_FRAME_SITES);
    rgm_bytes_u32(out, from);
    rgm_bytes_u32(out, count - from);
    for (uint32_t id = from; id < count; id++) {
        rgm_site_row row = rgm_site_row_of(rgm_session_site_at(session, id));
        rgm_bytes_append(out, &row, sizeof row);
    }
    rgm_frame_end(out, mark);
    session->written.sites = count;
}

void rgm_put_threads(rgm_session *session, rgm_bytes *out) {
    pthread_mutex_lock(&session->state_mutex);
    uint32_t from = session->written.threads, count = session->thread_count;
    if (session->threads_dirty < from) from = session->threads_dirty;
    session->threads_dirty = UINT32_MAX;
    if (from < count) {
        rgm_put_rows(out, RGM_FRAME_THREADS, from, count - from, session->threads + from,
                     (count - from) * sizeof *session->threads);
        session->written.threads = count;
    }
    pthread_mutex_unlock(&session->state_mutex);
}

// The dictionaries follow the look: an open scope may have begun since they were written.
static void put_open(rgm_session *session, rgm_recorder *recorder, rgm_bytes *out) {
    rgm_open_scope *open = session->open;
    size_t count = rgm_recorder_peek(recorder, open, RGM_OPEN_SCOPES_SEEN);
    if (!count && !recorder->open_written) return;
    put_strings(session, out, rgm_strings_count(&session->strings));
    put_sites(session, out, atomic_load_explicit(&session->site_count, memory_order_acquire));
    rgm_put_rows(out, RGM_FRAME_OPEN, recorder->index, (uint32_t)count, open, count * sizeof *open);
    recorder->open_written = count > 0;
}

int64_t rgm_session_counter(rgm_session *session, rgm_anomaly code) {
    int64_t total = atomic_load(&session->counters[code]);
    if (code != RGM_ANOMALY_DROPPED_SCOPES && code != RGM_ANOMALY_LOST_SCOPES &&
        code != RGM_ANOMALY_SAMPLED_OUT)
        return total;
    for (rgm_recorder *r = rgm_session_recorders(session); r && code != RGM_ANOMALY_SAMPLED_OUT; r = r->next)
        total +=
            (int64_t)(code == RGM_ANOMALY_DROPPED_SCOPES ? atomic_load(&r->dropped) : atomic_load(&r->lost));
    uint32_t sites = atomic_load_explicit(&session->site_count, memory_order_acquire);
    for (uint32_t id = 0; id < sites && code == RGM_ANOMALY_SAMPLED_OUT; id++)
        total += (int64_t)atomic_load(&rgm_session_site_at(session, id)->skipped);
    return total;
}

void rgm_put_counters(rgm_session *session, rgm_bytes *out) {
    uint64_t pairs[RGM_ANOMALY_COUNT][2];
    uint32_t count = 0;
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) {
        int64_t total = rgm_session_counter(session, (rgm_anomaly)code);
        if (!total) continue;
        pairs[count][0] = (uint64_t)code;
        pairs[count++][1] = (uint64_t)total;
    }
    if (count) rgm_put_rows(out, RGM_FRAME_COUNTERS, 0, count, pairs, count * sizeof pairs[0]);
}

void rgm_put_anchors(rgm_session *session, rgm_bytes *out) {
    pthread_mutex_lock(&session->time_mutex);
    // After a failure, between which and now some have gone: those that were written before do no harm.
    if (session->written.anchors > session->time.count) session->written.anchors = 0;
    for (; session->written.anchors < session->time.count; session->written.anchors++) {
        size_t mark = rgm_frame_begin(out, RGM_FRAME_ANCHOR);
        rgm_bytes_append(out, &session->time.anchors[session->written.anchors], sizeof(rgm_anchor));
        rgm_frame_end(out, mark);
    }
    rgm_timebase_thin_out(&session->time);
    session->written.anchors = session->time.count;
    pthread_mutex_unlock(&session->time_mutex);
}

void rgm_put_end(rgm_bytes *out) {
    size_t mark = rgm_frame_begin(out, RGM_FRAME_END);
    rgm_bytes_u64(out, 0); // rgm_frame_number knows
    rgm_frame_end(out, mark);
}

void rgm_put_dictionaries(rgm_session *session, rgm_bytes *out, uint32_t strings, uint32_t sites) {
    rgm_bytes_reset(out);
    put_environment(session, out);
    put_strings(session, out, strings);
    put_sites(session, out, sites);
    rgm_put_threads(session, out);
    rgm_put_anchors(session, out);
}

void rgm_put_state(rgm_session *session, rgm_bytes *out, bool closing) {
    for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next) put_open(session, r, out);
    rgm_put_counters(session, out);
    if (closing) rgm_put_end(out);
}
