// SPDX-License-Identifier: Apache-2.0
// Rules about operations that a program named itself: those of the specification at its thresholds, and one
// more.
//
// Here their premise is measured as well: fewer calls save what a call costs beside its work, a device can be
// tried where there is one, and no run shows that calls ask for the same. Rules that rest on counts alone
// speak of exported profiles only (python/regimeter/suggest/of_aggregates.py).
#include <math.h>
#include <stdlib.h>

#include "analysis/stats.h"
#include "analysis/times/summary.h"
#include "base/memory.h"
#include "suggest/scopes_of.h"
#include "suggest/suggester.h"

typedef struct {
    rgm_suggester *s;
    const rgm_summary *all;
    rgm_scopes_of *scopes;
    size_t row;
} operation;

static bool is_gpu(const operation *o) { return rgm_scopes_on_device(o->all->device[o->row]); }

static const rgm_policy *policy_of(const operation *o) { return o->s->facts->policy; }

// Claims the path during every call of the operation; the device's part too, whatever launched it.
static void open_for(const operation *o, rgm_suggestion_rule rule) {
    rgm_suggest_open(o->s, rule);
    o->s->open.subject = o->all->operation[o->row];
    rgm_scopes_of_claim(o->scopes, o->s, o->all->operation[o->row], o->all->device[o->row]);
    o->s->open.current_ns = o->all->total_ns[o->row];
    o->s->open.count = o->all->call_count[o->row];
}

static void note_mean(const operation *o, double threshold) {
    rgm_suggest_note(o->s, RGM_QUANTITY_MEAN_NS, o->all->mean_ns[o->row], threshold, o->s->open.span);
}

static void note_calls(const operation *o, double threshold) {
    rgm_suggest_note(o->s, RGM_QUANTITY_COUNT, (double)o->all->call_count[o->row], threshold,
                     o->s->open.span);
}

// Host time beyond the device time was measured, or nothing can be said of what fewer calls would save.
static void close_by_overhead(const operation *o, double share) {
    int64_t overhead = o->all->overhead_ns[o->row], total = o->all->total_ns[o->row];
    if (overhead < 0 || total <= 0) {
        rgm_suggest_drop(o->s);
        return;
    }
    o->s->open.high = fmin(1, (double)overhead / (double)total) * share;
    rgm_suggest_note(o->s, RGM_QUANTITY_OVERHEAD_NS, (double)overhead, NAN, o->s->open.span);
    if (o->s->open.high > 0)
        rgm_suggest_close(o->s, 0);
    else
        rgm_suggest_drop(o->s);
}

static void small_gpu(const operation *o) {
    double limit = policy_of(o)->suggest_small_gpu_ns;
    if (!is_gpu(o) || !(o->all->mean_ns[o->row] < limit)) return;
    open_for(o, RGM_RULE_SMALL_GPU_SCOPE);
    o->s->open.confidence = RGM_DEGREE_LOW;
    note_mean(o, limit);
    close_by_overhead(o, 1);
}

static void large_cpu(const operation *o) {
    const rgm_policy *policy = policy_of(o);
    double memory = o->all->memory_allocated_bytes[o->row];
    if (o->all->device[o->row] != RGM_DEVICE_CPU || !o->scopes->any_device ||
        !(o->all->mean_ns[o->row] > policy->suggest_large_cpu_ns) ||
        !(memory > policy->suggest_large_cpu_bytes))
        return;
    open_for(o, RGM_RULE_LARGE_CPU_SCOPE);
    o->s->open.confidence = RGM_DEGREE_LOW;
    note_mean(o, policy->suggest_large_cpu_ns);
    rgm_suggest_note(o->s, RGM_QUANTITY_BYTES, memory, policy->suggest_large_cpu_bytes, o->s->open.span);
    rgm_suggest_close(o->s, 0);
}

static void repeated(const operation *o) {
    const rgm_policy *policy = policy_of(o);
    double calls = (double)o->all->call_count[o->row];
    if (!(calls >= policy->suggest_batch_calls) || !(o->all->mean_ns[o->row] < policy->suggest_batch_ns))
        return;
    open_for(o, RGM_RULE_REPEATED_SCOPE);
    o->s->open.confidence = RGM_DEGREE_LOW;
    note_calls(o, policy->suggest_batch_calls);
    note_mean(o, policy->suggest_batch_ns);
    close_by_overhead(o, 1 - 1 / calls);
}

