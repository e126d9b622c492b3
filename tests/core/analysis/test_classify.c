// SPDX-License-Identifier: Apache-2.0
// The classifier on cases worked out by hand. The device reaches 100 T operations/s in fp32, 1000 T in bf16,
// 1 TB/s, and its shortest kernel takes 2 us: 100 operations a ns, 1 byte a ps.
#include "analysis/regimes/classify.h"

#include "harness.h"

static rgm_ceilings device_ceilings(void) {
    rgm_ceilings c;
    for (int i = 0; i < RGM_CEILING_COUNT; i++) c.at[i] = (rgm_ceiling){NAN, NAN};
    c.at[RGM_CEILING_COMPUTE_FP32] = (rgm_ceiling){100e12, 0};
    c.at[RGM_CEILING_COMPUTE_BF16] = (rgm_ceiling){1000e12, 0};
    c.at[RGM_CEILING_MEMORY_COPY] = (rgm_ceiling){0.9e12, 0};
    c.at[RGM_CEILING_MEMORY_TRIAD] = (rgm_ceiling){1e12, 0};
    c.at[RGM_CEILING_CACHE_L2] = (rgm_ceiling){4e12, 0};
    c.at[RGM_CEILING_SHORTEST_KERNEL] = (rgm_ceiling){2000, 0};
    return c;
}

// A kernel of 100 us that computes for `compute` of it in fp32 and moves bytes for `memory` of it.
static rgm_work kernel(const rgm_ceilings *ceilings, double compute, double memory) {
    rgm_work w = rgm_work_none;
    w.ceilings = ceilings;
    w.time_ns = 1e5;
    for (int p = 0; p < RGM_PIPE_COUNT; p++) w.operations[p] = 0;
    w.operations[RGM_PIPE_FP32] = compute * 1e10;
    w.bytes = memory * 1e8;
    return w;
}

static rgm_regime_verdict judge(const rgm_work *work) {
    const rgm_policy policy = RGM_POLICY_DEFAULTS;
    return rgm_classify(work, &policy);
}

