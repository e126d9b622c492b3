// SPDX-License-Identifier: Apache-2.0
// The whole: what belongs to launches on one thread, what belongs to lanes on both.
#include "model/links.h"

#include "base/thread.h"
#include "model/links_parts.h"

enum { WORTH = 16384 }; // spans from which on a thread costs less than it saves

typedef struct {
    rgm_run *run;
    rgm_links_lanes lanes;
    rgm_links_found found;
    pthread_mutex_t mutex;
    pthread_cond_t grouped;
    bool ready, failed; // lanes may be taken, or never will be
    rgm_status status;  // of the second thread
    rgm_error err;
} linking;

static rgm_status link_launches(linking *l, rgm_error *err) {
    RGM_TRY(rgm_links_join(l->run, &l->found, err));
    return rgm_links_steps(l->run, err);
}

static void announce(linking *l, rgm_status status) {
    pthread_mutex_lock(&l->mutex);
    l->ready = true;
    l->failed = status != RGM_OK;
    pthread_cond_signal(&l->grouped);
    pthread_mutex_unlock(&l->mutex);
}

static bool wait_for_lanes(linking *l) {
    pthread_mutex_lock(&l->mutex);
    while (!l->ready) (void)rgm_cond_wait(&l->grouped, &l->mutex, INT64_C(1000000000));
    bool failed = l->failed;
    pthread_mutex_unlock(&l->mutex);
    return !failed;
}

static void *second(void *arg) {
    linking *l = arg;
    l->status = link_launches(l, &l->err);
    if (wait_for_lanes(l) && l->status == RGM_OK) l->status = rgm_links_lanes_work(&l->lanes, &l->err);
    return NULL;
}

static rgm_status link_lanes(linking *l, bool shared, rgm_error *err) {
    rgm_status status = rgm_links_lanes_init(&l->lanes, l->run, err);
    if (shared) announce(l, status);
    return status == RGM_OK ? rgm_links_lanes_work(&l->lanes, err) : status;
}

// Without a second thread, also where none can be had, one does everything.
static rgm_status link_all(linking *l, bool two, rgm_error *err) {
    pthread_t thread;
    bool shared = two && rgm_thread_start(&thread, "rgm-link", second, l, NULL) == RGM_OK;
    rgm_status status = link_lanes(l, shared, err);
    if (!shared) {
        rgm_links_lanes_release(&l->lanes); // its memory makes room for the columns launch and step
        return status == RGM_OK ? link_launches(l, err) : status;
    }
    pthread_join(thread, NULL);
    if (status == RGM_OK && l->status != RGM_OK) {
        status = l->status;
        if (err) *err = l->err;
    }
    return status;
}

static rgm_status note_all(rgm_run *run, int64_t overlaps, const rgm_links_found *found, rgm_error *err) {
    const struct {
        rgm_anomaly code;
        int64_t count, first_ns;
    } notes[] = {{RGM_ANOMALY_OVERLAPPING_SPANS, overlaps, -1},
                 {RGM_ANOMALY_ORPHAN_KERNELS, found->orphans, -1},
                 {RGM_ANOMALY_CLOCK_STEP, found->early, found->first_early_ns},
                 {RGM_ANOMALY_REUSED_CORRELATIONS, found->reused, -1}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].count)
            RGM_TRY(rgm_run_note(run, notes[i].code, notes[i].count, notes[i].first_ns, NULL, err));
    return RGM_OK;
}

rgm_status rgm_run_link_work(rgm_run *run, rgm_error *err) {
    rgm_links_found found;
    if (run->spans.rows == 0) return RGM_OK;
    RGM_TRY(rgm_table_ensure(&rgm_spans_desc, &run->spans, RGM_COLUMN_INDEX(spans, flags), err));
    RGM_TRY(rgm_links_join(run, &found, err));
    if (found.orphans) rgm_links_flag_orphans(run);
    return note_all(run, 0, &found, err);
}

rgm_status rgm_run_link(rgm_run *run, int threads, rgm_error *err) {
    if (run->spans.rows == 0) return RGM_OK;
    linking l = {.run = run};
    rgm_status status;
    pthread_mutex_init(&l.mutex, NULL);
    rgm_cond_init(&l.grouped);
    RGM_GOTO(rgm_table_ensure(&rgm_spans_desc, &run->spans, RGM_COLUMN_INDEX(spans, flags), err));
    RGM_GOTO(link_all(&l, threads == 2 || (threads == 0 && run->spans.rows >= WORTH), err));
    if (l.found.orphans) rgm_links_flag_orphans(run);
    status = note_all(run, l.lanes.overlaps, &l.found, err);
done:
    rgm_links_lanes_release(&l.lanes);
    pthread_cond_destroy(&l.grouped);
    pthread_mutex_destroy(&l.mutex);
    return status;
}
