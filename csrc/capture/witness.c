// SPDX-License-Identifier: Apache-2.0
#include "capture/witness.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/thread.h"
#include "capture/session_state.h"

// --- the work ---------------------------------------------------------------------------------------------

enum { LINE_BYTES = 64 };
static uint8_t lines[RGM_WITNESS_LINES * LINE_BYTES] __attribute__((aligned(4096)));

// A tick that waits for what came before it and is not overtaken by what comes after.
static uint64_t ordered_ticks(void) {
#if defined(__x86_64__)
    _mm_lfence();
    uint64_t ticks = rgm_clock_ticks();
    _mm_lfence();
    return ticks;
#else
    return rgm_clock_ticks();
#endif
}

// One step of a chain. The empty statement keeps the compiler from joining chains into vectors, so that the
// work is the same on every processor.
#define STEP(x)                                                                                              \
    x *= UINT64_C(6364136223846793005);                                                                      \
    x += (x >> 7) + UINT64_C(1442695040888963407);                                                           \
    __asm__ volatile("" : "+r"(x))

static void run_chains(void) {
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
    for (int i = 0; i < RGM_WITNESS_ROUNDS; i++) {
        STEP(a);
        STEP(b);
        STEP(c);
        STEP(d);
        STEP(e);
        STEP(f);
        STEP(g);
        STEP(h);
    }
}

static void read_lines(void) {
    for (size_t i = 0; i < RGM_WITNESS_LINES; i++) (void)*(volatile const uint8_t *)&lines[i * LINE_BYTES];
}

static bool put_out_of_caches(void) {
#if defined(__x86_64__)
    for (size_t i = 0; i < RGM_WITNESS_LINES; i++) _mm_clflush(&lines[i * LINE_BYTES]);
    return true;
#elif defined(__aarch64__)
    for (size_t i = 0; i < RGM_WITNESS_LINES; i++)
        __asm__ volatile("dc civac, %0" ::"r"(&lines[i * LINE_BYTES]) : "memory");
    return true;
#else
    return false;
#endif
}

void rgm_witness_work(uint64_t *throughput, uint64_t *memory) {
    uint64_t begin = ordered_ticks();
    run_chains();
    uint64_t middle = ordered_ticks();
    read_lines();
    uint64_t end = ordered_ticks();
    *throughput = middle - begin;
    *memory = put_out_of_caches() ? end - middle : 0;
}

// Pages of its own, and code that has run once: a first look is like the others.
static void prepare(void) {
    uint64_t throughput, memory;
    memset(lines, 1, sizeof lines); // untouched, all pages would be the one page of zeros
    rgm_witness_work(&throughput, &memory);
}

void rgm_witness_start(rgm_witness_state *witness, int64_t interval_ns, rgm_anchor origin) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (interval_ns > 0) pthread_once(&once, prepare);
    witness->interval_ns = interval_ns;
    witness->origin = origin;
    atomic_store(&witness->last_ns, 0);
    atomic_store(&witness->next_ns, 0);
}

// --- whose turn it is -------------------------------------------------------------------------------------

uint64_t rgm_witness_ticks(const rgm_witness_state *witness, uint64_t now, int64_t ns) {
    uint64_t ticks = now > witness->origin.ticks ? now - witness->origin.ticks : 0;
    int64_t passed = rgm_clock_monotonic_ns() - witness->origin.monotonic_ns;
    if (ns <= 0) return 0;
    if (passed < 1000000 || !ticks) return (uint64_t)ns;
    return (uint64_t)((double)ns * ((double)ticks / (double)passed));
}

// The innermost open scope: of the current stack, or the one around the call that entered its context.
static rgm_frame *scope_around(const rgm_recorder *r) {
    const rgm_track *track = r->track;
    rgm_frame *frame =
        track ? rgm_innermost_open(atomic_load_explicit(&track->top, memory_order_relaxed)) : NULL;
    if (frame || !track) return frame;
    bool open = rgm_frame_outer(track->outer, track->outer_seq) != RGM_RECORD_NO_PARENT;
    return open && track->outer->track->recorder == r ? track->outer : NULL;
}

static uint32_t depth_at(rgm_frame *frame) {
    uint32_t depth = 0;
    for (; frame && depth < RGM_WITNESS_DEEPEST; depth++)
        frame = rgm_innermost_open(atomic_load_explicit(&frame->parent, memory_order_relaxed));
    return depth;
}

// Whether a look may be taken at this depth: where the last was taken, or further out. Where nothing ends
// there for an interval, at the least depth at which something did in it; where nothing ends there either,
// the next interval decides.
static bool is_here(rgm_recorder *r, uint32_t depth, uint64_t now) {
    uint64_t interval = r->witness_late - r->witness_due;
    if (depth <= r->witness_level) return true;
    if (now >= r->witness_late && depth <= r->witness_least) return true;
    if (now >= r->witness_late + interval) {
        r->witness_due = now;
        r->witness_late = now + interval;
        r->witness_least = depth;
    } else if (depth < r->witness_least) {
        r->witness_least = depth;
    }
    return false;
}

static void wait_until(rgm_recorder *r, uint64_t now, int64_t ns) {
    const rgm_witness_state *witness = &r->session->witness;
    r->witness_due = now + rgm_witness_ticks(witness, now, ns);
    r->witness_late = r->witness_due + rgm_witness_ticks(witness, now, witness->interval_ns);
    r->witness_least = UINT32_MAX;
}

