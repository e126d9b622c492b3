// SPDX-License-Identifier: Apache-2.0
// Rules about the launch configuration of kernels: too few blocks, odd blocks, low occupancy.
#include <math.h>

#include "suggest/suggester.h"

enum { WARP = 32 };

static int64_t threads_of(const rgm_launches *launches, size_t row) {
    return (int64_t)RGM_CELL(launches, block_x, row, 0) * RGM_CELL(launches, block_y, row, 0) *
           RGM_CELL(launches, block_z, row, 0);
}

typedef struct {
    double lost; // share of the kernel's time that a better configuration could save at most
    bool applies;
} verdict;

typedef verdict (*judgement)(const rgm_facts *facts, size_t launch, rgm_kernel_type type);

// Multiprocessors without a block: beside it, that share of another kernel's work could run.
static verdict few_blocks(const rgm_facts *facts, size_t launch, rgm_kernel_type type) {
    (void)type;
    double blocks = RGM_CELL(&facts->view->run->launches, blocks_per_sm, launch, NAN);
    return (verdict){.lost = 1 - blocks, .applies = blocks > 0 && blocks < 1};
}

static verdict odd_block(const rgm_facts *facts, size_t launch, rgm_kernel_type type) {
    (void)type;
    int64_t threads = threads_of(&facts->view->run->launches, launch);
    int64_t lanes = (threads + WARP - 1) / WARP * WARP;
    return (verdict){.lost = lanes ? 1 - (double)threads / (double)lanes : 0,
                     .applies = threads > 0 && threads % WARP != 0};
}

// Products and attention keep their tiles in registers and shared memory, so their best versions have few
// warps.
static bool hides_latency_by_warps(rgm_kernel_type type) {
    return type != RGM_KERNEL_TYPE_GEMM && type != RGM_KERNEL_TYPE_CONVOLUTION &&
           type != RGM_KERNEL_TYPE_ATTENTION;
}

static verdict low_occupancy(const rgm_facts *facts, size_t launch, rgm_kernel_type type) {
    const rgm_launches *launches = &facts->view->run->launches;
    double occupancy = RGM_CELL(launches, occupancy, launch, NAN);
    double blocks = RGM_CELL(launches, blocks_per_sm, launch, NAN);
    if (isnan(occupancy)) occupancy = RGM_CELL(launches, estimated_occupancy, launch, NAN);
    bool low = occupancy > 0 && occupancy < facts->policy->suggest_low_occupancy;
    return (verdict){.lost = 1 - occupancy, .applies = low && blocks >= 1 && hides_latency_by_warps(type)};
}

// All kernels that the judgement applies to; what is lost is averaged over their time on the path.
static void judge(rgm_suggester *s, rgm_suggestion_rule rule, judgement judged, rgm_degree confidence) {
    const rgm_facts *facts = s->facts;
    double lost = 0, time = 0;
    rgm_suggest_open(s, rule);
    s->open.confidence = confidence;
    for (size_t w = 0; w < facts->view->n_work; w++) { // in order of time, so that sums are the same
        uint32_t row = facts->view->work[w];
        int32_t launch = facts->launch_row[row];
        verdict found = launch < 0 ? (verdict){0} : judged(facts, (size_t)launch, rgm_facts_type(facts, row));
        if (!found.applies || !rgm_facts_is_kernel(facts, row) || !rgm_facts_on_rank(facts, row)) continue;
        if (rgm_view_activity(facts->view, row) != RGM_ACTIVITY_COMPUTE) continue;
        double here = (double)rgm_facts_on_path(facts, row, RGM_ON_DEVICE_PATH);
        rgm_suggest_about(s, row);
        rgm_suggest_claim_span(s, row, RGM_ON_DEVICE_PATH);
        lost += found.lost * here;
        time += here;
    }
    s->open.high = time > 0 ? lost / time : 0;
    rgm_suggest_note(s, RGM_QUANTITY_SHARE, s->open.high, NAN, s->open.span);
    rgm_suggest_close(s, 0);
}

void rgm_suggest_shapes(rgm_suggester *s) {
    judge(s, RGM_RULE_FEW_BLOCKS, few_blocks, RGM_DEGREE_LOW);
    judge(s, RGM_RULE_ODD_BLOCK, odd_block, RGM_DEGREE_LOW);
    judge(s, RGM_RULE_LOW_OCCUPANCY, low_occupancy, RGM_DEGREE_LOW);
}
