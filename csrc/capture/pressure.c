// SPDX-License-Identifier: Apache-2.0
#include "capture/pressure.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/thread.h"

// --- files of the kernel ----------------------------------------------------------------------------------

// Numbers of a line, as many as there are, after which `at` stands.
static size_t numbers(const char *at, int64_t *out, size_t most) {
    size_t count = 0;
    while (count < most) {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end == at || *at == '\n') break;
        out[count++] = value;
        at = end;
    }
    return count;
}

static bool thread_times(int64_t thread, int64_t *running_ns, int64_t *waiting_ns) {
    char path[64], text[96];
    int64_t found[2];
    (void)snprintf(path, sizeof path, "/proc/self/task/%lld/schedstat", (long long)thread);
    if (!rgm_descriptor_text(path, text, sizeof text) || numbers(text, found, 2) < 2) return false;
    *running_ns = found[0];
    *waiting_ns = found[1];
    return true;
}

// Where the program's main thread may run: it may say so while it runs, which other threads then do not
// follow.
static bool allowed_processors(cpu_set_t *allowed) {
    return sched_getaffinity(getpid(), sizeof *allowed, allowed) == 0;
}

// The means of the processors that the process may use: "cpu3 user nice system idle iowait irq softirq steal
// ...".
static void processors_so_far(rgm_pressure_state *state, int64_t *steal_ns, int64_t *busy_ns) {
    enum { USER, NICE, SYSTEM, IRQ = 5, SOFTIRQ, STEAL, FIELDS };
    char *text = state->text;
    cpu_set_t allowed;
    int64_t steal = 0, busy = 0, count = 0;
    *steal_ns = *busy_ns = -1;
    if (!allowed_processors(&allowed) || !rgm_descriptor_text("/proc/stat", text, sizeof state->text)) return;
    for (char *line = text, *next; strncmp(line, "cpu", 3) == 0 && (next = strchr(line, '\n'));
         line = next + 1) {
        char *end;
        long processor = strtol(line + 3, &end, 10);
        int64_t of[FIELDS];
        if (end != line + 3 && processor >= 0 && processor < CPU_SETSIZE &&
            CPU_ISSET((size_t)processor, &allowed) && numbers(end, of, FIELDS) == FIELDS) {
            steal += of[STEAL];
            busy += of[USER] + of[NICE] + of[SYSTEM] + of[IRQ] + of[SOFTIRQ];
            count++;
        }
    }
    long hertz = sysconf(_SC_CLK_TCK);
    if (!count || hertz <= 0) return;
    *steal_ns = steal * (1000000000 / hertz) / count;
    *busy_ns = busy * (1000000000 / hertz) / count;
}

// Of all programs: the system does not count them for one. Linux tells the number by itself from 6.10 on,
// which takes a third of the time of the list.
static int64_t huge_pages_so_far(rgm_pressure_state *state) {
    static const char alone[] = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/stats/anon_fault_alloc";
    static const char name[] = "\nthp_fault_alloc ";
    char *text = state->text;
    int64_t pages;
    if (rgm_descriptor_text(alone, text, sizeof state->text) && numbers(text, &pages, 1) == 1) return pages;
    const char *at =
        rgm_descriptor_text("/proc/vmstat", text, sizeof state->text) ? strstr(text, name) : NULL;
    return at && numbers(at + strlen(name), &pages, 1) == 1 ? pages : -1;
}

// The limits of all groups around the process add up: each holds back on its own.
static int64_t throttled_so_far(const rgm_pressure_state *state) {
    int64_t sum = -1;
    for (size_t i = 0; i < RGM_PRESSURE_FOLDERS && state->folders[i][0]; i++) {
        char path[300], text[1024];
        int64_t us;
        (void)snprintf(path, sizeof path, "%s/cpu.stat", state->folders[i]);
        const char *at =
            rgm_descriptor_text(path, text, sizeof text) ? strstr(text, "throttled_usec ") : NULL;
        if (at && numbers(at + strlen("throttled_usec "), &us, 1) == 1) sum = (sum < 0 ? 0 : sum) + us * 1000;
    }
    return sum;
}

// --- differences ------------------------------------------------------------------------------------------

static const rgm_pressure_thread *known(const rgm_pressure_state *state, int64_t thread) {
    for (size_t i = 0; i < state->thread_count; i++)
        if (state->threads[i].thread == thread) return &state->threads[i];
    return NULL;
}

// Of threads that were there at the last reading; what a new one had done before is not of this interval.
static void read_threads(rgm_pressure_state *state, const int64_t *threads, size_t count,
                         rgm_pressure_row *row) {
    rgm_pressure_thread now[RGM_PRESSURE_THREADS];
    size_t found = 0;
    row->running_ns = row->waiting_ns = -1;
    for (size_t i = 0; i < count && found < RGM_PRESSURE_THREADS; i++) {
        rgm_pressure_thread *at = &now[found];
        at->thread = threads[i];
        if (!thread_times(threads[i], &at->running_ns, &at->waiting_ns)) continue;
        found++;
        const rgm_pressure_thread *before = known(state, threads[i]);
        if (!before) continue;
        if (row->running_ns < 0) row->running_ns = row->waiting_ns = 0;
        row->running_ns += at->running_ns - before->running_ns;
        row->waiting_ns += at->waiting_ns - before->waiting_ns;
    }
    memcpy(state->threads, now, found * sizeof *now);
    state->thread_count = found;
}

