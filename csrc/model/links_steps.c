// SPDX-License-Identifier: Apache-2.0
// Training steps: annotations of the host, or steps that were found, that spans of the same rank begin in.
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/search.h"
#include "model/links_parts.h"

static uint32_t lane_of(const rgm_run *run, size_t row) { return RGM_CELL(&run->spans, lane, row, 0); }
static int64_t start_of(const rgm_run *run, size_t row) { return run->spans.start_ns[row]; }
static int64_t end_of(const rgm_run *run, size_t row) {
    return run->spans.start_ns[row] + run->spans.duration_ns[row];
}

typedef struct {
    int64_t start, end;
    int32_t rank, number;
} step_range;

int32_t rgm_step_number(rgm_string name) {
    static const char word[] = "ProfilerStep";
    size_t at = sizeof word - 1;
    if (name.length <= at || memcmp(name.data, word, at) != 0) return -1;
    while (at < name.length && name.data[at] == ' ') at++;
    if (at >= name.length || name.data[at] != '#') return -1;
    at++;
    while (at < name.length && name.data[at] == ' ') at++;
    int64_t number = -1;
    for (; at < name.length && name.data[at] >= '0' && name.data[at] <= '9' && number <= INT32_MAX; at++)
        number = (number < 0 ? 0 : number * 10) + (name.data[at] - '0');
    return number <= INT32_MAX ? (int32_t)number : -1;
}

static int32_t rank_of(const rgm_run *run, size_t row) {
    return lane_of(run, row) < run->lanes.rows ? RGM_CELL(&run->lanes, rank, lane_of(run, row), -1) : -1;
}

static int by_rank_and_start(const void *a, const void *b) {
    const step_range *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

typedef struct {
    const step_range *steps;
    size_t count;
    size_t last; // range that was found last: the next row is often in it, too
} step_search;

static bool begins_after(const step_search *s, size_t i, int32_t rank, int64_t time) {
    if (i == s->count) return true;
    const step_range *step = &s->steps[i];
    return step->rank > rank || (step->rank == rank && step->start > time);
}

// The range of that rank that begins last at or before the time and has not ended, -1 for none. What takes no
// time is in the range that ends at this very time, too.
static int32_t step_at(step_search *s, int32_t rank, int64_t time, bool instant) {
    if (begins_after(s, s->last, rank, time) || !begins_after(s, s->last + 1, rank, time)) {
        rgm_search search = rgm_search_in(0, s->count);
        while (rgm_search_on(&search))
            rgm_search_tell(&search, !(begins_after(s, search.middle, rank, time)));
        if (search.low == 0) return -1;
        s->last = search.low - 1;
    }
    const step_range *step = &s->steps[s->last];
    return step->rank == rank && (time < step->end || (instant && time == step->end)) ? step->number : -1;
}

bool rgm_links_is_step(const rgm_run *run, size_t row) {
    if (!run->spans.category || rgm_links_kind(run, row) != RGM_KIND_SCOPE) return false;
    rgm_string category = rgm_strings_view(&run->strings, run->spans.category[row]);
    return category.length == 4 && memcmp(category.data, "step", 4) == 0;
}

rgm_status rgm_links_step_numbers(const rgm_run *run, int32_t **numbers, rgm_error *err) {
    uint32_t count = rgm_strings_count(&run->strings);
    RGM_TRY(RGM_ROWS(*numbers, count, err));
    for (uint32_t i = 0; i < count; i++) (*numbers)[i] = rgm_step_number(rgm_strings_view(&run->strings, i));
    return RGM_OK;
}

static void assign(rgm_run *run, const step_range *steps, size_t count) {
    rgm_spans *spans = &run->spans;
    step_search search = {steps, count, 0};
    for (size_t i = 0; i < spans->rows; i++)
        if (!rgm_kind_is_work(rgm_links_kind(run, i)) && rgm_links_kind(run, i) != RGM_KIND_DEVICE_ANNOTATION)
            spans->step[i] = step_at(&search, rank_of(run, i), start_of(run, i), spans->duration_ns[i] == 0);
    for (size_t i = 0; i < spans->rows; i++)
        if (RGM_CELL(spans, launch, i, -1) >= 0) spans->step[i] = spans->step[spans->launch[i]];
}

// Steps that were found in a recording count from 0.
static rgm_status find_steps(const rgm_run *run, const int32_t *numbers, step_range **steps, size_t *count,
                             rgm_error *err) {
    size_t room = 0;
    int32_t found = 0;
    for (size_t i = 0; i < run->spans.rows; i++) {
        uint8_t kind = rgm_links_kind(run, i);
        int32_t number = -1;
        if (rgm_kind_may_be_step(kind))
            number = numbers[run->spans.name[i]];
        else if (kind == RGM_KIND_SCOPE && rgm_links_is_step(run, i))
            number = found++;
        if (number < 0) continue;
        RGM_TRY(RGM_LIST_ROOM(*steps, *count, room, 64, err));
        (*steps)[(*count)++] = (step_range){start_of(run, i), end_of(run, i), rank_of(run, i), number};
    }
    return RGM_OK;
}

rgm_status rgm_links_steps(rgm_run *run, rgm_error *err) {
    RGM_FREED int32_t *numbers = NULL;
    RGM_FREED step_range *steps = NULL;
    size_t count = 0;
    RGM_TRY(rgm_table_ensure(&rgm_spans_desc, &run->spans, RGM_COLUMN_INDEX(spans, step), err));
    RGM_TRY(rgm_links_step_numbers(run, &numbers, err));
    RGM_TRY(find_steps(run, numbers, &steps, &count, err));
    if (count == 0) return RGM_OK;
    qsort(steps, count, sizeof *steps, by_rank_and_start);
    assign(run, steps, count);
    return RGM_OK;
}
