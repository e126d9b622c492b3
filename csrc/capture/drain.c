// SPDX-License-Identifier: Apache-2.0
// From the recorders to the journal. Everything here runs under the drain lock.
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "capture/drain_frames.h"
#include "capture/extent.h"

enum { RETRY_INTERVAL_NS = 500 * 1000 * 1000 };

// While the files of the recording have all the room they may take: how often is looked whether somebody has
// taken something out, and how long the end of the recording waits for that.
enum { ROOM_INTERVAL_NS = 20 * 1000 * 1000 };
static const int64_t ROOM_WAIT_NS = 5000000000;

// The drain that closes the session has run, or is next to run.
bool rgm_session_is_stopped(rgm_session *session) {
    pthread_mutex_lock(&session->state_mutex);
    bool stopped = session->stopped;
    pthread_mutex_unlock(&session->state_mutex);
    return stopped;
}

// What could not be written stays in memory, and is tried again from time to time and at the end.
static void stall(rgm_session *session, const char *reason) {
    if (!session->stalled) rgm_session_note(session, RGM_ANOMALY_JOURNAL_FAILED, 1);
    session->stalled = true;
    session->retry_ns = rgm_clock_monotonic_ns() + RETRY_INTERVAL_NS;
    if (session->stall_told) return;
    session->stall_told = true;
    rgm_session_warn(session,
                     "%s; recording continues in memory, and what finds room "
                     "later is still written",
                     reason);
    rgm_session_alarm();
}

// The files may take no more room now, as is to be expected; nothing is lost as long as the memory is enough.
static void wait_for_room(rgm_session *session) {
    session->stalled = true;
    session->retry_ns = rgm_clock_monotonic_ns() + ROOM_INTERVAL_NS;
}

static bool write_out(rgm_session *session, bool last) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_bytes *buffer = &session->buffer;
    rgm_status status = RGM_OK;
    if (buffer->failed)
        status = rgm_error_no_memory(&err);
    else if (buffer->length)
        status = rgm_journal_append(&session->journal, buffer, last, &err);
    rgm_bytes_reset(buffer);
    if (status == RGM_OK) return true;
    if (session->journal.crowded)
        wait_for_room(session);
    else
        stall(session, err.message);
    return false;
}

static rgm_status range_to_buffer(void *arg, uint32_t stream, const rgm_record *records, uint32_t count,
                                  rgm_error *err) {
    (void)err;
    rgm_put_rows(arg, RGM_FRAME_RECORDS, stream, count, records, count * sizeof *records);
    return RGM_OK;
}

// Writes what one recorder has, a block at a time, and lets go of what was written.
static bool drain_recorder(rgm_session *session, const rgm_extent *e) {
    rgm_recorder *recorder = e->recorder;
    for (;;) {
        bool tail = recorder->first == e->last;
        rgm_extent piece = {recorder, tail ? e->last : atomic_load(&recorder->first->next),
                            tail ? e->last_used : 0};
        (void)rgm_extent_walk(&piece, range_to_buffer, &session->buffer, NULL);
        if (!write_out(session, false)) return false;
        session->drained_records += rgm_extent_consume(session, &piece);
        if (tail) return true;
    }
}

static const rgm_frame_type log_frames[] = {
#define LOG_FRAME(frames, name, type, anomaly) RGM_FRAME_##frames,
    RGM_ROW_LOGS(LOG_FRAME)
#undef LOG_FRAME
};

typedef struct {
    rgm_session *session;
    size_t width, written;
    rgm_frame_type type;
} log_drain;

static rgm_status stretch_to_buffer(void *arg, const void *rows, size_t count, rgm_error *err) {
    log_drain *d = arg;
    (void)err;
    rgm_put_rows(&d->session->buffer, d->type, 0, (uint32_t)count, rows, count * d->width);
    d->written += count;
    return RGM_OK;
}

static rgm_status stretch_to_journal(void *arg, const void *rows, size_t count, rgm_error *err) {
    log_drain *d = arg;
    size_t before = d->written;
    RGM_TRY(stretch_to_buffer(arg, rows, count, err));
    if (write_out(d->session, false)) return RGM_OK;
    d->written = before;
    return rgm_error_set(err, RGM_IO, "the rows were not written");
}

// Writes the first rows of a log, a chunk at a time, and lets go of what was written before the next.
static bool drain_log(rgm_session *session, rgm_log which, size_t count) {
    rgm_row_log *log = &session->logs[which];
    size_t most = RGM_ROW_CHUNK_BYTES / log->width;
    while (count) {
        log_drain d = {.session = session, .width = log->width, .type = log_frames[which]};
        rgm_status status = rgm_row_log_walk(log, count < most ? count : most, stretch_to_journal, &d, NULL);
        rgm_row_log_drop(log, d.written);
        if (status != RGM_OK || !d.written) return false;
        count -= d.written;
    }
    return true;
}