static void memory_heavy(const operation *o) {
    const rgm_facts *facts = o->s->facts;
    double memory = o->all->memory_allocated_bytes[o->row], limit = facts->policy->suggest_memory_bytes;
    double there = is_gpu(o) ? facts->memory_total : facts->memory_of_host;
    if (!(memory > limit) || memory < facts->policy->suggest_memory_heavy_share * there) return;
    open_for(o, RGM_RULE_MEMORY_HEAVY_SCOPE);
    rgm_suggest_note(o->s, RGM_QUANTITY_BYTES, memory, limit, o->s->open.span);
    rgm_suggest_close_unbounded(o->s);
}

static void idle(const operation *o) {
    double limit = policy_of(o)->suggest_scope_busy_share;
    int64_t device = o->all->device_ns[o->row], total = o->all->total_ns[o->row];
    if (device < 0 || total <= 0 || o->all->device_count[o->row] < o->all->call_count[o->row]) return;
    double busy = (double)device / (double)total;
    if (!(busy < limit)) return;
    open_for(o, RGM_RULE_IDLE_SCOPE);
    o->s->open.high = 1 - busy;
    rgm_suggest_note(o->s, RGM_QUANTITY_BUSY_SHARE, busy, limit, o->s->open.span);
    rgm_suggest_close(o->s, 0);
}

static double known(int64_t ns) { return ns > 0 ? (double)ns : 0; }

// Time in which threads that record were ready and did not run, or their machine did not, while calls were
// made: by that calls are longer without a fault of theirs. NaN where it was not recorded.
static double kept_waiting(const operation *o) {
    const rgm_pressure *pressure = &o->s->facts->view->run->pressure;
    int64_t first = o->all->first_ns[o->row], last = o->all->last_ns[o->row];
    double waited = 0;
    bool seen = false;
    for (size_t i = 0; i < pressure->rows; i++) {
        int64_t end = RGM_CELL(pressure, time_ns, i, 0);
        int64_t start = rgm_subtract_bounded(end, RGM_CELL(pressure, interval_ns, i, 0));
        if (end <= first || start >= last) continue;
        int64_t waiting = RGM_CELL(pressure, waiting_ns, i, -1);
        seen |= waiting >= 0;
        waited += known(waiting) + known(RGM_CELL(pressure, steal_ns, i, -1)) +
                  known(RGM_CELL(pressure, throttled_ns, i, -1));
    }
    return seen ? waited : (double)NAN;
}

// Were every call as long as the median, the rest of the total would be gone.
static void variable(const operation *o) {
    const rgm_policy *policy = policy_of(o);
    double calls = (double)o->all->call_count[o->row], total = (double)o->all->total_ns[o->row];
    double beyond = total - calls * o->all->median_ns[o->row];
    if (beyond > 0) beyond -= kept_waiting(o); // silent where the machine may be what differs
    if (!(calls >= policy->suggest_batch_calls) || !(o->all->cv[o->row] > policy->suggest_variation) ||
        !(beyond > 0) || o->all->recursive_count[o->row] > 0)
        return;
    open_for(o, RGM_RULE_VARIABLE_SCOPE);
    o->s->open.confidence = RGM_DEGREE_LOW;
    o->s->open.high = beyond / total;
    rgm_suggest_note(o->s, RGM_QUANTITY_RATIO, o->all->cv[o->row], policy->suggest_variation,
                     o->s->open.span);
    rgm_suggest_note(o->s, RGM_QUANTITY_LONGEST_NS, (double)o->all->max_ns[o->row], NAN, o->s->open.span);
    rgm_suggest_close(o->s, 0);
}

void rgm_suggest_scopes(rgm_suggester *s) {
    // The first is about memory, all others about time: of an operation that takes none of it nothing is
    // said.
    static void (*const judgements[])(const operation *) = {memory_heavy, small_gpu, large_cpu,
                                                            repeated,     idle,      variable};
    const double least = s->facts->policy->suggest_least_share;
    rgm_entries entries = {0};
    rgm_summary all = {0};
    // Without what was launched in the scopes, which the rules of device work judge.
    rgm_status status = rgm_entries_compute(s->facts->view->run, NULL, &entries, s->err);
    if (status == RGM_OK)
        status = rgm_summary_compute(s->facts->view->run, &entries, s->facts->policy, &all, s->err);
    rgm_scopes_of scopes = {0};
    if (status == RGM_OK && all.rows > 0) status = rgm_scopes_of_init(&scopes, s->facts, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    for (size_t row = 0; status == RGM_OK && row < all.rows; row++) {
        bool matters = rgm_facts_share(s->facts, all.total_ns[row]) >= least;
        for (size_t i = 0; i < (matters ? sizeof judgements / sizeof judgements[0] : 1); i++)
            judgements[i](&(operation){s, &all, &scopes, row});
    }
    rgm_scopes_of_release(&scopes);
    rgm_table_release(&rgm_entries_desc, &entries);
    rgm_table_release(&rgm_summary_desc, &all);
}
