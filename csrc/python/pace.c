// SPDX-License-Identifier: Apache-2.0
// How long a thread's Python code stays at one instruction, looked at from another thread in short bursts: an
// interpreter that goes from one short instruction to the next moves on within a microsecond or two, a call
// of native code stays for as long as that takes.
//
// The observed thread does nothing for it and is never stopped. Its frames may go away at any time, so they
// are read through the system, which refuses addresses that are gone instead of failing. Bursts in which the
// thread did not have a processor say nothing and are left out; with one processor, that is all of them.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/peek.h"
#include "python/frames.h"
#include "python/state.h"

enum { LOOKS = 120, PAUSES = 12, stat_processor = 39, FRAME_WORDS = 24 }; // of a burst: 60 us
static const int64_t apart_ns = 500;       // between looks: each takes a cache line from the thread
static const int64_t first_ns = 50000;     // from the beginning to the first burst
static const int64_t shortest_ns = 300000; // between bursts at first: ten of them in 3 ms
static const int64_t longest_ns = 5000000; // and in the end: one per cent of a processor
static const double growth = 1.1;
static const double worked_share = 0.8; // of a burst, or another thread had the processor
static const char capsule_name[] = "regimeter.pace";

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended_changed;
    bool ended;
    pid_t process;
    clockid_t clock; // processor time of the observed thread
    rgm_kept_file stat;
    int avoided;
    cpu_set_t allowed;
    rgm_frame_memory lasting;
    const PyThreadState *state;
    int64_t short_ns;
    int64_t observed_ns, quick_ns; // in bursts; in stays of at most short_ns
    int64_t bursts, unseen;        // counted; without a processor, or not readable
} pace;

static int64_t cpu_of(clockid_t clock) {
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : -1;
}

// What is in the innermost frame: the instruction, and the variables and values that it works on, since a
// loop of one call is at that call most of the time. 0 outside of Python or where it cannot be read. The
// state and what it points to last as long as the thread, and so does the block of frames that there was when
// it began. Others may be gone: those are read by the system, which takes longer.
static uint64_t look(const pace *p) {
    uintptr_t words[FRAME_WORDS];
    const char *frame = rgm_frame_of(p->state);
    if (!frame) return 0;
    const char *from = frame + rgm_frame_place;
    if (frame >= p->lasting.begin && from + sizeof words <= p->lasting.end) {
        const volatile uintptr_t *live = (const volatile uintptr_t *)(const void *)from;
        for (int i = 0; i < FRAME_WORDS; i++) words[i] = live[i];
    } else {
        if (!rgm_peek(p->process, from, words, sizeof words)) return 0;
    }
    uint64_t mixed = rgm_hash_u64((uintptr_t)frame);
    for (int i = 0; i < FRAME_WORDS; i++) mixed = rgm_hash_u64(mixed ^ words[i]);
    return mixed ? mixed : 1;
}

// On which processor the observed thread is or was last, field 39 of its stat; -1 where it is not told.
static int processor_of(const pace *p) {
    char text[512];
    ssize_t length = pread(rgm_kept_descriptor(&p->stat), text, sizeof text - 1, 0);
    if (length <= 0) return -1;
    text[length] = 0;
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < stat_processor; field++) at = strchr(at + 1, ' ');
    return at ? atoi(at) : -1;
}

// To other processors than the one that the observed thread is on: there it would only take its place.
static bool move_aside(pace *p) {
    int told = processor_of(p);
    size_t processor = (size_t)told;
    cpu_set_t set = p->allowed;
    if (told < 0 || told >= CPU_SETSIZE) return false;
    if (told == p->avoided) return true;
    CPU_CLR(processor, &set);
    if (CPU_COUNT(&set) == 0 || sched_setaffinity(0, sizeof set, &set) != 0) return false;
    p->avoided = told;
    return true;
}

// The first and the last stay of a burst go on outside of it, and so do those before and after a pause in
// which this thread did not look; they count only where they are long already.
static void count_stay(pace *p, int64_t ns, bool whole) {
    bool quick = ns <= p->short_ns;
    if (quick && !whole) return;
    p->observed_ns += ns;
    if (quick) p->quick_ns += ns;
}

static bool paused(const pace *p, const int64_t *times, int i) {
    return times[i] - times[i - 1] > p->short_ns;
}

