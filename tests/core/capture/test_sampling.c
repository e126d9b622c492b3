// SPDX-License-Identifier: Apache-2.0
// The sampling thread: what it looks at, in how many wakings. The source of stacks tells of no thread.
#include "capture/sampling.h"

#include <dirent.h>
#include <unistd.h>

#include "base/thread.h"
#include "recording.h"

struct rgm_walker {
    int looks;
};
static struct rgm_walker the_walker;
static _Atomic(int) looks, opened, closed;
static _Atomic(bool) gone;

static rgm_walker *on_start(const char **reason) {
    *reason = "";
    atomic_fetch_add(&opened, 1);
    return &the_walker;
}
static void on_stop(rgm_walker *walker) {
    (void)walker;
    atomic_fetch_add(&closed, 1);
}
static bool on_begin(rgm_walker *walker, const char **reason) {
    (void)walker;
    *reason = atomic_load(&gone) ? "the interpreter is gone" : "";
    atomic_fetch_add(&looks, 1);
    return !**reason;
}
static rgm_walk on_next(rgm_walker *walker, int64_t *thread) {
    (void)walker, (void)thread;
    return RGM_WALK_END;
}
static void on_together(rgm_walker *walker, const uint32_t *which, size_t count) {
    (void)walker, (void)which, (void)count;
}
static const rgm_stack_source source = {
    .start = on_start, .stop = on_stop, .begin = on_begin, .next = on_next, .together = on_together};

static rgm_session *session_at(int64_t stacks_ns, int64_t memory_ns) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.stacks_interval_ns = stacks_ns;
    options.sample_interval_ns = memory_ns;
    options.sample_heartbeat_ns = 0; // each look is a row
    rgm_session *session = session_with(options, NULL);
    if (session) rgm_session_stacks(session, &source);
    atomic_store(&looks, 0);
    return session;
}

// How often the sampling thread has gone to sleep by itself; -1 without one.
static long wakings(void) {
    DIR *tasks = opendir("/proc/self/task");
    long found = -1;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], line[128];
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = fopen(path, "r");
        bool ours = false;
        while (status && fgets(line, sizeof line, status)) {
            ours = ours || strcmp(line, "Name:\trgm-samples\n") == 0;
            if (ours) (void)sscanf(line, "voluntary_ctxt_switches: %ld", &found);
        }
        if (status) (void)fclose(status);
    }
    if (tasks) (void)closedir(tasks);
    return found;
}

static uint64_t memory_looks(rgm_session *session) {
    rgm_session_stats stats;
    rgm_session_get_stats(session, &stats);
    return stats.rows[RGM_LOG_SAMPLES];
}

TEST(looks_at_the_same_interval_are_taken_in_one_waking) {
    enum { MS = 1000000, LOOKS = 60 };
    rgm_session *session = session_at(4 * MS, 4 * MS);
    REQUIRE(session);
    open_scope scope = scope_begin(session, "scope");
    while (atomic_load(&looks) < LOOKS) usleep(1000);
    long slept;
    int stacks;
    uint64_t memory;
    do { // of one moment: who asks may have to wait for a processor in between
        stacks = atomic_load(&looks);
        slept = wakings();
        memory = memory_looks(session);
    } while (atomic_load(&looks) != stacks);
    scope_end(session, scope);
    rgm_session_free(session);
    // One waking a look; a lock that another thread has makes a few more. Of looks that come late the memory
    // misses some.
    CHECK(slept > 0 && slept < stacks + stacks / 5);
    CHECK(memory + 10 >= (uint64_t)stacks && memory <= (uint64_t)stacks + 10);
}

// Others may have the processors for some milliseconds at a time: then what is due more often is lost.
TEST(each_has_its_interval) {
    enum { MS = 1000000, LOOKS = 100 };
    for (int rarely_memory = 0; rarely_memory < 2; rarely_memory++) {
        rgm_session *session = rarely_memory ? session_at(2 * MS, 20 * MS) : session_at(20 * MS, 2 * MS);
        REQUIRE(session);
        open_scope scope = scope_begin(session, "scope");
        int64_t memory = 0, stacks = 0;
        while (stacks + memory < LOOKS) {
            usleep(1000);
            stacks = atomic_load(&looks);
            memory = (int64_t)memory_looks(session);
        }
        scope_end(session, scope);
        rgm_session_free(session);
        CHECK(rarely_memory ? 2 * stacks > 3 * memory : 2 * memory > 3 * stacks);
        CHECK(stacks > 2 && memory > 2);
    }
}

TEST(memory_is_looked_at_when_stacks_cannot_be_any_more) {
    atomic_store(&gone, true);
    rgm_session *session = session_at(1000000, 1000000);
    REQUIRE(session);
    open_scope scope = scope_begin(session, "scope");
    while (memory_looks(session) < 20) usleep(1000);
    CHECK_EQ_I64(atomic_load(&looks), 1);
    CHECK_STR_EQ(rgm_session_stacks_refused(session), "the interpreter is gone");
    scope_end(session, scope);
    rgm_session_free(session);
    atomic_store(&gone, false);
    CHECK_EQ_I64(atomic_load(&opened), atomic_load(&closed));
}

TEST(the_interval_of_memory_may_change_while_stacks_are_sampled) {
    rgm_session *session = session_at(1000000, 0);
    REQUIRE(session);
    open_scope scope = scope_begin(session, "scope");
    while (atomic_load(&looks) < 5) usleep(1000);
    CHECK_EQ_U64(memory_looks(session), 0);
    rgm_session_sampling(session, 1000000);
    while (memory_looks(session) < 5) usleep(1000);
    rgm_session_sampling(session, 0);
    uint64_t memory = memory_looks(session);
    int stacks = atomic_load(&looks);
    while (atomic_load(&looks) < stacks + 10) usleep(1000);
    CHECK_EQ_U64(memory_looks(session), memory);
    scope_end(session, scope);
    rgm_session_free(session);
}