#define CHECK_VERDICT(v, label, what, why)                                                                   \
    do {                                                                                                     \
        CHECK_EQ_I64((v).regime, RGM_REGIME_##label);                                                        \
        CHECK_EQ_I64((v).detail, RGM_DETAIL_##what);                                                         \
        CHECK_EQ_I64((v).reason, RGM_REASON_##why);                                                          \
    } while (0)

#define CHECK_WORK(compute, memory, label, what, why)                                                        \
    do {                                                                                                     \
        const rgm_ceilings c_ = device_ceilings();                                                           \
        const rgm_work w_ = kernel(&c_, compute, memory);                                                    \
        const rgm_regime_verdict v_ = judge(&w_);                                                            \
        CHECK_VERDICT(v_, label, what, why);                                                                 \
    } while (0)

TEST(figures_follow_from_work_and_ceilings) {
    const rgm_ceilings c = device_ceilings();
    const rgm_work w = kernel(&c, 0.7, 0.3);
    const rgm_regime_verdict v = judge(&w);
    CHECK_NEAR(v.sol_compute, 0.7, 1e-12);
    CHECK_NEAR(v.sol_memory, 0.3, 1e-12);
    CHECK_NEAR(v.floor_share, 0.02, 1e-12);
    CHECK_NEAR(v.intensity, 7e9 / 3e7, 1e-6);
    CHECK_NEAR(v.ridge, 100, 1e-9); // 100e12 operations/s over 1e12 bytes/s
    CHECK_NEAR(v.model_ns, 0.7e5, 1e-6);
    CHECK_NEAR(v.confidence, 1, 1e-12);
    CHECK_EQ_I64(v.memory_roof, RGM_CEILING_MEMORY_TRIAD);
    CHECK(!v.floor_assumed);
}

TEST(rule_1_a_kernel_near_the_shortest) {
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0, 0);
    w.time_ns = 3999;
    CHECK_VERDICT(judge(&w), OVERHEAD_BOUND, LATENCY, FLOOR);
    w.time_ns = 4001;
    CHECK_VERDICT(judge(&w), AMBIGUOUS, UNDERUSED, FAR);
    w.calls = 10; // ten of them: 20 us of floor
    w.time_ns = 39999;
    CHECK_VERDICT(judge(&w), OVERHEAD_BOUND, LATENCY, FLOOR);
    w.time_ns = 40001;
    CHECK_VERDICT(judge(&w), AMBIGUOUS, UNDERUSED, FAR);
}

TEST(rule_1_gives_way_to_a_roof_that_takes_longer) {
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0, 0);
    w.time_ns = 3500;
    w.bytes = 2.5e6; // 2.5 us at the roof, more than the floor's 2
    const rgm_regime_verdict v = judge(&w);
    CHECK_VERDICT(v, AMBIGUOUS, LATENCY, FLOOR_OR_ROOF);
    CHECK_EQ_I64(v.leans_to, RGM_REGIME_MEMORY_BOUND);
}

TEST(rule_2_near_a_roof) {
    CHECK_WORK(0.61, 0.1, COMPUTE_BOUND, NONE, ROOF);
    CHECK_WORK(0.1, 0.61, MEMORY_BOUND, NONE, ROOF);
    CHECK_WORK(0.99, 0.8, COMPUTE_BOUND, NONE, ROOF);
    CHECK_WORK(0, 0.9, MEMORY_BOUND, NONE, ROOF);
    CHECK_WORK(0.9, 0, COMPUTE_BOUND, NONE, ROOF);
}

TEST(rule_2_roofs_within_the_margin_are_balanced) {
    CHECK_WORK(0.8, 0.8 * 1.14, AMBIGUOUS, BALANCED, BALANCED);
    CHECK_WORK(0.8 * 1.14, 0.8, AMBIGUOUS, BALANCED, BALANCED);
    CHECK_WORK(0.8, 0.8 * 1.16, MEMORY_BOUND, NONE, ROOF);
    CHECK_WORK(0.8 * 1.16, 0.8, COMPUTE_BOUND, NONE, ROOF);
}

TEST(rule_3_between_the_cuts_is_underused) {
    CHECK_WORK(0.59, 0.1, COMPUTE_BOUND, UNDERUSED, UNDERUSED);
    CHECK_WORK(0.1, 0.21, MEMORY_BOUND, UNDERUSED, UNDERUSED);
    const rgm_ceilings c = device_ceilings();
    const rgm_work w = kernel(&c, 0.1, 0.3);
    CHECK_NEAR(judge(&w).confidence, 0.5, 1e-12); // the roof explains half of what the near share asks for
}

TEST(rule_4_far_from_both_needs_a_small_grid) {
    CHECK_WORK(0.19, 0.1, AMBIGUOUS, UNDERUSED, FAR);
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0.19, 0.1);
    w.blocks = 131;
    w.multiprocessors = 132;
    CHECK_VERDICT(judge(&w), OVERHEAD_BOUND, LATENCY, SMALL_GRID);
    w.blocks = 132;
    CHECK_VERDICT(judge(&w), AMBIGUOUS, UNDERUSED, FAR);
}

TEST(rule_4_calls_of_a_host_explain_what_no_roof_does) {
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0.1, 0.1);
    w.single = &c;
    w.floor_ns = 0.25 * w.time_ns;
    CHECK_VERDICT(judge(&w), AMBIGUOUS, UNDERUSED, FAR); // a kernel may be slow for another reason
    w.host = true;
    CHECK_VERDICT(judge(&w), OVERHEAD_BOUND, LATENCY, FLOOR);
    w.floor_ns = 0.15 * w.time_ns;
    CHECK_VERDICT(judge(&w), AMBIGUOUS, UNDERUSED, FAR);
    w = kernel(&c, 0.3, 0.1);
    w.single = &c;
    w.host = true;
    w.floor_ns = 0.25 * w.time_ns;
    CHECK_VERDICT(judge(&w), COMPUTE_BOUND, UNDERUSED, UNDERUSED);
}

TEST(rule_5_faster_than_a_roof_is_flagged_and_not_clamped) {
    CHECK_WORK(0.3, 1.04, MEMORY_BOUND, NONE, ROOF);
    CHECK_WORK(0.3, 1.06, UNKNOWN, MODEL_ERROR, FASTER);
    const rgm_ceilings c = device_ceilings();
    const rgm_work w = kernel(&c, 2.5, 0.1);
    const rgm_regime_verdict v = judge(&w);
    CHECK_VERDICT(v, UNKNOWN, MODEL_ERROR, FASTER);
    CHECK_NEAR(v.sol_compute, 2.5, 1e-12);
    CHECK_NEAR(v.error_probability, 1, 1e-12);
}

