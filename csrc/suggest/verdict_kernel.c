// SPDX-License-Identifier: Apache-2.0
// Time that the kernel spends for a program while that computes: on memory that is touched for the first
// time, on files, on what it sends, and on other calls of the system.
#include <math.h>

#include "suggest/verdict_facts.h"
#include "suggest/verdict_partition.h"

// What the kernel did for the thread while that was computing, from the intervals within the window that
// imported nothing.
typedef struct {
    double system, spent, faults, blocks, seconds;
    double at_most; // that its faults can have taken
} kernel_time;

// Where the system does not tell how many huge pages it has handed out, each fault may be one.
static double faults_at_most(const rgm_policy *policy, double faults, int64_t huge_pages) {
    double huge = huge_pages < 0 ? faults : fmin(faults, (double)huge_pages);
    return huge * policy->verdict_fault_ns + (faults - huge) * policy->verdict_small_fault_ns;
}

// The kernel's part of what was computed.
static double mean_part(const kernel_time *k) { return fmin(1, k->system / k->spent); }

static kernel_time look_at_kernel(const rgm_verdict_facts *facts) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    kernel_time k = {0};
    for (size_t at = 0; at < facts->n_intervals; at++) {
        uint32_t i = facts->intervals[at];
        int64_t interval = RGM_CELL(pressure, interval_ns, i, 0),
                system = RGM_CELL(pressure, system_ns, i, -1);
        int64_t tree = RGM_CELL(pressure, tree_ns, i, -1);
        double part = rgm_verdict_part(facts, pressure->time_ns[i], interval);
        bool imports =
            facts->settled_ns > facts->start_ns && pressure->time_ns[i] - interval < facts->settled_ns;
        if (system < 0 || tree < 0 || imports) continue;
        k.system += part * (double)system;
        k.spent += part * (double)tree;
        double faults = fmax(0, (double)RGM_CELL(pressure, faults, i, 0));
        k.faults += part * faults;
        k.at_most += part * faults_at_most(facts->policy, faults, RGM_CELL(pressure, huge_pages, i, -1));
        k.blocks += part * fmax(0, (double)RGM_CELL(pressure, blocks, i, 0));
        k.seconds += part * (double)interval * 1e-9;
    }
    return k;
}

static const rgm_limit_cause computing[] = {RGM_CAUSE_NATIVE, RGM_CAUSE_PYTHON, RGM_CAUSE_FORWARD,
                                            RGM_CAUSE_BACKWARD, RGM_CAUSE_LAYER};
enum { COMPUTING = sizeof computing / sizeof computing[0] };

static rgm_cause_time *largest_computing(rgm_verdict_facts *facts) {
    rgm_cause_time *largest = &facts->causes[computing[0]];
    for (int i = 1; i < COMPUTING; i++)
        if (facts->causes[computing[i]].time_ns > largest->time_ns) largest = &facts->causes[computing[i]];
    return largest;
}

// Whether most of a cause is at a line, a row of stacks.
static bool is_at(const rgm_verdict_facts *facts, const rgm_cause_time *cause, int32_t line) {
    return cause->found && cause->stack >= 0 && !cause->subject &&
           rgm_line_key(facts->view, cause->stack) == rgm_line_key(facts->view, line);
}

// What is moved of the time of each computing cause, and together.
typedef struct {
    double of[COMPUTING], sum;
} kernel_share;

// All of it was spent at one line, a row of stacks.
static kernel_share share_at(const rgm_verdict_facts *facts, const kernel_time *k, int32_t line) {
    kernel_share share = {0};
    double busy = 0, there = 0;
    for (int i = 0; i < COMPUTING; i++) {
        const rgm_cause_time *from = &facts->causes[computing[i]];
        busy += (double)from->time_ns;
        share.of[i] = is_at(facts, from, line) ? (double)from->time_ns : 0;
        there += share.of[i];
    }
    share.sum = fmin(there, busy * mean_part(k));
    for (int i = 0; i < COMPUTING && there > 0; i++) share.of[i] *= share.sum / there;
    return share;
}

