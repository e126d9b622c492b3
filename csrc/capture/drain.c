// SPDX-License-Identifier: Apache-2.0
// From the recorders to the journal, and from both to a Run. Everything here runs under the drain lock.
#include <string.h>

#include "base/memory.h"
#include "capture/session_state.h"
#include "io/frame.h"
#include "io/run_file.h"
#include "model/builder.h"

// --- pool -------------------------------------------------------------------------------------------------

static rgm_block *block_new(rgm_session *session) {
    int64_t limit = session->options.memory_budget_bytes / (int64_t)sizeof(rgm_block);
    if (atomic_fetch_add(&session->blocks, 1) >= limit) {
        atomic_fetch_sub(&session->blocks, 1);
        return NULL;
    }
    rgm_block *block = rgm_malloc(sizeof *block);
    if (!block) {
        atomic_fetch_sub(&session->blocks, 1);
        return NULL;
    }
    atomic_init(&block->committed, 0);
    atomic_init(&block->next, NULL);
    return block;
}

static void block_give_back(rgm_session *session, rgm_block *block) {
    atomic_store_explicit(&block->committed, 0, memory_order_relaxed);
    atomic_store_explicit(&block->next, NULL, memory_order_relaxed);
    if ((int64_t)rgm_queue_length(&session->pool) < atomic_load(&session->pool_target) * 2 &&
        rgm_queue_push(&session->pool, block))
        return;
    atomic_fetch_sub(&session->blocks, 1);
    rgm_free(block);
}

void rgm_session_fill_pool(rgm_session *session, int64_t blocks) {
    while ((int64_t)rgm_queue_length(&session->pool) < blocks) {
        rgm_block *block = block_new(session);
        if (!block) return;
        memset(block->records, 0, sizeof block->records); // page faults happen here, not in a scope
        if (!rgm_queue_push(&session->pool, block)) {
            atomic_fetch_sub(&session->blocks, 1);
            rgm_free(block);
            return;
        }
    }
}

rgm_block *rgm_session_take_block(rgm_session *session) {
    rgm_block *block = rgm_queue_pop(&session->pool);
    // The signal is a hint; without it the drainer comes by at its interval.
    if ((int64_t)rgm_queue_length(&session->pool) * 2 < atomic_load(&session->pool_target))
        pthread_cond_signal(&session->drainer_wake);
    if (block) return block;
    block = block_new(session);
    if (block) atomic_fetch_add(&session->hot_blocks, 1);
    return block;
}

// --- walking the recorders --------------------------------------------------------------------------------

// A range of records that had been committed when the walk began.
typedef struct {
    rgm_recorder *recorder;
    rgm_block *last;
    uint32_t last_used;
} extent;

static rgm_recorder *recorders_of(rgm_session *session) {
    pthread_mutex_lock(&session->state_mutex);
    rgm_recorder *head = session->recorders; // only ever grows at the head
    pthread_mutex_unlock(&session->state_mutex);
    return head;
}

static extent extent_of(rgm_recorder *recorder) {
    extent e = {recorder, recorder->first, 0};
    for (;;) {
        rgm_block *next = atomic_load_explicit(&e.last->next, memory_order_acquire);
        e.last_used = atomic_load_explicit(&e.last->committed, memory_order_acquire);
        if (!next) return e;
        e.last = next;
    }
}

typedef rgm_status (*range_sink)(void *arg, uint32_t stream, const rgm_record *records, uint32_t count,
                                 rgm_error *err);

// Hands every range of the extent to the sink, in order.
static rgm_status extent_walk(const extent *e, range_sink sink, void *arg, rgm_error *err) {
    uint32_t from = e->recorder->flushed;
    for (rgm_block *block = e->recorder->first;;) {
        uint32_t used = block == e->last ? e->last_used
                                         : atomic_load_explicit(&block->committed, memory_order_acquire);
        if (used > from)
            RGM_TRY(sink(arg, e->recorder->index, block->records + from, used - from, err));
        if (block == e->last) return RGM_OK;
        block = atomic_load_explicit(&block->next, memory_order_acquire);
        from = 0;
    }
}