TEST(reads_alone_may_be_faster_than_a_copy) {
    rgm_ceilings c = device_ceilings();
    c.at[RGM_CEILING_MEMORY_READ] = (rgm_ceiling){1.3e12, 0};
    const rgm_work w = kernel(&c, 0.1, 1.3);
    CHECK_VERDICT(judge(&w), MEMORY_BOUND, NONE, ROOF);
    const rgm_work faster = kernel(&c, 0.1, 1.37);
    CHECK_VERDICT(judge(&faster), UNKNOWN, MODEL_ERROR, FASTER);
    c.at[RGM_CEILING_MEMORY_UPDATE] = (rgm_ceiling){1.35e12, 0}; // in place
    CHECK_VERDICT(judge(&faster), MEMORY_BOUND, NONE, ROOF);
}

TEST(each_pipe_has_its_own_roof) { // D5: bf16 against fp32 would be 700 %
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0, 0.1);
    w.operations[RGM_PIPE_BF16] = 7e10; // 70 us at 1000 T/s
    CHECK_NEAR(judge(&w).sol_compute, 0.7, 1e-12);
    w.operations[RGM_PIPE_FP32] = 2e9; // and 20 us at 100 T/s
    CHECK_NEAR(judge(&w).sol_compute, 0.9, 1e-12);
    CHECK_VERDICT(judge(&w), COMPUTE_BOUND, NONE, ROOF);
}

TEST(what_is_missing_is_named) { // D3: no row of a table, no default, no verdict
    const rgm_ceilings c = device_ceilings();
    rgm_work w = rgm_work_none;
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_TIME);
    w.time_ns = 1e5;
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_WORK);
    w.bytes = 1e7;
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_CEILINGS);
    w.ceilings = &c;
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_OPERATIONS);
    w = kernel(&c, 0.5, 0.1);
    w.bytes = NAN;
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_BYTES);
    w = kernel(&c, 0.5, 0.1);
    w.operations[RGM_PIPE_FP8] = 1; // a pipe that was not measured: its ceiling is missing, not the work
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_PEAK);
}

TEST(one_roof_is_enough_where_the_other_cannot_be_nearer) {
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0, 0.88);
    w.operations[RGM_PIPE_FP32] = NAN;
    CHECK_VERDICT(judge(&w), MEMORY_BOUND, NONE, ROOF);
    w.bytes = 0.86e8; // 1 / 1.15 is 0.8696
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_OPERATIONS);
}

TEST(a_short_time_alone_is_no_overhead) { // D10: below 1 ms, and nothing else known
    const rgm_ceilings c = device_ceilings();
    rgm_work w = rgm_work_none;
    w.ceilings = &c;
    w.time_ns = 5e5;
    CHECK_VERDICT(judge(&w), UNKNOWN, NONE, NO_WORK);
}

TEST(slower_than_the_best_is_not_called_overhead) { // D6: the rest was
    for (int percent = 21; percent < 100; percent++) {
        const rgm_ceilings c = device_ceilings();
        const rgm_work w = kernel(&c, percent / 100.0, 0.05);
        CHECK_EQ_I64(judge(&w).regime, RGM_REGIME_COMPUTE_BOUND);
    }
}

TEST(one_sample_of_a_short_time_is_not_certain) { // D7: launch latency is in it
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0, 0);
    w.time_ns = 4400;
    w.bytes = 2.86e6; // 65 % of the roof
    CHECK_EQ_I64(judge(&w).regime, RGM_REGIME_MEMORY_BOUND);
    w.time_spread = 1; // 2.2 to 8.8 us
    const rgm_regime_verdict v = judge(&w);
    CHECK_EQ_I64(v.regime, RGM_REGIME_AMBIGUOUS);
    CHECK_EQ_I64(v.leans_to, RGM_REGIME_MEMORY_BOUND);
    // In what is as short as two floors the roof takes longer than the floor: either of the two, not
    // overhead.
    CHECK(v.memory_probability + v.overhead_probability < 0.8 && v.confidence < 0.8);
    w.bytes = 1e6; // 1 us at the roof, half of the floor
    w.time_ns = 3000;
    w.time_spread = 0.2;
    CHECK_EQ_I64(judge(&w).regime, RGM_REGIME_OVERHEAD_BOUND);
    w.bytes = 1.8e6; // less than the floor by no more than the margin
    CHECK_VERDICT(judge(&w), AMBIGUOUS, LATENCY, FLOOR_OR_ROOF);
}

