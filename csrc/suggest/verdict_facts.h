// SPDX-License-Identifier: Apache-2.0
// What a verdict looks at: the window, the thread that drives the program, what its scopes are, and for each
// cause the time that was found for it.
#ifndef RGM_SUGGEST_VERDICT_FACTS_H
#define RGM_SUGGEST_VERDICT_FACTS_H

#include <math.h>
#include "analysis/policy.h"

#include "analysis/view.h"

// The time of a cause, with what shows it.
typedef struct {
    int64_t time_ns, count;
    int64_t elsewhere; // samples of other threads that the driving one waits for
    int64_t process;   // of the line, where it is not that of the driving thread; 0 where it is
    double variance;   // of time_ns, where samples tell it
    double subject_share, figure;
    double line_share; // of the samples, which the line has; the subject's share is by its spans
    rgm_name subject;
    int32_t stack;
    int64_t span;
    int64_t serving; // samples that found a server waiting for who asks
    bool found;
    bool calling; // most samples of its line are in calls that keep the interpreter's lock
} rgm_cause_time;

#define RGM_NO_CAUSE_TIME                                                                                    \
    (rgm_cause_time) { .stack = -1, .span = -1, .subject_share = NAN, .figure = NAN }

typedef struct {
    int64_t start_ns, end_ns;
} rgm_unseen;

// Samples of the driving thread in the window that tell, in order of time.
typedef struct {
    size_t count;
    int64_t *time;
    int32_t *stack;                  // its own, or that of who is waited for
    int32_t *line;                   // of the program, within `stack` where that has one
    int32_t *inner;                  // the nearest span with a role around it, -1 for none
    uint8_t *cause, *bucket, *state; // an rgm_limit_cause, rgm_role and rgm_sample_state
} rgm_seen;

typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    int32_t lane;             // of the driving thread, -1 where there is none
    int64_t thread;           // its native id
    int64_t settled_ns;       // when it had imported what it begins with
    int64_t start_ns, end_ns; // the window: all steps, or the run
    int64_t marked_ns;        // of it, in scopes of the program's own
    rgm_unseen *unseen;       // of it, by verdict_unseen.c, in order of time
    size_t n_unseen;
    int64_t unseen_ns; // together
    uint32_t *steps;   // rows of steps on the lane, in order of time
    size_t n_steps;
    uint32_t *intervals; // rows of `pressure` that are of its process, in order of time
    size_t n_intervals;
    uint8_t *role;  // [n_spans] an rgm_role
    int32_t *inner; // [n_spans] the span itself or the nearest around it that has a role, -1
    rgm_cause_time causes[RGM_CAUSE_COUNT];
    rgm_seen seen;         // as the host's side has put them down
    int64_t samples;       // that tell
    bool listening;        // an event loop of it waits for who asks
    bool asks_itself;      // it is server and client at once
    bool several;          // processes in the run: nobody knows whose a thread without a lane is
    bool ranks;            // it is one of a job of several
    bool crowded;          // who has the processors is the program itself, or nobody
    bool alone;            // nobody has: some stood idle, and other programs used next to none
    const uint8_t *states; // [samples] as rgm_verdict_states tells them
    int64_t displaced; // that found the thread without a processor for others' sake, and tell nothing of it
} rgm_verdict_facts;