static uint64_t extent_consume(rgm_session *session, const extent *e) {
    uint64_t records = 0;
    rgm_recorder *recorder = e->recorder;
    while (recorder->first != e->last) {
        rgm_block *block = recorder->first;
        records += atomic_load(&block->committed) - recorder->flushed;
        recorder->first = atomic_load(&block->next);
        recorder->flushed = 0;
        block_give_back(session, block);
    }
    records += e->last_used - recorder->flushed;
    recorder->flushed = e->last_used;
    return records;
}

// --- journal ----------------------------------------------------------------------------------------------

static void row_frame(rgm_bytes *out, rgm_frame_type type, uint32_t first, uint32_t count, const void *rows,
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

static rgm_site_row site_row(const rgm_site *site) {
    return (rgm_site_row){.name = site->name, .device = site->device, .backend = atomic_load(&site->backend)};
}

static void put_sites(rgm_session *session, rgm_bytes *out, uint32_t count) {
    pthread_mutex_lock(&session->state_mutex);
    uint32_t from = session->written.sites < session->sites_dirty ? session->written.sites : session->sites_dirty;
    session->sites_dirty = UINT32_MAX;
    pthread_mutex_unlock(&session->state_mutex);
    if (from >= count) return;
    size_t mark = rgm_frame_begin(out, RGM_FRAME_SITES);
    rgm_bytes_u32(out, from);
    rgm_bytes_u32(out, count - from);
    for (uint32_t id = from; id < count; id++) {
        rgm_site_row row = site_row(rgm_session_site_at(session, id));
        rgm_bytes_append(out, &row, sizeof row);
    }
    rgm_frame_end(out, mark);
    session->written.sites = count;
}

static void put_threads(rgm_session *session, rgm_bytes *out) {
    pthread_mutex_lock(&session->state_mutex);
    uint32_t from = session->written.threads, count = session->thread_count;
    if (session->threads_dirty < from) from = session->threads_dirty;
    session->threads_dirty = UINT32_MAX;
    if (from < count) {
        row_frame(out, RGM_FRAME_THREADS, from, count - from, session->threads + from,
                  (count - from) * sizeof *session->threads);
        session->written.threads = count;
    }
    pthread_mutex_unlock(&session->state_mutex);
}

static size_t put_samples(rgm_session *session, rgm_bytes *out) {
    pthread_mutex_lock(&session->sample_mutex);
    size_t count = session->sample_count;
    if (count)
        row_frame(out, RGM_FRAME_SAMPLES, 0, (uint32_t)count, session->samples, count * sizeof *session->samples);
    pthread_mutex_unlock(&session->sample_mutex);
    return count;
}

static void drop_samples(rgm_session *session, size_t count) {
    pthread_mutex_lock(&session->sample_mutex);
    if (count > session->sample_count) count = session->sample_count;
    session->sample_count -= count;
    if (count) memmove(session->samples, session->samples + count, session->sample_count * sizeof *session->samples);
    pthread_mutex_unlock(&session->sample_mutex);
}

static void put_open(rgm_session *session, rgm_recorder *recorder, rgm_bytes *out) {
    rgm_open_scope *open = session->open;
    size_t count = rgm_recorder_peek(recorder, open, RGM_OPEN_SCOPES_SEEN);
    if (!count && !recorder->open_written) return;
    row_frame(out, RGM_FRAME_OPEN, recorder->index, (uint32_t)count, open, count * sizeof *open);
    recorder->open_written = count > 0;
}

static int64_t counter_total(rgm_session *session, rgm_anomaly code) {
    int64_t total = atomic_load(&session->counters[code]);
    if (code != RGM_ANOMALY_DROPPED_SCOPES && code != RGM_ANOMALY_LOST_SCOPES && code != RGM_ANOMALY_SAMPLED_OUT)
        return total;
    for (rgm_recorder *r = recorders_of(session); r && code != RGM_ANOMALY_SAMPLED_OUT; r = r->next)
        total += (int64_t)(code == RGM_ANOMALY_DROPPED_SCOPES ? atomic_load(&r->dropped) : atomic_load(&r->lost));
    uint32_t sites = atomic_load_explicit(&session->site_count, memory_order_acquire);
    for (uint32_t id = 0; id < sites && code == RGM_ANOMALY_SAMPLED_OUT; id++)
        total += (int64_t)atomic_load(&rgm_session_site_at(session, id)->skipped);
    return total;
}

static void put_counters(rgm_session *session, rgm_bytes *out) {
    uint64_t pairs[RGM_ANOMALY_COUNT][2];
    uint32_t count = 0;
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) {
        int64_t total = counter_total(session, (rgm_anomaly)code);
        if (!total) continue;
        pairs[count][0] = (uint64_t)code;
        pairs[count++][1] = (uint64_t)total;
    }
    if (count) row_frame(out, RGM_FRAME_COUNTERS, 0, count, pairs, count * sizeof pairs[0]);
}

