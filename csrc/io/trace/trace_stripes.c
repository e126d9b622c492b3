// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_stripes.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "io/trace/trace_scan.h"

enum {
    STRIPE = 1 << 20,
    SHORTER = 16, // at the end a stripe is a part of that
    LOST = -2,    // no place of an event
};

typedef struct {
    const rgm_source *source;
    const rgm_import_options *options;
    rgm_trace_part *whole;
    int64_t stripe;
    pthread_mutex_t mutex;
    pthread_cond_t turned;
    int64_t next, from; // number and place of the stripe that nobody has taken
    int64_t turn;       // stripe to be joined next
    bool over;
    // Of that stripe. Only the thread whose turn it is looks at these, without the mutex.
    int64_t begin;     // where it begins
    int64_t expected;  // where its events begin; LOST when that is looked for after damage
    uint8_t after;     // the parser's state there
    rgm_trace_gap gap; // when it is LOST
    int64_t wasted;
    bool hopeless;
    bool closed;
    rgm_status status;
    rgm_error err;
} stripes;

typedef struct {
    stripes *all;
    rgm_trace_parser *parser;
    rgm_trace_part part;
    rgm_trace_ids ids;
    uint8_t *buffer;
    size_t capacity;
    rgm_trace_text text;
    // What reading a stripe came to.
    int64_t begin, end; // first event and where reading stopped; begin is -1 when there was no event
    bool closed;
    rgm_trace_stretch skipped; // from where the stripe begins to the first event
    rgm_status status;
    rgm_error err;
} reader;

// Makes the window hold at least `size` bytes from the place where it begins.
static rgm_status load(reader *r, size_t size, rgm_error *err) {
    if (size > r->capacity) {
        ptrdiff_t at = r->buffer ? r->text.at - r->buffer : 0, held = r->buffer ? r->text.end - r->buffer : 0;
        uint8_t *buffer = rgm_block_realloc(r->buffer, size + RGM_TEXT_PADDING);
        if (!buffer) return rgm_error_no_memory(err);
        r->buffer = buffer;
        r->capacity = size;
        r->text.begin = buffer;
        r->text.at = buffer + at;
        r->text.end = buffer + held;
    }
    while (r->text.end < r->buffer + size && !r->text.final) {
        const rgm_source *source = r->all->source;
        size_t filled, held = (size_t)(r->text.end - r->buffer);
        RGM_TRY(source->read_at(source->context, r->text.offset + (int64_t)held, r->buffer + held,
                                size - held, &filled, err));
        r->text.end += filled;
        r->text.final = filled == 0;
    }
    memset(r->buffer + (r->text.end - r->buffer), 0, RGM_TEXT_PADDING);
    return RGM_OK;
}

static rgm_status open_window(reader *r, int64_t from, int64_t to, rgm_error *err) {
    r->text = (rgm_trace_text){.begin = r->buffer, .end = r->buffer, .at = r->buffer, .offset = from};
    return load(r, (size_t)(to - from) + (size_t)r->all->stripe / 32, err);
}

static int64_t place(const reader *r) { return r->text.offset + (r->text.at - r->text.begin); }

// Reads events from text.at up to the first that begins at `to` or later.
static rgm_status read_until(reader *r, int64_t to) {
    r->begin = place(r);
    for (;;) {
        r->text.stop = r->text.begin + (to - r->text.offset);
        switch (r->parser->parse(r->parser, &r->text, &r->part, &r->status, &r->err)) {
        case RGM_PARSE_FAILED: r->end = place(r); return r->status;
        case RGM_PARSE_CLOSED:
            r->closed = true;
            r->end = place(r);
            return RGM_OK;
        case RGM_PARSE_STOP: r->end = place(r); return RGM_OK;
        case RGM_PARSE_MORE:
            r->end = place(r);
            if (r->parser->lost && r->parser->gap.at >= to) {
                r->end = LOST;
                return RGM_OK;
            }
            if (r->text.final || r->end >= to) return RGM_OK; // spaces or commas reach into the next stripe
            RGM_TRY(load(r, (size_t)(r->text.end - r->text.begin) * 2, &r->err));
        }
    }
}