// Under the time lock.
static void add_anchor(rgm_session *session, bool now) {
    if (!now && session->time.count) {
        const rgm_anchor *last = &session->time.anchors[session->time.count - 1];
        if (rgm_clock_monotonic_ns() - last->monotonic_ns < session->options.anchor_interval_ns) return;
    }
    // Without memory for it the last anchors go on serving.
    if (rgm_timebase_add(&session->time, rgm_clock_anchor(), NULL) != RGM_OK)
        rgm_session_note(session, RGM_ANOMALY_INTERNAL, 1);
}

void rgm_session_anchor(rgm_session *session, bool now) {
    pthread_mutex_lock(&session->time_mutex);
    add_anchor(session, now);
    pthread_mutex_unlock(&session->time_mutex);
}

void rgm_session_time_forget(rgm_session *session) {
    pthread_mutex_lock(&session->time_mutex);
    rgm_timebase_release(&session->time);
    add_anchor(session, true);
    pthread_mutex_unlock(&session->time_mutex);
}

int64_t rgm_session_elapsed_ns(rgm_session *session, uint64_t start, uint64_t ticks) {
    pthread_mutex_lock(&session->time_mutex);
    add_anchor(session, session->time.count < 2);
    int64_t from = rgm_timebase_ns(&session->time, start);
    int64_t elapsed = rgm_timebase_ns(&session->time, start + ticks) - from;
    pthread_mutex_unlock(&session->time_mutex);
    return elapsed;
}

static bool anchors_due(rgm_session *session) {
    pthread_mutex_lock(&session->time_mutex);
    bool due = session->written.anchors < session->time.count;
    pthread_mutex_unlock(&session->time_mutex);
    return due;
}

static bool dictionary_due(rgm_session *session, uint32_t strings, uint32_t sites) {
    return session->written.strings < strings || session->written.sites < sites ||
           session->sites_dirty < sites || session->written.threads < session->thread_count ||
           session->threads_dirty < session->thread_count ||
           (!session->written.environment && session->environment.length);
}

// What of the recording goes to the file now; fixed before the dictionaries are read, which then hold all
// that these records and rows name.
typedef struct {
    rgm_extent *extents;
    size_t count;
    size_t rows[RGM_LOG_COUNT];
    uint32_t strings, sites;
    bool any;
} portion;

static bool take_portion(rgm_session *session, portion *p) {
    rgm_recorder *recorders = rgm_session_recorders(session);
    *p = (portion){0};
    for (rgm_recorder *r = recorders; r; r = r->next) p->count++;
    p->extents = rgm_malloc((p->count + 1) * sizeof *p->extents);
    if (!p->extents) return false;
    p->count = 0;
    for (rgm_recorder *r = recorders; r; r = r->next) {
        rgm_extent e = rgm_extent_of(r);
        p->any = p->any || e.last != r->first || e.last_used != r->flushed;
        p->extents[p->count++] = e;
    }
    for (int log = 0; log < RGM_LOG_COUNT; log++) {
        p->rows[log] = rgm_row_log_count(&session->logs[log]);
        p->any = p->any || p->rows[log];
    }
    p->strings = rgm_strings_count(&session->strings);
    p->sites = atomic_load_explicit(&session->site_count, memory_order_acquire);
    return true;
}

// After a failed write: the dictionaries are written from their beginnings again, which does no harm.
static void forget_written(rgm_session *session, rgm_written before) {
    session->written = before;
    pthread_mutex_lock(&session->state_mutex);
    session->sites_dirty = session->threads_dirty = 0;
    pthread_mutex_unlock(&session->state_mutex);
    for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next) r->open_written = true;
}

static bool write_or_forget(rgm_session *session, rgm_written before) {
    bool wrote = write_out(session, false);
    if (!wrote) forget_written(session, before);
    return wrote;
}

static bool write_dictionaries(rgm_session *session, uint32_t strings, uint32_t sites) {
    rgm_written before = session->written;
    rgm_put_dictionaries(session, &session->buffer, strings, sites);
    return write_or_forget(session, before);
}

