// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_gap.h"

#include <string.h>

enum {
    MARGIN = 64,  // bytes behind a place that counting looks at
    BEFORE = 128, // spaces before a place that are looked over
    SPACES = 16,  // between a key that is counted and its colon
    DEEP = 8,     // levels of an object in which the key "ph" is looked for
};

static bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static const uint8_t *skip_space(const uint8_t *at, const uint8_t *limit) {
    while (at < limit && is_space(*at)) at++;
    return at;
}

static const uint8_t *nearer(const uint8_t *at, ptrdiff_t size, const uint8_t *end) {
    return end - at > size ? at + size : end;
}

// What stands before a place, spaces aside; a comma when that is not to be seen.
static uint8_t byte_before(const uint8_t *at, const uint8_t *begin) {
    const uint8_t *low = at - begin > BEFORE ? at - BEFORE : begin;
    while (at > low && is_space(at[-1])) at--;
    return at > low ? at[-1] : ',';
}

// --- counting ---------------------------------------------------------------------------------------------

static const char *const counted[] = {"\"ph\"", "\"ts\"", "\"pid\"", "\"cat\"", "\"args\""};
static const char *const first[] = {"\"name\"", "\"tid\"", "\"dur\"", "\"id\"", "\"bp\""};
enum { COUNTED = sizeof counted / sizeof *counted, FIRST = sizeof first / sizeof *first };
_Static_assert(COUNTED + 1 == RGM_GAP_KEYS, "one more than is counted");

static int64_t most_of(const int64_t keys[RGM_GAP_KEYS]) {
    int64_t most = 0;
    for (int i = 0; i < RGM_GAP_KEYS; i++)
        if (keys[i] > most) most = keys[i];
    return most;
}

static bool is_key(const uint8_t *at, const char *key, const uint8_t *end) {
    ptrdiff_t length = (ptrdiff_t)strlen(key);
    if (end - at <= length || memcmp(at, key, (size_t)length) != 0) return false;
    const uint8_t *colon = skip_space(at + length, nearer(at + length, SPACES, end));
    return colon < end && *colon == ':';
}

void rgm_trace_stretch_read(rgm_trace_stretch *stretch, const uint8_t *from, const uint8_t *to,
                            const uint8_t *begin, const uint8_t *end) {
    for (const uint8_t *at = from; at < to; at++) {
        uint8_t before = *at == '{' ? byte_before(at, begin) : ':';
        if (before != ':') {
            stretch->rows += most_of(stretch->tail);
            memset(stretch->tail, 0, sizeof stretch->tail);
            stretch->cut = true;
            const uint8_t *key = skip_space(at + 1, nearer(at + 1, SPACES, end));
            for (int i = 0; i < FIRST && before != '['; i++)
                stretch->tail[COUNTED] |= is_key(key, first[i], end);
        } else if (*at == '"') {
            int64_t *keys = stretch->cut ? stretch->tail : stretch->head;
            for (int i = 0; i < COUNTED; i++) keys[i] += is_key(at, counted[i], end);
        }
    }
}

void rgm_trace_stretch_join(rgm_trace_stretch *stretch, const rgm_trace_stretch *behind) {
    int64_t *keys = stretch->cut ? stretch->tail : stretch->head;
    for (int i = 0; i < RGM_GAP_KEYS; i++) keys[i] += behind->head[i];
    if (!behind->cut) return;
    if (stretch->cut) stretch->rows += most_of(stretch->tail);
    stretch->rows += behind->rows;
    memcpy(stretch->tail, behind->tail, sizeof stretch->tail);
    stretch->cut = true;
}

int64_t rgm_trace_stretch_rows(const rgm_trace_stretch *stretch) {
    return most_of(stretch->head) + stretch->rows + most_of(stretch->tail);
}