static void start_at(reader *r, uint8_t after, int64_t wasted) {
    r->closed = false;
    r->parser->after = after;
    r->parser->lost = r->parser->hopeless = false;
    r->parser->wasted = wasted;
    r->parser->excess = INT64_MIN;
}

// Reads the stripe that begins at `from` from its first event on, wherever that seems to be.
static rgm_status read_guessed(reader *r, int64_t from, int64_t to) {
    int64_t before = from > RGM_GAP_BACK ? from - RGM_GAP_BACK : 0, at = from;
    r->begin = r->end = -1;
    r->skipped = (rgm_trace_stretch){0};
    start_at(r, 2, 0);
    RGM_TRY(open_window(r, before, to, &r->err));
    for (bool found = false; !found;) {
        rgm_trace_text *text = &r->text;
        if (at >= to || (text->final && at >= before + (text->end - text->begin))) return RGM_OK;
        const uint8_t *limit =
            text->begin + (to - before) < text->end ? text->begin + (to - before) : text->end;
        const uint8_t *begin = text->begin + (at - before);
        text->at = rgm_trace_resync(begin, limit, text->begin, text->end, text->final, &found);
        rgm_trace_stretch_read(&r->skipped, begin, text->at, text->begin, text->end);
        at = place(r);
        if (!found && at < to && !text->final)
            RGM_TRY(load(r, (size_t)(text->end - text->begin) * 2, &r->err));
    }
    return read_until(r, to);
}

static rgm_status read_from(reader *r, int64_t from, int64_t to, uint8_t after, int64_t wasted) {
    start_at(r, after, wasted);
    RGM_TRY(open_window(r, from, to, &r->err));
    return read_until(r, to);
}

// What was read from a wrong place may have left names that the input does not have.
static rgm_status renew(reader *r) {
    rgm_trace_part_release(&r->part);
    rgm_trace_ids_release(&r->ids);
    return rgm_trace_part_init(&r->part, &r->err);
}

// When the stripe before ended in a gap: the gap goes on up to where this one found an event. False when it
// found none.
static bool close_gap(reader *r, int64_t to) {
    stripes *all = r->all;
    rgm_trace_stretch_join(&all->gap.lost, &r->skipped);
    all->gap.at = to;
    if (r->begin < 0) return false;
    rgm_trace_gap_close(&all->gap, all->whole, RGM_ANOMALY_INVALID_JSON);
    all->expected = r->begin;
    all->after = 2;
    return true;
}

// In turn: what was read from a wrong place is read again, and so is what one thread would have given up;
// then the rows go to the whole.
static rgm_status join(reader *r, int64_t to) {
    stripes *all = r->all;
    if (all->expected == LOST && r->begin < 0)
        RGM_TRY(r->status); // not to be taken for a stripe without events
    if (all->expected == LOST && !close_gap(r, to)) return RGM_OK;
    if (all->expected >= to) return r->begin < 0 ? RGM_OK : renew(r); // no event begins here
    bool wrong = r->begin != all->expected || all->after == 1;
    if (wrong ||
        (r->parser->excess > INT64_MIN && all->wasted + r->parser->excess > r->parser->waste_limit)) {
        r->status = RGM_OK;
        RGM_TRY(renew(r));
        RGM_TRY(read_from(r, all->expected, to, all->after, all->wasted));
        all->wasted = r->parser->wasted;
    } else {
        all->wasted += r->parser->wasted;
    }
    RGM_TRY(r->status);
    RGM_TRY(rgm_trace_part_join(all->whole, &r->part, &r->ids, &r->err));
    all->expected = r->end;
    all->after = r->parser->after;
    all->closed = r->closed;
    all->gap = r->parser->gap;
    all->hopeless = r->parser->hopeless;
    return RGM_OK;
}

