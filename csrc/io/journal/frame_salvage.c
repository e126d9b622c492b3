// SPDX-License-Identifier: Apache-2.0
// What is intact in a damaged file: all sound frames, found by their magic, in the order of their numbers.
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/journal/frame_format.h"

enum {
    WINDOW = 1 << 16,
    // A file made of false heads would have its payloads read again and again; past that many times its size
    // only frames whose heads follow each other are looked at.
    WASTE_FACTOR = 16,
};

static bool is_frame(rgm_frame_reader *reader, int64_t offset, rgm_frame_facts *facts, rgm_status *status,
                     rgm_error *err) {
    if (!rgm_frame_head_at(reader, offset, facts) ||
        facts->length > (uint64_t)(reader->size - offset - facts->head_bytes) ||
        reader->wasted > WASTE_FACTOR * reader->size)
        return false;
    rgm_status found = rgm_frame_payload(reader, facts, err);
    if (found == RGM_OK) return true;
    if (found == RGM_FORMAT)
        reader->wasted += (int64_t)facts->length;
    else
        *status = found;
    return false;
}

// The next sound frame at or after the offset, or false.
static bool find_frame(rgm_frame_reader *reader, int64_t from, rgm_frame_facts *facts, uint8_t *window,
                       rgm_status *status, rgm_error *err) {
    enum { MAGIC_BYTES = 4 };
    for (int64_t at = from; at + MAGIC_BYTES <= reader->size && *status == RGM_OK;) {
        size_t want = reader->size - at < WINDOW ? (size_t)(reader->size - at) : WINDOW;
        if (!rgm_read_exact(reader->fd, window, want, at)) return false;
        for (const uint8_t *hit = window, *end = window + want - MAGIC_BYTES + 1;
             hit < end && (hit = memchr(hit, 'R', (size_t)(end - hit))); hit++) {
            uint32_t magic;
            memcpy(&magic, hit, sizeof magic);
            if ((magic == RGM_FRAME_MAGIC || magic == RGM_FRAME_MAGIC_OLD) &&
                is_frame(reader, at + (hit - window), facts, status, err))
                return true;
            if (*status != RGM_OK) return false;
        }
        at += (int64_t)want - MAGIC_BYTES + 1;
    }
    return false;
}

static rgm_status add_place(rgm_frame_reader *reader, rgm_frame_place place, rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(reader->places, reader->place_count, reader->place_capacity, 64, err));
    reader->places[reader->place_count++] = place;
    return RGM_OK;
}

static rgm_status find_all(rgm_frame_reader *reader, int64_t from, rgm_error *err) {
    uint8_t *window = rgm_malloc(WINDOW);
    if (!window) return rgm_error_no_memory(err);
    rgm_status status = RGM_OK;
    rgm_frame_facts facts;
    int64_t at = from;
    while (at < reader->size) {
        if (!is_frame(reader, at, &facts, &status, err)) {
            if (status == RGM_OK && !find_frame(reader, at + 1, &facts, window, &status, err))
                facts.place.offset = reader->size;
            if (status != RGM_OK) break;
            reader->damage.bytes += facts.place.offset - at;
            at = facts.place.offset;
            if (at == reader->size) break;
        }
        RGM_GOTO(add_place(reader, facts.place, err));
        at += rgm_frame_total(&facts);
    }
done:
    rgm_free(window);
    return status;
}

// Without a head: what the frames themselves say.
static void guess_head(rgm_frame_reader *reader) {
    const rgm_frame_place *places = reader->places;
    reader->numbered = places[0].numbered;
    reader->file = places[0].file;
    reader->kind = RGM_FILE_JOURNAL;
    for (size_t i = 0; i < reader->place_count; i++)
        if (places[i].type == RGM_FRAME_INFO || places[i].type == RGM_FRAME_TABLE)
            reader->kind = RGM_FILE_RUN;
}

static int by_number(const void *a, const void *b) {
    const rgm_frame_place *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void put_in_order(rgm_frame_reader *reader) {
    rgm_frame_place *places = reader->places;
    rgm_frame_damage *damage = &reader->damage;
    size_t kept = 0;
    for (size_t i = 0; i < reader->place_count; i++) {
        bool ours =
            places[i].numbered == reader->numbered && (!reader->numbered || places[i].file == reader->file);
        damage->foreign += !ours;
        if (ours) places[kept++] = places[i];
    }
    reader->place_count = kept;
    if (!reader->numbered) return;
    bool ascending = true;
    for (size_t i = 1; i < kept; i++) ascending = ascending && places[i].number > places[i - 1].number;
    if (!ascending) qsort(places, kept, sizeof *places, by_number);
    size_t to = 0;
    int64_t furthest = 0, next = 0;
    for (size_t i = 0; i < kept; i++) {
        if (to && places[to - 1].number == places[i].number) { // the first in the file counts
            damage->doubled++;
            continue;
        }
        int64_t gap = (int64_t)places[i].number - next;
        damage->missing += gap > 0 ? gap : 0;
        next = (int64_t)places[i].number + places[i].taken + 1;
        reader->taken += places[i].taken;
        damage->displaced += places[i].offset < furthest;
        if (places[i].offset > furthest) furthest = places[i].offset;
        places[to++] = places[i];
    }
    reader->place_count = to;
}

rgm_status rgm_frame_salvage(rgm_frame_reader *reader, bool head_is_sound, rgm_error *err) {
    RGM_TRY(find_all(reader, head_is_sound ? RGM_FILE_HEAD_BYTES : 0, err));
    if (!head_is_sound) {
        if (!reader->place_count) return RGM_FORMAT;
        guess_head(reader);
    }
    put_in_order(reader);
    return RGM_OK;
}
