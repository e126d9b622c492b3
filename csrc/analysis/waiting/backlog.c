// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/backlog.h"

#include "base/memory.h"
#include "base/sort.h"

static void release(rgm_backlog *queue) {
    rgm_free(queue->steps);
    rgm_free(queue->entered);
    rgm_free(queue->left);
    rgm_free(queue->ended);
    rgm_free(queue->scratch);
    *queue = (rgm_backlog){0};
}

static rgm_status init(rgm_backlog *queue, const rgm_streams *tracks, rgm_error *err) {
    size_t most = 0;
    for (size_t t = 0; t < tracks->count; t++)
        if (tracks->first[t + 1] - tracks->first[t] > most) most = tracks->first[t + 1] - tracks->first[t];
    *queue = (rgm_backlog){.steps = rgm_malloc((3 * most + 1) * sizeof(rgm_backlog_step)),
                           .entered = rgm_malloc((most + 1) * sizeof(int64_t)),
                           .left = rgm_malloc((most + 1) * sizeof(int64_t)),
                           .ended = rgm_malloc((most + 1) * sizeof(int64_t)),
                           .scratch = rgm_malloc((most + 1) * sizeof(int64_t))};
    if (queue->steps && queue->entered && queue->left && queue->ended && queue->scratch) return RGM_OK;
    release(queue);
    return rgm_error_no_memory(err);
}

// Number of values that are `time`, at the front of an ascending list that begins at *at.
static int64_t take(const int64_t *values, size_t count, size_t *at, int64_t time) {
    size_t from = *at;
    while (*at < count && values[*at] == time) (*at)++;
    return (int64_t)(*at - from);
}

static int64_t earliest(const int64_t *values, size_t count, size_t at, int64_t limit) {
    return at < count && values[at] < limit ? values[at] : limit;
}

static void follow(rgm_backlog *queue, const rgm_streams *tracks, size_t track) {
    const rgm_view *view = tracks->view;
    const uint32_t *rows = tracks->rows + tracks->first[track];
    const size_t count = tracks->first[track + 1] - tracks->first[track];
    size_t queued = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t start = rgm_view_start(view, rows[i]);
        int32_t launch = view->launch[rows[i]];
        queue->ended[i] = rgm_view_end(view, rows[i]);
        if (launch < 0 || rgm_view_start(view, (size_t)launch) >= start) continue;
        queue->entered[queued] = rgm_view_start(view, (size_t)launch);
        queue->left[queued++] = start;
    }
    rgm_sort_i64(queue->entered, queued, queue->scratch);
    rgm_sort_i64(queue->ended, count, queue->scratch);
    size_t entered = 0, left = 0, started = 0, ended = 0;
    rgm_backlog_step now = {0};
    queue->count = 0;
    queue->end_ns = count ? queue->ended[count - 1] : 0;
    while (ended < count) {
        int64_t time = earliest(queue->entered, queued, entered, queue->ended[ended]);
        if (started < count && rgm_view_start(view, rows[started]) < time)
            time = rgm_view_start(view, rows[started]);
        now.time_ns = time;
        now.queued += take(queue->entered, queued, &entered, time);
        now.queued -= take(queue->left, queued, &left, time);
        for (; started < count && rgm_view_start(view, rows[started]) == time; started++) now.running++;
        now.running -= take(queue->ended, count, &ended, time);
        const rgm_backlog_step *last = queue->count ? &queue->steps[queue->count - 1] : NULL;
        if (!last || last->queued != now.queued || last->running != now.running)
            queue->steps[queue->count++] = now;
    }
}

rgm_status rgm_backlog_each(const rgm_view *view, rgm_backlog_look look, void *context, rgm_error *err) {
    RGM_RELEASED(rgm_streams_release) rgm_streams tracks = {0};
    RGM_RELEASED(release) rgm_backlog queue = {0};
    RGM_TRY(rgm_streams_init(&tracks, view, true, err));
    RGM_TRY(init(&queue, &tracks, err));
    for (size_t t = 0; t < tracks.count; t++) {
        follow(&queue, &tracks, t);
        RGM_TRY(look(context, &tracks, t, &queue, err));
    }
    return RGM_OK;
}
