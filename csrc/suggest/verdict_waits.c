// SPDX-License-Identifier: Apache-2.0
// A look at the stacks finds all threads of the process within a millisecond or so. Where the driving thread
// waits for work, what the others do in that look is what the program waits for: first one that has a
// processor, else one that waits for something itself. Threads without a line of the program are helpers of a
// library; those of a pool of processes say that the work is in other processes. An event loop that waits
// while none of them works has nothing to run. Where more of them wait for a lock than work or wait for
// anything else, the lock is what is waited for. Where no thread of the program could hold what a call of
// compiled code waits for, and there is work on the processors beside those, threads of that code do it;
// where there is none the call waits for something that nothing here tells. In a program that is its own
// client who waits for an answer waits for work, too; a thread of it that waits to be asked is no one's work.
// The other end of a pipe is in another process, unless there is a thread that could write into it. Who polls
// sleeps in between: what goes on meanwhile is waited for, in threads that work and in processes.
#include "suggest/verdict_waits.h"

#include <math.h>

#include "analysis/times/stack_line.h"

// Of a look, more threads are not looked at; the weights of who has a processor, of who could use one, and of
// who waits for what is no thread and nobody who asks.
enum { THREADS = 64, WORKS = 4, WANTS = 3, GOES_ON = 2 };

typedef struct {
    const rgm_verdict_facts *facts;
    int64_t seen[THREADS];
    size_t n_seen;
    bool by_pool; // only threads of a pool count
    int64_t process;
    bool unknown;             // a thread, in a run of several processes
    bool own;                 // one that is in the program's own code has been seen
    bool writes;              // and one that is not at a pipe itself
    int busy, locked;         // of those: that work, or wait for what is no thread; that wait for a lock
    int32_t at_lock;          // where one of these stands
    int32_t holder;           // where one has the interpreter's lock, -1 where none does
    int holds;                // how surely
    rgm_awaited best, helper; // of the program's own threads; of a library's
    int weight, helps;
    bool of_processes;
} others;

// Threads that an event loop hands its work to.
static const char *const pool_files[] = {"/concurrent/futures/thread.py", "/anyio/", NULL};

static bool passes_any(const rgm_view *view, int32_t stack, const char *const *files) {
    for (; *files; files++)
        if (rgm_stack_passes(view, stack, *files)) return true;
    return false;
}

// How much the state of a thread says of what is waited for; 0 where it waits for work itself.
static int weight_of(rgm_sample_state state, rgm_limit_cause *cause) {
    switch (state) {
    case RGM_SAMPLE_NATIVE: *cause = RGM_CAUSE_NATIVE; return WORKS;
    case RGM_SAMPLE_CALLING:
    case RGM_SAMPLE_INTERPRETING:
    case RGM_SAMPLE_RUNNING: *cause = RGM_CAUSE_PYTHON; return WORKS;
    case RGM_SAMPLE_WAITING_FOR_LOCK: *cause = RGM_CAUSE_INTERPRETER_LOCK; return WANTS;
    case RGM_SAMPLE_WAITING_FOR_PROCESSOR: *cause = RGM_CAUSE_PROCESSOR; return WANTS;
    case RGM_SAMPLE_WAITING_FOR_FILE: *cause = RGM_CAUSE_FILE; return 2;
    case RGM_SAMPLE_WAITING_FOR_PROCESS: *cause = RGM_CAUSE_CHILD; return 2;
    case RGM_SAMPLE_WAITING_FOR_SOCKET:
    case RGM_SAMPLE_WAITING_FOR_PIPE: *cause = RGM_CAUSE_NETWORK; return 1;
    case RGM_SAMPLE_SLEEPING: *cause = RGM_CAUSE_SLEEP; return 1;
    default: return 0;
    }
}

// How surely a thread in this state has the interpreter's lock. Who waits for it sleeps: who only wants a
// processor has it already, or has just been woken to take it.
static int holds(rgm_sample_state state) {
    if (state == RGM_SAMPLE_INTERPRETING || state == RGM_SAMPLE_CALLING) return 2;
    return state == RGM_SAMPLE_RUNNING || state == RGM_SAMPLE_WAITING_FOR_PROCESSOR;
}