static void burst(pace *p) {
    uint64_t seen[LOOKS];
    int64_t times[LOOKS];
    if (!move_aside(p)) {
        p->unseen++;
        return;
    }
    int64_t cpu = cpu_of(p->clock), begin = rgm_clock_monotonic_ns(), next = begin;
    for (int i = 0; i < LOOKS; i++) {
        while ((times[i] = rgm_clock_monotonic_ns()) < next) continue;
        next = times[i] + apart_ns;
        seen[i] = look(p);
    }
    double worked = (double)(cpu_of(p->clock) - cpu);
    int pauses = 0;
    for (int i = 1; i < LOOKS; i++) pauses += paused(p, times, i);
    if (!seen[0] || pauses > PAUSES || worked < worked_share * (double)(times[LOOKS - 1] - begin)) {
        p->unseen++;
        return;
    }
    p->bursts++;
    bool whole = false;
    for (int from = 0, i = 1; i < LOOKS; i++) {
        bool cut = paused(p, times, i);
        if (seen[i] == seen[from] && !cut && i < LOOKS - 1) continue;
        count_stay(p, times[cut ? i - 1 : i] - times[from], whole && !cut && i < LOOKS - 1);
        whole = !cut;
        from = i;
    }
}

static void *observe(void *arg) {
    pace *p = arg;
    int64_t pause = shortest_ns, at = rgm_clock_monotonic_ns() + first_ns;
    pthread_mutex_lock(&p->lock);
    while (!p->ended) {
        struct timespec until = {at / INT64_C(1000000000), at % INT64_C(1000000000)};
        if (pthread_cond_timedwait(&p->ended_changed, &p->lock, &until) == 0) continue;
        pthread_mutex_unlock(&p->lock);
        burst(p);
        pthread_mutex_lock(&p->lock);
        at = rgm_clock_monotonic_ns() + pause;
        pause = (int64_t)((double)pause * growth);
        if (pause > longest_ns) pause = longest_ns;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void stop(pace *p) {
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_cond_signal(&p->ended_changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

// Nothing waits in a forked child, where the thread is not.
static void end(pace *p) {
    if (p->process != getpid()) return;
    stop(p);
    pthread_cond_destroy(&p->ended_changed);
    pthread_mutex_destroy(&p->lock);
}

static void drop(PyObject *capsule) {
    pace *p = PyCapsule_GetPointer(capsule, capsule_name);
    if (!p) return;
    if (!PyCapsule_GetContext(capsule)) end(p);
    rgm_kept_close(&p->stat);
    rgm_free(p);
}

static bool start(pace *p) {
    pthread_condattr_t by_monotonic;
    sigset_t all, before;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&by_monotonic);
    pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ended_changed, &by_monotonic);
    pthread_condattr_destroy(&by_monotonic);
    sigfillset(&all); // signals are the program's
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&p->thread, NULL, observe, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return true;
    pthread_cond_destroy(&p->ended_changed);
    pthread_mutex_destroy(&p->lock);
    return false;
}

static PyObject *pace_begin(PyObject *module, PyObject *limit) {
    double short_ns = PyFloat_AsDouble(limit);
    if (short_ns == -1.0 && PyErr_Occurred()) return NULL;
    pace *p = rgm_calloc(1, sizeof *p);
    if (!p) return PyErr_NoMemory();
    *p = (pace){
        .process = getpid(), .state = PyThreadState_Get(), .short_ns = (int64_t)short_ns, .avoided = -1};
    p->lasting = rgm_frames_lasting(p->state);
    if (!rgm_kept_open(&p->stat, "/proc/thread-self/stat", O_RDONLY, 0) ||
        pthread_getcpuclockid(pthread_self(), &p->clock) != 0 ||
        sched_getaffinity(0, sizeof p->allowed, &p->allowed) != 0 || CPU_COUNT(&p->allowed) < 2 || !look(p) ||
        !start(p)) {
        rgm_kept_close(&p->stat);
        rgm_free(p);
        Py_RETURN_NONE;
    }
    PyObject *capsule = PyCapsule_New(p, capsule_name, drop);
    if (capsule) return capsule;
    end(p);
    rgm_kept_close(&p->stat);
    rgm_free(p);
    return NULL;
}

static PyObject *pace_end(PyObject *module, PyObject *capsule) {
    pace *p = PyCapsule_GetPointer(capsule, capsule_name);
    if (!p) return NULL;
    if (!PyCapsule_GetContext(capsule)) {
        RGM_UNLOCKED(end(p));
        PyCapsule_SetContext(capsule, p); // it has ended
    }
    return Py_BuildValue("LLLL", (long long)p->quick_ns, (long long)p->observed_ns, (long long)p->bursts,
                         (long long)p->unseen);
}

static PyMethodDef functions[] = {
    {"pace_begin", pace_begin, METH_O,
     "pace_begin($module, short_ns, /)\n--\n\nLook at how long the calling thread stays at an instruction."},
    {"pace_end", pace_end, METH_O,
     "pace_end($module, pace, /)\n--\n\nEnd it: ns in short stays, ns seen, bursts, bursts without a "
     "processor."},
    {NULL},
};

int rgm_pace_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
