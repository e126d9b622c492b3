// SPDX-License-Identifier: Apache-2.0
// Records by the double of CUPTI: its buffers, and what it fills them with. A part of cupti.c, which
// includes it once.
#ifndef RGM_FAKES_CUPTI_ACTIVITIES_H
#define RGM_FAKES_CUPTI_ACTIVITIES_H

static void *give_back(void *arg) {
    buffer *b = arg;
    inside = INSIDE_BUFFERS;
    if (completed) completed(NULL, 0, b->data, b->size, b->used);
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

static bool more_room(void) {
    uint8_t *data = NULL;
    size_t size = 0, most = 0;
    rgm_cupti_requested ask = requested;
    if (ask) {
        int before = inside;
        inside = INSIDE_BUFFERS;
        ask(&data, &size, &most);
        inside = before;
    }
    if (!data) {
        FAKE_VALUE(declined)++;
        if (FAKE_VALUE(version) < 27) abort(); // such a CUPTI crashes
        return false;
    }
    current = (buffer){.data = data, .size = size};
    return true;
}

// The oldest full buffer, once its work has ended, as CUPTI's worker does.
static void deliver_full(void) {
    buffer oldest = {0};
    if (!FAKE_VALUE(eager)) return;
    pthread_mutex_lock(&mutex);
    if (full_count && full[0].ready_ns <= monotonic()) {
        oldest = full[0];
        memmove(full, full + 1, --full_count * sizeof *full);
    }
    pthread_mutex_unlock(&mutex);
    if (oldest.data) deliver(&oldest);
}

static void add_record(uint32_t kind, const uint8_t *record, size_t size, int64_t end_ns) {
    pthread_mutex_lock(&mutex);
    if (kind < KINDS && enabled_kinds[kind]) {
        FAKE_VALUE(records)++;
        if (current.data && current.used + size > current.size) {
            if (full_count == BUFFERS) abort();
            full[full_count++] = current;
            current.data = NULL;
        }
        if (current.data || more_room()) {
            memcpy(current.data + current.used, record, size);
            current.used += size;
            current.records++;
            if (end_ns > current.ready_ns) current.ready_ns = end_ns;
        } else {
            FAKE_VALUE(dropped)++;
            FAKE_VALUE(drop)++;
        }
    }
    pthread_mutex_unlock(&mutex);
    deliver_full();
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

// The launch was queued when its call began, and submitted a little later, but before the work began.
static void set_queue(layout_work *w, int64_t start_ns, int64_t begun_ns) {
    if (!queue_times || FAKE_VALUE(used_before) || begun_ns > start_ns) return;
    uint64_t before = (uint64_t)(start_ns - begun_ns), submit = (uint64_t)FAKE_VALUE(submit_ns);
    w->queued = w->start - before;
    w->submitted = w->queued + (submit < before ? submit : before);
}

static void add_work(uint32_t kind, layout_work *w, int64_t start_ns, int64_t end_ns, int64_t begun_ns) {
    w->start = stamp(start_ns);
    w->end = w->start + (uint64_t)(end_ns - start_ns);
    if (kind == LAYOUT_KERNEL) set_queue(w, start_ns, begun_ns);
    add_stamped(kind, w, end_ns);
}

#endif
