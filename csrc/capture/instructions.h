// SPDX-License-Identifier: Apache-2.0
// How many instructions the calling thread has executed, where the program runs under Valgrind's Callgrind.
//
// Callgrind executes every instruction of the program itself and counts them for each thread. It is asked by
// the client requests of Valgrind's manual (a sequence of rotations that does nothing on a processor), and
// answers into its log, which is read back here. One process runs under one Valgrind, so there is one source
// a process; it is opened once, with the interpreter's lock, and never closed. A fork ends it in the child,
// whose counts would go to the same log.
//
// Costs nothing until it is opened. A read takes some 0.3 ms of Callgrind's time and none of the program's
// counts, which stand still while a thread has paused them.
#ifndef RGM_CAPTURE_INSTRUCTIONS_H
#define RGM_CAPTURE_INSTRUCTIONS_H

#include <stdbool.h>

#include "base/status.h"

// The count of a thread that cannot be told.
#define RGM_INSTRUCTIONS_UNKNOWN UINT64_MAX

// Begins counting; log: the file that Callgrind writes its messages to. RGM_UNAVAILABLE with the reason when
// the program does not run under Callgrind, RGM_OK again once it is open.
rgm_status rgm_instructions_open(const char *log, rgm_error *err);
// Whether it is open in this process.
bool rgm_instructions_counting(void);
// Stops and goes on with the calling thread's counts; in pairs, which do not nest.
void rgm_instructions_pause(void);
void rgm_instructions_resume(void);
// The calling thread's count so far; it is to be paused.
uint64_t rgm_instructions_read(void);

#endif