// Whether a stack is in what a thread or process has been handed, not in what hands it on.
static bool is_work(const rgm_view *view, int32_t stack) {
    return !rgm_stack_awaits_work(view, stack) && !rgm_stack_passes_on(view, stack) &&
           !rgm_stack_imports(view, stack) && rgm_stack_line_of_work(view, stack) >= 0;
}

// Whether a thread only hands work to processes, or to threads in the same way. What it runs by itself, and
// has no function in the stack, has given up the interpreter's lock.
static bool hands_on(const rgm_view *view, int32_t stack, rgm_sample_state state) {
    if (!rgm_stack_awaits_processes(view, stack) || is_work(view, stack)) return false;
    return state != RGM_SAMPLE_NATIVE || rgm_stack_passes_on(view, stack);
}

// Takes a sample of another thread in; false where the look is over.
static bool take(others *o, size_t sample) {
    const rgm_view *view = o->facts->view;
    const rgm_samples *samples = &view->run->samples;
    int64_t thread = RGM_CELL(samples, thread, sample, -1);
    int64_t process = rgm_verdict_process(o->facts, sample);
    if (process < 0 && o->facts->several) o->unknown = true;
    if (o->unknown) return false;
    if (process >= 0 && o->process >= 0 && process != o->process) return true;
    if (thread == o->facts->thread || o->n_seen == THREADS) return false;
    for (size_t i = 0; i < o->n_seen; i++)
        if (o->seen[i] == thread) return false;
    o->seen[o->n_seen++] = thread;
    int32_t stack = rgm_stack_of_sample(view, sample);
    rgm_limit_cause cause = RGM_CAUSE_UNKNOWN;
    rgm_sample_state state = (rgm_sample_state)o->facts->states[sample];
    int weight = weight_of(state, &cause);
    if (stack < 0) return true;
    if (cause == RGM_CAUSE_NETWORK && rgm_stack_is_of_server(view, stack)) weight = 0;
    o->of_processes |= rgm_stack_awaits_processes(view, stack);
    if (!rgm_stack_is_own(view, stack)) {
        if (hands_on(view, stack, state)) weight = 0;
        if (weight > o->helps) o->helper = (rgm_awaited){.cause = cause, .stack = stack, .state = state};
        o->helps = weight > o->helps ? weight : o->helps;
        return true;
    }
    o->own = true;
    if (holds(state) > o->holds) {
        o->holds = holds(state);
        o->holder = stack;
    }
    o->writes |= state != RGM_SAMPLE_WAITING_FOR_PIPE;
    o->busy += weight > 0 && weight != WANTS;
    if (state == RGM_SAMPLE_WAITING_FOR_THREAD && !rgm_stack_awaits_work(view, stack)) {
        o->locked++;
        o->at_lock = stack;
    }
    if (weight <= o->weight) return true;
    if (o->by_pool && !passes_any(view, stack, pool_files)) return true;
    o->weight = weight;
    o->best = (rgm_awaited){.cause = cause, .stack = stack, .elsewhere = true, .state = state};
    return true;
}

int64_t rgm_verdict_process(const rgm_verdict_facts *facts, size_t sample) {
    const rgm_run *run = facts->view->run;
    int64_t lane = RGM_CELL(&run->samples, lane, sample, -1);
    return lane >= 0 && (size_t)lane < run->lanes.rows ? RGM_CELL(&run->lanes, process, lane, -1) : -1;
}

int32_t rgm_verdict_line_beside(const rgm_verdict_facts *facts, size_t sample, int64_t own) {
    const rgm_view *view = facts->view;
    int64_t process = rgm_verdict_process(facts, sample);
    int32_t stack = rgm_stack_of_sample(view, sample);
    if (process < 0 || process == own || stack < 0) return -1;
    if (!rgm_stack_is_own(view, stack) && !rgm_stack_awaits_processes(view, stack)) return -1;
    return is_work(view, stack) ? rgm_stack_line_of_work(view, stack) : -1;
}