// The drain that closes the session has run, or is next to run.
static bool is_stopped(rgm_session *session) {
    pthread_mutex_lock(&session->state_mutex);
    bool stopped = session->stopped;
    pthread_mutex_unlock(&session->state_mutex);
    return stopped;
}

static void put_anchors(rgm_session *session, rgm_bytes *out) {
    for (; session->written.anchors < session->time.count; session->written.anchors++) {
        size_t mark = rgm_frame_begin(out, RGM_FRAME_ANCHOR);
        rgm_bytes_append(out, &session->time.anchors[session->written.anchors], sizeof(rgm_anchor));
        rgm_frame_end(out, mark);
    }
}

static bool write_out(rgm_session *session) {
    rgm_error err;
    rgm_bytes *buffer = &session->buffer;
    rgm_error_clear(&err);
    rgm_status status = RGM_OK;
    if (buffer->failed)
        status = rgm_error_no_memory(&err);
    else if (buffer->length)
        status = rgm_journal_append(&session->journal, buffer, &err);
    rgm_bytes_reset(buffer);
    if (status == RGM_OK) return true;
    session->journal_on = false;
    rgm_session_note(session, RGM_ANOMALY_JOURNAL_FAILED, 1);
    rgm_session_warn(session, "%s; recording continues in memory", err.message);
    return false;
}

static rgm_status range_to_buffer(void *arg, uint32_t stream, const rgm_record *records, uint32_t count,
                                  rgm_error *err) {
    (void)err;
    row_frame(arg, RGM_FRAME_RECORDS, stream, count, records, count * sizeof *records);
    return RGM_OK;
}

// Writes what one recorder has, a block at a time, and lets go of what was written.
static bool drain_recorder(rgm_session *session, const extent *e) {
    rgm_recorder *recorder = e->recorder;
    for (;;) {
        bool tail = recorder->first == e->last;
        extent piece = {recorder, tail ? e->last : atomic_load(&recorder->first->next), tail ? e->last_used : 0};
        (void)extent_walk(&piece, range_to_buffer, &session->buffer, NULL);
        if (!write_out(session)) return false;
        session->drained_records += extent_consume(session, &piece);
        if (tail) return true;
    }
}

void rgm_session_anchor(rgm_session *session, bool now) {
    if (!now && session->time.count) {
        const rgm_anchor *last = &session->time.anchors[session->time.count - 1];
        if (rgm_clock_monotonic_ns() - last->monotonic_ns < session->options.anchor_interval_ns) return;
    }
    // Without memory for it the last anchors go on serving.
    if (rgm_timebase_add(&session->time, rgm_clock_anchor(), NULL) != RGM_OK)
        rgm_session_note(session, RGM_ANOMALY_INTERNAL, 1);
}

int64_t rgm_session_elapsed_ns(rgm_session *session, uint64_t start, uint64_t ticks) {
    pthread_mutex_lock(&session->drain_mutex);
    rgm_session_anchor(session, session->time.count < 2);
    int64_t from = rgm_timebase_ns(&session->time, start);
    int64_t elapsed = rgm_timebase_ns(&session->time, start + ticks) - from;
    pthread_mutex_unlock(&session->drain_mutex);
    return elapsed;
}

static bool dictionary_due(rgm_session *session, uint32_t strings, uint32_t sites) {
    return session->written.strings < strings || session->written.sites < sites ||
           session->sites_dirty < sites || session->written.threads < session->thread_count ||
           session->threads_dirty < session->thread_count ||
           (!session->written.environment && session->environment.length);
}

