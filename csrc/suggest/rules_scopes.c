// SPDX-License-Identifier: Apache-2.0
// Rules about operations that a program named itself: the five that the specification documents, and two
// more. Their thresholds are the documented ones; what they could save is told from what was measured.
#include <math.h>

#include "analysis/summary.h"
#include "base/memory.h"
#include "suggest/suggester.h"

typedef struct {
    rgm_suggester *s;
    const rgm_summary *all;
    size_t row;
} operation;

static bool is_gpu(const operation *o) {
    uint8_t device = o->all->device[o->row];
    return device == RGM_DEVICE_GPU || device == RGM_DEVICE_CUDA || device == RGM_DEVICE_ROCM;
}

static const rgm_policy *policy_of(const operation *o) { return o->s->facts->policy; }

// Claims the path during every call of the operation; the device's part too, whatever launched it.
static void open_for(const operation *o, rgm_suggestion_rule rule) {
    const rgm_facts *facts = o->s->facts;
    rgm_suggest_open(o->s, rule);
    o->s->open.subject = o->all->operation[o->row];
    for (size_t i = 0; i < facts->view->n_spans; i++) {
        if (rgm_view_kind(facts->view, i) != RGM_KIND_SCOPE) continue;
        uint32_t flags = RGM_CELL(&facts->view->run->spans, flags, i, 0);
        if (rgm_view_name(facts->view, i) != o->all->operation[o->row] ||
            rgm_flags_device(flags) != o->all->device[o->row])
            continue;
        if (o->s->open.span < 0 || rgm_facts_before(facts, i, (size_t)o->s->open.span))
            o->s->open.span = (int64_t)i;
        rgm_suggest_claim_between(o->s, rgm_view_start(facts->view, i), rgm_view_end(facts->view, i),
                                  RGM_ANY_PATH, (int32_t)rgm_view_lane(facts->view, i));
    }
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
        rgm_suggest_close_unbounded(o->s);
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
    if (o->all->device[o->row] != RGM_DEVICE_CPU ||
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
    double memory = o->all->memory_allocated_bytes[o->row], limit = policy_of(o)->suggest_memory_bytes;
    if (!(memory > limit)) return;
    open_for(o, RGM_RULE_MEMORY_HEAVY_SCOPE);
    rgm_suggest_note(o->s, RGM_QUANTITY_BYTES, memory, limit, o->s->open.span);
    rgm_suggest_close_unbounded(o->s);
}

// With a cache the first call remains, if all calls ask for the same.
static void cacheable(const operation *o) {
    const rgm_policy *policy = policy_of(o);
    double calls = (double)o->all->call_count[o->row];
    if (!(calls >= policy->suggest_cache_calls) || !(o->all->mean_ns[o->row] < policy->suggest_cache_ns))
        return;
    open_for(o, RGM_RULE_CACHEABLE_SCOPE);
    o->s->open.confidence = RGM_DEGREE_LOW;
    o->s->open.high = 1 - 1 / calls;
    note_calls(o, policy->suggest_cache_calls);
    note_mean(o, policy->suggest_cache_ns);
    rgm_suggest_close(o->s, 0);
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

// Were every call as long as the median, the rest of the total would be gone.
static void variable(const operation *o) {
    const rgm_policy *policy = policy_of(o);
    double calls = (double)o->all->call_count[o->row], total = (double)o->all->total_ns[o->row];
    double beyond = total - calls * o->all->median_ns[o->row];
    if (!(calls >= policy->suggest_batch_calls) || !(o->all->cv[o->row] > policy->suggest_variation) ||
        !(beyond > 0) || o->all->recursive_count[o->row] > 0)
        return;
    open_for(o, RGM_RULE_VARIABLE_SCOPE);
    o->s->open.confidence = RGM_DEGREE_LOW;
    o->s->open.high = beyond / total;
    rgm_suggest_note(o->s, RGM_QUANTITY_RATIO, o->all->cv[o->row], policy->suggest_variation,
                     o->s->open.span);
    rgm_suggest_note(o->s, RGM_QUANTITY_LONGEST_NS, (double)o->all->max_ns[o->row], NAN, o->s->open.span);
    if (o->s->open.high * total >= policy->suggest_least_share * (double)o->s->facts->whole_ns)
        rgm_suggest_close(o->s, 0);
    else
        rgm_suggest_drop(o->s);
}

void rgm_suggest_scopes(rgm_suggester *s) {
    // The first is about memory, all others about time: of an operation that takes none of it nothing is
    // said.
    static void (*const judgements[])(const operation *) = {memory_heavy, small_gpu, large_cpu, repeated,
                                                            cacheable,    idle,      variable};
    const double least = s->facts->policy->suggest_least_share;
    rgm_entries entries = {0};
    rgm_summary all = {0};
    rgm_status status = rgm_entries_compute(s->facts->view->run, &entries, s->err);
    if (status == RGM_OK)
        status = rgm_summary_compute(s->facts->view->run, &entries, s->facts->policy, &all, s->err);
    if (status != RGM_OK) rgm_suggest_fail(s, status);
    for (size_t row = 0; status == RGM_OK && row < all.rows; row++) {
        bool matters = rgm_facts_share(s->facts, all.total_ns[row]) >= least;
        for (size_t i = 0; i < (matters ? sizeof judgements / sizeof judgements[0] : 1); i++)
            judgements[i](&(operation){s, &all, row});
    }
    rgm_table_release(&rgm_entries_desc, &entries);
    rgm_table_release(&rgm_summary_desc, &all);
}
