// SPDX-License-Identifier: Apache-2.0
// What other processes of the program do while its main thread waits for them, where their recordings are
// part of the run: the line that most of their samples in such waits are at.
#include <stdlib.h>

#include "analysis/keyed.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "base/search.h"
#include "suggest/verdict_partition.h"
#include "suggest/verdict_waits.h"

static bool may_wait(const rgm_verdict_facts *facts, uint8_t cause) {
    return cause == RGM_CAUSE_CHILD ||
           (cause == RGM_CAUSE_INPUT && rgm_cause_is_elsewhere(&facts->causes[cause]));
}

// Twice the mean distance of the main thread's samples.
static int64_t near(const rgm_partition *p) {
    return p->seen->count > 1
               ? 2 * ((p->seen->time[p->seen->count - 1] - p->seen->time[0]) / (int64_t)(p->seen->count - 1))
               : 0;
}

// The cause that the main thread's nearest sample shows; UNKNOWN where none is near.
static uint8_t cause_at(const rgm_partition *p, int64_t time) {
    rgm_search search = rgm_search_in(0, p->seen->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, p->seen->time[search.middle] < time);
    size_t at = search.low;
    if (at == p->seen->count || (at > 0 && time - p->seen->time[at - 1] < p->seen->time[at] - time)) at--;
    return llabs(p->seen->time[at] - time) <= near(p) ? p->seen->cause[at] : RGM_CAUSE_UNKNOWN;
}

// Samples of other processes that work in waits of a cause, by line. A key holds cause, file and line.
typedef struct {
    uint64_t *keys;
    uint32_t *samples;
    int32_t *lines;
    size_t count;
    int64_t total[RGM_CAUSE_COUNT];
} work;

static void find_work(const rgm_partition *p, int64_t own, work *w) {
    enum { CAUSE_SHIFT = 56 };
    const rgm_view *view = p->facts->view;
    for (size_t i = 0; i < view->run->samples.rows; i++) {
        int32_t line = rgm_verdict_line_beside(p->facts, i, own);
        uint8_t cause = line < 0 ? RGM_CAUSE_UNKNOWN : cause_at(p, view->run->samples.time_ns[i]);
        if (!may_wait(p->facts, cause)) continue;
        w->keys[w->count] = (uint64_t)cause << CAUSE_SHIFT | rgm_line_key(view, line);
        w->samples[w->count] = (uint32_t)i;
        w->lines[w->count++] = line;
        w->total[cause]++;
    }
}

static rgm_status choose_lines(rgm_partition *p, const work *w, rgm_error *err) {
    enum { CAUSE_SHIFT = 56 };
    rgm_keyed groups = {0};
    int64_t most[RGM_CAUSE_COUNT] = {0};
    RGM_TRY(rgm_keyed_init(&groups, w->keys, w->count, err));
    for (size_t g = 0; g < groups.count; g++) {
        uint32_t item = groups.items[groups.first[g]];
        int64_t count = groups.first[g + 1] - groups.first[g];
        uint8_t cause = (uint8_t)(w->keys[item] >> CAUSE_SHIFT);
        rgm_cause_time *time = &p->facts->causes[cause];
        if (count <= most[cause]) continue;
        most[cause] = count;
        time->subject = 0;
        time->stack = w->lines[item];
        time->subject_share = (double)count / (double)w->total[cause];
        time->process = rgm_verdict_process(p->facts, w->samples[item]);
        time->elsewhere = time->count;
    }
    rgm_keyed_release(&groups);
    return RGM_OK;
}

rgm_status rgm_verdict_of_processes(rgm_partition *p, rgm_error *err) {
    const rgm_run *run = p->facts->view->run;
    int64_t own = RGM_CELL(&run->lanes, process, p->facts->lane, -1);
    work w = {0};
    rgm_status status = RGM_OK;
    if (!p->seen->count || own < 0) return RGM_OK;
    if (!may_wait(p->facts, RGM_CAUSE_INPUT) && !p->facts->causes[RGM_CAUSE_CHILD].found) return RGM_OK;
    RGM_GOTO(RGM_ROWS(w.keys, run->samples.rows, err));
    RGM_GOTO(RGM_ROWS(w.samples, run->samples.rows, err));
    RGM_GOTO(RGM_ROWS(w.lines, run->samples.rows, err));
    find_work(p, own, &w);
    RGM_GOTO(choose_lines(p, &w, err));
done:
    rgm_free(w.keys);
    rgm_free(w.samples);
    rgm_free(w.lines);
    return status;
}
