// SPDX-License-Identifier: Apache-2.0
#include "suggest/scopes_of.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"

enum { DEVICE_BITS = 8 };

static uint64_t key_of(rgm_name operation, rgm_device device) {
    return (uint64_t)operation << DEVICE_BITS | device;
}

static rgm_status group(rgm_scopes_of *scopes, const uint64_t *keys, size_t count, rgm_error *err) {
    RGM_TRY(rgm_keyed_init(&scopes->groups, keys, count, err));
    RGM_TRY(RGM_ROWS(scopes->keys, scopes->groups.count, err));
    for (size_t g = 0; g < scopes->groups.count; g++)
        scopes->keys[g] = keys[scopes->groups.items[scopes->groups.first[g]]];
    return RGM_OK;
}

rgm_status rgm_scopes_of_init(rgm_scopes_of *scopes, const rgm_facts *facts, rgm_error *err) {
    const rgm_view *view = facts->view;
    size_t count = 0;
    *scopes = (rgm_scopes_of){.facts = facts, .any_device = view->n_work > 0};
    for (size_t i = 0; i < view->n_spans; i++) count += rgm_view_kind(view, i) == RGM_KIND_SCOPE;
    uint64_t *keys = rgm_malloc((count + 1) * sizeof *keys);
    rgm_status status = keys ? RGM_ROWS(scopes->rows, count, err) : rgm_error_no_memory(err);
    for (size_t i = 0, at = 0; status == RGM_OK && i < view->n_spans; i++) {
        uint32_t row = view->lane_spans[i];
        if (rgm_view_kind(view, row) != RGM_KIND_SCOPE) continue;
        rgm_device device = rgm_flags_device(RGM_CELL(&view->run->spans, flags, row, 0));
        scopes->any_device |= rgm_scopes_on_device(device);
        scopes->rows[at] = row;
        keys[at++] = key_of(rgm_view_name(view, row), device);
    }
    if (status == RGM_OK) status = group(scopes, keys, count, err);
    rgm_free(keys);
    if (status != RGM_OK) rgm_scopes_of_release(scopes);
    return status;
}

void rgm_scopes_of_release(rgm_scopes_of *scopes) {
    rgm_free(scopes->rows);
    rgm_free(scopes->keys);
    rgm_claim_release(&scopes->last);
    rgm_keyed_release(&scopes->groups);
    *scopes = (rgm_scopes_of){0};
}

// --- claiming ---------------------------------------------------------------------------------------------

typedef struct {
    int64_t start, end;
    uint32_t lane;
} open_time;

static int by_start(const void *a, const void *b) {
    const open_time *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->end > y->end) - (x->end < y->end);
}

// The times of the scopes, joined where scopes of one lane nest or touch; in order of lane and start.
static size_t times_of(const rgm_scopes_of *scopes, size_t g, open_time *times) {
    const rgm_view *view = scopes->facts->view;
    size_t count = 0;
    for (uint32_t i = scopes->groups.first[g]; i < scopes->groups.first[g + 1]; i++) {
        uint32_t row = scopes->rows[scopes->groups.items[i]];
        open_time here = {rgm_view_start(view, row), rgm_view_end(view, row), rgm_view_lane(view, row)};
        open_time *last = count ? &times[count - 1] : NULL;
        if (!last || last->lane != here.lane || here.start > last->end)
            times[count++] = here;
        else if (here.end > last->end)
            last->end = here.end;
    }
    return count;
}

// Times of several lanes overlap, as in concurrent tasks: of the device the path is walked once for all of
// them, of the host each lane's own part.
static void claim_times(rgm_suggester *s, open_time *times, size_t count) {
    const uint32_t *first = s->facts->lane_segment_first;
    const size_t others = s->facts->view->n_lanes; // where segments of no host thread are
    size_t from = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && times[i].lane != times[i - 1].lane) from = 0;
        rgm_suggest_claim_lane(s, times[i].start, times[i].end, (int32_t)times[i].lane, &from);
    }
    if (first[others] == first[others + 1]) return;
    if (count) qsort(times, count, sizeof *times, by_start);
    from = 0;
    for (size_t i = 0; i < count;) {
        int64_t end = times[i].end;
        size_t next = i + 1;
        for (; next < count && times[next].start <= end; next++)
            if (times[next].end > end) end = times[next].end;
        rgm_suggest_claim_lane(s, times[i].start, end, (int32_t)others, &from);
        i = next;
    }
}

// The earliest scope of a group.
static int64_t example_of(const rgm_scopes_of *scopes, size_t g) {
    const rgm_view *view = scopes->facts->view;
    size_t found = scopes->rows[scopes->groups.items[scopes->groups.first[g]]];
    for (uint32_t i = scopes->groups.first[g]; i < scopes->groups.first[g + 1]; i++) {
        uint32_t row = scopes->rows[scopes->groups.items[i]];
        bool later = rgm_view_start(view, row) > rgm_view_start(view, found);
        if (!later && rgm_facts_before(scopes->facts, row, found)) found = row;
    }
    return (int64_t)found;
}

static rgm_status claim_group(rgm_scopes_of *scopes, rgm_suggester *s, size_t g) {
    open_time *times;
    RGM_TRY(RGM_ROWS(times, scopes->groups.first[g + 1] - scopes->groups.first[g], s->err));
    claim_times(s, times, times_of(scopes, g, times));
    rgm_free(times);
    RGM_TRY(s->status);
    rgm_claim_close(&s->open.claim);
    rgm_claim_release(&scopes->last);
    scopes->claimed = g + 1;
    scopes->example = example_of(scopes, g);
    return rgm_claim_join(&scopes->last, &s->open.claim, s->err);
}

void rgm_scopes_of_claim(rgm_scopes_of *scopes, rgm_suggester *s, rgm_name operation, rgm_device device) {
    uint64_t wanted = key_of(operation, device);
    rgm_search search = rgm_search_in(0, scopes->groups.count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, scopes->keys[search.middle] < wanted);
    size_t g = search.low;
    if (g == scopes->groups.count || scopes->keys[g] != wanted || s->status != RGM_OK) return;
    rgm_status status = scopes->claimed == g + 1 ? rgm_claim_join(&s->open.claim, &scopes->last, s->err)
                                                 : claim_group(scopes, s, g);
    if (status != RGM_OK) {
        rgm_suggest_fail(s, status);
        return;
    }
    s->open.span = scopes->example;
}