void rgm_session_drain(rgm_session *session, bool closing) {
    if (!session->journal_on) {
        if (closing || !is_stopped(session)) rgm_session_anchor(session, closing);
        return;
    }
    bool due = closing, wrote = false;
    rgm_recorder *recorders = recorders_of(session);
    // Records name strings and sites, so the extents are fixed before the dictionaries are read.
    size_t count = 0;
    for (rgm_recorder *r = recorders; r; r = r->next) count++;
    extent *extents = rgm_malloc((count + 1) * sizeof *extents);
    if (!extents) {
        // Nothing has left memory; only a file that now stays without its end is a loss.
        if (closing) rgm_session_note(session, RGM_ANOMALY_JOURNAL_FAILED, 1);
        if (closing) session->journal_on = false;
        return;
    }
    count = 0;
    for (rgm_recorder *r = recorders; r; r = r->next) {
        extents[count] = extent_of(r);
        due = due || extents[count].last != r->first || extents[count].last_used != r->flushed;
        count++;
    }
    uint32_t strings = rgm_strings_count(&session->strings);
    uint32_t sites = atomic_load_explicit(&session->site_count, memory_order_acquire);
    rgm_session_anchor(session, due);
    due = due || session->written.anchors < session->time.count;
    pthread_mutex_lock(&session->sample_mutex);
    due = due || session->sample_count;
    pthread_mutex_unlock(&session->sample_mutex);
    pthread_mutex_lock(&session->state_mutex);
    due = due || dictionary_due(session, strings, sites);
    pthread_mutex_unlock(&session->state_mutex);
    if (!due) goto done;

    rgm_bytes *out = &session->buffer;
    rgm_bytes_reset(out);
    put_environment(session, out);
    put_strings(session, out, strings);
    put_sites(session, out, sites);
    put_threads(session, out);
    put_anchors(session, out);
    wrote = write_out(session);
    for (size_t i = count; wrote && i-- > 0;) wrote = drain_recorder(session, &extents[i]);
    if (!wrote) goto done;
    size_t samples = put_samples(session, out);
    for (rgm_recorder *r = recorders; r; r = r->next) put_open(session, r, out);
    put_counters(session, out);
    if (closing) {
        size_t mark = rgm_frame_begin(out, RGM_FRAME_END);
        rgm_bytes_u64(out, 0);
        rgm_frame_end(out, mark);
    }
    if (write_out(session)) drop_samples(session, samples);
done:
    if (closing) session->journal_on = false; // nothing may follow the END frame
    rgm_free(extents);
}

// --- snapshot ---------------------------------------------------------------------------------------------

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
        RGM_TRY(rgm_builder_site(builder, id, site_row(rgm_session_site_at(session, id)), err));
    rgm_status status = RGM_OK;
    pthread_mutex_lock(&session->state_mutex);
    for (uint32_t id = 0; status == RGM_OK && id < session->thread_count; id++)
        status = rgm_builder_thread(builder, id, session->threads[id], err);
    if (status == RGM_OK && session->environment.length)
        status = rgm_run_set_text(&rgm_builder_run(builder)->environment, (const char *)session->environment.data,
                                  session->environment.length, err);
    pthread_mutex_unlock(&session->state_mutex);
    for (size_t i = 0; status == RGM_OK && i < session->time.count; i++)
        status = rgm_builder_anchor(builder, session->time.anchors[i], err);
    return status;
}

static rgm_status feed_memory(rgm_session *session, rgm_builder *builder, rgm_error *err) {
    rgm_recorder *recorders = recorders_of(session);
    size_t count = 0;
    for (rgm_recorder *r = recorders; r; r = r->next) count++;
    extent *extents = rgm_malloc((count + 1) * sizeof *extents);
    if (!extents) return rgm_error_no_memory(err);
    rgm_status status = RGM_OK;
    size_t at = 0;
    for (rgm_recorder *r = recorders; r; r = r->next) extents[at++] = extent_of(r);
    RGM_GOTO(feed_dictionaries(session, builder, err));
    while (at-- > 0) {
        rgm_recorder *r = extents[at].recorder;
        size_t open_count = rgm_recorder_peek(r, session->open, RGM_OPEN_SCOPES_SEEN);
        RGM_GOTO(rgm_builder_open(builder, r->index, session->open, open_count, err));
        if (r->base_thread != UINT32_MAX) {
            rgm_record thread = rgm_record_of_thread(r->base_thread);
            RGM_GOTO(rgm_builder_records(builder, r->index, &thread, 1, err));
        }
        RGM_GOTO(extent_walk(&extents[at], range_to_builder, builder, err));
    }
    pthread_mutex_lock(&session->sample_mutex);
    for (size_t i = 0; status == RGM_OK && i < session->sample_count; i++)
        status = rgm_builder_sample(builder, session->samples[i], err);
    pthread_mutex_unlock(&session->sample_mutex);
done:
    rgm_free(extents);
    return status;
}