static void look_at_others(others *o, size_t sample) {
    for (size_t i = sample; i > 0 && take(o, i - 1); i--) continue;
    for (size_t i = sample + 1; i < o->facts->view->run->samples.rows && take(o, i); i++) continue;
}

// The interval of the driving process that a time lies in; -1 where nobody measured it.
static int64_t interval_at(const rgm_verdict_facts *facts, int64_t time) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    size_t at = rgm_verdict_interval_at(facts, time);
    if (at == facts->n_intervals) return -1;
    uint32_t row = facts->intervals[at];
    int64_t interval = RGM_CELL(pressure, interval_ns, row, 0), tree = RGM_CELL(pressure, tree_ns, row, -1);
    bool known = time > pressure->time_ns[row] - interval && tree >= 0 && interval > 0;
    return known ? (int64_t)row : -1;
}

// Processors in use at a time by what has no lane: threads of libraries, and processes that the driving one
// has started. NaN where it is not known.
static double used_beside(const rgm_verdict_facts *facts, int64_t time) {
    const rgm_pressure *pressure = &facts->view->run->pressure;
    int64_t row = interval_at(facts, time);
    if (row < 0) return NAN;
    int64_t own = RGM_CELL(pressure, running_ns, row, 0);
    return (double)(pressure->tree_ns[row] - (own > 0 ? own : 0)) / (double)pressure->interval_ns[row];
}

// The part of its processors that other programs left the driving process at a time, a tenth at least: who
// gets so little is starved.
static double left_by_others(const rgm_verdict_facts *facts, int64_t time) {
    const double least = 0.1;
    const rgm_pressure *pressure = &facts->view->run->pressure;
    int64_t row = interval_at(facts, time);
    int32_t of = row < 0 ? -1 : RGM_CELL(pressure, processors, row, -1);
    int64_t busy = row < 0 ? -1 : RGM_CELL(pressure, busy_ns, row, -1);
    if (of <= 0 || busy < 0) return 1;
    double own = (double)pressure->tree_ns[row] / of, interval = (double)pressure->interval_ns[row];
    return fmin(1, fmax(least, 1 - ((double)busy - own) / interval));
}

// Whether processes that the program has started work, for all that they are left to.
static bool children_work(const rgm_verdict_facts *facts, int64_t time) {
    return used_beside(facts, time) >= facts->policy->verdict_children * left_by_others(facts, time);
}

static others of_look(const rgm_verdict_facts *facts, size_t sample, bool by_pool) {
    others o = {
        .facts = facts, .by_pool = by_pool, .process = rgm_verdict_process(facts, sample), .holder = -1};
    look_at_others(&o, sample);
    return o;
}

int32_t rgm_verdict_lock_holder(const rgm_verdict_facts *facts, size_t sample) {
    return of_look(facts, sample, false).holder;
}

rgm_awaited rgm_verdict_polled(const rgm_verdict_facts *facts, size_t sample, bool processes) {
    others o = of_look(facts, sample, false);
    bool works = processes || children_work(facts, facts->view->run->samples.time_ns[sample]);
    bool loop = facts->states[sample] == RGM_SAMPLE_WAITING_FOR_SOCKET;
    // A thread that waits for a process which waits itself is no work that an event loop waits for.
    bool goes_on = o.weight >= GOES_ON && (works || !loop || o.best.cause != RGM_CAUSE_CHILD);
    if (!o.unknown && goes_on) return o.best;
    if (!o.unknown && o.helps >= WANTS) return o.helper;
    // What nobody has recorded beside an event loop may be helpers of a library that it has called.
    bool child = processes || (!loop && works);
    return (rgm_awaited){.cause = child ? RGM_CAUSE_CHILD : RGM_CAUSE_UNKNOWN,
                         .stack = rgm_stack_of_sample(facts->view, sample)};
}

