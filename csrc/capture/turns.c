// SPDX-License-Identifier: Apache-2.0
#include "capture/turns.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/session_state.h"

// One word tells all, so that who waits for it misses nothing: these, and from NUMBER on the turns begun.
enum {
    JOINED = 1, // << side
    GONE = 4,   // << side
    OVERLAPPED = 16,
    DEVICE = 32,
    THREADS = 64,
    NUMBER = 256,
};
#define MAGIC UINT32_C(0x4e525554)
#define ALONE (-1.0) // number of what is after the other has left

typedef struct {
    uint32_t magic;
    uint32_t first;
    _Atomic(uint32_t) state;
    _Atomic(int32_t) processor; // on which the last turn ended, -1 unknown
    int64_t turn_ns, limit_ns;
} turns_table;

static _Atomic(turns_table *) joined;
static uint32_t own_side;
static _Atomic(bool) taken; // by a thread
static _Thread_local bool takes;

// --- the table --------------------------------------------------------------------------------------------

// NULL with *status where it cannot be mapped.
static turns_table *map(int fd, rgm_status *status, rgm_error *err) {
    turns_table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED) {
        *status = rgm_error_set(err, RGM_IO, "turns: %s", strerror(errno));
        return NULL;
    }
    if (table->magic == MAGIC) return table;
    munmap(table, sizeof *table);
    *status = rgm_error_set(err, RGM_INVALID, "turns: descriptor %d is no table of turns", fd);
    return NULL;
}

static rgm_status check_side(uint32_t side, rgm_error *err) {
    return side < 2 ? RGM_OK : rgm_error_set(err, RGM_INVALID, "a side is 0 or 1, not %u", side);
}

rgm_status rgm_turns_new(uint32_t first, int64_t turn_ns, int64_t limit_ns, int *fd, rgm_error *err) {
    turns_table table = {.magic = MAGIC, .first = first, .turn_ns = turn_ns, .limit_ns = limit_ns};
    atomic_init(&table.state, NUMBER);
    atomic_init(&table.processor, -1);
    RGM_TRY(check_side(first, err));
    if (turn_ns <= 0 || limit_ns <= 0) return rgm_error_set(err, RGM_INVALID, "times are greater than 0");
    int made = memfd_create("regimeter-turns", MFD_CLOEXEC);
    if (made < 0) return rgm_error_set(err, RGM_UNAVAILABLE, "turns: %s", strerror(errno));
    if (write(made, &table, sizeof table) != (ssize_t)sizeof table) {
        int why = errno;
        close(made);
        return rgm_error_set(err, RGM_IO, "turns: %s", strerror(why));
    }
    *fd = made;
    return RGM_OK;
}

