// SPDX-License-Identifier: Apache-2.0
#include "suggest/suggester.h"

#include <math.h>

#include "analysis/stats.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/search.h"

void rgm_suggest_open(rgm_suggester *s, rgm_suggestion_rule rule) {
    rgm_claim kept = s->open.claim;
    kept.count = 0;
    s->open = (rgm_finding){.rule = rule,
                            .confidence = RGM_DEGREE_MEDIUM,
                            .span = -1,
                            .claim = kept,
                            .high = 1.0,
                            .bounded = true,
                            .figure_first = s->n_figures,
                            .merged_into = -1};
}

void rgm_suggest_about(rgm_suggester *s, size_t row) {
    rgm_finding *open = &s->open;
    if (open->span < 0 || rgm_facts_before(s->facts, row, (size_t)open->span)) {
        open->span = (int64_t)row;
        open->by_example = open->by_example || open->subject == 0;
        if (open->by_example) open->subject = rgm_view_name(s->facts->view, row);
    }
    s->open.count++;
    s->open.current_ns = rgm_add_bounded(s->open.current_ns, rgm_facts_duration(s->facts, row));
}

static void claim_segment(rgm_suggester *s, uint32_t segment, int64_t from, int64_t to) {
    const rgm_critical_path *path = &s->facts->path;
    int64_t start = path->start_ns[segment], end = start + path->duration_ns[segment];
    if (start < from) start = from;
    if (end > to) end = to;
    rgm_status status = rgm_claim_add(&s->open.claim, start, end, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
}

void rgm_suggest_claim_span(rgm_suggester *s, size_t row, unsigned kinds) {
    const rgm_facts *facts = s->facts;
    for (uint32_t i = facts->segment_first[row]; i < facts->segment_first[row + 1]; i++) {
        uint32_t segment = facts->segments[i];
        if (kinds >> facts->path.kind[segment] & 1u) claim_segment(s, segment, INT64_MIN, INT64_MAX);
    }
}

// First segment that ends after `time`.
static size_t segment_at(const rgm_critical_path *path, int64_t time) {
    rgm_search search = rgm_search_in(0, path->rows);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, path->start_ns[search.middle] + path->duration_ns[search.middle] <= time);
    return search.low;
}

void rgm_suggest_claim_between(rgm_suggester *s, int64_t start, int64_t end, unsigned kinds, int32_t lane) {
    const rgm_critical_path *path = &s->facts->path;
    for (size_t i = segment_at(path, start); i < path->rows && path->start_ns[i] < end; i++) {
        if (!(kinds >> path->kind[i] & 1u)) continue;
        bool host = RGM_HOST_PATH >> path->kind[i] & 1u;
        if (lane >= 0 && host && path->lane[i] != lane) continue;
        claim_segment(s, (uint32_t)i, start, end);
    }
}

static bool ends_by(const rgm_facts *facts, size_t i, int64_t time) {
    uint32_t segment = facts->lane_segments[i];
    return facts->path.start_ns[segment] + facts->path.duration_ns[segment] <= time;
}

void rgm_suggest_claim_lane(rgm_suggester *s, int64_t start, int64_t end, int32_t lane, size_t *from) {
    const rgm_facts *facts = s->facts;
    const size_t until = facts->lane_segment_first[lane + 1];
    size_t low = facts->lane_segment_first[lane], step = 1;
    if (low < *from) low = *from;
    for (; step < until - low && ends_by(facts, low + step - 1, start); step *= 2) low += step;
    rgm_search search = rgm_search_in(low, step < until - low ? low + step : until);
    while (rgm_search_on(&search)) rgm_search_tell(&search, ends_by(facts, search.middle, start));
    *from = search.low; // the first segment that ends after `start`
    for (size_t i = search.low; i < until && facts->path.start_ns[facts->lane_segments[i]] < end; i++)
        claim_segment(s, facts->lane_segments[i], start, end);
}

void rgm_suggest_claim_idle(rgm_suggester *s, int64_t start, int64_t end, unsigned kinds, int32_t lane) {
    const rgm_claim *idle = &s->facts->idle_times;
    rgm_search search = rgm_search_in(0, idle->count); // the first part that ends after `start`
    while (rgm_search_on(&search)) rgm_search_tell(&search, idle->parts[search.middle].end <= start);
    for (size_t i = search.low; i < idle->count && idle->parts[i].start < end; i++) {
        int64_t from = idle->parts[i].start, to = idle->parts[i].end;
        rgm_suggest_claim_between(s, from > start ? from : start, to < end ? to : end, kinds, lane);
    }
}

