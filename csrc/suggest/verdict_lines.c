// SPDX-License-Identifier: Apache-2.0
// Samples that a verdict is made from, and the lines that they show.
#include <math.h>

#include "analysis/keyed.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "suggest/verdict_partition.h"

rgm_status rgm_seen_init(rgm_seen *seen, size_t most, rgm_error *err) {
    *seen = (rgm_seen){0};
    RGM_TRY(RGM_ROWS(seen->time, most, err));
    RGM_TRY(RGM_ROWS(seen->stack, most, err));
    RGM_TRY(RGM_ROWS(seen->line, most, err));
    RGM_TRY(RGM_ROWS(seen->inner, most, err));
    RGM_TRY(RGM_ROWS(seen->cause, most, err));
    RGM_TRY(RGM_ROWS(seen->bucket, most, err));
    return RGM_ROWS(seen->state, most, err);
}

void rgm_seen_release(rgm_seen *seen) {
    rgm_free(seen->time);
    rgm_free(seen->stack);
    rgm_free(seen->line);
    rgm_free(seen->inner);
    rgm_free(seen->cause);
    rgm_free(seen->bucket);
    rgm_free(seen->state);
    *seen = (rgm_seen){0};
}

double rgm_verdict_variance(double whole, double share, double samples) {
    if (!(samples > 0)) return 0;
    double drawn = (samples * share + 1) / (samples + 2);
    return whole * whole * drawn * (1 - drawn) / (samples / 2);
}

// Whether a line with the interpreter's lock is in calls of compiled code, rather than in steps of Python.
static bool is_calling(const rgm_verdict_facts *facts, const rgm_seen *seen, const rgm_keyed *lines,
                       size_t g) {
    double calling = 0, known = 0;
    for (uint32_t i = lines->first[g]; i < lines->first[g + 1]; i++) {
        uint8_t state = seen->state[lines->items[i]];
        calling += state == RGM_SAMPLE_CALLING;
        known += state == RGM_SAMPLE_CALLING || state == RGM_SAMPLE_INTERPRETING;
    }
    return known > 0 && calling >= facts->policy->verdict_calling * known;
}

// A key holds cause, file and line.
rgm_status rgm_verdict_find_lines(rgm_verdict_facts *facts, rgm_seen *seen, uint64_t causes, rgm_error *err) {
    enum { CAUSE_SHIFT = 56 };
    const rgm_view *view = facts->view;
    RGM_FREED uint64_t *keys = NULL;
    int64_t most[RGM_CAUSE_COUNT] = {0}, total[RGM_CAUSE_COUNT] = {0};
    RGM_RELEASED(rgm_keyed_release) rgm_keyed groups = {0};
    RGM_TRY(RGM_ROWS(keys, seen->count, err));
    for (size_t i = 0; i < seen->count; i++) {
        keys[i] = (uint64_t)seen->cause[i] << CAUSE_SHIFT | rgm_line_key(view, seen->line[i]);
        total[seen->cause[i]]++;
    }
    RGM_TRY(rgm_keyed_init(&groups, keys, seen->count, err));
    for (size_t g = 0; g < groups.count; g++) {
        uint32_t item = groups.items[groups.first[g]];
        int64_t count = groups.first[g + 1] - groups.first[g];
        uint8_t cause = seen->cause[item];
        if (count <= most[cause] || !(causes >> cause & 1)) continue;
        most[cause] = count;
        facts->causes[cause].calling = is_calling(facts, seen, &groups, g);
        facts->causes[cause].stack = seen->line[item];
        facts->causes[cause].line_share = (double)count / (double)total[cause];
        facts->causes[cause].subject_share = facts->causes[cause].line_share;
    }
    for (int cause = 0; cause < RGM_CAUSE_COUNT; cause++)
        if (!facts->causes[cause].count) facts->causes[cause].count = total[cause];
    return RGM_OK;
}