static void wake(turns_table *table) {
    syscall(SYS_futex, &table->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void tell(turns_table *table, uint32_t flag) {
    atomic_fetch_or(&table->state, flag);
    wake(table);
}

rgm_status rgm_turns_leave(int fd, uint32_t side, rgm_error *err) {
    rgm_status status = RGM_OK;
    RGM_TRY(check_side(side, err));
    turns_table *table = map(fd, &status, err);
    if (!table) return status;
    tell(table, (uint32_t)GONE << side);
    munmap(table, sizeof *table);
    return RGM_OK;
}

rgm_status rgm_turns_read(int fd, rgm_turns_facts *facts, rgm_error *err) {
    rgm_status status = RGM_OK;
    turns_table *table = map(fd, &status, err);
    if (!table) return status;
    uint32_t state = atomic_load(&table->state);
    *facts = (rgm_turns_facts){
        .turns = state / NUMBER,
        .joined = {state & JOINED, state & (JOINED << 1)},
        .overlapped = state & OVERLAPPED,
        .device = state & DEVICE,
        .threads = state & THREADS,
    };
    munmap(table, sizeof *table);
    return RGM_OK;
}

// --- waiting ----------------------------------------------------------------------------------------------

static bool runs_alone(uint32_t state) { return state & (OVERLAPPED | ((uint32_t)GONE << (1 - own_side))); }

static bool is_ours(const turns_table *table, uint32_t state) {
    bool both = (state & (JOINED | JOINED << 1)) == (JOINED | JOINED << 1);
    return both && (table->first + state / NUMBER - 1) % 2 == own_side;
}

// Until it is our turn, or there is none any more.
static void wait_for_turn(turns_table *table) {
    int64_t end_ns = rgm_clock_monotonic_ns() + table->limit_ns;
    for (;;) {
        uint32_t state = atomic_load(&table->state);
        if (runs_alone(state) || is_ours(table, state)) return;
        int64_t left_ns = end_ns - rgm_clock_monotonic_ns();
        if (left_ns <= 0) {
            tell(table, OVERLAPPED);
            return;
        }
        struct timespec left = {left_ns / 1000000000, left_ns % 1000000000};
        syscall(SYS_futex, &table->state, FUTEX_WAIT, state, &left, NULL, 0);
    }
}

// To where the other ran, because processors differ in what else they do; the system may move it on from
// there.
static void follow(const turns_table *table) {
    int processor = atomic_load(&table->processor);
    size_t to = (size_t)processor;
    cpu_set_t all, one;
    if (processor < 0 || to >= CPU_SETSIZE || processor == sched_getcpu() ||
        sched_getaffinity(0, sizeof all, &all) != 0 || !CPU_ISSET(to, &all))
        return;
    CPU_ZERO(&one);
    CPU_SET(to, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof all, &all);
}

rgm_status rgm_turns_join(int fd, uint32_t side, rgm_error *err) {
    rgm_status status = RGM_OK;
    RGM_TRY(check_side(side, err));
    if (atomic_load(&joined)) return rgm_error_set(err, RGM_BUSY, "this process takes turns already");
    turns_table *table = map(fd, &status, err);
    if (!table) return status;
    own_side = side;
    atomic_store(&taken, false);
    tell(table, (uint32_t)JOINED << side);
    wait_for_turn(table);
    follow(table);
    atomic_store(&joined, table);
    return RGM_OK;
}

void rgm_turns_forget(void) {
    turns_table *table = atomic_exchange(&joined, NULL);
    if (table) munmap(table, sizeof *table);
}

// --- at the end of a scope --------------------------------------------------------------------------------

static void keep(rgm_session *session, const char *series, double value, int64_t now_ns) {
    rgm_counter_row row = {.time_ns = now_ns, .value = value, .device = -1};
    if (rgm_strings_intern(&session->strings, series, strlen(series), &row.series, NULL) == RGM_OK)
        rgm_session_rows(session, RGM_LOG_VALUES, &row, 1);
}

static void begin_turn(const turns_table *table, rgm_recorder *r, uint64_t now) {
    r->turn_due = now + rgm_witness_ticks(&r->session->witness, now, table->turn_ns);
}

static void give(turns_table *table, rgm_recorder *r) {
    int64_t begin_ns = rgm_clock_monotonic_ns();
    atomic_store(&table->processor, sched_getcpu());
    atomic_fetch_add(&table->state, NUMBER);
    wake(table);
    wait_for_turn(table);
    follow(table);
    uint32_t state = atomic_load(&table->state);
    int64_t now_ns = rgm_clock_monotonic_ns();
    uint32_t number = state / NUMBER;
    keep(r->session, "turns/number", runs_alone(state) ? ALONE : (double)number, now_ns);
    keep(r->session, "turns/waited_ms", (double)(now_ns - begin_ns) * 1e-6, now_ns);
    if (runs_alone(state))
        r->turn_due = UINT64_MAX;
    else
        begin_turn(table, r, rgm_clock_ticks());
}

// Whether the calling thread is the one that takes the turns; the first whose scope ends becomes it.
static bool is_taker(void) {
    if (!takes) takes = !atomic_exchange(&taken, true);
    return takes;
}

void rgm_turns_scope_ended(rgm_recorder *r, uint64_t now) {
    turns_table *table = atomic_load(&joined);
    uint32_t state = table ? atomic_load(&table->state) : 0;
    if (!table || runs_alone(state) || (state & (DEVICE | THREADS))) {
        r->turn_due = UINT64_MAX;
        return;
    }
    if (!is_taker() || r->on_device) {
        atomic_fetch_or(&table->state, r->on_device ? (uint32_t)DEVICE : (uint32_t)THREADS);
        r->turn_due = UINT64_MAX;
        return;
    }
    if (!r->turn_due) begin_turn(table, r, now);
    if (now < r->turn_due || rgm_recorder_any_open()) return;
    give(table, r);
}