rgm_saving rgm_suggest_saving(const rgm_suggester *s, const rgm_finding *finding, const rgm_claim *left,
                              int64_t idle_ns) {
    double all = (double)rgm_claim_total(left);
    double device = finding->own_work ? all : (double)rgm_claim_shared(left, &s->facts->device_times);
    double host = finding->high * (all - device);
    bool by_idle = host > (double)idle_ns;
    if (by_idle) host = (double)idle_ns;
    return (rgm_saving){.saved_ns = finding->high * device + host, .host_ns = host, .by_idle = by_idle};
}

bool rgm_suggest_matters(const rgm_suggester *s, const rgm_finding *finding, double saved_ns) {
    const rgm_policy *policy = s->facts->policy;
    if (!(saved_ns >= policy->suggest_least_ns)) return false;
    return saved_ns >= policy->suggest_least_share * (double)s->facts->whole_ns ||
           (double)finding->waits >= policy->suggest_waits;
}

static rgm_figure *new_figure(rgm_suggester *s) {
    enum { FIRST = 64 };
    rgm_status status = RGM_LIST_ROOM(s->figures, s->n_figures, s->figures_capacity, FIRST, s->err);
    if (status == RGM_OK) return &s->figures[s->n_figures++];
    rgm_suggest_fail(s, status);
    return NULL;
}

void rgm_suggest_note(rgm_suggester *s, rgm_quantity quantity, double value, double threshold, int64_t span) {
    rgm_figure *figure = s->status == RGM_OK ? new_figure(s) : NULL;
    if (figure)
        *figure =
            (rgm_figure){.quantity = (uint8_t)quantity, .value = value, .threshold = threshold, .span = span};
}

static void keep(rgm_suggester *s) {
    enum { FIRST = 16 };
    if (s->status == RGM_OK) {
        rgm_status status = RGM_LIST_ROOM(s->findings, s->count, s->capacity, FIRST, s->err);
        if (status != RGM_OK) rgm_suggest_fail(s, status);
    }
    if (s->status != RGM_OK) {
        rgm_suggest_drop(s);
        return;
    }
    s->open.figure_end = s->n_figures;
    s->findings[s->count++] = s->open;
    s->open = (rgm_finding){0}; // its claim belongs to the list now
}

static bool is_noted(const rgm_suggester *s, rgm_quantity quantity) {
    for (size_t i = s->open.figure_first; i < s->n_figures; i++)
        if (s->figures[i].quantity == quantity) return true;
    return false;
}

void rgm_suggest_close(rgm_suggester *s, double least_share) {
    rgm_finding *open = &s->open;
    rgm_claim_close(&open->claim);
    open->own_ns = rgm_claim_total(&open->claim);
    double share = rgm_facts_share(s->facts, open->own_ns);
    double saved = rgm_suggest_saving(s, open, &open->claim, s->facts->idle_ns).saved_ns;
    if (open->own_ns == 0 || !(share >= least_share) || !rgm_suggest_matters(s, open, saved)) {
        rgm_suggest_drop(s);
        return;
    }
    rgm_suggest_note(s, RGM_QUANTITY_PATH_SHARE, share, least_share > 0 ? least_share : (double)NAN,
                     open->span);
    rgm_suggest_note(s, RGM_QUANTITY_SAVED_SHARE, rgm_facts_share(s->facts, (int64_t)saved),
                     s->facts->policy->suggest_least_share, open->span);
    rgm_suggest_note(s, RGM_QUANTITY_PATH_NS, (double)open->own_ns, NAN, open->span);
    if (open->count > 0) {
        if (!is_noted(s, RGM_QUANTITY_COUNT))
            rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)open->count, NAN, open->span);
        rgm_suggest_note(s, RGM_QUANTITY_TOTAL_NS, (double)open->current_ns, NAN, open->span);
    }
    keep(s);
}

void rgm_suggest_close_unbounded(rgm_suggester *s) {
    rgm_finding *open = &s->open;
    rgm_claim_close(&open->claim);
    open->own_ns = rgm_claim_total(&open->claim);
    open->bounded = false;
    if (open->count > 0) rgm_suggest_note(s, RGM_QUANTITY_COUNT, (double)open->count, NAN, open->span);
    if (open->current_ns > 0)
        rgm_suggest_note(s, RGM_QUANTITY_TOTAL_NS, (double)open->current_ns, NAN, open->span);
    open->low = open->high = 0;
    keep(s);
}

void rgm_suggest_drop(rgm_suggester *s) {
    s->n_figures = s->open.figure_first;
    s->open.claim.count = 0;
}

void rgm_suggester_release(rgm_suggester *s) {
    for (size_t i = 0; i < s->count; i++) rgm_claim_release(&s->findings[i].claim);
    rgm_claim_release(&s->open.claim);
    rgm_free(s->findings);
    rgm_free(s->figures);
}