TEST(uncertain_ceilings_make_a_verdict_uncertain) { // D4: a sheet with sparsity counts twice
    rgm_ceilings c = device_ceilings();
    const rgm_work w = kernel(&c, 0.9, 0.65);
    CHECK_VERDICT(judge(&w), COMPUTE_BOUND, NONE, ROOF);
    c.at[RGM_CEILING_COMPUTE_FP32].spread = 1;
    const rgm_regime_verdict v = judge(&w);
    CHECK_VERDICT(v, AMBIGUOUS, NONE, UNCERTAIN);
    CHECK_EQ_I64(v.leans_to, RGM_REGIME_COMPUTE_BOUND);
}

// ln(0.9 / 0.6) is 0.405 and two standard deviations of a spread of 0.5 are ln(1.5) = 0.405: the verdict
// falls below the cut at two of them, which a normal distribution does with 2.3 %.
TEST(probabilities_are_those_of_the_normal_distribution) {
    const rgm_ceilings c = device_ceilings();
    rgm_work w = kernel(&c, 0, 0.2 * 1.5);
    w.bytes_spread = 0.5;
    CHECK_NEAR(judge(&w).memory_probability, 0.9772, 2e-3);
    w.bytes = 0.2 * 1e8 * 1.2247449; // half as far: one standard deviation
    CHECK_NEAR(judge(&w).memory_probability, 0.8413, 2e-3);
}

TEST(shares_that_hardware_counted_need_no_ceilings) {
    rgm_work w = rgm_work_none;
    w.time_ns = 1e5;
    w.compute_share = 0.2;
    w.memory_share = 0.85;
    CHECK_VERDICT(judge(&w), MEMORY_BOUND, NONE, ROOF);
    w.memory_share = 0.1;
    w.compute_share = 0.7;
    CHECK_VERDICT(judge(&w), COMPUTE_BOUND, NONE, ROOF);
    CHECK(judge(&w).floor_assumed);
}

// --- hosts ------------------------------------------------------------------------------------------------

// One thread: 10 G operations/s, 10 GB/s; all eight: 80 G and 20 GB/s. Caches of 32 KiB, 1 MiB, 32 MiB.
typedef struct {
    rgm_ceilings all, single;
} host;

static host host_ceilings(void) {
    host h;
    for (int i = 0; i < RGM_CEILING_COUNT; i++) h.all.at[i] = h.single.at[i] = (rgm_ceiling){NAN, NAN};
    h.single.at[RGM_CEILING_COMPUTE_FP64] = (rgm_ceiling){10e9, 0};
    h.all.at[RGM_CEILING_COMPUTE_FP64] = (rgm_ceiling){80e9, 0};
    h.single.at[RGM_CEILING_MEMORY_COPY] = (rgm_ceiling){10e9, 0};
    h.all.at[RGM_CEILING_MEMORY_COPY] = (rgm_ceiling){20e9, 0};
    h.single.at[RGM_CEILING_CACHE_L1] = (rgm_ceiling){200e9, 0};
    h.single.at[RGM_CEILING_CACHE_L2] = (rgm_ceiling){100e9, 0};
    h.single.at[RGM_CEILING_CACHE_L3] = (rgm_ceiling){40e9, 0};
    h.single.at[RGM_CEILING_MEMORY_LATENCY] = (rgm_ceiling){100, 0};
    h.single.at[RGM_CEILING_DISPATCH_NUMPY] = (rgm_ceiling){500, 0};
    return h;
}

static rgm_work host_work(const host *h, double threads) {
    rgm_work w = rgm_work_none;
    w.host = true;
    w.ceilings = &h->all;
    w.single = &h->single;
    w.time_ns = 1e6;
    w.threads = threads;
    w.machine_threads = 8;
    w.cache_bytes[0] = 32 << 10;
    w.cache_bytes[1] = 1 << 20;
    w.cache_bytes[2] = 32 << 20;
    for (int p = 0; p < RGM_PIPE_COUNT; p++) w.operations[p] = 0;
    return w;
}