// Whether it is little enough to be written at once.
static bool is_small(const rgm_session *session, const portion *p) {
    enum { SMALL_BYTES = 64 << 10 };
    size_t bytes = 0;
    for (size_t i = 0; i < p->count; i++) {
        const rgm_extent *e = &p->extents[i];
        if (e->last != e->recorder->first) return false;
        bytes += (e->last_used - e->recorder->flushed) * sizeof(rgm_record);
    }
    for (int log = 0; log < RGM_LOG_COUNT; log++) bytes += p->rows[log] * session->logs[log].width;
    return bytes <= SMALL_BYTES;
}

// All of it by one write: where the program needs all processors, each further one holds it up.
static bool write_together(rgm_session *session, const portion *p, bool closing) {
    rgm_bytes *out = &session->buffer;
    rgm_written before = session->written;
    rgm_status status = RGM_OK;
    rgm_put_dictionaries(session, out, p->strings, p->sites);
    for (size_t i = p->count; i-- > 0;) (void)rgm_extent_walk(&p->extents[i], range_to_buffer, out, NULL);
    for (int log = 0; status == RGM_OK && log < RGM_LOG_COUNT; log++) {
        log_drain d = {.session = session, .width = session->logs[log].width, .type = log_frames[log]};
        status = rgm_row_log_walk(&session->logs[log], p->rows[log], stretch_to_buffer, &d, NULL);
    }
    rgm_put_state(session, out, closing);
    if (status != RGM_OK || !write_out(session, false)) {
        forget_written(session, before);
        return false;
    }
    for (size_t i = 0; i < p->count; i++)
        session->drained_records += rgm_extent_consume(session, &p->extents[i]);
    for (int log = 0; log < RGM_LOG_COUNT; log++) rgm_row_log_drop(&session->logs[log], p->rows[log]);
    return true;
}

static bool write_portion(rgm_session *session, const portion *p, bool closing) {
    if (is_small(session, p) && write_together(session, p, closing)) return true;
    bool wrote = write_dictionaries(session, p->strings, p->sites);
    for (size_t i = p->count; wrote && i-- > 0;) wrote = drain_recorder(session, &p->extents[i]);
    for (int log = 0; wrote && log < RGM_LOG_COUNT; log++)
        wrote = drain_log(session, (rgm_log)log, p->rows[log]);
    if (!wrote) return false;
    rgm_written before = session->written;
    rgm_put_state(session, &session->buffer, closing);
    return write_or_forget(session, before);
}

static rgm_status count_scopes(void *arg, uint32_t stream, const rgm_record *records, uint32_t count,
                               rgm_error *err) {
    (void)stream, (void)err;
    for (uint32_t i = 0; i < count; i++)
        *(int64_t *)arg +=
            rgm_record_kind_of(&records[i]) == RGM_RECORD_SCOPE && !(records[i].info & RGM_RECORD_FORGOTTEN);
    return RGM_OK;
}

// Where whole blocks found no room, pieces of the first ones may.
static void write_pieces(rgm_session *session) {
    enum { LEAST = 32 };
    uint32_t strings = rgm_strings_count(&session->strings);
    if (!write_dictionaries(session, strings, atomic_load(&session->site_count))) return;
    for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next) {
        rgm_extent all = rgm_extent_of(r);
        uint32_t end = all.last == r->first ? all.last_used : atomic_load(&r->first->committed);
        for (uint32_t size = end - r->flushed; size >= LEAST; size /= 2) {
            rgm_extent piece = {r, r->first, r->flushed + size};
            if (piece.last_used > end) continue;
            rgm_bytes_reset(&session->buffer);
            (void)rgm_extent_walk(&piece, range_to_buffer, &session->buffer, NULL);
            if (write_out(session, false)) session->drained_records += rgm_extent_consume(session, &piece);
        }
    }
}

// The file is closed without what found no room: it says how much that is.
static void write_last(rgm_session *session) {
    int64_t left = 0;
    if (!session->journal_void) write_pieces(session);
    for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next) {
        rgm_extent e = rgm_extent_of(r);
        (void)rgm_extent_walk(&e, count_scopes, &left, NULL);
    }
    for (int log = 0; log < RGM_LOG_COUNT; log++) left += (int64_t)rgm_row_log_count(&session->logs[log]);
    if (left) rgm_session_note(session, RGM_ANOMALY_UNWRITTEN_ROWS, left);
    rgm_bytes *out = &session->buffer;
    rgm_bytes_reset(out);
    if (session->journal_void) rgm_frame_end(out, rgm_frame_begin(out, RGM_FRAME_RESET));
    rgm_put_counters(session, out);
    rgm_put_end(out);
    (void)write_out(session, true);
}

static bool write_reset(rgm_session *session);