void rgm_trace_gap_close(const rgm_trace_gap *gap, rgm_trace_part *part, rgm_anomaly code) {
    // The element itself is a row, whatever keys are left of it.
    int64_t rows = rgm_trace_stretch_rows(&gap->lost) + (most_of(gap->lost.head) == 0);
    if (gap->too_long) code = RGM_ANOMALY_TOO_LONG;
    part->events += rows;
    rgm_trace_part_note(part, code, code == RGM_ANOMALY_TRUNCATED ? 1 : rows, rows, gap->offset);
}

// --- searching --------------------------------------------------------------------------------------------

// Whether the object that `at` is inside of has the key "ph" itself, as far as `limit` shows. Nothing deep is
// looked through: objects that are never closed would be so once for each object around them.
static rgm_event_guess names_phase(const uint8_t *at, const uint8_t *limit, rgm_event_guess otherwise) {
    for (size_t depth = 1; at < limit; at++) {
        if (*at == '{' || *at == '[') {
            if (++depth > DEEP) return RGM_EVENT_NO;
        } else if (*at == '}' || *at == ']') {
            if (--depth == 0) return RGM_EVENT_NO;
        } else if (*at == '"') {
            if (depth == 1 && is_key(at, "\"ph\"", limit)) return RGM_EVENT_YES;
            for (at++; at < limit && *at != '"'; at++) at += *at == '\\';
        }
    }
    return otherwise;
}

static bool is_word(const uint8_t *at, size_t length, const char *word) {
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

rgm_event_guess rgm_trace_begins_event(const uint8_t *at, const uint8_t *begin, const uint8_t *end,
                                       bool final) {
    static const char *const keys[] = {"cat", "pid", "tid", "ts", "dur", "args"};
    const uint8_t *limit = nearer(at, RGM_GAP_LOOK, end);
    rgm_event_guess otherwise = final || end - at >= RGM_GAP_LOOK ? RGM_EVENT_NO : RGM_EVENT_UNSURE;
    const uint8_t *key = skip_space(at + 1, limit);
    if (key >= limit) return otherwise;
    uint8_t before = byte_before(at, begin);
    if (before == ':') return RGM_EVENT_NO;
    bool quoted = *key == '"';
    if (!quoted && ((*key | 0x20) < 'a' || (*key | 0x20) > 'z')) return RGM_EVENT_NO;
    key += quoted;
    const uint8_t *after = key;
    while (after < limit && *after != '"' && *after != ':' && *after >= ' ') after++;
    if (after >= limit) return otherwise;
    size_t length = (size_t)(after - key);
    if (*after == '"')
        after++;
    else if (!quoted)
        return RGM_EVENT_NO;
    const uint8_t *colon = skip_space(after, limit);
    if (colon >= limit) return otherwise;
    if (*colon != ':') return RGM_EVENT_NO;
    if (is_word(key, length, "ph")) return RGM_EVENT_YES;
    if (before != ',' && before != '}') return RGM_EVENT_NO;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_word(key, length, keys[i])) return RGM_EVENT_YES;
    return names_phase(colon + 1, limit, otherwise);
}

const uint8_t *rgm_trace_reach(const uint8_t *from, const uint8_t *limit, const uint8_t *end, bool final) {
    const uint8_t *last = final ? end : end - from > MARGIN ? end - MARGIN : from;
    if (limit < last) last = limit;
    return last > from ? last : from;
}

const uint8_t *rgm_trace_resync(const uint8_t *from, const uint8_t *limit, const uint8_t *begin,
                                const uint8_t *end, bool final, bool *found) {
    const uint8_t *last = rgm_trace_reach(from, limit, end, final);
    *found = false;
    for (const uint8_t *at = from; at < last; at++) {
        at = memchr(at, '{', (size_t)(last - at));
        if (!at) break;
        rgm_event_guess guess = rgm_trace_begins_event(at, begin, end, final);
        *found = guess == RGM_EVENT_YES;
        if (guess != RGM_EVENT_NO) return at;
    }
    return last;
}
