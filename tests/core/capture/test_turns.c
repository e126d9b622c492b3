// SPDX-License-Identifier: Apache-2.0
// Turns of two processes: who runs when, what is kept of it, and that nobody waits for ever.
#include "recording.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/session_state.h"
#include "capture/turns.h"

#define MS INT64_C(1000000)
#define LONG (60000 * MS)

// What both sides write down together.
typedef struct {
    _Atomic(uint32_t) count;
    uint8_t sides[4096];
} diary;

static diary *diary_new(void) {
    diary *d = mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(d != MAP_FAILED);
    return d;
}

static void leave(rgm_session *s, open_scope scope) {
    uint64_t now = rgm_clock_ticks();
    rgm_scope_end(recorder_of(s), scope.frame, scope.seq, now, 0);
    rgm_recorder_turns(recorder_of(s), now);
}

static void written(rgm_session *s, diary *d, uint8_t side, int count) {
    for (int i = 0; i < count; i++) {
        open_scope scope = scope_begin(s, "work");
        d->sides[atomic_fetch_add(&d->count, 1)] = side;
        leave(s, scope);
    }
}

typedef void (*program)(int fd, uint32_t side, diary *d);

static pid_t start(program run, int fd, uint32_t side, diary *d) {
    pid_t pid = fork();
    if (pid == 0) {
        alarm(50);
        run(fd, side, d);
        _exit(0);
    }
    return pid;
}

// Runs both to their ends, as who compares them does.
static rgm_turns_facts run_both(program first, program second, int64_t turn_ns, int64_t limit_ns, diary *d) {
    rgm_turns_facts facts = {0};
    int fd = -1, status;
    CHECK_OK(rgm_turns_new(0, turn_ns, limit_ns, &fd, NULL));
    pid_t pids[2] = {start(first, fd, 0, d), start(second, fd, 1, d)};
    for (int i = 0; i < 2; i++) {
        pid_t ended = wait(&status);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK_OK(rgm_turns_leave(fd, ended == pids[1], NULL));
    }
    CHECK_OK(rgm_turns_read(fd, &facts, NULL));
    close(fd);
    return facts;
}

static rgm_session *joined(int fd, uint32_t side) {
    rgm_session *s = session_with(RGM_SESSION_DEFAULTS, NULL);
    if (rgm_turns_join(fd, side, NULL) != RGM_OK) _exit(2);
    return s;
}

static void forty(int fd, uint32_t side, diary *d) {
    rgm_session *s = joined(fd, side);
    written(s, d, (uint8_t)side, 40);
    rgm_session_free(s);
}

TEST(both_run_in_turn_from_the_first_on) {
    diary *d = diary_new();
    rgm_turns_facts facts = run_both(forty, forty, 1, LONG, d);
    CHECK(facts.joined[0] && facts.joined[1] && !facts.overlapped && !facts.threads && !facts.device);
    CHECK_EQ_U64(atomic_load(&d->count), 80);
    // The first scope of a program begins its turn; from then on each ends one.
    size_t changes = 0;
    for (uint32_t i = 1; i < 80; i++) changes += d->sides[i] != d->sides[i - 1];
    CHECK_EQ_U64(d->sides[0], 0);
    CHECK_EQ_U64(facts.turns, changes + 2); // the last of each is given to one who has ended or is to end
    CHECK(changes >= 76);
    munmap(d, sizeof *d);
}

static void counted(int fd, uint32_t side, diary *d) {
    rgm_session *s = joined(fd, side);
    written(s, d, (uint8_t)side, 10);
    rgm_run *run = NULL;
    if (rgm_session_snapshot(s, &run, NULL) != RGM_OK) _exit(2);
    double last = 0;
    int numbers = 0;
    for (size_t i = 0; i < run->counters.rows; i++) {
        const char *name = rgm_strings_view(&run->strings, run->counters.series[i]).data;
        if (name[6] != 'n') continue; // of turns/number
        double value = run->counters.value[i];
        if (value >= 0 && ((uint32_t)value % 2 != 1 - side || value <= last)) _exit(3);
        last = value;
        numbers++;
    }
    if (numbers < 8) _exit(4);
    rgm_run_free(run);
    rgm_session_free(s);
}

TEST(a_run_has_the_numbers_of_its_turns) {
    diary *d = diary_new();
    run_both(counted, counted, 1, LONG, d);
    munmap(d, sizeof *d);
}

static void dies(int fd, uint32_t side, diary *d) {
    written(joined(fd, side), d, (uint8_t)side, 5);
    _exit(0);
}

