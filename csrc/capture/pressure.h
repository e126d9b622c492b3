// SPDX-License-Identifier: Apache-2.0
// What kept this process from its processors, by the kernel's own counts: waiting in run queues
// (/proc/self/task/ID/schedstat), time that a hypervisor or any program took (/proc/stat), limits of control
// groups (cpu.stat), huge pages (/sys/kernel/mm) and what getrusage counts: context switches that nobody
// asked for, time in the kernel, page faults, and the processor time of this process and its children: where
// others have the processors, those tell whether the others are the program's own. Read by the drainer; a
// recording thread does nothing for it.
//
// Each reading is the difference to the one before. A source that takes much processor time to read, such as
// /proc/stat on a machine with hundreds of processors, is read more rarely, so that it stays below
// RGM_PRESSURE_SHARE of the time.
#ifndef RGM_CAPTURE_PRESSURE_H
#define RGM_CAPTURE_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/record.h"

enum {
    RGM_PRESSURE_THREADS = 64, // of the threads that record, those looked at
    RGM_PRESSURE_CHILDREN = 64,
    RGM_PRESSURE_FOLDERS = 8,  // control groups around the process
    RGM_PRESSURE_SHARE = 1000, // one part in so many of the time at most, of the drainer's
};

typedef struct {
    int64_t thread;
    int64_t running_ns, waiting_ns; // at the last reading
} rgm_pressure_thread;

typedef struct {
    char folders[RGM_PRESSURE_FOLDERS][256]; // of control groups, "" for none
    rgm_pressure_thread threads[RGM_PRESSURE_THREADS];
    size_t thread_count;
    int64_t taken_ns, due_ns; // the last reading, the earliest next one; taken_ns 0: none yet
    int64_t steal_ns, throttled_ns, involuntary, system_ns, faults, tree_ns, blocks, busy_ns, huge_pages;
    char text[32 << 10]; // of a file that is being read: 400 processors
} rgm_pressure_state;

// A control group; false when there is no room for more.
bool rgm_pressure_add_folder(rgm_pressure_state *state, const char *folder);
// Forgets all readings, but not the folders.
void rgm_pressure_reset(rgm_pressure_state *state);
// A reading about the threads of these native ids. False for the first one, which has none before it.
bool rgm_pressure_read(rgm_pressure_state *state, const int64_t *threads, size_t count, int64_t interval_ns,
                       rgm_pressure_row *row);

#endif