// Writes what is due; false where some of it stays in memory.
static bool write_due(rgm_session *session, bool closing) {
    portion p;
    if (!take_portion(session, &p)) { // nothing has left memory
        if (closing) rgm_session_note(session, RGM_ANOMALY_JOURNAL_FAILED, 1);
        return false;
    }
    rgm_session_anchor(session, p.any || closing);
    bool due = p.any || closing || session->stalled || anchors_due(session);
    pthread_mutex_lock(&session->state_mutex);
    due = due || dictionary_due(session, p.strings, p.sites);
    pthread_mutex_unlock(&session->state_mutex);
    bool whole =
        !due || ((!session->journal_void || write_reset(session)) && write_portion(session, &p, closing));
    if (whole && due) session->stalled = false;
    rgm_free(p.extents);
    return whole;
}

void rgm_session_drain(rgm_session *session, bool closing) {
    if (!session->journal_on) {
        if (closing || !rgm_session_is_stopped(session)) rgm_session_anchor(session, closing);
        return;
    }
    if (session->stalled && !closing && rgm_clock_monotonic_ns() < session->retry_ns) return;
    bool whole = write_due(session, closing);
    if (!closing) return;
    int64_t end_ns = rgm_clock_monotonic_ns() + ROOM_WAIT_NS;
    while (!whole && session->journal.crowded && rgm_clock_monotonic_ns() < end_ns) {
        (void)nanosleep(&(struct timespec){.tv_nsec = ROOM_INTERVAL_NS}, NULL);
        whole = write_due(session, true);
    }
    if (!whole) write_last(session);
    rgm_session_journal(session, false); // nothing may follow the END frame
}

rgm_status rgm_session_flush(rgm_session *session, rgm_error *err) {
    pthread_mutex_lock(&session->drain_mutex);
    bool was_on = session->journal_on;
    if (was_on) rgm_session_anchor(session, true); // scopes that stay open are known to have lasted until now
    session->retry_ns = 0;
    rgm_session_drain(session, false);
    bool failed = was_on && session->stalled;
    pthread_mutex_unlock(&session->drain_mutex);
    return failed ? rgm_error_set(err, RGM_IO, "the recording could not be written") : RGM_OK;
}

// Tells the journal to forget, and again which thread each stream belongs to: the row that did may be gone.
static bool write_reset(rgm_session *session) {
    rgm_bytes *out = &session->buffer;
    rgm_written before = session->written;
    if (!session->journal_on) return false;
    rgm_bytes_reset(out);
    rgm_frame_end(out, rgm_frame_begin(out, RGM_FRAME_RESET));
    rgm_put_threads(session, out);
    for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next) {
        bool known = r->base_thread != UINT32_MAX; // of a reset that found no room then
        rgm_record thread = rgm_record_of_thread(known ? r->base_thread : atomic_load(&r->thread_row));
        rgm_put_rows(out, RGM_FRAME_RECORDS, r->index, 1, &thread, sizeof thread);
    }
    session->written.anchors = 0;
    rgm_put_anchors(session, out);
    if (!write_out(session, false)) {
        forget_written(session, before);
        return false;
    }
    session->journal_void = false;
    for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next) r->base_thread = UINT32_MAX;
    return true;
}

void rgm_session_reset(rgm_session *session) {
    pthread_mutex_lock(&session->drain_mutex);
    for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next) {
        rgm_extent e = rgm_extent_of(r);
        (void)rgm_extent_consume(session, &e);
        atomic_store(&r->dropped, 0);
        atomic_store(&r->lost, 0);
    }
    rgm_stack_sampler_hold(&session->stacks); // rows of samples name rows of stacks
    for (int log = 0; log < RGM_LOG_COUNT; log++) rgm_row_log_reset(&session->logs[log]);
    rgm_stack_sampler_clear(&session->stacks);
    atomic_store(&session->listening.found, false);
    rgm_stack_sampler_release_hold(&session->stacks);
    session->drained_records = 0;
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) atomic_store(&session->counters[code], 0);
    for (int what = 0; what < RGM_OWN_COUNT; what++) atomic_store(&session->own[what], 0);
    uint32_t sites = atomic_load_explicit(&session->site_count, memory_order_acquire);
    for (uint32_t id = 0; id < sites; id++) atomic_store(&rgm_session_site_at(session, id)->skipped, 0);
    rgm_session_time_forget(session);
    if (!write_reset(session)) {
        session->journal_void = true;
        for (rgm_recorder *r = rgm_session_recorders(session); r; r = r->next)
            r->base_thread = atomic_load(&r->thread_row);
    }
    pthread_mutex_unlock(&session->drain_mutex);
}
