// SPDX-License-Identifier: Apache-2.0
// Records by the double of CUPTI: its buffers, and what it fills them with. A part of cupti.c, which
// includes it once.
#ifndef RGM_FAKES_CUPTI_ACTIVITIES_H
#define RGM_FAKES_CUPTI_ACTIVITIES_H

// To whom the client gave its callbacks by now: another may have taken them over.
static void *give_back(void *arg) {
    buffer *b = arg;
    pthread_mutex_lock(&mutex);
    rgm_cupti_completed completed = b->of->completed;
    rgm_cupti_completed_of completed_of = b->of->completed_of;
    pthread_mutex_unlock(&mutex);
    inside = INSIDE_BUFFERS;
    if (completed) completed(NULL, 0, b->data, b->size, b->used);
    if (completed_of) completed_of(b->data, b->size, b->used, NULL);
    inside = 0;
    return NULL;
}

// A buffer goes back without the mutex.
static void deliver(buffer *b) {
    pthread_t thread;
    FAKE_VALUE(delivered) += b->records;
    if (FAKE_VALUE(own_thread) && pthread_create(&thread, NULL, give_back, b) == 0)
        pthread_join(thread, NULL);
    else
        give_back(b);
}

static bool more_room(client *c) {
    uint8_t *data = NULL;
    size_t size = 0, most = 0;
    int before = inside;
    inside = INSIDE_BUFFERS;
    if (c->requested) c->requested(&data, &size, &most);
    if (c->requested_of) c->requested_of(&data, &size, &most, NULL);
    inside = before;
    if (!data) {
        FAKE_VALUE(declined)++;
        if (FAKE_VALUE(version) < 27) abort(); // such a CUPTI crashes
        return false;
    }
    c->current = (buffer){.of = c, .data = data, .size = size};
    return true;
}

// The oldest full buffer, once its work has ended, as CUPTI's worker does.
static void deliver_full(client *c) {
    buffer oldest = {0};
    if (!FAKE_VALUE(eager)) return;
    pthread_mutex_lock(&mutex);
    if (c->full_count && c->full[0].ready_ns <= monotonic()) {
        oldest = c->full[0];
        memmove(c->full, c->full + 1, --c->full_count * sizeof *c->full);
    }
    pthread_mutex_unlock(&mutex);
    if (oldest.data) deliver(&oldest);
}

// Those of a flush: whose work has ended, or all of them. Under the mutex.
static size_t take_buffers(client *c, bool forced, buffer *out) {
    size_t count = 0, kept = 0;
    int64_t now = monotonic();
    for (size_t i = 0; i < c->full_count; i++) {
        if (forced || c->full[i].ready_ns <= now)
            out[count++] = c->full[i];
        else
            c->full[kept++] = c->full[i];
    }
    c->full_count = kept;
    if (c->current.data && (forced || c->current.ready_ns <= now)) {
        out[count++] = c->current;
        c->current.data = NULL;
    }
    return count;
}

// Under the mutex.
static void add_to(client *c, const uint8_t *record, size_t size, int64_t end_ns) {
    FAKE_VALUE(records)++;
    if (c->current.data && c->current.used + size > c->current.size) {
        if (c->full_count == BUFFERS) abort();
        c->full[c->full_count++] = c->current;
        c->current.data = NULL;
    }
    if (c->current.data || more_room(c)) {
        memcpy(c->current.data + c->current.used, record, size);
        c->current.used += size;
        c->current.records++;
        if (end_ns > c->current.ready_ns) c->current.ready_ns = end_ns;
    } else {
        FAKE_VALUE(dropped)++;
        FAKE_VALUE(drop)++;
    }
}

static void add_record(uint32_t kind, const uint8_t *record, size_t size, int64_t end_ns) {
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < CLIENTS; i++)
        if (kind < KINDS && clients[i].kinds[kind]) add_to(&clients[i], record, size, end_ns);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < CLIENTS; i++) deliver_full(&clients[i]);
}

static uint32_t version(void) { return (uint32_t)FAKE_VALUE(version); }

// Work whose times are those of records already.
static void add_stamped(uint32_t kind, layout_work *w, int64_t end_ns) {
    uint8_t record[LAYOUT_LARGEST];
    static _Atomic(long long) made;
    size_t size = 0;
    if (FAKE_VALUE(zero_every) && ++made % FAKE_VALUE(zero_every) == 0) w->end = 0;
    switch (kind) {
    case LAYOUT_KERNEL: size = layout_kernel(record, version(), w); break;
    case LAYOUT_MEMCPY: size = layout_copy(record, version(), w); break;
    case LAYOUT_MEMSET: size = layout_set(record, version(), w); break;
    default: size = layout_graph(record, version(), w);
    }
    add_record(kind, record, size, end_ns);
}

static bool queue_times;

// The launch was queued when its call began. It counts as submitted shortly before it starts, so behind the
// earlier work of its stream, as on an H200 with CUPTI 13.0.1; or shortly after it was queued, as one may
// read the header.
static void set_queue(layout_work *w, int64_t start_ns, int64_t begun_ns) {
    if (!queue_times || FAKE_VALUE(used_before) || begun_ns > start_ns) return;
    uint64_t before = (uint64_t)(start_ns - begun_ns), submit = (uint64_t)FAKE_VALUE(submit_ns);
    w->queued = w->start - before;
    if (submit > before) submit = before;
    w->submitted = FAKE_VALUE(submit_early) ? w->queued + submit : w->start - submit;
}

static void add_work(uint32_t kind, layout_work *w, int64_t start_ns, int64_t end_ns, int64_t begun_ns) {
    w->start = stamp(start_ns);
    w->end = w->start + (uint64_t)(end_ns - start_ns);
    if (kind == LAYOUT_KERNEL) set_queue(w, start_ns, begun_ns);
    add_stamped(kind, w, end_ns);
}

#endif