TEST(who_has_ended_is_not_waited_for) {
    diary *d = diary_new();
    rgm_turns_facts facts = run_both(dies, forty, 1, LONG, d);
    CHECK(!facts.overlapped);
    CHECK_EQ_U64(atomic_load(&d->count), 45);
    munmap(d, sizeof *d);
}

static void never(int fd, uint32_t side, diary *d) {
    (void)fd;
    (void)side;
    (void)d;
}

TEST(who_never_joins_is_waited_for_to_its_end) {
    diary *d = diary_new();
    rgm_turns_facts facts = run_both(forty, never, 1, LONG, d);
    CHECK(facts.joined[0] && !facts.joined[1] && !facts.overlapped);
    CHECK_EQ_U64(atomic_load(&d->count), 40);
    munmap(d, sizeof *d);
}

// Waits within a scope for the other, which waits for its turn.
static void stuck(int fd, uint32_t side, diary *d) {
    rgm_session *s = joined(fd, side);
    open_scope scope = scope_begin(s, "waits");
    while (atomic_load(&d->count) < 40) usleep(1000);
    leave(s, scope);
    rgm_session_free(s);
}

TEST(a_wait_that_reaches_the_limit_lets_both_run) {
    diary *d = diary_new();
    rgm_turns_facts facts = run_both(stuck, forty, 1, 50 * MS, d);
    CHECK(facts.overlapped);
    CHECK_EQ_U64(atomic_load(&d->count), 40);
    munmap(d, sizeof *d);
}

static void nested(int fd, uint32_t side, diary *d) {
    rgm_session *s = joined(fd, side);
    written(s, d, (uint8_t)side, 1); // its turn has begun
    open_scope outer = scope_begin(s, "outer");
    written(s, d, (uint8_t)side, 10);
    leave(s, outer);
    rgm_session_free(s);
}

TEST(nothing_is_given_while_a_scope_is_open) {
    diary *d = diary_new();
    rgm_turns_facts facts = run_both(nested, nested, 1, LONG, d);
    for (int i = 0; i < 11; i++) CHECK_EQ_U64(d->sides[i], 0);
    CHECK(!facts.overlapped);
    CHECK_EQ_U64(atomic_load(&d->count), 22);
    munmap(d, sizeof *d);
}

typedef struct {
    rgm_session *session;
    diary *diary;
} beside;

static void *another_thread(void *arg) {
    const beside *b = arg;
    written(b->session, b->diary, 2, 3);
    return NULL;
}

static void threaded(int fd, uint32_t side, diary *d) {
    rgm_session *s = joined(fd, side);
    pthread_t thread;
    beside both = {s, d};
    written(s, d, (uint8_t)side, 1);
    if (pthread_create(&thread, NULL, another_thread, &both) != 0) _exit(2);
    pthread_join(thread, NULL);
    written(s, d, (uint8_t)side, 10);
    rgm_session_free(s);
}

TEST(a_program_of_several_threads_keeps_its_turn) {
    diary *d = diary_new();
    rgm_turns_facts facts = run_both(threaded, forty, 1, LONG, d);
    CHECK(facts.threads && !facts.overlapped);
    for (int i = 0; i < 14; i++) CHECK(d->sides[i] != 1);
    CHECK_EQ_U64(atomic_load(&d->count), 54);
    munmap(d, sizeof *d);
}

static void forks(int fd, uint32_t side, diary *d) {
    rgm_session *s = joined(fd, side);
    written(s, d, (uint8_t)side, 1);
    pid_t pid = fork();
    if (pid == 0) {
        written(s, d, 2, 5); // takes no turns, so it waits for none
        _exit(0);
    }
    if (waitpid(pid, NULL, 0) != pid) _exit(2);
    written(s, d, (uint8_t)side, 10);
    rgm_session_free(s);
}

TEST(a_forked_child_takes_no_turns) {
    if (SANITIZED) return;
    diary *d = diary_new();
    rgm_turns_facts facts = run_both(forks, forty, 1, LONG, d);
    CHECK(!facts.overlapped && !facts.threads);
    CHECK_EQ_U64(atomic_load(&d->count), 56);
    munmap(d, sizeof *d);
}

TEST(what_is_no_table_is_refused) {
    int fd = -1;
    CHECK(rgm_turns_new(2, 1, 1, &fd, NULL) == RGM_INVALID);
    CHECK(rgm_turns_new(0, 0, 1, &fd, NULL) == RGM_INVALID);
    CHECK(rgm_turns_join(-1, 0, NULL) == RGM_IO);
    int other = memfd_create("other", MFD_CLOEXEC);
    CHECK(ftruncate(other, 4096) == 0);
    CHECK(rgm_turns_join(other, 0, NULL) == RGM_INVALID);
    CHECK(rgm_turns_leave(other, 0, NULL) == RGM_INVALID);
    close(other);
}