static int64_t since(int64_t *before, int64_t now) {
    int64_t difference = now < 0 || *before < 0 || now < *before ? -1 : now - *before;
    *before = now;
    return difference;
}

static int64_t processor_time(const struct rusage *usage) {
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C(1000000000) +
           (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * INT64_C(1000);
}

// Of a process that is there, with those of its children that have ended: fields 14 to 17 of its stat, in
// ticks.
static int64_t time_of_process(int64_t process) {
    enum { BEFORE_TIMES = 12, TIMES = 4 }; // fields after the name; field 3, the state, is a letter
    char path[64], text[512];
    int64_t of[BEFORE_TIMES - 2 + TIMES], sum = 0;
    (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
    if (!rgm_descriptor_text(path, text, sizeof text)) return 0;
    const char *at = strrchr(text, ')');
    long hertz = sysconf(_SC_CLK_TCK);
    if (!at || !at[1] || !at[2] || hertz <= 0) return 0;
    size_t found = numbers(at + 3, of, BEFORE_TIMES - 2 + TIMES);
    for (size_t i = BEFORE_TIMES - 2; i < found; i++) sum += of[i];
    return sum * (1000000000 / hertz);
}

// Adds the processes that are there of those that a thread of a process has begun.
static size_t add_children(int64_t *processes, size_t count, const char *process, int64_t thread) {
    char path[96], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%s/task/%lld/children", process, (long long)thread);
    if (!rgm_descriptor_text(path, text, sizeof text)) return count;
    return count + numbers(text, processes + count, RGM_PRESSURE_CHILDREN - count);
}

// What recording threads have begun, and what the main threads of those have: a shell its commands, a server
// of forks the processes that it was asked for.
static int64_t time_of_descendants(const rgm_pressure_state *state) {
    int64_t processes[RGM_PRESSURE_CHILDREN], sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < state->thread_count; i++)
        count = add_children(processes, count, "self", state->threads[i].thread);
    for (size_t i = 0; i < count; i++) {
        char process[24];
        (void)snprintf(process, sizeof process, "%lld", (long long)processes[i]);
        sum += time_of_process(processes[i]);
        count = add_children(processes, count, process, processes[i]);
    }
    return sum;
}

static int64_t tree_so_far(const rgm_pressure_state *state, const struct rusage *own) {
    struct rusage ended;
    if (getrusage(RUSAGE_CHILDREN, &ended) != 0) return -1;
    return processor_time(own) + processor_time(&ended) + time_of_descendants(state);
}

static int64_t processors_allowed(void) {
    cpu_set_t allowed;
    return allowed_processors(&allowed) ? CPU_COUNT(&allowed) : -1;
}

static void read_usage(rgm_pressure_state *state, rgm_pressure_row *row) {
    struct rusage usage;
    bool told = getrusage(RUSAGE_SELF, &usage) == 0;
    int64_t system = usage.ru_stime.tv_sec * INT64_C(1000000000) + usage.ru_stime.tv_usec * INT64_C(1000);
    row->involuntary = since(&state->involuntary, told ? usage.ru_nivcsw : -1);
    row->system_ns = since(&state->system_ns, told ? system : -1);
    row->faults = since(&state->faults, told ? usage.ru_minflt : -1);
    row->tree_ns = since(&state->tree_ns, told ? tree_so_far(state, &usage) : -1);
    row->processors = processors_allowed();
    row->blocks = since(&state->blocks, told ? usage.ru_inblock + usage.ru_oublock : -1);
}

bool rgm_pressure_add_folder(rgm_pressure_state *state, const char *folder) {
    size_t length = strlen(folder);
    for (size_t i = 0; length < sizeof state->folders[0] && i < RGM_PRESSURE_FOLDERS; i++) {
        if (state->folders[i][0]) continue;
        memcpy(state->folders[i], folder, length + 1);
        return true;
    }
    return false;
}

void rgm_pressure_reset(rgm_pressure_state *state) {
    state->thread_count = 0;
    state->taken_ns = state->due_ns = 0;
}

bool rgm_pressure_read(rgm_pressure_state *state, const int64_t *threads, size_t count, int64_t interval_ns,
                       rgm_pressure_row *row) {
    int64_t begin = rgm_clock_monotonic_ns();
    int64_t begin_cpu = rgm_thread_cpu_ns(); // what others take of the processors is no cost of the reading
    bool first = !state->taken_ns;
    read_threads(state, threads, count, row);
    int64_t steal_ns, busy_ns;
    processors_so_far(state, &steal_ns, &busy_ns);
    row->steal_ns = since(&state->steal_ns, steal_ns);
    row->busy_ns = since(&state->busy_ns, busy_ns);
    row->huge_pages = since(&state->huge_pages, huge_pages_so_far(state));
    row->throttled_ns = since(&state->throttled_ns, throttled_so_far(state));
    read_usage(state, row);
    row->time_ns = begin;
    row->interval_ns = begin - state->taken_ns;
    int64_t wait_ns = (rgm_thread_cpu_ns() - begin_cpu) * RGM_PRESSURE_SHARE;
    state->taken_ns = begin;
    // A little early rather than one turn of the drainer late.
    interval_ns -= interval_ns / 8;
    state->due_ns = begin + (wait_ns > interval_ns ? wait_ns : interval_ns);
    return !first && row->interval_ns > 0;
}