// The journal's counters may be older than the session's.
static rgm_status feed_counters(rgm_session *session, rgm_builder *builder, rgm_error *err) {
    rgm_anomalies *known = &rgm_builder_run(builder)->anomalies;
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) {
        int64_t missing = counter_total(session, (rgm_anomaly)code);
        for (size_t i = 0; i < known->rows; i++)
            if (known->code[i] == code) missing -= known->count[i];
        RGM_TRY(rgm_builder_note(builder, (rgm_anomaly)code, missing, err));
    }
    return RGM_OK;
}

static rgm_status snapshot_locked(rgm_session *session, rgm_run **run, rgm_error *err) {
    rgm_builder *builder = NULL;
    rgm_status status = RGM_OK;
    bool complete, stopped = is_stopped(session);
    RGM_TRY(rgm_builder_new(&builder, err));
    rgm_session_drain(session, false);
    if (!stopped) rgm_session_anchor(session, true);
    if (session->journal.path && !session->journal_void)
        RGM_GOTO(rgm_journal_read(session->journal.path, RGM_LOAD_STRICT, builder, &complete, err));
    RGM_GOTO(feed_memory(session, builder, err));
    RGM_GOTO(feed_counters(session, builder, err));
    RGM_GOTO(rgm_builder_finish(builder, stopped, run, err));
    (*run)->complete = stopped;
done:
    rgm_builder_free(builder);
    return status;
}

rgm_status rgm_session_snapshot(rgm_session *session, rgm_run **run, rgm_error *err) {
    pthread_mutex_lock(&session->drain_mutex);
    rgm_status status = snapshot_locked(session, run, err);
    pthread_mutex_unlock(&session->drain_mutex);
    return status;
}

rgm_status rgm_session_flush(rgm_session *session, rgm_error *err) {
    pthread_mutex_lock(&session->drain_mutex);
    bool was_on = session->journal_on;
    rgm_session_drain(session, false);
    bool failed = was_on && !session->journal_on;
    pthread_mutex_unlock(&session->drain_mutex);
    return failed ? rgm_error_set(err, RGM_IO, "the recording could not be written") : RGM_OK;
}

// Tells the journal to forget, and again which thread each stream belongs to: the row that did may be gone.
static bool write_reset(rgm_session *session) {
    rgm_bytes *out = &session->buffer;
    if (!session->journal_on) return false;
    rgm_bytes_reset(out);
    rgm_frame_end(out, rgm_frame_begin(out, RGM_FRAME_RESET));
    put_threads(session, out);
    for (rgm_recorder *r = recorders_of(session); r; r = r->next) {
        rgm_record thread = rgm_record_of_thread(atomic_load(&r->thread_row));
        row_frame(out, RGM_FRAME_RECORDS, r->index, 1, &thread, sizeof thread);
    }
    session->written.anchors = 0;
    put_anchors(session, out);
    return write_out(session);
}

void rgm_session_reset(rgm_session *session) {
    pthread_mutex_lock(&session->drain_mutex);
    for (rgm_recorder *r = recorders_of(session); r; r = r->next) {
        extent e = extent_of(r);
        (void)extent_consume(session, &e);
        atomic_store(&r->dropped, 0);
        atomic_store(&r->lost, 0);
    }
    drop_samples(session, SIZE_MAX);
    session->drained_records = 0;
    pthread_mutex_lock(&session->sample_mutex);
    session->samples_total = 0;
    pthread_mutex_unlock(&session->sample_mutex);
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) atomic_store(&session->counters[code], 0);
    uint32_t sites = atomic_load_explicit(&session->site_count, memory_order_acquire);
    for (uint32_t id = 0; id < sites; id++) atomic_store(&rgm_session_site_at(session, id)->skipped, 0);
    rgm_timebase_release(&session->time);
    rgm_session_anchor(session, true);
    if (!write_reset(session)) {
        session->journal_void = true;
        for (rgm_recorder *r = recorders_of(session); r; r = r->next) r->base_thread = atomic_load(&r->thread_row);
    }
    pthread_mutex_unlock(&session->drain_mutex);
}
