// SPDX-License-Identifier: Apache-2.0
// The governor under a driven clock and a driven cost, and what a session makes of what it says.
#include "capture/governor.h"

#include "capture/session_state.h"
#include "recording.h"

#define LOOK RGM_GOVERNOR_LOOK_NS
#define SHARE 0.005

// A program whose sampling would cost so much a second if nothing were made rarer.
typedef struct {
    rgm_governor governor;
    rgm_governor_cost cost;
    int64_t now_ns;
    double whole_ns[RGM_GOVERNED_COUNT], rest_ns;
    double spent_ns;
} program;

static program program_new(double share) {
    program p = {.now_ns = 7};
    rgm_governor_start(&p.governor, share);
    CHECK(!rgm_governor_look(&p.governor, p.now_ns, &p.cost)); // the first look begins the first window
    return p;
}

static void second(program *p) {
    p->now_ns += LOOK;
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) {
        double ns = p->whole_ns[i] / p->governor.one_in[i];
        p->cost.governed_ns[i] += (int64_t)ns;
        p->spent_ns += ns;
    }
    p->cost.rest_ns += (int64_t)p->rest_ns;
    p->spent_ns += p->rest_ns;
    CHECK(rgm_governor_look(&p->governor, p->now_ns, &p->cost));
}

static double share_of(program *p, int seconds) {
    double before = p->spent_ns;
    for (int i = 0; i < seconds; i++) second(p);
    return (p->spent_ns - before) / ((double)seconds * (double)LOOK);
}

static bool takes_all(const program *p) {
    bool all = true;
    for (int i = 0; i < RGM_GOVERNED_COUNT; i++) all = all && p->governor.one_in[i] == 1;
    return all;
}

TEST(what_is_cheap_is_left_alone) {
    program p = program_new(SHARE);
    p.whole_ns[RGM_GOVERNED_stacks] = p.whole_ns[RGM_GOVERNED_resident] = 2e6;
    p.rest_ns = 0.9e6; // 4.9 ms of a second, of 5
    for (int i = 0; i < 100; i++) {
        second(&p);
        CHECK(takes_all(&p));
    }
    CHECK_NEAR(p.governor.spent, 0.0049, 1e-9);
}

TEST(the_dearest_becomes_rarer_at_the_first_look) {
    program p = program_new(SHARE);
    p.whole_ns[RGM_GOVERNED_stacks] = 1e6;
    p.whole_ns[RGM_GOVERNED_scope_memory] = 230e6; // 100,000 scopes at 2.3 us
    second(&p);
    CHECK_EQ_U64(p.governor.one_in[RGM_GOVERNED_resident], 1);
    CHECK(p.governor.one_in[RGM_GOVERNED_scope_memory] >= 64);
    CHECK(share_of(&p, 300) <= SHARE);
}

// The load changes by a factor of 100 and back: each time within the budget, the debt of the first second
// included.
TEST(a_load_that_changes_by_a_hundred_stays_in_the_budget) {
    program p = program_new(SHARE);
    p.whole_ns[RGM_GOVERNED_stacks] = 0.5e6;
    p.whole_ns[RGM_GOVERNED_resident] = 0.1e6;
    p.whole_ns[RGM_GOVERNED_scope_memory] = 2.3e6;
    CHECK(share_of(&p, 60) <= SHARE && takes_all(&p));
    p.whole_ns[RGM_GOVERNED_scope_memory] = 230e6;
    p.rest_ns = 1e6;
    CHECK(share_of(&p, 1) > SHARE); // nobody had known
    CHECK(share_of(&p, 120) <= SHARE);
    CHECK(p.governor.debt_ns < 1e6);
    CHECK(p.spent_ns <= SHARE * 181 * (double)LOOK);
    p.whole_ns[RGM_GOVERNED_scope_memory] = 2.3e6;
    p.rest_ns = 0;
    CHECK(share_of(&p, 60) <= SHARE && takes_all(&p));
}

TEST(what_lies_between_enough_and_easy_does_not_swing) {
    program p = program_new(SHARE);
    p.whole_ns[RGM_GOVERNED_stacks] = 8e6;
    (void)share_of(&p, 60); // the debt is paid back
    uint32_t settled = p.governor.one_in[RGM_GOVERNED_stacks];
    CHECK(settled >= 2 && settled <= 4);
    for (int i = 0; i < 200; i++) {
        p.whole_ns[RGM_GOVERNED_stacks] = i % 2 ? 7.9e6 : 8.1e6;
        second(&p);
        CHECK_EQ_U64(p.governor.one_in[RGM_GOVERNED_stacks], settled);
    }
}

