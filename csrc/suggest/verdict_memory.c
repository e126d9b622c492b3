// SPDX-License-Identifier: Apache-2.0
// Memory that is touched for the first time, and memory that only grows.
#include <math.h>
#include <string.h>

#include "analysis/memory/lifetimes.h"
#include "analysis/stats.h"
#include "analysis/times/stack_places.h"
#include "base/memory.h"
#include "suggest/verdict_facts.h"
#include "suggest/verdict_partition.h"

// --- time in the kernel -----------------------------------------------------------------------------------

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

static kernel_time look_at_kernel(const rgm_verdict_facts *facts) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    kernel_time k = {0};
    for (size_t i = 0; i < pressure->rows; i++) {
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

// Moves the kernel's part of what was computed to a cause that explains it; what takes most of it is its
// place. `line`: only of what was computed there, a row of stacks; -1 for all. `count` things show it, NAN
// where samples do.
static void move_kernel_time(rgm_verdict_facts *facts, const kernel_time *k, rgm_limit_cause to, int32_t line,
                             double count) {
    rgm_cause_time *largest = largest_computing(facts), *cause = &facts->causes[to];
    double busy = 0, of = 0, part = fmin(1, k->system / k->spent);
    for (int i = 0; i < COMPUTING; i++) {
        rgm_cause_time *from = &facts->causes[computing[i]];
        busy += (double)from->time_ns;
        if (line < 0 || is_at(facts, from, line)) of += (double)from->time_ns;
    }
    double moved = fmin(of, busy * part);
    if (!(moved > 0) || !(moved >= facts->policy->verdict_system_share * rgm_verdict_whole(facts))) return;
    int64_t before = cause->time_ns;
    if (before < largest->time_ns) {
        *cause = *largest;
        cause->time_ns = before;
    }
    cause->time_ns += (int64_t)moved;
    if (!isnan(count)) {
        cause->count = (int64_t)count;
        cause->figure = count / k->seconds;
    }
    cause->found = true;
    for (int i = 0; i < COMPUTING; i++) {
        rgm_cause_time *from = &facts->causes[computing[i]];
        if (line >= 0 && !is_at(facts, from, line)) continue;
        from->time_ns = (int64_t)((double)from->time_ns * (1 - moved / of));
    }
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
static void explain_kernel_time(rgm_verdict_facts *facts) {
    kernel_time k = look_at_kernel(facts);
    // What was looked at for a moment only says nothing of the rest.
    double settled = (double)(facts->end_ns - facts->settled_ns) * 1e-9;
    if (!(k.spent > 0) || !(k.seconds > facts->policy->verdict_looked_at * settled)) return;
    double had = fmin(k.seconds, k.spent * 1e-9);
    if (k.at_most >= k.system && k.faults / had >= facts->policy->verdict_faults)
        move_kernel_time(facts, &k, RGM_CAUSE_PAGE_FAULTS, -1, k.faults);
    else if (k.blocks / had >= facts->policy->verdict_blocks)
        move_kernel_time(facts, &k, RGM_CAUSE_FILE, -1, k.blocks);
    else if (asks(facts))
        move_kernel_time(facts, &k, RGM_CAUSE_NETWORK, facts->causes[RGM_CAUSE_NETWORK].stack, NAN);
    else if (k.system / k.spent >= facts->policy->verdict_system_most)
        set_calls_of_the_system(facts, fmin(1, k.system / k.spent));
}

// --- growth -----------------------------------------------------------------------------------------------

typedef struct {
    int64_t *time, *bytes;
    size_t count;
} series;

// Imports and the first step make what stays.
static int64_t begins(const rgm_verdict_facts *facts) {
    int64_t second = facts->n_steps > 1 ? rgm_view_start(facts->view, facts->steps[1]) : facts->start_ns;
    return second > facts->settled_ns ? second : facts->settled_ns;
}

static rgm_status resident(const rgm_verdict_facts *facts, series *out, rgm_error *err) {
    const rgm_memory *memory = &facts->view->run->memory;
    RGM_TRY(RGM_ROWS(out->time, memory->rows, err));
    RGM_TRY(RGM_ROWS(out->bytes, memory->rows, err));
    for (size_t i = 0; i < memory->rows; i++) {
        if (RGM_CELL(memory, device, i, -1) >= 0 ||
            RGM_CELL(memory, action, i, RGM_ACTION_SAMPLE) != RGM_ACTION_SAMPLE || memory->bytes[i] <= 0 ||
            memory->time_ns[i] < begins(facts) || memory->time_ns[i] > facts->end_ns)
            continue;
        out->time[out->count] = memory->time_ns[i];
        out->bytes[out->count++] = memory->bytes[i];
    }
    return RGM_OK;
}

// Medians of the fifths of the window: memory that grows is larger in each, and at the end not four times
// slower than in the middle. So is the least of each, which what comes and goes with a step leaves alone.
// Fifths of the time: of the samples, there are more where memory moves.
static void growth(rgm_verdict_facts *facts, series *s, int64_t *scratch) {
    enum { PARTS = 5, LEAST = 25, LEAST_OF_PART = 3, SLOWER = 4 };
    int64_t begin = begins(facts), length = facts->end_ns - begin;
    double level[PARTS], low[PARTS], seconds = (double)length * 1e-9;
    if (s->count < LEAST || !(seconds > 0)) return;
    for (size_t i = 0, from = 0, to = 0; i < PARTS; i++, from = to) {
        int64_t until = begin + length / PARTS * (int64_t)(i + 1);
        while (to < s->count && (i + 1 == PARTS || s->time[to] < until)) to++;
        if (to - from < LEAST_OF_PART) return;
        level[i] = rgm_spread_of(s->bytes + from, to - from, scratch, 1).median;
        low[i] = (double)s->bytes[from];
        for (size_t k = from + 1; k < to; k++) low[i] = fmin(low[i], (double)s->bytes[k]);
    }
    double early = level[2] - level[1], late = level[4] - level[3], whole = level[4] - level[1];
    for (int i = 2; i < PARTS; i++)
        if (!(level[i] > level[i - 1])) return;
    double least = fmax(facts->policy->verdict_growth_bytes, facts->policy->verdict_growth_share * level[1]);
    if (!(whole >= least) || !(late >= early / SLOWER) || !(low[4] - low[1] >= whole / 2)) return;
    double rate = whole / (seconds * 3 / (double)PARTS);
    facts->causes[RGM_CAUSE_MEMORY_GROWTH] = (rgm_cause_time){.count = (int64_t)s->count,
                                                              .figure = rate,
                                                              .subject_share = whole / level[1],
                                                              .stack = -1,
                                                              .span = -1,
                                                              .found = true};
}

// Blocks that were asked for in the window and live on, by line of the program.
static void sum_kept(const rgm_verdict_facts *facts, const rgm_lifetimes *l, const rgm_stack_places *places,
                     int64_t *of_place, int64_t *total) {
    const rgm_memory *memory = &facts->view->run->memory;
    for (size_t i = 0; i < l->n_blocks; i++) {
        const rgm_lifetime *block = &l->blocks[i];
        bool kept = block->device < 0 && block->begin >= 0 && (size_t)block->end == l->n_events;
        if (!kept || memory->time_ns[l->events[block->begin]] < begins(facts)) continue;
        *total = rgm_bytes_sum(*total, block->bytes);
        if (block->stack < 0) continue;
        int64_t *of = &of_place[places->of_stack[block->stack]];
        *of = rgm_bytes_sum(*of, block->bytes);
    }
}

// Where allocations were recorded, the line that asked for most of what has stayed.
static rgm_status place_growth(rgm_verdict_facts *facts, rgm_error *err) {
    rgm_cause_time *cause = &facts->causes[RGM_CAUSE_MEMORY_GROWTH];
    rgm_lifetimes l = {0};
    rgm_stack_places places = {0};
    int64_t *of_place = NULL, total = 0, most = 0;
    rgm_status status;
    if (!cause->found) return RGM_OK;
    RGM_GOTO(rgm_lifetimes_init(&l, facts->view->run, err));
    RGM_GOTO(rgm_stack_places_init(&places, facts->view, RGM_PLACES_ARE_OWN_LINES, err));
    of_place = rgm_calloc(places.count + 1, sizeof *of_place);
    RGM_GOTO(of_place ? RGM_OK : rgm_error_no_memory(err));
    sum_kept(facts, &l, &places, of_place, &total);
    for (size_t i = 0; i < places.count; i++) {
        if (of_place[i] <= most) continue;
        most = of_place[i];
        cause->stack = (int32_t)places.first[i];
        cause->subject_share = (double)most / (double)total;
    }
done:
    rgm_lifetimes_release(&l);
    rgm_stack_places_release(&places);
    rgm_free(of_place);
    return status;
}

rgm_status rgm_verdict_of_memory(rgm_verdict_facts *facts, rgm_error *err) {
    series s = {0};
    int64_t *scratch = NULL;
    rgm_status status;
    explain_kernel_time(facts);
    RGM_GOTO(resident(facts, &s, err));
    RGM_GOTO(RGM_ROWS(scratch, s.count, err));
    growth(facts, &s, scratch);
    RGM_GOTO(place_growth(facts, err));
done:
    rgm_free(s.time);
    rgm_free(s.bytes);
    rgm_free(scratch);
    return status;
}