// --- looks ------------------------------------------------------------------------------------------------

rgm_witness_row rgm_witness_mark(const rgm_recorder *r, uint64_t ticks) {
    int processor = sched_getcpu();
    return (rgm_witness_row){
        .ticks = ticks,
        .cpu_ns = rgm_thread_cpu_ns(),
        .thread = atomic_load_explicit(&r->thread_row, memory_order_relaxed),
        .track = (uint16_t)(r->track ? r->track->index : 0),
        .processor = processor > INT16_MAX ? -1 : (int16_t)processor,
    };
}

static uint32_t cut(uint64_t ticks) { return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks; }

// Does the work and writes the row. Returns what it cost since then: the time that the thread worked for it,
// not what others took meanwhile.
static int64_t look(rgm_session *session, rgm_witness_row row, int64_t begin_ns) {
    uint64_t throughput, memory;
    rgm_witness_work(&throughput, &memory);
    row.throughput = cut(throughput);
    row.memory = cut(memory);
    rgm_session_rows(session, RGM_LOG_WITNESSES, &row, 1);
    int64_t worked = rgm_thread_cpu_ns() - row.cpu_ns, end_ns = rgm_clock_monotonic_ns();
    atomic_store(&session->witness.last_ns, end_ns);
    return worked < end_ns - begin_ns ? worked : end_ns - begin_ns;
}

static int64_t look_of(rgm_recorder *r, int64_t begin_ns) {
    rgm_witness_state *witness = &r->session->witness;
    int64_t cost = look(r->session, rgm_witness_mark(r, rgm_clock_ticks()), begin_ns);
    rgm_session_own(r->session, RGM_OWN_witness, rgm_witness_ticks(witness, rgm_clock_ticks(), cost));
    return cost;
}

// Whether it is the caller's turn; who sets the time of the next look takes this one.
static bool take_turn(rgm_witness_state *witness, int64_t now_ns, int64_t next_ns) {
    return now_ns >= next_ns &&
           atomic_compare_exchange_strong(&witness->next_ns, &next_ns, now_ns + witness->interval_ns);
}

// Returns in what time the next one is due.
static int64_t wait_after(rgm_witness_state *witness, int64_t begin_ns, int64_t cost) {
    int64_t wait_ns = cost * RGM_WITNESS_SHARE;
    if (wait_ns < witness->interval_ns) wait_ns = witness->interval_ns;
    atomic_store(&witness->next_ns, begin_ns + wait_ns);
    return wait_ns;
}

void rgm_witness_turn(rgm_recorder *r, uint64_t now) {
    rgm_witness_state *witness = &r->session->witness;
    if (witness->interval_ns <= 0) {
        r->witness_due = UINT64_MAX;
        return;
    }
    if (!r->witness_late) wait_until(r, now, 0);
    rgm_frame *around = scope_around(r);
    uint32_t depth = depth_at(around);
    if (!is_here(r, depth, now)) return;
    int64_t begin_ns = rgm_clock_monotonic_ns(), next_ns = atomic_load(&witness->next_ns);
    if (!take_turn(witness, begin_ns, next_ns)) {
        wait_until(r, now, next_ns - begin_ns);
        return;
    }
    uint64_t begin = rgm_clock_ticks();
    wait_until(r, begin, wait_after(witness, begin_ns, look_of(r, begin_ns)));
    r->witness_level = depth;
    if (around) around->own += rgm_clock_ticks() - begin;
}

void rgm_witness_last(rgm_session *session, uint64_t session_id) {
    rgm_recorder *r = rgm_recorder_cached;
    if (session->witness.interval_ns <= 0 || !r || !session_id ||
        atomic_load_explicit(&r->session_id, memory_order_relaxed) != session_id)
        return;
    int64_t now_ns = rgm_clock_monotonic_ns();
    if (now_ns - atomic_load(&session->witness.last_ns) < RGM_WITNESS_LEAST_NS) return;
    (void)look_of(r, now_ns);
}

void rgm_witness_beside(rgm_session *session) {
    rgm_witness_state *witness = &session->witness;
    int64_t begin_ns = rgm_clock_monotonic_ns(), next_ns = atomic_load(&witness->next_ns);
    if (witness->interval_ns <= 0 || begin_ns < next_ns + witness->interval_ns) return;
    if (!take_turn(witness, begin_ns, next_ns)) return;
    uint64_t throughput, memory;
    int64_t begin_cpu_ns = rgm_thread_cpu_ns();
    int processor = sched_getcpu();
    rgm_witness_work(&throughput, &memory); // a thread that has slept begins slowly
    rgm_witness_row row = {
        .ticks = rgm_clock_ticks(),
        .cpu_ns = rgm_thread_cpu_ns(),
        .thread = RGM_WITNESS_NO_THREAD,
        .processor = processor > INT16_MAX ? -1 : (int16_t)processor,
    };
    (void)look(session, row, begin_ns);
    (void)wait_after(witness, begin_ns, rgm_thread_cpu_ns() - begin_cpu_ns);
}

void rgm_witness_block(rgm_recorder *r, uint64_t now) {
    if (r->session->witness.interval_ns <= 0 || now < r->witness_mark) return;
    rgm_witness_row row = rgm_witness_mark(r, now);
    rgm_session_rows(r->session, RGM_LOG_WITNESSES, &row, 1);
    r->witness_mark = now + rgm_witness_ticks(&r->session->witness, now, RGM_WITNESS_MARK_NS);
}
