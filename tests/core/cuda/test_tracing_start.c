// SPDX-License-Identifier: Apache-2.0
// A CUPTI that does not come back from the start of tracing: nothing of the program waits for it longer than
// it is told, a fork goes through, and what comes late finds nobody. One test, because CUPTI is of no use
// afterwards.
#include <dirent.h>
#include <dlfcn.h>
#include <sys/wait.h>

#include "../fakes/cupti.h"
#include "capture/device.h"
#include "cuda/trace/tracing_watch.h"
#include "recording.h"

static __typeof__(&fake_cupti_set) set_number;
static __typeof__(&fake_cupti_get) number;

__attribute__((constructor)) static void load_doubles(void) {
    setenv("REGIMETER_LIBCUDA", FAKES "/libfake_cuda.so", 1);
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti.so", 1);
    void *handle = dlopen(FAKES "/libfake_cupti.so", RTLD_NOW);
    if (!handle) abort();
    *(void **)&set_number = dlsym(handle, "fake_cupti_set");
    *(void **)&number = dlsym(handle, "fake_cupti_get");
}

static rgm_tracing_stats stats_now(void) {
    rgm_tracing_stats stats;
    rgm_tracing_get_stats(&stats);
    return stats;
}

// The thread of the start.
static bool is_starting_still(void) {
    char path[300], name[32] = "";
    bool found = false;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && !found && (task = readdir(tasks));) {
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        found = fgets(name, sizeof name, file) && strcmp(name, "rgm-kernels\n") == 0;
        (void)fclose(file);
    }
    if (tasks) (void)closedir(tasks);
    return found;
}

static bool watch_is(rgm_tracing_watch *watch, const char *phase) {
    rgm_tracing_watch_state state;
    rgm_tracing_watch_get_state(watch, &state);
    return strcmp(state.phase, phase) == 0;
}

// Whether a child of a fork, made while the start hangs, is told so and can end. Under the sanitizers a child
// with the parent's threads is of no use.
static void fork_goes_through(rgm_device_sink sink, const rgm_tracing_options *options) {
    int status = -1;
    if (SANITIZED) return;
    pid_t child = fork();
    if (child == 0) {
        bool refuses = rgm_tracing_start(sink, options, NULL) == RGM_UNAVAILABLE;
        _exit(stats_now().state == RGM_TRACING_LOST && refuses && number("calls_child") == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK_EQ_I64(status, 0);
}

TEST(a_start_that_hangs_holds_nobody) {
    rgm_session *session = NULL, *other = NULL;
    rgm_tracing_watch *watch = NULL;
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    const rgm_driver *driver;
    rgm_clock_init();
    CHECK_OK(rgm_session_new(&session, &RGM_SESSION_DEFAULTS, NULL, NULL));
    CHECK_OK(rgm_session_new(&other, &RGM_SESSION_DEFAULTS, NULL, NULL));
    rgm_device_sink sink = rgm_session_sink(session);
    CHECK_OK(rgm_tracing_watch_new(&watch, sink, &options, NULL));
    CHECK(watch_is(watch, "waiting"));
    set_number("hang_Subscribe", 1);
    CHECK_OK(rgm_driver_start(&driver, NULL)); // the program's first use
    rgm_tracing_watch_look(watch, false);
    CHECK(watch_is(watch, "starting"));
    while (stats_now().state != RGM_TRACING_STARTING) usleep(1000);
    CHECK(rgm_tracing_owned_by(sink.arg));
    // Another profiler is told so at once, and its end is nobody's business.
    CHECK_EQ_I64(rgm_tracing_start(rgm_session_sink(other), &options, NULL), RGM_UNAVAILABLE);
    rgm_tracing_stop(rgm_session_sink(other).arg, 1000000);
    fork_goes_through(sink, &options);
    rgm_tracing_watch_end(watch, 1000000);
    CHECK(watch_is(watch, "refused"));
    rgm_tracing_stop(sink.arg, 1000000);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_STUCK);
    rgm_tracing_watch_free(watch);
    rgm_session_free(session);
    CHECK_EQ_I64(rgm_tracing_start(rgm_session_sink(other), &options, NULL), RGM_UNAVAILABLE);
    rgm_session_free(other);
    // It comes back late, gives its subscription back, and finds nobody.
    CHECK(is_starting_still());
    set_number("hang_Subscribe", 0);
    while (is_starting_still()) usleep(1000);
    CHECK_EQ_I64(number("subscribed"), 0);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_STUCK);
    CHECK_EQ_I64(number("forbidden"), 0);
}