TEST(a_host_is_judged_at_the_threads_that_worked) {
    const host h = host_ceilings();
    rgm_work w = host_work(&h, 1);
    w.operations[RGM_PIPE_FP64] = 8e6; // 80 % of one thread, 10 % of eight
    w.bytes = 1e5;
    CHECK_VERDICT(judge(&w), COMPUTE_BOUND, NONE, ROOF);
    CHECK_NEAR(judge(&w).sol_compute, 0.8, 1e-12);
    w.threads = 8;
    CHECK_NEAR(judge(&w).sol_compute, 0.1, 1e-12);
    w.threads = NAN;
    w.cpu_ns = 1e6;
    CHECK_NEAR(judge(&w).sol_compute, 0.8, 1e-12);
}

TEST(bandwidth_between_one_thread_and_all_is_an_interval) {
    const host h = host_ceilings();
    rgm_work w = host_work(&h, 2);
    w.bytes = 1e7;
    // Evenly 10 + 10 / 7 GB/s, in proportion 20: the middle of the logarithms.
    CHECK_NEAR(judge(&w).sol_memory, 10 / sqrt((10 + 10 / 7.0) * 20), 1e-9);
    CHECK(judge(&w).model_high_ns > judge(&w).model_ns * 1.2);
}

TEST(a_working_set_is_judged_by_its_cache) {
    const host h = host_ceilings();
    rgm_work w = host_work(&h, 1);
    w.bytes = 8e7; // 80 GB/s: eight times what memory gives
    CHECK_VERDICT(judge(&w), UNKNOWN, MODEL_ERROR, FASTER);
    w.working_set = 256 << 10;
    CHECK_VERDICT(judge(&w), MEMORY_BOUND, NONE, ROOF);
    CHECK_EQ_I64(judge(&w).memory_roof, RGM_CEILING_CACHE_L2);
    CHECK_NEAR(judge(&w).sol_memory, 0.8, 1e-12);
    w.working_set = 8 << 10;
    CHECK_EQ_I64(judge(&w).memory_roof, RGM_CEILING_CACHE_L1);
    w.working_set = 256 << 20;
    CHECK_EQ_I64(judge(&w).memory_roof, RGM_CEILING_MEMORY_COPY);
}

TEST(a_waiting_host_is_overhead) {
    const host h = host_ceilings();
    rgm_work w = host_work(&h, NAN);
    w.cpu_ns = 0.49e6;
    w.bytes = 1e5;
    CHECK_VERDICT(judge(&w), OVERHEAD_BOUND, WAIT, CPU_IDLE);
    CHECK_NEAR(judge(&w).wait_share, 0.51, 1e-12);
    w.cpu_ns = 0.51e6;
    CHECK_EQ_I64(judge(&w).regime, RGM_REGIME_AMBIGUOUS);
}

TEST(calls_are_overhead_when_their_dispatch_explains_the_time) {
    const host h = host_ceilings();
    rgm_work w = host_work(&h, 1);
    w.bytes = 1e5;
    w.calls = 1100; // 0.55 ms of 1
    w.dispatch = RGM_CEILING_DISPATCH_NUMPY;
    CHECK_VERDICT(judge(&w), OVERHEAD_BOUND, LATENCY, FLOOR);
    w.calls = 410; // 0.205 of it, which is more than the far share
    CHECK_VERDICT(judge(&w), OVERHEAD_BOUND, LATENCY, FLOOR);
    w.calls = 390;
    CHECK_EQ_I64(judge(&w).regime, RGM_REGIME_AMBIGUOUS);
}

TEST(a_pointer_chase_needs_its_accesses) {
    const host h = host_ceilings();
    rgm_work w = host_work(&h, 1);
    w.bytes = 64 * 9e3; // 9000 lines: 6 % of the bandwidth
    CHECK_VERDICT(judge(&w), AMBIGUOUS, UNDERUSED, FAR);
    w.accesses = 9e3; // 0.9 ms of 1
    CHECK_VERDICT(judge(&w), MEMORY_BOUND, LATENCY, CHAIN);
    w.working_set = 1 << 20; // then they are not loads of main memory
    CHECK_VERDICT(judge(&w), AMBIGUOUS, UNDERUSED, FAR);
}