// The kernel's part of what was computed when a sample was taken; `mean` where nobody measured it then.
static double part_at(const rgm_verdict_facts *facts, int64_t time, double mean) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    double system = 0, spent = 0;
    for (size_t at = rgm_verdict_interval_at(facts, time); at < facts->n_intervals; at++) {
        uint32_t i = facts->intervals[at];
        if (pressure->time_ns[i] - RGM_CELL(pressure, interval_ns, i, 0) >= time) break;
        if (RGM_CELL(pressure, system_ns, i, -1) < 0 || RGM_CELL(pressure, tree_ns, i, -1) < 0) continue;
        system += (double)RGM_CELL(pressure, system_ns, i, 0);
        spent += (double)RGM_CELL(pressure, tree_ns, i, 0);
    }
    return spent > 0 ? fmin(1, system / spent) : mean;
}

// The computing cause that a sample shows, COMPUTING for none. One layer has the samples of all forward work.
static int computing_of(const rgm_verdict_facts *facts, uint8_t cause) {
    bool layer = cause == RGM_CAUSE_FORWARD && !facts->causes[RGM_CAUSE_FORWARD].found;
    for (int i = 0; i < COMPUTING; i++)
        if (computing[i] == (layer ? RGM_CAUSE_LAYER : (rgm_limit_cause)cause)) return i;
    return COMPUTING;
}

// Each cause has of it what its samples tell: whether the kernel worked when it was looked at.
static kernel_share share_by_samples(const rgm_verdict_facts *facts, const kernel_time *k) {
    const rgm_seen *seen = &facts->seen;
    double parts[COMPUTING] = {0}, counts[COMPUTING] = {0}, mean = mean_part(k);
    kernel_share share = {0};
    for (size_t i = 0; i < seen->count; i++) {
        int of = computing_of(facts, seen->cause[i]);
        if (of == COMPUTING) continue;
        parts[of] += part_at(facts, seen->time[i], mean);
        counts[of]++;
    }
    for (int i = 0; i < COMPUTING; i++) {
        double part = counts[i] > 0 ? parts[i] / counts[i] : mean;
        share.of[i] = part * (double)facts->causes[computing[i]].time_ns;
        share.sum += share.of[i];
    }
    return share;
}

// As many samples, taken while the kernel worked, show the new cause as it has of the time.
static void move_samples(rgm_verdict_facts *facts, const kernel_time *k, rgm_limit_cause to) {
    rgm_seen *seen = &facts->seen;
    double due = 0.5, mean = mean_part(k);
    for (size_t i = 0; i < seen->count; i++) {
        if (computing_of(facts, seen->cause[i]) == COMPUTING) continue;
        due += part_at(facts, seen->time[i], mean);
        if (due < 1) continue;
        due -= 1;
        seen->cause[i] = (uint8_t)to;
    }
}

static bool is_enough(const rgm_verdict_facts *facts, const kernel_share *share) {
    return share->sum > 0 && share->sum >= facts->policy->verdict_system_share * rgm_verdict_whole(facts);
}

static void move_time(rgm_verdict_facts *facts, const kernel_share *share, rgm_limit_cause to) {
    for (int i = 0; i < COMPUTING; i++) {
        rgm_cause_time *from = &facts->causes[computing[i]];
        double part = from->time_ns > 0 ? share->of[i] / (double)from->time_ns : 0;
        rgm_cause_time_add(&facts->causes[to], share->of[i], part * part * from->variance);
        from->time_ns -= (int64_t)share->of[i];
    }
}

// What most was moved from, where that has a module for its place, which says more than a line.
static const rgm_cause_time *module_of(const rgm_verdict_facts *facts, const kernel_share *share) {
    int most = 0;
    for (int i = 1; i < COMPUTING; i++)
        if (share->of[i] > share->of[most]) most = i;
    const rgm_cause_time *from = &facts->causes[computing[most]];
    return from->subject ? from : NULL;
}

