// SPDX-License-Identifier: Apache-2.0
// What a session does about its budget: it tells the governor what recording has cost, passes on what it
// says, and keeps that in the recording.
#include <string.h>

#include "base/hash.h"
#include "base/tokens.h"
#include "capture/session_state.h"

static const char *const series[] = {RGM_GOVERNED(RGM_TOKEN)};

// Every record counts as a scope: those of memory, which a scope has beside its own, cost about as much to
// write.
static rgm_governor_cost cost_of(rgm_session *session) {
    rgm_session_stats stats;
    rgm_session_get_stats(session, &stats);
    int64_t looks_ns = atomic_load(&session->sampling.stacks_cpu_ns),
            resident_ns = atomic_load(&session->sampling.memory_cpu_ns);
    int64_t machine_ns = atomic_load(&session->pressure_cpu_ns);
    // The drainer has not yet said what its present turn took, of which the question is a part.
    int64_t drainer_ns = stats.service_cpu_ns - looks_ns - resident_ns;
    rgm_governor_cost cost = {.rest_ns = drainer_ns > machine_ns ? drainer_ns - machine_ns : 0};
    cost.rest_ns +=
        (int64_t)((double)(stats.scopes + stats.sampled_out) * (double)session->options.scope_cost_ps * 1e-3);
    for (int what = 0; what < RGM_OWN_COUNT; what++)
        if (what != RGM_OWN_memory) cost.rest_ns += stats.own_ns[what];
    cost.governed_ns[RGM_GOVERNED_stacks] = looks_ns;
    cost.governed_ns[RGM_GOVERNED_machine] = machine_ns;
    cost.governed_ns[RGM_GOVERNED_resident] = resident_ns;
    cost.governed_ns[RGM_GOVERNED_scope_memory] = stats.own_ns[RGM_OWN_memory];
    if (session->stacks.watches_heap) { // a buffer that is emptied too rarely overflows
        cost.rest_ns += looks_ns;
        cost.governed_ns[RGM_GOVERNED_stacks] = 0;
    }
    return cost;
}

void rgm_session_value(rgm_session *session, const char *name, double value, int64_t now_ns) {
    rgm_counter_row row = {.time_ns = now_ns, .value = value, .device = -1};
    if (rgm_strings_intern(&session->strings, name, strlen(name), &row.series, NULL) == RGM_OK)
        rgm_session_rows(session, RGM_LOG_VALUES, &row, 1);
}

static void pass_on(rgm_session *session, const uint32_t *one_in, int64_t now_ns) {
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) {
        if (atomic_exchange(&session->one_in[i], one_in[i]) == one_in[i]) continue;
        rgm_session_value(session, series[i], one_in[i], now_ns);
        rgm_session_note(session, RGM_ANOMALY_RATES_CHANGED, 1);
    }
    atomic_store(&session->sampling.stacks_one_in, one_in[RGM_GOVERNED_stacks]);
    atomic_store(&session->sampling.memory_one_in, one_in[RGM_GOVERNED_resident]);
}

void rgm_session_govern_anew(rgm_session *session) {
    rgm_governor_start(&session->governor, (double)session->options.budget_ppm * 1e-6);
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) atomic_store(&session->one_in[i], 1);
    atomic_store(&session->sampling.stacks_one_in, 1);
    atomic_store(&session->sampling.memory_one_in, 1);
}

void rgm_session_govern(rgm_session *session, int64_t now_ns) {
    rgm_governor *governor = &session->governor;
    if (governor->share <= 0) return;
    if (governor->looked && now_ns - governor->last_ns < RGM_GOVERNOR_LOOK_NS) return;
    rgm_governor_cost cost = cost_of(session);
    if (!rgm_governor_look(governor, now_ns, &cost)) return;
    rgm_session_value(session, "budget/own_cost_share", governor->spent, now_ns);
    pass_on(session, governor->one_in, now_ns);
}

bool rgm_session_reads_memory(const rgm_session *session, const rgm_recorder *recorder) {
    uint32_t one_in = atomic_load_explicit(&session->one_in[RGM_GOVERNED_scope_memory], memory_order_relaxed);
    if (RGM_LIKELY(one_in <= 1)) return true;
    // Not every n-th: that would keep step with a loop.
    return rgm_hash_u64((uint64_t)recorder->index << 32 | recorder->next_seq) % one_in == 0;
}