// Takes the next stripe. Towards the end they get shorter, so that no thread waits long for the other's last
// one; the last piece is the caller's.
static bool take(stripes *all, int64_t *k, int64_t *from, int64_t *to) {
    pthread_mutex_lock(&all->mutex);
    int64_t size = (all->source->size - all->from) / 4, least = all->stripe / SHORTER + 1;
    if (size > all->stripe) size = all->stripe;
    if (size < least) size = least;
    *k = all->next;
    *from = all->from;
    *to = all->from + size;
    bool taken = !all->over && *to < all->source->size;
    if (taken) {
        all->next++;
        all->from = *to;
    }
    pthread_mutex_unlock(&all->mutex);
    return taken;
}

// Waits until all stripes before have been joined; false when reading is over.
static bool wait_for_turn(stripes *all, int64_t k) {
    pthread_mutex_lock(&all->mutex);
    while (all->turn != k && !all->over) (void)rgm_cond_wait(&all->turned, &all->mutex, INT64_C(1000000000));
    bool mine = !all->over;
    pthread_mutex_unlock(&all->mutex);
    return mine;
}

static void end_turn(stripes *all, const reader *r, int64_t to, rgm_status status) {
    all->begin = to;
    if (status != RGM_OK) {
        all->status = status;
        all->err = r->err;
    }
    pthread_mutex_lock(&all->mutex);
    all->turn++;
    all->over = all->closed || all->hopeless || status != RGM_OK;
    pthread_cond_broadcast(&all->turned);
    pthread_mutex_unlock(&all->mutex);
}

static void *work(void *arg) {
    reader *r = arg;
    stripes *all = r->all;
    int64_t k, from, to;
    while (take(all, &k, &from, &to)) {
        rgm_trace_part_clear(&r->part);
        rgm_error_clear(&r->err);
        r->status = RGM_OK;
        rgm_status status = k == 0 ? read_from(r, from, to, 0, 0) : read_guessed(r, from, to);
        if (!wait_for_turn(all, k)) break;
        r->status = status;
        end_turn(all, r, to, join(r, to));
    }
    return NULL;
}

static rgm_status reader_init(reader *r, stripes *all, rgm_trace_parser *parser, rgm_error *err) {
    r->all = all;
    r->parser = parser;
    return rgm_trace_part_init(&r->part, err);
}

static void reader_release(reader *r) {
    rgm_trace_part_release(&r->part);
    rgm_trace_ids_release(&r->ids);
    rgm_block_free(r->buffer);
}

rgm_status rgm_trace_read_stripes(const rgm_source *source, const rgm_import_options *options,
                                  rgm_trace_parser *parser, rgm_trace_part *part, int64_t *offset,
                                  bool *closed, rgm_error *err) {
    stripes all = {.source = source,
                   .options = options,
                   .whole = part,
                   .from = *offset,
                   .begin = *offset,
                   .expected = *offset,
                   .stripe = options->stripe > 0 ? options->stripe : STRIPE};
    reader here = {0}, there = {0};
    rgm_trace_parser *second = rgm_calloc(1, sizeof *second);
    rgm_status status;
    pthread_t thread;
    pthread_mutex_init(&all.mutex, NULL);
    rgm_cond_init(&all.turned);
    if (!second) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    RGM_GOTO(
        rgm_trace_parser_init(second, (rgm_scan_choice)options->scan, options->strict, options->waste, err));
    RGM_GOTO(reader_init(&here, &all, parser, err));
    RGM_GOTO(reader_init(&there, &all, second, err));
    // Stripes are taken and joined in order, so one thread does all of them where no second can be had.
    bool two = rgm_thread_start(&thread, "rgm-import", work, &there, NULL) == RGM_OK;
    work(&here);
    if (two) pthread_join(thread, NULL);
    status = all.status;
    if (status != RGM_OK && err) *err = all.err;
    *closed = all.closed;
    parser->lost = all.expected == LOST;
    parser->gap = all.gap;
    parser->wasted = all.wasted;
    parser->hopeless = all.hopeless;
    parser->after = all.after;
    *offset = parser->lost ? all.begin : all.expected;
done:
    reader_release(&here);
    reader_release(&there);
    if (second) rgm_trace_parser_release(second);
    rgm_free(second);
    pthread_cond_destroy(&all.turned);
    pthread_mutex_destroy(&all.mutex);
    return status;
}