TEST(a_few_quiet_looks_do_not_make_it_dense_again) {
    program p = program_new(SHARE);
    p.whole_ns[RGM_GOVERNED_stacks] = 40e6;
    (void)share_of(&p, 100);
    uint32_t rare = p.governor.one_in[RGM_GOVERNED_stacks];
    CHECK(rare >= 8);
    p.whole_ns[RGM_GOVERNED_stacks] = 0;
    for (int i = 1; i < RGM_GOVERNOR_CALM; i++) second(&p);
    CHECK_EQ_U64(p.governor.one_in[RGM_GOVERNED_stacks], rare);
    second(&p);
    CHECK_EQ_U64(p.governor.one_in[RGM_GOVERNED_stacks], rare / 2);
}

TEST(what_cannot_be_made_rarer_leaves_the_least_and_is_told) {
    program p = program_new(SHARE);
    p.rest_ns = 40e6;
    p.whole_ns[RGM_GOVERNED_stacks] = p.whole_ns[RGM_GOVERNED_resident] = 1e6;
    second(&p);
    CHECK_EQ_U64(p.governor.one_in[RGM_GOVERNED_stacks], RGM_GOVERNOR_RAREST);
    CHECK_EQ_U64(p.governor.one_in[RGM_GOVERNED_resident], RGM_GOVERNOR_RAREST);
    second(&p);
    CHECK(p.governor.spent > SHARE);
}

TEST(counts_that_begin_anew_and_a_clock_that_goes_back_begin_a_window) {
    program p = program_new(SHARE);
    p.rest_ns = 40e6;
    second(&p);
    double debt_ns = p.governor.debt_ns;
    p.cost = (rgm_governor_cost){0}; // the recording was reset
    CHECK(!rgm_governor_look(&p.governor, p.now_ns + 3 * LOOK, &p.cost));
    CHECK_NEAR(p.governor.debt_ns, debt_ns, 1e-9);
    CHECK(!rgm_governor_look(&p.governor, p.now_ns + 3 * LOOK + LOOK / 2, &p.cost)); // before its end
    CHECK(!rgm_governor_look(&p.governor, p.now_ns - LOOK, &p.cost));
    CHECK(rgm_governor_look(&p.governor, p.now_ns + 5 * LOOK, &p.cost));
}

// --- a session --------------------------------------------------------------------------------------------

static size_t values_of(const rgm_run *run, const char *series, double *last) {
    size_t count = 0;
    for (size_t i = 0; i < run->counters.rows; i++) {
        if (strcmp(text_of(run, run->counters.series[i]), series) != 0) continue;
        *last = run->counters.value[i];
        count++;
    }
    return count;
}

TEST(a_session_keeps_each_change_and_reads_memory_of_fewer_scopes) {
    rgm_clock_fake(1000 * (uint64_t)LOOK);
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.budget_ppm = 5000;
    rgm_session *s = session_with(options, NULL); // no scope, so no drainer that looks too
    rgm_recorder recorder = {0};
    int64_t now_ns = rgm_clock_monotonic_ns();
    rgm_session_govern(s, now_ns);
    for (int i = 0; i < 3; i++) {
        rgm_clock_fake_advance((uint64_t)LOOK);
        rgm_session_own(s, RGM_OWN_memory, (uint64_t)LOOK / 50); // 2 %, and nobody reads less for it here
        rgm_session_govern(s, now_ns += LOOK);
    }
    uint32_t one_in = atomic_load(&s->one_in[RGM_GOVERNED_scope_memory]);
    int read = 0, of = 100000;
    for (int i = 0; i < of; i++) {
        recorder.next_seq = (uint32_t)i;
        read += rgm_session_reads_memory(s, &recorder);
    }
    CHECK(one_in >= 4);
    CHECK_NEAR((double)read / of, 1.0 / one_in, 0.2 / one_in);
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK_EQ_U64(stats.one_in[RGM_GOVERNED_scope_memory], one_in);
    rgm_run *run = snapshot_of(s);
    double last = 0, spent = 0;
    CHECK(values_of(run, "budget/scope_memory_one_in", &last) >= 1);
    CHECK_NEAR(last, one_in, 0);
    CHECK_EQ_U64(values_of(run, "budget/own_cost_share", &spent), 3);
    CHECK_NEAR(spent, 0.02, 1e-3);
    CHECK_EQ_U64(values_of(run, "budget/stacks_one_in", &last), 0);
    CHECK(anomaly_count(run, RGM_ANOMALY_RATES_CHANGED) >= 1);
    rgm_run_free(run);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(without_a_budget_nothing_is_governed) {
    rgm_session *s = session_plain(NULL);
    rgm_recorder recorder = {0};
    rgm_session_own(s, RGM_OWN_memory, UINT64_C(1) << 40);
    for (int64_t at = 1; at < 10; at++) rgm_session_govern(s, at * LOOK);
    CHECK(rgm_session_reads_memory(s, &recorder));
    rgm_run *run = snapshot_of(s);
    CHECK_EQ_U64(run->counters.rows, 0);
    rgm_run_free(run);
    rgm_session_free(s);
}