// Moves the kernel's part of what was computed to a cause that explains it, which `count` things show.
static rgm_status move_kernel_time(rgm_verdict_facts *facts, const kernel_time *k, rgm_limit_cause to,
                                   double count, rgm_error *err) {
    kernel_share share = share_by_samples(facts, k);
    rgm_cause_time *cause = &facts->causes[to];
    if (!is_enough(facts, &share)) return RGM_OK;
    const rgm_cause_time *module = module_of(facts, &share);
    uint64_t without = UINT64_C(1) << to;
    if (module && (double)cause->time_ns < share.sum) {
        int64_t before = cause->time_ns;
        double variance = cause->variance;
        *cause = *module;
        cause->time_ns = before, cause->variance = variance;
        without = 0;
    }
    for (int i = 0; i < COMPUTING; i++)
        if (!facts->causes[computing[i]].subject) without |= UINT64_C(1) << computing[i];
    move_samples(facts, k, to);
    move_time(facts, &share, to);
    RGM_TRY(rgm_verdict_find_lines(facts, &facts->seen, without, err));
    cause->count = (int64_t)count;
    cause->figure = count / k->seconds;
    return RGM_OK;
}

// At the line that the cause is at already.
static void move_kernel_time_of_line(rgm_verdict_facts *facts, const kernel_time *k, rgm_limit_cause to) {
    kernel_share share = share_at(facts, k, facts->causes[to].stack);
    if (is_enough(facts, &share)) move_time(facts, &share, to);
}

// Whether most of what is computed is at the line that waits for answers.
static bool asks(rgm_verdict_facts *facts) {
    const rgm_cause_time *network = &facts->causes[RGM_CAUSE_NETWORK];
    return network->found && network->stack >= 0 && is_at(facts, largest_computing(facts), network->stack);
}

// Short calls that lines of the program make are such calls, too.
static void set_calls_of_the_system(rgm_verdict_facts *facts, double part) {
    rgm_cause_time *native = &facts->causes[RGM_CAUSE_NATIVE], *small = &facts->causes[RGM_CAUSE_SMALL_WORK];
    if (small->found && isnan(small->figure)) {
        if (small->time_ns > native->time_ns) {
            native->stack = small->stack;
            native->subject_share = small->subject_share;
        }
        native->count += small->count;
        rgm_cause_time_add(native, (double)small->time_ns, small->variance);
        small->time_ns = 0;
        small->found = false;
    }
    native->figure = part;
}

// Pages that are touched at a rate that explains time in the kernel, else blocks that file systems move. Of
// the time that the thread had a processor: others that have it meanwhile make no rate lower. Else a line
// that waits for answers has sent and received there.
rgm_status rgm_verdict_of_kernel(rgm_verdict_facts *facts, rgm_error *err) {
    kernel_time k = look_at_kernel(facts);
    // What was looked at for a moment only says nothing of the rest.
    double settled = (double)(facts->end_ns - facts->settled_ns) * 1e-9;
    if (!(k.spent > 0) || !(k.seconds > facts->policy->verdict_looked_at * settled)) return RGM_OK;
    double had = fmin(k.seconds, k.spent * 1e-9);
    if (k.at_most >= k.system && k.faults / had >= facts->policy->verdict_faults)
        return move_kernel_time(facts, &k, RGM_CAUSE_PAGE_FAULTS, k.faults, err);
    if (k.blocks / had >= facts->policy->verdict_blocks)
        return move_kernel_time(facts, &k, RGM_CAUSE_FILE, k.blocks, err);
    if (asks(facts))
        move_kernel_time_of_line(facts, &k, RGM_CAUSE_NETWORK);
    else if (k.system / k.spent >= facts->policy->verdict_system_most)
        set_calls_of_the_system(facts, mean_part(&k));
    return RGM_OK;
}