rgm_status rgm_verdict_facts_init(rgm_verdict_facts *facts, const rgm_view *view, const rgm_policy *policy,
                                  rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_verdict_facts_release(rgm_verdict_facts *facts);

static inline int64_t rgm_verdict_window(const rgm_verdict_facts *facts) {
    return facts->end_ns - facts->start_ns;
}
// What of the window was seen; shares are of it.
static inline int64_t rgm_verdict_seen(const rgm_verdict_facts *facts) {
    return rgm_verdict_window(facts) - facts->unseen_ns;
}
rgm_status rgm_verdict_find_unseen(rgm_verdict_facts *facts, rgm_error *err) RGM_NODISCARD;
int64_t rgm_verdict_unseen_in(const rgm_verdict_facts *facts, int64_t start, int64_t end);
// What of a span lies in the window and was seen.
static inline int64_t rgm_verdict_inside(const rgm_verdict_facts *facts, size_t row) {
    int64_t start = rgm_view_start(facts->view, row), end = rgm_view_end(facts->view, row);
    if (start < facts->start_ns) start = facts->start_ns;
    if (end > facts->end_ns) end = facts->end_ns;
    return end > start ? end - start - rgm_verdict_unseen_in(facts, start, end) : 0;
}

// Whether a sample is of the driving thread; ranks on several machines may have threads of one number.
bool rgm_verdict_is_of_driver(const rgm_verdict_facts *facts, size_t sample);

// Whether a lane is of the process that drives the program, as far as it says.
bool rgm_verdict_is_process(const rgm_verdict_facts *facts, int32_t lane);
// The first of the intervals that a time lies in or before; n_intervals where it is after all of them.
size_t rgm_verdict_interval_at(const rgm_verdict_facts *facts, int64_t time);

// The part of the window that an interval that ended at `time` has in it, 0 to 1 of the interval.
double rgm_verdict_part(const rgm_verdict_facts *facts, int64_t time, int64_t interval);

// What the machine gave of a time in which so many samples told, and others found the thread displaced. Where
// that is too few to tell, others took as much of it as of the rest.
static inline double rgm_verdict_given(const rgm_verdict_facts *facts, double ns, int64_t told,
                                       int64_t displaced) {
    enum { FEWEST = 3 };
    bool few = told + displaced < FEWEST;
    double kept = (double)(few ? facts->samples : told), lost = (double)(few ? facts->displaced : displaced);
    return kept + lost > 0 ? ns * kept / (kept + lost) : ns;
}

rgm_status rgm_seen_init(rgm_seen *seen, size_t most, rgm_error *err) RGM_NODISCARD;
void rgm_seen_release(rgm_seen *seen);
// The line of the program that most samples of a cause fell into, for each cause whose bit is set.
rgm_status rgm_verdict_find_lines(rgm_verdict_facts *facts, rgm_seen *seen, uint64_t causes,
                                  rgm_error *err) RGM_NODISCARD;
// Of the samples that show a cause at its line, the innermost function called there that verdict_inner_share
// of them are within, as a row of stacks. Nothing is set where none is, where a module or operator is the
// place, and of lines of other processes.
rgm_status rgm_verdict_find_inner(const rgm_verdict_facts *facts, rgm_limit_cause cause, int32_t *stack,
                                  double *share, rgm_error *err) RGM_NODISCARD;

static inline void rgm_cause_time_add(rgm_cause_time *cause, double time, double variance) {
    cause->time_ns += (int64_t)time;
    cause->variance += variance;
    cause->found = true;
}
// Of a time that is divided by samples. They follow each other closely where the program does one thing for
// long, so two count as one; by Laplace's rule of succession, for a few that tell the same are not sure of
// it.
double rgm_verdict_variance(double whole, double share, double samples);

// Fill the causes. Each looks at one side of the program.
rgm_status rgm_verdict_of_host(rgm_verdict_facts *facts, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_verdict_of_steps(rgm_verdict_facts *facts, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_verdict_of_kernel(rgm_verdict_facts *facts, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_verdict_of_memory(rgm_verdict_facts *facts, rgm_error *err) RGM_NODISCARD;
// Where a device has worked its partition takes the place of the host's.
rgm_status rgm_verdict_of_device(rgm_verdict_facts *facts, rgm_error *err) RGM_NODISCARD;

// Whether most samples that show a cause show it in other threads or processes.
static inline bool rgm_cause_is_elsewhere(const rgm_cause_time *time) {
    return 2 * time->elsewhere > time->count;
}
// A part of the window, rather than another way to look at it.
static inline bool rgm_cause_is_what(rgm_limit_cause cause) { return cause < RGM_CAUSE_FIRST_STEP; }
// What the window divides into, in ns: all of it, less what other programs took.
double rgm_verdict_whole(const rgm_verdict_facts *facts);

#endif
