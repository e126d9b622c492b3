// SPDX-License-Identifier: Apache-2.0
// Python of the program's own within modules and backward passes: a loop over numbers in a forward method, or
// in the backward one of a function of the user's.
#include "analysis/keyed.h"
#include "analysis/times/stack_line.h"
#include "base/memory.h"
#include "suggest/verdict_partition.h"

static bool may_be_plain(const rgm_partition *p, size_t i) {
    rgm_role bucket = (rgm_role)p->seen->bucket[i];
    bool computes = bucket == RGM_ROLE_MODULE || bucket == RGM_ROLE_FORWARD || bucket == RGM_ROLE_BACKWARD;
    bool undecided = p->seen->cause[i] == RGM_CAUSE_FORWARD || p->seen->cause[i] == RGM_CAUSE_BACKWARD;
    return computes && undecided && rgm_stack_ends_in_own(p->facts->view, p->seen->stack[i]);
}

static bool has_lock(rgm_sample_state state) {
    return state == RGM_SAMPLE_INTERPRETING || state == RGM_SAMPLE_CALLING || state == RGM_SAMPLE_RUNNING;
}

static void become_python(rgm_partition *p, size_t i) {
    p->of_cause[p->seen->bucket[i]][p->seen->cause[i]]--;
    p->of_cause[p->seen->bucket[i]][RGM_CAUSE_PYTHON]++;
    p->seen->cause[i] = RGM_CAUSE_PYTHON;
    if (p->seen->inner[i] >= 0) p->plain[p->seen->inner[i]]++;
}

// An operator gives the interpreter's lock up while it computes: a line that calls one is found so now and
// then.
rgm_status rgm_verdict_plain(rgm_partition *p, rgm_error *err) {
    const rgm_seen *seen = p->seen;
    RGM_FREED uint64_t *keys = NULL;
    RGM_FREED uint32_t *rows = NULL;
    RGM_RELEASED(rgm_keyed_release) rgm_keyed lines = {0};
    size_t count = 0;
    RGM_TRY(RGM_ROWS(keys, seen->count, err));
    RGM_TRY(RGM_ROWS(rows, seen->count, err));
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->inner[i] >= 0) p->looks[seen->inner[i]]++;
        if (!may_be_plain(p, i)) continue;
        keys[count] = rgm_line_key(p->facts->view, seen->line[i]);
        rows[count++] = (uint32_t)i;
    }
    RGM_TRY(rgm_keyed_init(&lines, keys, count, err));
    for (size_t g = 0; g < lines.count; g++) {
        int64_t python = 0, all = lines.first[g + 1] - lines.first[g];
        for (uint32_t i = lines.first[g]; i < lines.first[g + 1]; i++)
            python += has_lock((rgm_sample_state)seen->state[rows[lines.items[i]]]);
        if (rgm_verdict_line_calls(p, all - python, python)) continue;
        for (uint32_t i = lines.first[g]; i < lines.first[g + 1]; i++)
            if (has_lock((rgm_sample_state)seen->state[rows[lines.items[i]]]))
                become_python(p, rows[lines.items[i]]);
    }
    return RGM_OK;
}