rgm_awaited rgm_verdict_awaited(const rgm_verdict_facts *facts, size_t sample, rgm_limit_cause found,
                                bool processes) {
    const rgm_view *view = facts->view;
    int32_t stack = rgm_stack_of_sample(view, sample);
    int64_t time = view->run->samples.time_ns[sample];
    rgm_awaited itself = {.cause = found, .stack = stack};
    bool network = found == RGM_CAUSE_NETWORK;
    if (stack < 0) return itself;
    if (rgm_stack_awaits_processes(view, stack) ||
        (network && rgm_stack_passes(view, stack, "/subprocess.py")))
        itself.cause = RGM_CAUSE_CHILD;
    bool pipe = facts->states[sample] == RGM_SAMPLE_WAITING_FOR_PIPE;
    bool serves = network && rgm_stack_is_of_server(view, stack);
    bool of_loop = network && !serves && rgm_stack_is_of_loop(view, stack);
    bool of_itself = network && !serves && !of_loop && facts->asks_itself && itself.cause == found;
    bool awaits = network ? serves || of_loop || of_itself : rgm_stack_awaits_work(view, stack);
    if (network && !awaits && !pipe) return itself;
    others o = of_look(facts, sample, of_loop);
    if (o.unknown) return itself;
    if (pipe && !o.writes) itself.cause = RGM_CAUSE_CHILD;
    if (network && !awaits) return itself;
    if (!awaits) {
        bool alone = itself.cause == found && !o.own;
        if (!alone) return itself;
        if (processes) return (rgm_awaited){.cause = RGM_CAUSE_CHILD, .stack = stack};
        if (!facts->several && used_beside(facts, time) >= facts->policy->verdict_helpers)
            return (rgm_awaited){.cause = RGM_CAUSE_NATIVE, .stack = stack, .state = RGM_SAMPLE_NATIVE};
        return (rgm_awaited){.cause = facts->ranks ? RGM_CAUSE_CHILD : RGM_CAUSE_WAITING, .stack = stack};
    }
    if (!network && o.busy && o.locked > 1 && o.locked > o.busy)
        return (rgm_awaited){.cause = RGM_CAUSE_LOCK, .stack = o.at_lock, .elsewhere = true};
    if (o.weight) return o.best;
    if (!network && o.helps >= WANTS) return o.helper;
    bool children = children_work(facts, time);
    if (of_loop && children && (o.of_processes || o.helper.cause == RGM_CAUSE_CHILD))
        itself.cause = RGM_CAUSE_CHILD;
    if (network && itself.cause == found && !of_itself) {
        itself.cause = RGM_CAUSE_EVENT_LOOP;
        itself.serving = !facts->asks_itself && (serves || facts->listening);
    }
    if (!network && (o.of_processes || children)) itself.cause = RGM_CAUSE_CHILD;
    return itself;
}

bool rgm_verdict_awaits_helpers(const rgm_verdict_facts *facts, rgm_role bucket, size_t sample) {
    const rgm_view *view = facts->view;
    int32_t stack = rgm_stack_of_sample(view, sample);
    bool computes = bucket == RGM_ROLE_MODULE || bucket == RGM_ROLE_FORWARD || bucket == RGM_ROLE_BACKWARD ||
                    bucket == RGM_ROLE_OPTIMIZER || bucket == RGM_ROLE_ZERO_GRAD ||
                    bucket == RGM_ROLE_GRAD_CLIP;
    if (!computes || stack < 0 || rgm_stack_awaits_work(view, stack) ||
        RGM_CELL(&view->run->samples, state, sample, RGM_SAMPLE_UNKNOWN) != RGM_SAMPLE_WAITING_FOR_THREAD)
        return false;
    // Where none of them has a processor it waits for something else: another rank, in a gradient's
    // reduction.
    return !(used_beside(facts, view->run->samples.time_ns[sample]) < facts->policy->verdict_helpers_least);
}
